"""A CrossEncoder reorders hits from Python, the command line, contracts and evals.

Its oracle is sentence-transformers itself, asked for the same pairs. The model is real but small:
two layers over the words of the texts, with weights made here.
"""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ir_measures
import pytest

import ragdb
from ragdb.errors import InvalidRerank, RerankerMismatch, RerankerNotFound
from ragdb.evidence.database import CorpusRetriever, PostgresRetriever
from ragdb.evidence.engine import Engine
from ragdb.evidence.retrieval import RetrievalQuery
from ragdb.evidence.tasks import RagPolicy
from ragdb.models import local, rerank
from tests.conftest import Run
from tests.reranking import LENGTH, digest, make_cross_encoder, predicted, train
from tests.sql.conversations import conversation, message, uuid

MEANINGS = [
    ("dog", "puppy"),
    ("car", "automobile"),
    ("doctor", "physician"),
    ("house", "dwelling"),
]
NOISE = ["very", "near", "old", "new", "big", "small", "red", "blue", "green"]
TEXTS = {f"{said}{n}.md": f"near {said} old {NOISE[n]}" for n in range(2) for _, said in MEANINGS}
CONTRACT = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK=3 rerank=tiny
rag name=A retriever=R citations=true
  grounding requireCitations=true policy=strict
  ragEval name=V metric=nDCG@10 threshold=0.1 mode=contract
"""


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights."""
    words = [*TEXTS.values(), *(asked for asked, _ in MEANINGS)]
    return make_cross_encoder(tmp_path_factory.mktemp("models") / "tiny", words)


@pytest.fixture(scope="session")
def taught(tiny: Path) -> Path:
    """The same, having learnt which words mean the same."""
    folder = tiny.with_name("taught")
    shutil.copytree(tiny, folder)
    train(folder, MEANINGS, NOISE)
    return folder


@pytest.fixture
def db(clone: str, tiny: Path) -> Any:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        for source, text in TEXTS.items():
            db.put_text("docs", source, text, source[:-4].title())
        db.bind_reranker("tiny", str(tiny), digest(tiny), LENGTH)
        yield db


@pytest.fixture
def run(run_on: Callable[[str], Run], db: ragdb.Database, clone: str) -> Run:
    return run_on(clone)


def apply(db: ragdb.Database, text: str = CONTRACT) -> None:
    db.apply_contract(text, "c")


def wanted(folder: Path, query: str, hits: Sequence[Any]) -> list[tuple[str, float]]:
    """Chunks and scores in the order that sentence-transformers gives their titles and texts."""
    scores = predicted(folder, query, [f"{hit.title}\n{hit.text}" for hit in hits])
    pairs = zip([hit.chunk_id for hit in hits], scores, range(len(hits)), strict=True)
    return [(chunk, score) for chunk, score, n in sorted(pairs, key=lambda p: (-p[1], p[2]))]


