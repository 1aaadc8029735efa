"""The GPU Operator's own program beside a lab, its chart as an archive, and hosts for it to find."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import env, paths, toolchain
from lab.toolchain.ensure import ensure_all, link_all

VERSION = "v25.3.4"
"""Version of the operator that Go's modules have; its chart is the module's own."""

TOOLS = ("gpu-operator", "pulumi", "pulumi-resource-kubernetes")
"""What is built beside the lab's own tools."""

NFD_LABELS = {
    "feature.node.kubernetes.io/pci-10de.present": "true",
    "feature.node.kubernetes.io/kernel-version.full": "6.8.0-60-generic",
    "feature.node.kubernetes.io/system-os_release.ID": "ubuntu",
    "feature.node.kubernetes.io/system-os_release.VERSION_ID": "24.04",
}
"""What Node Feature Discovery puts on a host with GPUs."""

_INSIDE = """
mount -t tmpfs none /opt && mkdir /opt/gpu-operator &&
cp -r {files}/assets/* {files}/manifests /opt/gpu-operator/ &&
exec {program} --metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0 --zap-time-encoding=rfc3339
"""
"""Its image has these files in this place; here only it sees them there."""


def tools() -> Path:
    """Have the tools, and give the folder of the operator's program."""
    wanted = [tool for tool in toolchain.TOOLS if tool.name in TOOLS]
    found = ensure_all(wanted, paths.state_dir() / "logs" / "tools", lambda event: None)
    programs = [tool for tool in wanted if tool.name != "pulumi-resource-kubernetes"]
    link_all(programs, found, paths.bin_dir())
    (plugin,) = [tool for tool in wanted if tool not in programs]
    link_all([plugin], found, env.plugin_folder("kubernetes", plugin.version))
    return (paths.bin_dir() / "gpu-operator").resolve().parent


def packed(folder: Path, into: Path) -> Path:
    """The module's chart as an archive, with the version that it was released as."""
    target = into / f"gpu-operator-{VERSION}.tgz"
    with tarfile.open(target, "w:gz") as archive:
        for path in sorted(item for item in folder.rglob("*") if item.is_file()):
            content = path.read_bytes()
            if path == folder / "Chart.yaml":
                content = content.replace(b"v1.0.0-devel", VERSION.encode()).replace(b"devel-ubi8", VERSION.encode())
            member = tarfile.TarInfo(f"gpu-operator/{path.relative_to(folder)}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target


@contextmanager
def running(bin_dir: Path, log: Path) -> Iterator[None]:
    """The operator at work on the lab's cluster."""
    script = _INSIDE.format(files=bin_dir / "gpu-operator-files", program=bin_dir / "gpu-operator")
    images = {"DRIVER_MANAGER_IMAGE": "example.com/k8s-driver-manager:v1", "OPERATOR_NAMESPACE": "gpu-operator"}
    variables = {**os.environ, **images, "KUBECONFIG": str(paths.state_dir() / "kubeconfig")}
    argv = ["unshare", "--mount", "--map-root-user", "sh", "-ec", script]
    with log.open("wb") as output, subprocess.Popen(argv, stdout=output, stderr=output, env=variables) as process:
        try:
            yield
        finally:
            process.terminate()


def kubectl(*arguments: str, given: object = None) -> str:
    """Run kubectl as the administrator."""
    argv = [str(paths.bin_dir() / "kubectl"), f"--kubeconfig={paths.state_dir() / 'kubeconfig'}", *arguments]
    text = None if given is None else json.dumps(given)
    ended = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def items(*arguments: str) -> list[dict[str, Any]]:
    """Objects as ``kubectl get`` finds them."""
    found: list[dict[str, Any]] = json.loads(kubectl("get", *arguments, "-o=json"))["items"]
    return found


def eventually(claim: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether the claim comes true in time."""
    end = time.monotonic() + seconds
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def pool(name: str, hosts: int, labels: dict[str, str], *, tainted: bool = True) -> None:
    """Make simulated hosts, with GPUs where they are tainted."""
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}] if tainted else []
    capacity = {"cpu": "64", "memory": "512Gi", "pods": "110", **({"nvidia.com/gpu": "8"} if tainted else {})}
    template = {"labels": {"railwright.dev/pool": name, **labels}, "taints": taints, "capacity": capacity}
    spec = {"hosts": hosts, "hostsPerLeaf": 2, "template": template}
    head = {"apiVersion": "lab.railwright.dev/v1", "kind": "NodePool", "metadata": {"name": name}}
    kubectl("apply", "--server-side", "--filename=-", given={**head, "spec": spec})
    kubectl("wait", f"nodepool/{name}", "--for=condition=Ready", "--timeout=90s")
