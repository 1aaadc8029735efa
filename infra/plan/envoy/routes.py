"""The route table: which path with which model and key goes where, and what is refused."""

from __future__ import annotations

import json
import re
from typing import Any

from infra.plan.envoy.form import extension, seconds
from infra.plan.envoy.replies import SHED_STATUS, Refusal, direct, escape
from infra.plan.envoy.shed import chance
from infra.plan.envoy.spec import GatewayRoutes, Scopes

NAMESPACE = "railwright"
"""Dynamic metadata namespace in which the filters leave what they learnt of a request."""

INFERENCE_PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses")
"""Paths that carry a JSON body with ``model``. Source: OpenAI API reference, as vLLM serves it."""

DONE_PATHS = INFERENCE_PATHS[:2]
"""Paths whose streams end with the line ``data: [DONE]``. Source: as above."""

MODEL_LIMIT = 128
"""Characters of a client's model name that are echoed or logged: no name of ours is longer."""

_JSON = r"(?i)application/json\s*(;.*)?"
_INFERENCE = "|".join(re.escape(path) for path in INFERENCE_PATHS)
_MODELS_BODY = 1024 * 1024

_NO_JSON_TYPE = Refusal(400, "unsupported_media_type", "Send the request as 'Content-Type: application/json'.")
_BAD_JSON = Refusal(400, "invalid_json", "The request body is not valid JSON.")
_NO_MODEL = Refusal(400, "missing_model", "The request body has no 'model' that is a short string.")
_NO_PATH = Refusal(404, "unknown_url", "Unknown request URL: %REQ(:METHOD)% %PATH(NQ):256%.")
_NO_FOUND = "does not exist or this key may not use it; GET /v1/models lists what it may."
_NO_BODY_MODEL = Refusal(
    404, "model_not_found", f"The model '%DYNAMIC_METADATA({NAMESPACE}:model):{MODEL_LIMIT}%' {_NO_FOUND}"
)
_NO_PATH_MODEL = Refusal(404, "model_not_found", f"The model of this URL {_NO_FOUND}")


def route_configuration(routes: GatewayRoutes) -> dict[str, Any]:
    """Build the whole table; every request that no route serves meets a refusal, none passes unrouted."""
    scopes = routes.scopes
    table = [
        *_inference(routes, scopes),
        *_model_list(routes, scopes),
        _route("unknown-url", {"prefix": "/"}, direct(_NO_PATH)),
    ]
    return {
        "name": "api",
        "virtual_hosts": [{"name": "api", "domains": ["*"], "routes": table}],
        "max_direct_response_body_size_bytes": _MODELS_BODY,
    }


def cluster_name(model: str) -> str:
    """Name the Envoy cluster of a model, as it shows in logs and metrics."""
    return f"model/{model}"


def _inference(routes: GatewayRoutes, scopes: Scopes) -> list[dict[str, Any]]:
    path = {"safe_regex": {"regex": _INFERENCE}}
    post = path | {"headers": [_header(":method", {"exact": "POST"})]}
    typed = path | {"headers": [*post["headers"], _header("content-type", {"safe_regex": {"regex": _JSON}})]}
    return [
        _route("wrong-method", path | {"headers": [_not_method("POST")]}, direct(_wrong_method("POST"))),
        _route("no-json-type", path | {"headers": [_not_json()]}, direct(_NO_JSON_TYPE)),
        _route("bad-json", typed | {"dynamic_metadata": [_metadata("body", {"exact": "bad"})]}, direct(_BAD_JSON)),
        *[_shed(tier, typed) for tier in routes.tiers],
        *[route for upstream in routes.models for route in _model(routes, scopes, upstream.model, typed)],
        _route("no-model", typed | {"dynamic_metadata": [_no_model()]}, direct(_NO_MODEL, "model")),
        _route("unknown-model", typed, direct(_NO_BODY_MODEL, "model")),
    ]


def _shed(tier: str, typed: dict[str, Any]) -> dict[str, Any]:
    """Refuse a share of a tier, none unless its switch is set; the answer is shaped with Envoy's own."""
    match = typed | {"dynamic_metadata": [_metadata("tier", {"exact": tier})], "runtime_fraction": chance(tier)}
    return _route(f"shed/{tier}", match, {"direct_response": {"status": SHED_STATUS}})


def _model(routes: GatewayRoutes, scopes: Scopes, model: str, typed: dict[str, Any]) -> list[dict[str, Any]]:
    """Route one model twice: streams may not fall silent, whole answers are silent until they are done."""
    opened = _opened(scopes, model)
    if opened is None:
        return []
    wanted = [_metadata("model", {"exact": model}), opened]
    streamed = {"filter": NAMESPACE, "path": [{"key": "stream"}], "value": {"bool_match": True}}
    name = cluster_name(model)
    return [
        _route(f"{name}/stream", typed | {"dynamic_metadata": [*wanted, streamed]}, _to(routes, model, stream=True)),
        _route(name, typed | {"dynamic_metadata": wanted}, _to(routes, model, stream=False)),
    ]


