"""The pack as Pulumi loads it: guarded inputs in, violations out."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy import PolicyResource, ResourceValidationArgs, ResourceValidationPolicy, StackValidationArgs
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.__main__ import Inputs, plain, policies
from policies.field import UNKNOWN
from policies.registry import load

PACK = {policy.name: policy for policy in policies()}
OPTIONS: Any = None
TYPE = "kubernetes:core/v1:Pod"


def pod(**spec: Any) -> dict[str, Any]:
    """Inputs of a pod, guarded as Pulumi hands them over."""
    return unknown_checking_proxy({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})


def violations(name: str, props: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Run one policy on one pod."""
    said: list[tuple[str, str | None]] = []

    def report(message: str, urn: str | None = None) -> None:
        said.append((message, urn))

    if isinstance(PACK[name], ResourceValidationPolicy):
        PACK[name].validate(ResourceValidationArgs(TYPE, props, "urn:p", "p", OPTIONS, None), report)
    else:
        resource = PolicyResource(TYPE, props, "urn:p", "p", OPTIONS, None, None, [], {})
        PACK[name].validate(StackValidationArgs([resource]), report)
    return said


def test_every_rule_is_mandatory_and_what_is_unknown_is_advisory() -> None:
    """A failure stops the update, an unknown value is told without stopping the preview."""
    levels = {name: policy.enforcement_level.value for name, policy in PACK.items()}
    assert {level for name, level in levels.items() if "unknown" in name} == {"advisory"}
    assert {level for name, level in levels.items() if "unknown" not in name} == {"mandatory"}


@pytest.mark.parametrize(
    ("name", "spec", "says"),
    [
        ("RW-402", {"containers": [{"image": "vllm/vllm-openai"}]}, "RW-402 spec.containers[0].image: image 'vllm/"),
        ("unknown", {"containers": [{"image": UNKNOWN_STRING_VALUE}]}, "RW-402 spec.containers[0].image: not known"),
        ("RW-301", {"runtimeClassName": "nvidia"}, "RW-301 spec.runtimeClassName: no pool or operator"),
        ("unknown-in-stack", {"runtimeClassName": UNKNOWN_STRING_VALUE}, "RW-301 spec.runtimeClassName: not known"),
    ],
    ids=["fail", "unknown", "stack-fail", "stack-unknown"],
)
def test_a_finding_names_path_and_fix(name: str, spec: dict[str, Any], says: str) -> None:
    """The message says where and what to do; Pulumi itself names the resource by its URN."""
    [(message, urn)] = violations(name, pod(**spec))
    assert message.startswith(says)
    assert "\n  fix: " in message
    assert urn == "urn:p"


def test_an_unknown_value_hides_no_failure_beside_it() -> None:
    """Pulumi's own guard would end the rule at the first unknown value; ours goes on."""
    props = pod(containers=[{"image": UNKNOWN_STRING_VALUE}, {"image": "vllm/vllm-openai"}])
    assert [message.split(": ")[0] for message, _ in violations("RW-402", props)] == ["RW-402 spec.containers[1].image"]


def test_a_count_arrives_as_a_whole_number() -> None:
    """Pulumi sends 8 as 8.0; rules see 8, and unknown values at their place."""
    guarded = unknown_checking_proxy({"count": 8.0, "share": 0.5, "names": ["a", UNKNOWN_STRING_VALUE]})
    assert plain(guarded) == {"count": 8, "share": 0.5, "names": ["a", UNKNOWN]}
    assert isinstance(plain(guarded)["count"], int)


def test_what_no_rule_looks_at_is_not_read() -> None:
    """A preview of a hundred definitions of kinds took half a minute, most of it for inputs that no rule judges."""
    looked: list[str] = []

    class Guarded(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            looked.append(key)
            return super().__getitem__(key)

    definition = Guarded(metadata={"name": "a"}, spec={"versions": []})
    inputs = Inputs(definition)
    assert ("spec" in inputs, inputs["metadata"], len(inputs)) == (True, {"name": "a"}, 2)
    assert looked == ["metadata"]


def test_pulumi_reads_all_resources_once_for_each_rule() -> None:
    """It does for each policy: one that stops for each rule, and two for all that is not known yet."""
    assert len(PACK) == len(load()) + 2