class Odd:
    """A model that gives what a test says."""

    name = "tiny"

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def score(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        return self.scores


# ---- the model ----------------------------------------------------------------------------------


def test_scores_are_those_of_sentence_transformers_in_any_company(tiny: Path) -> None:
    model = rerank.CrossEncoderReranker("tiny", str(tiny), None, digest(tiny), LENGTH)
    passages = [*TEXTS.values(), "near " * 40, "", "unheard of"]
    scores = rerank.score(model, "near dog", passages)
    assert scores == predicted(tiny, "near dog", passages)
    # forty of one length beside one of another are other batches
    alone = [rerank.score(model, "near dog", [passage])[0] for passage in passages]
    assert alone == pytest.approx(scores, rel=1e-5)
    assert rerank.score(model, "near dog", []) == []


def test_what_is_too_long_is_cut_as_the_model_cuts_it(tiny: Path) -> None:
    model = rerank.CrossEncoderReranker("tiny", str(tiny), None, digest(tiny), LENGTH)
    # [CLS] 40 [SEP] 5 [SEP] is all that fits: of the longer one, 40 are read
    long, longer = "near " * 40 + "puppy", "near " * 40 + "dwelling blue"
    assert rerank.score(model, long, ["old red big new very"]) == rerank.score(
        model, longer, ["old red big new very"]
    )
    assert rerank.score(model, long, ["old"]) != rerank.score(model, longer, ["old"])


def test_weights_that_changed_are_refused(db: ragdb.Database, tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(tiny, folder)
    db.bind_reranker("tiny", str(folder), digest(tiny), LENGTH)
    hits = db.search("docs", "near")
    assert db.rerank("near", hits, "tiny")
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    rerank._load.cache_clear()  # another process
    with pytest.raises(RerankerMismatch, match="tampered") as error:
        db.rerank("near", hits, "tiny")
    assert error.value.sqlstate == "RG422"
    (folder / "model.safetensors").unlink()
    with pytest.raises(RerankerNotFound, match=r"no model\.safetensors"):
        db.rerank("near", hits, "tiny")


def test_what_scores_no_pairs_is_no_reranker(tiny: Path, tmp_path: Path) -> None:
    two = make_cross_encoder(tmp_path / "two", TEXTS.values(), labels=2)
    with pytest.raises(RerankerMismatch, match="2 numbers, not one"):
        rerank.CrossEncoderReranker("two", str(two), None, digest(two), LENGTH)
    with pytest.raises(RerankerMismatch, match="reads 48 tokens, and 49 were bound"):
        rerank.CrossEncoderReranker("tiny", str(tiny), None, digest(tiny), LENGTH + 1)
    with pytest.raises(RerankerNotFound, match="contains no reranker"):
        rerank.describe(local.PACKAGED)
    encoder = tmp_path / "encoder"
    shutil.copytree(tiny, encoder)
    # its head would be made up
    (encoder / "config.json").write_text('{"architectures": ["BertModel"]}')
    with pytest.raises(RerankerMismatch, match="BertModel, which cannot score"):
        rerank.describe(str(encoder))
    (encoder / "config.json").write_text("[]")
    with pytest.raises(RerankerMismatch, match=r"no config\.json"):
        rerank.describe(str(encoder))


def test_without_the_package_the_extra_is_named(
    db: ragdb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = db.search("docs", "near")
    rerank._load.cache_clear()
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(
        RerankerNotFound, match=r"pip install torch 'ragdb-postgres\[embed\]'"
    ) as error:
        db.rerank("near", hits, "tiny")
    assert error.value.sqlstate == "RG421"


# ---- the client ---------------------------------------------------------------------------------


def test_a_search_is_reranked_and_recorded_nowhere(db: ragdb.Database, tiny: Path) -> None:
    hits = db.search("docs", "near", db.rerank_depth(3))
    assert len(hits) == 8
    best = db.rerank("near", hits, "tiny", 3)
    expected = wanted(tiny, "near", hits)
    assert [(hit.chunk_id, hit.rerank_score) for hit in best] == expected[:3]
    assert [hit.rank for hit in best] == [1, 2, 3]
    before = {hit.chunk_id: hit for hit in hits}
    for hit in best:
        old = before[hit.chunk_id]
        assert (hit.retrieval_rank, hit.score, hit.text) == (old.rank, old.score, old.text)
        assert hit.trace_id is None
    assert [chunk for chunk, _ in expected] != [hit.chunk_id for hit in hits]
    assert db.list_traces() == []
    assert [hit.chunk_id for hit in db.rerank("near", hits, "tiny")] == [c for c, _ in expected]


def test_a_retrieval_is_reranked_into_its_trace(db: ragdb.Database, tiny: Path) -> None:
    hits = db.retrieve("docs", "near", 8)
    best = db.rerank("near", hits, "tiny", 2)
    trace_id = hits[0].trace_id
    assert {hit.trace_id for hit in best} == {trace_id}
    rows = db.trace_reranks(trace_id)
    assert [(row.chunk_id, row.score) for row in rows] == wanted(tiny, "near", hits)
    assert [row.is_returned for row in rows] == [True, True, *[False] * 6]
    assert {row.model for row in rows} == {"tiny"}
    assert [hit.chunk_id for hit in db.trace_hits(trace_id)] == [hit.chunk_id for hit in hits]
    assert db.replay(trace_id).verdict == "exact"
    assert all(row.is_intact for row in db.verify_trace(trace_id))


def test_a_coroutine_reranks_alike(db: ragdb.Database, clone: str) -> None:
    async def reranked() -> Any:
        async with await ragdb.aconnect(clone) as other:
            hits = await other.retrieve("docs", "near", 8)
            assert await other.rerank("near", [], "tiny") == []
            return await other.rerank("near", hits, "tiny", 2)

    best = asyncio.run(reranked())
    here = db.rerank("near", db.search("docs", "near", 8), "tiny", 2)
    assert [(hit.chunk_id, hit.rerank_score) for hit in best] == [
        (hit.chunk_id, hit.rerank_score) for hit in here
    ]
    assert len(db.trace_reranks(best[0].trace_id)) == 8


def test_a_slice_is_reranked_into_its_trace(db: ragdb.Database, tiny: Path) -> None:
    texts = [*TEXTS.values()]
    db.create_corpus("chat")
    db.create_signing_key()
    turns = [message(n, [n - 1] if n > 1 else [], text=texts[n - 1]) for n in range(1, 7)]
    db.put_conversations("chat", [conversation(turns)])
    for retrieve in (db.search_slice, db.retrieve_slice):
        hits = retrieve("chat", "near", anchor=uuid(1), k=8)
        assert len(hits) == 6
        scores = predicted(tiny, "near", [hit.text for hit in hits])
        order = sorted(range(6), key=lambda n: -scores[n])
        best = db.rerank("near", hits, "tiny", 4)
        assert [(hit.chunk_id, hit.rerank_score, hit.retrieval_rank) for hit in best] == [
            (hits[n].chunk_id, scores[n], hits[n].rank) for n in order[:4]
        ]
        assert [hit.role for hit in best] == [hits[n].role for n in order[:4]]
    rows = db.trace_reranks(best[0].trace_id)
    assert [row.chunk_id for row in rows] == [hits[n].chunk_id for n in order]
    assert db.get_trace(best[0].trace_id).is_admissible
    assert db.replay(best[0].trace_id).verdict == "exact"


def test_equal_scores_keep_the_order_of_the_retrieval(db: ragdb.Database) -> None:
    hits = db.retrieve("docs", "near", 8)
    best = db.rerank("near", hits, Odd(0, 1, 0, 1, -0.0, 1, 0, 2))
    assert [hit.retrieval_rank for hit in best] == [8, 2, 4, 6, 1, 3, 5, 7]
    rows = db.trace_reranks(hits[0].trace_id)
    assert [row.chunk_id for row in rows] == [hit.chunk_id for hit in best]


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([math.nan] * 8, "the score nan"),
        ([1.0] * 7 + [math.inf], "the score inf"),
        ([1.0] * 7, "7 scores for 8"),
        ([1.0] * 9, "9 scores for 8"),
        ([], "0 scores for 8"),
    ],
)
def test_a_model_that_misbehaves_is_refused(
    db: ragdb.Database, scores: list[float], says: str
) -> None:
    hits = db.retrieve("docs", "near", 8)
    with pytest.raises(InvalidRerank, match=says) as error:
        db.rerank("near", hits, Odd(*scores))
    assert error.value.sqlstate == "RG423"
    assert db.trace_reranks(hits[0].trace_id) == []


def test_an_unforeseen_exception_of_a_local_model_is_a_refusal_with_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret")

    model = object.__new__(rerank.CrossEncoderReranker)
    vars(model).update(name="tiny", model=SimpleNamespace(predict=fail))
    with pytest.raises(InvalidRerank, match=r"^reranker 'tiny' fails \(ZeroDivisionError\)$"):
        rerank.score(model, "a query", ["a passage"])

    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text('{"architectures": ["TinyForSequenceClassification"]}')
    monkeypatch.setattr(local, "find_spec", lambda _: True)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(RerankerNotFound, match=r"cannot be loaded \(ModuleNotFoundError: "):
        rerank.CrossEncoderReranker("tiny", str(tmp_path), None, digest(tmp_path), LENGTH)


def test_what_cannot_be_reranked_is_refused(db: ragdb.Database) -> None:
    hits = db.retrieve("docs", "near", 2)
    with pytest.raises(RerankerNotFound, match=r"'tyni' does not exist \(there is tiny\)"):
        db.rerank("near", hits, "tyni")
    with pytest.raises(ValueError, match="several retrievals"):
        db.rerank("near", [*hits, *db.retrieve("docs", "near", 2)], "tiny")
    with pytest.raises(ValueError, match="k is 0"):
        db.rerank("near", hits, "tiny", 0)
    assert db.rerank("near", [], "tiny") == []


def test_a_corpus_in_the_place_of_hits_is_refused(db: ragdb.Database) -> None:
    """A search takes the corpus before the query, and a reranking the hits behind it."""
    with pytest.raises(TypeError, match=r"^rerank\(\) was given 'a query' for 'hits': give a list"):
        db.rerank("docs", "a query", "any")  # type: ignore[arg-type]


# ---- retrievers ---------------------------------------------------------------------------------


def test_a_retriever_of_a_contract_reranks_as_declared(db: ragdb.Database, tiny: Path) -> None:
    apply(db)
    retriever = PostgresRetriever(db, "R")
    chunks = retriever.retrieve(RetrievalQuery("near", 3))
    expected = wanted(tiny, "near", db.search("docs", "near", 12, "lexical"))[:3]
    assert [(c.chunk_id, c.metadata["rerank_score"]) for c in chunks] == expected
    assert retriever.trace_id is not None
    trace = db.get_trace(retriever.trace_id)
    assert (trace.retriever, trace.limit_requested, trace.limit_returned) == ("R", 12, 8)
    plain = PostgresRetriever(db, "R", rerank="none").retrieve(RetrievalQuery("near", 3))
    assert [c.chunk_id for c in plain] == [h.chunk_id for h in db.search("docs", "near", 3)]
    assert "rerank_score" not in plain[0].metadata


def test_the_engine_answers_from_what_was_reranked(db: ragdb.Database, taught: Path) -> None:
    db.bind_reranker("taught", str(taught), digest(taught), LENGTH)
    retriever = CorpusRetriever(db, "docs", rerank="taught")
    policy = RagPolicy("on", 2, True)
    answer = Engine(db, retriever=retriever, policy=policy).run("near the old doctor")
    (trace_id,) = answer.trace_summary["trace_ids"]
    asked = db.get_trace(trace_id).query_text
    assert asked is not None
    hits = db.search("docs", asked, 8, "lexical")
    assert len(hits) == 8
    expected = [chunk for chunk, _ in wanted(taught, asked, hits)][:2]
    assert answer.pack is not None
    assert [packed.chunk.chunk_id for packed in answer.pack.chunks] == expected
    theirs: Any = db.build_evidence_pack(trace_id)
    assert theirs["canonical_text"] == answer.pack.canonical_text


# ---- the command line ---------------------------------------------------------------------------


def test_bind_finds_the_digest_and_the_length(run: Run, db: ragdb.Database, tiny: Path) -> None:
    done = run("reranker", "bind", "again", "--source", tiny)
    assert done.exit_code == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(run("reranker", "ls", "--json").stdout)}
    assert rows["again"]["weights_sha256"] == digest(tiny)
    assert (rows["again"]["max_tokens"], rows["again"]["source"]) == (LENGTH, str(tiny))
    wrong = run("reranker", "bind", "more", "--source", tiny, "--weights-sha256", "0" * 64)
    assert (wrong.exit_code, "tampered" in wrong.stderr) == (3, True)
    missing = run("reranker", "bind", "more", "--source", "no/such/model")
    assert (missing.exit_code, "a folder here" in missing.stderr) == (2, True)


