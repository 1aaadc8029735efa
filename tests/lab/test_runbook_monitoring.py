"""The runbooks' clients against a Prometheus and an Alertmanager of their own: real servers, nothing of the lab."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from infra.errors import ConfigError, Unknown
from lab import paths
from runbooks.lib.alertmanager import Alertmanager
from runbooks.lib.endpoint import Endpoint
from runbooks.lib.prometheus import Prometheus
from tests.unit.runbooks.lib.acting import Acting

RULES = {
    "groups": [
        {
            "name": "test",
            "interval": "1s",
            "rules": [
                {"alert": "Watchdog", "expr": "vector(1)", "labels": {"severity": "info", "host": "h-0"}},
                {"alert": "NeverFires", "expr": "vector(1) > 2"},
                {"record": "test:up:sum", "expr": "sum(up)"},
            ],
        }
    ]
}
"""An alert that fires at once, one that never does, and a recording."""


def _port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{paths.bin_dir()}:{paths.search_path()}")
    if found is None:
        pytest.skip(f"{name} is not built; `lab up` builds it")
    return found


@contextmanager
def _running(argv: list[str], folder: Path, is_up: Callable[[], bool]) -> Iterator[None]:
    with (folder / "log").open("w") as log, subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log) as process:
        try:
            end = time.monotonic() + 60
            while not is_up():
                assert process.poll() is None, (folder / "log").read_text()[-2000:]
                assert time.monotonic() < end, (folder / "log").read_text()[-2000:]
                time.sleep(0.2)
            yield
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def alerting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an Alertmanager."""
    folder, port = tmp_path_factory.mktemp("alertmanager"), _port()
    config = {"route": {"receiver": "nobody"}, "receivers": [{"name": "nobody"}]}
    (folder / "config.json").write_text(json.dumps(config))
    url = f"http://127.0.0.1:{port}"
    argv = [
        _program("alertmanager"), "--config.file=config.json", f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=", "--storage.path=data",
    ]  # fmt: skip
    with _running(argv, folder, lambda: _answers(f"{url}/-/ready")):
        yield url


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, alerting: str) -> Iterator[Prometheus]:
    """A Prometheus that scrapes itself and a target that is not there."""
    folder, port, nobody = tmp_path_factory.mktemp("prometheus"), _port(), _port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.json"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alerting.removeprefix("http://")]}]}]},
        "scrape_configs": [
            {"job_name": "prometheus", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]},
            {"job_name": "nobody", "static_configs": [{"targets": [f"127.0.0.1:{nobody}"]}]},
        ],
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "rules.json").write_text(json.dumps(RULES))
    argv = [
        _program("prometheus"), "--config.file=config.json", f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.path=data",
        "--rules.alert.resend-delay=1s",  # an alert that is sent before Alertmanager is known is dropped, for a minute
    ]  # fmt: skip
    client = Prometheus(Endpoint("Prometheus", f"http://127.0.0.1:{port}"))

    # Each target's first scrape has its own offset; two seconds after the last of them the rules have counted both.
    def counted() -> bool:
        return client.is_ready() and len(client.samples("up offset 2s", needs=())) == 2

    with _running(argv, folder, counted):
        yield client


@pytest.fixture
def alertmanager(alerting: str) -> Alertmanager:
    return _of(alerting, Acting())


def _of(url: str, ctx: Acting) -> Alertmanager:
    return Alertmanager(ctx, Endpoint("Alertmanager", url))


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=2).status_code == 200
    except httpx.TransportError:
        return False


def test_a_number_is_a_number(prometheus: Prometheus) -> None:
    """The recording over two targets, one of which is down."""
    assert prometheus.value("test:up:sum") == 1.0
    assert prometheus.value('up{job="$job"}', job="nobody") == 0.0
    assert {sample.labels["job"]: sample.value for sample in prometheus.vector("up")} == {"prometheus": 1, "nobody": 0}


@pytest.mark.parametrize(
    "expression",
    ["upp", "sum(upp)", 'up{job="none"}', "rate(upp[1m])", "sum(up) / sum(upp)", "histogram_quantile(0.9, upp_bucket)"],
)
def test_no_data_is_unknown(prometheus: Prometheus, expression: str) -> None:
    """A misspelt metric or label is never zero."""
    with pytest.raises(Unknown, match="no data"):
        prometheus.value(expression)


def test_a_division_by_nothing_is_unknown(prometheus: Prometheus) -> None:
    """0 / 0 is not a number, and no answer."""
    with pytest.raises(Unknown, match="no data"):
        prometheus.value("0 * sum(up) / (0 * sum(up))")


@pytest.mark.parametrize("expression", ["sum(up", "rate(up)", "up{job=}", "nofunction(up)"])
def test_a_wrong_expression_is_a_mistake(prometheus: Prometheus, expression: str) -> None:
    """Told apart from missing data, with Prometheus' own reason."""
    with pytest.raises(ConfigError, match="expression"):
        prometheus.value(expression)


