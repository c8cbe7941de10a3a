"""A recorded retrieval runs again, and says what has changed."""

from __future__ import annotations

import psycopg

from tests.conftest import Connection
from tests.sql.conversations import chat, conversation, message, put, uuid
from tests.sql.signed_slices import messages, one, replay, retrieve


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


EDITS = [
    "update ragdb.lexemes set df = df + 1",
    "update ragdb.lexemes set chunk_nos = substr(chunk_nos, 5) where lexeme = 'refund'",
    "update ragdb.chunks set text = 'Refunds are vouchers.',"
    " content_hash = sha256('Refunds are vouchers.') where chunk_no = 2",
]


def test_what_changed_though_nothing_was_written_is_told_from_what_was(any_clone: str) -> None:
    with psycopg.connect(any_clone, autocommit=True) as db:
        chat(db, messages())
        trace = one(db, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
        for edit in EDITS:
            with db.transaction(force_rollback=True):
                db.execute(edit)
                found = replay(db, trace)
                assert found["verdict"] != "exact"
                assert found["cause"] == "corpus_changed"
                assert "a later transaction of ragdb wrote nothing" in found["detail"]
        put(db, "chat", conversation([message(20, text="Nothing to do with it.")], "s2"))
        found = replay(db, trace)
        assert (found["verdict"], found["cause"]) == ("same_order", "corpus_changed")
        assert "a later transaction" not in found["detail"]


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


def changes(db: Connection, trace: str) -> dict[str, tuple[str, int | None, int | None, bool]]:
    rows = db.execute(
        "select chunk_id, change, recorded_rank, replayed_rank, is_unchanged"
        " from ragdb.replay_hits(%s)",
        (trace,),
    ).fetchall()
    return {row[0]: tuple(row[1:]) for row in rows}


def test_a_replay_says_which_hits_left_entered_moved_or_say_something_else(
    signed: Connection,
) -> None:
    asked = "select trace_id, chunk_id, rank from ragdb.retrieve('chat', 'refunds gifts', 3)"
    recorded = signed.execute(asked).fetchall()
    trace = recorded[0][0]
    before = {chunk: rank for _, chunk, rank in recorded}
    assert {row[0] for row in changes(signed, trace).values()} == {"same"}
    edited = messages()
    edited[3]["text"] = "Refunds of gifts are gifts, gifts, gifts."
    edited[2]["text"] = "And what of the rest?"
    put(signed, "chat", conversation(edited))
    now = signed.execute("select chunk_id, rank from ragdb.search('chat', 'refunds gifts', 3)")
    after = dict(now.fetchall())
    assert before.keys() != after.keys()
    found = changes(signed, trace)
    assert found.keys() == before.keys() | after.keys()
    for chunk, (change, recorded_rank, replayed_rank, is_unchanged) in found.items():
        assert (recorded_rank, replayed_rank) == (before.get(chunk), after.get(chunk))
        ranks = (recorded_rank, replayed_rank)
        assert change == (
            "left" if ranks[1] is None
            else "entered" if ranks[0] is None
            else "same" if ranks[0] == ranks[1]
            else "moved"
        )  # fmt: skip
        expected = chunk not in (uuid(3), uuid(4)) if chunk in before else None
        assert is_unchanged is expected, chunk
    assert {"left", "entered"} <= {change for change, *_ in found.values()}


def test_what_cannot_run_again_has_no_changes(signed: Connection) -> None:
    signed.execute("update ragdb.corpora set record_query_text = 'hash'")
    trace = one(signed, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    found = changes(signed, trace)
    assert found
    assert {row[0] for row in found.values()} == {None}
