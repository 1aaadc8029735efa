"""Xid codes of the NVIDIA driver, by what has to be done about them."""

from __future__ import annotations

from collections.abc import Mapping

ACTIONS: Mapping[str, tuple[int, ...]] = {
    "reset the GPU": (46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158),
    "restart the host": (79, 151),
    "read the memory errors beside it": (48,),
    "read the link errors": (74, *range(144, 151)),
    "do what the driver says": (154,),
    "check the hardware": (54, 78, 159),
}
"""What to do → codes. Codes of applications (13, 31, 43, 45, 94 …) and those to be ignored are left out.

Source: NVIDIA Xid catalogue, as carried in oracle-quickstart/oci-hpc, roles/healthchecks/files/xid_catalog_data.json.
"""

SERIOUS: tuple[int, ...] = tuple(sorted(code for codes in ACTIONS.values() for code in codes))
"""Codes after which a GPU or its host must be seen to."""
