"""HTTPS with a certificate that is renewed under a running Envoy."""

from __future__ import annotations

from typing import Any

from infra.plan.envoy.form import extension
from infra.plan.envoy.spec import Tls

CERTIFICATE = "gateway"
"""What Envoy calls the certificate, also in its metrics: ``envoy_tls_certificate="gateway"``."""

_SOCKETS = "envoy.extensions.transport_sockets.tls.v3"


def over_tls(listener: dict[str, Any], tls: Tls) -> dict[str, Any]:
    """Serve a listener's one chain encrypted, and also readable where that is asked for."""
    (plain,) = listener["filter_chains"]
    chain = plain | {"transport_socket": _socket(tls)}
    if not tls.plain_http:
        return listener | {"filter_chains": [chain]}
    inspector = "envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"
    return listener | {
        "listener_filters": [extension("envoy.filters.listener.tls_inspector", inspector)],
        "filter_chains": [
            chain | {"filter_chain_match": {"transport_protocol": "tls"}},
            plain | {"filter_chain_match": {"transport_protocol": "raw_buffer"}},
        ],
    }


def certificate_source(folder: str) -> dict[str, Any]:
    """Tell Envoy where the certificate lies; it must be a file of its own, else no renewal is noticed.

    Args:
        folder: holds ``tls.crt`` and ``tls.key``; replaced as a whole, as Kubernetes does.
    """
    certificate = {
        "certificate_chain": {"filename": f"{folder}/tls.crt"},
        "private_key": {"filename": f"{folder}/tls.key"},
        "watched_directory": {"path": folder},
    }
    message = f"type.googleapis.com/{_SOCKETS}.Secret"
    return {"resources": [{"@type": message, "name": CERTIFICATE, "tls_certificate": certificate}]}


def _socket(tls: Tls) -> dict[str, Any]:
    source = {"name": CERTIFICATE, "sds_config": {"path_config_source": {"path": tls.source}}}
    context = {"alpn_protocols": ["h2", "http/1.1"], "tls_certificate_sds_secret_configs": [source]}
    message = f"{_SOCKETS}.DownstreamTlsContext"
    return extension("envoy.transport_sockets.tls", message, common_tls_context=context)
