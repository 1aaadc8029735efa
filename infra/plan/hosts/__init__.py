"""Hosts as the plan wants them: which settings each must have, and whether what it says is that."""

from infra.plan.hosts.facts import HostFacts, Rail
from infra.plan.hosts.judge import Check, Outcome, judge
from infra.plan.hosts.wanted import Wanted, readings, wanted

__all__ = ["Check", "HostFacts", "Outcome", "Rail", "Wanted", "judge", "readings", "wanted"]
