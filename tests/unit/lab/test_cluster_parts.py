"""What the parts are started with fits together, and is closed."""

from __future__ import annotations

import configparser
import json
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

from infra.catalog.targets import LAB_HOSTS
from lab.cluster import access, configs, ssh, supervision
from lab.cluster.hosts import FIRST, HOSTS, Host
from lab.cluster.identities import AUTHORITIES, identities
from lab.cluster.lab import Lab
from lab.cluster.network import Network, Ports
from lab.cluster.parts import kubelet, parts

KINDS = {"full": Network(77), "simulated": Network(77, True, Ports.on_loopback(21000))}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    return Lab("f2af6c09", tmp_path, tmp_path / ".lab", tmp_path / "bin", request.param)


@pytest.fixture
def full(tmp_path: Path) -> Lab:
    return Lab("f2af6c09", tmp_path, tmp_path / ".lab", tmp_path / "bin", KINDS["full"])


def test_every_file_that_a_part_names_is_made(lab: Lab) -> None:
    """No part is pointed to a certificate or configuration that nobody writes."""
    names = [*AUTHORITIES, *(identity.name for identity in identities(lab.network))]
    made = {f"pki/{name}.{end}" for name in names for end in ("crt", "key")}
    made |= {"pki/service-account.key", "pki/service-account.pub", ssh.HOST_KEY}
    made |= {f"config/{name}" for name in configs.files(lab, "c2VjcmV0", hugetlb=False)}
    made |= {f"config/{name}.kubeconfig" for name in configs.clients(lab)}
    named = {word.partition("=")[2].removeprefix(f"{lab.state}/") for part in parts(lab) for word in part.command}
    named |= {name for part in parts(lab) for name in part.reads}
    assert {name for name in named if name.startswith(("pki/", "config/"))} <= made


def test_simulated_lab_has_no_node(tmp_path: Path) -> None:
    """What needs root and cgroups is left out, the rest is the same."""
    kinds = {
        name: {part.name for part in parts(Lab("f2af6c09", tmp_path, tmp_path, tmp_path, network))}
        for name, network in KINDS.items()
    }
    assert kinds["full"] - kinds["simulated"] == {
        *("containerd", "kubelet", "containerd-1", "kubelet-1", "kube-proxy", "coredns", "sshd")
    }
    assert kinds["simulated"] <= kinds["full"]


