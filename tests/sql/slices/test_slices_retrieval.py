"""A retrieval under a slice stays inside it and proves it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.signed_slices import export, messages, one, promote, replay, retrieve, verify


def test_a_retrieval_under_a_slice_is_admissible_and_complete(signed: Connection) -> None:
    hits = retrieve(signed, k=2)
    assert len(hits) == 2
    trace = one(signed, "select * from ragdb.get_trace(%s)", hits[0]["trace_id"])
    assert trace["is_admissible"]
    assert trace["retrieval_mode"] == "slice"
    for field in (
        "slice_id",
        "policy_id",
        "policy_params_hash",
        "schema_version",
        "graph_snapshot_hash",
        "admissibility_token",
        "trace_mac",
    ):
        assert trace[field], field
    assert (trace["limit_requested"], trace["limit_returned"], trace["slice_chunk_count"]) == (
        2,
        2,
        5,
    )
    assert {
        r[0] for r in signed.execute("select is_intact from ragdb.verify_trace(%s)", (trace["id"],))
    } == {True}


def test_a_slice_is_a_boundary_at_any_size(signed: Connection) -> None:
    put(
        signed,
        "chat",
        conversation([message(n, text=f"refunds refunds {n}") for n in range(50, 90)], "s2"),
    )
    policy = '{"max_radius": 1, "include_siblings": false}'
    made = one(signed, "select * from ragdb.export_slice('chat', %s, %s)", uuid(1), policy)
    found = {
        hit["chunk_id"] for hit in retrieve(signed, anchor=None, slice_id=made["slice_id"], k=100)
    }
    assert found <= set(made["chunk_ids"])
    everywhere = signed.execute(
        "select chunk_id from ragdb.search_global('chat', 'refunds', k => 100)"
    ).fetchall()
    assert len(everywhere) > len(found)


def test_turn_fields_filter_inside_the_slice(signed: Connection) -> None:
    for given, expected in (
        ('{"role": "assistant"}', {uuid(2), uuid(4)}),
        ('{"min_salience": 0.7}', {uuid(1), uuid(2)}),
        ('{"session": "s1", "role": "user"}', {uuid(1), uuid(3)}),
        ('{"phase": "planning"}', set()),
    ):
        for call in ("search_slice('chat', 'refunds', anchor => %s, k => 9, filter => %s)",):
            rows = signed.execute(f"select chunk_id from ragdb.{call}", (uuid(1), given)).fetchall()
            assert {r[0] for r in rows} == expected
        rows = signed.execute(
            "select chunk_id from ragdb.search_global('chat', 'refunds', filter => %s)", (given,)
        ).fetchall()
        assert {r[0] for r in rows} == expected
    for bad in ('{"role": 1}', '{"min_salience": 2}'):
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute(
                "select * from ragdb.search_global('chat', 'refunds', filter => %s)", (bad,)
            )
        assert caught.value.sqlstate == "RG410"


CLAIM = """
    insert into ragdb.retrieval_traces
    select (jsonb_populate_record(t, %s)).* from ragdb.get_trace(%s) t
"""


@pytest.mark.parametrize(
    "lie",
    [
        {"admissibility_token": "rgt1.k1.1.9999999999." + "0" * 64},
        {"slice_id": "0" * 64},
        {"graph_snapshot_hash": "0" * 64},
        {"anchor_chunk_id": uuid(2)},
        {"corpus": "twin"},
        {"policy_id": "other"},
    ],
    ids=lambda lie: next(iter(lie)),
)
def test_an_insert_may_not_claim_to_be_admissible(signed: Connection, lie: dict[str, Any]) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    fresh = {"id": "01a20074-0000-7000-8000-000000000001"}
    signed.execute(CLAIM, (Jsonb(fresh), trace))  # the truth may be told again
    fresh["id"] = "01a20074-0000-7000-8000-000000000002"
    with pytest.raises(psycopg.DatabaseError) as caught:
        signed.execute(CLAIM, (Jsonb(fresh | lie), trace))
    assert caught.value.sqlstate == "RG436"


def test_an_incomplete_slice_is_never_admissible(signed: Connection) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    for gap in (
        "slice_id",
        "anchor_chunk_id",
        "policy_id",
        "schema_version",
        "admissibility_token",
    ):
        with pytest.raises(psycopg.DatabaseError), signed.transaction():
            signed.execute(CLAIM, (Jsonb({gap: None}), trace))


def test_a_stored_slice_whose_evidence_changed_is_not_retrieved_from(signed: Connection) -> None:
    made = export(signed)
    edited = messages()
    edited[3]["text"] = "Refunds of gifts are cash."
    put(signed, "chat", conversation(edited))
    with pytest.raises(psycopg.DatabaseError, match="not what it was") as caught:
        retrieve(signed, anchor=None, slice_id=made["slice_id"])
    assert caught.value.sqlstate == "RG436"
    assert uuid(4) in (caught.value.diag.message_detail or "")


def test_a_reader_keeps_no_slice_by_a_policy_of_its_own(signed: Connection) -> None:
    own = Jsonb({"max_nodes": 9999})
    call = "select * from ragdb.retrieve_slice('chat', 'refunds', anchor => %s, policy => %s)"
    signed.execute("set role reader")
    for statement in (call, "select * from ragdb.export_slice('chat', %s, %s)"):
        with pytest.raises(psycopg.DatabaseError) as caught, signed.transaction():
            signed.execute(statement, (uuid(1), own))
        assert caught.value.sqlstate == "RG431"
    listed = "select policy_id, created_by from ragdb.list_policies()"
    assert signed.execute(listed).fetchall() == [("slice_policy_v1", None)]
    assert signed.execute(call.replace("retrieve", "search"), (uuid(1), own)).fetchall()
    signed.execute("set role admin")
    signed.execute("select ragdb.register_policy(%s)", (own,))
    signed.execute("set role reader")
    assert signed.execute(call, (uuid(1), own)).fetchall()


def test_a_reader_builds_retrieves_and_replays_but_does_not_promote(signed: Connection) -> None:
    signed.execute("set role reader")
    hits = retrieve(signed)
    assert verify(signed, export(signed)) == (True, None)
    assert replay(signed, hits[0]["trace_id"])["verdict"] == "exact"
    with pytest.raises(psycopg.DatabaseError) as caught:
        promote(signed, hits[0]["trace_id"], [h["chunk_id"] for h in hits])
    assert caught.value.sqlstate == "RG401"
