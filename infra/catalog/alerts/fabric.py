"""Alerts of the compute fabric: links, rails, leaves."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert

_Alert = partial(Alert, level="fabric", runbook="fabric/restore_link")
_LINK = "{{ $labels.device }} of {{ $labels.host }}"
_SENTINEL = "NVSentinel, docs/configuration/nic-health-monitor.md"

FABRIC = (
    _Alert(
        "NicDown", "page", hold="1m",
        expr="nic:up:bool == 0 or label_replace((host:info * on (pool) group_left () plan:rails_per_host:count)"
             " - on (host) group_left () count by (host) (nic:up:bool) > 0, \"device\", \"missing\", \"\", \"\")",
        summary="Link " + _LINK + " is down",
        description="Its port is not active, or the NIC does not report at all: engines over several hosts stop, on one"
                    " host they lose a path to storage.",
        drill="flap_nic", source=f"{_SENTINEL}: port state; plan: rails of the board",
    ),
    _Alert(
        "NicFlapping", "ticket", hold="0s",
        expr="nic:link_downs:increase >= <downs>",
        limits={"downs": 2},
        summary="Link " + _LINK + " went down {{ $value | humanize }} times within an hour",
        description="A link that comes back by itself goes down again: cable, transceiver or switch port.",
        drill="flap_nic", source="Azure NHC: 5 in 24 hours; NVSentinel: any; two in an hour is no accident",
    ),
    _Alert(
        "NicErrors", "ticket", hold="0s",
        expr="nic:symbol_errors:rate * 3600 > <per_hour>",
        limits={"per_hour": 120},
        summary="Link " + _LINK + " has {{ $value | humanize }} symbol errors per hour",
        description="More than forward error correction hides: clean or replace the transceiver.",
        source=f"{_SENTINEL}: symbol_error above 120 per hour is fatal",
        no_drill="the simulated signal is there; flap_nic proves the way from signal to runbook",
    ),
    _Alert(
        "RailDown", "page", hold="1m",
        expr="rail:nics_down:ratio >= <share> and count by (pool, device) (nic:up:bool == 0) >= 2",
        limits={"share": 0.5},
        summary="Rail {{ $labels.device }} of pool {{ $labels.pool }} is down",
        description="{{ $value | humanizePercentage }} of its links are down: look at the switch, not at the hosts.",
        source="our choice: half of the hosts at once share a cause",
        no_drill="flap_nic takes one link, and a rail is two or more",
    ),
    _Alert(
        "LeafDown", "page", hold="1m",
        expr='sum by (pool, leaf) (host:ready:bool{leaf!=""}) == 0 and count by (pool, leaf)'
             ' (host:ready:bool{leaf!=""}) >= 2',
        summary="All hosts of leaf {{ $labels.leaf }} are gone",
        description="Every host of pool {{ $labels.pool }} behind this leaf is not ready: look at the leaf or its"
                    " power.",
        runbook="host/recover_host", drill="lose_leaf", source="our choice: two hosts or more at once share a cause",
    ),
    _Alert(
        "PfcPauseStorm", "page", hold="1m",
        expr="nic:pfc_pauses:rate > <per_second>",
        limits={"per_second": 1_000},
        summary=_LINK + " is paused {{ $value | humanize }} times per second",
        description="A receiver does not keep up and its pauses spread over the fabric: find the first NIC that"
                    " sends them.",
        source="our choice, unverified on hardware: incast pauses for single frames, storms for all",
        no_drill="the simulated signal is there; flap_nic proves the way from signal to runbook",
    ),
)  # fmt: skip
"""Links first, then what many links have in common."""
