"""Which services of a host run, asked on the host itself: it works while the API server is down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from infra.catalog.targets import LAB_HOSTS
from infra.errors import ConfigError, Unknown
from runbooks.lib import clients
from runbooks.lib.diagnosis import measures
from runbooks.lib.diagnosis.finding import Finding

if TYPE_CHECKING:
    from runbooks.engine.context import Context

ON_EVERY_HOST = ("kubelet", "containerd")
"""Without these a host runs nothing."""

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "coredns")
"""In the order in which one needs the other."""

JOBS = {"kubelet": "kubelet", "cadvisor": "kubelet", "apiserver": "kube-apiserver", "etcd": "etcd",
        "coredns": "coredns", "kwok": "kwok", "fleet": "fleet"}  # fmt: skip
"""Job whose targets a service answers → that service."""

STATES = {"stopped": "does not run", "paused": "hangs (stopped by a signal)", "starting": "is starting",
          "failing": "ends again and again"}  # fmt: skip
"""States other than running, in words."""


@dataclass(frozen=True, slots=True)
class Service:
    """One service of one host."""

    host: str
    what: str
    """Program, such as ``kubelet``."""
    name: str
    """As the host's service manager knows it."""

    def __str__(self) -> str:
        return f"{self.host}/{self.name}"


def in_lab(ctx: Context) -> bool:
    """Whether the stack runs in the lab, where the control plane is made of services of a host."""
    return clients.of(ctx).plan.target.name == "lab"


def named(ctx: Context, host: str, what: str) -> Service:
    """A service by its program; the lab's hosts share one machine, so that the second has names of its own."""
    number = LAB_HOSTS.index(host) if in_lab(ctx) and host in LAB_HOSTS and what in ON_EVERY_HOST else 0
    return Service(host, what, f"{what}-{number}" if number else what)


def of_host(ctx: Context, host: str) -> list[Service]:
    """What every real host must run."""
    return [named(ctx, host, what) for what in ON_EVERY_HOST]


def of_job(ctx: Context, job: str, host: str) -> Service | None:
    """The service that answers the targets of a job; None where a pod does, or where it is not known."""
    if job not in JOBS or (JOBS[job] not in ON_EVERY_HOST and not in_lab(ctx)):
        return None
    place = host or (LAB_HOSTS[0] if in_lab(ctx) else "")
    return named(ctx, place, JOBS[job]) if place else None


def faults(ctx: Context, services: Iterable[Service]) -> list[Finding]:
    """Services that do not run, and hosts that do not even answer; a service that is not there is none of ours."""
    found: list[Finding] = []
    silent: set[str] = set()
    for service in services:
        if service.host in silent:
            continue
        try:
            state = clients.of(ctx).hosts.service_state(service.host, service.name)
        except Unknown as error:
            silent.add(service.host)
            said = f"host {service.host} cannot be asked over ssh ({error}): look at its power, its console and its NIC"
            found.append(Finding("unreachable", said, None, (), service.host))
            continue
        except ConfigError as error:
            ctx.say(str(error))
            continue
        if state != "running":
            found.append(_fault(ctx, service, state))
    return found


def _fault(ctx: Context, service: Service, state: str) -> Finding:
    said = f"host {service.host}: {service.what} {STATES[state]} (service {service.name} is {state})"
    # A part that has only just been started needs nothing but time.
    offers = () if state == "starting" else ("start_service",)
    return Finding("service", said, _since(ctx, service), offers, str(service))


def _since(ctx: Context, service: Service) -> datetime | None:
    """Since when it cannot be scraped, where something scrapes it."""
    job = next((job for job, what in JOBS.items() if what == service.what), "")
    if not job:
        return None
    # The API server's targets bear no host.
    chosen = 'up{job="$job"} == 0' if job == "apiserver" else 'up{job="$job", host="$host"} == 0'
    names = {"job": job} if job == "apiserver" else {"job": job, "host": service.host}
    return measures.since(ctx, chosen, **names)
