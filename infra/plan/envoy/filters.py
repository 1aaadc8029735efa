"""What happens to a request before it is routed: who asks, how large, for which model."""

from __future__ import annotations

from typing import Any

from infra.plan.envoy.form import extension
from infra.plan.envoy.routes import NAMESPACE
from infra.plan.envoy.spec import GatewayRoutes

IDENTITY_HEADERS = {"tenant": "x-railwright-tenant", "tier": "x-railwright-tier", "key": "x-railwright-key"}
"""What the engine is told of the caller; a client that sends these itself is overruled."""

_CLIENT = "x-railwright-client"
_HTTP = "envoy.extensions.filters.http"
_SSE_EVENT_BYTES = 1024 * 1024
_TOKENS = (
    (("usage", "prompt_tokens"), "prompt_tokens"),
    (("usage", "completion_tokens"), "completion_tokens"),
    # The Responses API has other names for them, and tells them unasked.
    (("response", "usage", "input_tokens"), "prompt_tokens"),
    (("response", "usage", "output_tokens"), "completion_tokens"),
)


def http_filters(routes: GatewayRoutes) -> list[dict[str, Any]]:
    """List the filters in the order in which a request meets them; nothing is buffered for an unknown key."""
    buffer = {"max_request_bytes": routes.max_request_bytes}
    return [
        _keys(routes),
        _identity(),
        _identity_headers(),
        extension("envoy.filters.http.buffer", f"{_HTTP}.buffer.v3.Buffer", **buffer),
        _body_fields(),
        # The route was chosen before key and body were known; choose again.
        extension("envoy.filters.http.set_filter_state", f"{_HTTP}.set_filter_state.v3.Config", clear_route_cache=True),
        _stream_facts(),
        extension("envoy.filters.http.router", f"{_HTTP}.router.v3.Router", suppress_envoy_headers=True),
    ]


def _keys(routes: GatewayRoutes) -> dict[str, Any]:
    scopes = {models: number for number, models in enumerate(routes.scopes)}
    return extension(
        "envoy.filters.http.api_key_auth",
        f"{_HTTP}.api_key_auth.v3.ApiKeyAuth",
        # The client is all that this filter hands on, so it carries four names at once.
        credentials=[
            {"key": key.value, "client": f"{key.id}/{key.tenant}/{key.tier}/{scopes[routes.opened_by(key)]}"}
            for key in routes.keys
        ],
        key_sources=[{"header": "Authorization"}],
        forwarding={"header": _CLIENT, "hide_credentials": True},
    )


def _identity() -> dict[str, Any]:
    """Take the client apart again, into metadata that routes and the access log read."""
    names = ("key", "tenant", "tier", "scope")
    rules = []
    for group, name in enumerate(names, start=1):
        rewrite = {"pattern": {"regex": "([^/]*)/([^/]*)/([^/]*)/([^/]*)"}, "substitution": f"\\{group}"}
        value = {"metadata_namespace": NAMESPACE, "key": name, "regex_value_rewrite": rewrite}
        rules.append({"header": _CLIENT, "on_header_present": value, "remove": name == names[-1]})
    message = f"{_HTTP}.header_to_metadata.v3.Config"
    return extension("envoy.filters.http.header_to_metadata", message, request_rules=rules)


def _identity_headers() -> dict[str, Any]:
    mutations = [
        {
            "append": {
                "header": {"key": header, "value": f"%DYNAMIC_METADATA({NAMESPACE}:{name})%"},
                "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
            }
        }
        for name, header in IDENTITY_HEADERS.items()
    ]
    message = f"{_HTTP}.header_mutation.v3.HeaderMutation"
    return extension("envoy.filters.http.header_mutation", message, mutations={"request_mutations": mutations})


def _body_fields() -> dict[str, Any]:
    """Lift ``model`` and ``stream`` out of the body with Envoy's own JSON parser."""
    bad = {"metadata_namespace": NAMESPACE, "key": "body", "value": "bad"}
    rules: list[dict[str, Any]] = [
        {"selectors": [{"key": name}], "on_present": {"metadata_namespace": NAMESPACE, "key": name}}
        for name in ("model", "stream")
    ]
    rules[0]["on_error"] = bad
    match = {"rules": rules, "allow_content_types_regex": {"regex": r"(?i)application/json\s*(;.*)?"}}
    message = f"{_HTTP}.json_to_metadata.v3.JsonToMetadata"
    return extension("envoy.filters.http.json_to_metadata", message, request_rules=match)


def _stream_facts() -> dict[str, Any]:
    """Note the token counts that a stream tells, and how it ended; the stream itself passes as it is."""
    rules = [
        {"selectors": [{"key": key} for key in path], "on_present": {"metadata_namespace": NAMESPACE, "key": name}}
        for path, name in _TOKENS
    ]
    true = {"metadata_namespace": NAMESPACE, "value": True}
    # The one line of a stream that is no JSON is [DONE], its last; what fails midway is told in an error object.
    rules.append({"selectors": [{"key": "[DONE]"}], "on_error": true | {"key": "done"}})
    rules.append({"selectors": [{"key": "error"}], "on_present": true | {"key": "failed"}})
    message = "envoy.extensions.content_parsers.json.v3.JsonContentParser"
    parser = extension("json", message, rules=[{"rule": rule} for rule in rules])
    return extension(
        "envoy.filters.http.sse_to_metadata",
        f"{_HTTP}.sse_to_metadata.v3.SseToMetadata",
        response_rules={"content_parser": parser, "max_event_size": _SSE_EVENT_BYTES},
    )
