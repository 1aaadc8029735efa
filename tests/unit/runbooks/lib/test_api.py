"""What the API server answers becomes one of three errors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from infra.errors import ConfigError, Unknown
from runbooks.lib.kubernetes.api import Absent, Api, Conflict, Later, Refused


@pytest.mark.parametrize(
    ("method", "status", "error"),
    [
        ("GET", 404, Absent),
        ("PATCH", 409, Conflict),
        ("PATCH", 422, Refused),
        ("POST", 429, Later),
        ("GET", 429, Unknown),
        ("GET", 503, Unknown),
        ("PATCH", 500, Unknown),
    ],
)
def test_a_no_is_told_from_no_answer(
    method: str, status: int, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that is put off, as while storage is initialised after a restart, tells nothing; a write is refused."""

    def fetch(self: Api, method: str, path: str, **more: Any) -> tuple[int, str]:
        return status, '{"message": "storage is (re)initializing"}'

    monkeypatch.setattr(Api, "fetch", fetch)
    with pytest.raises(error, match="initializing") as raised:
        Api(Path).call(method, "/api/v1/nodes")
    assert isinstance(raised.value, ConfigError) == issubclass(error, ConfigError)


class Stuttering:
    """A client whose first connections fail, as while a server's port changes hands."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def exec(self, pod: str, **options: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise httpx2.ConnectError("[SSL: WRONG_VERSION_NUMBER]")
        return SimpleNamespace(exit_code=0, stdout="12\n", stderr="")


def test_one_failed_connection_is_no_answer_yet() -> None:
    """A drill must not end in "cannot tell" because one handshake failed."""
    api = Api(Path)
    vars(api)["_lightkube"] = Stuttering(1)
    assert api.execute("models", "tiny-0", ["cat", "/proc/1/stat"], "", 5.0).stdout == "12\n"


def test_two_failed_connections_are_told() -> None:
    """Who does not answer twice is not asked for ever."""
    api = Api(Path)
    vars(api)["_lightkube"] = Stuttering(2)
    with pytest.raises(Unknown, match="WRONG_VERSION_NUMBER"):
        api.execute("models", "tiny-0", ["cat", "/proc/1/stat"], "", 5.0)