def test_search_prints_both_scores(run: Run, db: ragdb.Database, tiny: Path) -> None:
    expected = wanted(tiny, "near", db.search("docs", "near", 8))[:2]
    found = json.loads(run("search", "near", "-c", "docs", "-k2", "--rerank=tiny", "--json").stdout)
    assert [(hit["chunk_id"], hit["rerank_score"]) for hit in found] == expected
    shown = run("search", "near", "-c", "docs", "-k2", "--rerank=tiny", "--trace")
    assert shown.exit_code == 0, shown.stderr
    assert f"reranked {expected[0][1]:.4g}, was {found[0]['retrieval_rank']}" in shown.stdout
    trace = shown.stderr.split("trace ")[1].split()[0]
    hits = json.loads(run("trace", "show", trace, "--json").stdout)["hits"]
    assert len(hits) == 8
    by_rank = {hit["rerank_rank"]: hit for hit in hits}
    assert [(by_rank[n]["chunk_id"], by_rank[n]["is_returned"]) for n in (1, 2, 3)] == [
        (expected[0][0], True), (expected[1][0], True), (by_rank[3]["chunk_id"], False)
    ]  # fmt: skip
    assert f"{expected[0][1]:.4f}" in run("trace", "show", trace).stdout
    unknown = run("search", "near", "-c", "docs", "--rerank", "tyni")
    assert (unknown.exit_code, "'tyni' does not exist" in unknown.stderr) == (2, True)


