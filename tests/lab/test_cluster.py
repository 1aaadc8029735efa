"""The living lab is a real, closed and tidy cluster."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lab.cluster import start
from lab.cluster.health import tls
from lab.cluster.lab import NODE, Lab
from tests.lab.living_lab import echo_pods, eventually, full_lab, get, kubectl, rows

ASK = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=5).read().decode())"


@pytest.fixture(scope="module")
def lab() -> Lab:
    return full_lab()


@pytest.fixture(scope="module")
def echo(lab: Lab) -> Iterator[set[str]]:
    """Names of two pods behind a Service."""
    with echo_pods(lab) as names:
        yield names


def test_every_part_works(lab: Lab) -> None:
    """Each part answers the way its users ask it."""
    assert {name: row.detail for name, row in rows().items() if row.state != "works"} == {}


def test_node_is_ready_at_the_pinned_version(lab: Lab) -> None:
    """The real node takes pods and runs the kubelet that was pinned."""
    node = get(lab, "node", NODE)["status"]
    assert {c["type"]: c["status"] for c in node["conditions"]}["Ready"] == "True"
    assert node["nodeInfo"]["kubeletVersion"] == "v1.36.3"


@pytest.mark.parametrize("port", [6443, 10250], ids=["api-server", "kubelet"])
def test_anonymous_callers_are_refused(lab: Lab, port: int) -> None:
    """Without a certificate nobody gets anything."""
    url = f"https://{lab.network.node_ip}:{port}/pods"
    assert httpx.get(url, verify=tls(lab, ""), trust_env=False).status_code == 401


def test_node_may_not_read_secrets_of_others(lab: Lab) -> None:
    """The node authorizer lets a kubelet see only what its own pods use."""
    argv = [lab.tool("kubectl"), f"--kubeconfig={lab.config}/kubelet.kubeconfig", "get", "secrets", "--all-namespaces"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "Forbidden" in done.stderr


def test_secrets_are_encrypted_in_etcd(lab: Lab) -> None:
    """What etcd keeps of a Secret starts with the name of the cipher."""
    kubectl(
        lab,
        "apply",
        "--server-side",
        "--filename=-",
        given=(
            "{apiVersion: v1, kind: Secret, metadata: {name: lab-test, namespace: default}, "
            "stringData: {a: plain-words}}"
        ),
    )
    key = base64.b64encode(b"/registry/secrets/default/lab-test").decode()
    url = f"https://{lab.network.node_ip}:{lab.network.ports.etcd}/v3/kv/range"
    answer = httpx.post(url, json={"key": key}, verify=tls(lab, "etcd-client"), trust_env=False)
    value = base64.b64decode(answer.json()["kvs"][0]["value"])
    kubectl(lab, "delete", "secret", "lab-test")
    assert value.startswith(b"k8s:enc:secretbox:v1:lab:")
    assert b"plain-words" not in value


def test_private_files_are_private(lab: Lab) -> None:
    """Only the owner reads keys and kubeconfigs."""
    files = [lab.kubeconfig, *lab.pki.iterdir(), *lab.config.glob("*.kubeconfig")]
    assert {str(path): oct(path.stat().st_mode & 0o777) for path in files if path.stat().st_mode & 0o077} == {}


def test_logs_and_exec_reach_a_pod(lab: Lab, echo: set[str]) -> None:
    """The API server finds the kubelet, and the kubelet the container."""
    name = min(echo)
    assert "serves" in kubectl(lab, "--namespace=lab-test", "logs", name)
    look = "print(open('/etc/hostname').read())"
    told = kubectl(lab, "--namespace=lab-test", "exec", name, "--", "python3", "-c", look)
    assert told.strip() == name


@pytest.mark.parametrize("url", ["http://echo/", "http://echo.lab-test.svc.cluster.local/"])
def test_service_answers_pods_by_name(lab: Lab, echo: set[str], url: str) -> None:
    """DNS, the Service address and both pods behind it work from inside a pod, itself included."""
    seen: set[str] = set()

    def all_answered() -> bool:
        exec_in = ("--namespace=lab-test", "exec", min(echo), "--", "python3", "-c", ASK, url)
        seen.add(kubectl(lab, *exec_in).strip())
        return seen == echo

    assert eventually(all_answered, 60)


def test_node_port_answers_the_machine(lab: Lab, echo: set[str]) -> None:
    """The machine reaches pods through the node's address."""
    assert httpx.get(f"http://{lab.network.node_ip}:31998/", trust_env=False).text in echo


def test_machine_is_untouched(lab: Lab) -> None:
    """The machine has one interface more, and no mount and no firewall table of the lab."""
    tables = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    links = {path.name for path in Path("/sys/class/net").iterdir()}
    assert [mount for mount in mounts if Path(mount).is_relative_to(lab.state)] == []
    assert "kube-proxy" not in tables
    assert lab.link in links
    assert not {name for name in links if name.startswith(("cni", "veth"))}


def test_second_start_changes_nothing(lab: Lab) -> None:
    """What is true already is left alone."""
    before = {name: row.pid for name, row in rows().items()}
    start.start(lambda line: None)
    assert {name: row.pid for name, row in rows().items()} == before
