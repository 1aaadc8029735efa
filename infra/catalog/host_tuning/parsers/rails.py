"""What is said of one rail: its interface, the RDMA device on it, its NIC's firmware."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from infra.catalog.host_tuning.setting import Texts
from infra.errors import Unknown


def port(texts: Texts, argument: str) -> dict[str, str]:
    """A field of the RDMA port of an interface in ``ibv_devinfo -v``; argument: interface, a space, the field."""
    interface, _, name = argument.partition(" ")
    device = _device(texts, interface)
    block = _blocks(texts).get(device)
    if block is None:
        raise Unknown(f"ibv_devinfo does not list {device}")
    said = re.search(rf"^\s*{name}:\s+(\S+)", block, re.MULTILINE)
    return {device: said[1]} if said else {}


def gids(texts: Texts, argument: str) -> dict[str, str]:
    """RoCE version of each global id of an interface that holds an IPv4 address.

    Source: rdma-core ibv_devinfo prints ``GID[  3]:  ::ffff:10.0.0.1, RoCE v2``.
    """
    device = _device(texts, argument)
    found = re.finditer(r"GID\[\s*(\d+)\]:\s+::ffff:\S+, (RoCE v\d)", _blocks(texts).get(device, ""))
    return {f"{device} GID {match[1]}": match[2] for match in found} or {device: "none"}


def firmware(texts: Texts, argument: str) -> dict[str, str]:
    """Whether all NICs of one model run one firmware: ``one``, or the versions."""
    found: dict[str, set[str]] = {}
    for block in _blocks(texts).values():
        model = re.search(r"^\s*board_id:\s+(\S+)", block, re.MULTILINE)
        version = re.search(r"^\s*fw_ver:\s+(\S+)", block, re.MULTILINE)
        if model and version:
            found.setdefault(model[1], set()).add(version[1])
    return {model: "one" if len(versions) == 1 else " and ".join(sorted(versions)) for model, versions in found.items()}


def config(texts: Texts, argument: str) -> dict[str, str]:
    """Value of a firmware parameter, now and after the next reset, of ``mlxconfig -e query``: the number of a word."""
    return {
        f"{when} {name}": value
        for name, *values in _parameters(texts)
        if name == argument
        for when, value in zip(("current", "next boot"), values, strict=True)
    }


def config_words(texts: Texts, argument: str) -> dict[str, str]:
    """``NAME=value`` of each firmware parameter that is so now and stays so, its number for a word."""
    return {
        name: f"{name}={now}" if now == then else f"{name}={now}, {then} after a reset"
        for name, now, then in _parameters(texts)
    }


def lossless(texts: Texts, argument: str) -> dict[str, str]:
    """Priorities with flow control, of ``mlnx_qos -i``: the row ``enabled`` below ``PFC configuration``."""
    found = {}
    for place, text in texts.items():
        row = re.search(r"PFC configuration:\s*\n\s*priority[\s\d]*\n\s*enabled((?:\s+[01])+)", text)
        if row is None:
            raise Unknown("mlnx_qos shows no row of PFC")
        found[place] = " ".join(str(at) for at, bit in enumerate(row[1].split()) if bit == "1") or "none"
    return found


def addresses(texts: Texts, argument: str) -> dict[str, str]:
    """Addresses of an interface with their prefix length, of ``ip -j address show``."""
    links: list[dict[str, Any]] = [link for text in texts.values() for link in _json(text)]
    held = [one for link in links if link.get("ifname") == argument for one in link.get("addr_info", [])]
    return {said: said for said in (f"{one['local']}/{one['prefixlen']}" for one in held)}


def routing(texts: Texts, argument: str) -> dict[str, str]:
    """How replies of a rail leave; argument: interface, a space, its address. ``own rail`` is what is wanted.

    Of ``ip -j rule show`` and ``ip -j route show table all``: a rule from the address, and its table's interface.
    """
    interface, _, address = argument.partition(" ")
    source = address.partition("/")[0]
    rules = [one for place, text in texts.items() if " rule " in place for one in _json(text)]
    routes = [one for place, text in texts.items() if " route " in place for one in _json(text)]
    tables = [str(rule.get("table")) for rule in rules if rule.get("src") == source]
    if not tables:
        return {source: "no rule"}
    leaves = sorted({str(one.get("dev")) for one in routes if str(one.get("table", "main")) == tables[0]})
    return {f"table {tables[0]}": "own rail" if leaves == [interface] else ", ".join(leaves) or "no route"}


def interrupts(texts: Texts, argument: str) -> dict[str, str]:
    """Whether each interrupt of a NIC stays on CPUs near it: ``local``, else ``any``.

    Of ``local_cpulist`` and ``msi_irqs/`` of its device, and ``/proc/irq/*/smp_affinity_list``.
    """
    local = {cpu for place, text in texts.items() if place.endswith("/local_cpulist") for cpu in _cpus(text)}
    numbers = {PurePosixPath(place).name for place in texts if "/msi_irqs/" in place}
    if not local or not numbers:
        raise Unknown("the NIC's CPUs or interrupts are not listed")
    found = {}
    for number in sorted(numbers, key=int):
        said = texts.get(f"/proc/irq/{number}/smp_affinity_list")
        if said is not None:
            found[f"interrupt {number} on CPUs {said.strip()}"] = "local" if set(_cpus(said)) <= local else "any"
    return found


def twins(texts: Texts, argument: str) -> dict[str, str]:
    """How many ports NCCL cannot tell apart (count), where ``/etc/nccl.conf`` has it stay on one rail.

    Ports of one NIC are PCI functions with one system image and port number 1 each; only the list of NICs tells their
    rails, as ``mlx5_0:1:0``.

    Source: NVIDIA/nccl#2097, NCCL user guide, env: NCCL_IB_HCA.
    """
    said = texts.get("/etc/nccl.conf", "")
    nics = re.search(r"^NCCL_IB_HCA=[\^=]*(\S+)", said, re.MULTILINE)
    told = {words[0] for one in (nics[1].split(",") if nics else ()) if len(words := one.split(":")) > 2 and words[2]}
    images: dict[str, set[str]] = {}
    for place, text in texts.items():
        if match := re.fullmatch(r".*/infiniband/([^/]+)/sys_image_guid", place):
            images.setdefault(text.strip(), set()).add(match[1])
    twin = {name for names in images.values() if len(names) > 1 for name in names}
    return {"": str(len(twin - told) if re.search(r"^NCCL_CROSS_NIC=0\s*$", said, re.MULTILINE) else 0)}


