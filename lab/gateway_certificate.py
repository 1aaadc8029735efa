"""Give the gateway of the lab a certificate: a Secret of the cluster, signed by the lab's own authority."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import Any

from infra.errors import CheckError
from lab import paths, stack_file
from lab.steps import Report

NAMESPACE = "gateway"
"""Where the gateway's pods look for it; there once the stack is up."""


def secret_name() -> str:
    """Name of the Secret that the stack asks for; empty when its gateway speaks plain HTTP only."""
    tls = stack_file.section("gateway").get("tls")
    return str(tls["secret_name"]) if isinstance(tls, dict) and "secret_name" in tls else ""


def secret() -> dict[str, Any]:
    """The Secret as it should be."""
    pki = paths.state_dir() / "pki"
    data = {f"tls.{kind}": (pki / f"gateway.{kind}").read_bytes() for kind in ("crt", "key")}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret_name(), "namespace": NAMESPACE},
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(content).decode() for name, content in data.items()},
    }


def apply(report: Report) -> str:
    """Write it, again and again with the same outcome; the gateway takes it up without a restart."""
    if not secret_name():
        return "not asked for"
    kubectl = [str(paths.bin_dir() / "kubectl"), f"--kubeconfig={paths.state_dir() / 'kubeconfig'}"]
    # On standard input, for arguments are seen by everyone on the machine.
    done = subprocess.run(
        [*kubectl, "apply", "--server-side", "--force-conflicts", "--filename=-"],
        input=json.dumps(secret()),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CheckError(f"gateway certificate — kubectl says {done.stderr.strip()!r} — run `lab doctor`")
    return f"Secret {NAMESPACE}/{secret_name()}"
