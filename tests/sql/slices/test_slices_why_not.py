"""A chunk that was not found fell out at a step that has a name."""

from __future__ import annotations

from tests.conftest import Connection
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.signed_slices import one, retrieve


def test_why_not_names_the_step(signed: Connection) -> None:
    put(signed, "chat", conversation([message(20, text="Refunds elsewhere.")], "s2"))
    trace = retrieve(signed, k=1, filter='{"role": "user"}')[0]["trace_id"]
    steps = {
        uuid(20): "slice",
        uuid(5): "ranking",
        uuid(2): "filter",
        uuid(1): "hit",
        uuid(3): "limit",
        "nobody": "corpus",
    }
    found = {
        i: one(signed, "select step from ragdb.why_not(%s, %s)", trace, i)["step"] for i in steps
    }
    assert found == steps
