"""Monitoring's objects: everything that is watched is known by the right names, and nobody may do more than it must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.config.observability import Alertmanager
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.labels import POOL_LABEL, own_labels
from infra.plan.manifests.observability import alertmanager, ground, programs, watch
from infra.plan.manifests.observability.gpu_exporter import counters
from tests.unit.plan.specs import LAB, STACK, plan_of

OWN = {"observability/storage": {"size_gib": 100}}
EXISTING = {"observability/existing": {"labels": {"release": "kps"}, "namespace": "metrics"}}
FAST = {**OWN, "observability/pace": 0.1, "observability/scrape_interval": "5s"}
SIMULATED = {**FAST, "pools/sim": {"board": "hgx-b300", "hosts": 2}}

Objects = dict[str, dict[str, Any]]


def seen(changes: dict[str, Any], base: dict[str, Any]) -> tuple[Plan, ObservabilityPlan]:
    """Plan a changed stack that is watched."""
    plan = plan_of(changes, base)
    assert plan.observability is not None
    return plan, plan.observability


def objects(changes: dict[str, Any] | None = None, base: dict[str, Any] = STACK) -> Objects:
    """All objects of the monitoring."""
    plan, observability = seen(changes or OWN, base)
    return {**ground(observability), **programs(plan, observability), **watch(plan, observability)}


def pods(found: Objects) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each pod template, by the part that makes it."""
    for part, item in found.items():
        if item["kind"] in ("Deployment", "DaemonSet"):
            yield part, item["spec"]["template"]["spec"]


def words(rules: list[dict[str, list[str]]], *keys: str) -> set[str]:
    """Everything that the rules of a role name under some keys."""
    return {word for rule in rules for key in keys for word in rule.get(key, [])}


def relabelled(item: dict[str, Any]) -> dict[str, Any]:
    """What each label is taken from, or set to."""
    spec = item["spec"]
    rules = spec["podMetricsEndpoints"][0]["relabelings"] if "podMetricsEndpoints" in spec else spec["relabelings"]
    return {
        rule["targetLabel"]: rule.get("replacement", (rule.get("sourceLabels") or [None])[0])
        for rule in rules
        if "targetLabel" in rule
    }


@pytest.mark.parametrize(("changes", "base"), [(OWN, STACK), (SIMULATED, LAB)], ids=["bare metal", "lab"])
def test_every_job_that_is_promised_is_scraped(changes: dict[str, Any], base: dict[str, Any]) -> None:
    """Rules are made for the plan's jobs; one without a scrape would never see anything."""
    found = objects(changes, base)
    scraped = {relabelled(item)["job"] for item in found.values() if item["kind"] in ("PodMonitor", "ScrapeConfig")}
    through_the_fleet = {"dcgm-exporter"} if base is LAB else set()
    assert scraped | through_the_fleet == set(seen(changes, base)[1].jobs)


@pytest.mark.parametrize(
    "job", ["pods-vllm", "pods-node-exporter", "pods-dcgm-exporter", "hosts-kubelet", "hosts-cadvisor"]
)
def test_what_runs_on_a_host_says_which(job: str) -> None:
    """Host, pool and leaf, so that a runbook can go there."""
    labels = relabelled(objects()[job])
    assert labels["host"] in ("__meta_kubernetes_pod_node_name", "__meta_kubernetes_node_name")
    assert labels["pool"] == "__meta_kubernetes_node_label_railwright_dev_pool"
    assert labels["leaf"] == "__meta_kubernetes_node_label_railwright_dev_leaf"


def test_an_engine_is_known_by_its_model() -> None:
    """Also one that is down, and says nothing of itself."""
    assert relabelled(objects()["pods-vllm"])["model"] == "__meta_kubernetes_pod_label_app_kubernetes_io_name"


def test_the_gateway_keeps_its_own_word_for_the_model() -> None:
    """One gateway serves many; a label of the target would hide which."""
    assert "model" not in relabelled(objects()["pods-envoy"])


@pytest.mark.parametrize("part", ["pods-kube-state-metrics", "hosts-fleet"])
def test_whoever_speaks_for_others_is_not_in_the_way(part: str) -> None:
    """Its series name other hosts and pods, and these names stand."""
    item = objects(SIMULATED, LAB)[part]["spec"]
    honours = item.get("honorLabels") or item["podMetricsEndpoints"][0]["honorLabels"]
    assert honours
    assert set(relabelled(objects(SIMULATED, LAB)[part])) <= {"job", "__address__"}


def test_simulated_hosts_are_not_asked_for_what_they_have_not() -> None:
    """No kubelet, no engine and no node-exporter answers there."""
    found = objects(SIMULATED, LAB)
    for job in ("kubelet", "cadvisor"):
        (discovery,) = found[f"hosts-{job}"]["spec"]["kubernetesSDConfigs"]
        assert discovery["selectors"] == [{"role": "Node", "label": "!lab.railwright.dev/nodepool"}]
    (endpoint,) = found["pods-vllm"]["spec"]["podMetricsEndpoints"]
    assert endpoint["relabelings"][0] == {
        "sourceLabels": ["__meta_kubernetes_node_labelpresent_lab_railwright_dev_nodepool"],
        "regex": "true",
        "action": "drop",
    }
    affinity = dict(pods(found))["host-exporter"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "lab.railwright.dev/nodepool", "operator": "DoesNotExist"}]


