"""RW-201, 202, 203 and 204: starts, stops and rollouts that cannot end well."""

from __future__ import annotations

from collections.abc import Iterator

from infra.plan.facts import GatewayPlan, ModelPlan, Refusal
from infra.units import duration


def check(plan: ModelPlan, gateway: GatewayPlan | None) -> Iterator[Refusal]:
    """Yield what cannot work for one model behind the gateway, as far as the gateway is known."""
    if gateway:
        yield from _stop(plan, gateway.longest_answer)
    yield from _start(plan)
    yield from _roll(plan)


def check_gateway(plan: GatewayPlan) -> Iterator[Refusal]:
    """Yield timeouts that would cut the longest stream."""
    gateway, longest = plan.gateway, plan.longest_answer
    drain = round(gateway.drain.total_seconds())
    if drain < longest:
        found = f"{duration(drain)}, the longest answer takes {duration(longest)}"
        yield Refusal("RW-201", "gateway.drain", found, f"raise it to {longest}s")
    if gateway.load_balancer_timeout:
        limit = round(gateway.load_balancer_timeout.total_seconds())
        if limit < longest:
            found = f"{duration(limit)} before the load balancer cuts a stream, an answer may take {duration(longest)}"
            fix = f"raise it to {longest}s, or lower gateway.longest_answer to {limit}s"
            yield Refusal("RW-202", "gateway.load_balancer_timeout", found, fix)


def _stop(plan: ModelPlan, longest_answer: int) -> Iterator[Refusal]:
    stop = plan.shutdown
    if stop.grace <= stop.needed:
        found = (
            f"{stop.grace} s, preStop {stop.pre_stop} s + drain {stop.drain} s + teardown {stop.teardown} s "
            f"need more than {stop.needed} s"
        )
        yield plan.refuse("RW-201", "grace", found, f"raise it above {stop.needed}s or leave it out")
    if stop.drain < longest_answer:
        found = f"{stop.drain} s, the gateway lets an answer take {longest_answer} s"
        fix = f"raise it to {longest_answer}s, or lower gateway.longest_answer to {stop.drain}s"
        yield plan.refuse("RW-201", "drain", found, fix)


def _start(plan: ModelPlan) -> Iterator[Refusal]:
    start = plan.startup
    if start.budget < start.floor:
        found = (
            f"{duration(start.budget)}, reading the weights takes {duration(start.read)}, copying {start.copy} s, "
            f"compiling {duration(start.compile)} and the first prompt {duration(start.prompt)}"
        )
        yield plan.refuse("RW-203", "startup_budget", found, f"raise it to {start.floor}s or leave it out")
    if start.progress_deadline <= start.budget:
        found = f"{duration(start.progress_deadline)}, not above the startup budget of {duration(start.budget)}"
        yield plan.refuse("RW-203", "progress_deadline", found, f"raise it above {start.budget}s or leave it out")


def _roll(plan: ModelPlan) -> Iterator[Refusal]:
    roll, free, replicas = plan.rollover, plan.placement.free_replicas, plan.model.replicas
    if roll.max_unavailable == 0 and free == 0:
        found = f"max_unavailable 0 with room for no further replica on pool {plan.pool.name!r}, so nothing is replaced"
        fix = f"set max_unavailable to 1, or raise pools.{plan.pool.name}.hosts"
        yield plan.refuse("RW-204", "rollout", found, fix)
    if roll.max_unavailable >= replicas > 1:
        found = f"max_unavailable {roll.max_unavailable} of {replicas} replicas, so all go at once"
        yield plan.refuse("RW-204", "rollout", found, f"set max_unavailable to {replicas - 1} or lower")
    if roll.min_available is not None and roll.min_available >= replicas:
        found = f"{roll.min_available} of {replicas} replicas, so no host can ever be drained"
        fix = f"set it to {replicas - 1}" if replicas > 1 else "leave it out, or set replicas to 2"
        yield plan.refuse("RW-204", "min_available", found, fix)
    elif roll.min_available == 0:
        fix = f"set it to {replicas - 1}, or leave it out" if replicas > 1 else "leave it out, or set replicas to 2"
        yield plan.refuse("RW-204", "min_available", "0, so all replicas may be evicted at once", fix)
