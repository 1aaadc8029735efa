"""Fields of a config: each read by what it means, all mistakes told at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from infra.errors import ConfigError, Unknown

_NESTS = ("text_config", "language_config", "llm_config", "thinker_config")
"""Where models with several inputs keep the fields of their text tower."""

DTYPES = ("bfloat16", "float16", "float32")
"""Data types that weights and states may be in where no quantisation touched them."""

_MOST = 1_000_000_000
"""Larger than any count in a config, beyond which a number is a mistake (count)."""

_MOST_LAYERS = 4096
"""More layers than any model has, beyond which a number is a mistake (count)."""


class Fields:
    """The fields of one config; the text tower's come before those of the whole.

    A field that is missing or wrong is noted and read as 1, so that reading goes on; ``end`` raises them all.
    """

    def __init__(self, config: Mapping[str, Any], *, name: str, inside: str = "") -> None:
        self.name = name
        self.whole = config
        self.problems: list[str] = []
        self._inside = inside
        self._text = _text(config)
        self._assumed: Mapping[str, Any] = {}

    def assume(self, fields: Mapping[str, Any]) -> None:
        """Set what the family's own class takes for fields that a config leaves out."""
        self._assumed = fields

    def get(self, *keys: str) -> Any:
        """First of several spellings that is there and not null."""
        for fields in (self._text, self.whole, self._assumed):
            for key in keys:
                if fields.get(key) is not None:
                    return fields[key]
        return None

    def count(self, *keys: str, default: int | None = None, least: int = 1) -> int:
        """A whole number under one of several spellings (count)."""
        value = self.get(*keys)
        if value is None:
            return self._missing(keys, "a whole number") if default is None else default
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(whole, bool) or not isinstance(whole, int) or whole < least:
            return self.problem(keys[0], value, f"a whole number of at least {least}")
        return whole if whole <= _MOST else self.problem(keys[0], value, f"at most {_MOST:,}")

    def flag(self, key: str, *, default: bool = False) -> bool:
        """A yes or no."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.problem(key, value, "true or false")
        return value is True

    def text(self, key: str, default: str = "") -> str:
        """A word."""
        value = self.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.problem(key, value, "a text")
        return str(value)

    @property
    def layers(self) -> int:
        """Layers of the text tower (count)."""
        return self.depth("num_hidden_layers")

    def depth(self, *keys: str, default: int | None = None) -> int:
        """A number of layers under one of several spellings (count)."""
        layers = self.count(*keys, default=default, least=1 if default is None else 0)
        return layers if layers <= _MOST_LAYERS else self.problem(keys[0], layers, f"at most {_MOST_LAYERS} layers")

    @property
    def dtype(self) -> str:
        """Data type in which engines run what no quantisation touched: float32 is halved while it loads.

        Source: vllm 0.32.0 config/model.py, _resolve_auto_dtype; sglang and tgi take 16 bits as well.
        """
        return "bfloat16" if self.stored_dtype == "float32" else self.stored_dtype

    @property
    def stored_dtype(self) -> str:
        """Data type in which the checkpoint holds what no quantisation touched."""
        return self.data_type("dtype", default=self.data_type("torch_dtype", default="bfloat16"))

    def data_type(self, key: str, *, default: str = "") -> str:
        """A data type that has a known size."""
        if self.get(key) is None:
            return default
        name = self.text(key).removeprefix("torch.")
        if name not in DTYPES:
            self.doubt(f"{key} {name!r} is no data type that is known here; known are {', '.join(DTYPES)}")
        return name

    def each(self, key: str, layers: int, allowed: Sequence[str | int] = ()) -> list[Any] | None:
        """A list with one entry for each layer; None when it is not there. ``allowed``: all that entries may be."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) < layers:
            found = len(value) if isinstance(value, list) else value
            self.problem(key, found, f"a list with an entry for each of {layers} layers")
            return None
        entries = value[:layers]
        for odd in sorted({str(entry) for entry in entries if allowed and entry not in allowed}):
            self.doubt(f"{key} names a kind of layer that is not known here: {odd!r}; known are {list(allowed)}")
        return entries

    def counts(self, key: str) -> list[int]:
        """A list of whole numbers; empty when it is not there."""
        value = self.get(key)
        if value is None:
            return []
        if isinstance(value, list) and all(isinstance(entry, int) for entry in value):
            return value
        self.problem(key, value, "a list of whole numbers")
        return []

    def nested(self, key: str) -> Fields | None:
        """The fields of a tower or other section, such as ``vision_config``; None when it is not there."""
        value = self.whole.get(key)
        if not isinstance(value, Mapping):
            return None
        section = Fields(value, name=self.name, inside=f"{self._inside}{key}.")
        section.problems = self.problems
        return section

    def problem(self, key: str, found: object, allowed: str) -> int:
        """Note a field that cannot be what it says, and go on with 1."""
        self.problems.append(
            f"config of {self.name!r} — field '{self._inside}{key}' is {found!r}, and {allowed} is allowed; "
            "take the file that belongs to the checkpoint"
        )
        return 1

    def doubt(self, what: str) -> NoReturn:
        """Stop, since the config may be right and we do not know what it means."""
        raise Unknown(f"config of {self.name!r} — {what}; its memory cannot be told from here")

    def end(self) -> None:
        """Raise all that was noted."""
        if self.problems:
            raise ConfigError(*dict.fromkeys(self.problems))

    def _missing(self, keys: Sequence[str], allowed: str) -> int:
        others = f" (or {', '.join(keys[1:])})" if keys[1:] else ""
        self.problems.append(
            f"config of {self.name!r} — field '{self._inside}{keys[0]}'{others} is missing, and {allowed} is needed; "
            "take the file that belongs to the checkpoint"
        )
        return 1


def _text(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in _NESTS:
        nested = config.get(key)
        if isinstance(nested, Mapping):
            return _text(nested)
    return config
