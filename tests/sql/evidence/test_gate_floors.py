"""What a corpus answers is told from what it does not, by a floor measured in the corpus."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.errors import NotAuthorized
from tests.conftest import OLDER_BY_NIGHT, Connection, Login, Server
from tests.sql.evidence.test_evidence_packs import scalar

DOCS = Path(__file__).parents[3] / "docs"
PROSE = [
    " ".join(part.split())
    for name in ("ledger.md", "operations.md", "design.md", "guide.md")
    for part in (DOCS / name).read_text().split("\n\n")
    if 120 < len(part) < 900  # one chunk each
][:120]
ANSWERED = (
    "Who may verify the checkpoints of the ledger?",
    "How is a corpus exported and imported?",
    "What does a backup of the database contain?",
    "Which roles may read a restricted corpus?",
)
NOT_ANSWERED = (
    "Which enzyme breaks down lactose in milk?",
    "How did the Panthers defend in the Super Bowl?",
    "What heat flux reaches a blunt body at hypersonic speed?",
    "How many passengers drowned on the Titanic?",
)


def fill(db: Connection, texts: list[str], corpus: str = "docs", begin: int = 0) -> None:
    ids = [f"{n}.txt" for n, _ in enumerate(texts, begin)]
    db.execute("select from ragdb.put_texts(%s, %s, ids => %s)", (corpus, texts, ids))
    # what waits for the commit
    db.execute("set constraints all immediate")
    db.execute("set constraints all deferred")


def floors(db: Connection, corpus: str = "docs") -> Any:
    return scalar(db, "select gate_floors from ragdb.corpus_info(%s)", corpus)


def weighed(
    db: Connection, question: str, function: str = "rag_enough_context_gate", **how: Any
) -> Any:
    options = "".join(f", {name} => %({name})s" for name in how)
    db.execute(
        f"select from ragdb.retrieve('docs', %(q)s, 8{options})".encode(), how | {"q": question}
    )
    return scalar(
        db,
        f"select ragdb.{function}(%s, ragdb.build_evidence_pack(ragdb.last_trace_id()))",
        question,
    )


@pytest.fixture(scope="module")
def filled(module_clone: str) -> str:
    """A database with the pages of the manual in the corpus `docs`, for tests that roll back."""
    with psycopg.connect(module_clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        fill(db, PROSE)
    return module_clone


@pytest.fixture
def docs(server18: Server, filled: str) -> Iterator[Connection]:
    with server18.rolled_back(filled) as db:
        yield db


def test_a_floor_comes_with_fifty_chunks_and_with_twice_or_half_as_many(db: Connection) -> None:
    def measured_at() -> Any:
        row = db.execute("select chunks from ragdb.gate_calibrations").fetchone()
        return row and row[0]

    db.execute("select ragdb.create_corpus('docs')")
    fill(db, PROSE[:49])
    assert measured_at() is None
    assert floors(db) is None
    fill(db, PROSE[49:50], begin=49)
    assert measured_at() == 50
    fill(db, PROSE[50:99], begin=50)
    assert measured_at() == 50
    fill(db, PROSE[99:100], begin=99)
    assert measured_at() == 100
    for n in range(50):
        db.execute("select from ragdb.delete_source('docs', %s)", (f"{n}.txt",))
    db.execute("set constraints all immediate")
    assert measured_at() == 50


def test_a_large_corpus_is_measured_with_four_times_or_a_quarter_as_many(docs: Connection) -> None:
    docs.execute("update ragdb.gate_calibrations set chunks = 2000 where mode = 'lexical'")
    asked = (
        "select array_agg(n.chunks order by n.chunks)"
        " from ragdb.corpora c join ragdb.gate_calibrations g using (corpus_id)"
        " cross join unnest(array[500, 501, 4000, 7999, 8000]) n (chunks)"
        " where g.mode = 'lexical' and ragdb_internal.is_calibration_due("
        "  jsonb_populate_record(c, jsonb_build_object('chunks', n.chunks)))"
    )
    assert scalar(docs, asked) == [500, 8000]


def test_a_floor_is_a_quarter_of_the_way_between_what_searches_score(docs: Connection) -> None:
    asked = docs.execute("select question, is_own from ragdb.gate_questions('docs')").fetchall()
    best: dict[bool, list[float]] = {True: [], False: []}
    for question, is_own in asked:
        row = docs.execute(
            "select score from ragdb.search('docs', %s, 1, mode => 'lexical')", (question,)
        ).fetchone()
        best[is_own].append(row[0] if row else 0.0)
    own, other = statistics.median(best[True]), statistics.median(best[False])
    floor = min(0.35, max(0.1, other + (own - other) / 4))
    assert floors(docs) == {"lexical": pytest.approx(floor, abs=1e-4)}
    assert 0.1 < floor < 0.35
    assert {len(v) for v in best.values()} == {36}


def test_a_question_about_something_else_is_refused(docs: Connection) -> None:
    for question in ANSWERED:
        assert weighed(docs, question)["enough"] is True
    for question in NOT_ANSWERED:
        verdict = weighed(docs, question, min_score=0.0)
        assert verdict["enough"] is False
        assert verdict["min_score"] == floors(docs)["lexical"]
        assert (verdict["min_score_by"], verdict["rank_mode"]) == ("corpus", "lexical")


def test_a_threshold_of_the_caller_wins(docs: Connection) -> None:
    docs.execute("select from ragdb.retrieve('docs', 'the ledger of the Titanic')")
    pack = scalar(docs, "select ragdb.build_evidence_pack(ragdb.last_trace_id())")
    for given, enough in ((0.0, True), (0.99, False)):
        verdict = scalar(
            docs,
            "select ragdb.rag_enough_context_gate('the ledger of the Titanic', %s, 1, %s, 0)",
            json.dumps(pack),
            given,
        )
        assert (verdict["enough"], verdict["min_score"]) == (enough, given)
        assert verdict["min_score_by"] == "caller"


def test_a_score_by_the_statistics_of_another_corpus_has_no_floor(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('other')")
    docs.execute("select from ragdb.put_text('other', 'a', 'the ledger')")
    gate = "select ragdb.rag_enough_context_gate('the ledger', %s) ->> 'min_score_by'"
    chunks: list[dict[str, str]] = []
    for corpus, by in ((None, "corpus"), ("other", "none")):
        asked = "select from ragdb.retrieve('docs', 'the ledger', statistics => %s)"
        docs.execute(asked, (corpus,))
        pack = scalar(docs, "select ragdb.build_evidence_pack(ragdb.last_trace_id())")
        assert scalar(docs, gate, json.dumps(pack)) == by
        chunks += (chunk | {"trace_id": pack["trace_id"]} for chunk in pack["chunks"])
    assert scalar(docs, gate, json.dumps(pack | {"chunks": chunks})) == "none"


def test_a_verdict_on_record_follows_from_its_row(docs: Connection) -> None:
    verdict = weighed(docs, NOT_ANSWERED[0], "record_gate")
    row = docs.execute(
        "select is_enough, min_score, min_score_by, rank_mode, best_score, coverage"
        " from ragdb.evidence_gates"
    ).fetchone()
    assert row == tuple(
        verdict[name]
        for name in ("enough", "min_score", "min_score_by", "rank_mode", "best_score", "coverage")
    )
    with pytest.raises(psycopg.errors.CheckViolation, match="verdict_follows"):
        docs.execute(
            "insert into ragdb.evidence_gates (corpus_id, id, created_at, pack_hash, is_enough,"
            " chunks, min_chunks, best_score, min_score, min_score_by, terms, coverage,"
            " min_coverage, caller, caller_oid) select corpus_id, id, created_at, pack_hash,"
            " not is_enough,"
            " chunks, min_chunks, best_score, min_score, min_score_by, terms, coverage,"
            " min_coverage, caller, caller_oid from ragdb.evidence_gates"
        )


def test_a_part_of_a_question_does_not_answer_it(docs: Connection) -> None:
    question = "Which enzyme of the ledger breaks down lactose in the milk of camels?"
    packs = []
    for query in (question, "ledger"):
        docs.execute("select from ragdb.retrieve('docs', %s, 4)", (query,))
        packs.append(scalar(docs, "select ragdb.build_evidence_pack(ragdb.last_trace_id())"))
    joined = packs[0] | {
        "chunks": [c | {"trace_id": p["trace_id"]} for p in packs[::-1] for c in p["chunks"]]
    }
    own, part = (max(c["score"] for c in p["chunks"]) for p in packs)
    assert part > own
    verdict = scalar(
        docs, "select ragdb.rag_enough_context_gate(%s, %s)", question, json.dumps(joined)
    )
    assert verdict["best_score"] == own
    assert verdict["enough"] is False


def test_a_rare_word_counts_more_than_a_common_one(docs: Connection) -> None:
    chunks, df = docs.execute(
        "select c.chunks, l.df from ragdb.corpora c join ragdb.lexemes l using (corpus_id)"
        " where c.name = 'docs' and l.lexeme = 'ledger'"
    ).fetchone() or (0, 0)
    common, missing = (math.log(1 + (chunks + 50 - n + 0.5) / (n + 0.5)) for n in (df, 0))
    pack = {
        "corpus": "docs",
        "canonical_text": "",
        "chunks": [{"source_id": "a", "chunk_id": "b", "text": "the ledger"}],
    }
    call = "select ragdb.rag_enough_context_gate('ledger of titanic', %s)"
    assert scalar(docs, call, json.dumps(pack))["coverage"] == pytest.approx(
        common / (common + missing)
    )
    del pack["corpus"]
    assert scalar(docs, call, json.dumps(pack))["coverage"] == 0.5


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("How long is the warranty?", []),
        ("how many months is the warranty", ["month"]),
        ("Wie lange ist die warranty", ["die", "ist"]),
        ("a long warranty", ["long"]),
        ("so wie alte warranty", ["alt", "wie"]),
    ],
)
def test_a_word_that_asks_for_a_measure_need_not_be_in_the_evidence(
    db: Connection, question: str, missing: list[str]
) -> None:
    pack = {
        "canonical_text": "",
        "chunks": [
            {"source_id": "a", "chunk_id": "b", "text": "The warranty ends after 36 weeks."}
        ],
    }
    call = "select ragdb.rag_enough_context_gate(%s, %s)"
    verdict = scalar(db, call, question, json.dumps(pack))
    assert verdict["missing_terms"] == missing
    assert verdict["coverage"] == pytest.approx(1 / (1 + len(missing)))


def test_whoever_writes_moves_a_floor_only_so_far(db: Connection) -> None:
    questions = [
        row[0]
        for row in db.execute(
            "select unnest(ragdb_internal.other_questions('english', '{}'))"
        ).fetchall()
    ]
    for corpus, texts in (
        ("high", [f"{question} {n}" for n in range(3) for question in questions]),
        ("low", [f"{n} {' '.join('x' * m for m in range(1, 60))}" for n in range(60)]),
    ):
        db.execute("select ragdb.create_corpus(%s)", (corpus,))
        fill(db, texts, corpus)
        assert 0.1 <= floors(db, corpus)["lexical"] <= 0.35
    assert floors(db, "high")["lexical"] == 0.35


@pytest.mark.parametrize(
    ("config", "text", "question"),
    [
        ("english", "The warranty ends after two years.", "Who painted the ceiling"),
        ("russian", "Гарантия заканчивается через два года.", "Кто расписал потолок"),
        ("turkish", "Garanti iki yıl sonra biter.", "tavanını kim boyadı"),
        ("arabic", "ينتهي الضمان بعد سنتين.", "من رسم سقف"),
        ("hindi", "वारंटी दो साल बाद खत्म होती है।", "की छत किसने"),
        ("english", "การรับประกันสิ้นสุดหลังสองปี", "ใครวาดภาพบนเพดาน"),
        ("english", "Die Garantie von การรับประกัน is short.", "Who painted the ceiling"),
    ],
)
def test_a_floor_is_measured_in_the_language_of_the_corpus(
    db: Connection, config: str, text: str, question: str
) -> None:
    """In another one nearly all words are missing, and a low floor passes what is off the point."""
    db.execute("select ragdb.create_corpus('here', text_config => %s)", (config,))
    fill(db, [f"{text} {n}" for n in range(9)], "here")
    asked = db.execute(
        "select question from ragdb.gate_questions('here') where not is_own"
    ).fetchall()
    assert any(question in row[0] for row in asked)
    assert len(asked) == (36 if question.isascii() else 12)


@pytest.mark.parametrize("call", ["calibrate_gate", "gate_questions"])
def test_only_who_may_write_measures(docs: Connection, call: str) -> None:
    docs.execute("create role gate_reader in role ragdb_reader")
    docs.execute("set local session authorization gate_reader")
    assert floors(docs) is not None
    with pytest.raises(NotAuthorized):
        docs.execute(f"select * from ragdb.{call}('docs')".encode())


@OLDER_BY_NIGHT
def test_a_floor_is_measured_at_the_commit_of_a_mere_writer(any_clone: str, login: Login) -> None:
    with psycopg.connect(any_clone, autocommit=True) as owner:
        owner.execute("select ragdb.create_corpus('docs')")
    writer = login(any_clone, "writer", autocommit=True)
    with writer.transaction():
        writer.execute("select from ragdb.put_texts('docs', %s)", (PROSE[:60],))
    assert set(floors(writer)) == {"lexical"}


@pytest.mark.parametrize(
    "question",
    [*ANSWERED, *NOT_ANSWERED, "Who drowned on the Titanic, and what does a backup contain?"],
)
def test_what_is_not_recorded_is_weighed_as_what_is(docs: Connection, question: str) -> None:
    asked = "select a.gate - 'gate_id', status, reason from ragdb.ask('docs', %s, record => %s) a"
    recorded, other = (docs.execute(asked, (question, on)).fetchone() for on in (True, False))
    assert recorded == other
    assert other is not None
    assert other[0]["min_score_by"] == "corpus"
    assert other[0]["enough"] is (question in ANSWERED)


def test_a_mode_that_the_caller_only_claims_sets_no_floor_on_record(docs: Connection) -> None:
    docs.execute("select from ragdb.retrieve('docs', 'the ledger of the Titanic')")
    pack = scalar(docs, "select ragdb.build_evidence_pack(ragdb.last_trace_id())")
    claimed = {**pack, "trace_id": None, "searched": {"mode": "lexical", "score": 1}}
    verdict = scalar(docs, "select ragdb.record_gate('Who?', %s)", json.dumps(claimed))
    assert verdict["min_score_by"] == "none"


@pytest.mark.parametrize(
    ("best", "least", "said"),
    [(0.2291, 0.2294, "0.22, not 0.23"), (0.1, 0.35, "0.10, not 0.35"), (None, 0.07, "0.00, not")],
)
def test_a_score_below_the_floor_reads_as_less(
    db: Connection, best: float | None, least: float, said: str
) -> None:
    run = {"question": "x", "gate": {"best_score": best, "min_score": least, "missing_terms": []}}
    reason = scalar(db, "select ragdb_internal.gate_reason(%s)", json.dumps(run))
    assert f"; best score {said}" in reason
