"""Every panel has data in the living lab, and the page that shows them stands alone in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from infra.config.load import from_file
from infra.config.observability import Observability
from infra.errors import Unknown
from infra.plan.dashboards import BOARDS
from infra.plan.dashboards.board import Board, Panel
from lab import report, stack_file
from lab.report.answers import Answered, every
from lab.report.page import Report, page
from lab.report.prometheus import Prometheus, Window
from tests.lab.living_lab import client, eventually, serving_lab

MINUTES = 60
"""How far back a panel may have its data; drills and other tests leave enough of it."""

BROWSERS = ("chromium-headless-shell", "chromium")
"""Programs that render a page without a screen; Debian has a package of each name."""

LOOK = """
<script>addEventListener("load", () => {
  const seen = [...document.querySelectorAll(".panel")].map(panel => {
    const inner = panel.querySelector("svg, table, .number, .none"), box = inner && inner.getBoundingClientRect();
    const frame = panel.getBoundingClientRect();
    return [panel.id, frame.width, frame.height, box ? box.width : 0, box ? box.height : 0,
            box ? Math.max(0, box.right - frame.right) : 0];
  });
  const wide = document.documentElement.scrollWidth - innerWidth;
  const data = document.createElement("script");
  data.type = "application/json"; data.id = "seen"; data.textContent = JSON.stringify({seen, wide});
  document.body.append(data);
})</script>
"""
"""Asks the browser where it put each panel and what is in it."""

Found = dict[str, Answered]
PANELS = [(board, place, panel) for board in BOARDS for place, panel in enumerate(board.panels())]


@pytest.fixture(scope="module")
def watched() -> Observability:
    serving_lab()
    spec = from_file(stack_file.path())
    assert spec.stack is not None
    if spec.stack.observability is None:
        pytest.skip("the lab is not watched; add railwright:observability and run `lab up`")
    return spec.stack.observability


@pytest.fixture(scope="module")
def prometheus(watched: Observability) -> Prometheus:
    server = Prometheus(report.url(watched))
    try:
        server.version()
    except Unknown as error:
        pytest.skip(str(error))
    return server


@pytest.fixture(scope="module")
def found(prometheus: Prometheus, watched: Observability) -> Found:
    """What every panel gets, after some requests if nobody asked lately."""
    interval = int(watched.scrape_interval.total_seconds())
    if not prometheus.over("tenant:client_ttft_seconds:p99", _lately()):
        _ask_something()
        eventually(lambda: prometheus.over("tenant:client_ttft_seconds:p99", _lately()), 60)
        # Ratios need a second evaluation after the first rates.
        time.sleep(2 * interval)
    return {
        f"{board.name}-{place}": one
        for board in BOARDS
        for place, one in enumerate(every(board, prometheus, _lately(), interval))
    }


@pytest.fixture(scope="module")
def written(prometheus: Prometheus, found: Found, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of all panels."""
    boards = [(board, [found[f"{board.name}-{place}"] for place, _ in enumerate(board.panels())]) for board in BOARDS]
    path = tmp_path_factory.mktemp("report") / "report.html"
    text = page(Report(f"Prometheus at {prometheus.url}", _lately(), prometheus.alerts(), boards))
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> str:
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    pytest.skip("no headless browser; apt-get install --no-install-recommends chromium-headless-shell")


def _lately() -> Window:
    return Window.up_to(time.time(), MINUTES, 20)


def _ask_something() -> None:
    for key in ("research", "support"):
        stream = client(key).chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "Say something."}], max_tokens=16, stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        assert list(stream)


def _render(browser: str, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    given = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"]
    profile, size = f"--user-data-dir={page.parent / 'profile'}", "--window-size=1400,2000"
    argv = [browser, *given, profile, size, *options, page.as_uri()]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=180)


