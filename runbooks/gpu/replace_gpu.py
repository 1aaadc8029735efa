"""Find which GPUs are lost or ill, what the driver asks for, and take their host out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.catalog.xids import SERIOUS
from infra.errors import ConfigError, Unknown
from runbooks.engine.model import Outcome, step
from runbooks.gpu import _xids
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, found, given, measures, told
from runbooks.lib.diagnosis.hosts import OnHosts, meant, names, pool_of
from runbooks.lib.mitigations import DrainHost, Silence, SilenceInputs
from runbooks.lib.mitigations.cordon import Cordon, Uncordon

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

NEEDS = ("gpu:temperature_celsius",)
"""Without these series nothing is known of any GPU."""

SEVERAL = 3
"""GPUs lost together from which their host or its exporter is to blame (count). Source: our choice."""

ILLS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("gpu:ecc_uncorrectable:count", "> 0", "had {value:g} memory errors that ECC could not correct: reset it; "
     "replace it if they come again", ("drain_host",)),
    ("gpu:row_remap_failed:bool", "> 0", "has no spare row left for a bad one: replace it", ("drain_host",)),
    ("gpu:nvlink_errors:increase", "> 0", "had {value:.0f} NVLink errors ({kind}) within 15 minutes: read the "
     "kernel log for Xid 74 or 144 to 150", ("drain_host",)),
    ("gpu:temperature_celsius", "> 85", "is at {value:g} °C: look at fans, airflow or cold plate", ("drain_host",)),
    ("DCGM_EXP_CLOCK_EVENTS_COUNT", "> 0", "is slowed down ({clock_event})", ("drain_host",)),
    ("gpu:power_watts", "> on (pool) group_left () 1.05 * plan:gpu_power_watts:limit", "draws {value:.0f} W, more "
     "than its board is built for: see its power limit", ()),
)  # fmt: skip
"""Series, when it is a fault, what is said, what helps. Source of the limits: infra/catalog/alerts/gpus.py."""


class ReplaceGpu(OnHosts, DrainHost, Cordon, Uncordon, Silence):
    """Name GPUs that are lost or ill, with their Xid and what it asks for, and take their host out of service.

    A person resets or replaces it; then ``do=uncordon`` puts the host back, once it stood a load.
    """

    answers = (
        "GpuXid",
        "GpuLost",
        "GpuEccErrors",
        "GpuTooHot",
        "GpuThrottled",
        "GpuNvlinkErrors",
        "GpuRowRemapFailed",
        "GpuPowerHigh",
    )
    lock = "{stack}"
    risk = "one host leaves the pool; capacity falls by all its GPUs"
    expect = timedelta(minutes=10)

    class Inputs(SilenceInputs):
        """Which GPUs."""

        host: str = Field(default="", description="host; left out: all hosts of the leaf, of the pool, or of the stack")
        pool: str = Field(default="", description="pool")
        leaf: str = Field(default="", description="leaf")
        gpu: str = Field(default="", pattern=r"^\d{0,2}$", description="number of the GPU; left out: all of them")
        do: Literal["nothing", "drain_host", "cordon", "uncordon", "silence"] = "nothing"

    def refusals(self, ctx: Context) -> Iterator[str]:
        """There must be GPUs."""
        yield from super().refusals(ctx)
        if not _with_gpus(ctx):
            yield f"hosts {names(host.name for host in meant(ctx))} — have no GPUs by the plan — name one that has"

    @step("which GPUs are lost", writes=False)
    def lost(self, ctx: Context) -> Outcome:
        """Count what reports against the board, and tell the last Xid of those that went silent."""
        hosts = _with_gpus(ctx)
        seen = _by_host(ctx, "gpu:temperature_celsius", hosts)
        faults = [one for host in hosts for one in _missing(ctx, host, seen.get(host.name, set()))]
        total = sum(len(gpus) for gpus in seen.values())
        return told(faults, f"all {total} GPUs of {names(host.name for host in hosts)} report")

    @step("which Xids the driver reported", writes=False)
    def xids(self, ctx: Context) -> Outcome:
        """Read the codes of the last minutes, and what each asks for."""
        hosts = _with_gpus(ctx)
        recent = clients.of(ctx).prometheus.samples(
            'gpu:xid_recent:count{host=~"$hosts"}', needs=NEEDS, hosts=[host.name for host in hosts]
        )
        faults = []
        for one in recent:
            code, gpu, host = int(one.labels["xid"]), one.labels["gpu"], one.labels["host"]
            if given(ctx).gpu not in ("", gpu):
                continue
            said = f"GPU {gpu} of {host} {_xids.told(code)}: {_xids.action(code)}"
            offers = ("drain_host", "cordon") if code in SERIOUS else ()
            since = _xid_since(ctx, host, gpu, code)
            faults.append(Finding("xid", said, since, offers, host))
        return told(faults, "no Xid within the last minutes")

    @step("which GPUs are ill", writes=False)
    def ill(self, ctx: Context) -> Outcome:
        """Read memory errors, links, heat and power."""
        faults = [one for row in ILLS for one in _ill(ctx, *row)]
        return told(faults, "memory, links, heat and power of all GPUs are within their limits")

    @step("which of their hosts serve", writes=False)
    def hosts(self, ctx: Context) -> Outcome:
        """Tell what is on the hosts at fault, and whether more may come."""
        faults = {one.about for one in found(ctx, "lost", "xid", "ill")}
        parts = []
        for host in _with_gpus(ctx):
            if host.name not in faults:
                continue
            count = sum(not pod.is_daemon for pod in clients.of(ctx).kube.pods.list(host=host.name))
            state = "cordoned" if host.cordoned else "open for pods"
            parts.append(f"{host.name} is {state} and has {count} pods")
        return Outcome.ok("; ".join(parts) or "no host is at fault")


def _with_gpus(ctx: Context) -> list[Host]:
    return [host for host in meant(ctx) if (pool := pool_of(ctx, host)) is not None and pool.board.gpus]


def _by_host(ctx: Context, metric: str, hosts: Sequence[Host]) -> dict[str, set[int]]:
    """Numbers of the GPUs that report, by host."""
    found: dict[str, set[int]] = {}
    chosen = [host.name for host in hosts]
    for one in clients.of(ctx).prometheus.samples(f'{metric}{{host=~"$hosts"}}', needs=NEEDS, hosts=chosen):
        found.setdefault(one.labels["host"], set()).add(int(one.labels["gpu"]))
    return found


def _missing(ctx: Context, host: Host, seen: set[int]) -> Iterator[Finding]:
    pool = pool_of(ctx, host)
    gpus = range(pool.board.gpus) if pool is not None else range(0)
    missing = [gpu for gpu in gpus if gpu not in seen and given(ctx).gpu in ("", str(gpu))]
    if not missing:
        return
    offers = ("drain_host", "cordon")
    if len(missing) > SEVERAL:
        why = (
            "its exporter, its driver or its fabric manager"
            if host.ready
            else "the host is not ready: host/recover_host"
        )
        said = f"{len(missing)} of {len(gpus)} GPUs of {host.name} report nothing: {why}"
        yield Finding("lost", said, _last_seen(ctx, host.name, missing[0]), offers, host.name)
        return
    for gpu in missing:
        code = measures.optional(
            ctx, 'max(max_over_time(gpu:xid_code{host="$host", gpu="$gpu"}[1h])) > 0', host=host.name, gpu=gpu
        )
        why = f"; it {_xids.told(int(code))}" if code else ", as one that fell off the bus does"
        act = _xids.action(int(code)) if code else _xids.action(79)
        said = f"GPU {gpu} of {host.name} is lost: it reports nothing{why}: {act}"
        yield Finding("lost", said, _last_seen(ctx, host.name, gpu), offers, host.name)


def _last_seen(ctx: Context, host: str, gpu: int) -> datetime | None:
    """When it reported for the last time; None when that is longer ago than is looked back."""
    try:
        series = clients.of(ctx).prometheus.range(
            'gpu:temperature_celsius{host="$host", gpu="$gpu"}',
            within=measures.LOOK_BACK, step=timedelta(seconds=15), host=host, gpu=str(gpu),
        )  # fmt: skip
    except (Unknown, ConfigError):
        return None
    return max((one.points[-1][0] for one in series if one.points), default=None)


def _xid_since(ctx: Context, host: str, gpu: str, code: int) -> datetime | None:
    return measures.since(
        ctx, 'gpu:xid_recent:count{host="$host", gpu="$gpu", xid="$code"} > 0', host=host, gpu=gpu, code=str(code)
    )


def _ill(ctx: Context, metric: str, limit: str, words: str, offers: tuple[str, ...]) -> Iterator[Finding]:
    chosen = [host.name for host in _with_gpus(ctx)]
    found = clients.of(ctx).prometheus.samples(f'{metric}{{host=~"$hosts"}} {limit}', needs=NEEDS, hosts=chosen)
    for one in found:
        host, gpu = one.labels["host"], one.labels["gpu"]
        if given(ctx).gpu not in ("", gpu):
            continue
        what = words.format(value=one.value, **{"kind": "", "clock_event": "", **one.labels})
        expression = f'{metric}{{host="$host", gpu="$gpu"}} {limit}'
        since = measures.since(ctx, expression, host=host, gpu=gpu)
        yield Finding("ill", f"GPU {gpu} of {host} {what}", since, offers, host)
