"""Time: one source, and close to it."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.parsers import host, units
from infra.catalog.host_tuning.setting import Setting, Variable, command

WHAT = "One clock - chrony, from named servers or a PTP device - and proof that it is kept."
"""What the role does."""

VARIABLES = (
    Variable("time_sync_servers", "Time servers, three or more, or one of your own network; empty only beside "
             "time_sync_ptp.", [], "chrony.conf(5), server", elements="str"),
    Variable("time_sync_ptp", "PTP hardware clock that another program keeps, such as /dev/ptp0; empty where there is "
             "none.", "", "chrony.conf(5), refclock PHC"),
    Variable("time_sync_clients", "Networks whose hosts may ask this one; it goes on telling them the time without "
             "servers.", [], "chrony.conf(5), allow, local", elements="str"),
)  # fmt: skip

_WHY = "logs of two hosts cannot be compared, certificates are too young, leases flap"

SETTINGS = (
    Setting(
        id="time_sync.service", what="chrony runs", value="active", why=_WHY, parse=units.service,
        readings=(command("systemctl", "show", "chrony", "--property=LoadState,ActiveState"),),
        fix="play role time_sync", source="chrony; no vendor's role for GPU hosts was seen",
    ),
    *(Setting(
        id=f"time_sync.{name}", what=f"{unit}, a second owner of the clock", value="inactive",
        also=("not-found", "masked"), why="two of them pull the clock to and fro", parse=units.service,
        readings=(command("systemctl", "show", unit, "--property=LoadState,ActiveState"),),
        fix=f"systemctl disable --now {unit}", source="chrony FAQ: one program controls the clock",
    ) for name, unit in (("timesyncd", "systemd-timesyncd"), ("ntpd", "ntpsec"))),
    Setting(
        id="time_sync.state", what="Whether the clock follows its source", value="Normal", why=_WHY, severity="page",
        readings=(readings.TRACKING,), parse=host.clock_state, fix="see chronyc sources -v: no source is reached",
        source="chronyc(1), tracking: Leap status",
    ),
    Setting(
        id="time_sync.max_offset", variable="time_sync_max_offset", what="Largest difference from its source, at most",
        value=1_000, compare="at_most", unit="us", why=_WHY, readings=(readings.TRACKING,), parse=host.clock_offset,
        source="our choice: logs and traces of hosts are laid side by side",
    ),
    Setting(
        id="time_sync.source", what="Sources that the clock follows now", value=1, unit="sources", why=_WHY,
        readings=(command("chronyc", "-c", "sources"), readings.TRACKING), parse=host.clock_sources,
        fix="see chronyc sources -v", source="chronyc(1), sources: * is the one that is followed",
    ),
)  # fmt: skip
"""The service, its rivals, and what came of it."""