def test_real_hosts_are_all_watched() -> None:
    """Tainted ones too: they are the ones to look at."""
    pod = dict(pods(objects()))["host-exporter"]
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert "affinity" not in pod


def test_two_hosts_of_the_lab_do_not_meet_on_one_port() -> None:
    """They share a network; elsewhere the host's own interfaces are what there is to see."""
    assert "hostNetwork" not in dict(pods(objects(FAST, LAB)))["host-exporter"]
    pod = dict(pods(objects()))["host-exporter"]
    assert pod["hostNetwork"]
    assert "--web.listen-address=$(HOST_IP):9100" in pod["containers"][0]["args"]


def test_the_host_is_read_and_not_written() -> None:
    """Every mount of a host's folder is read-only."""
    found = [(part, mount) for part, pod in pods(objects()) for mount in pod["containers"][0].get("volumeMounts", [])]
    assert found
    assert [part for part, mount in found if not mount["readOnly"]] == []


@pytest.mark.parametrize("base", [STACK, LAB], ids=["bare metal", "lab"])
def test_a_pod_of_monitoring_has_no_privilege(base: dict[str, Any]) -> None:
    """But dcgm-exporter, whose profiling counters take SYS_ADMIN."""
    for part, pod in pods(objects(base=base)):
        (container,) = pod["containers"]
        security = container["securityContext"]
        assert not security["allowPrivilegeEscalation"]
        assert security["capabilities"]["drop"] == ["ALL"]
        if part != "gpu-exporter":
            assert pod["securityContext"]["runAsNonRoot"]
            assert security["readOnlyRootFilesystem"]
            assert "add" not in security["capabilities"]


def test_a_token_is_given_to_those_who_ask_the_api_only() -> None:
    """Exporters of hosts and GPUs, and Alertmanager, ask nothing."""
    found = objects()
    mute = {part for part, pod in pods(found) if pod.get("automountServiceAccountToken") is False}
    assert mute == {"host-exporter", "gpu-exporter"}
    assert found["alertmanager"]["spec"]["automountServiceAccountToken"] is False


def test_nobody_may_do_everything() -> None:
    """No star in any role; writing is the operator's, in the namespace of monitoring alone."""
    writes = {"create", "update", "patch", "delete", "deletecollection", "*"}
    for part, item in objects().items():
        if item["kind"] not in ("Role", "ClusterRole"):
            continue
        rules = item["rules"]
        assert "*" not in words(rules, "verbs", "resources", "apiGroups")
        if writes & words(rules, "verbs"):
            assert (part, item["kind"]) == ("prometheus-operator-role-monitoring", "Role")
            assert item["metadata"]["namespace"] == "monitoring"


def test_secrets_are_read_by_the_operator_only() -> None:
    """Prometheus sees none but those that are mounted into it."""
    readers = {
        item["metadata"]["name"]
        for item in objects().values()
        if item["kind"] in ("Role", "ClusterRole") and "secrets" in words(item["rules"], "resources")
    }
    assert readers == {"prometheus-operator"}


def test_an_existing_prometheus_gets_monitors_and_rules_only() -> None:
    """By its labels, in its namespace; nothing of ours runs but the exporter that it has not."""
    found = objects({**EXISTING, "observability/gpu_exporter": "operator", "observability/dashboards": False})
    assert {item["kind"] for item in found.values()} <= {"PodMonitor", "PrometheusRule"}
    assert {part for part in found if part.startswith("pods-")} == {"pods-vllm", "pods-envoy", "pods-dcgm-exporter"}
    assert {item["metadata"]["namespace"] for item in found.values()} == {"metrics"}
    assert {item["metadata"]["labels"]["release"] for item in found.values()} == {"kps"}


@pytest.mark.parametrize("ownership", ["baremetal", "baremetal-operator", "coreweave"])
def test_xid_detection_is_off_when_drivers_are_preinstalled(ownership: str) -> None:
    """NVSentinel#348: the exporter goes where the pool's own label is, whoever brought the driver and labels GPUs."""
    changes = {**OWN, "cluster/ownership": ownership, "cluster/target": ownership.partition("-")[0]}
    plan, _ = seen(changes, STACK)
    (pod,) = (pod for part, pod in pods(objects(changes)) if part == "gpu-exporter")
    assert "nodeSelector" not in pod
    asked = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert asked == [{"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": ["gpus"]}]}]
    assert all(own_labels(pool)[POOL_LABEL] == pool.name for pool in plan.pools)


