"""Find which settings or clocks of a host are not as they should be, and put them right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.catalog.settings import SETTINGS, Setting
from infra.errors import CheckError, Unknown
from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, found, given, measures, services, told
from runbooks.lib.diagnosis.hosts import OnHosts, meant
from runbooks.lib.mitigations import DrainHost, Silence, SilenceInputs
from runbooks.lib.mitigations.start_service import StartService

if TYPE_CHECKING:
    from runbooks.engine.context import Context

SKEW_SECONDS = 2.0
"""Difference from which a clock is called wrong (s). Source: the alert HostClockSkewed."""

SETTLED_SECONDS = 600
"""A host that was booted less than this ago has a new boot time by right (s). Source: as above."""

JUMP = (
    '(max_over_time(node_boot_time_seconds{host="$host"}[15m])'
    ' - min_over_time(node_boot_time_seconds{host="$host"}[15m]))'
    ' and (time() - node_boot_time_seconds{host="$host"} > $settled)'
)
"""By how much a clock was moved (s): it seems to have been booted at another time."""

PLAYBOOK = "ansible/playbooks/tune.yml"
"""What writes settings for good."""

TIME_SERVICES = ("chrony", "chronyd", "systemd-timesyncd", "ntpd")
"""Who keeps a clock; a host has one of them."""


class RetuneHost(OnHosts, StartService, DrainHost, Silence):
    """Compare kernel settings and clock of a host with what they should be, and put them right while it runs.

    The host itself is asked over ssh; Prometheus remembers whether its clock jumped.
    """

    answers = ("HostTuningDrift", "HostClockSkewed")
    lock = "{stack}/host/{host}"
    risk = "a setting holds from now on for every program of the host"

    class Inputs(SilenceInputs):
        """Which host, and which of its settings."""

        host: str = Field(description="host")
        setting: str = Field(default="", description="sysctl key; left out: all that the plan knows")
        do: Literal["nothing", "tune", "play", "start_service", "drain_host", "silence"] = "nothing"

    def refusals(self, ctx: Context) -> Iterator[str]:
        """A simulated host has no kernel; an unknown setting has no right value."""
        yield from super().refusals(ctx)
        if meant(ctx)[0].simulated:
            yield f"host {given(ctx).host} — is simulated and has neither kernel nor clock — name a real one"
        if not _wanted(ctx):
            known = ", ".join(one.key for one in SETTINGS)
            yield f"setting {given(ctx).setting!r} — is not one that the plan knows — name one of {known}"

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """The lab's hosts share the kernel and the files of the machine under it, which no play tunes."""
        yield from super().against(ctx, do)
        if do == "play" and services.in_lab(ctx):
            yield "play — the lab's hosts are the machine under them, which is not ours to tune — tune a host of a VM"

    @step("which settings are not as planned", writes=False)
    def settings(self, ctx: Context) -> Outcome:
        """Read each on the host."""
        host, faults = given(ctx).host, []
        for setting in _wanted(ctx):
            value = _read(ctx, host, setting.key)
            if _is_right(setting, value):
                continue
            said = f"{setting.key} of {host} is {value}, the plan has {_range(setting)} ({setting.source})"
            since = measures.since(
                ctx, 'host:setting{host="$host", setting="$key"} == $value', host=host, key=setting.key, value=value
            )
            faults.append(Finding("setting", said, since, ("tune", "play", "drain_host"), setting.key))
        return told(faults, f"{len(_wanted(ctx))} settings of {host} are as planned")

    @step("whether its clock is right", writes=False)
    def clock(self, ctx: Context) -> Outcome:
        """Compare it with ours and with Prometheus' over ssh and metrics; tell whether it was moved."""
        host = given(ctx).host
        before = time.time()
        told_by_host = float(clients.of(ctx).hosts.ask(host, ["date", "+%s.%N"]).stdout)
        after = time.time()
        off = told_by_host - (before + after) / 2
        faults = [_off(ctx, host, off, "this machine")] if abs(off) > SKEW_SECONDS + (after - before) / 2 else []
        try:
            faults += _remembered(ctx, host)
        except Unknown as error:
            ctx.say(f"whether the clock was moved is not known: {error}")
        return told(faults, f"the clock of {host} is {abs(off):.2f} s off ours, which is right")

    @step("whether its clock is kept", writes=False)
    def keeper(self, ctx: Context) -> Outcome:
        """Ask for the service that keeps the time; the lab's machine is kept from outside."""
        host = given(ctx).host
        if services.in_lab(ctx):
            return Outcome.ok("the machine under the lab keeps the time")
        states = {name: _service(ctx, host, name) for name in TIME_SERVICES}
        if keeping := [name for name, state in states.items() if state == "active"]:
            return Outcome.ok(f"{keeping[0]} keeps the time of {host}")
        there = [name for name, state in states.items() if state]
        why = f"{', '.join(there)} does not run" if there else "no time service is installed"
        found = Finding("keeper", f"nothing keeps the clock of {host}: {why}")
        if there:
            found = replace(found, offers=("start_service",), about=f"{host}/{there[0]}")
        return told([found], "")

    @step("see that tuning helps", writes=False, only="tune")
    def tune_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if all settings are as planned."""
        return self.fit(ctx, "tune")

    @step("set what is not as planned", only="tune", undo="untune", timeout=timedelta(minutes=2))
    def tune(self, ctx: Context) -> Outcome:
        """Write each value to the kernel and read it back; files that win at boot are not touched."""
        host = given(ctx).host
        wrong = {one.about for one in found(ctx, "setting")}
        chosen = [setting for setting in _wanted(ctx) if setting.key in wrong]
        ctx.record(before={setting.key: _read(ctx, host, setting.key) for setting in chosen}, host=host)
        for setting in chosen:
            _write(ctx, host, setting.key, setting.least)
        said = ", ".join(f"{setting.key}={setting.least}" for setting in chosen)
        return Outcome.ok(f"{said} on {host}, until its next boot: for good with --do play")

    def untune(self, ctx: Context) -> Outcome:
        """Put the values of before back."""
        facts = ctx.facts.get("tune", {})
        for key, value in facts.get("before", {}).items():
            _write(ctx, facts["host"], key, value)
        return Outcome.ok(f"{len(facts.get('before', {}))} settings are as before")

    @step("see that a play helps", writes=False, only="play")
    def play_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if all settings are as planned."""
        return self.fit(ctx, "play")

    # Nothing to take back: the play brings about what the plan wants, and was not so before.
    @step("play the role that owns them", only="play", timeout=timedelta(minutes=30))
    def play(self, ctx: Context) -> Outcome:
        """Write what holds at boot too, live and in files; a rival file is refused by name, and no host is rebooted."""
        host = given(ctx).host
        played = clients.of(ctx).hosts.play(PLAYBOOK, [host], tune_roles=["kernel_settings"], tune_reboot="never")
        if ctx.dry:
            return Outcome.ok(f"{played.changed} tasks would change something on {host}")
        wrong = [one.key for one in _wanted(ctx) if not _is_right(one, _read(ctx, host, one.key))]
        if wrong:
            return Outcome.fail(f"{PLAYBOOK} changed {played.changed} things, and {', '.join(wrong)} are still wrong")
        return Outcome.ok(f"{PLAYBOOK} changed {played.changed} things on {host}; it holds after the next boot too")


