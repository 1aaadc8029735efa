"""Roles of an EKS cluster that the stack makes: the control plane's and the hosts', with AWS's own policies alone."""

from __future__ import annotations

import json
from collections.abc import Iterator

from infra.plan.resources import Ref, Resource

CONTROL = "cloud-control-role"
"""Pulumi's name of the control plane's role."""
NODES = "cloud-node-role"
"""Pulumi's name of the hosts' role."""

_CONTROL_POLICY = "AmazonEKSClusterPolicy"
_NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy")
"""What each may do. Source: EKS, cluster IAM role and node IAM role."""

CONTROL_MAY = f"cloud-may-{_CONTROL_POLICY}"
"""Pulumi's name of what gives the control plane its rights: it fails without, and cannot clean up after itself."""
NODES_MAY = tuple(f"cloud-may-{policy}" for policy in _NODE_POLICIES)
"""The same of hosts: none joins without."""


def resources() -> Iterator[Resource]:
    """Both roles with their policies."""
    yield _role(CONTROL, "eks.amazonaws.com")
    yield _may(CONTROL, _CONTROL_POLICY)
    yield _role(NODES, "ec2.amazonaws.com")
    for policy in _NODE_POLICIES:
        yield _may(NODES, policy)


def _role(name: str, service: str) -> Resource:
    taken_by = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    props = {"assumeRolePolicy": json.dumps({"Version": "2012-10-17", "Statement": [taken_by]})}
    return Resource("aws:iam/role:Role", name, props)


def _may(role: str, policy: str) -> Resource:
    props = {"role": Ref(role, "name"), "policyArn": f"arn:aws:iam::aws:policy/{policy}"}
    return Resource("aws:iam/rolePolicyAttachment:RolePolicyAttachment", f"cloud-may-{policy}", props)
