"""What is put into an expression stays a value, and nothing is put in by mistake."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from infra.errors import ConfigError
from runbooks.lib.promql import fill


@pytest.mark.parametrize(
    ("expression", "names", "filled"),
    [
        ('up{pool="$pool"}', {"pool": "b300"}, 'up{pool="b300"}'),
        ('up{pool="$pool"}', {"pool": 'a"} or vector(1) #'}, 'up{pool="a\\"} or vector(1) #"}'),
        ('up{pool="$pool"}', {"pool": "a\\"}, 'up{pool="a\\\\"}'),
        ("up{pool='$pool'}", {"pool": "it's"}, "up{pool='it\\'s'}"),
        ('up{pod=~"$pod"}', {"pod": "a.b|c"}, 'up{pod=~"a\\\\.b\\\\|c"}'),
        ('up{pod=~"$pod-.*"}', {"pod": "tiny"}, 'up{pod=~"tiny-.*"}'),
        ('up{host!~"$hosts"}', {"hosts": ["a", "b.c"]}, 'up{host!~"a|b\\\\.c"}'),
        ("rate(x[$window]) > $limit", {"window": timedelta(seconds=30), "limit": 0.5}, "rate(x[30000ms]) > 0.5"),
        ("rate(x[$window])", {"window": "5m"}, "rate(x[5m])"),
        ('x{a="$a",b="$b"}', {"a": "$b", "b": "2"}, 'x{a="$b",b="2"}'),
        ('x{path=~"/v1/.*$"}', {}, 'x{path=~"/v1/.*$"}'),
    ],
    ids=[
        "text",
        "quote",
        "backslash",
        "single",
        "pattern",
        "prefix",
        "list",
        "numbers",
        "window",
        "no second",
        "anchor",
    ],
)
def test_a_value_stays_a_value(expression: str, names: Mapping[str, Any], filled: str) -> None:
    """Whatever is in it, it cannot become part of the expression."""
    assert fill(expression, names) == filled


@pytest.mark.parametrize(
    ("expression", "names", "reason"),
    [
        ("x > $limit", {}, "$limit has no value"),
        ('x{pool="$poool"}', {"pool": "a"}, "no $pool in it"),
        ("x > $limit", {"limit": "1 or vector(1)"}, "no number or duration"),
        ("x > $limit", {"limit": True}, "no number or duration"),
        ('x{a="$a"}', {"a": ["b", "c"]}, "is a list"),
        ("x{a=`$a`}", {"a": "b"}, "backquotes"),
    ],
    ids=["missing", "misspelt", "expression", "boolean", "list", "backquotes"],
)
def test_what_has_no_safe_place_is_refused(expression: str, names: Mapping[str, Any], reason: str) -> None:
    """The sentence names what is wrong."""
    with pytest.raises(ConfigError, match=reason.replace("$", r"\$")):
        fill(expression, names)
