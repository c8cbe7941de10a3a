"""The attacks of an owner or superuser who has no key, and what notices each.

Numbers are those of the review's matrix. The control: where the ledger was never on, the same
attack is not noticed by the same function.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from ragdb.cli.main import app
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.sql.ledger.conftest import KINDS, fill, findings

# Every trigger of ragdb is switched off first: the attacker owns the tables.
DISARM = """
  do $$ declare t regclass; begin
    for t in select c.oid from pg_class c where c.relnamespace = 'ragdb'::regnamespace
      and c.relkind = 'r' loop
      execute format('alter table %s disable trigger user', t);
    end loop;
  end $$
"""
FORGE_ATOM = (
    "update ragdb.semantic_atoms set text = 'Refunds are not paid.',"
    " text_hash = sha256('Refunds are not paid.')"
)
NEWEST = "(select id from ragdb.retrieval_traces order by created_at desc, id desc limit 1)"

# number and name of the attack, what is done, what is found
ATTACKS: dict[str, tuple[str, set[tuple[str, str]]]] = {
    "1 a trace is edited": (
        f"update ragdb.retrieval_traces set query_text = 'other' where id = {NEWEST}",
        {("row_changed", "trace")},
    ),
    "1 a trace is edited with its hash": (
        f"update ragdb.retrieval_traces set caller = 'x' where id = {NEWEST};"
        " update ragdb.retrieval_traces t set trace_mac = null, trace_hash ="
        " ragdb_internal.trace_hash(t, array(select h from ragdb.retrieval_hits h"
        f" where h.trace_id = t.id order by h.rank)) where id = {NEWEST}",
        {("row_changed", "trace")},
    ),
    "2 a hit is edited": (
        f"update ragdb.retrieval_hits set score = 1 where rank = 1 and trace_id = {NEWEST}",
        {("row_changed", "trace")},
    ),
    "2 a hit is removed": (
        f"delete from ragdb.retrieval_hits where rank = 2 and trace_id = {NEWEST}",
        {("row_changed", "trace")},
    ),
    "2 a reranking is edited": (
        "update ragdb.retrieval_reranks set score = 9 where rank = 2",
        {("row_changed", "rerank")},
    ),
    "3 an answer is edited": (
        "update ragdb.evidence_answers set model = 'another'",
        {("row_changed", "answer")},
    ),
    "3 a citation is edited": (
        "update ragdb.answer_citations set chunk_id = 'another'",
        {("row_changed", "answer")},
    ),
    "3 a gate is edited": (
        "update ragdb.evidence_gates set is_enough = not is_enough, min_score = 0,"
        " min_chunks = case when is_enough then chunks + 1 else 0 end, min_coverage = 0",
        {("row_changed", "gate")},
    ),
    "4 an atom is edited": (
        FORGE_ATOM,
        {("row_changed", "atom")},
    ),
    "4 a proposal is edited": (
        "update ragdb.semantic_proposals set text = 'x', text_hash = sha256('x')",
        {("row_changed", "proposal")},
    ),
    "4 a decision is turned": (
        "update ragdb.proposal_decisions set decision = 'rejected'",
        {("row_changed", "decision")},
    ),
    "4 a proposal is opened again": (
        "delete from ragdb.proposal_decisions",
        {("row_missing", "decision")},
    ),
    "4 an incident is toned down": (
        "update ragdb.admissibility_incidents set severity = 'low'",
        {("row_changed", "incident")},
    ),
    "a verdict of a person is turned": (
        "update ragdb.evidence_feedback set verdict = 'good'",
        {("row_changed", "feedback")},
    ),
    "an answer is there twice, under another time": (
        "insert into ragdb.evidence_answers select (jsonb_populate_record(a, jsonb_build_object("
        "'created_at', a.created_at + interval '1 second'))).* from ragdb.evidence_answers a",
        {("unsealed", "answer")},
    ),
    "a run of an eval is made to pass": (
        "update ragdb.eval_runs set status = 'passed', reasons = '{}'",
        {("row_changed", "run")},
    ),
    "a case of a run is made to pass": (
        "update ragdb.eval_case_results set status = 'passed'",
        {("row_changed", "run")},
    ),
    "a metric of a run is raised": (
        "update ragdb.eval_metrics set value = 1",
        {("row_changed", "run")},
    ),
    "what a run found is edited": (
        "delete from ragdb.eval_items where rank = 1",
        {("row_changed", "run")},
    ),
    "a run is deleted": (
        "delete from ragdb.eval_runs",
        {("row_missing", "run")},
    ),
    "a contract is edited with its hash": (
        'update ragdb.contract_nodes set keys = keys || \'{"threshold": "0"}\''
        " where node = 'ragEval'; update ragdb.contracts set nodes_hash ="
        " ragdb_internal.stored_items_hash(contract, version)",
        {("row_changed", "contract")},
    ),
    "6 a slice is edited": (
        "update ragdb.slices set edge_count = edge_count + 1",
        {("row_changed", "slice")},
    ),
    "7 the members of a slice are edited": (
        "update ragdb.slices set chunk_ids = chunk_ids[2:], content_hashes = content_hashes[2:]",
        {("row_changed", "slice")},
    ),
    "8 a policy is edited": (
        "update ragdb.slice_policies set policy = policy || '{\"max_nodes\": 1}'",
        {("row_changed", "policy")},
    ),
    "what was recorded of settings is edited": (
        "update ragdb.recorded_states set hash = sha256('') where kind = 'settings'",
        {("row_changed", "state")},
    ),
    "what a corpus was before is edited": (
        "update ragdb.corpus_versions set before = before || '{\"k1\": 9}'",
        {("row_changed", "version")},
    ),
    "an event is edited with its hashes": (
        "update ragdb.events set chunks_hash = sha256(''), document_hash = sha256('')"
        " where corpus = 'chat'",
        {("row_changed", "event")},
    ),
    "an erasure is edited": (
        "update ragdb.erasures set reason = 'another' where kind = 'atom'",
        {("row_changed", "erasure")},
    ),
    "an act is edited": (
        "update ragdb.ledger_acts set reason = 'another' where entries = '{trace:1/none}'",
        {("row_changed", "act")},
    ),
    "who was granted what is edited": (
        "update ragdb.access_events set what = 'admin to \"reader\"' where kind = 'grant'",
        {("row_changed", "access")},
    ),
    "an event of a key is edited": (
        "update ragdb.key_events set role = 'somebody'",
        {("row_changed", "key")},
    ),
    "an event is edited": (
        "update ragdb.events set author = 'somebody'",
        {("row_changed", "event")},
    ),
    "an act is made up": (
        "insert into ragdb.ledger_acts values (gen_random_uuid(), now(), 'retention', 'x',"
        " '{trace}', null, null, null, '{}', 'x'); delete from ragdb.retrieval_hits;"
        " delete from ragdb.retrieval_traces",
        {("unsealed", "act"), ("orphan", "rerank"), ("row_changed", "rerank")},
    ),
    "9 one trace is deleted": (
        f"create temp table n as select {NEWEST} as id;"
        " delete from ragdb.retrieval_hits where trace_id in (select id from n);"
        " delete from ragdb.retrieval_traces where id in (select id from n)",
        {("row_missing", "trace")},
    ),
    "10 the tail is deleted, with its entries": (
        "delete from ragdb.ledger_leaves where number >= 3",
        {("size_differs", ""), ("unsealed", "*")},
    ),
    "11 all traces are deleted": (
        "delete from ragdb.retrieval_hits; delete from ragdb.retrieval_reranks;"
        " delete from ragdb.retrieval_traces",
        {("row_missing", "trace"), ("row_missing", "rerank")},
    ),
    "12 hits without a trace": (
        "insert into ragdb.retrieval_hits select corpus_id, gen_random_uuid(), created_at, rank,"
        " chunk_id, content_hash, score from ragdb.retrieval_hits limit 1",
        {("orphan", "hit")},
    ),
    "13 a trace is back-dated": (
        "with old as (select t, ragdb_internal.uuid7(now() - interval '40 days') as id from"
        f" ragdb.retrieval_traces t where id = {NEWEST}), made as (insert into"
        " ragdb.retrieval_traces select (jsonb_populate_record(t, jsonb_build_object('id', id,"
        " 'created_at', ragdb_internal.uuid_time(id), 'is_admissible', false))).* from old"
        " returning corpus_id, id) insert into ragdb.ledger_pending"
        " select 'trace', corpus_id || '/' || id, null from made; select ragdb.seal_ledger()",
        {("late", "trace")},
    ),
    "13 a trace is slipped in and nobody notes it": (
        "insert into ragdb.retrieval_traces select (jsonb_populate_record(t,"
        " jsonb_build_object('id', gen_random_uuid(), 'is_admissible', false))).*"
        f" from ragdb.retrieval_traces t where id = {NEWEST}",
        {("unsealed", "trace")},
    ),
    "14 two entries change places": (
        "update ragdb.ledger_leaves set number = number + 1000 where number in (3, 4);"
        " update ragdb.ledger_leaves set number = 1007 - number where number > 1000",
        {("entry_changed", "*")},
    ),
    "14 an entry is edited": (
        "update ragdb.ledger_leaves set hash = sha256('') where kind = 'atom'",
        {("entry_changed", "atom"), ("row_changed", "atom")},
    ),
    "14 an entry is removed": (
        "delete from ragdb.ledger_leaves where kind = 'atom'",
        {("number_missing", "*"), ("unsealed", "atom")},
    ),
    "15 a row is entered again": (
        f"{FORGE_ATOM};"
        " alter table ragdb.ledger_leaves drop constraint ledger_leaves_row_is_sealed_once;"
        " insert into ragdb.ledger_leaves select h.size, 'atom', l.id,"
        " ragdb_internal.atom_hash(a), h.sealed_at from ragdb.ledger_head h, ragdb.semantic_atoms"
        " a, ragdb.ledger_leaves l where l.kind = 'atom'"
        " and l.id = a.corpus_id || '/' || a.atom_id;"
        " select ragdb_internal.append_hashes(h.size, ragdb_internal.leaf_hash(l)) from"
        " ragdb.ledger_head h join ragdb.ledger_leaves l on l.number = h.size;"
        " update ragdb.ledger_head set size = size + 1",
        {("row_changed", "atom")},
    ),
    "a tile is edited": (
        "update ragdb.ledger_tiles set hashes = overlay(hashes placing sha256('') from 33)",
        {("entry_changed", "*"), ("checkpoint_differs", "")},
    ),
    "a tile is added": (
        "insert into ragdb.ledger_tiles select level, index + 1, hashes from ragdb.ledger_tiles",
        {("tree_changed", "")},
    ),
    "a tile is made longer": (
        "update ragdb.ledger_tiles set hashes = hashes || sha256('')",
        {("tree_changed", "")},
    ),
    "24 the time of the last sealing is set back": (
        "update ragdb.ledger_head set sealed_at = sealed_at - interval '1 hour'",
        {("head_changed", "")},
    ),
    "24 sealing times are set back": (
        "update ragdb.ledger_leaves set sealed_at = sealed_at - interval '1 hour' where number > 3",
        {("entry_changed", "*"), ("time_falls", "*"), ("ahead", "*"), ("head_changed", "")},
    ),
}


def run(db: Connection, attack: str) -> None:
    db.execute(DISARM)
    db.execute(attack)


@OLDER_BY_NIGHT
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_on_rows_or_entries_is_found(evidence: Connection, name: str) -> None:
    attack, expected = ATTACKS[name]
    checkpoint(evidence)
    assert findings(evidence) == []
    run(evidence, attack)
    found = {(finding, kind or "") for finding, kind, _ in findings(evidence)}
    any_kind = {finding for finding, kind in expected if kind == "*"}
    assert {(f, "*" if f in any_kind else k) for f, k in found} == expected


def test_an_edit_of_a_row_of_every_kind_is_among_the_attacks() -> None:
    changed = {kind for _, found in ATTACKS.values() for what, kind in found if "changed" in what}
    assert changed >= KINDS


OTHER = {
    "integer": 77777,
    "bigint": 77777,
    "oid": 77777,
    "double precision": 0.125,
    "boolean": None,
    "uuid": "00000000-0000-4000-8000-000000000000",
    "timestamp with time zone": "2001-01-01T00:00:00Z",
    "text": "another",
    "bytea": "\\x00",
    "jsonb": {"another": 1},
    "text[]": ["another"],
    "uuid[]": ["00000000-0000-4000-8000-000000000000"],
    "bytea[]": ["\\x00"],
}
# texts go in by their hashes, and no hash is of itself or its signature
LEFT_OUT = {
    "access": {"event_hash"},
    "atom": {"text", "lexemes", "atom_hash", "atom_mac"},
    "contract": {"is_current", "applied_by", "applied_by_oid"},
    "decision": {"reason", "decision_hash", "decision_mac"},
    "erasure": {"erasure_hash", "erasure_mac"},
    "incident": {"incident_hash", "incident_mac"},
    "key": {"hash", "mac"},
    "proposal": {"text", "lexemes", "proposal_hash", "proposal_mac"},
    "rerank": {"rerank_hash", "rerank_mac", "corpus_id", "created_at", "trace_id"},
    "trace": {"trace_hash", "trace_mac"},
}


def test_every_column_of_what_is_sealed_is_hashed(evidence: Connection) -> None:
    """Another value anywhere in a row is another hash; a rerank is read anew from its table."""
    kinds = evidence.execute(
        "select kind, relation, hash, counts from ragdb_internal.ledger_kinds()"
    )
    for kind, relation, hashed, counts in kinds.fetchall():
        if kind == "rerank":
            continue
        columns: dict[str, str] = dict(
            evidence.execute(
                "select attname, format_type(atttypid, atttypmod) from pg_attribute"
                " where attrelid = %s::regclass and attnum > 0 and not attisdropped",
                (relation,),
            ).fetchall()
        )
        assert LEFT_OUT.get(kind, set()) <= set(columns)
        unhashed = set()
        for column, kind_of in columns.items():
            if kind_of == "tsvector":
                unhashed.add(column)
                continue
            value = json.dumps({column: OTHER[kind_of]})
            ((same,),) = evidence.execute(
                f"select before.h = {hashed} from {relation} o"
                f" cross join lateral (select {hashed.replace('(r)', '(o)')} as h) before"
                f" cross join lateral jsonb_populate_record(o, %s) r"
                f" where {counts.replace('r.', 'o.')} limit 1",
                (value,),
            ).fetchall()
            if same:
                unhashed.add(column)
        assert unhashed == LEFT_OUT.get(kind, set()), kind


def test_a_corpus_that_is_there_is_not_excused_by_the_act_of_a_dropped_one(
    evidence: Connection,
) -> None:
    """Whoever has numbers given again would have the act of one corpus excuse another."""
    evidence.execute("select ragdb.create_corpus('brief')")
    evidence.execute("select ragdb.drop_corpus('brief')")
    evidence.execute(
        "update ragdb.settings set value = to_jsonb(value::integer - 1)"
        " where key = 'corpora_created'"
    )
    evidence.execute("select ragdb.create_corpus('again')")
    evidence.execute("select ragdb.put_text('again', 'a.md', 'A text.')")
    evidence.execute("select ragdb.seal_ledger()")
    assert findings(evidence) == []
    evidence.execute("alter table ragdb.events disable trigger user")
    evidence.execute("delete from ragdb.events where corpus = 'again'")
    assert [found[:2] for found in findings(evidence)] == [("row_missing", "event")]


def test_how_late_a_row_may_be_is_given(evidence: Connection) -> None:
    """The control of attack 13: whoever allows a hundred days does not see it."""
    run(evidence, ATTACKS["13 a trace is back-dated"][0])
    found = "select finding from ragdb.verify_ledger(0, null, %s)"
    assert evidence.execute(found, ("1 day",)).fetchall() == [("late",)]
    assert evidence.execute(found, ("100 days",)).fetchall() == []


# on entries, or found by what is not the ledger's
OTHERS = ("10", "12", "13 a trace is back", "14", "15", "24", "a tile", "an act is made")


def test_without_the_ledger_the_same_attacks_are_not_found(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.set_ledger(false)")
        fill(db)
        for name, (attack, _) in ATTACKS.items():
            if not name.startswith(OTHERS):
                with db.transaction(force_rollback=True):
                    run(db, attack)
                    assert findings(db) == [], name


def checkpoint(db: Connection) -> None:
    """Store a checkpoint of the ledger as it is, with a signature that nobody can verify."""
    ((text,),) = db.execute("select ragdb.ledger_checkpoint()").fetchall()
    line = "— " + text.splitlines()[0] + " " + "A" * 92 + "\n"
    db.execute("select ragdb.store_checkpoint(%s)", (f"{text}\n{line}",))


# What no database can show by itself: its whole history is another.

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def ragdb(any_copied: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """ragdb(*arguments) runs the command line on a clone with sealed evidence, keys beside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGDB_DATABASE_URL", any_copied)

    def call(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        return done.exit_code, done.output

    assert call("ledger", "seal")[0] == 0
    code, key = call("ledger", "key", "--new", "log.pem")
    assert code == 0
    Path("log.key").write_text(key)
    _, key = call("ledger", "key", "--new", "w.pem", "--witness", "--name", "w.example/1")
    Path("w.key").write_text(key)
    assert call("ledger", "checkpoint", "--key", "log.pem", "--out", "kept")[0] == 0
    return call


_ASKED = ("ledger", "witness", "--state", "state", "--log-key", "log.key")
WITNESS = (*_ASKED, "--name", "w.example/1", "--key", "w.pem")
VERIFY = ("--log-key", "log.key", "--json")

REBUILD = f"""
  truncate ragdb.ledger_leaves, ragdb.ledger_tiles, ragdb.ledger_head, ragdb.ledger_pending,
    ragdb.ledger_checkpoints;
  {FORGE_ATOM};
  select ragdb.retrieve('chat', 'refunds'); -- as many entries as there were
  select ragdb.set_ledger(true);
  select ragdb.seal_ledger()
"""


def finding(output: str) -> set[str]:
    return {row["finding"] for row in json.loads(output) if not row.get("ok")}


@OLDER_BY_NIGHT
def test_16_a_tree_that_was_rebuilt_is_found_by_the_checkpoint_outside(
    ragdb: Run, any_copied: str
) -> None:
    assert ragdb(*WITNESS)[0] == 0
    assert ragdb("ledger", "verify", "kept", "--database", *VERIFY)[0] == 0
    with psycopg.connect(any_copied, autocommit=True) as db:
        run(db, REBUILD)
        # from the inside all is right: the control of why one is kept outside
        assert findings(db) == []
    code, output = ragdb("ledger", "verify", "kept", "--database", *VERIFY)
    assert (code, finding(output)) == (1, {"database_differs"})
    assert "does not begin with" in output
    code, output = ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "kept")
    assert code == 1
    assert "does not begin with" in output
    # who has the key signs it all the same, and the witness does not
    assert ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "fresh")[0] == 0
    code, output = ragdb(*WITNESS)
    assert code == 1
    assert "does not begin with" in output


