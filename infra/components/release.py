"""Charts of others, as Helm installs them: definitions first, hooks included."""

from __future__ import annotations

import os
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from infra.config import load
from infra.plan.charts import Chart


def release(
    name: str,
    chart: Chart,
    namespace: str,
    values: dict[str, Any],
    timeout_seconds: int,
    opts: pulumi.ResourceOptions,
    *,
    skip_crds: bool = False,
) -> k8s.helm.v3.Release:
    """Declare one chart in one version from one place; a release that fails is taken back whole.

    Args:
        name: Pulumi's name of the resource; starts with its parent's.
        namespace: which is there already.
        timeout_seconds: longest wait for its pods and hooks.
        skip_crds: whether the stack brings the chart's kinds itself.
    """
    return k8s.helm.v3.Release(
        name,
        # Its own name, not one that Pulumi makes up: pods and other charts go by it.
        name=chart.name,
        namespace=namespace,
        values=values,
        timeout=timeout_seconds,
        atomic=True,
        cleanup_on_fail=True,
        skip_crds=skip_crds,
        opts=opts,
        **_where(chart),
    )


def _where(chart: Chart) -> dict[str, Any]:
    """The archive that was compared with its digest, or a manifest that Helm compares with its own."""
    if chart.kind == "oci":
        return {"chart": f"{chart.source}/{chart.name}@sha256:{chart.digest}", "version": chart.version}
    # Relative to where program and provider run: the state of a stack is the same on every machine.
    return {"chart": os.path.relpath(load.clone_root() / chart.path)}
