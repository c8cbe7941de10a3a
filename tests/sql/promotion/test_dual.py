"""Both planes of `search_dual` share one scale: statements are scored as chunks are."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.sql.conversations import uuid
from tests.sql.embedded_chat import VECTORS, Vector, cosine, messages
from tests.sql.signed_slices import one

CARD, VOUCHERS = 2, 4
QUERY: Vector = [0.28, 0.96, 0.0]


@pytest.fixture
def stated(embedded: Connection) -> dict[str, int]:
    """The statement of each of two turns, which says what the turn says."""
    return {promoted(embedded, n): n for n in (CARD, VOUCHERS)}


def promoted(db: Connection, n: int) -> str:
    with db.cursor(row_factory=dict_row) as cursor:
        hits = cursor.execute(
            "select * from ragdb.retrieve_slice('chat', %s, anchor => %s, mode => 'lexical')",
            ("refunds gifts vouchers", uuid(1)),
        ).fetchall()
    row = one(
        db,
        "select * from ragdb.promote_to_atom(%s, %s, %s, sufficiency => 'lenient')",
        hits[0]["trace_id"],
        [h["chunk_id"] for h in hits if h["chunk_id"] == uuid(n)],
        messages()[n - 1]["text"],
    )
    assert row["code"] == "PROMOTED", row
    return str(row["atom_id"])


def found(db: Connection, query: str, **arguments: Any) -> list[dict[str, Any]]:
    names = "".join(f", {name} => %({name})s" for name in arguments)
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(
            f"select * from ragdb.search_dual('chat', %(query)s, 100{names})",
            {"query": query} | arguments,
        ).fetchall()


def scores(rows: list[dict[str, Any]], raw: bool) -> dict[str, float]:
    return {r["id"]: r["score"] for r in rows if (r["plane"] == "raw") is raw}


def test_a_statement_is_as_near_as_the_nearest_chunk_that_it_rests_on(
    embedded: Connection, stated: dict[str, int]
) -> None:
    rows = found(embedded, "xyzzy", mode="semantic", query_embedding=QUERY)
    assert scores(rows, raw=False) == pytest.approx(
        {atom: cosine(VECTORS[n], QUERY) for atom, n in stated.items()}, abs=1e-6
    )


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_what_says_the_same_words_and_means_the_same_has_the_same_score_in_both_planes(
    embedded: Connection, stated: dict[str, int], weight: float
) -> None:
    rows = found(embedded, "vouchers by card", query_embedding=QUERY, lexical_weight=weight)
    of_chunks, of_atoms = scores(rows, raw=True), scores(rows, raw=False)
    assert of_atoms == pytest.approx(
        {atom: of_chunks[uuid(n)] for atom, n in stated.items()}, abs=1e-6
    )


def test_by_ranks_the_best_statement_is_no_better_than_the_best_chunk(
    embedded: Connection, stated: dict[str, int]
) -> None:
    rows = found(embedded, "vouchers", query_embedding=VECTORS[VOUCHERS], fusion="rrf")
    best = [r for r in rows if r["score"] == 1]
    assert {r["id"] for r in best} == {uuid(VOUCHERS)} | {a for a, n in stated.items() if n == 4}
    assert all(r["score"] < 1 for r in rows if r not in best)


def test_sets_of_words_are_compared_in_both_planes(
    embedded: Connection, stated: dict[str, int]
) -> None:
    rows = found(embedded, "Gifts become what?", mode="reference")
    of_chunks, of_atoms = scores(rows, raw=True), scores(rows, raw=False)
    assert of_atoms == {a: of_chunks[uuid(n)] for a, n in stated.items() if uuid(n) in of_chunks}
    assert set(of_atoms.values()) == {0.5}


@pytest.mark.parametrize("asked", ["vuochers", "coupons"])
def test_what_stands_for_a_word_finds_statements_too(
    embedded: Connection, stated: dict[str, int], asked: str
) -> None:
    embedded.execute("select ragdb.add_synonyms('chat', array['coupons', 'vouchers'])")
    rows = found(embedded, asked, mode="lexical")
    of_chunks, of_atoms = scores(rows, raw=True), scores(rows, raw=False)
    assert of_chunks.keys() == {uuid(VOUCHERS)}
    assert of_atoms == pytest.approx({a: of_chunks[uuid(4)] for a, n in stated.items() if n == 4})


def test_all_chunks_of_a_statement_meet_a_filter(
    embedded: Connection, stated: dict[str, int]
) -> None:
    assert scores(found(embedded, "vouchers card", filter='{"role": "user"}'), raw=False) == {}
    assert scores(found(embedded, "vouchers card", filter='{"role": "assistant"}'), raw=False)


def test_a_filter_without_conditions_hides_no_statement(
    embedded: Connection, stated: dict[str, int]
) -> None:
    embedded.execute(
        "insert into ragdb.semantic_atoms select (jsonb_populate_record(a, jsonb_build_object("
        "'atom_id', gen_random_uuid(), 'source_chunk_ids', array['gone']))).*"
        " from ragdb.semantic_atoms a"
    )
    asked: dict[str, Any] = {"query": "vouchers card", "mode": "lexical"}
    rows = found(embedded, **asked)
    assert len(scores(rows, raw=False)) == 2 * len(stated)
    assert found(embedded, **asked, filter="{}") == rows


def test_a_filter_is_applied_once_however_the_chunks_are_read(
    embedded: Connection, stated: dict[str, int]
) -> None:
    for setting in ("enable_indexscan = off", "enable_bitmapscan = off", "track_functions = 'pl'"):
        embedded.execute(f"set local {setting}")
    before = filtered(embedded)
    embedded.execute(
        "select ragdb_internal.statements(corpus_id, %s) from ragdb.corpora where name = 'chat'",
        ('{"role": "assistant"}',),
    )
    assert filtered(embedded) - before == 1


def filtered(db: Connection) -> int:
    calls = "select calls from pg_stat_xact_user_functions where funcname = 'filtered_chunks'"
    return int(one(db, f"select coalesce(({calls}), 0) as calls")["calls"])
