"""The page of examples is what the examples say."""

from __future__ import annotations

from infra.document.stacks import PAGE, page


def test_the_page_of_examples_is_fresh() -> None:
    """Write it again with `python -m infra.document.stacks`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_example_has_its_plan_and_what_it_costs() -> None:
    """A cluster on each target that there is."""
    text = page()
    for target in ("baremetal", "eks", "gke", "aks", "oci", "coreweave", "lab"):
        assert f"target {target}" in text
    assert text.count("## ") == text.count("an hour.") + text.count("is not known: say it.")
