"""Capacity: how the hosts of a cloud's pool are had, and what stands in the contract about them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from infra.config.base import Frozen

BOOKED = ("reservation", "capacity-block")
"""Kinds that name what was booked."""


class Supply(Frozen):
    """Where the hosts of one pool come from."""

    kind: Literal["on-demand", "reservation", "capacity-block", "flex-start"] = "on-demand"
    """``reservation``: held for you; ``capacity-block``: booked for days (AWS); ``flex-start``: when their turn comes
    (Google Cloud)."""
    reservation: str = ""
    """Id or name of what was booked."""
    made: bool = False
    """Whether the stack makes the reservation, for all hosts of the pool; it is protected, and stays when the stack
    goes."""
    hosts: Annotated[int, Field(ge=1)] | None = None
    """Hosts that it holds, as its contract says (count)."""
    zone: str = ""
    """Zone that it holds them in."""

    @model_validator(mode="after")
    def _booked_has_a_name(self) -> Self:
        if self.made:
            if self.kind != "reservation" or self.reservation:
                said = "a reservation that the stack makes has kind: reservation and no name yet"
                raise ValueError(f"made with kind={self.kind!r} and reservation={self.reservation!r}; {said}")
            return self
        if (self.kind in BOOKED) != bool(self.reservation):
            said = "name it under reservation" if self.kind in BOOKED else "set kind to reservation or capacity-block"
            raise ValueError(f"kind={self.kind!r} with reservation={self.reservation!r}; {said}")
        return self
