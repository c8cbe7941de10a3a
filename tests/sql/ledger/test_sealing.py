"""Whoever writes evidence notes it, and the sealer gives each row one number without a gap."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests import merkle_twin as twin
from tests.conftest import Connection
from tests.sql.ledger.conftest import KINDS, fill, findings, kinds
from tests.sql.soundness import errors


def test_every_kind_of_evidence_is_sealed_with_the_hash_of_its_row(evidence: Connection) -> None:
    known = {kind for (kind,) in evidence.execute("select ragdb.ledger_kinds()")}
    assert kinds(evidence).keys() == KINDS == known
    assert kinds(evidence)["trace"] == 4
    assert findings(evidence) == []
    rows = evidence.execute(
        "select number, kind, id, hash, sealed_at, entry, leaf_hash from ragdb.ledger_entries()"
    ).fetchall()
    assert [row[0] for row in rows] == list(range(len(rows)))
    for _, kind, id, hashed, sealed_at, entry, leaf in rows:
        assert entry == twin.entry(kind, id, hashed, sealed_at)
        assert leaf == twin.leaf(entry)
        assert hashed != bytes(32)
    leaves = [row[6] for row in rows]
    ((root,),) = evidence.execute("select ragdb.ledger_root()").fetchall()
    assert root == twin.root(leaves)
    stored = evidence.execute("select trace_hash from ragdb.retrieval_traces").fetchall()
    assert {h for (h,) in stored} == {row[3] for row in rows if row[1] == "trace"}


def test_what_is_noted_twice_is_sealed_once(evidence: Connection) -> None:
    before = kinds(evidence)
    evidence.execute(
        "insert into ragdb.ledger_pending"
        " select kind, id, sha256('other') from ragdb.ledger_leaves l, generate_series(1, 3)"
    )
    ((sealed, is_done),) = evidence.execute(
        "select sealed, is_done from ragdb.seal_ledger()"
    ).fetchall()
    assert (sealed, is_done) == (0, True)
    assert kinds(evidence) == before
    evidence.execute("select ragdb.record_reads('chat', 'on')")
    noted = evidence.execute("select count(*) from ragdb.ledger_pending").fetchall()
    evidence.execute("insert into ragdb.ledger_pending select * from ragdb.ledger_pending")
    assert evidence.execute("select sealed from ragdb.seal_ledger()").fetchall() == noted
    assert findings(evidence) == []


def test_an_entry_cannot_stand_twice(evidence: Connection) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation, match="ledger_leaves_row_is_sealed_once"):
        evidence.execute(
            "insert into ragdb.ledger_leaves select 1000000, kind, id, hash, sealed_at"
            " from ragdb.ledger_leaves where number = 3"
        )


def test_a_checkpoint_gains_the_signatures_that_it_lacks(evidence: Connection) -> None:
    ((text,),) = evidence.execute("select ragdb.ledger_checkpoint()").fetchall()
    ours, theirs = (f"— {name} {'A' * 92}\n" for name in ("ours", "theirs"))
    for lines in (ours, ours + theirs, theirs):
        evidence.execute("select ragdb.store_checkpoint(%s)", (f"{text}\n{lines}",))
    notes = evidence.execute("select note from ragdb.list_checkpoints()").fetchall()
    assert notes == [(f"{text}\n{ours}{theirs}",)]


@pytest.mark.parametrize("table", ["ledger_leaves", "ledger_acts"])
@pytest.mark.parametrize("statement", ["delete from {}", "update {} set {} = {}", "truncate {}"])
def test_entries_and_acts_are_append_only_for_the_superuser_too(
    evidence: Connection, table: str, statement: str
) -> None:
    column = "hash" if table == "ledger_leaves" else "reason"
    evidence.execute("set local session_replication_role = replica")
    with pytest.raises(psycopg.Error) as caught:
        evidence.execute(statement.format(f"ragdb.{table}", column, column))
    assert caught.value.sqlstate == "RG414"


def test_a_sealer_takes_what_it_is_told_and_says_what_is_left(db: Connection) -> None:
    db.execute(
        "insert into ragdb.ledger_pending"
        " select 'x', '1/' || n, sha256(int4send(n)) from generate_series(1, 25) n"
    )
    seen = []
    for _ in range(3):
        seen += db.execute("select sealed, size, is_done from ragdb.seal_ledger(10)").fetchall()
    assert seen == [(10, 10, False), (10, 20, False), (5, 25, True)]
    # notes are taken as they lie in their table, which other tests may have left gaps in
    sealed = db.execute("select id from ragdb.ledger_leaves").fetchall()
    assert sorted(sealed) == sorted((f"1/{n}",) for n in range(1, 26))
    for most in (None, 0, 1_000_001):
        with pytest.raises(psycopg.Error) as caught, db.transaction():
            db.execute("select * from ragdb.seal_ledger(%s)", (most,))
        assert caught.value.sqlstate == "RG400"


def test_a_row_that_is_gone_before_it_is_sealed_stays_known(any_clone: str) -> None:
    with psycopg.connect(any_clone, autocommit=True) as db:
        fill(db)
        ((gone,),) = db.execute(
            "delete from ragdb.events where corpus = 'chat' returning corpus_id || '/' || event_id"
        ).fetchall()
        db.execute("select ragdb.seal_ledger()")
        ((hashed,),) = db.execute(
            "select hash from ragdb.ledger_leaves where kind = 'event' and id = %s", (gone,)
        ).fetchall()
        assert hashed == bytes(32)
        assert findings(db) == [("row_missing", "event", gone)]


def test_a_writer_does_not_wait_for_the_sealer_and_a_second_sealer_does(copied: str) -> None:
    with psycopg.connect(copied) as sealer, psycopg.connect(copied, autocommit=True) as writer:
        sealer.execute("select ragdb.seal_ledger()")
        writer.execute("set lock_timeout = '200ms'")
        assert writer.execute("select from ragdb.retrieve('chat', 'refunds')").fetchall()
        with pytest.raises(psycopg.errors.LockNotAvailable):
            writer.execute("select ragdb.seal_ledger()")
        sealer.commit()
        ((sealed,),) = writer.execute("select sealed from ragdb.seal_ledger()").fetchall()
        assert sealed == 1
        assert findings(writer) == []


def test_a_reader_cannot_keep_the_sealer_waiting(copied: str) -> None:
    with psycopg.connect(copied, autocommit=True) as setup:
        setup.execute("select ragdb.seal_ledger()")
    with (
        psycopg.connect(copied, user="reader") as reader,
        psycopg.connect(copied, autocommit=True) as sealer,
    ):
        for statement in (
            "lock table ragdb.ledger_head in access share mode",
            "select from ragdb.ledger_head for share",
            "select * from ragdb.seal_ledger()",
            "select * from ragdb.ledger_status()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), reader.transaction():
                reader.execute(statement)
        sealer.execute("set lock_timeout = '2s'")
        sealer.execute("select ragdb.seal_ledger()")


def test_writers_and_sealers_at_once_leave_no_gap_and_lose_nothing(copied: str) -> None:
    stop = threading.Event()
    recorded: list[str] = []

    def write() -> None:
        with psycopg.connect(copied, autocommit=True) as db:
            for _ in range(40):
                query = "select trace_id from ragdb.retrieve('chat', 'refunds', 1)"
                recorded.extend(str(id) for (id,) in db.execute(query))

    def seal() -> None:
        with psycopg.connect(copied, autocommit=True) as db:
            while not stop.is_set():
                db.execute("select ragdb.seal_ledger(7)")

    writers = [threading.Thread(target=write) for _ in range(3)]
    sealers = [threading.Thread(target=seal) for _ in range(2)]
    for thread in writers + sealers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in sealers:
        thread.join()
    with psycopg.connect(copied, autocommit=True) as db:
        db.execute("select ragdb.seal_ledger()")
        leaves = db.execute("select number, kind, id from ragdb.ledger_entries(0, 10000)")
        rows = leaves.fetchall()
        assert [number for number, _, _ in rows] == list(range(len(rows)))
        sealed = {id.split("/")[1] for _, kind, id in rows if kind == "trace"}
        assert len(recorded) == 120
        assert set(recorded) <= sealed
        assert findings(db) == []


def test_sealing_time_never_falls_when_the_clock_does(evidence: Connection) -> None:
    ((before,),) = evidence.execute("select sealed_at from ragdb.ledger_status()").fetchall()
    evidence.execute(
        "select set_config('ragdb.now', %s, true)", (str(before - timedelta(hours=5)),)
    )
    evidence.execute("select ragdb.create_signing_key('early')")
    evidence.execute("select * from ragdb.retrieve('chat', 'refunds')")
    ((after,),) = evidence.execute("select sealed_at from ragdb.seal_ledger()").fetchall()
    assert after == before
    assert findings(evidence) == []


def test_while_the_ledger_is_off_nothing_is_noted_and_both_ways_are_acts(
    evidence: Connection,
) -> None:
    size = sum(kinds(evidence).values())
    evidence.execute("select ragdb.set_ledger(false)")
    evidence.execute("select * from ragdb.retrieve('chat', 'refunds')")
    ((pending, is_on),) = evidence.execute(
        "select pending, is_on from ragdb.ledger_status()"
    ).fetchall()
    assert (pending, is_on) == (1, False)  # that it is off
    assert findings(evidence) == []
    # on again: what was recorded meanwhile is noted, late as it is
    assert evidence.execute("select ragdb.set_ledger(true)").fetchall() == [(1,)]
    assert evidence.execute("select ragdb.set_ledger(true)").fetchall() == [(0,)]
    evidence.execute("select ragdb.seal_ledger()")
    assert sum(kinds(evidence).values()) == size + 3
    acts = evidence.execute("select act from ragdb.list_ledger_acts() limit 2").fetchall()
    assert acts == [("ledger_on",), ("ledger_off",)]
    found = "select from ragdb.verify_ledger(0, null, '-1 day') where finding = 'late'"
    late = len(evidence.execute(found).fetchall())
    # all but what is of the time when it was off, and the atom that was erased
    assert late == size


def test_a_ledger_that_is_off_without_an_act_is_found(evidence: Connection) -> None:
    off = "insert into ragdb.settings (key, value) values ('ledger_is_on', 'false')"
    again = " on conflict (key) do update set value = excluded.value"
    evidence.execute(off)
    assert findings(evidence) == [("switched_off", "act", "")]
    evidence.execute("select ragdb.set_ledger(true)")
    assert findings(evidence) == []
    evidence.execute("set local ragdb.now = '2100-01-01'")
    evidence.execute("select ragdb.set_ledger(false)")
    assert findings(evidence) == []
    evidence.execute("set local ragdb.now = '2100-01-02'")
    evidence.execute("select ragdb.set_ledger(true)")
    evidence.execute((off + again).encode())
    assert findings(evidence) == [("switched_off", "act", "")]


def test_a_ledger_that_one_transaction_switched_off_and_on_excuses_nothing(
    evidence: Connection,
) -> None:
    for moment in range(8):  # ids of acts of one moment are in no order
        evidence.execute(f"set local ragdb.now = '2100-01-0{moment + 1}'")
        evidence.execute("select ragdb.set_ledger(false), ragdb.set_ledger(true)")
        assert evidence.execute("select ragdb_internal.was_ledger_off('infinity')").fetchall() == [
            (False,)
        ]


def test_what_retention_drops_leaves_its_entries_and_an_act(evidence: Connection) -> None:
    evidence.execute(
        "select set_config('ragdb.now', %s, true)",
        (str(datetime.now(UTC) + timedelta(days=70)),),
    )
    ((traces, months),) = evidence.execute(
        "select sum(traces)::int, count(*)::int"
        " from ragdb.drop_traces_before((now() + interval '69 days')::date)"
    ).fetchall()
    assert traces == 4
    before = kinds(evidence)
    evidence.execute("select ragdb.seal_ledger()")
    assert kinds(evidence) == before | {"act": before["act"] + months}
    # the day is over: that alone is late
    assert {finding for finding, _, _ in findings(evidence)} <= {"late"}
    # the fence: without the act, they are missing
    evidence.execute("alter table ragdb.ledger_acts disable trigger user")
    evidence.execute("delete from ragdb.ledger_acts where act = 'retention'")
    missing = {kind for finding, kind, _ in findings(evidence) if finding == "row_missing"}
    assert missing == {"act", "answer", "feedback", "gate", "rerank", "trace"}


def test_what_comes_back_into_a_dropped_month_is_held_to_its_entry(evidence: Connection) -> None:
    """An act of retention excuses that rows are gone, and not that they say something else."""
    evidence.execute("create temp table kept as select * from ragdb.evidence_answers")
    evidence.execute(
        "select set_config('ragdb.now', %s, true)",
        (str(datetime.now(UTC) + timedelta(days=70)),),
    )
    evidence.execute("select ragdb.drop_traces_before((now() + interval '69 days')::date)")
    evidence.execute("insert into ragdb.evidence_answers select * from kept")
    # its citations were dropped with it
    assert ("row_changed", "answer") in {(f, k) for f, k, _ in findings(evidence)}


def test_a_dropped_corpus_leaves_its_entries_and_an_act(evidence: Connection) -> None:
    evidence.execute("select ragdb.drop_corpus('chat')")
    evidence.execute("select ragdb.seal_ledger()")
    assert findings(evidence) == []
    evidence.execute("alter table ragdb.ledger_acts disable trigger user")
    evidence.execute("delete from ragdb.ledger_acts where act = 'corpus_dropped'")
    missing = {kind for finding, kind, _ in findings(evidence) if finding == "row_missing"}
    assert missing == {"act", "event", "slice"}  # what was derived has acts of its own


def test_what_a_dropped_corpus_left_is_erased_on_record(evidence: Connection) -> None:
    # given a corpus that is there still, with a trace, and a dropped one
    evidence.execute("select ragdb.create_corpus('stays')")
    evidence.execute("select ragdb.put_text('stays', 'a.md', 'Refunds take five days.')")
    evidence.execute("select ragdb.retrieve('stays', 'refunds')")
    evidence.execute("select ragdb.retrieve('chat', 'a secret question')")
    ((left,),) = evidence.execute(
        "select count(*) from ragdb.retrieval_traces where corpus = 'chat'"
    ).fetchall()
    ((runs,),) = evidence.execute(
        "select count(*) from ragdb.eval_runs where corpus = 'chat'"
    ).fetchall()
    assert left > 1
    # a baseline holds its run
    evidence.execute("select ragdb.bless_run(run_id) from ragdb.eval_runs where corpus = 'chat'")
    evidence.execute("select ragdb.seal_ledger()")
    # what is there keeps its traces
    assert evidence.execute("select traces, runs from ragdb.erase_traces('chat')").fetchall() == [
        (0, 0)
    ]
    evidence.execute("select ragdb.drop_corpus('chat')")
    # when
    gone = evidence.execute(
        "select traces, answers > 0, runs from ragdb.erase_traces('chat', 'the tenant left')"
    ).fetchall()
    # then
    assert gone == [(left, True, runs)]
    for (table,) in evidence.execute(
        "select unnest(ragdb_internal.partitioned() || array['eval_runs', 'eval_baselines'])"
    ).fetchall():
        rows = evidence.execute(
            f"select count(*) from ragdb.{table} r where r.corpus_id not in"
            " (select corpus_id from ragdb.corpora)"
        ).fetchall()
        assert rows == [(0,)], table
    assert evidence.execute(
        "select query_text from ragdb.retrieval_traces where corpus = 'stays'"
    ).fetchall() == [("refunds",)]
    evidence.execute("select ragdb.seal_ledger()")
    assert findings(evidence) == []
    assert errors(evidence) == []
    ((reason,),) = evidence.execute(
        "select reason from ragdb.list_ledger_acts() where act = 'traces_erased'"
    ).fetchall()
    assert reason.endswith("the tenant left")
    # what stays is as it was for everybody
    with pytest.raises(psycopg.Error) as refused, evidence.transaction():
        evidence.execute("delete from ragdb.retrieval_traces")
    assert refused.value.sqlstate == "RG414"
    # the fence: without the act, they are missing
    evidence.execute("alter table ragdb.ledger_acts disable trigger user")
    evidence.execute("delete from ragdb.ledger_acts where act = 'traces_erased'")
    missing = {kind for finding, kind, _ in findings(evidence) if finding == "row_missing"}
    assert missing >= {"act", "answer", "trace"}


def test_documents_that_are_deleted_leave_an_act(clone: str) -> None:
    """Whether or not anything was derived from them: who, when, which and why."""
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs', history => '90 days')")
        for name in "abcd":
            db.execute("select ragdb.put_text('docs', %s, %s)", (f"{name}.md", f"Text {name}"))
        ids: dict[str, str] = dict(
            db.execute("select source, event_id::text from ragdb.events").fetchall()
        )
        db.execute("select ragdb.delete_source('docs', 'a.md', reason => 'asked')")
        db.execute("select ragdb.delete_sources('docs', '{b.md,nothing}')")
        db.execute("select ragdb.prune_sources('docs', '', '{d.md}', reason => 'old')")
        db.execute("select ragdb.erase_source('docs', 'd.md', 'by law')")
        db.execute("select ragdb.erase_source('docs', 'a.md', 'by law too')")
        db.execute("select ragdb.drop_history('docs')")
        acts = db.execute(
            "select act, caller, (select c.name from ragdb.corpora c"
            " where c.corpus_id = a.corpus_id),"
            " array(select distinct split_part(e, '/', 2) from unnest(entries) e order by 1),"
            " reason"
            " from ragdb.list_ledger_acts() a"
        ).fetchall()
        me = "postgres"
        assert acts[::-1] == [
            ("deletion", me, "docs", [ids["a.md"]], "1 document, 1 chunk: asked"),
            ("deletion", me, "docs", [ids["b.md"]], "1 document, 1 chunk"),
            ("deletion", me, "docs", [ids["c.md"]], "1 document, 1 chunk: old"),
            ("deletion", me, "docs", [ids["d.md"]], "1 document, 1 chunk: by law"),
            ("history_erased", me, "docs", [ids["d.md"], "8"], "3 rows of the history: by law"),
            ("history_erased", me, "docs", [ids["a.md"], "5"], "3 rows of the history: by law too"),
            ("history_dropped", me, "docs", [], "16 rows of the history"),
        ]  # fmt: skip


def test_an_erasure_is_an_act_that_names_its_rows(evidence: Connection) -> None:
    ((id,),) = evidence.execute(
        "select corpus_id || '/' || atom_id from ragdb.semantic_atoms"
    ).fetchall()
    evidence.execute("alter table ragdb.semantic_atoms disable trigger user")
    evidence.execute("update ragdb.semantic_atoms set created_by = 'nobody'")
    assert findings(evidence) == [("row_changed", "atom", id)]
    evidence.execute("select ragdb.record_erasure(%s, 'on request')", ([f"atom:{id}"],))
    assert findings(evidence) == []
    for entries, reason in (([], "x"), (["atom"], "x"), ([f"atom:{id}"], ""), (None, "x")):
        with pytest.raises(psycopg.Error) as caught, evidence.transaction():
            evidence.execute("select ragdb.record_erasure(%s::text[], %s)", (entries, reason))
        assert caught.value.sqlstate == "RG400"


def test_a_ledger_is_named_before_its_first_entry(db: Connection) -> None:
    assert db.execute("select ragdb.name_ledger('example.com/evidence')").fetchall() == [
        ("example.com/evidence",)
    ]
    for name in ("", "two words", "a+b", "é", "x" * 201):
        with pytest.raises(psycopg.Error) as caught, db.transaction():
            db.execute("select ragdb.name_ledger(%s)", (name,))
        assert caught.value.sqlstate == "RG400", name
    db.execute("insert into ragdb.ledger_pending values ('x', '1', sha256(''))")
    db.execute("select ragdb.seal_ledger()")
    assert db.execute("select ragdb.name_ledger()").fetchall() == [("example.com/evidence",)]
    with pytest.raises(psycopg.Error) as caught, db.transaction():
        db.execute("select ragdb.name_ledger('example.com/other')")
    assert caught.value.sqlstate == "RG481"


def test_a_ledger_whose_hashes_are_missing_seals_and_signs_no_more(evidence: Connection) -> None:
    evidence.execute("select * from ragdb.retrieve('chat', 'refunds')")
    for damage in (
        "update ragdb.ledger_tiles set hashes = substr(hashes, 33)",
        "delete from ragdb.ledger_tiles",
    ):
        for call in ("seal_ledger()", "ledger_checkpoint()", "ledger_inclusion_proof(0)"):
            with evidence.transaction(force_rollback=True):
                evidence.execute(f"select * from ragdb.{call}")  # the control
            with evidence.transaction(force_rollback=True):
                evidence.execute(damage)
                with pytest.raises(psycopg.Error) as caught, evidence.transaction():
                    evidence.execute(f"select * from ragdb.{call}")
            assert caught.value.sqlstate == "RG482", (damage, call)
            assert caught.value.diag.message_hint


def test_what_is_not_there_is_said_to_be_missing(evidence: Connection) -> None:
    evidence.execute("select * from ragdb.retrieve('chat', 'refunds')")
    ((trace,),) = evidence.execute("select ragdb.last_trace_id()::text").fetchall()
    for statement, state in (
        (f"select ragdb.ledger_entry('trace', '{trace}')", "RG480"),
        ("select ragdb.ledger_inclusion_proof(99)", "RG480"),
        ("select ragdb.ledger_inclusion_proof(0, 999)", "RG400"),
        ("select ragdb.ledger_tile(0, 0, 256)", "RG480"),
        ("select ragdb.ledger_bundle(0, 256)", "RG480"),
        ("select ragdb.ledger_root(-1)", "RG400"),
        ("select ragdb.ledger_consistency_proof(9, 8)", "RG400"),
        ("select ragdb.verify_ledger(-1)", "RG400"),
        ("select ragdb.set_ledger(null)", "RG400"),
        ("select ragdb.ledger_entries(0, 0)", "RG400"),
        ("select ragdb.list_ledger_acts(0)", "RG400"),
        ("select ragdb.list_checkpoints(0)", "RG400"),
        ("select ragdb.store_checkpoint('no')", "RG400"),
    ):
        with pytest.raises(psycopg.Error) as caught, evidence.transaction():
            evidence.execute(statement)
        assert caught.value.sqlstate == state, statement
        assert caught.value.diag.message_hint


def dated_event(db: Connection) -> None:
    """An event of access of 2020, sealed when it happened."""
    db.execute(
        "insert into ragdb.settings values ('allow_test_clock', 'true') on conflict do nothing"
    )
    db.execute("set local ragdb.now = '2020-01-01 12:00+00'")
    db.execute("select ragdb.record_reads('chat', 'on')")
    db.execute("reset ragdb.now")
    db.execute("select ragdb.seal_ledger()")


def late(db: Connection) -> list[tuple[str, str]]:
    """What is found, where a row may be as old as this one is when it is sealed."""
    return db.execute(
        "select finding, kind from ragdb.verify_ledger(0, null, interval '100 years')"
    ).fetchall()


def test_events_of_access_that_retention_dropped_are_no_finding(evidence: Connection) -> None:
    before = kinds(evidence)["access"]
    dated_event(evidence)
    assert kinds(evidence)["access"] == before + 1
    assert late(evidence) == []
    dropped = evidence.execute("select ragdb.drop_access_events_before('2020-01-02')").fetchone()
    assert dropped == (1,)
    assert late(evidence) == []
    evidence.execute("select ragdb.seal_ledger()")
    assert late(evidence) == []
    # the event that says so is evidence too
    evidence.execute("alter table ragdb.access_events disable trigger user")
    evidence.execute("delete from ragdb.access_events where kind = 'drop_events'")
    assert late(evidence) == [("row_missing", "access")]


def test_events_of_access_removed_without_an_act_are_found(evidence: Connection) -> None:
    dated_event(evidence)
    evidence.execute("alter table ragdb.access_events disable trigger user")
    evidence.execute("delete from ragdb.access_events where created_at < '2021-01-01'")
    assert late(evidence) == [("row_missing", "access")]
    # an act of retention that ends before them does not cover them
    evidence.execute("select ragdb.drop_access_events_before('2020-01-01')")
    # nor does one that begins after them
    evidence.execute(
        "select ragdb_internal.record_act(row(null, null, 'retention', null, '{access}', null,"
        " '2020-01-02', '2020-02-01', null, '')::ragdb.ledger_acts)"
    )
    evidence.execute("select ragdb.seal_ledger()")
    assert late(evidence) == [("row_missing", "access")]


def test_a_contract_with_a_name_like_an_id_leaves_the_time_of_what_waits(db: Connection) -> None:
    name = "00000000-0000-7000-0000-000000000g"
    db.execute("select ragdb.apply_contract('corpus name=docs', %s)", (name,))
    ((waits, oldest),) = db.execute(
        "select pending > 0, oldest_pending from ragdb.ledger_status()"
    ).fetchall()
    assert waits
    assert oldest is None or oldest > datetime(2026, 1, 1, tzinfo=UTC)