@OLDER_BY_NIGHT
def test_17_an_old_backup_is_found_by_the_size_of_the_checkpoint(
    ragdb: Run, any_copied: str, any_version: Server
) -> None:
    with psycopg.connect(any_copied, autocommit=True) as db:
        name = db.info.dbname
        db.execute("select * from ragdb.retrieve('chat', 'refunds')")
    with psycopg.connect(any_version.uri, autocommit=True) as admin:
        admin.execute(f"create database {name}_old template {name}")
    try:
        assert ragdb("ledger", "seal")[0] == 0
        assert ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "kept")[0] == 0
        assert ragdb(*WITNESS)[0] == 0
        old = ("--dsn", any_version.dsn(f"{name}_old"))
        assert ragdb("verify", *old)[0] == 0  # from the inside all is right
        code, output = ragdb("ledger", "verify", "kept", "--database", *VERIFY, *old)
        assert (code, finding(output)) == (1, {"database_differs"})
        assert "an old backup was restored" in output
        code, output = ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "kept", *old)
        assert code == 1
        assert "an old backup was restored" in output
        code, output = ragdb(*WITNESS, *old)
        assert code == 1
        assert "an old backup was restored" in output
    finally:
        with psycopg.connect(any_version.uri, autocommit=True) as admin:
            admin.execute(f"drop database {name}_old with (force)")


