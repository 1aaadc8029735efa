"""What systemd says of units, and the packages that are installed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from infra.catalog.host_tuning.setting import Texts
from infra.errors import Unknown


def prop(texts: Texts, argument: str) -> dict[str, str]:
    """Value of a property in the output of ``systemctl show``."""
    found = {
        place: line.partition("=")[2]
        for place, text in texts.items()
        for line in text.splitlines()
        if line.startswith(f"{argument}=")
    }
    if not found:
        raise Unknown(f"systemd does not say {argument}")
    return found


def prop_words(texts: Texts, argument: str) -> dict[str, str]:
    """Each word of a property."""
    return {word: word for value in prop(texts, argument).values() for word in value.split()}


def service(texts: Texts, argument: str) -> dict[str, str]:
    """State of a unit: ``active`` and so on, or why there is none: ``not-found``, ``masked``."""
    loaded, active = prop(texts, "LoadState"), prop(texts, "ActiveState")
    return {place: active[place] if loaded[place] == "loaded" else loaded[place] for place in loaded}


def presence(texts: Texts, argument: str) -> dict[str, str]:
    """``running`` or ``absent``, where a unit that is there and stands still is neither."""
    words = {"active": "running", "not-found": "absent", "masked": "absent"}
    return {place: words.get(state, state) for place, state in service(texts, argument).items()}


def audit_rules(texts: Texts, argument: str) -> dict[str, str]:
    """``present`` when ``auditctl -l`` lists a rule."""
    return {
        place: "present" if re.search(r"^-[aw] ", text, re.MULTILINE) else "absent" for place, text in texts.items()
    }


def versions(texts: Texts, argument: str) -> dict[str, str]:
    """Upstream version of each installed package whose name a pattern matches, and of what is no list of packages.

    Source: dpkg-query(1) with the format of ``PACKAGES``; deb-version(7): [epoch:]upstream[-revision].
    """
    found: dict[str, str] = {}
    for place, text in texts.items():
        if not place.startswith("dpkg-query "):
            found |= {f"{place} {line}".strip(): line.strip() for line in text.splitlines() if line.strip()}
            continue
        for name, version, _ in _installed(text, argument):
            found[f"package {name}"] = re.sub(r"^\d+:|-[^-]*$", "", version)
    return found


def upgrades(texts: Texts, argument: str) -> dict[str, str]:
    """What an upgrade of everything makes of each installed package whose name a pattern matches: ``kept``, or what.

    Of ``PACKAGES`` and ``CANDIDATES``; what only dependencies keep back today counts as upgraded.

    Source: apt-cache(8), policy; dpkg(1), package selection states: a package on hold is not handled.
    """
    listed = "".join(text for place, text in texts.items() if place.startswith("dpkg-query "))
    if not listed.strip():
        raise Unknown("no package is listed")
    offered: dict[str, list[tuple[str, str]]] = {}
    for text in texts.values():
        for match in re.finditer(r"^([^\s:]+)(?::\w+)?:\n  Installed: (\S+)\n  Candidate: (\S+)$", text, re.MULTILINE):
            offered.setdefault(match[1], []).append((match[2], match[3]))
    found = {}
    for name, _, status in _installed(listed, argument):
        if status[0] != "h" and name not in offered:
            raise Unknown(f"apt does not say which version of {name} it would choose")
        changed = [f"{old} to {new}" for old, new in offered.get(name, ()) if status[0] != "h" and new != old]
        found[f"package {name}"] = ", ".join(changed) or "kept"
    return found or {"": "kept"}


def _installed(text: str, argument: str) -> Iterator[tuple[str, str, str]]:
    """Name, version and state of each installed package of a list whose name a pattern matches."""
    for line in text.splitlines():
        name, version, status = [*line.split(), "", "", ""][:3]
        if status[1:2] == "i" and re.fullmatch(argument, name.partition(":")[0]):
            yield name.partition(":")[0], version, status
