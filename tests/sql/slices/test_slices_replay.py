"""A recorded retrieval runs again, and says what has changed."""

from __future__ import annotations

from tests.sql.conversations import conversation, message, put, uuid
from tests.sql.signed_slices import Connection, messages, one, replay, retrieve


def test_an_unchanged_corpus_replays_exactly(signed: Connection) -> None:
    under_slice = retrieve(signed)[0]["trace_id"]
    everywhere = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds of gifts')")[
        "trace_id"
    ]
    for trace in (under_slice, everywhere):
        assert (replay(signed, trace)["verdict"], replay(signed, trace)["cause"]) == ("exact", None)


def test_an_edit_makes_a_replay_drift_and_is_named(signed: Connection) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    edited = messages()
    edited[3]["text"] = "Refunds of gifts are cash."
    put(signed, "chat", conversation(edited))
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("drifted", "corpus_changed")
    assert found["changed_chunk_ids"] == [uuid(4)]
    assert uuid(4) in found["detail"]


def test_new_statistics_are_told_from_new_hits(signed: Connection) -> None:
    trace = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    put(signed, "chat", conversation([message(20, text="Nothing to do with it.")], "s2"))
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("same_order", "corpus_changed")


def test_another_ranking_is_a_cause_of_its_own(signed: Connection) -> None:
    trace = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    signed.execute("select ragdb.optimize_corpus('chat')")
    assert replay(signed, trace)["cause"] == "config_changed"


def test_a_query_that_was_not_kept_is_not_replayable(signed: Connection) -> None:
    signed.execute("update ragdb.corpora set record_query_text = 'hash'")
    trace = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("not_replayable", "query_text_not_kept")


def test_a_tampered_trace_is_found(signed: Connection) -> None:
    trace = retrieve(signed)[0]["trace_id"]
    partition = one(
        signed,
        "select tableoid::regclass::text as name from ragdb.retrieval_traces where id = %s",
        trace,
    )["name"]
    signed.execute(f"alter table {partition} disable trigger user")
    # an owner without the key edits a column and makes the hash fit again
    signed.execute(
        "update ragdb.retrieval_traces set client = 'someone else' where id = %s", (trace,)
    )
    signed.execute(
        "update ragdb.retrieval_traces t set trace_hash ="
        " ragdb_internal.trace_hash(t, array(select h from ragdb.trace_hits(t.id) h))"
        " where id = %s",
        (trace,),
    )
    found = replay(signed, trace)
    assert (found["verdict"], found["cause"]) == ("drifted", "trace_tampered")
    assert "trace_mac" in found["detail"]
    signed.execute("update ragdb.retrieval_traces set trace_mac = null where id = %s", (trace,))
    assert "trace_mac" in replay(signed, trace)["detail"]
