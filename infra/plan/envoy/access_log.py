"""One JSON line for each request: who, which model, how it went; no key, no prompt, no query string."""

from __future__ import annotations

from typing import Any

from infra.plan.envoy.form import extension
from infra.plan.envoy.routes import MODEL_LIMIT, NAMESPACE

FIELDS = {
    "time": "%START_TIME%",
    "request_id": "%REQ(X-REQUEST-ID)%",
    "tenant": f"%DYNAMIC_METADATA({NAMESPACE}:tenant)%",
    "key": f"%DYNAMIC_METADATA({NAMESPACE}:key)%",
    "tier": f"%DYNAMIC_METADATA({NAMESPACE}:tier)%",
    "model": f"%DYNAMIC_METADATA({NAMESPACE}:model):{MODEL_LIMIT}%",
    "stream": f"%DYNAMIC_METADATA({NAMESPACE}:stream)%",
    "method": "%REQ(:METHOD)%",
    "path": "%PATH(NQ):256%",
    "protocol": "%PROTOCOL%",
    "client": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
    "status": "%RESPONSE_CODE%",
    "flags": "%RESPONSE_FLAGS%",
    "details": "%RESPONSE_CODE_DETAILS%",
    "first_byte_ms": "%RESPONSE_DURATION%",
    "duration_ms": "%DURATION%",
    "bytes_in": "%BYTES_RECEIVED%",
    "bytes_out": "%BYTES_SENT%",
    "replica": "%UPSTREAM_HOST%",
    "attempts": "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
    "prompt_tokens": f"%DYNAMIC_METADATA({NAMESPACE}:prompt_tokens)%",
    "completion_tokens": f"%DYNAMIC_METADATA({NAMESPACE}:completion_tokens)%",
}
"""Name of each field and where Envoy takes it from; what is not known is null.

``first_byte_ms`` ends at the replica's first byte: for a stream these are the headers, which vLLM sends before the
first token.
"""


def access_log() -> list[dict[str, Any]]:
    """Write the fields to standard output, where the node's log collector looks."""
    message = "envoy.extensions.access_loggers.stream.v3.StdoutAccessLog"
    return [extension("envoy.access_loggers.stdout", message, log_format={"json_format": FIELDS})]
