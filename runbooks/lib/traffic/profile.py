"""What the traffic is like: who asks for what, how often, and what is held against the answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from infra.config.mistakes import explain
from infra.errors import ConfigError
from runbooks.lib.traffic.arrivals import Arrivals
from runbooks.lib.traffic.lengths import Lengths, LengthSpread

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Segment(_Frozen):
    """A while with one arrival rate; a burst is a segment with a higher one."""

    rate: Annotated[float, Field(ge=0, le=100_000, allow_inf_nan=False)]
    """Requests per second."""
    seconds: Seconds | None = None
    """How long (s); left out, until the traffic is stopped."""


class Tenant(_Frozen):
    """One key and its share of the requests."""

    name: Annotated[str, Field(min_length=1)]
    """Who it belongs to, as reports group it."""
    key: SecretStr | None = None
    """The key; left out, none is sent."""
    tier: str = ""
    share: Weight = 1.0
    """Weight among the tenants."""
    models: tuple[str, ...] = ()
    """Models that the key opens; empty: all."""


class Profile(_Frozen):
    """All that the driver is told."""

    url: str
    """Base URL, ending in ``/v1``."""
    models: Annotated[dict[str, Weight], Field(min_length=1)]
    """Model to its weight among the requests."""
    segments: tuple[Segment, ...]
    arrivals: Arrivals = "poisson"
    seed: int = 1
    """The same seed gives the same arrivals, lengths, tenants and prompts."""
    tenants: Annotated[tuple[Tenant, ...], Field(min_length=1)] = (Tenant(name="nobody"),)
    prompt: Lengths = LengthSpread.of("64")
    output: Lengths = LengthSpread.of("32")
    shared_prefix: Annotated[int, Field(ge=0)] = 0
    """Tokens at the start of a prompt that many prompts have in common; prompts are random words otherwise."""
    prefixes: Annotated[int, Field(ge=1)] = 1
    """Different shared prefixes (count)."""
    stream_share: Share = 1.0
    """Share of requests that ask for a stream."""
    chat_share: Share = 1.0
    """Share of requests to ``/chat/completions``; the others go to ``/completions``."""
    abort_share: Share = 0.0
    """Share of streams on which the client hangs up in the middle, on purpose."""
    exact: bool = False
    """Ask for exactly the drawn number of tokens (``ignore_eos``)."""
    numbered: bool = True
    """Ask the engine to number tokens (vLLM's ``return_token_ids``), so that a doubled or lost one shows."""
    timeout_seconds: Seconds = 60.0
    """Longest that one request may take, from when it was due (s)."""
    gap_seconds: Seconds | None = 5.0
    """Longest silence within a stream, beyond which it is late (s)."""
    first_token_seconds: Seconds | None = None
    """Longest wait for the first token, beyond which it is late (s)."""
    new_connections: bool = False
    """Open a connection for each request instead of keeping some."""
    ca_file: Path | None = None
    """Certificates to trust for ``https``; left out, those of the system."""

    @field_validator("url")
    @classmethod
    def _a_base(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.username or parts.password:
            raise ValueError("not allowed; give keys as files")
        if parts.scheme not in ("http", "https") or not parts.hostname or not parts.path.endswith("/v1"):
            raise ValueError("no base URL; write one like http://gateway:8080/v1")
        return value

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        endless = [place for place, segment in enumerate(self.segments) if segment.seconds is None]
        if endless and endless[0] != len(self.segments) - 1:
            raise ValueError("only the last segment may be without end; give the others seconds")
        if not any(segment.rate for segment in self.segments):
            raise ValueError("no segment sends anything; give one a rate above 0")
        for tenant in self.tenants:
            if not self.models_of(tenant):
                opened, asked = ", ".join(sorted(tenant.models)), ", ".join(sorted(self.models))
                raise ValueError(f"tenant {tenant.name!r} opens {opened}, the traffic asks for {asked}; leave it out")
        return self

    def models_of(self, tenant: Tenant) -> dict[str, float]:
        """Models that a tenant asks for, with their weights."""
        return {name: weight for name, weight in self.models.items() if not tenant.models or name in tenant.models}

    @property
    def peak_open(self) -> int:
        """Most requests that can be open at once if nothing answers (count)."""
        return max(
            round(segment.rate * min(self.timeout_seconds, segment.seconds or self.timeout_seconds))
            for segment in self.segments
        )

    def public(self) -> dict[str, Any]:
        """The profile as reports show it, without keys."""
        shown = self.model_dump(mode="json", exclude={"tenants": {"__all__": {"key"}}, "prompt": True, "output": True})
        return shown | {"prompt": str(self.prompt), "output": str(self.output)}


def profile_of(values: Mapping[str, Any]) -> Profile:
    """Validate a profile.

    Raises:
        ConfigError: what is wrong with it, all at once.
    """
    try:
        return Profile.model_validate(values)
    except ValidationError as error:
        raise ConfigError(*dict.fromkeys(explain(error, Profile, ("traffic",)))) from error


def read_profile(path: Path) -> dict[str, Any]:
    """Read the values of a profile file (YAML or JSON), keys excepted: those are in files of their own.

    Raises:
        ConfigError: it is not there, no mapping, or holds keys.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"profile {str(path)!r} — cannot be read as YAML ({error}); name a file that can") from error
    if not isinstance(values, dict):
        raise ConfigError(f"profile {str(path)!r} — is no mapping; write keys such as models and segments")
    tenants = values.get("tenants")
    if any("key" in tenant for tenant in tenants or () if isinstance(tenant, dict)):
        raise ConfigError(f"profile {str(path)!r} — tenants hold keys; write key_file: PATH instead")
    return values
