"""How a request ended, and what was seen of it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """Each request that was sent ends in exactly one of these."""

    OK = "ok"
    """The whole answer came, and all of it agrees."""
    LATE = "late"
    """Right, but the first token or a gap took longer than the profile allows."""
    REJECTED = "rejected"
    """Refused in due form before it began: 429 or 503 with an OpenAI-shaped error."""
    LOST = "lost"
    """Never answered: no 200 came."""
    CUT = "cut"
    """A 200 came, and the answer did not get to its end."""
    WRONG = "wrong"
    """The answer ended, and does not agree with itself or with what was asked."""
    ABORTED = "aborted"
    """This client hung up, as the profile or the end of the run had it do."""


FAILED = (Verdict.LOST, Verdict.CUT, Verdict.WRONG)
"""What a tenant would complain about."""

COMPLETE = (Verdict.OK, Verdict.LATE)
"""Answers whose figures count."""


@dataclass(slots=True)
class Sample:
    """One request; times on the wall are the start's wall clock plus what a clock that never jumps has counted."""

    due: float
    """When the schedule wanted it sent (s since 1970)."""
    sent: float
    """When it was (s since 1970)."""
    tenant: str
    model: str
    tier: str = ""
    is_stream: bool = True
    ended: float = 0.0
    """When its fate was known (s since 1970)."""
    verdict: Verdict = Verdict.LOST
    reason: str = ""
    """Why it is not ok, in one sentence."""
    status: int = 0
    """HTTP status; 0 when none came."""
    request_id: str = ""
    """The gateway's ``x-request-id``, to find it in logs."""
    first_token: float | None = None
    """From due to the first token (s)."""
    gaps: array[float] = field(default_factory=lambda: array("f"))
    """Between tokens that came in different pieces of the answer (s)."""
    tokens: int = 0
    """Output tokens; as the server counts where it says so."""
    prompt_tokens: int = 0
    """Prompt tokens, as the server counts; 0 when it did not say."""
    is_numbered: bool = False
    """Whether every token of the answer was counted on its way."""

    @property
    def lateness(self) -> float:
        """How much later than due it was sent (s): this client's fault, not the server's."""
        return self.sent - self.due

    @property
    def whole(self) -> float:
        """From due to the end (s)."""
        return self.ended - self.due

    @property
    def per_token(self) -> float | None:
        """Mean time of each token after the first (s); None without a second one."""
        if self.first_token is None or self.tokens < 2:
            return None
        return (self.whole - self.first_token) / (self.tokens - 1)