def _wanted(ctx: Context) -> Sequence[Setting]:
    return [one for one in SETTINGS if given(ctx).setting in ("", one.key)]


def _is_right(setting: Setting, value: int) -> bool:
    return setting.least <= value and (setting.most is None or value <= setting.most)


def _range(setting: Setting) -> str:
    if setting.most is None:
        return f"{setting.least} or more"
    return str(setting.least) if setting.least == setting.most else f"{setting.least} to {setting.most}"


def _read(ctx: Context, host: str, key: str) -> int:
    done = clients.of(ctx).hosts.ask(host, ["sysctl", "-n", key])
    if not done.is_ok:
        raise Unknown(f"host {host} — sysctl {key} cannot be read: {done.stderr.strip()} — see its kernel")
    return int(done.stdout)


def _write(ctx: Context, host: str, key: str, value: int) -> None:
    done = clients.of(ctx).hosts.run(host, ["sysctl", "-w", f"{key}={value}"])
    if ctx.may_write and (not done.is_ok or _read(ctx, host, key) != value):
        raise CheckError(f"host {host} — {key} was set to {value} and is not: {done.stderr.strip()} — see its kernel")


def _off(ctx: Context, host: str, seconds: float, than: str) -> Finding:
    said = f"clock of {host} is {abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'} that of {than}"
    since = measures.since(ctx, 'abs(host:clock_skew_seconds{host="$host"}) > $most', host=host, most=SKEW_SECONDS)
    return Finding("clock", said, since, ("drain_host",), host)


def _remembered(ctx: Context, host: str) -> list[Finding]:
    """What Prometheus saw: a clock that differs from its own, or one that jumped with the whole machine."""
    result = []
    skew = measures.optional(ctx, 'host:clock_skew_seconds{host="$host"}', host=host)
    if skew is not None and abs(skew) > SKEW_SECONDS:
        result.append(_off(ctx, host, skew, "Prometheus"))
    moved = measures.optional(ctx, JUMP, host=host, settled=SETTLED_SECONDS)
    if moved is not None and moved > SKEW_SECONDS:
        said = f"clock of {host} was moved by {moved:.0f} s within 15 minutes: its boot time changed without a boot"
        result.append(Finding("jump", said, None, ("drain_host",), host))
    return result


def _service(ctx: Context, host: str, name: str) -> str:
    """How systemd calls the state of a service; empty where there is none."""
    done = clients.of(ctx).hosts.ask(host, ["systemctl", "show", "--property=LoadState,ActiveState", name])
    said = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    return said.get("ActiveState", "") if said.get("LoadState") == "loaded" else ""