@OLDER_BY_NIGHT
def test_18_two_histories_are_found_by_anyone_who_has_both_checkpoints(
    ragdb: Run, any_copied: str
) -> None:
    """The owner of the key shows one history to one reader and another to the other."""
    assert ragdb("ledger", "prove", one_trace(any_copied), "--out", "proof")[0] == 0
    with psycopg.connect(any_copied, autocommit=True) as db:
        run(db, REBUILD)
    assert ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "other")[0] == 0
    for file in ("kept", "other"):
        assert ragdb("ledger", "verify", file, *VERIFY)[0] == 0
    assert ragdb("ledger", "verify", "other", "--database", *VERIFY)[0] == 0
    code, output = ragdb("ledger", "verify", "proof", "other", *VERIFY)
    assert (code, finding(output)) == (1, {"two_histories"})
    # and a witness that has seen one does not cosign the other
    assert ragdb(*WITNESS)[0] == 0
    assert ragdb("ledger", "verify", "kept", "other", *VERIFY)[0] == 1


@OLDER_BY_NIGHT
def test_21_what_another_database_signed_is_of_another_origin(
    ragdb: Run, any_copied: str, any_version: Server
) -> None:
    with any_version.database() as other:
        dsn = any_version.dsn(other.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            fill(db)
            db.execute("select ragdb.seal_ledger()")
        code, output = ragdb("ledger", "verify", "kept", "--database", *VERIFY, "--dsn", dsn)
        assert (code, finding(output)) == (1, {"database_differs"})
        assert "the checkpoint is of ragdb.invalid/" in output
        with psycopg.connect(dsn, autocommit=True) as db, pytest.raises(psycopg.Error) as caught:
            db.execute("select ragdb.store_checkpoint(%s)", (Path("kept").read_text(),))
        assert caught.value.sqlstate == "RG481"


def one_trace(dsn: str) -> str:
    with psycopg.connect(dsn) as db:
        rows: list[Any] = db.execute("select id from ragdb.retrieval_traces limit 1").fetchall()
        return str(rows[0][0])


def test_rows_are_verified_in_pages_that_go_on_where_one_ended(evidence: Connection) -> None:
    run(
        evidence,
        f"{FORGE_ATOM}; update ragdb.events set author = 'x' where corpus = 'chat'",
    )
    whole = evidence.execute("select * from ragdb.verify_ledger()").fetchall()
    ((size,),) = evidence.execute("select size from ragdb.ledger_status()").fetchall()
    paged = []
    for first in range(0, size, 4):
        paged += evidence.execute("select * from ragdb.verify_ledger(%s, 4)", (first,)).fetchall()
    assert sorted(paged, key=str) == sorted(whole, key=str)
    assert {row[3] for row in whole} == {"row_changed"}
    assert len(whole) == 2
