"""What one role asked and said is erased from corpora that go on, on record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.embedding import ENCODER, embed, make_corpus, one, put
from tests.refusal import refused
from tests.sql.ledger.conftest import findings
from tests.sql.ledger.test_ledger_attacks import DISARM
from tests.sql.signed_slices import promote, retrieve
from tests.sql.soundness import errors
from tests.sql.traces.test_traces_waits import calling, held
from tests.waiting import until

TABLES = (
    "retrieval_traces",
    "retrieval_hits",
    "retrieval_reranks",
    "evidence_gates",
    "evidence_answers",
    "answer_citations",
    "evidence_feedback",
)
CONTRACT = """corpus name=docs
retriever name=R corpus=docs topK=5 mode=lexical
rag name=A retriever=R
  ragEval name=V mode=contract metric=mrr threshold=0.1
"""
SECRET = "a very secret apple"
ERASE = "select * from ragdb.erase_caller(%s, reason => 'request 77')"


def as_role(db: Connection, role: str, statement: str, *values: Any) -> Any:
    """The one value that a statement returns to a role."""
    db.execute(f"set role {role}")
    try:
        return one(db, statement, *values)
    finally:
        db.execute("reset role")


def ask(db: Connection, role: str, question: str = SECRET, corpus: str = "docs") -> Any:
    return as_role(
        db, role, "select distinct trace_id from ragdb.retrieve(%s, %s)", corpus, question
    )


def converse(db: Connection, role: str, question: str = SECRET) -> Any:
    """A trace with all that can hang from one, by one role."""
    trace = ask(db, role, question)
    as_role(
        db,
        role,
        "select count(*) from (select array_agg(h.chunk_id) as ids, array_agg(0.5::float8) as s"
        " from ragdb.trace_hits(%(t)s) h) t,"
        " ragdb.record_rerank(%(t)s, 'tiny', t.ids, t.s) r".replace("%(t)s", f"'{trace}'"),
    )
    weigh(db, role, question, one(db, "select ragdb.build_evidence_pack(%s::uuid)", trace))
    as_role(db, role, "select ragdb.record_feedback('bad', %s, comment => %s)", trace, question)
    return trace


def weigh(db: Connection, role: str, question: str, pack: Any) -> Any:
    as_role(db, role, "select ragdb.record_gate(%s, %s)", question, Jsonb(pack))
    as_role(
        db,
        role,
        "select count(*) from ragdb.record_answer(ragdb.answer_from_evidence(%s, %s), %s)",
        question,
        Jsonb(pack),
        Jsonb(pack),
    )
    return one(db, "select id from ragdb.evidence_answers order by id desc limit 1")


def pack_of_chunks(db: Connection) -> Any:
    """Evidence that no retrieval found."""
    return one(
        db,
        "select ragdb.build_evidence_pack(chunk_ids => array[(select min(chunk_id)"
        " from ragdb.list_chunks('docs'))], corpus => 'docs')",
    )


def fill(db: Connection) -> None:
    db.execute("select ragdb.create_signing_key('k')")
    db.execute("select ragdb.bind_reranker('tiny', '/models/tiny', repeat('ab', 32))")
    make_corpus(db, {"a": "A very red apple.", "b": "A green pear."})
    embed(db)


@pytest.fixture
def docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    with any_version.rolled_back(any_filled) as db:
        db.execute("create role anna in role ragdb_reader")
        yield db


def count(db: Connection, table: str) -> int:
    return int(one(db, f"select count(*) from ragdb.{table}"))


def test_what_a_role_asked_and_said_is_erased_and_nothing_else(docs: Connection) -> None:
    others = converse(docs, "reader", "red")
    kept = {table: count(docs, table) for table in TABLES}
    assert all(kept.values()), kept
    converse(docs, "anna")
    as_role(docs, "anna", "select ragdb.record_failure('docs', %s, '57014', 3)", SECRET)
    # what she said of what others asked, and what others said of what she did
    docs.execute("grant ragdb_auditor to anna")
    as_role(docs, "anna", "select ragdb.record_feedback('bad', %s, comment => %s)", others, SECRET)
    pack = one(docs, "select ragdb.build_evidence_pack(%s::uuid)", others)
    answer = weigh(docs, "anna", SECRET, pack)
    docs.execute("select ragdb.record_feedback('good', answer_id => %s)", (answer,))
    # of chunks that no retrieval found
    weigh(docs, "anna", SECRET, pack_of_chunks(docs))
    docs.execute("select ragdb.seal_ledger()")
    as_role(docs, "admin", "select traces from ragdb.erase_caller('nobody')")

    gone = docs.execute(ERASE, ("anna",)).fetchall()

    assert gone == [(2, 3, 3, 3)]
    assert {table: count(docs, table) for table in TABLES} == kept
    assert SECRET not in str(
        [docs.execute(f"select t::text from ragdb.{t} t").fetchall() for t in TABLES]
    )
    assert one(docs, "select query_text from ragdb.get_trace(%s)", others) == "red"
    docs.execute("select ragdb.seal_ledger()")
    assert findings(docs) == []
    assert errors(docs) == []
    # she asks again
    assert ask(docs, "anna", "red")


def test_the_act_names_the_rows_and_the_reason_and_not_the_role(docs: Connection) -> None:
    trace = converse(docs, "anna")
    docs.execute(ERASE, ("anna",))
    ((act, caller, kinds, corpus, entries, reason),) = docs.execute(
        "select act, caller, kinds, corpus_id, entries, reason from ragdb.list_ledger_acts(1)"
    ).fetchall()
    assert (act, caller, corpus) == ("caller_erased", "postgres", None)
    assert kinds == ["answer", "feedback", "gate", "rerank", "trace"]
    assert len(entries) == 5
    number = one(docs, "select ragdb_internal.corpus_number('docs')")
    assert {f"trace:{number}/{trace}", f"rerank:{number}/{trace}"} < set(entries)
    assert reason == "what one role asked and said: request 77"
    # the rows were gone before they were sealed
    docs.execute("select ragdb.seal_ledger()")
    assert findings(docs) == []


def test_many_rows_are_named_by_several_acts(docs: Connection) -> None:
    docs.execute(
        "select ragdb_internal.record_caller_erased(array("
        "select 'trace:1/' || n from generate_series(1, 20001) n), null)"
    )
    assert docs.execute(
        "select entries[1], cardinality(entries), reason from ragdb.list_ledger_acts()"
        " where act = 'caller_erased' order by 1"
    ).fetchall() == [
        ("trace:1/1", 10000, "what one role asked and said"),
        ("trace:1/10001", 10000, "what one role asked and said"),
        ("trace:1/20001", 1, "what one role asked and said"),
    ]


def test_what_somebody_deletes_by_hand_is_still_missed(docs: Connection) -> None:
    converse(docs, "anna")
    other = converse(docs, "reader", "red")
    docs.execute("select ragdb.seal_ledger()")
    docs.execute(ERASE, ("anna",))
    docs.execute("select ragdb.seal_ledger()")
    assert findings(docs) == []
    docs.execute(DISARM)
    docs.execute("delete from ragdb.retrieval_hits where trace_id = %s", (other,))
    docs.execute("delete from ragdb.retrieval_reranks where trace_id = %s", (other,))
    docs.execute("delete from ragdb.retrieval_traces where id = %s", (other,))
    docs.execute("delete from ragdb.evidence_feedback where trace_id = %s", (other,))
    assert {(finding, kind) for finding, kind, _ in findings(docs)} == {
        ("row_missing", "trace"),
        ("row_missing", "rerank"),
        ("row_missing", "feedback"),
    }
    assert errors(docs) != []


FORGED = """
  insert into ragdb.ledger_acts
    select gen_random_uuid(), now(), 'caller_erased', 'admin', '{trace}', null, null, null,
      array(select 'trace:' || t.corpus_id || '/' || t.id from ragdb.retrieval_traces t),
      'what one role asked and said: request 78';
  delete from ragdb.retrieval_hits;
  delete from ragdb.retrieval_traces;
