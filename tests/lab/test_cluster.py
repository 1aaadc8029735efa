"""The living lab is a real, closed and tidy cluster."""

from __future__ import annotations

import base64
import re
import subprocess
import time
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import httpx
import paramiko
import pytest

from lab.cluster import registry, start, watch
from lab.cluster.health import tls
from lab.cluster.hosts import HOSTS, Host
from lab.cluster.lab import Lab
from tests.lab.living_lab import echo_pods, eventually, full_lab, get, kubectl, rows

NAMES = [host.name for host in HOSTS]

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


@pytest.mark.parametrize("host", HOSTS, ids=NAMES)
def test_host_is_ready_at_the_pinned_version(lab: Lab, host: Host) -> None:
    """Each real host takes pods and runs the kubelet that was pinned."""
    node = get(lab, "node", host.name)["status"]
    assert {c["type"]: c["status"] for c in node["conditions"]}["Ready"] == "True"
    assert node["nodeInfo"]["kubeletVersion"] == "v1.36.3"


@pytest.mark.parametrize(
    ("host", "port"), [(HOSTS[0], 6443), (HOSTS[0], 10250), (HOSTS[1], 10250)], ids=["api-server", "lab-0", "lab-1"]
)
def test_anonymous_callers_are_refused(lab: Lab, host: Host, port: int) -> None:
    """Without a certificate nobody gets anything."""
    url = f"https://{lab.network.address_of(host)}:{port}/pods"
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


@pytest.mark.parametrize("asking", HOSTS, ids=NAMES)
@pytest.mark.parametrize("url", ["http://echo/", "http://echo.lab-test.svc.cluster.local/"])
def test_service_answers_pods_by_name(lab: Lab, echo: set[str], url: str, asking: Host) -> None:
    """DNS, the Service address and the pods of both hosts work from inside a pod, itself included."""
    seen, name = set(), pods_by_host(lab)[asking.name]["metadata"]["name"]

    def all_answered() -> bool:
        seen.add(kubectl(lab, "--namespace=lab-test", "exec", name, "--", "python3", "-c", ASK, url).strip())
        return seen == echo

    assert eventually(all_answered, 60)


def pods_by_host(lab: Lab) -> dict[str, dict[str, Any]]:
    """The echo pod of each real host."""
    pods = get(lab, "pods", "--namespace=lab-test", "--selector=app=echo")["items"]
    return {pod["spec"]["nodeName"]: pod for pod in pods}


@pytest.mark.parametrize(("asking", "asked"), [HOSTS, HOSTS[::-1]], ids=["from lab-0", "from lab-1"])
def test_pods_reach_those_of_the_other_host(lab: Lab, echo: set[str], asking: Host, asked: Host) -> None:
    """By the pod's own address, which is in its host's range."""
    pods = pods_by_host(lab)
    name, target = pods[asking.name]["metadata"]["name"], pods[asked.name]
    address = target["status"]["podIP"]
    assert ip_address(address) in ip_network(lab.network.pods_of(asked))
    ask = ("exec", name, "--", "python3", "-c", ASK, f"http://{address}:8000/")
    assert kubectl(lab, "--namespace=lab-test", *ask).strip() == target["metadata"]["name"]


@pytest.mark.parametrize("host", HOSTS, ids=NAMES)
def test_node_port_answers_the_machine(lab: Lab, echo: set[str], host: Host) -> None:
    """The machine reaches pods through each host's address."""
    assert httpx.get(f"http://{lab.network.address_of(host)}:31998/", trust_env=False).text in echo


def connect(lab: Lab, host: Host) -> paramiko.SSHClient:
    """A session on a host whose key is known, for a stranger would be refused."""
    client = paramiko.SSHClient()
    client.load_host_keys(str(lab.state / "secrets/ssh/known_hosts"))
    options = {"look_for_keys": False, "allow_agent": False, "timeout": 10}
    key = str(lab.state / "secrets/ssh/id_ed25519")
    client.connect(lab.network.address_of(host), lab.network.ports.ssh, "root", key_filename=key, **options)
    return client


def on_host(lab: Lab, host: Host, command: str) -> str:
    """What a command prints that ends well on a host."""
    with connect(lab, host) as client:
        _, out, err = client.exec_command(command, timeout=60)
        assert out.channel.recv_exit_status() == 0, err.read().decode()
        return out.read().decode().strip()


