"""A reranking is recorded once, by the caller of its trace, and decides what was returned."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import ir_measures
import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import OLDER_BY_NIGHT, Connection, Login
from tests.embedding import one, put
from tests.sql.conversations import conversation, message, uuid
from tests.sql.conversations import put as put_conversations
from tests.waiting import after_commit

TEXTS = {f"d{n}": f"refund number {n} " + "word " * n for n in range(6)}
SHA = "ab" * 32
CONTRACT = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK=2 rerank=tiny
rag name=A retriever=R citations=true
  grounding requireCitations=true policy=strict
  ragEval name=V metric=nDCG@10 threshold=0.1 mode=contract
    ragCase name=c query=refund sources=d3
    ragCase name=e query="refund number" minScore=0.1
tool name=T
  retrieve rag=A query=refund output=RetrievedChunk[] citationField=citation
"""

Row = tuple[int, str, float, bool]


@contextmanager
def raises(db: Connection, code: str, match: str | None = None) -> Iterator[None]:
    """An error of this code, after which the transaction goes on."""
    with pytest.raises(psycopg.DatabaseError, match=match) as error, db.transaction():
        yield
    assert error.value.sqlstate == code
    assert error.value.diag.message_hint


def fill(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, TEXTS)
    bind(db)
    return db


def bind(db: Connection, name: str = "tiny", sha: str = SHA, source: str = "/models/tiny") -> None:
    db.execute("select ragdb.bind_reranker(%s, %s, %s)", (name, source, sha))


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    return fill(any_db)


def retrieve(db: Connection, k: int = 6) -> tuple[UUID, list[str]]:
    rows = db.execute(
        "select trace_id, chunk_id from ragdb.retrieve('docs', 'refund', %s)", (k,)
    ).fetchall()
    return rows[0][0], [row[1] for row in rows]


def record(
    db: Connection,
    trace_id: UUID,
    chunk_ids: Any,
    scores: Any,
    k: int | None = None,
    model: str = "tiny",
) -> list[Row]:
    return db.execute(
        "select rank, chunk_id, score, is_returned"
        " from ragdb.record_rerank(%s, %s, %s, %s::float8[], %s)",
        (trace_id, model, chunk_ids, None if scores is None else list(scores), k),
    ).fetchall()


# ---- rerankers ----------------------------------------------------------------------------------


def test_a_reranker_that_moved_is_the_same_and_other_weights_are_another(docs: Connection) -> None:
    bind(docs, source="/elsewhere")
    listed = docs.execute("select name, source, max_tokens from ragdb.list_rerankers()").fetchall()
    assert listed == [("tiny", "/elsewhere", 512)]
    with raises(docs, "RG409", "promises something else"):
        bind(docs, sha="cd" * 32)
    with raises(docs, "RG409"):
        docs.execute("select ragdb.bind_reranker('tiny', '/x', %s, 256)", (SHA,))


@pytest.mark.parametrize(
    "arguments",
    [
        "null, 'x', '{sha}'",
        "'', 'x', '{sha}'",
        "'none', 'x', '{sha}'",
        "repeat('n', 201), 'x', '{sha}'",
        "'a', null, '{sha}'",
        "'a', ' ', '{sha}'",
        "'a', 'x', null",
        "'a', 'x', 'AB'",
        "'a', 'x', '{sha}', 7",
        "'a', 'x', '{sha}', null",
    ],
)
def test_a_reranker_that_is_not_described_is_refused(db: Connection, arguments: str) -> None:
    with raises(db, "RG400", "not described"):
        db.execute(f"select ragdb.bind_reranker({arguments.format(sha=SHA)})")


# ---- recording ----------------------------------------------------------------------------------


