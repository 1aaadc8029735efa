"""Charts of others, as Helm installs them: definitions first, hooks included."""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from infra.config import load
from infra.plan.charts import Chart


def release(
    name: str, chart: Chart, namespace: str, values: dict[str, Any], timeout_seconds: int, opts: pulumi.ResourceOptions
) -> k8s.helm.v3.Release:
    """Declare one chart in one version from one place; a release that fails is taken back whole.

    Args:
        name: Pulumi's name of the resource; starts with its parent's.
        namespace: which is there already.
        timeout_seconds: longest wait for its pods and hooks.
    """
    where: dict[str, Any] = {"chart": chart.name, "version": chart.version}
    if chart.kind == "repository":
        where["repository_opts"] = {"repo": chart.source}
    elif chart.kind == "oci":
        where["chart"] = f"{chart.source}/{chart.name}"
    else:
        # Helm's own folder is not the clone.
        where = {"chart": str(load.clone_root() / chart.source / chart.archive)}
    return k8s.helm.v3.Release(
        name,
        # Its own name, not one that Pulumi makes up: pods and other charts go by it.
        name=chart.name,
        namespace=namespace,
        values=values,
        timeout=timeout_seconds,
        atomic=True,
        cleanup_on_fail=True,
        opts=opts,
        **where,
    )