def test_a_server_that_is_away_is_unknown() -> None:
    """No connection is neither zero nor a traceback."""
    away = Prometheus(Endpoint("Prometheus", f"http://127.0.0.1:{_port()}"))
    with pytest.raises(Unknown, match="no answer"):
        away.value("up")
    assert not away.is_ready()


def test_whatever_stands_in_a_value_prometheus_takes_it_as_text(prometheus: Prometheus) -> None:
    """Quotes, backslashes and pattern signs reach it unharmed: nothing matches, and nothing breaks."""
    for value in ('"', "\\", 'x"} or up{job="prometheus', "a\nb", "(", ".*"):
        with pytest.raises(Unknown, match="no data"):
            prometheus.value('up{job="$job"}', job=value)
        with pytest.raises(Unknown, match="no data"):
            prometheus.value('up{job=~"$job"}', job=value)


def test_none_is_an_answer_where_the_metric_is(prometheus: Prometheus) -> None:
    """Nobody is above the limit, and that is known."""
    assert prometheus.samples("up > 1", needs=["up"]) == []
    with pytest.raises(Unknown, match="upp"):
        prometheus.samples("upp > 1", needs=["up", "upp"])


def test_alerts_fire_by_name_and_label(prometheus: Prometheus) -> None:
    """The one that fires, the one that does not, and the one that no rule makes."""
    assert [alert.state for alert in prometheus.firing("Watchdog", host="h-0")] == ["firing"]
    assert prometheus.firing("Watchdog", host="h-1") == []
    assert prometheus.firing("NeverFires") == []
    with pytest.raises(Unknown, match="no rule"):
        prometheus.firing("Watchdogg")


def test_targets_tell_why_they_are_down(prometheus: Prometheus) -> None:
    """With the error of the last scrape."""
    found = {target.job: target for target in prometheus.targets()}
    assert found["prometheus"].health == "up"
    assert found["nobody"].health == "down"
    assert "refused" in found["nobody"].error


def test_a_range_has_its_points_in_order(prometheus: Prometheus) -> None:
    """Times in UTC, oldest first."""
    series = prometheus.range('up{job="prometheus"}', within=timedelta(seconds=10), step=timedelta(seconds=1))
    times = [at for at, _ in series[0].points]
    assert times == sorted(times)
    assert abs((datetime.now(UTC) - times[-1]).total_seconds()) < 5


def test_a_silence_has_owner_end_and_comment(alertmanager: Alertmanager) -> None:
    """And is gone once the run that made it ends it, twice if need be."""
    made = alertmanager.silence({"alertname": "Watchdog"}, lasts=timedelta(minutes=5), comment="a test")
    found = next(silence for silence in alertmanager.own() if silence.id == made)
    assert (found.creator, found.comment, found.state) == ("railwright/test-run", "a test", "active")
    assert found.ends is not None
    assert timedelta(minutes=4) < found.ends - datetime.now(UTC) <= timedelta(minutes=5)
    alertmanager.expire(made)
    alertmanager.expire(made)
    assert not alertmanager.own()


def test_a_silenced_alert_says_so(prometheus: Prometheus, alertmanager: Alertmanager) -> None:
    """Alertmanager still holds it, and names the silence."""
    made = alertmanager.silence({"alertname": "Watchdog", "host": "h-0"}, lasts=timedelta(minutes=5), comment="a test")
    try:
        end = time.monotonic() + 30
        while not any(alert.silenced_by == (made,) for alert in alertmanager.alerts()):
            assert time.monotonic() < end, alertmanager.alerts()
            time.sleep(0.5)
    finally:
        alertmanager.expire(made)


def test_no_one_ends_the_silence_of_another(alerting: str, alertmanager: Alertmanager) -> None:
    """Neither that of another run, nor that of a person."""
    other = _of(alerting, Acting(run_id="other-run"))
    made = other.silence({"alertname": "X"}, lasts=timedelta(minutes=5), comment="theirs")
    try:
        with pytest.raises(ConfigError, match="other-run"):
            alertmanager.expire(made)
        assert [silence.id for silence in other.own()] == [made]
    finally:
        other.expire(made)


@pytest.mark.parametrize(
    ("matchers", "lasts"),
    [({}, timedelta(minutes=5)), ({"a": "b"}, timedelta(days=2)), ({"a": "b"}, timedelta())],
    ids=["everything", "too long", "no time"],
)
def test_a_silence_has_bounds(alertmanager: Alertmanager, matchers: dict[str, str], lasts: timedelta) -> None:
    """One that hits every alert, or lasts for days, is refused."""
    with pytest.raises(ConfigError, match="silence of"):
        alertmanager.silence(matchers, lasts=lasts, comment="a test")
    assert not alertmanager.own()


def test_a_dry_run_silences_nothing(alerting: str) -> None:
    """It says what it would."""
    ctx = Acting(dry=True)
    assert _of(alerting, ctx).silence({"a": "b"}, lasts=timedelta(minutes=5), comment="a test") == ""
    assert ctx.wished == ["silence alerts with a=b for 0:05:00"]
    assert not _of(alerting, Acting()).own()