@pytest.mark.parametrize("host", HOSTS, ids=NAMES)
def test_session_is_inside_the_lab(lab: Lab, host: Host) -> None:
    """It sees the lab's processes, network and mounts, and a home that goes with the lab."""
    record = registry.living(lab)
    assert record is not None
    spaces = "readlink /proc/self/ns/pid /proc/self/ns/net /proc/self/ns/mnt; echo $HOME"
    wanted = [str(Path(f"/proc/{record.pid}/ns/{kind}").readlink()) for kind in ("pid", "net", "mnt")]
    assert on_host(lab, host, spaces).splitlines() == [*wanted, "/run/root"]


def test_nobody_else_may_come_in(lab: Lab) -> None:
    """Another key is refused, and a password is not even asked for."""
    with paramiko.Transport((lab.network.node_ip, lab.network.ports.ssh)) as transport:
        transport.start_client(timeout=10)
        with pytest.raises(paramiko.AuthenticationException):
            transport.auth_publickey("root", paramiko.ECDSAKey.generate())
        with pytest.raises(paramiko.BadAuthenticationType) as refused:
            transport.auth_password("root", "secret")
        assert refused.value.allowed_types == ["publickey"]


def test_stopped_part_stays_stopped_until_the_lab_is_started(lab: Lab) -> None:
    """Neither supervisord nor the watcher starts it again; `lab up` does, and does not mind the others."""
    part = f"{lab.tools}/part"
    before = rows()
    assert on_host(lab, HOSTS[1], f"{part} stop kubelet-1") == "stopped"
    time.sleep(2 * watch.LOOK_SECONDS)
    assert rows()["kubelet-1"].state == "stopped"
    assert on_host(lab, HOSTS[1], f"{part} pause kube-scheduler") == "paused"
    assert rows()["kube-scheduler"].state == "stopped"
    start.start(lambda line: None)
    after = rows()
    assert {name for name in after if after[name].pid != before[name].pid} == {"kubelet-1"}
    assert {row.state for row in after.values()} == {"works"}


PAGES = {
    "etcd": (HOSTS[0], "etcd_metrics", "/metrics", "etcd_server_has_leader"),
    "coredns": (HOSTS[0], "coredns_metrics", "/metrics", "coredns_build_info"),
    "kwok": (HOSTS[0], "kwok", "/metrics", "go_info"),
    "kube-proxy": (HOSTS[0], "kube_proxy_metrics", "/metrics", "kubeproxy_sync_proxy_rules_duration_seconds"),
    "containerd": (HOSTS[0], "containerd_metrics", "/v1/metrics", "containerd_build_info_total"),
    "containerd-1": (HOSTS[1], "containerd_metrics", "/v1/metrics", "containerd_build_info_total"),
}
"""Where numbers can be read without a name, and one of them."""


@pytest.mark.parametrize(("host", "port", "path", "name"), PAGES.values(), ids=PAGES.keys())
def test_pods_read_metrics(lab: Lab, echo: set[str], host: Host, port: str, path: str, name: str) -> None:
    """A monitoring system that runs in the cluster reaches each part that it may read freely."""
    url = f"http://{lab.network.address_of(host)}:{getattr(lab.network.ports, port)}{path}"
    ask = ("exec", min(echo), "--", "python3", "-c", ASK, url)
    assert f"\n{name}" in kubectl(lab, "--namespace=lab-test", *ask)


@pytest.mark.parametrize("host", HOSTS, ids=NAMES)
def test_kubelet_measures_its_own_containers(lab: Lab, echo: set[str], host: Host) -> None:
    """With their names, and none of the other host's."""
    url = f"https://{lab.network.address_of(host)}:{lab.network.ports.kubelet}/metrics/cadvisor"
    own = pods_by_host(lab)[host.name]["metadata"]["name"]

    def measured() -> set[str]:
        text = httpx.get(url, verify=tls(lab, "kube-apiserver-kubelet"), trust_env=False).text
        return set(re.findall(r'container_memory_working_set_bytes\{container="echo",.*pod="([^"]*)"', text))

    assert eventually(measured, 60) == {own}


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