def _cpus(text: str) -> Iterator[int]:
    for part in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"(\d{1,5})(?:-(\d{1,5}))?", part)
        if match is None:
            raise Unknown(f"{part!r} is no list of CPUs")
        yield from range(int(match[1]), int(match[2] or match[1]) + 1)


def _device(texts: Texts, interface: str) -> str:
    """RDMA device of an interface: below its NIC, or as ``rdma -j link show`` says for one that the kernel makes."""
    for place in texts:
        if match := re.match(rf"/sys/class/net/{re.escape(interface)}/device/infiniband/([^/]+)/", place):
            return match[1]
    for place, text in texts.items():
        for link in _json(text) if place.startswith("rdma ") else ():
            if link.get("netdev") == interface:
                return str(link["ifname"])
    raise Unknown(f"no RDMA device is on {interface}")


def _blocks(texts: Texts) -> dict[str, str]:
    """Block of each device in the output of ibv_devinfo."""
    said = "\n".join(text for place, text in texts.items() if place.startswith("ibv_devinfo"))
    return {match[1]: match[0] for match in re.finditer(r"^hca_id:\s+(\S+)(?:\n(?!hca_id).*)*", said, re.MULTILINE)}


def _parameters(texts: Texts) -> Iterator[tuple[str, str, str]]:
    """Name, current and next value of each row of mlxconfig with columns Default, Current and Next Boot."""
    for text in texts.values():
        for line in text.splitlines():
            cells = line.lstrip("* ").split()
            if len(cells) == 4 and re.fullmatch(r"[A-Z0-9_]+", cells[0]):
                yield cells[0], _plain(cells[2]), _plain(cells[3])


def _plain(word: str) -> str:
    number = re.search(r"\((\d+)\)$", word)
    return number[1] if number else word


def _json(text: str) -> list[dict[str, Any]]:
    try:
        said = json.loads(text or "[]")
    except ValueError as error:
        raise Unknown(f"no JSON: {error}") from None
    if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
        raise Unknown("no list of objects in JSON")
    return [one for one in said if one]
