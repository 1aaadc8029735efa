"""``runbook receive``: alerts in, plans out, nothing ever written."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.config.observability import Alertmanager, SecretKey
from infra.errors import ConfigError
from infra.plan.manifests.observability.alertmanager import configuration
from runbooks.engine.words import Parser
from runbooks.lib import receiver as module
from runbooks.lib.answering import Alert, Answerer
from runbooks.lib.receiver import LARGEST, Receiver
from tests import tools
from tests.runbooks.conftest import SITE, Heard, Place, wait_until


class Sink(HTTPServer):
    """Takes what is posted."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Take)


class _Take(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        self.server.taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *words: Any) -> None:
        pass


class Sample(Answerer):
    """Starts the command line that knows the sample runbooks."""

    def words(self, command: str, labels: Any) -> list[str]:
        python, _, _, *rest = super().words(command, labels)
        return [python, str(SITE / "run.py"), *rest]


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def receiver(place: Place, sink: Sink, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("RAILWRIGHT_RUNS", str(place.runs))
    (place.root / "token").write_text("open sesame\n")
    url = f"http://127.0.0.1:{sink.server_port}/"
    answerer = Sample("lab", place.runs / "received", url, timedelta(minutes=1), Heard())
    with Receiver(("127.0.0.1", 0), answerer, place.root / "token", 1) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def alert(name: str = "FileOld", status: str = "firing", mark: str = "f1", **labels: str) -> dict[str, Any]:
    told = {"alertname": name, **labels}
    return {
        "status": status,
        "labels": told,
        "annotations": {},
        "startsAt": "2026-12-02T00:00:00Z",
        "fingerprint": mark,
    }


def post(receiver: Receiver, body: Any, path: str = "/alerts", **headers: str) -> tuple[int, dict[str, Any]]:
    connection = HTTPConnection("127.0.0.1", receiver.server_port, timeout=10)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", path, data, {"Authorization": "Bearer open sesame", **headers})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def hook(*alerts: dict[str, Any]) -> dict[str, Any]:
    return {"version": "4", "status": "firing", "alerts": list(alerts)}


def test_an_alert_is_answered_with_the_plan_of_its_runbook(receiver: Receiver, sink: Sink, place: Place) -> None:
    """Dry, with inputs from labels; posted, and kept on disk."""
    status, told = post(receiver, hook(alert(name="FileMissing", folder="/x", scope="y")))
    assert (status, told) == (202, {"accepted": ["f1"], "unanswered": []})
    wait_until(lambda: len(sink.taken) == 2)
    assert {one["runbook"] for one in sink.taken} == {"sample/choose_cure", "sample/write_files"}
    # A label cannot name a path, so the runbook lacks it, and says so.
    assert all("is missing" in one["said"] for one in sink.taken)
    assert len(list((place.runs / "received").glob("*FileMissing-f1*.json"))) == 2


def test_an_alert_is_answered_once_while_it_fires_and_again_after_it_was_over(receiver: Receiver) -> None:
    """Alertmanager repeats itself."""
    taken = [
        post(receiver, hook(alert(status=status)))[1]["accepted"]
        for status in ("firing", "firing", "resolved", "firing")
    ]
    assert taken == [["f1"], [], [], ["f1"]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def alertmanager_for(url: str, folder: Path, port: int) -> Iterator[str]:
    """The real one, with the config that a stack renders; its base URL."""
    told = configuration(Alertmanager(runbooks=url, runbooks_token_secret=SecretKey(name="answers", key="token")), 0.01)
    text = json.dumps(told).replace("/etc/alertmanager/secrets/answers/token", str(folder / "token"))
    (folder / "alertmanager.yaml").write_text(text)
    argv = [tools.alertmanager(), f"--config.file={folder / 'alertmanager.yaml'}", f"--storage.path={folder / 'am'}"]
    argv += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
    with (folder / "log").open("w") as log, subprocess.Popen(argv, stdout=log, stderr=log) as server:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def test_a_real_alertmanager_is_answered(receiver: Receiver, sink: Sink, place: Place) -> None:
    """With the config that a stack renders and its token: alert in, plan out; the end of the alert is heard too."""
    with alertmanager_for(f"http://127.0.0.1:{receiver.server_port}/alerts", place.root, free_port()) as url:

        def tell(**more: str) -> bool:
            told = [{"labels": {"alertname": "FileMissing", "severity": "page"}, **more}]
            with suppress(httpx.HTTPError):
                return httpx.post(f"{url}/api/v2/alerts", json=told, trust_env=False).is_success
            return False

        wait_until(tell)
        wait_until(lambda: len(sink.taken) == 2)
        assert receiver._known
        tell(endsAt=datetime.now(UTC).isoformat())
        wait_until(lambda: not receiver._known)


def test_an_alert_without_runbook_is_told(receiver: Receiver) -> None:
    """And starts nothing."""
    assert post(receiver, hook(alert(name="NoSuch")))[1] == {"accepted": [], "unanswered": ["NoSuch"]}


@pytest.mark.parametrize(
    ("body", "headers", "path", "status"),
    [
        (hook(), {"Authorization": "Bearer wrong"}, "/alerts", 401),
        (hook(), {"Authorization": ""}, "/alerts", 401),
        (hook(), {}, "/elsewhere", 404),
        (b"{", {}, "/alerts", 400),
        (b"[]", {}, "/alerts", 400),
        ({"version": "3", "alerts": []}, {}, "/alerts", 400),
        (hook({"status": "firing"}), {}, "/alerts", 400),
        (b"", {"Content-Length": str(LARGEST + 1)}, "/alerts", 413),
        (b"", {"Content-Length": "-1"}, "/alerts", 411),
    ],
    ids=[
        "wrong token",
        "no token",
        "other path",
        "no JSON",
        "no object",
        "old version",
        "no labels",
        "too large",
        "no length",
    ],
)
def test_what_is_no_webhook_of_ours_is_refused(
    receiver: Receiver, body: Any, headers: dict[str, str], path: str, status: int
) -> None:
    """Each with its status, before anything is read or started."""
    assert post(receiver, body, path, **headers)[0] == status


def test_no_label_can_make_a_run_act(place: Place) -> None:
    """Labels become values of known inputs, each one word; ``do`` and options are out of their reach."""
    answerer = Answerer("lab", place.runs, "", timedelta(minutes=1), Heard())
    labels = {"scope": "--yes", "do": "restart", "yes": "true", "file": "/etc/passwd", "reason": "x", "first": "a\nb"}
    for command in ("sample/write_files", "sample/choose_cure"):
        words = answerer.words(command, labels)
        assert words[3:6] == ["run", command, "--stack=lab"]
        assert words[6:] == ["--json", *(["--scope=--yes"] if command == "sample/write_files" else [])]


def test_queued_events_trip_again_after_a_reset(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVSentinel#450: an alert that is over before its turn comes is not answered any more; a new one is."""
    answered: list[str] = []
    busy = threading.Event()

    def answer(told: Alert, commands: Any) -> None:
        answered.append(told.fingerprint)
        busy.wait(30)

    monkeypatch.setattr(receiver._answerer, "answer", answer)
    post(receiver, hook(alert(mark="first")))
    wait_until(lambda: answered == ["first"])
    post(receiver, hook(alert(mark="over"), alert(mark="lasts")))
    post(receiver, hook(alert(mark="over", status="resolved")))
    busy.set()
    wait_until(lambda: receiver._waiting.empty() and len(answered) > 1)
    assert answered == ["first", "lasts"]


def test_a_full_queue_asks_alertmanager_to_come_back(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    """503; what was taken stays taken, the rest is not known."""
    monkeypatch.setattr(receiver._answerer, "answer", lambda *words: threading.Event().wait())
    many = [alert(mark=f"f{number}") for number in range(module.WAITING + 5)]
    assert post(receiver, hook(*many))[0] == 503
    assert 0 < len(receiver._known) < len(many)


def test_a_name_from_outside_never_leaves_the_folder(place: Place) -> None:
    """Path separators are dropped."""
    answerer = Answerer("lab", place.runs / "received", "", timedelta(minutes=1), Heard())
    answerer._send(Alert("../../x", "../y", "", {}), "sample/write_files", {})
    (kept,) = (place.runs / "received").iterdir()
    assert kept.name.endswith("-x-y-sample.write_files.json")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--listen", "0.0.0.0:1"], "is open to others, and no token is asked for"),
        (["--listen", "9099"], "allowed: HOST:PORT"),
        (["--token-file", "/nowhere"], "holds no token"),
        (["--post-to", "file:///etc"], "an http or https URL"),
        (["--at-once", "0"], "1 at least"),
        (["--timeout", "soon"], "a span of time"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_options_that_do_not_hold_together_are_refused(words: list[str], sentence: str, tmp_path: Path) -> None:
    """Before anything listens."""
    parser = Parser("receive")
    module.add_arguments(parser)
    with pytest.raises(ConfigError, match=sentence):
        module._address(parser.parse_args(["--stack", "lab", *words]))
