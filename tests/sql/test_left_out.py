"""What a list, a page or a sweep is not asked for is not in it."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import claim, make_corpus, make_embedder, one
from tests.refusal import refused


@pytest.fixture
def docs(db: Connection) -> Connection:
    make_corpus(db, {"a.md": "tulips of the vault", "b.md": "roses of the hall"})
    return db


def column(db: Connection, query: str, *arguments: Any) -> list[Any]:
    return [value for (value,) in db.execute(query, arguments).fetchall()]


def test_events_of_access_to_one_corpus_are_those_of_no_other(docs: Connection) -> None:
    for name in ("first", "second"):
        docs.execute("select ragdb.create_corpus(%s, is_restricted => true)", (name,))
    listed = "select corpus from ragdb.list_access_events(%s)"
    assert column(docs, listed, "first") == ["first"]
    assert column(docs, listed, None) == ["second", "first"]


def test_slices_are_listed_from_a_time_on(docs: Connection) -> None:
    docs.execute("set local ragdb.now = '2019-12-31 00:00:00+00'")
    docs.execute("select ragdb.create_signing_key('k')")
    (early, late) = column(docs, "select chunk_id from ragdb.list_chunks('docs')")
    for day, anchor in ((1, early), (3, late)):
        docs.execute("select set_config('ragdb.now', %s, true)", (f"2020-01-0{day} 00:00:00+00",))
        docs.execute("select ragdb.export_slice('docs', %s)", (anchor,))
    listed = "select anchor_chunk_id from ragdb.list_slices('docs', %s)"
    assert column(docs, listed, None) == [late, early]
    assert column(docs, listed, "2020-01-02 00:00:00+00") == [late]
    assert column(docs, listed, "2020-01-03 00:00:00+00") == [late]


def test_verdicts_are_listed_from_a_time_on(docs: Connection) -> None:
    trace = one(docs, "select trace_id from ragdb.retrieve('docs', 'tulips', 1)")
    for day, verdict in ((1, "good"), (3, "bad")):
        docs.execute("select set_config('ragdb.now', %s, true)", (f"2040-01-0{day} 00:00:00+00",))
        docs.execute("select ragdb.record_feedback(%s, trace_id => %s)", (verdict, trace))
    listed = "select verdict from ragdb.list_feedback('docs', %s)"
    assert column(docs, listed, None) == ["bad", "good"]
    assert column(docs, listed, "2040-01-02 00:00:00+00") == ["bad"]


def test_the_last_child_of_a_page_is_not_on_the_next(docs: Connection) -> None:
    (parent, child) = column(docs, "select chunk_id from ragdb.list_chunks('docs')")
    edge = Jsonb([{"parent": parent, "child": child}])
    docs.execute("select ragdb.add_edges('docs', %s)", (edge,))
    page = "select child_id from ragdb.get_children('docs', %s, %s)"
    assert column(docs, page, parent, "") == [child]
    assert column(docs, page, parent, child) == []


def test_parents_come_by_pages_each_with_all_of_its_edges(docs: Connection) -> None:
    for number in range(3):
        docs.execute("select ragdb.put_text('docs', %s, 'a leaf')", (f"leaf-{number}",))
    (child, *parents) = sorted(column(docs, "select chunk_id from ragdb.list_chunks('docs')"))
    edges = [{"parent": parent, "child": child} for parent in parents]
    edges += [{"parent": parents[1], "child": child, "edge_type": "reply"}]
    docs.execute("select ragdb.add_edges('docs', %s)", (Jsonb(edges),))
    page = "select parent_id from ragdb.get_parents('docs', %s, %s, %s)"
    first, twice, third, last = parents
    assert column(docs, page, child, "", 2) == [first, twice, twice]
    assert column(docs, page, child, twice, 2) == [third, last]
    assert column(docs, page, child, third, 2) == [last]
    assert column(docs, page, child, last, 2) == []
    whole = "select parent_id from ragdb.get_parents('docs', %s)"
    assert column(docs, whole, child) == [first, twice, twice, third, last]
    for wrong in ("count => 0", "after => null"):
        call = f"select ragdb.get_parents('docs', '{child}', {wrong})"
        assert refused(docs, call).sqlstate == "RG400"


def test_a_word_that_is_taken_out_stands_for_no_other(docs: Connection) -> None:
    docs.execute("select ragdb.add_synonyms('docs', '{car,auto,vehicle}')")
    assert one(docs, "select ragdb.remove_synonyms('docs', 'car')") == 4
    assert docs.execute("select * from ragdb.list_synonyms('docs') order by 1").fetchall() == [
        ("auto", ["vehicle"]),
        ("vehicle", ["auto"]),
    ]


def test_a_part_lists_the_synonyms_of_its_whole(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('whole')")
    db.execute("select ragdb.create_corpus('part', part_of => 'whole')")
    db.execute("select ragdb.add_synonyms('whole', '{car,auto}')")
    assert column(db, "select word from ragdb.list_synonyms('part')") == ["auto", "car"]


def test_a_quota_of_everybody_is_not_one_of_a_role_that_is_gone(db: Connection) -> None:
    db.execute("create role gone")
    db.execute("select ragdb.set_quota('public', 100), ragdb.set_quota('gone', 100)")
    db.execute("drop role gone")
    listed = db.execute("select role, is_dead from ragdb.list_quotas()").fetchall()
    assert listed == [("gone", True), ("public", False)]


def test_a_role_that_is_gone_has_no_name_that_is_taken(db: Connection) -> None:
    db.execute("create role gone; create role back")
    db.execute("select ragdb.create_corpus('docs')")
    for role in ("gone", "back"):
        db.execute("select ragdb.grant_corpus('docs', %s, 'read')", (role,))
    db.execute("drop role gone; drop role back; create role back")
    listed = db.execute("select role, name_is_taken from ragdb.dead_roles()").fetchall()
    assert [row for row in listed if row[0] in ("gone", "back")] == [
        ("back", True),
        ("gone", False),
    ]


def test_sources_of_another_root_stay_where_one_is_pruned(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    given = [{**text_document(f"{r}.md", f"text {r}"), "root": f"/{r}"} for r in ("one", "two")]
    db.execute("select count(*) from ragdb.put_documents('docs', %s)", (Jsonb(given),))
    pruned = db.execute("select * from ragdb.prune_sources('docs', '', '{}', '/one')").fetchall()
    assert pruned == [(1, 1)]
    assert column(db, "select source from ragdb.list_documents('docs')") == ["two.md"]


def test_what_a_worker_has_is_not_tried_again_beside_it(docs: Connection) -> None:
    assert len(claim(docs)) == 2
    docs.execute("update ragdb.embedding_jobs set failures = 1")
    assert one(docs, "select ragdb.retry_failed('docs')") == 0
    docs.execute("update ragdb.embedding_jobs set worker = null")
    assert one(docs, "select ragdb.retry_failed('docs')") == 2


def test_a_retired_space_is_not_queued_again(docs: Connection) -> None:
    make_embedder(docs, "other")
    docs.execute("select ragdb.reembed_corpus('docs', 'other')")
    docs.execute("select ragdb.cutover_corpus('docs', 'other', force => true)")
    docs.execute("update ragdb.embedding_spaces set queued_to = 1")
    assert one(docs, "select ragdb.requeue_embeddings('docs')") == 1
    queued = docs.execute("select state, queued_to from ragdb.embedding_spaces order by state")
    assert queued.fetchall() == [("current", 0), ("retired", 1)]