def test_hits_are_ranked_by_score_and_ties_keep_their_order(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    scores = [0.5, -3.25, 7e300, 0.5, 0.5, 1e-300]
    # in any order: the trace's is what counts
    shuffled = [4, 2, 0, 5, 1, 3]
    found = record(docs, trace_id, [ids[n] for n in shuffled], [scores[n] for n in shuffled], 4)
    order = sorted(range(6), key=lambda n: (-scores[n], n))
    assert order == [2, 0, 3, 4, 5, 1]
    assert found == [(rank, ids[n], scores[n], rank <= 4) for rank, n in enumerate(order, 1)]
    kept = "select rank, chunk_id, score, is_returned from ragdb.trace_reranks(%s)"
    assert docs.execute(kept, (trace_id,)).fetchall() == found
    # the ranking before is as it was
    hits = docs.execute("select chunk_id from ragdb.trace_hits(%s)", (trace_id,)).fetchall()
    assert [chunk_id for (chunk_id,) in hits] == ids
    assert one(docs, "select verdict from ragdb.replay(%s)", trace_id) == "exact"


def test_a_trace_is_reranked_once(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    record(docs, trace_id, ids, range(6))
    bind(docs, "other")
    with raises(docs, "RG409", "reranked already"):
        record(docs, trace_id, ids, range(6), model="other")
    assert one(docs, "select count(*) from ragdb.trace_reranks(%s)", trace_id) == 6


def test_of_two_rerankings_at_once_one_is_refused(clone: str, login: Login) -> None:
    with psycopg.connect(clone) as owner:
        fill(owner)
    with login(clone, "reader") as first, login(clone, "reader") as second:
        trace_id, ids = retrieve(first)
        first.commit()
        record(first, trace_id, ids, range(6))
        with pytest.raises(psycopg.DatabaseError) as refused:
            after_commit(
                first, second, lambda: record(second, trace_id, ids, [-n for n in range(6)])
            )
        assert refused.value.sqlstate == "RG409"
        assert one(first, "select score from ragdb.trace_reranks(%s) limit 1", trace_id) == 5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda ids, scores: (ids, scores[:-1]), "5 scores for 6 chunks"),
        (lambda ids, scores: (ids[:-1], scores[:-1]), "5 chunks for 6 hits"),
        (lambda ids, scores: (None, None), "0 scores for 0 chunks"),
        (lambda ids, scores: ([], []), "0 chunks for 6 hits"),
        (lambda ids, scores: (ids, [math.nan, *scores[1:]]), "score NaN for chunk"),
        (lambda ids, scores: (ids, [math.inf, *scores[1:]]), "score Infinity for chunk"),
        (lambda ids, scores: (ids, [-math.inf, *scores[1:]]), "score -Infinity for chunk"),
        (lambda ids, scores: (ids, [None, *scores[1:]]), "score null for chunk"),
        (lambda ids, scores: ([ids[0], *ids[:-1]], scores), "twice"),
        (lambda ids, scores: (["d9", *ids[1:]], scores), '"d9", which is not a hit'),
        (lambda ids, scores: ([None, *ids[1:]], scores), "without an id"),
    ],
)
def test_what_is_no_score_for_each_hit_is_refused(
    db: Connection, change: Callable[[Any, Any], Any], says: str
) -> None:
    fill(db)
    trace_id, ids = retrieve(db)
    with raises(db, "RG423", says):
        record(db, trace_id, *change(ids, [float(n) for n in range(6)]))
    assert one(db, "select count(*) from ragdb.retrieval_reranks") == 0