"""
WIDENED = """
  update ragdb.ledger_acts a set entries = a.entries || array(
    select 'trace:' || t.corpus_id || '/' || t.id from ragdb.retrieval_traces t)
    where a.act = 'caller_erased';
  delete from ragdb.retrieval_hits;
  delete from ragdb.retrieval_traces;
"""


@OLDER_BY_NIGHT
@pytest.mark.parametrize(
    ("attack", "found"),
    [
        (FORGED, ("unsealed", "act")),
        (WIDENED, ("row_changed", "act")),
        ("delete from ragdb.ledger_acts where act = 'caller_erased'", ("row_missing", "act")),
    ],
)
def test_an_act_that_a_superuser_forges_is_found(
    docs: Connection, attack: str, found: tuple[str, str]
) -> None:
    converse(docs, "anna")
    ask(docs, "reader", "red")
    docs.execute("select ragdb.seal_ledger()")
    docs.execute(ERASE, ("anna",))
    docs.execute("select ragdb.seal_ledger()")
    docs.execute(DISARM)
    docs.execute(attack)
    assert found in {(finding, kind) for finding, kind, _ in findings(docs)}


def test_another_row_in_the_place_of_an_erased_one_is_found(docs: Connection) -> None:
    converse(docs, "anna")
    docs.execute("create temp table kept as select * from ragdb.retrieval_traces")
    docs.execute("select ragdb.seal_ledger()")
    docs.execute(ERASE, ("anna",))
    docs.execute(DISARM)
    docs.execute("update kept set query_text = 'another', is_admissible = false")
    docs.execute("insert into ragdb.retrieval_traces select * from kept")
    assert ("row_changed", "trace") in {(f, k) for f, k, _ in findings(docs)}


def test_a_role_that_has_the_name_now_is_another_person(docs: Connection) -> None:
    converse(docs, "anna")
    weigh(docs, "anna", SECRET, pack_of_chunks(docs))
    earlier = one(docs, "select 'anna'::regrole::oid")
    docs.execute("drop role anna")
    docs.execute("create role anna in role ragdb_reader")
    second = ask(docs, "anna", "red")
    # by name: who has it now
    assert docs.execute(ERASE, ("anna",)).fetchall() == [(1, 0, 0, 0)]
    second = ask(docs, "anna", "red")
    # by oid: the earlier one
    assert docs.execute(
        "select * from ragdb.erase_caller('anna', caller_oid => %s)", (earlier,)
    ).fetchall() == [(1, 2, 2, 1)]
    assert docs.execute("select id from ragdb.retrieval_traces").fetchall() == [(second,)]
    # by the name of nobody: all who had it
    docs.execute("drop role anna")
    docs.execute("create role anna in role ragdb_reader")
    ask(docs, "anna", "pear")
    docs.execute("drop role anna")
    assert docs.execute(ERASE, ("anna",)).fetchall() == [(2, 0, 0, 0)]
    assert count(docs, "retrieval_hits") == 0


def test_what_an_answer_cites_is_not_shown_to_a_namesake(docs: Connection) -> None:
    """The answer has no trace, so only the role tells whose it is."""
    answer = weigh(docs, "anna", "red apple", pack_of_chunks(docs))
    cited = "select bool_and(text is not null) from ragdb.list_citations(%s)"
    assert as_role(docs, "anna", cited, answer)
    docs.execute("drop role anna")
    docs.execute("create role anna in role ragdb_reader")
    assert not as_role(docs, "anna", cited, answer)


def test_a_namesake_whose_evidence_stays_is_told(docs: Connection) -> None:
    told: list[Any] = []
    docs.add_notice_handler(
        lambda n: told.append((n.severity, n.message_primary, n.message_detail, n.message_hint))
    )
    ask(docs, "anna")
    earlier = one(docs, "select 'anna'::regrole::oid")
    docs.execute("drop role anna")
    docs.execute("create role anna in role ragdb_reader")
    assert docs.execute(ERASE, ("anna",)).fetchall() == [(0, 0, 0, 0)]
    ((severity, _, detail, hint),) = told[-1:]
    assert (severity, detail) == ("NOTICE", f"they were roles of oid {earlier}")
    assert "caller_oid" in hint
    docs.execute("select * from ragdb.erase_caller('anna', caller_oid => %s)", (earlier,))
    told.clear()
    assert docs.execute(ERASE, ("anna",)).fetchall() == [(0, 0, 0, 0)]
    assert told[0][:2] == ("NOTICE", 'nothing is left of role "anna"')
    docs.execute("select * from ragdb.erase_caller('anna', 'misspelt')")
    assert told[-1][:2] == ("NOTICE", 'nothing is left of role "anna" in corpus "misspelt"')
    acts = "select count(*) from ragdb.list_ledger_acts() where act = 'caller_erased'"
    assert one(docs, acts) == 1


def test_what_a_role_that_was_bound_to_another_asked_is_that_ones(docs: Connection) -> None:
    """After a restore on another server every role has another oid."""
    ask(docs, "anna")
    docs.execute("drop role anna")
    docs.execute("create role anna in role ragdb_reader")
    docs.execute("select ragdb.bind_role('anna')")
    assert docs.execute(ERASE, ("anna",)).fetchall() == [(1, 0, 0, 0)]


def test_one_corpus_may_be_named_and_dropped_ones_are_among_all(docs: Connection) -> None:
    for corpus in ("other", "gone", "whole"):
        docs.execute("select ragdb.create_corpus(%s)", (corpus,))
    docs.execute("select ragdb.create_corpus('part', part_of => 'whole')")
    for corpus in ("other", "gone", "part"):
        put(docs, {"a": "red apple"}, corpus)
    for corpus in ("docs", "other", "gone", "whole", "part"):
        ask(docs, "anna", "red", corpus)
    docs.execute("select ragdb.drop_corpus('gone')")
    erase = "select traces from ragdb.erase_caller('anna', %s)"
    for corpus, traces in (("other", 1), ("gone", 1), ("whole", 1), ("none", 0)):
        assert one(docs, erase, corpus) == traces, corpus
    assert one(docs, "select array_agg(corpus order by corpus) from ragdb.retrieval_traces") == [
        "docs",
        "part",
    ]
    assert one(docs, erase, None) == 2
    assert count(docs, "retrieval_hits") == 0


def test_the_hours_of_what_was_erased_are_counted_again(docs: Connection) -> None:
    """An hour in which nobody asked afterwards kept the counts of what was gone."""
    with docs.transaction():
        for days, roles in ((0, ("anna",)), (1, ("anna", "reader")), (2, ("reader",))):
            docs.execute(
                "select set_config('ragdb.now', (now() + make_interval(days => %s))::text, true)",
                (days,),
            )
            for role in roles:
                ask(docs, role)
        docs.execute("select set_config('ragdb.now', '', true)")
    docs.execute("select ragdb.refresh_rollups()")
    assert docs.execute(ERASE, ("anna",)).fetchall() == [(2, 0, 0, 0)]
    # and no others
    assert docs.execute("select ragdb.refresh_rollups()").fetchall() == [(2,)]
    for grain in ("hour", "day"):
        counts = f"select array_agg(retrievals::int) from bi.agg_retrieval_{grain}"
        assert one(docs, counts) == [1, 1]


def test_the_embedding_of_a_question_that_nobody_else_asked_goes(docs: Connection) -> None:
    def put_and_ask(role: str, question: str) -> None:
        numbers = Reals(ENCODER.encode([question])[0])
        docs.execute("select ragdb.put_query_embedding('docs', %s, %s)", (question, numbers))
        as_role(
            docs,
            role,
            "select distinct trace_id from ragdb.retrieve('docs', %s, query_embedding => %s)",
            question,
            numbers,
        )

    for role, question in (("anna", SECRET), ("anna", "red"), ("reader", "red")):
        put_and_ask(role, question)
    # it waits for a worker yet
    docs.execute("select ragdb.request_query_embedding('docs', 'my secret pear')")
    ask(docs, "anna", "my secret pear")
    docs.execute("select ragdb.request_query_embedding('docs', 'of another')")
    docs.execute(ERASE, ("anna",))
    assert count(docs, "query_embeddings") == 1
    assert docs.execute(
        "select query_text, query_hash = sha256('red') from ragdb.embedded_queries order by 1"
    ).fetchall() == [("of another", False), (None, True)]


def test_an_atom_that_rests_on_an_erased_trace_stays_and_is_sound(signed: Connection) -> None:
    signed.execute("set role writer")
    hits = retrieve(signed)
    atom = promote(signed, hits[0]["trace_id"], [h["chunk_id"] for h in hits])["atom_id"]
    signed.execute("reset role")
    signed.execute(ERASE, ("writer",))
    assert one(signed, "select count(*) from ragdb.semantic_atoms") == 1
    assert errors(signed) == []
    assert signed.execute(
        "select field from ragdb.verify_atom(%s) where is_intact is not true", (atom,)
    ).fetchall() == [("trace_id",)]
    signed.execute("alter table ragdb.ledger_acts disable trigger user")
    signed.execute("delete from ragdb.ledger_acts where act = 'caller_erased'")
    assert (f"atom {atom}", "the trace that it rests on is gone") in errors(signed)


def test_a_run_whose_traces_were_erased_stays_and_is_sound(docs: Connection) -> None:
    docs.execute("select ragdb.apply_contract(%s, 'c')", (CONTRACT,))
    case = {"name": "c", "query": "red", "labels": [{"source": "a"}]}
    docs.execute("select ragdb.import_eval('A', 'V', %s)", (Jsonb([case]),))
    run = as_role(docs, "anna", "select (ragdb.run_eval('A')).run_id")
    results = "select status, hits from ragdb.eval_case_results(%s)"
    before = docs.execute(results, (run,)).fetchall()
    assert count(docs, "retrieval_traces") == 1
    docs.execute(ERASE, ("anna",))
    assert count(docs, "retrieval_traces") == 0
    assert docs.execute(results, (run,)).fetchall() == before
    assert docs.execute("select from ragdb.eval_report(%s)", (run,)).rowcount > 0
    docs.execute("select ragdb.seal_ledger()")
    assert findings(docs) == []
    assert errors(docs) == []


def test_only_an_admin_erases_and_only_where_it_can_be_written_and_seen(
    docs: Connection,
) -> None:
    for role in ("reader", "writer", "auditor", "signer"):
        docs.execute(f"set role {role}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), docs.transaction():
            docs.execute("select ragdb.erase_caller('anna')")
        docs.execute("reset role")
    ask(docs, "anna")
    assert as_role(docs, "admin", "select traces from ragdb.erase_caller('anna')") == 1
    for call in ("erase_caller(null)", "erase_caller('anna', reason => repeat('x', 10001))"):
        assert refused(docs, f"select ragdb.{call}").sqlstate == "RG400"
    with docs.transaction():
        docs.execute("set local transaction_read_only = on")
        assert refused(docs, "select ragdb.erase_caller('anna')").sqlstate == "25006"


def test_who_sees_an_old_snapshot_is_refused(clone: str) -> None:
    with psycopg.connect(clone) as db:
        db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        assert refused(db, "select ragdb.erase_caller('anna')").sqlstate == "RG400"


@pytest.fixture
def kept(any_clone: str) -> Iterator[Connection]:
    with psycopg.connect(any_clone, autocommit=True) as db:
        fill(db)
        db.execute("set lock_timeout = '5s'")
        yield db


def test_a_search_under_way_is_waited_for_and_erased_too(any_clone: str, kept: Connection) -> None:
    ask(kept, "reader2", "red")
    with psycopg.connect(any_clone) as under_way:
        ask(under_way, "reader2")
        with calling(any_clone, "erase_caller('reader2')") as came:
            until(lambda: came or held(kept))
            assert ask(kept, "reader", "pear")  # nobody is held up
            assert came == []
            under_way.commit()
        assert came == ["done"]
    assert one(kept, "select array_agg(query_text) from ragdb.retrieval_traces") == ["pear"]


def test_what_was_erased_and_is_not_committed_holds_up_nobody(
    any_clone: str, kept: Connection
) -> None:
    ask(kept, "reader2")
    other = ask(kept, "reader", "red")
    with psycopg.connect(any_clone) as eraser:
        eraser.execute("select * from ragdb.erase_caller('reader2')")
        later = ask(kept, "reader2", "pear")
        kept.execute("select ragdb.record_feedback('good', %s)", (other,))
        eraser.commit()
    assert kept.execute("select id from ragdb.retrieval_traces order by id").fetchall() == [
        (other,),
        (later,),
    ]
    assert errors(kept) == []


@pytest.mark.parametrize(
    "record",
    [
        "record_feedback('bad', '{0}')",
        "record_gate('q', ragdb.build_evidence_pack('{0}'))",
        "record_answer(ragdb.answer_from_evidence('q', ragdb.build_evidence_pack('{0}')),"
        " ragdb.build_evidence_pack('{0}'))",
        "record_rerank('{0}', 'tiny', array(select chunk_id from ragdb.trace_hits('{0}')),"
        " array(select 0.5::float8 from ragdb.trace_hits('{0}')))",
    ],
)
def test_what_is_recorded_of_a_trace_that_is_being_erased_leaves_no_orphan(
    clone: str, record: str
) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        fill(db)
        trace = one(db, "select distinct trace_id from ragdb.retrieve('docs', %s)", SECRET)
        with psycopg.connect(clone) as eraser:
            eraser.execute("select * from ragdb.erase_caller('postgres')")
            # this waits for the eraser, and finds the trace gone
            with calling(clone, record.format(trace)) as came:
                until(lambda: came or held(db))
                assert came == []
                eraser.commit()
            assert came == ["RG407"]
        trace = one(db, "select distinct trace_id from ragdb.retrieve('docs', %s)", SECRET)
        with psycopg.connect(clone) as recorder:
            recorder.execute(f"select * from ragdb.{record.format(trace)}".encode())
            # and the eraser for this
            with calling(clone, "erase_caller('postgres')") as came:
                until(lambda: came or held(db))
                assert came == []
                recorder.commit()
            assert came == ["done"]
        assert {table: count(db, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
        assert errors(db) == []
