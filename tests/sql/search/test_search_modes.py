"""The modes of a search stand in one list, which a table cannot read."""

from __future__ import annotations

import re

from tests.conftest import Connection


def test_a_trace_takes_every_mode_and_no_other(db: Connection) -> None:
    ((modes,),) = db.execute("select ragdb_internal.search_modes()").fetchall()
    ((check,),) = db.execute(
        "select pg_get_constraintdef(oid) from pg_constraint"
        " where conrelid = 'ragdb.retrieval_traces'::regclass"
        " and pg_get_constraintdef(oid) like '%rank_mode = ANY%'"
    ).fetchall()
    assert set(re.findall(r"'(\w+)'", check)) == set(modes)


def test_a_mode_uses_embeddings_or_does_not(db: Connection) -> None:
    rows = db.execute(
        "select m, ragdb_internal.uses_embeddings(m) from unnest(ragdb_internal.search_modes()) m"
    ).fetchall()
    assert dict(rows) == {"lexical": False, "semantic": True, "hybrid": True, "reference": False}
