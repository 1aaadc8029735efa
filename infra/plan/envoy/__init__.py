"""The gateway as stock Envoy reads it: typed routes in, one bootstrap document out, no input or output."""

from __future__ import annotations

from infra.plan.envoy.bootstrap import render
from infra.plan.envoy.drain import TEARDOWN, pre_stop_command
from infra.plan.envoy.spec import ClientKey, GatewayRoutes, Tls, Upstream
from infra.plan.envoy.tls import certificate_source

__all__ = [
    "TEARDOWN",
    "ClientKey",
    "GatewayRoutes",
    "Tls",
    "Upstream",
    "certificate_source",
    "pre_stop_command",
    "render",
]