@pytest.mark.parametrize(
    ("board", "place", "panel"), PANELS, ids=[f"{board.name}-{panel.title}" for board, _, panel in PANELS]
)
def test_every_query_of_a_panel_has_data_or_needs_hardware(
    found: Found, board: Board, place: int, panel: Panel
) -> None:
    """Against the living Prometheus; a mark that is no longer true must go."""
    empty = [answer.query.expr for answer in found[f"{board.name}-{place}"].answers if not answer.series]
    if panel.needs_hardware:
        assert len(empty) == len(panel.queries), "it has data in the lab: take the mark away"
    else:
        assert empty == []


def test_the_page_needs_no_other_file(written: Path) -> None:
    """No script, no style, font or picture from elsewhere; it can be sent to anybody."""
    text = written.read_text(encoding="utf-8")
    links = re.findall(r"""(?:src|href|data|action)\s*=\s*["']([^"']*)""", text)
    assert {link for link in links if not link.startswith(("#", "data:"))} == set()
    assert {link for link in re.findall(r"url\(([^)]*)", text) if not link.startswith("#")} == set()
    assert re.search(r"<script|@import|<iframe|<object|<link(?! rel=\"icon\" href=\"data:,\")", text) is None


def test_every_name_in_the_page_is_given_once(written: Path) -> None:
    """Two pictures that define one name draw each other's shapes."""
    names = re.findall(r'\bid="([^"]+)"', written.read_text(encoding="utf-8"))
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_a_browser_shows_every_panel_without_a_complaint(written: Path, browser: str, tmp_path: Path) -> None:
    """Each has a size and something in it that has a size and stays in its frame; nothing in the console."""
    copy = tmp_path / "report.html"
    copy.write_text(written.read_text(encoding="utf-8").replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    ended = _render(browser, copy, "--dump-dom")
    assert [line for line in ended.stderr.splitlines() if ":CONSOLE" in line] == []
    match = re.search(r'<script type="application/json" id="seen">(.*?)</script>', ended.stdout, re.DOTALL)
    assert match, ended.stderr[-2000:]
    said = json.loads(match[1])
    assert [name for name, *_ in said["seen"]] == [f"{board.name}-{place}" for board, place, _ in PANELS]
    assert [one for one in said["seen"] if min(one[1:5]) < 8 or one[5] > 1] == []
    assert said["wide"] <= 0


def test_a_complaint_of_the_console_would_be_seen(browser: str, tmp_path: Path) -> None:
    """Otherwise the test above could not fail."""
    broken = tmp_path / "broken.html"
    broken.write_text("<!doctype html><body><script>nothing.there()</script></body>")
    assert ":CONSOLE" in _render(browser, broken, "--dump-dom").stderr


def test_a_browser_paints_the_page(written: Path, browser: str, tmp_path: Path) -> None:
    """A picture with the page's colours in it, not a white sheet."""
    from matplotlib.image import imread

    target = tmp_path / "page.png"
    _render(browser, written, f"--screenshot={target}")
    pixels = imread(target)
    assert pixels.shape[:2] == (2000, 1400)
    assert pixels[..., :3].std() > 0.02


def test_the_command_writes_the_page(
    prometheus: Prometheus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`lab report`, with its time and its source in it."""
    from lab.cli import main

    target = tmp_path / "report.html"
    assert main(["report", "--out", str(target), "--minutes", "10"]) == 0
    assert f"{target}: {len(PANELS)} panels" in capsys.readouterr().out
    assert f"the last 10 minutes, from Prometheus {prometheus.version()} at {prometheus.url}" in target.read_text()


@pytest.mark.parametrize(
    ("options", "reason"),
    [(["--minutes", "0"], "one minute or more"), (["--out", "/nowhere/at/all.html"], "cannot be written")],
    ids=["no time", "no folder"],
)
def test_what_cannot_be_drawn_is_refused(
    prometheus: Prometheus, options: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and one sentence."""
    from lab.cli import main

    assert main(["report", *options]) == 2
    assert reason in capsys.readouterr().err
