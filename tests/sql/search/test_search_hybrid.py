"""A hybrid search joins both legs: every candidate has its exact score of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragdb import errors
from ragdb.client.calling import Reals
from tests.conftest import Connection, Server
from tests.embedding import ENCODER, embed, make_corpus, one, put

TEXTS = {
    "a": "the quick brown fox",
    "b": "quick foxes run away",
    "c": "the lazy dog sleeps",
    "d": "a slow red fox",
    "e": "dogs and foxes",
}
QUERY = "quick fox"
COLUMNS = "text, score, lexical_score, semantic_score, lexical_rank, semantic_rank, coverage, mode"


def fill(db: Connection) -> None:
    make_corpus(db, TEXTS)
    embed(db)


@pytest.fixture
def docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with any_version.rolled_back(any_filled) as db:
        yield db


def search(db: Connection, query: str = QUERY, **how: Any) -> list[Any]:
    how.setdefault("query_embedding", Reals(ENCODER.encode([query])))
    named = "".join(f", {key} => %({key})s" for key in how)
    return db.execute(
        f"select {COLUMNS} from ragdb.search('docs', %(query)s{named}) order by rank",
        {"query": query, **how},
    ).fetchall()


def test_the_score_is_the_weighted_mean_of_the_legs(docs: Connection) -> None:
    lexical = {row[0]: row[1] for row in search(docs, mode="lexical")}
    semantic = {row[0]: row[1] for row in search(docs, mode="semantic")}
    for weight in (0, 0.3, 1):
        hits = search(docs, mode="hybrid", lexical_weight=weight)
        assert {row[0] for row in hits} == set(TEXTS.values())
        for text, score, words, near, *_ in hits:
            assert words == lexical.get(text, 0)
            assert near == semantic[text]
            assert score == pytest.approx(weight * words + (1 - weight) * near, abs=1e-6)
        assert [row[1] for row in hits] == sorted((row[1] for row in hits), reverse=True)


def test_reciprocal_ranks_are_divided_by_their_maximum(docs: Connection) -> None:
    for _, score, _, _, by_words, by_meaning, _, _ in search(docs, fusion="rrf"):
        legs = [0.5 / (60 + rank) if rank else 0 for rank in (by_words, by_meaning)]
        assert score == pytest.approx(61 * sum(legs), abs=1e-6)
    assert search(docs, "quick foxes run away", fusion="rrf")[0][1] == 1


def places(scores: list[float | None], over: float) -> list[int | None]:
    """One more than how many are better; null for what has no score over one."""
    known = [score for score in scores if score is not None]
    return [
        None if score is None or score <= over else 1 + sum(other > score for other in known)
        for score in scores
    ]


@pytest.mark.parametrize(
    "how", [{"mode": "hybrid"}, {"fusion": "rrf"}, {"mode": "lexical"}, {"mode": "semantic"}]
)
def test_equal_scores_of_a_leg_share_a_rank(docs: Connection, how: dict[str, str]) -> None:
    put(docs, {f"same-{n}": "a quick fox" for n in range(4)} | {"last": "quick red wolves"})
    embed(docs)
    hits = search(docs, **how)
    assert [row[4] for row in hits] == places([row[2] for row in hits], 0)
    assert [row[5] for row in hits] == places([row[3] for row in hits], -1)
    same = [row[1:] for row in hits if row[0] == "a quick fox"]
    assert len(same) == 4
    assert len(set(same)) == 1


def test_what_ties_at_the_depth_of_a_leg_is_a_candidate(docs: Connection) -> None:
    put(docs, {f"tied-{n}": f"wolf w{n}" for n in range(60)})
    last = one(
        docs,
        "select text from ragdb.chunks where starts_with(text, 'wolf')"
        ' order by chunk_id collate "C" desc limit 1',
    )
    put(docs, {f"near-{n}": last.split()[1] for n in range(30)})
    embed(docs)
    near = Reals(ENCODER.encode([last.split()[1]]))
    hits = search(docs, "wolf", mode="hybrid", lexical_weight=0.5, query_embedding=near)
    # others may have the same vector
    assert (last, 1, None) in [(row[0], row[4], row[5]) for row in hits if row[1] == hits[0][1]]


def test_the_default_mode_is_hybrid_once_the_query_has_an_embedding(docs: Connection) -> None:
    assert {row[7] for row in search(docs)} == {"hybrid"}
    assert {row[7] for row in search(docs, query_embedding=None)} == {"lexical"}
    docs.execute(
        "select ragdb.put_query_embedding('docs', %s, %s)", (QUERY, Reals(ENCODER.encode([QUERY])))
    )
    assert search(docs, query_embedding=None) == search(docs)
    assert {row[7] for row in search(docs, query_embedding=None)} == {"hybrid"}


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_mode_without_its_embedding_names_both_remedies(docs: Connection, mode: str) -> None:
    with pytest.raises(errors.ModeNotAvailable) as caught, docs.transaction():
        search(docs, mode=mode, query_embedding=None)
    hint = str(caught.value.diag.message_hint)
    assert "query_embedding" in hint
    assert "embed_query" in hint


def test_a_corpus_without_embeddings_is_searched_by_words(docs: Connection) -> None:
    docs.execute("select ragdb.drop_space('docs', 'hash')")
    assert {row[7] for row in search(docs)} == {"lexical"}
    with pytest.raises(errors.ModeNotAvailable, match="has no embeddings"), docs.transaction():
        search(docs, mode="hybrid")


def test_a_chunk_without_embedding_is_found_by_words_and_says_so(docs: Connection) -> None:
    put(docs, {"new": "a new quick fox"})
    hits = {row[0]: row for row in search(docs)}
    assert hits["a new quick fox"][3] is None
    assert hits["a new quick fox"][2] > 0
    assert "a new quick fox" not in {row[0] for row in search(docs, mode="semantic")}


def test_excluded_and_required_words_bind_the_semantic_leg(docs: Connection) -> None:
    for mode in ("semantic", "hybrid"):
        assert {row[0] for row in search(docs, "quick -fox", mode=mode, syntax="web")} == {
            "the lazy dog sleeps"
        }
        for phrase in ('"brown fox"', '+"brown fox"'):
            found = {row[0] for row in search(docs, phrase, mode=mode, syntax="web")}
            assert found == {"the quick brown fox"}
        assert search(docs, "+unheard quick", mode=mode, syntax="web") == []


@pytest.mark.parametrize("mode", [None, "semantic", "hybrid"])
@pytest.mark.parametrize("query", ['"fox quick"', '"unheard of" fox', "+unheard", "+fox -fox"])
def test_what_no_chunk_meets_says_so_in_every_mode(
    docs: Connection, mode: str | None, query: str
) -> None:
    said: list[str | None] = []
    docs.add_notice_handler(lambda d: said.append(d.message_primary))
    assert search(docs, query, mode=mode, syntax="web") == []
    (told,) = said
    assert query in (told or "")
    assert search(docs, query, mode=mode)
    assert said == [told]


def test_filters_act_before_ranking(docs: Connection) -> None:
    for mode in ("semantic", "hybrid"):
        hits = search(docs, mode=mode, k=1, filter='{"source": "c"}')
        assert [row[0] for row in hits] == ["the lazy dog sleeps"]
        chunk = one(docs, "select chunk_id from ragdb.chunks where source = 'd'")
        hits = search(docs, mode=mode, chunk_ids=[chunk])
        assert [row[0] for row in hits] == ["a slow red fox"]


def test_floors_act_on_their_leg(docs: Connection) -> None:
    hits = search(docs)
    assert {row[0] for row in search(docs, min_lexical=0.01)} == {
        row[0] for row in hits if row[2] >= 0.01
    }
    assert {row[0] for row in search(docs, min_semantic=0.3)} == {
        row[0] for row in hits if row[3] >= 0.3
    }
    assert search(docs, "unheard of", min_semantic=0.9) == []


def test_coverage_is_the_share_of_the_query_that_a_chunk_has(docs: Connection) -> None:
    coverage = {row[0]: row[6] for row in search(docs)}
    assert coverage["the quick brown fox"] == pytest.approx(1)
    assert 0 < coverage["a slow red fox"] < 1
    assert coverage["the lazy dog sleeps"] == 0


@pytest.mark.parametrize(
    "how",
    [
        {"fusion": "sum"},
        {"fusion": None},
        {"lexical_weight": 1.1},
        {"lexical_weight": float("nan")},
        {"min_lexical": -1},
        {"min_semantic": None},
        {"mode": "vector"},
    ],
)
def test_an_argument_out_of_range_is_an_error(docs: Connection, how: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidArgument), docs.transaction():
        search(docs, **how)


def test_an_embedding_of_another_model_is_refused(docs: Connection) -> None:
    for bad in ([1.0, 2.0], [float("nan")] * 64, [0.0] * 64):
        with pytest.raises(errors.InvalidEmbedding), docs.transaction():
            search(docs, query_embedding=bad)


def test_a_retrieval_records_the_embedding_it_ran_on(docs: Connection) -> None:
    vector = Reals(ENCODER.encode([QUERY]))
    docs.execute("select ragdb.retrieve('docs', %s, query_embedding => %s)", (QUERY, vector))
    ((mode, digest, model, exact),) = docs.execute(
        "select rank_mode, query_embedding_hash, embedding_model, is_exact"
        " from ragdb.get_trace(ragdb.last_trace_id())"
    ).fetchall()
    assert (mode, model, exact) == ("hybrid", "hash", True)
    kept = one(docs, "select encode(embedding_hash, 'hex') from ragdb.query_embeddings")
    assert kept == digest


def test_a_corpus_that_keeps_nothing_of_queries_keeps_no_hash_of_their_embeddings(
    docs: Connection,
) -> None:
    """By which whoever guesses a query would know that it was asked."""
    docs.execute("update ragdb.corpora set record_query_text = 'none' where name = 'docs'")
    vector = Reals(ENCODER.encode([QUERY]))
    docs.execute("select ragdb.retrieve('docs', %s, query_embedding => %s)", (QUERY, vector))
    found = docs.execute(
        "select rank_mode, query_hash, query_embedding_hash, embedding_model"
        " from ragdb.get_trace(ragdb.last_trace_id())"
    ).fetchall()
    assert found == [("hybrid", None, None, "hash")]
