"""What is dear is made once for each text, though a statement reads it several times.

PostgreSQL makes an expression of a subquery anew wherever it is read, unless the subquery stays one
by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from psycopg.errors import Diagnostic

from tests.conftest import Connection
from tests.documents import document
from tests.embedding import claim, make_corpus
from tests.embedding import put as put_texts
from tests.plans.matrix import CONTRACT
from tests.processor import spent
from tests.sql.conversations import chat, conversation, message, put, uuid
from tests.sql.signed_slices import promote, retrieve

TEXTS = {f"{n}.md": f"The lift number {n} is out of order." for n in range(20)}
THEN = "as_of => (select version from ragdb.corpora where name = 'docs')"


@contextmanager
def calls(db: Connection, function: str, expected: int) -> Iterator[None]:
    """What is done calls a function so often."""

    def count() -> int:  # what earlier tests of this session called may be among them
        [[calls]] = db.execute(
            "select coalesce(sum(calls), 0) from pg_stat_xact_user_functions"
            " where schemaname = 'ragdb_internal' and funcname = %s",
            (function,),
        ).fetchall()
        return int(calls)

    db.execute("set local track_functions = 'all'")
    before = count()
    yield
    assert count() - before == expected


@contextmanager
def plans(db: Connection, at_most: int) -> Iterator[None]:
    """What is done plans so many statements at most."""
    told: list[str | None] = []

    def tell(notice: Diagnostic) -> None:
        told.append(notice.message_primary)

    db.add_notice_handler(tell)
    db.execute("set local client_min_messages = log")
    db.execute("set local log_planner_stats = on")
    yield
    db.execute("set local log_planner_stats = off")
    db.remove_notice_handler(tell)
    assert 0 < told.count("PLANNER STATISTICS") <= at_most


@pytest.mark.parametrize("then", ["", f", {THEN}"])
def test_the_words_of_a_chunk_for_the_reference_ranking(db: Connection, then: str) -> None:
    make_corpus(db, TEXTS)
    db.execute("select ragdb.keep_history('docs', '1 day')")
    search = f"select from ragdb.search('docs', 'lift', k => 50, mode => 'reference'{then})"
    with calls(db, "reference_tokens", 20 + 1):
        assert len(db.execute(search.encode()).fetchall()) == 20


def test_whether_the_embedder_of_chunks_that_changed_is_static(db: Connection) -> None:
    make_corpus(db, {})
    texts = list(TEXTS.values())
    lifts, stairs = (
        json.dumps([document("a.md", texts, headings=[[heading]] * len(texts))])
        for heading in ("Lifts", "Stairs")
    )
    db.execute("select from ragdb.put_documents('docs', %s)", (lifts,))
    with calls(db, "is_static", 1):
        db.execute("select from ragdb.put_documents('docs', %s)", (stairs,))
    changed = db.execute("select count(*) from ragdb.chunks where heading = '{Stairs}'").fetchall()
    assert changed == [(len(texts),)]


def test_the_id_of_a_message_that_is_no_uuid(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('chat')")
    messages = [
        message(n) | {"id": f"m{n}", "parents": [f"m{n - 1}"] if n else []} for n in range(10)
    ]
    with calls(db, "sha1", 10):
        put(db, "chat", conversation(messages))


@pytest.mark.parametrize("record", [True, False])
def test_the_search_for_a_question(db: Connection, record: bool) -> None:
    make_corpus(db, TEXTS)
    with calls(db, "rank_corpora", 1):
        db.execute(
            "select ragdb.ask('docs', 'Which lift is out of order?', record => %s)", (record,)
        )


def test_the_words_of_a_sentence_that_may_answer(db: Connection) -> None:
    chunks = [{"source_id": uri, "chunk_id": uri, "text": text} for uri, text in TEXTS.items()]
    evidence = json.dumps({"chunks": chunks})
    # and those of the question, once for what they may be read as and once for what it names
    with calls(db, "lexemes", 20 + 3):
        db.execute("select ragdb.answer_from_evidence('Which lift is it?', %s)", (evidence,))


def test_the_letters_of_a_short_sentence_that_may_answer(db: Connection) -> None:
    chunks = [{"source_id": uri, "chunk_id": uri, "text": text} for uri, text in TEXTS.items()]
    evidence = json.dumps({"chunks": chunks})
    # those of frequent scripts are counted, not compared
    with calls(db, "quotable", 0):
        db.execute("select ragdb.answer_from_evidence('Which lift is it?', %s)", (evidence,))


def test_the_query_whose_words_are_marked(db: Connection) -> None:
    make_corpus(db, TEXTS)
    [[ids]] = db.execute("select array_agg(chunk_id) from ragdb.chunks").fetchall()
    words = {word for text in TEXTS.values() for word in re.findall(r"\w+", text)}
    db.execute("set local plan_cache_mode = force_generic_plan")  # as from the sixth call on
    # and the empty word behind the last letter
    with calls(db, "lexemes", len(words) + 2):
        db.execute("select ragdb.highlight_chunks('docs', %s, 'Which lift is it?')", (ids,))


def test_which_words_of_a_question_a_corpus_lacks(db: Connection) -> None:
    make_corpus(db, TEXTS)
    chunks = [{"source_id": "a.md", "chunk_id": "c", "text": "A lift."}]
    evidence = json.dumps({"corpus": "docs", "chunks": chunks})
    question = " ".join(f"vertical{letter}" for letter in "abcdefghijklmnopqrst")
    with calls(db, "lacking", 1):
        db.execute("select ragdb.rag_enough_context_gate(%s, %s)", (question, evidence))


def test_the_hash_of_a_chunk_of_evidence(db: Connection) -> None:
    make_corpus(db, TEXTS)
    db.execute("select from ragdb.retrieve('docs', 'lift', 20)")
    # a function with a setting is not inlined, so its calls are counted
    db.execute("alter function ragdb_internal.content_hash set search_path = pg_catalog")
    with calls(db, "content_hash", 20):
        [[pack]] = db.execute("select ragdb.build_evidence_pack(ragdb.last_trace_id())").fetchall()
    assert len(pack["chunks"]) == 20


def test_the_letters_of_evidence_for_quotes_that_are_in_none(db: Connection) -> None:
    chunks = [{"source_id": uri, "chunk_id": uri, "text": text} for uri, text in TEXTS.items()]
    quotes = [
        {"source_id": uri, "chunk_id": uri, "quote": f"The lift is {n} years old now."}
        for n, uri in enumerate(TEXTS)
    ]
    # of each quote as it is found and compared with others, of each chunk as the quote is looked
    # for, and of all chunks once
    with calls(db, "quotable", (2 + 1 + 1) * 20):
        found = db.execute(
            "select count(*) filter (where code = 'QUOTE_NOT_FOUND')"
            " from ragdb.check_citations(%s, %s)",
            (
                json.dumps({"answer": "It is old.", "citations": quotes}),
                json.dumps({"chunks": chunks}),
            ),
        ).fetchall()
    assert found == [(20,)]


def test_the_letters_of_a_chunk_that_is_cited_for_numbers_of_an_answer(db: Connection) -> None:
    said = "Lift number 3 is out. "
    evidence = {"chunks": [{"source_id": "a", "chunk_id": "a", "text": TEXTS["3.md"]}]}
    spans = [
        {"chunk_id": "a", "answer_start": at, "answer_end": at + len(said)}
        for at in range(0, 10 * len(said), len(said))
    ]
    with calls(db, "quotable", 10 + 1):
        found = db.execute(
            "select count(*) filter (where code is null) from ragdb.check_citations(%s, %s)",
            (json.dumps({"answer": said * 10, "citations": spans}), json.dumps(evidence)),
        ).fetchall()
    assert found == [(10,)]


def test_a_misreading_of_a_claim_that_another_chunk_says(db: Connection) -> None:
    chunks = [{"source_id": uri, "chunk_id": uri, "text": text} for uri, text in TEXTS.items()]
    with calls(db, "misread_run", 0), calls(db, "quotable", 19 + 19):
        [[claimed]] = db.execute(
            "select ragdb_internal.claimed(%s, %s)",
            (" ".join(TEXTS.values()), json.dumps({"chunks": chunks})),
        ).fetchall()
    assert [c["chunk_id"] for c in claimed["citations"]] == list(TEXTS)


def test_the_policy_of_slices_that_are_built_together(db: Connection) -> None:
    chat(db, [message(n, [n - 1] if n else []) for n in range(5)])
    anchors = [uuid(n) for n in range(5)] + ["gone"]
    build = "select anchor_chunk_id, error_code from ragdb.build_slices('chat', %s, sign => false)"
    with calls(db, "hashed_policy", 1):
        found = db.execute(build, (anchors,)).fetchall()
    assert found == [(a, "RG434" if a == "gone" else None) for a in anchors]


def test_the_rank_metrics_of_a_case(db: Connection) -> None:
    make_corpus(db, TEXTS)
    cases = "".join(f"    ragCase name=q{n} query=lift topK=2 sources={n}.md\n" for n in range(3))
    db.execute(
        "select from ragdb.apply_contract(%s, 'c')", (CONTRACT.format(corpus="docs") + cases,)
    )
    # recall, precision, ndcg and judged at 5 and 10, mrr and map
    with calls(db, "rank_metric", 3 * (4 * 2 + 2)):
        db.execute("select from ragdb.run_eval('A')")


def test_the_plan_of_a_document_of_an_export(db: Connection) -> None:
    make_corpus(db, TEXTS)
    db.execute("select ragdb.export_corpus('docs')")
    with plans(db, at_most=20 - 1):
        db.execute("select ragdb.export_corpus('docs')")


def test_the_plans_of_a_contract(db: Connection) -> None:
    make_corpus(db, TEXTS)

    def apply(query: str) -> None:
        text = CONTRACT.format(corpus="docs") + f"    ragCase name=q query={query} topK=2\n"
        db.execute("select from ragdb.apply_contract(%s, 'c')", (text,))

    apply("lift")
    apply("door")
    with plans(db, at_most=30):
        apply("stairs")


def test_the_plans_of_an_eval(db: Connection) -> None:
    make_corpus(db, TEXTS)
    text = CONTRACT.format(corpus="docs") + "    ragCase name=q query=lift topK=2 sources=1.md\n"
    db.execute("select from ragdb.apply_contract(%s, 'c')", (text,))
    db.execute("select from ragdb.run_eval('A')")
    db.execute("select from ragdb.run_eval('A')")
    with plans(db, at_most=65):
        db.execute("select from ragdb.run_eval('A')")


def test_the_plans_of_what_is_queued(db: Connection) -> None:
    make_corpus(db, TEXTS)
    claim(db)
    put_texts(db, {f"{n}.md": f"The lift number {n} is out of order." for n in range(20, 120)})
    # the foreign key of a job that its own transaction queued is looked at as it is taken, too
    with plans(db, at_most=100 + 60):
        assert len(claim(db)) == 100


def test_the_plans_of_a_conversation(db: Connection) -> None:
    def say(session: int) -> None:
        messages = [
            message(100 * session + n) | {"parents": [uuid(100 * session + n - 1)] if n else []}
            for n in range(50)
        ]
        put(db, "chat", conversation(messages, session=f"s{session}", uri=f"s{session}.jsonl"))

    db.execute("select ragdb.create_corpus('chat')")
    say(0)
    say(1)
    with plans(db, at_most=50 + 25):
        say(2)


def test_the_plans_of_what_moves(db: Connection) -> None:
    make_corpus(db, TEXTS)
    [[move]] = db.execute("select move_id from ragdb.begin_move('docs', 'elsewhere')").fetchall()
    page = "select from ragdb.move_page(%s)"
    db.execute(page, (move,))
    with plans(db, at_most=20 + 20):
        assert len(db.execute(page, (move,)).fetchall()) == 20


def test_the_plans_of_an_erasure(signed: Connection) -> None:
    """A function that makes its own plans anew hands that on to what it calls for each atom."""
    hits = retrieve(signed)
    for _ in range(40):
        made = promote(signed, hits[0]["trace_id"], [h["chunk_id"] for h in hits])
        assert made["code"] == "PROMOTED"
    delete = "select from ragdb.delete_source('chat', 'chat.jsonl#s1', 'erase')"
    with plans(signed, at_most=40 * 5 + 100):
        signed.execute(delete)


@pytest.mark.parametrize(
    ("made", "times"),
    [
        (
            "text_document(row(n, n, 'a text', '{}')::ragdb_internal.given_text,"
            " ragdb_internal.read_text('a text', null), true, 'en')",
            400,
        ),
        ("filtered_chunks(n, '{\"tenth\": 3}', null)", 100),
        ("turn_phase('user', n || ' steps')", 2000),
        ("turn_novelty('[1, 0]', array['[' || n || ', 1]']::vector[])", 4000),
        ("siblings_before(n, 's', n, row(now(), n, null)::ragdb_internal.turn_place)", 4000),
    ],
)
def test_the_plan_of_what_is_made_for_each_row(db: Connection, made: str, times: int) -> None:
    """Whoever calls it: functions that write make their own plans anew each time."""

    def took(plans: str) -> float:
        db.execute(f"set local plan_cache_mode = {plans}")
        before = spent(db)
        db.execute(
            f"select count(ragdb_internal.{made}) from generate_series(1, {times}) n".encode()
        )
        return spent(db) - before

    took("force_generic_plan")
    assert took("force_custom_plan") < 2 * took("force_generic_plan") + 0.02
