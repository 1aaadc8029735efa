"""What the API server answers becomes one of three errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
