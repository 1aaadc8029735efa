"""Machines as they are to be: nothing is shared between them, or between clones, that should not be."""

from __future__ import annotations

import itertools
import json
import struct
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from infra.errors import CheckError
from infra.plan.inventory import inventory
from lab.vm import access, boot_sector, image, outputs
from lab.vm.machine import Machine, command

NETWORKS = ("rail0", "rail1", "lan0")


def machine(index: int = 0, lab_id: str = "1a2b3c4d", root: Path = Path("/clone/.lab/vm")) -> Machine:
    """One machine."""
    return Machine(index, lab_id, root, Path("/cache/vm/bookworm-abc.raw"), 22_000 + index)


def test_no_two_machines_of_a_clone_share_an_address() -> None:
    """Neither of their NICs nor of their networks, which differ too."""
    ours = [machine(index) for index in range(16)]
    macs = [one.mac(network) for one in ours for network in (*NETWORKS, "mgmt0")]
    addresses = [one.address(network) for one in ours for network in NETWORKS]
    assert len(set(macs)) == 64
    assert len(set(addresses)) == 48


def test_no_two_clones_share_a_wire() -> None:
    """Machines of one clone do not hear those of another on the same loopback."""
    wires = [
        {word for word in command(machine(lab_id=lab_id), "tcg") if "mcast" in word}
        for lab_id in ("1a2b3c4d", "1a2c3c4d")
    ]
    assert [len(one) for one in wires] == [3, 3]
    assert not wires[0] & wires[1]


def test_the_wire_of_a_rail_is_the_same_for_all_machines() -> None:
    """Else they would not hear each other."""
    first, second = ({word for word in command(machine(index), "tcg") if "mcast" in word} for index in (0, 1))
    assert first == second


@pytest.mark.parametrize(("accelerator", "cpu"), [("kvm", "host"), ("tcg", "max")])
def test_the_processor_goes_with_the_accelerator(accelerator: str, cpu: str) -> None:
    """A processor that only one of them has would keep the machine from starting."""
    words = command(machine(), accelerator)
    assert words[words.index("-cpu") + 1] == cpu


def test_a_comma_in_a_path_parts_no_options() -> None:
    """A clone may lie anywhere."""
    words = command(machine(root=Path("/a,b")), "tcg")
    paths = [word for word in words if "/a," in word]
    assert paths
    assert all("/a,,b/" in word for word in paths)


def test_each_drive_has_the_name_that_the_inventory_says() -> None:
    """The role storage takes drives by stable paths, which come from their serials."""
    words = [word for word in command(machine(), "tcg") if "serial=models" in word]
    listed = (Path(__file__).parents[4] / "ansible/inventory/lab/group_vars/pool_vm.yml").read_text()
    assert [f"virtio-{word.rpartition('=')[2]}" in listed for word in words] == [True, True]


def test_the_seed_has_what_differs_between_machines() -> None:
    """Name, key and address are the machine's own; its key is the last file, whose presence says that all is there."""
    data = access.seed(machine(1), Ed25519PrivateKey.generate(), "ssh-ed25519 AAAA")
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        texts = {one.name: tar.extractfile(one).read().decode() for one in tar if one.isfile()}  # type: ignore[union-attr]  # of files it is none
        modes = {one.name: one.mode for one in tar}
    assert texts["etc/hostname"] == "vm-1\n"
    assert "10.12.0.11/24" in texts["etc/systemd/network/10-lan0.network"]
    assert list(texts)[-1] == "etc/ssh/ssh_host_ed25519_key"
    assert (modes["root/.ssh"], modes["etc/ssh/ssh_host_ed25519_key"]) == (0o700, 0o600)


def test_clients_know_every_machine_and_ask_nothing(tmp_path: Path) -> None:
    """Keys are known before the first connection, and stay when the files are written again."""
    ours = [machine(index, root=tmp_path) for index in range(2)]
    access.write_clients(tmp_path, ours)
    known = (tmp_path / "known_hosts").read_text()
    access.write_clients(tmp_path, ours)
    assert [line.split()[0] for line in known.splitlines()] == ["[127.0.0.1]:22000", "[127.0.0.1]:22001"]
    assert (tmp_path / "known_hosts").read_text() == known
    assert "StrictHostKeyChecking yes" in (tmp_path / "ssh_config").read_text()
    assert (tmp_path / "id_ed25519").stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_none_is_made_anew(tmp_path: Path) -> None:
    """A disk that was full leaves an empty file."""
    (tmp_path / "id_ed25519").write_text("")
    access.write_clients(tmp_path, [machine(root=tmp_path)])
    assert (tmp_path / "id_ed25519").read_text().startswith("-----BEGIN OPENSSH")


def test_the_inventory_takes_the_machines_as_outputs_of_a_stack(tmp_path: Path) -> None:
    """Each with its rails, in the form that the inventory reads now."""
    root = tmp_path / ".lab/vm"
    said = json.loads(outputs.text(root, tmp_path, [machine(index, root=root) for index in range(2)]))
    found = inventory(said)
    rails = [(host.name, rail.interface, rail.address) for host in found.hosts for rail in host.rails]
    wanted = [("vm-0", "10.10.0.10/24", "10.11.0.10/24"), ("vm-1", "10.10.0.11/24", "10.11.0.11/24")]
    assert rails == list(
        itertools.chain.from_iterable(((name, "rail0", one), (name, "rail1", two)) for name, one, two in wanted)
    )
    assert found.ssh_config == ".lab/vm/ssh_config"


def test_the_boot_sector_ends_where_the_partition_begins() -> None:
    """One active partition of Linux from the first MiB to the end, and GRUB's second part after the table."""
    made = boot_sector.sectors(b"\x01" * 512, b"core", 64 * 2**20)
    active, kind, first, count = struct.unpack("<B3xB3xII", made[446:462])
    assert (active, kind, first, count) == (0x80, 0x83, 2048, 64 * 2048 - 2048)
    assert made[510:516] == b"\x55\xaacore"
    assert made[:446] == b"\x01" * 446


@pytest.mark.parametrize(("boot", "core"), [(511, 1), (512, 2047 * 512 + 1)], ids=["half a sector", "too long"])
def test_a_boot_loader_that_does_not_fit_is_refused(boot: int, core: int) -> None:
    """It would be written over the partition."""
    with pytest.raises(CheckError, match="boot loader"):
        boot_sector.sectors(bytes(boot), bytes(core), 2**30)


def test_another_recipe_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key goes by all that the image is made of."""
    before = image.key()
    monkeypatch.setattr(image, "OFFERED", (*image.OFFERED, "tree"))
    assert image.key() != before
    assert image.file().name == f"bookworm-{image.key()}.raw"


def test_what_makes_the_menu_finds_none_while_the_image_is_made() -> None:
    """The kernel's package would call update-grub, which finds no disk there; the hook renames it later."""
    with tarfile.open(fileobj=BytesIO(image.guest_tar())) as tar:
        names = tar.getnames()
    assert "boot/grub/first.cfg" in names
    assert "boot/grub/grub.cfg" not in names