@pytest.mark.parametrize(
    "flag",
    ["--anonymous-auth=false", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"],
)
def test_api_server_is_closed(lab: Lab, flag: str) -> None:
    """Nobody without a certificate or token, and each only what it may."""
    assert flag in next(part for part in parts(lab) if part.name == "kube-apiserver").command


def test_kubelet_is_closed(full: Lab) -> None:
    """No anonymous caller and no read-only port; the API server decides who may."""
    made = configs.kubelet(full, FIRST)
    assert made["authentication"]["anonymous"] == {"enabled": False}
    assert made["authorization"] == {"mode": "Webhook"}
    assert "readOnlyPort" not in made


def test_kubelet_may_change_no_setting_of_the_machine(full: Lab) -> None:
    """It must find the kernel as it wants it, and never write."""
    assert configs.kubelet(full, FIRST)["protectKernelDefaults"] is True


def test_secrets_are_encrypted_before_they_reach_etcd(lab: Lab) -> None:
    """The first provider is the one that writes."""
    rules = yaml.safe_load(configs.encryption("c2VjcmV0"))["resources"]
    assert rules[0]["resources"] == ["secrets"]
    assert list(rules[0]["providers"][0]) == ["secretbox"]


def test_container_runtime_keeps_its_state_in_the_lab(full: Lab) -> None:
    """Images outlive the lab, running state does not; cgroups of pods hang below the lab's own."""
    made = tomllib.loads(configs.containerd(full, FIRST, hugetlb=False))
    assert (made["root"], made["state"]) == (f"{full.state}/containerd", "/run/containerd")
    assert configs.kubelet(full, FIRST)["cgroupRoot"] == f"/{full.name}/lab-0"


def test_hosts_share_no_folder_address_or_network(full: Lab) -> None:
    """Whatever one of them writes, listens on or hands out is its own, so that none ends what is another's."""
    for own in (owned(full, HOSTS[0]), owned(full, HOSTS[1])):
        assert len(set(own)) == len(own)
    assert not set(owned(full, HOSTS[0])) & set(owned(full, HOSTS[1]))


def owned(lab: Lab, host: Host) -> list[str]:
    """What must be a host's own."""
    runtime = tomllib.loads(configs.containerd(lab, host, hugetlb=False))
    agent, network = configs.kubelet(lab, host), json.loads(configs.cni(lab, host))
    folders = [word for word in kubelet(lab, host).command if word.startswith("--root-dir")]
    found = [runtime["root"], runtime["state"], runtime["grpc"]["address"], runtime["metrics"]["address"], *folders]
    found += [agent[key] for key in ("address", "cgroupRoot", "podLogsDir", "volumePluginDir", "tlsPrivateKeyFile")]
    return [*found, network["name"], network["plugins"][0]["ipam"]["ranges"][0][0]["subnet"]]


def test_kubelet_measures_the_containers_of_its_own_runtime(full: Lab) -> None:
    """It would look at the first host's otherwise, whose path is compiled in."""
    for host in HOSTS:
        assert f"--containerd={host.containerd_socket}" in kubelet(full, host).command
        assert configs.kubelet(full, host)["containerRuntimeEndpoint"] == f"unix://{host.containerd_socket}"


def test_the_plan_knows_the_labs_hosts() -> None:
    """The program that labels them may not read the lab's code."""
    assert tuple(host.name for host in HOSTS) == LAB_HOSTS


def test_pods_get_addresses_of_the_lab(full: Lab) -> None:
    """The network plugin hands out what the plan says, and forgets it with the lab."""
    ipam = json.loads(configs.cni(full, FIRST))["plugins"][0]["ipam"]
    assert ipam["ranges"] == [[{"subnet": "10.77.64.0/20"}]]
    assert ipam["dataDir"].startswith("/run/")


def programs(lab: Lab) -> configparser.RawConfigParser:
    """What supervisord is told."""
    parser = configparser.RawConfigParser()
    parser.read_string(supervision.configuration(lab))
    return parser


def test_supervisord_starts_each_part_as_it_is_written(lab: Lab) -> None:
    """Quoting and expansion change no word of a command."""
    told = programs(lab)
    for part in parts(lab):
        command = told[f"program:{part.name}"]["command"].replace("%%", "%")
        assert tuple(shlex.split(command)) == part.command


@pytest.mark.parametrize("word", ["a b", "50%", "a ;b", "x=it's", "[]"])
def test_odd_words_survive_quoting(word: str) -> None:
    """A clone may lie in a folder with a space or a percent sign."""
    assert shlex.split(supervision._quoted(word).replace("%%", "%")) == [word]


def test_changed_file_restarts_only_its_readers(full: Lab) -> None:
    """A renewed kubelet certificate is no reason to restart etcd."""
    before = {part.name: supervision.inputs_of(full, part) for part in parts(full)}
    full.pki.mkdir(parents=True)
    (full.pki / "kubelet.crt").write_text("new")
    after = {part.name: supervision.inputs_of(full, part) for part in parts(full)}
    assert {name for name in after if after[name] != before[name]} == {"kubelet"}


def test_parts_see_nothing_of_the_callers_environment(full: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token in the user's shell stays there."""
    monkeypatch.setenv("SOME_TOKEN", "secret")
    assert "secret" not in str(supervision.environment(full))


def test_every_role_is_bound_to_its_client() -> None:
    """A role without a binding would be a client that may nothing."""
    made = access.objects()
    roles = {one["metadata"]["name"] for one in made if one["kind"] == "ClusterRole"}
    bound = {one["roleRef"]["name"] for one in made if one["kind"] == "ClusterRoleBinding"}
    assert roles <= bound


def test_no_client_may_everything() -> None:
    """Roles name groups, resources and verbs, never all of them."""
    assert "*" not in str(access.objects())