def test_ask_and_pack_take_what_the_reranker_puts_first(
    run: Run, db: ragdb.Database, taught: Path
) -> None:
    assert run("reranker", "bind", "taught", "--source", taught).exit_code == 0
    for query in ("near the dog", "near the house"):
        # the best of the four that are retrieved to leave one
        best, score = wanted(taught, query, db.search("docs", query, 4))[0]
        evidence = json.loads(
            run("pack", query, "-k1", "--rerank=taught", "--json", "-c", "docs").stdout
        )
        assert [chunk["chunk_id"] for chunk in evidence["chunks"]] == [best]
        answered = json.loads(
            run("ask", query, "-k1", "--rerank=taught", "--json", "-c", "docs").stdout
        )
        first = db.trace_reranks(answered["trace_id"])[0]
        assert (first.model, first.chunk_id, first.score) == ("taught", best, score)
        assert db.get_trace(first.trace_id).query_text == query


def test_an_eval_measures_the_order_after_reranking(
    run: Run, db: ragdb.Database, taught: Path, tmp_path: Path
) -> None:
    db.bind_reranker("taught", str(taught), digest(taught), LENGTH)
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text(
        "".join(json.dumps({"_id": asked, "text": f"near {asked}"}) + "\n" for asked, _ in MEANINGS)
    )
    relevant = [(asked, f"{said}{n}.md") for asked, said in MEANINGS for n in range(2)]
    qrels.write_text("q\td\ts\n" + "".join(f"{asked}\t{source}\t1\n" for asked, source in relevant))
    measures: Any = ir_measures
    found: dict[str, Any] = {}
    for name in ("none", "taught"):
        apply(db, CONTRACT.replace("rerank=tiny", f"rerank={name}"))
        given = run("eval", "import", "A", "V", "--queries", queries, "--qrels", qrels)
        assert given.exit_code == 0, given.stderr
        report = run("eval", "run", "A")
        assert report.exit_code in (0, 1), report.stderr
        assert ("by lexical and reranker taught," in report.stdout) == (name == "taught")
        (done,) = db.list_eval_runs(count=1)
        assert done.reranker == (None if name == "none" else name)
        # what the model itself says of the first stage's twelve
        ranking = []
        for asked, _ in MEANINGS:
            hits = db.search("docs", f"near {asked}", 12, "lexical")
            order = [hit.chunk_id for hit in hits]
            if name == "taught":
                order = [chunk for chunk, _ in wanted(taught, f"near {asked}", hits)]
            sources = {hit.chunk_id: hit.source for hit in hits}
            ranking += [measures.ScoredDoc(asked, sources[c], -n) for n, c in enumerate(order[:3])]
        judged = [measures.Qrel(asked, source, 1) for asked, source in relevant]
        wanted_ndcg = measures.calc_aggregate([measures.nDCG @ 10], judged, ranking)
        assert done.metric_value == pytest.approx(wanted_ndcg[measures.nDCG @ 10], abs=1e-9)
        found[name] = done.metric_value
        challenged = run("eval", "challenge", "A", "--json")
        assert challenged.exit_code in (0, 1), challenged.stderr
    assert found["taught"] > found["none"] + 0.3
