"""The traffic driver: open-loop requests to an OpenAI-compatible address, each answer checked to its last token."""

from runbooks.lib.traffic.driver import Driver, Snapshot
from runbooks.lib.traffic.figures import Figures, Spread
from runbooks.lib.traffic.lengths import LengthSpread
from runbooks.lib.traffic.profile import Profile, Segment, Tenant, profile_of
from runbooks.lib.traffic.report import Report
from runbooks.lib.traffic.run import TrafficRun
from runbooks.lib.traffic.tenants import tenants_of
from runbooks.lib.traffic.verdict import COMPLETE, FAILED, Sample, Verdict

__all__ = [
    "COMPLETE",
    "FAILED",
    "Driver",
    "Figures",
    "LengthSpread",
    "Profile",
    "Report",
    "Sample",
    "Segment",
    "Snapshot",
    "Spread",
    "Tenant",
    "TrafficRun",
    "Verdict",
    "profile_of",
    "tenants_of",
]
