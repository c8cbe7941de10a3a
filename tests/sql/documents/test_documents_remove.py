"""Taking sources and documents away: what goes with them, what stays."""

from __future__ import annotations

import hashlib

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import document
from tests.refusal import refused
from tests.sql.documents_twin import faults, put


def test_documents_are_deleted_with_everything_of_theirs(docs: Connection) -> None:
    one = document("a.md", ["one", "two"], links=[(0, "b.md")])
    two = document("b.md", ["three"], links=[(0, "a.md")])
    put(docs, one, two)
    cid = docs.execute("select ragdb.put_blob('bytes', 'text/plain')").fetchone()
    gone = docs.execute("select * from ragdb.delete_document('docs', %s)", (one["doc_cid"],))
    assert gone.fetchone() == (1, 2)
    assert docs.execute("select count(*) from ragdb.edges").fetchone() == (0,)
    assert docs.execute("select * from ragdb.delete_source('docs', 'b.md')").fetchone() == (1, 1)
    assert cid == ("sha256:" + hashlib.sha256(b"bytes").hexdigest(),)
    assert faults(docs) == []
    for call in (
        f"ragdb.delete_document('docs', '{one['doc_cid']}')",
        "ragdb.delete_source('docs', 'b.md')",
        "ragdb.delete_source('docs', null)",
        "ragdb.get_document('docs', null)",
        "ragdb.document_chunks('docs', 'x')",
    ):
        with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
            docs.execute(f"select * from {call}")
        assert raised.value.sqlstate == "RG405"
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute("select * from ragdb.get_chunk('docs', 'x')")
    assert raised.value.sqlstate == "RG406"


def test_pruning_takes_what_is_under_the_prefix_and_not_kept(docs: Connection) -> None:
    put(docs, *(document(uri, [uri]) for uri in ("docs/a.md", "docs/b.md", "docs2/a.md")))
    prune = "select * from ragdb.prune_sources('docs', 'docs/', array['docs/b.md']"
    assert docs.execute(f"{prune}, dry_run => true)").fetchone() == (1, 1)
    pruned = docs.execute(f"{prune})")
    assert pruned.fetchone() == (1, 1)
    left = docs.execute("select source from ragdb.list_documents('docs')").fetchall()
    assert left == [("docs/b.md",), ("docs2/a.md",)]


def test_pruning_leaves_the_records_of_a_file_that_is_kept(docs: Connection) -> None:
    uris = ["a.jsonl", "a.jsonl#", "a.jsonl#1", "a.jsonl#\U0010ffff", "a.jsonl$", "b#1", "b#2"]
    put(docs, *(document(uri, [uri]) for uri in uris))
    pruned = docs.execute("select * from ragdb.prune_sources('docs', '', '{a.jsonl#,b#1}')")
    assert pruned.fetchone() == (3, 3)
    left = docs.execute("select source from ragdb.list_documents('docs') order by 1").fetchall()
    assert [uri for (uri,) in left] == [*uris[1:4], "b#1"]


def test_sources_of_another_root_stay_where_one_is_pruned(docs: Connection) -> None:
    for root in ("one", "two"):
        put(docs, document(f"{root}.md", [f"text {root}"]) | {"root": f"/{root}"})
    pruned = docs.execute("select * from ragdb.prune_sources('docs', '', '{}', '/one')")
    assert pruned.fetchall() == [(1, 1)]
    left = docs.execute("select source from ragdb.list_documents('docs')").fetchall()
    assert left == [("two.md",)]


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("prune_sources('docs', null, '{}')", "RG400"),
        ("prune_sources('docs', '', null)", "RG400"),
        ("prune_sources('docs', '', '{null}')", "RG400"),
        ("prune_sources('docs', '', '{}', dry_run => null)", "RG400"),
    ],
)
def test_a_pruning_without_a_prefix_or_a_list_is_refused(
    docs: Connection, call: str, sqlstate: str
) -> None:
    assert refused(docs, f"select ragdb.{call}").sqlstate == sqlstate