def test_a_rerank_names_a_trace_a_model_and_a_count_that_there_are(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    with raises(docs, "RG421", "tyni"):
        record(docs, trace_id, ids, range(6), model="tyni")
    with raises(docs, "RG407"):
        record(docs, UUID(int=7), ids, range(6))
    with raises(docs, "RG400", "null"):
        record(docs, None, ids, range(6))  # type: ignore[arg-type]
    for k in (0, 1001):
        with raises(docs, "RG400", f"k is {k}"):
            record(docs, trace_id, ids, range(6), k)


def test_a_trace_without_hits_has_nothing_to_rerank(docs: Connection) -> None:
    docs.execute("select ragdb.retrieve('docs', 'absent')")
    assert record(docs, one(docs, "select ragdb.last_trace_id()"), [], []) == []


def test_only_the_caller_of_a_trace_reranks_it(clone: str, login: Login) -> None:
    with psycopg.connect(clone) as owner:
        fill(owner)
    with login(clone, "reader") as reader, login(clone, "auditor") as other:
        trace_id, ids = retrieve(reader)
        reader.commit()
        with raises(other, "RG401", "of another caller"):
            record(other, trace_id, ids, range(6))
        record(reader, trace_id, ids, range(6))
        reader.commit()
        # an auditor reads what became of it
        assert one(other, "select count(*) from ragdb.trace_reranks(%s)", trace_id) == 6
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            other.execute("select * from ragdb.retrieval_reranks")
    with login(clone, "reader") as reader:
        reader.read_only = True
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            record(reader, trace_id, ids, range(6))


# ---- the rows -----------------------------------------------------------------------------------


def fields_hash(*fields: bytes) -> bytes:
    return hashlib.sha256(b"".join(struct.pack(">i", len(f)) + f for f in fields)).digest()


def test_the_hash_is_that_of_its_definition(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    record(docs, trace_id, ids, [0.1 * n for n in range(6)], 2)
    rows = docs.execute(
        "select model, rank, chunk_id, score, is_returned, recorded_at, rerank_hash"
        " from ragdb.trace_reranks(%s)",
        (trace_id,),
    ).fetchall()
    fields = [b"ragdb.rerank/1", one(docs, "select trace_hash from ragdb.get_trace(%s)", trace_id)]
    epoch = datetime.fromisoformat("2000-01-01 00:00:00+00")
    for model, rank, chunk_id, score, is_returned, recorded_at, _ in rows:
        passed = recorded_at - epoch
        microseconds = (passed.days * 86400 + passed.seconds) * 10**6 + passed.microseconds
        fields += [
            model.encode(),
            struct.pack(">i", rank),
            chunk_id.encode(),
            struct.pack(">d", score),
            bytes([is_returned]),
            struct.pack(">q", microseconds),
        ]
    assert [row[-1] for row in rows] == [fields_hash(*fields), *[None] * 5]


def test_nobody_edits_a_reranking_and_an_edit_is_found(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    record(docs, trace_id, ids, range(6))
    for change in ("update ragdb.retrieval_reranks set score = 9", "delete from ragdb.retrieval_reranks"):  # fmt: skip
        with raises(docs, "RG414", "refused"):
            docs.execute(change)
    intact = "select field, is_intact from ragdb.verify_trace(%s) where field like 'rerank%%'"
    assert docs.execute(intact, (trace_id,)).fetchall() == [("rerank_hash", True), ("rerank_mac", True)]  # fmt: skip
    (partition,) = docs.execute("select distinct tableoid::regclass::text from ragdb.retrieval_reranks").fetchall()[0]  # fmt: skip
    for change in (
        "set score = score + 0.5 where rank = 3",
        "set is_returned = false where rank = 6",
        "set model = 'other' where rank = 2",
        "set chunk_id = 'd9' where rank = 2",
        "set recorded_at = recorded_at + interval '1 second' where rank = 2",
    ):
        with docs.transaction(force_rollback=True):
            docs.execute(f"alter table {partition} disable trigger all")
            docs.execute(f"update {partition} {change}")
            assert docs.execute(intact, (trace_id,)).fetchall()[0] == ("rerank_hash", False), change
            assert docs.execute("select verdict, cause, detail like '%%rerank_hash' from ragdb.replay(%s)", (trace_id,)).fetchall() == [("drifted", "trace_tampered", True)]  # fmt: skip


def test_a_reranking_is_signed_where_there_is_a_key(docs: Connection) -> None:
    docs.execute("select ragdb.create_signing_key('k')")
    trace_id, ids = retrieve(docs)
    record(docs, trace_id, ids, range(6))
    verify = "select field from ragdb.verify_trace(%s) where not is_intact"
    assert docs.execute(verify, (trace_id,)).fetchall() == []
    (partition,) = docs.execute("select distinct tableoid::regclass::text from ragdb.retrieval_reranks").fetchall()[0]  # fmt: skip
    docs.execute(f"alter table {partition} disable trigger all")
    # whoever edits a row can compute its hash again, and not the signature
    docs.execute(f"update {partition} set score = 77 where rank = 1")
    docs.execute(
        f"update {partition} r set rerank_hash = v.recomputed::text::bytea from (select '\\x' || recomputed as recomputed"
        " from ragdb.verify_trace(%s) where field = 'rerank_hash') v where r.rank = 1",
        (trace_id,),
    )
    assert docs.execute(verify, (trace_id,)).fetchall() == [("rerank_mac",)]


@OLDER_BY_NIGHT
def test_rerankings_lie_in_the_month_of_their_trace_and_go_with_it(docs: Connection) -> None:
    docs.execute("select set_config('ragdb.now', '2031-05-31 23:59:59+00', true)")
    docs.execute("select ragdb.maintain()")
    trace_id, ids = retrieve(docs)
    docs.execute("select set_config('ragdb.now', '2031-06-01 00:00:30+00', true)")
    record(docs, trace_id, ids, range(6))
    assert one(docs, "select distinct tableoid::regclass::text from ragdb.retrieval_reranks") == (
        "ragdb.retrieval_reranks_2031_05"
    )
    docs.execute("select set_config('ragdb.now', '2031-07-02 00:00:00+00', true)")
    dropped = docs.execute("select * from ragdb.drop_traces_before('2031-06-01')").fetchall()
    assert [(traces, hits) for _, traces, hits in dropped][-1] == (1, 6)
    assert one(docs, "select count(*) from ragdb.retrieval_reranks") == 0
    with raises(docs, "RG407"):
        docs.execute("select ragdb.trace_reranks(%s)", (trace_id,))


# ---- what follows from a reranking --------------------------------------------------------------


def test_the_pack_of_a_trace_is_what_its_caller_was_given(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    packed = "select jsonb_path_query_array(ragdb.build_evidence_pack(%s), '$.chunks[*].chunk_id')"
    assert one(docs, packed, trace_id) == ids
    record(docs, trace_id, ids, [0, 5, 1, 4, 2, 3], 3)
    assert one(docs, packed, trace_id) == [ids[1], ids[3], ids[5]]


def test_why_not_names_the_reranker(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    record(docs, trace_id, ids, range(6), 2)
    asked = "select step, reason from ragdb.why_not(%s, %s)"
    assert docs.execute(asked, (trace_id, ids[0])).fetchall() == [
        ("rerank", "tiny put it from rank 1 to 6, and the first 2 were returned")
    ]
    assert docs.execute(asked, (trace_id, ids[4])).fetchall() == [
        ("hit", "it was returned at rank 2, where tiny put it from 5")
    ]


def test_bi_shows_both_orders(docs: Connection) -> None:
    trace_id, ids = retrieve(docs)
    plain, _ = retrieve(docs)
    record(docs, trace_id, ids, range(6), 2)
    rows = docs.execute(
        "select rank, rerank_rank, rerank_score, reranker, is_returned"
        " from bi.fact_retrieved_chunk where trace_id = %s order by rank",
        (str(trace_id),),
    ).fetchall()
    assert rows == [(n + 1, 6 - n, float(n), "tiny", n >= 4) for n in range(6)]
    assert docs.execute(
        "select distinct reranker, is_returned from bi.fact_retrieved_chunk where trace_id = %s",
        (str(plain),),
    ).fetchall() == [(None, True)]


# ---- contracts ----------------------------------------------------------------------------------


def apply(db: Connection, text: str = CONTRACT) -> None:
    db.execute("select * from ragdb.apply_contract(%s, %s)", (text, "c"))


def test_a_contract_names_a_reranker_that_was_bound(docs: Connection) -> None:
    with raises(docs, "RG440", "rerank of retriever"):
        apply(docs, CONTRACT.replace("rerank=tiny", "rerank=tyni"))
    assert docs.execute(
        "select rule, line, \"column\", hint from ragdb.validate_contract(%s, 'c')",
        (CONTRACT.replace("rerank=tiny", "rerank=tyni"),),
    ).fetchall() == [("rag-retriever-rerank-invalid", 2, 50, "did you mean tiny?")]
    apply(docs)
    assert one(docs, "select reranker from ragdb.get_retriever('R')") == "tiny"
    apply(docs, CONTRACT.replace("rerank=tiny", "rerank=none"))
    assert one(docs, "select reranker from ragdb.get_retriever('R')") is None


def test_what_was_declared_with_a_reranker_is_not_returned_without_one(docs: Connection) -> None:
    apply(docs)
    for call in (
        "ragdb.search_with('R', 'refund')",
        "ragdb.retrieve_with(null, 'refund', rag => 'A')",
    ):
        with raises(docs, "RG415", "is reranked by"):
            docs.execute(f"select * from {call}")
        without = call[:-1] + ", rerank => 'none')"
        assert len(docs.execute(f"select * from {without}").fetchall()) == 2
        with raises(docs, "RG400", "rerank is"):
            docs.execute(f"select * from {call[:-1]}, rerank => 'tiny')")


def test_a_tool_returns_the_order_after_reranking(docs: Connection) -> None:
    apply(docs)
    assert docs.execute("select reranker from ragdb.list_tools()").fetchall() == [("tiny",)]
    candidates = docs.execute("select * from ragdb.tool_candidates('T')").fetchall()
    assert len(candidates) == 6
    assert {(reranker, query) for reranker, query, _, _ in candidates} == {("tiny", "refund")}
    scores = {chunk_id: len(passage) for _, _, chunk_id, passage in candidates}
    longest = sorted(scores, key=lambda chunk_id: -scores[chunk_id])[:2]
    for function in ("search_tool", "retrieve_tool"):
        with raises(docs, "RG415", "is reranked by"):
            docs.execute(f"select ragdb.{function}('T')")
        wrong: Any
        for wrong in ({}, [], {longest[0]: 1}, {**scores, longest[0]: "x"}):
            with raises(docs, "RG423"):
                docs.execute(f"select ragdb.{function}('T', rerank_scores => %s)", (Jsonb(wrong),))
        made = one(docs, f"select ragdb.{function}('T', rerank_scores => %s)", Jsonb(scores))
        assert [chunk["id"] for chunk in made["chunks"]] == longest
        assert [c["provenance"]["rerank_score"] for c in made["chunks"]] == [scores[i] for i in longest]  # fmt: skip
        assert [c["provenance"]["rank"] for c in made["chunks"]] == [1, 2]
    assert one(docs, "select count(*) from ragdb.retrieval_reranks") == 6


# ---- evaluation ---------------------------------------------------------------------------------


def scores_of(db: Connection, score: Callable[[str, str], float]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for reranker, query, chunk_id, passage in db.execute(
        "select * from ragdb.eval_candidates('A')"
    ):
        assert reranker == "tiny"
        scores.setdefault(query, {})[chunk_id] = score(query, passage)
    return scores


def test_a_run_is_of_the_ranking_after_reranking(docs: Connection) -> None:
    apply(docs)
    labels = [{"source": f"d{n}", "grade": n} for n in range(6)]
    docs.execute(
        "select ragdb.import_eval('A', 'V', %s)",
        (Jsonb([{"name": "i", "query": "refund word", "labels": labels}]),),
    )
    # longer texts are better here, and worse to BM25
    scores = scores_of(docs, lambda query, passage: float(len(passage)))
    assert {query: len(of) for query, of in scores.items()} == {
        "refund": 6, "refund number": 6, "refund word": 6
    }  # fmt: skip
    run_id, reranker = docs.execute(
        "select run_id, reranker from ragdb.run_eval('A', rerank_scores => %s)", (Jsonb(scores),)
    ).fetchall()[0]
    assert reranker == "tiny"
    measures: Any = ir_measures
    ranking = [
        measures.ScoredDoc(f"q{case_no}", source, -rank)
        for case_no, rank, source in docs.execute(
            "select case_no, rank, item from ragdb.eval_items where run_id = %s", (run_id,)
        )
    ]
    # the two longest of the eight that were found
    assert [doc.doc_id for doc in ranking if doc.query_id == "q3"] == ["d5", "d4"]
    qrels = [measures.Qrel("q3", f"d{n}", n) for n in range(6)]
    wanted = measures.calc_aggregate([measures.nDCG @ 10], qrels, [d for d in ranking if d.query_id == "q3"])  # fmt: skip
    found = one(docs, "select value from ragdb.eval_metrics(%s) where case_no = 3 and metric = 'ndcg@10'", run_id)  # fmt: skip
    assert found == pytest.approx(wanted[measures.nDCG @ 10], abs=1e-9)
    traces = docs.execute(
        "select t.limit_requested, count(r), count(r) filter (where r.is_returned)"
        " from ragdb.eval_case_results(%s) c, ragdb.get_trace(c.trace_id) t, ragdb.trace_reranks(t.id) r group by c.case_no, 1",
        (run_id,),
    ).fetchall()
    assert traces == [(8, 6, 2)] * 3


def test_a_case_inside_a_slice_is_reranked_too(docs: Connection) -> None:
    docs.execute("select ragdb.create_signing_key('k')")
    turns = [message(n, [n - 1] if n > 1 else [], text="refund " * n) for n in range(1, 5)]
    put_conversations(docs, "docs", conversation(turns))
    apply(docs, CONTRACT.replace("query=refund sources=d3", f"query=refund anchor={uuid(1)}"))
    scores = scores_of(docs, lambda query, passage: float(len(passage)))
    # the slice and nothing else
    assert set(scores["refund"]) == {uuid(n) for n in range(1, 5)}
    run_id = one(docs, "select run_id from ragdb.run_eval('A', rerank_scores => %s)", Jsonb(scores))
    found = docs.execute(
        "select r.chunk_id, t.is_admissible from ragdb.eval_case_results(%s) c,"
        " ragdb.get_trace(c.trace_id) t, ragdb.trace_reranks(t.id) r"
        " where c.case_no = 1 and r.is_returned order by r.rank",
        (run_id,),
    ).fetchall()
    assert found == [(uuid(4), True), (uuid(3), True)]


def test_a_run_without_scores_is_refused_and_a_missing_one_fails_its_case(docs: Connection) -> None:
    apply(docs)
    for function in ("run_eval", "challenge_eval"):
        with raises(docs, "RG415", "is reranked by"):
            docs.execute(f"select ragdb.{function}('A')")
        for none in ("[]", "3"):
            with raises(docs, "RG442", "rerank_scores is not an object"):
                docs.execute(f"select ragdb.{function}('A', rerank_scores => %s::jsonb)", (none,))
    scores = scores_of(docs, lambda query, passage: 1.0)
    short = dict(list(scores["refund"].items())[1:])
    wrong: Any
    for wrong in (short, 3, {"d1": "high"}, {"d1": None}, {**short, "d1": 10**400}, None):
        given = Jsonb({**scores, "refund": wrong})
        run_id = one(docs, "select run_id from ragdb.run_eval('A', rerank_scores => %s)", given)
        found = docs.execute(
            "select name, status, error_code from ragdb.eval_case_results(%s)", (run_id,)
        ).fetchall()
        assert found == [("c", "error", "RG423"), ("e", "passed", None)], wrong


def test_a_challenge_starts_from_the_reranked_order(docs: Connection) -> None:
    apply(
        docs,
        CONTRACT.replace(
            "sources=d3\n", "\n      ragAssert kind=rankLte value=d5 count=1 required=true\n"
        ),
    )
    scores = Jsonb(scores_of(docs, lambda query, passage: float(len(passage))))
    rows = dict(
        docs.execute(
            "select name, caught from ragdb.challenge_eval('A', rerank_scores => %s) where subject = 'retriever'",
            (scores,),
        ).fetchall()
    )
    noticed = {name for name, caught in rows.items() if caught}
    assert noticed >= {"reversed order", "first result dropped", "off by one page"}
    assert "last result dropped" not in noticed


def test_four_times_as_many_are_retrieved_and_a_thousand_at_most(db: Connection) -> None:
    depths = [one(db, "select ragdb.rerank_depth(%s)", k) for k in (1, 10, 250, 251, 1000, 2000)]
    assert depths == [4, 40, 1000, 1000, 1000, 2000]
    assert one(db, "select ragdb.rerank_depth(2147483647)") == 2147483647
