"""Who wrote which fields is read from what the API server remembers."""

from __future__ import annotations

from runbooks.lib.changes import writes

AT = "2026-01-01T00:00:00Z"


def test_a_write_is_told_with_its_fields() -> None:
    """The first few by path, the others by their number; status is nobody's change."""
    container = {".": {}, "f:args": {}, "f:image": {}}
    template = {"f:spec": {"f:containers": {'k:{"name":"c"}': container}}}
    fields = {"f:spec": {"f:replicas": {}, "f:template": template, "f:paused": {}, "f:strategy": {}}}
    entries = [
        {"manager": "kubectl-edit", "operation": "Update", "time": AT, "fieldsV1": fields},
        {"manager": "controller", "operation": "Update", "time": AT, "subresource": "status", "fieldsV1": {}},
    ]
    found = list(writes({"metadata": {"managedFields": entries}}))
    assert [change.who for change in found] == ["kubectl-edit"]
    assert found[0].what.startswith('wrote spec.replicas, spec.template.spec.containers[{"name":"c"}].args,')
    assert found[0].what.endswith("and 1 more fields")