def _to(routes: GatewayRoutes, model: str, *, stream: bool) -> dict[str, Any]:
    """Forward to a model: no total timeout but the longest answer, retries only before the first byte."""
    silence = routes.idle_timeout if stream else routes.longest_answer
    retries = {
        # Until response headers came nothing reached the client, so another replica may start afresh.
        "retry_on": "connect-failure,refused-stream,reset-before-request,reset,retriable-status-codes",
        "retriable_status_codes": [503],
        "num_retries": 2,
        "retry_host_predicate": [extension("envoy.retry_host_predicates.previous_hosts", _PREVIOUS_HOSTS)],
        # Draws until one misses the replicas already tried; with two replicas one of eight draws does.
        "host_selection_retry_max_attempts": 100,
        "retry_back_off": {"base_interval": "0.05s", "max_interval": "1s"},
    }
    return {
        "route": {
            "cluster": cluster_name(model),
            "timeout": "0s",
            "idle_timeout": seconds(silence),
            "max_stream_duration": {"max_stream_duration": seconds(routes.longest_answer)},
            "retry_policy": retries,
        },
        "request_body_buffer_limit": routes.max_request_bytes,
        "metadata": {"filter_metadata": {NAMESPACE: {"model": model}}},
    }


_PREVIOUS_HOSTS = "envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"


def _model_list(routes: GatewayRoutes, scopes: Scopes) -> list[dict[str, Any]]:
    """Answer /v1/models from the configuration, to each scope only what it opens."""
    table: list[dict[str, Any]] = []
    for methods in ({"path": "/v1/models"}, {"prefix": "/v1/models/"}):
        get = methods | {"headers": [_header(":method", {"safe_regex": {"regex": "GET|HEAD"}}, invert=True)]}
        table.append(_route("wrong-method", get, direct(_wrong_method("GET"))))
    for number, models in enumerate(scopes):
        own = {"dynamic_metadata": [_metadata("scope", {"exact": str(number)})]}
        rows = {"object": "list", "data": [_model_row(model) for model in models]}
        table.append(_route("models", {"path": "/v1/models"} | own, _json_reply(rows)))
    for upstream in routes.models:
        if opened := _opened(scopes, upstream.model):
            match = {"path": f"/v1/models/{upstream.model}", "dynamic_metadata": [opened]}
            table.append(_route("model", match, _json_reply(_model_row(upstream.model))))
    table.append(_route("unknown-model", {"prefix": "/v1/models/"}, direct(_NO_PATH_MODEL, "model")))
    return table


def _opened(scopes: Scopes, model: str) -> dict[str, Any] | None:
    """Match the callers whose scope holds a model; None when no key opens it."""
    numbers = [str(number) for number, models in enumerate(scopes) if model in models]
    matches = [{"string_match": {"exact": number}} for number in numbers]
    if not matches:
        return None
    # Envoy wants at least two alternatives in an or_match.
    value = matches[0] if len(matches) == 1 else {"or_match": {"value_matchers": matches}}
    return {"filter": NAMESPACE, "path": [{"key": "scope"}], "value": value}


def _model_row(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": 0, "owned_by": "railwright"}


def _json_reply(body: dict[str, Any]) -> dict[str, Any]:
    text = {"text_format_source": {"inline_string": escape(json.dumps(body))}, "content_type": "application/json"}
    return {"direct_response": {"status": 200, "body_format": text}}


def _wrong_method(allowed: str) -> Refusal:
    return Refusal(
        405, "method_not_allowed", f"%REQ(:METHOD)% is not allowed here; use {allowed}.", headers=(("allow", allowed),)
    )


def _route(name: str, match: dict[str, Any], action: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "match": match} | action


def _header(name: str, match: dict[str, Any], *, invert: bool = False) -> dict[str, Any]:
    return {"name": name, "string_match": match} | ({"invert_match": True} if invert else {})


def _not_method(method: str) -> dict[str, Any]:
    return _header(":method", {"exact": method}, invert=True)


def _not_json() -> dict[str, Any]:
    missing = {"treat_missing_header_as_empty": True}
    return _header("content-type", {"safe_regex": {"regex": _JSON}}, invert=True) | missing


def _metadata(key: str, match: dict[str, Any]) -> dict[str, Any]:
    return {"filter": NAMESPACE, "path": [{"key": key}], "value": {"string_match": match}}


def _no_model() -> dict[str, Any]:
    return {"filter": NAMESPACE, "path": [{"key": "model"}], "value": {"present_match": True}, "invert": True}