def test_an_existing_operator_is_not_brought_again() -> None:
    """Prometheus and Alertmanager are ours, whoever runs them."""
    found = objects({**OWN, "observability/operator": "existing"})
    assert "operator" not in found
    assert {"Prometheus", "Alertmanager"} <= {item["kind"] for item in found.values()}


def test_prometheus_finds_what_is_made_for_it() -> None:
    """Every monitor and rule carries the labels that it selects by."""
    found = objects()
    chosen = found["prometheus"]["spec"]
    kinds = {
        "PodMonitor": "podMonitorSelector",
        "ScrapeConfig": "scrapeConfigSelector",
        "PrometheusRule": "ruleSelector",
    }
    for item in found.values():
        if selector := kinds.get(item["kind"]):
            assert chosen[selector]["matchLabels"].items() <= item["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("storage", "kind"),
    [({"size_gib": 10}, "emptyDir"), ({"size_gib": 10, "storage_class": "fast"}, "volumeClaimTemplate")],
    ids=["with the pod", "on a claim"],
)
def test_samples_lie_where_the_stack_says(storage: dict[str, Any], kind: str) -> None:
    """And never fill it: the oldest go first."""
    spec = objects({"observability/storage": storage})["prometheus"]["spec"]
    assert list(spec["storage"]) == [kind]
    assert spec["retentionSize"] == "8192MiB"


def test_the_token_of_prometheus_goes_to_the_cluster_only() -> None:
    """Kubelets and API servers; any other target could keep it."""
    found = objects(SIMULATED, LAB)
    shown = {part for part, item in found.items() if item["spec" if "spec" in item else "metadata"].get("scrapeClass")}
    assert shown == {"hosts-kubelet", "hosts-cadvisor", "hosts-apiserver"}


def test_a_secret_stays_where_it_is() -> None:
    """The stack names it; the operator mounts it."""
    receiver = {"url_secret": {"name": "oncall", "key": "url"}, "token_secret": {"name": "door", "key": "token"}}
    found = objects({**OWN, "observability/alertmanager": {"receivers": {"oncall": receiver}}})
    config = json.loads(found["alertmanager-config"]["stringData"]["alertmanager.yaml"])
    (hook,) = config["receivers"][1]["webhook_configs"]
    assert hook["url_file"] == "/etc/alertmanager/secrets/oncall/url"
    assert hook["http_config"]["authorization"]["credentials_file"] == "/etc/alertmanager/secrets/door/token"
    assert found["alertmanager"]["spec"]["secrets"] == ["door", "oncall"]


def test_what_is_sent_elsewhere_opens_its_door_by_a_secret() -> None:
    """A reference, no value."""
    wanted = {"url": "https://a/push", "token_secret": {"name": "push", "key": "token"}}
    spec = objects({**OWN, "observability/remote_write": wanted})["prometheus"]["spec"]
    assert spec["remoteWrite"] == [
        {"url": "https://a/push", "authorization": {"credentials": {"name": "push", "key": "token"}}}
    ]


def test_nobody_is_told_unless_the_stack_says_so() -> None:
    """One receiver that does nothing, and no route to another."""
    config = alertmanager.configuration(Alertmanager(), 1)
    assert config["receivers"] == [{"name": "nobody"}]
    assert config["route"]["routes"] == []


def test_messages_keep_pace_with_the_rules() -> None:
    """A drill of minutes would otherwise end before anybody is told."""
    route = alertmanager.configuration(Alertmanager(), 0.1)["route"]
    assert (route["group_wait"], route["group_interval"], route["repeat_interval"]) == ("3s", "30s", "1440s")


def test_the_receiver_of_runbooks_is_off_until_it_has_an_address() -> None:
    """And tells others as well."""
    config = alertmanager.configuration(Alertmanager(runbooks="http://10.0.0.1:9095/alerts"), 1)
    assert config["receivers"][1]["webhook_configs"][0]["url"] == "http://10.0.0.1:9095/alerts"
    assert config["route"]["routes"][0]["continue"] is True


def test_the_receiver_of_runbooks_is_shown_its_token() -> None:
    """It takes nothing from another machine without one, so an address alone would never be answered."""
    wanted = {"runbooks": "http://10.0.0.1:9099/alerts", "runbooks_token_secret": {"name": "answers", "key": "token"}}
    found = objects({**OWN, "observability/alertmanager": wanted})
    config = json.loads(found["alertmanager-config"]["stringData"]["alertmanager.yaml"])
    (hook,) = config["receivers"][1]["webhook_configs"]
    assert hook["http_config"]["authorization"]["credentials_file"] == "/etc/alertmanager/secrets/answers/token"
    assert found["alertmanager"]["spec"]["secrets"] == ["answers"]


def test_counters_are_listed_as_the_exporter_reads_them() -> None:
    """Field, kind and words, three on a line; a word with a comma would be a fourth."""
    lines = counters().splitlines()
    assert {line.count(",") for line in lines} == {2}
    assert len({line.split(",")[0] for line in lines}) == len(lines)
