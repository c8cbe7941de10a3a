"""Where a slice begins."""

from __future__ import annotations

from typing import Any

from tests.conftest import Connection
from tests.sql.conversations import uuid


def test_anchors_are_resolved_in_turn(signed: Connection) -> None:
    def resolve(**given: str | None) -> tuple[Any, ...] | None:
        names = ", ".join(f"{name} => %({name})s" for name in given)
        row: tuple[Any, ...] | None = signed.execute(
            f"select * from ragdb.resolve_anchor('chat'{', ' if names else ''}{names})", given
        ).fetchone()
        return row

    everything = {"chunk_id": uuid(3), "session": "s1", "query": "shipping"}
    assert resolve(**everything) == (uuid(3), "explicit")
    assert resolve(**everything | {"chunk_id": "nobody"}) == (uuid(5), "session")
    assert resolve(session="none", query="shipping") == (uuid(5), "query")
    assert resolve(query="zebra") == (uuid(5), "temporal")
    signed.execute("select ragdb.create_corpus('empty')")
    assert signed.execute("select * from ragdb.resolve_anchor('empty')").fetchall() == []
