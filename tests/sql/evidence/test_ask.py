"""ragdb.ask answers in SQL as the engine does in Python: the same words, the same records."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from ragdb.database import Database
from ragdb.errors import InvalidArgument
from ragdb.evidence.answers import RagError
from ragdb.evidence.database import CorpusRetriever
from ragdb.evidence.engine import Engine
from ragdb.evidence.retrieval import RetrievedChunk
from tests.conftest import Connection, Server
from tests.evidence.test_retrieval_engine import GOOD, QUESTION, expected
from tests.sql.evidence.test_evidence_packs import scalar

CORPORA = {"none": None, "empty": "void", "good": "docs", "poor": "sky", "contract": None}
MODES = ["off", "auto", "on", "required"]
TABLES = {
    "retrieval_traces": "query_hash, query_text, rank_mode, limit_requested, limit_returned, client"
    ", retriever, rag",
    "evidence_gates": "pack_hash, query_hash, is_enough, coverage, best_score, missing_terms"
    ", min_score_by, client, caller",
    "evidence_answers": "pack_hash, answer_hash, is_insufficient, is_verified, citations, problems"
    ", task, model, attempt, elapsed_ms is null as took_nothing, client, caller",
    "answer_citations": "row_no, citation, code, source_id, chunk_id, method, start_offset"
    ", similarity",
}


def contract(base: Database) -> None:
    """A retriever and a rag over the corpus docs."""
    base.apply_contract({
        "nodes": [
            {"node": "corpus", "keys": {"name": "Docs"}},
            {"node": "retriever", "keys": {
                "name": "Shelf", "corpus": "Docs", "mode": "lexical", "topK": 3}},
            {"node": "rag", "keys": {"name": "Desk", "retriever": "Shelf"}},
            {"node": "grounding", "keys": {
                "rag": "Desk", "requireCitations": True, "maxContext": 400}},
        ]
    })  # fmt: skip


def fill(db: Connection) -> None:
    made = Database(db)
    for corpus in ("docs", "sky", "void"):
        made.create_corpus(corpus)
    made.put_text("docs", "refunds.md", "Refunds take 14 days. Gifts are refunded as vouchers.")
    made.put_text("docs", "shipping.md", "Shipping takes five days. Vouchers never expire.")
    made.put_text("sky", "moon.md", "The moon is far away; gifts do not reach it, nor do trains.")
    contract(made)


@pytest.fixture
def db(server18: Server, filled: str) -> Iterator[Connection]:
    """The superuser where three corpora are, rolled back after."""
    with server18.rolled_back(filled) as connection:
        yield connection


@pytest.fixture
def base(db: Connection) -> Database:
    return Database(db)


def records(base: Database) -> dict[str, list[Any]]:
    """What is on record, in its order, without what no two runs share."""
    return {
        table: base.connection.execute(
            f"select {columns} from ragdb.{table} order by created_at, {key}".encode()
        ).fetchall()
        for table, columns in TABLES.items()
        for key in ["answer_id, row_no" if table == "answer_citations" else "id"]
    }


def new(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {table: rows[len(before[table]) :] for table, rows in after.items()}


def shape(found: Any) -> Any:
    """A summary without the ids of its records."""
    made = json.loads(json.dumps(found, default=str))
    for of in (made, made.get("gate") or {}):
        of.pop("gate_id", None)
        of.pop("answer_id", None)
    made["trace_ids"] = len(made.get("trace_ids", ()))
    return made


def in_sql(base: Database, corpus: str | None, question: str, **how: Any) -> Any:
    """The row of ragdb.ask. Python has its answer of the same function, as `alike` asserts."""
    return super(Database, base).ask(corpus, question, client="test", **how)  # type: ignore[arg-type]


def alike(base: Database, corpus: str | None, question: str, **how: Any) -> Any:
    """The row of ragdb.ask, after the same question in Python: the same but for ids."""
    evidence = how.pop("evidence", ())
    start = records(base)
    answer = base.ask(corpus, question, client="test", evidence=evidence, **how)
    between = records(base)
    row = in_sql(base, corpus, question, evidence=[c.as_json() for c in evidence], **how)
    assert new(between, records(base)) == new(start, between)
    assert (row.status, row.reason) == (answer.status, answer.reason)
    assert (row.answer or "", row.citations) == (answer.text, answer.citations)
    assert (row.problems, row.evidence_hash) == (
        list(answer.problems), answer.pack.hash if answer.pack else None,
    )  # fmt: skip
    assert shape(row.trace_summary) == shape(answer.trace_summary)
    assert shape(row.gate or {}) == shape(answer.gate or {})
    return row


@pytest.mark.by_day(1)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_retriever_and_gate_says_the_same_in_sql_and_in_python(
    base: Database, mode: Any
) -> None:
    for name, gate, evidence in itertools.product(CORPORA, [False, True], [(), (GOOD,)]):
        how = {"retriever": "Shelf"} if name == "contract" else {}
        if name == "none" and mode != "off" and not evidence:
            continue  # there are three corpora, one of which has to be named
        row = alike(base, CORPORA[name], QUESTION, mode=mode, gate=gate, evidence=evidence, **how)
        as_table = "good" if name == "contract" else name
        failure = expected(mode, as_table, gate, "supports", bool(evidence))
        assert (row.status == "failed") is (failure is not None), (name, gate, evidence)
        if failure is not None:
            assert row.reason == failure
            continue
        retrieves = mode == "on" or mode == "required" or (mode == "auto" and not evidence)
        knows = bool(evidence) or (retrieves and as_table == "good")
        assert row.status == ("answered" if knows else "insufficient")
        # the caller's evidence alone is of no retrieval
        found = retrieves and (as_table in ("good", "poor") or not evidence)
        assert (row.answer_id is not None) is (found and name != "none"), (name, gate, evidence)


@pytest.mark.parametrize("mode", MODES[1:])
def test_the_only_corpus_need_not_be_named_and_of_several_the_choices_are(
    base: Database, mode: Any
) -> None:
    for ask in (base.ask, lambda *args, **how: in_sql(base, *args, **how)):
        with pytest.raises(InvalidArgument) as caught, base.connection.transaction():
            ask(None, QUESTION, mode=mode)
        assert caught.value.diag.message_primary == "there are 3 corpora, and this takes one"
        assert caught.value.diag.message_hint == "name one of docs, sky, void"
        with pytest.raises(InvalidArgument), base.connection.transaction():
            base.ask(None, QUESTION, mode=mode, model=lambda given: {"answer": "Yes."})
    for corpus in ("sky", "void"):
        base.drop_corpus(corpus)
    assert alike(base, None, QUESTION, mode=mode).status == "answered"
    base.drop_corpus("docs")
    base.create_corpus("whole")
    for part in ("part-1", "part-2"):
        base.create_corpus(part, part_of="whole")
        base.put_text(part, f"{part}.md", "Gifts are refunded as vouchers.")
    assert alike(base, None, QUESTION, mode=mode).status == "answered"


def test_where_there_is_no_corpus_that_is_said(base: Database) -> None:
    for corpus in ("docs", "sky", "void"):
        base.restrict_corpus(corpus)
    base.connection.execute("set role reader")
    for ask in (base.ask, lambda *args, **how: in_sql(base, *args, **how)):
        with pytest.raises(InvalidArgument) as caught, base.connection.transaction():
            ask(None, QUESTION)
        assert caught.value.diag.message_primary == "there is no corpus to search"
        assert ask(None, QUESTION, mode="off").reason == "the mode is off"


@pytest.mark.parametrize(
    "question",
    [
        "Hello!",
        "Who governs the planet Mars?",
        "How are gifts refunded and when do vouchers expire?",
        'What of "five days"?',
        "2 + 2",
    ],
)
def test_questions_with_parts_and_without_are_answered_alike(base: Database, question: str) -> None:
    for mode, record in itertools.product(["auto", "on"], [True, False]):
        row = alike(base, "docs", question, mode=mode, record=record, k=1, max_context=60)
        assert (row.trace_id is None) is (not record or "retrieval_skipped" in row.trace_summary)


def test_a_rag_of_a_contract_answers_by_its_retriever_and_grounding(base: Database) -> None:
    row = alike(base, None, QUESTION, rag="Desk")
    assert (row.answer, row.sources) == ("Gifts are refunded as vouchers.", ["[1] refunds.md"])
    trace = base.get_trace(row.trace_id)
    assert (trace.retriever, trace.rag, trace.limit_requested) == ("Shelf", "Desk", 3)
    assert records(base)["evidence_answers"][-1][6] == "Desk"
    assert base.ask_retriever(rag="Desk").max_context == 400


@pytest.mark.parametrize(
    ("asked", "state", "said"),
    [
        ({"mode": "maybe"}, "RG400", 'mode is "maybe", not one of off, auto, on, required'),
        ({"question": " \n"}, "RG400", "question is empty"),
        ({"question": "refunds " * 2000}, "RG413", "question has 16000 characters"),
        ({"k": 0}, "RG400", "k is 0, not 1 to 1000"),
        ({"max_context": 1}, "RG400", "max_context is 1"),
        ({"sentences": 0}, "RG400", "max_sentences or min_support is null or out of range"),
        ({"corpus": "nosuch"}, "RG404", 'corpus "nosuch" does not exist'),
        ({"corpus": "nosuch", "mode": "off"}, "RG404", 'corpus "nosuch" does not exist'),
        ({"rank_mode": "best"}, "RG400", 'mode "best" is unknown'),
        ({"rag": "Dask"}, "RG441", 'rag "Dask" does not exist'),
        ({"corpus": "sky", "rag": "Desk"}, "RG400",
         'the retriever searches corpus "docs" and not "sky"'),
        ({"rag": "Desk", "retriever": "Shelf"}, "RG400", "both retriever and rag are given"),
        ({"rag": "Desk", "rank_mode": "lexical"}, "RG400",
         "both a retriever and rank_mode are given"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused_alike(
    base: Database, asked: dict[str, Any], state: str, said: str
) -> None:
    given = {"corpus": "docs", "question": QUESTION, **asked}
    for ask in (base.ask, lambda **how: in_sql(base, **how)):
        with pytest.raises(psycopg.DatabaseError) as caught, base.connection.transaction():
            ask(**given)
        assert (caught.value.sqlstate, caught.value.diag.message_primary) == (state, said)


def test_a_policy_asks_for_whole_chunks(base: Database) -> None:
    assert base.ask_plan(QUESTION, {"corpus": "docs", "gate": {"min_chunks": 2}})
    with pytest.raises(psycopg.DatabaseError, match="gate is not"), base.connection.transaction():
        base.ask_plan(QUESTION, {"corpus": "docs", "gate": {"min_chunks": 1.5}})


def test_a_plan_is_taken_if_it_is_sound(base: Database) -> None:
    sound = {"needs_retrieval": True, "queries": ["vouchers expire"]}
    row = in_sql(base, "docs", QUESTION, plan=sound, gate=False)
    assert row.trace_summary["plan"]["by"] == "model"
    assert base.get_trace(row.trace_id).query_text == "vouchers expire"
    row = in_sql(base, "docs", QUESTION, plan={"queries": [1]})
    assert row.trace_summary["plan"]["by"] == "rules"
    assert row.trace_summary["plan"]["problem"].startswith("needs_retrieval: no boolean; queries")
    assert row.status == "answered"


def test_an_answer_whose_citations_fail_is_not_shown_as_one(base: Database) -> None:
    run = base.ask_plan(QUESTION, {"mode": "on", "corpus": "docs", "require_citations": True})
    hits = base.retrieve("docs", run["queries"][0])
    chunks = [
        {"source_id": h.source, "chunk_id": h.chunk_id, "text": h.text, "trace_id": str(h.trace_id)}
        for h in hits
    ]
    run = base.ask_weigh(run, [{"trace_id": str(hits.trace_id), "chunks": chunks}])
    lie = {"answer": "In gold.", "citations": [{"chunk_id": "zz"}]}
    ended = base.ask_verify(run, lie)
    assert (ended["status"], ended["reason"]) == (
        "unverified", "citation[0]: unknown chunk_id 'zz'",
    )  # fmt: skip
    verified = "select is_verified from ragdb.evidence_answers where id = %s"
    assert scalar(base.connection, verified, ended["summary"]["answer_id"]) is False
    # nor is what was never asked for, or has failed, gone on with
    failed = base.ask_plan(QUESTION, {"mode": "required", "has_retriever": False})
    for wrong in ({}, {**run, "policy": {"modes": 1}}, failed, None, [1]):
        with pytest.raises(psycopg.DatabaseError) as caught, base.connection.transaction():
            base.ask_verify(wrong, lie)
        assert caught.value.sqlstate == "RG400"


def test_whole_numbers_of_a_policy_may_be_written_with_a_point(base: Database) -> None:
    chunk = {"source_id": "s", "chunk_id": "c", "text": "Gifts are refunded as vouchers."}
    weighed = []
    for k, most, least in ((8, 400, 1), (8.0, 400.0, 1.0)):
        policy = {"mode": "on", "k": k, "max_context": most, "gate": {"min_chunks": least}}
        run = base.ask_weigh(base.ask_plan(QUESTION, policy), [{"chunks": [chunk]}])
        weighed.append((run["pack"], run["gate"]))
    assert weighed[0] == weighed[1]
    assert weighed[0][1]["chunks"] == 1


def test_a_number_smaller_than_a_double_can_be_counts_as_nothing(base: Database) -> None:
    chunk = '{"source_id": "s", "chunk_id": "c", "text": "Gifts are refunded.", "score": 1e-400}'
    db = base.connection
    for gate in ("min_score", "min_coverage"):
        run = scalar(
            db,
            "select ragdb.ask_weigh(ragdb.ask_plan('Are gifts refunded?', %s::jsonb), %s::jsonb)",
            f'{{"mode": "on", "gate": {{"{gate}": 1e-400}}}}',
            f'[{{"chunks": [{chunk}]}}]',
        )
        assert run["gate"]["enough"] is True
    answer = scalar(
        db,
        "select ragdb.answer_from_evidence('Are gifts refunded?', %s::jsonb)",
        f'{{"chunks": [{chunk}]}}',
    )
    assert answer["answer"] == "Gifts are refunded."


def test_an_engine_of_the_mode_required_raises_what_the_row_says(base: Database) -> None:
    engine = Engine(base, retriever=CorpusRetriever(base, "void"))
    with pytest.raises(RagError, match=r"^rag required but no evidence found$") as caught:
        engine.run(QUESTION, mode="required")
    assert caught.value.answer.status == "failed"
    # what was retrieved and weighed on the way stays on record
    assert in_sql(base, "void", QUESTION, mode="required").trace_id is not None
    row = in_sql(base, "sky", "Are gifts refunded in far Timbuktu?", mode="required")
    assert (row.status, row.reason) == ("failed", "insufficient evidence")
    assert records(base)["evidence_gates"][-1][2] is False


def test_who_may_read_may_ask_and_the_read_is_on_record(base: Database, db: Connection) -> None:
    base.record_reads("docs", "on")
    base.restrict_corpus("sky")
    db.execute("set role reader")
    assert in_sql(base, "docs", QUESTION).status == "answered"
    for mode in MODES:
        with pytest.raises(psycopg.DatabaseError) as caught, db.transaction():
            in_sql(base, "sky", QUESTION, mode=mode)
        assert caught.value.sqlstate == "RG404"
    # a pack that names a corpus tells nothing of it
    gold = RetrievedChunk("x", "c", "Gifts are refunded.", 1.0, {"corpus": "sky"})
    assert in_sql(base, None, QUESTION, mode="off", evidence=[gold.as_json()]).answer_id is None
    db.execute("reset role")
    reads = db.execute(
        "select distinct what from ragdb.access_events where kind = 'read' and role = 'reader'"
    ).fetchall()
    assert reads == [("ask",)]


def test_an_embedder_without_a_provider_leaves_the_words(base: Database) -> None:
    base.apply_contract({
        "nodes": [
            {"node": "corpus", "keys": {"name": "Void"}},
            {"node": "embed", "keys": {
                "name": "E", "corpus": "Void", "model": "nobody/none", "dims": 4}},
        ]
    })  # fmt: skip
    base.put_text("void", "gifts.md", "Gifts are refunded as vouchers.")
    (chunk,) = base.list_chunks("void")
    base.put_embeddings("void", [chunk.chunk_id], [1.0, 0.0, 0.0, 0.0])
    assert base.corpus_embedder("void") is not None
    told: list[str | None] = []
    base.connection.add_notice_handler(lambda notice: told.append(notice.message_primary))
    row = alike(base, "void", QUESTION)
    assert (row.status, row.gate["rank_mode"]) == ("answered", "lexical")
    assert "searching by words only" in str(told[0])
    assert base.prepare_query("void", QUESTION) is True  # no server waits for a worker


@pytest.mark.parametrize(
    "question",
    ["how long do refunds take?", "do vouchers expire some day?", "are gifts refunded in cash?"],
)
def test_a_corpus_of_two_documents_answers_what_it_says(base: Database, question: str) -> None:
    base.put_text("docs", "copy.md", "Refunds take 14 days. Gifts are refunded as vouchers.")
    asked = base.connection.execute("select status from ragdb.ask('docs', %s)", (question,))
    assert asked.fetchone() == ("answered",)


def test_each_kind_of_courtesy_is_looked_for_where_one_of_its_words_stands(db: Connection) -> None:
    (words, kinds) = db.execute(
        "select array(select unnest(ragdb_internal.courteous())), array("
        "  select distinct unnest(c.words) from ("
        "    select * from ragdb_internal.english_openings()"
        "    union all select * from ragdb_internal.english_requests()"
        "    union all select * from ragdb_internal.german_french_courtesies()"
        "    union all select * from ragdb_internal.spanish_russian_courtesies()) c)"
    ).fetchone() or ((), ())
    thanks = {"thanks", "thank", "thx", "regards", "danke", "dank", "merci", "gracias"}
    assert {*words} - {*kinds} == thanks | {"спасибо", "Спасибо"}
    assert {*kinds} <= {*words}
    # a kind that has none of its words is not made ready
    (patterns,) = db.execute("select ragdb_internal.courtesies_with('{dear,hola}')").fetchone() or (
        "",
    )
    assert patterns.startswith("dear")
    assert "hola" in patterns
    assert "please" not in patterns


@pytest.mark.parametrize(
    "courtesy",
    [
        "Could you please tell me {}?",
        "Hello, I want to know {}.",
        "do you know {}? Thank you",
        "hi {}",
        "Hello. {}?",
        "Dear support team, does anyone know {}? Thanks a lot! Best regards, Tim Moss",
        "sorry to bother you, but could anybody explain {}",
        "I have a quick question: {}?",
        "{}? thx",
        "one more thing - any idea {}?",
        "Can you help me? I'm trying to find out {}",
        "I was just wondering {}, thank you in advance.",
        "What do you know about {}?",
    ],
)
def test_courtesy_is_no_part_of_a_question(base: Database, courtesy: str) -> None:
    """Such words are in few texts, so questions that a corpus answers were refused."""
    ask = "select answer, status, gate - 'gate_id', problems from ragdb.ask('docs', %s)"
    for question, status in (
        ("when vouchers expire", "answered"),
        ("who feeds cats", "insufficient"),
    ):
        plain = base.connection.execute(ask, (question,)).fetchone()
        polite = base.connection.execute(ask, (courtesy.format(question),)).fetchone()
        assert plain == polite
        assert plain is not None
        assert plain[1] == status


@pytest.mark.parametrize(
    ("question", "read_as"),
    [
        ("are giftts refundd", {"giftt": {"gift": 1}, "refundd": {"refund": 1}}),
        ("the shippnig", {"shippnig": {"ship": 1}}),
        ("when does a coupon expire", {"coupon": {"voucher": 1}}),
        ("what is a gvt", {"gvt": {"gift": 0.5, "voucher": 0.5}}),
    ],
)
def test_a_word_counts_as_what_a_search_takes_it_for(
    base: Database, question: str, read_as: dict[str, dict[str, float]]
) -> None:
    base.add_synonyms("docs", ["coupon", "vouchers"])
    base.add_synonyms("docs", ["gvt", "gifts voucher"])
    row = alike(base, "docs", question)
    assert (row.status, row.gate["missing_terms"], row.gate["read_as"]) == ("answered", [], read_as)
    assert row.gate["coverage"] == 1
    # what the question is read as is its text, which not all corpora keep
    assert "read_as" not in json.dumps(row.trace_summary)


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("What must I know, and could I get gifts?", ["gift"]),
        ("do we need something or someone for vouchers", ["voucher"]),
        ("Would they use the gifts?", ["gift"]),
        ("What does § 4.2 say?", ["2", "4", "4.2"]),
        # to know, get and use may be asked about
        ("know how, use and needs of a find", ["find", "know", "need", "use"]),
    ],
)
def test_light_words_are_not_looked_for(base: Database, question: str, terms: list[str]) -> None:
    left = (
        "select tsvector_to_array(ragdb_internal.lexemes("
        "ragdb_internal.without_asking(%s, 'english'), 'english'))"
    )
    assert scalar(base.connection, left, question) == terms


@pytest.mark.parametrize(
    ("question", "status", "missing"),
    [
        ("my cousin bought a lamp on saturday. How are gifts refunded?", "answered", []),
        ("Do vouchers expire? my cousin is already worrying about hers.", "answered", []),
        # what is told counts where the corpus says it
        ("i have vouchers and a lamp. Do they expire?", "answered", []),
        # names and numbers say of what is asked
        ("my lamp is a Philips P777. How are gifts refunded?", "insufficient", ["p777", "philip"]),
        # where what asks has no word of its own, what is told is asked
        ("my lamp broke on saturday. What do I do?", "insufficient", ["broke", "lamp", "saturday"]),
        ("vouchers expire. Do lamps break?", "insufficient", ["break", "lamp"]),
    ],
)
def test_what_a_question_only_tells_need_not_be_said(
    base: Database, question: str, status: str, missing: list[str]
) -> None:
    row = alike(base, "docs", question)
    assert (row.status, row.gate["missing_terms"]) == (status, missing)


@pytest.mark.parametrize(
    ("question", "status", "lacks"),
    [
        ("Does the tool support release 4.1?", "answered", None),
        ("Does the tool support release 5.3?", "insufficient", "5.3"),
        ("Does the tool support release 1.0.7?", "insufficient", "1.0.7"),
    ],
)
def test_another_version_is_no_answer(
    base: Database, question: str, status: str, lacks: str | None
) -> None:
    base.put_text("docs", "tool.md", "The tool support begins with release 4.1 and 1 of 3.")
    row = alike(base, "docs", question)
    assert (row.status, (row.reason or "").partition("; it lacks ")[2] or None) == (status, lacks)


def test_a_refusal_by_the_evidence_names_what_is_missing(base: Database) -> None:
    row = in_sql(base, "docs", "Do vouchers expire with shipping of gold in days?", sentences=1)
    assert row.gate["enough"] is True
    assert (row.status, row.reason) == ("insufficient", "the corpus does not say; it lacks gold")


MANUALS = {"X200": 4000, "Z9": 5200}


@pytest.fixture
def manuals(base: Database) -> Database:
    """A battery in each of two manuals, whose model only the title names."""
    for model, held in MANUALS.items():
        rest = "Keep the cover dry. " * 60
        text = f"{rest}\n\nThe battery holds {held} mAh. {rest}"
        base.put_text("docs", f"{model}.md", text, title=f"Manual of the {model}")
    return base


@pytest.mark.parametrize("model", MANUALS)
def test_what_stands_over_a_chunk_counts_as_found(manuals: Database, model: str) -> None:
    question = f"How many mAh does the battery of the {model} hold?"
    row = alike(manuals, "docs", question, k=1)
    assert (row.status, row.gate["missing_terms"]) == ("answered", [])
    assert row.answer.startswith(f"The battery holds {MANUALS[model]} mAh.")


def test_letters_and_digits_may_stand_apart(base: Database) -> None:
    base.put_text("docs", "phones.md", "The iPhone 15 takes uploads of 10 MB.")
    row = alike(base, "docs", "does the iphone15 take 10mb")
    assert (row.status, row.gate["missing_terms"]) == ("answered", [])
    assert row.gate["read_as"] == {
        "10mb": {"10": 0.5, "mb": 0.5},
        "iphone15": {"iphon": 0.5, "15": 0.5},
    }


def test_what_is_said_of_another_thing_is_no_answer(manuals: Database) -> None:
    row = alike(manuals, "docs", "How many mAh does the battery of the P777 hold?")
    assert (row.status, row.gate["missing_terms"]) == ("insufficient", ["p777"])


@pytest.mark.parametrize(
    "question", ["What did Anna say about the budget?", "Did Anna mention the budget?"]
)
def test_who_says_something_counts_as_found(base: Database, question: str) -> None:
    said = "The budget is 40,000 euros."
    turn = {"id": "1", "role": "user", "speaker": "Anna", "text": said}
    base.append_turns("docs", "meeting", [turn])
    row = alike(base, "docs", question)
    assert (row.status, row.answer, row.gate["missing_terms"]) == ("answered", said, [])


def test_all_words_of_a_synonym_stand_for_a_word(base: Database) -> None:
    base.add_synonyms("docs", ["gvt", "gift of gold"])
    row = alike(base, "docs", "what is a gvt")
    assert (row.status, row.gate["missing_terms"], row.gate["read_as"]) == (
        "insufficient",
        ["gvt"],
        {},
    )


def test_a_refusal_names_the_words_that_were_asked(base: Database) -> None:
    asked = base.connection.execute(
        "select gate -> 'missing_terms', reason"
        " from ragdb.ask('docs', 'How many galaxies are colliding in Bohm-Jacobsen?')"
    ).fetchone()
    assert asked is not None
    terms, reason = asked
    assert terms == ["bohm", "bohmjacobsen", "collid", "galaxi", "jacobsen"]
    assert reason.endswith("; it lacks galaxies, colliding, bohm, jacobsen")


@pytest.mark.parametrize(
    ("config", "question", "said"),
    [
        ("english", "Wie werden die Gutscheine von einem Konto ausgezahlt?", ("German", "English")),
        ("german", "How are the gift vouchers of an account paid out?", ("English", "German")),
        ("english", "How are the gift vouchers of an account paid out?", None),
        ("english", "galaxies", None),
        ("simple", "Wie werden die Gutscheine von einem Konto ausgezahlt?", None),
    ],
)
def test_a_refusal_says_that_the_question_is_in_another_language_than_the_corpus(
    base: Database, config: str, question: str, said: tuple[str, str] | None
) -> None:
    base.create_corpus("one", text_config=config)
    base.put_text("one", "a.md", "Galileo: Planet Jupiter, 1610.")
    row = in_sql(base, "one", question)
    asked, had = said or ("", "")
    told = f"does not say; the question is in {asked}, and the corpus is read as {had}; "
    assert (row.status, told in str(row.reason)) == ("insufficient", said is not None)
    assert ("the question is in" in str(row.reason)) == (said is not None)


@pytest.mark.parametrize("named", [{}, {"rag": "Desk"}, {"retriever": "Shelf"}])
def test_an_answer_rests_on_what_the_filter_lets_in(base: Database, named: Any) -> None:
    question = "How are gifts refunded?"
    corpus = None if named else "docs"
    for record in (True, False):
        how: Any = {**named, "record": record}
        among = {"source": "refunds.md"}
        assert alike(base, corpus, question, filter=among, **how).status == "answered"
        among = {"source": "shipping.md"}
        row = alike(base, corpus, question, filter=among, **how)
        assert row.status == "insufficient"
        if record:
            assert base.get_trace(row.trace_id).filters == among
