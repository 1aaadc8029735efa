"""Run the real program against Pulumi's mocks, in a process of its own, and write down all that it declares.

Usage: python record.py STACKFILE ROOT RESULT
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pulumi
import yaml
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import config, mocks
from pulumi.runtime.stack import get_root_resource, wait_for_rpcs

from infra.components import archives
from infra.config import load

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key under which Pulumi's wire form tells the kind of a special value. Source: pulumi SDK, runtime/rpc.py."""
SECRET = "1b47061264138c4ac30d75fd1eb44270"
"""Kind of a secret. Source: as above."""

DIGEST = "railwright.dev/config-digest"
"""Annotation of the gateway's pods that follows its configuration."""
DIGEST_LENGTH = 16
"""Hex digits of it."""


KUBECONFIG = """\
clusters: [{name: made, cluster: {server: "https://192.0.2.1:6443", certificate-authority-data: Q0E=}}]
"""
"""What clouds answer of a cluster that was made."""

OUTPUTS: dict[str, dict[str, Any]] = {
    "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 1},
    "aws:eks/cluster:Cluster": {
        "endpoint": "https://192.0.2.1",
        "certificateAuthority": {"data": "Q0E="},
        "identities": [{"oidcs": [{"issuer": "https://oidc.example.com/id/1"}]}],
        "vpcConfig": {"subnetIds": [], "clusterSecurityGroupId": "sg-of-cluster"},
    },
    "aws:iam/role:Role": {"arn": "arn:aws:iam::123456789012:role/made", "name": "made"},
    "gcp:container/cluster:Cluster": {
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": "gke-1.us-east4.gke.goog"}}
    },
    "gcp:serviceaccount/account:Account": {"email": "nodes@example.iam.gserviceaccount.com"},
    "azure-native:containerservice:ManagedCluster": {
        "name": "made",
        "resourceUID": "uid-1",
        # Asked for as a list, told as a mapping.
        "identity": {"type": "UserAssigned", "userAssignedIdentities": {}},
    },
    "azure-native:managedidentity:UserAssignedIdentity": {"principalId": "principal-1"},
    "azure-native:network:VirtualNetwork": {"name": "made"},
    "oci:ContainerEngine/cluster:Cluster": {"endpoints": [{"privateEndpoint": "10.0.128.5:6443"}]},
}
"""Type of a resource → what it brings that nobody asked of it."""


class _Answers(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        return f"{args.name}-id", {**args.inputs, **OUTPUTS.get(args.typ, {})}

    def call(self, args: mocks.MockCallArgs) -> dict[Any, Any]:
        if args.token == "azure-native:containerservice:listManagedClusterUserCredentials":
            return {"kubeconfigs": [{"name": "made", "value": base64.b64encode(KUBECONFIG.encode()).decode()}]}
        if args.token == "oci:ContainerEngine/getClusterKubeConfig:getClusterKubeConfig":
            return {"content": KUBECONFIG}
        raise AssertionError(f"the program asks a provider: {args.token}")


class _Recorder(mocks.MockMonitor):
    """Keep each registration in its wire form, where secrets are still marked."""

    def __init__(self) -> None:
        super().__init__(_Answers())
        self.seen: list[dict[str, Any]] = []
        self.hooks: dict[str, dict[str, list[str]]] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  gRPC's name
        if hooks := {kind.name: list(names) for kind, names in request.hooks.ListFields()}:
            self.hooks[request.name] = hooks
        self.seen.append(
            {
                "type": request.type,
                "name": request.name,
                "parent": request.parent.rpartition("::")[2],
                "provider": request.provider.rpartition("::")[0].rpartition("::")[2],
                "depends_on": sorted(urn.rpartition("::")[2] for urn in request.dependencies),
                "retain_on_delete": request.retainOnDelete,
                **_rules(request),
                "inputs": _plain(MessageToDict(request.object)),
            }
        )
        return super().RegisterResource(request)


def _rules(request: Any) -> dict[str, Any]:
    """What must not happen to a resource, or must with it, where anything is said of it."""
    said = {
        "protect": request.protect,
        "delete_before_replace": request.deleteBeforeReplace,
        "ignore_changes": list(request.ignoreChanges),
        "replace_on_changes": list(request.replaceOnChanges),
    }
    return {name: value for name, value in said.items() if value}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if value.get(SIGNATURE) == SECRET:
            return "[secret]"
        # The digest is of a text that holds the keys of one clone; whatever is no digest shows.
        return {
            key: "[digest]" if key == DIGEST and len(str(inner)) == DIGEST_LENGTH else _plain(inner)
            for key, inner in value.items()
        }
    return int(value) if isinstance(value, float) and value.is_integer() else value


async def _run(monitor: _Recorder, stack: str) -> dict[str, Any]:
    # Nothing is fetched.
    archives.have = lambda *_: None
    mocks.set_mocks(_Answers(), project=load.PROJECT, stack=stack, monitor=monitor)
    runpy.run_module("infra", run_name="__main__")
    await wait_for_rpcs()
    outputs = {}
    for name, value in sorted(get_root_resource().outputs.items()):
        output = pulumi.Output.from_input(value)
        outputs[name] = "[secret]" if await output.is_secret() else await output.future()
    return outputs


def main(stack_file: Path, root: Path, result: Path) -> None:
    """Record the stack as if the clone lay in ``root``."""
    spec = yaml.safe_load(stack_file.read_text(encoding="utf-8"))["config"]
    config.set_all_config({key: json.dumps(value) for key, value in spec.items()})
    load.clone_root = lambda: root
    os.chdir(root)
    monitor = _Recorder()
    outputs = asyncio.run(_run(monitor, stack_file.stem.removeprefix("Pulumi.")))
    resources = sorted(monitor.seen, key=lambda item: (item["type"], item["name"]))
    text = json.dumps({"resources": resources, "outputs": outputs, "hooks": monitor.hooks}, default=str)
    result.write_text(text.replace(str(root), "/clone"), encoding="utf-8")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
