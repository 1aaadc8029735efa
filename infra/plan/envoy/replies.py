"""Every answer that Envoy gives by itself, in the shape the OpenAI API has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infra.plan.envoy.form import when

RETRY_AFTER = "2"
"""Seconds a refused client is asked to wait: about the time in which a full queue moves. Source: our choice."""


def escape(text: str) -> str:
    """Keep a literal percent sign literal in an Envoy format string."""
    return text.replace("%", "%%")


def error_body(message: str, kind: str, code: str | None, param: str | None = None) -> dict[str, Any]:
    """Shape one error; ``message`` and ``code`` are Envoy format strings.

    Source: the error object of the OpenAI API reference.
    """
    error = {"message": message, "type": kind, "param": param, "code": code}
    return {"json_format": {"error": error}, "content_type": "application/json"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refusal of Envoy's own: when it happens, and what the client reads."""

    status: int
    code: str
    message: str
    flags: tuple[str, ...] = ()
    """Response flags that tell causes of one status apart; empty matches the status alone."""
    headers: tuple[tuple[str, str], ...] = ()
    details: str = ""
    """Envoy's own word for the cause, where no flag tells it."""

    @property
    def kind(self) -> str:
        """Name the family of the error as the OpenAI API does."""
        if self.status == 429:
            return "rate_limit_error"
        return "invalid_request_error" if self.status < 500 else "server_error"


SHED_STATUS = 429
"""What requests of a tier that is shed are told; no other route of ours answers so."""

_LATER = (("retry-after", RETRY_AFTER),)
_NEVER = (("x-should-retry", "false"),)

REFUSALS = (
    Refusal(401, "invalid_api_key", "No valid API key was given; send one as 'Authorization: Bearer <key>'."),
    Refusal(403, "forbidden", "This gateway does not do that; protocol upgrades are off."),
    Refusal(408, "request_timeout", "The request did not arrive whole in time; send it again.", headers=_LATER),
    Refusal(413, "request_too_large", "The request body is larger than {limit} bytes; send a shorter one."),
    Refusal(426, "upgrade_required", "HTTP/1.0 is not spoken here; use HTTP/1.1 or HTTP/2."),
    Refusal(
        SHED_STATUS,
        "tier_shed",
        "Requests of this tier are not served for now, as there is too much to do; try again later.",
        headers=_LATER,
        details="direct_response",
    ),
    Refusal(429, "rate_limit_exceeded", "Too many requests with this key; slow down.", headers=_LATER),
    Refusal(431, "headers_too_large", "The request headers are too large or too many; send fewer."),
    Refusal(500, "internal_error", "The gateway could not handle the request.", headers=_LATER),
    Refusal(502, "bad_answer", "The model's replica answered with something that is not HTTP.", headers=_LATER),
    Refusal(503, "no_replica", "No replica of this model is ready; try again.", ("UH", "NC"), _LATER),
    Refusal(503, "overloaded", "The gateway is full; try again.", ("UO",), _LATER),
    Refusal(503, "overloaded", "The gateway is full; try again.", headers=_LATER, details="overload"),
    Refusal(503, "replica_lost", "The model's replica went away before it answered; try again.", headers=_LATER),
    Refusal(
        504,
        "longest_answer",
        "The answer took longer than {longest}; ask for fewer tokens.",
        headers=_NEVER,
        details="max_duration_timeout",
    ),
    Refusal(504, "model_timeout", "The model sent nothing in time; try again.", headers=_LATER),
)
"""First match wins, so causes come before the bare status. Flags: Envoy's access log documentation."""


def direct(refusal: Refusal, param: str | None = None) -> dict[str, Any]:
    """Answer a route with a refusal, without asking any replica."""
    body = error_body(refusal.message, refusal.kind, refusal.code, param)
    return {"direct_response": {"status": refusal.status, "body_format": body}} | (
        {"response_headers_to_add": _headers(refusal)} if refusal.headers else {}
    )


def local_replies(*, limit: int, longest: str) -> dict[str, Any]:
    """Map each reply that Envoy makes by itself to an OpenAI error.

    Args:
        limit: largest request body (bytes).
        longest: longest answer, as people say it.
    """
    texts = {"limit": str(limit), "longest": longest}
    mappers = [_mapper(refusal, texts) for refusal in REFUSALS]
    return {"mappers": [*mappers, _rest(400, "invalid_request_error"), _rest(500, "server_error")]}


def _headers(refusal: Refusal) -> list[dict[str, Any]]:
    return [
        {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
        for key, value in refusal.headers
    ]


def _mapper(refusal: Refusal, texts: dict[str, str]) -> dict[str, Any]:
    matches = [_status("EQ", refusal.status)]
    if refusal.flags:
        matches.append({"response_flag_filter": {"flags": list(refusal.flags)}})
    if refusal.details:
        matches.append(_details(f"== '{refusal.details}'"))
    message = refusal.message.format(**texts)
    mapper: dict[str, Any] = {
        "filter": {"and_filter": {"filters": matches}} if len(matches) > 1 else matches[0],
        "body_format_override": error_body(escape(message), refusal.kind, refusal.code),
    }
    return mapper | ({"headers_to_add": _headers(refusal)} if refusal.headers else {})


def _rest(lowest: int, kind: str) -> dict[str, Any]:
    """Shape what no row names; answers of our own routes are shaped already and pass."""
    matches = [_status("GE", lowest), _status("LE", lowest + 99), _details("!= 'direct_response'")]
    message = "The gateway refused the request: %RESPONSE_CODE_DETAILS%."
    return {
        "filter": {"and_filter": {"filters": matches}},
        "body_format_override": error_body(message, kind, "%RESPONSE_CODE_DETAILS%"),
    }


def _details(test: str) -> dict[str, Any]:
    return when(f"response.code_details {test}")


def _status(op: str, status: int) -> dict[str, Any]:
    # Envoy wants a runtime key beside the default; this one is set by nobody.
    value = {"default_value": status, "runtime_key": "railwright.unset"}
    return {"status_code_filter": {"comparison": {"op": op, "value": value}}}
