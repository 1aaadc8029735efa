"""Delete one replica's pod without grace: the others take over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from runbooks.drills._deletion import DeletePod
from runbooks.drills._engine import EngineFault
from runbooks.drills._parts import SOON
from runbooks.lib.drill.claims import FAILING, SLOW, STARTS, Expects, Holds


class KillEnginePod(DeletePod, EngineFault):
    """Delete one replica's pod without grace: the others take over.

    Answers that the pod is writing are cut: a stream cannot move to another replica. A few requests that reach the
    engine while it ends without a drain get its 500, which is not asked again elsewhere: a request that kills an
    engine must not be handed to the next one.

    Its successor may be ready before anyone looks: the runbook has to name the pod that went, not the lack.
    """

    is_short: ClassVar[bool] = True
    expects: ClassVar[Expects | None] = Expects(
        "EngineDown", SOON, "serving/recover_engine", "pod models/{target} (ended|is on its way out)"
    )
    during: ClassVar[Holds] = Holds(cut=3, lost=6)
    may: ClassVar[Mapping[str, str]] = {**FAILING, **SLOW, **STARTS}
