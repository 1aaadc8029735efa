"""Ask each part whether it works, from outside, the way its users would."""

from __future__ import annotations

import socket
import ssl
import struct
import urllib.error
import urllib.request

from lab.cluster.lab import Lab
from lab.cluster.parts import Part, Probe

ANSWER_SECONDS = 3.0
"""Longest wait for one answer (s)."""


def complaint(lab: Lab, part: Part, first_pid: int) -> str:
    """What is wrong with a part; empty when it works.

    Args:
        first_pid: the lab's first process as the machine counts; sockets inside are reached through it.
    """
    probe = part.probe
    try:
        if probe.kind in ("http", "https"):
            _ask_http(lab, probe)
        elif probe.kind == "unix":
            _ask_unix(f"/proc/{first_pid}/root{probe.path}")
        elif probe.kind == "dns":
            _ask_dns(lab.network.node_ip, probe)
        elif probe.kind == "ssh":
            _ask_ssh(lab.network.node_ip, probe)
    except urllib.error.HTTPError as error:
        return f"answers {error.code} on {probe.path}"
    except urllib.error.URLError as error:
        return str(error.reason)
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__
    return ""


def tls(lab: Lab, identity: str) -> ssl.SSLContext:
    """Trust of the lab's own authorities only; with a client certificate if an identity is named."""
    authority = "etcd-ca" if identity == "etcd-client" else "ca"
    context = ssl.create_default_context(cafile=str(lab.pki / f"{authority}.crt"))
    if identity:
        context.load_cert_chain(lab.pki / f"{identity}.crt", lab.pki / f"{identity}.key")
    return context


def _ask_http(lab: Lab, probe: Probe) -> None:
    address = lab.network.node_ip if lab.simulated else lab.network.address_of(probe.host)
    url = f"{probe.kind}://{address}:{probe.port}{probe.path}"
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if probe.kind == "https":
        handlers.append(urllib.request.HTTPSHandler(context=tls(lab, probe.as_identity)))
    with urllib.request.build_opener(*handlers).open(url, timeout=ANSWER_SECONDS) as answer:
        answer.read()


def _ask_unix(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(ANSWER_SECONDS)
        client.connect(path)


def _ask_dns(server: str, probe: Probe) -> None:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in probe.path.split("."))
    query = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(ANSWER_SECONDS)
        client.connect((server, probe.port))
        client.send(query)
        answer = client.recv(512)
    code, count = answer[3] & 0x0F, struct.unpack(">H", answer[6:8])[0]
    if code or not count:
        raise ValueError(f"answers {probe.path!r} with code {code} and {count} addresses")


def _ask_ssh(server: str, probe: Probe) -> None:
    with socket.create_connection((server, probe.port), timeout=ANSWER_SECONDS) as client:
        said = client.recv(64)
    if not said.startswith(b"SSH-2.0-"):
        raise ValueError(f"says {said!r} and not its version")
