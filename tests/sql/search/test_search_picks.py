"""A search picks among what ranks, and goes on until it has as many hits as were asked for."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import psycopg
import pytest

from ragdb.client.calling import Reals
from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import ENCODER, embed, make_corpus
from tests.sql.lexical_twin import put
from tests.sql.made_corpus import K1, B, Made


def hits(db: Connection, corpus: str, query: str, **how: Any) -> list[Any]:
    named = "".join(f", {name} => %({name})s" for name in how)
    return db.execute(
        "select chunk_id, source, score, context, text"
        f" from ragdb.search(%(corpus)s, %(query)s{named}) order by rank",
        {"corpus": corpus, "query": query, **how},
    ).fetchall()


def impacts(text: str, pivot: float) -> dict[str, float]:
    counts = Counter(text.split())
    norm = K1 * (1 - B + B * counts.total() / pivot)
    return {word: tf * (K1 + 1) / (tf + norm) for word, tf in counts.items()}


def cosine(a: dict[str, float], b: dict[str, float]) -> float:
    product = sum(a[word] * b[word] for word in a.keys() & b.keys())
    return product / math.hypot(*a.values()) / math.hypot(*b.values())


@pytest.mark.by_day(3)
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize(
    ("per_document", "collapse"), [(1, False), (2, False), (None, True), (1, True), (3, True)]
)
def test_hits_are_picked_as_by_brute_force(
    db: Connection, per_document: int | None, collapse: bool, blocks: bool
) -> None:
    made = Made(db, vocabulary=120, longest=4, chunks_per_document=9)
    made.add(2_400)
    if blocks:
        db.execute("select ragdb.optimize_corpus('made')")
    pivot: float = made.value("pivot")
    rows = db.execute("select chunk_id, text, doc_no from ragdb.chunks").fetchall()
    said = {chunk: impacts(text, pivot) for chunk, text, _ in rows}
    documents = {chunk: doc_no for chunk, _, doc_no in rows}
    for asked in (made.words[:1], made.words[:3], made.words[60:64]):
        for k in (5, 40):
            expected: list[str] = []
            for chunk, *_ in made.best(asked, 2_400):
                if len(expected) == k:
                    break
                if per_document is not None and per_document <= sum(
                    documents[e] == documents[chunk] for e in expected
                ):
                    continue
                if collapse and any(
                    round(cosine(said[chunk], said[e]), 4) >= 0.95 for e in expected
                ):
                    continue
                expected.append(chunk)
            found = hits(
                db, "made", " ".join(asked), k=k, per_document=per_document, collapse=collapse
            )
            assert [hit[0] for hit in found] == expected


def test_one_document_of_a_thousand_chunks_leaves_room_for_the_others(db: Connection) -> None:
    made = Made(db, vocabulary=10, chunks_per_document=1_500)
    made.add([["qa", "qa"]] * 1_500)
    made.chunks_per_document = 1
    made.add([["qa", "qb", "qc"]] * 4)
    found = hits(db, "made", "qa", k=5, per_document=1)
    assert len(found) == 5
    assert [hit[0] for hit in found[1:]] == made.ids[1_500:]


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_picking_goes_on_in_every_mode(db: Connection, mode: str) -> None:
    make_corpus(db, {f"same{n}": "quick brown fox" for n in range(30)} | {"x": "a slow red dog"})
    embed(db)
    vector = Reals(ENCODER.encode(["quick brown fox"]))
    found = hits(db, "docs", "quick fox", k=2, mode=mode, query_embedding=vector, collapse=True)
    assert [hit[4] for hit in found] == ["quick brown fox", "a slow red dog"]


def test_the_same_text_in_two_corpora_is_shown_once(db: Connection) -> None:
    for corpus in ("one", "two"):
        db.execute("select ragdb.create_corpus(%s)", (corpus,))
        put(
            db,
            corpus,
            [text_document("a", "the beans are cold"), text_document(corpus, f"beans {corpus}")],
        )
    statement = (
        "select array_agg(source order by rank)"
        " from ragdb.search(array['one', 'two'], 'beans', collapse => %s)"
    )
    assert db.execute(statement, (False,)).fetchone() == (["a", "a", "one", "two"],)
    assert db.execute(statement, (True,)).fetchone() == (["a", "one", "two"],)


def test_diverse_hits_are_those_of_maximal_marginal_relevance(db: Connection) -> None:
    texts = {f"d{n}": f"qa qb q{'cdefg'[n % 5]} q{'hi'[n % 2]}" for n in range(20)}
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(db, "docs", [text_document(uri, text) for uri, text in texts.items()])
    (pivot,) = db.execute("select pivot from ragdb.corpora where name = 'docs'").fetchone() or (0,)
    pool = hits(db, "docs", "qa qc qh", k=20)
    left = list(range(20))
    expected: list[int] = []
    said = [impacts(hit[4], pivot) for hit in pool]
    while len(expected) < 5:
        best = max(
            left,
            key=lambda n: (
                0.5 * pool[n][2]
                - 0.5 * max((round(cosine(said[n], said[e]), 4) for e in expected), default=0),
                -n,
            ),
        )
        left.remove(best)
        expected.append(best)
    found = hits(db, "docs", "qa qc qh", k=5, diversity=0.5)
    assert [hit[0] for hit in found] == [pool[n][0] for n in expected]
    assert [hit[0] for hit in found] != [hit[0] for hit in pool[:5]]


def test_diversity_compares_embeddings_where_there_are_some(db: Connection) -> None:
    make_corpus(db, {"a": "fox one", "b": "fox one two", "c": "fox four"})
    embed(db)
    db.execute(
        "update ragdb.chunk_embeddings e set embedding = o.embedding"
        " from ragdb.chunks c, ragdb.chunk_embeddings o, ragdb.chunks s"
        " where c.chunk_no = e.chunk_no and c.source = 'c'"
        " and s.chunk_no = o.chunk_no and s.source = 'a'"
    )
    found = hits(db, "docs", "fox", k=2, mode="lexical", diversity=0.9)
    assert {hit[1] for hit in found} == {"b", found[0][1]}


def test_a_hit_comes_with_its_neighbours_or_its_section(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    parts = [("one", ["A"]), ("two", ["A"]), ("three", ["B"]), ("four", ["B", "C"]), ("five", [])]
    chunks = [
        {
            "text": f"part {word}",
            "heading": heading,
            "start": 12 * n,
            "end": 12 * n + len(f"part {word}"),
            "tokens": 2,
        }
        for n, (word, heading) in enumerate(parts)
    ]
    put(db, "docs", [{**text_document("a", "x"), "chunks": chunks}])

    def around(**how: Any) -> str | None:
        ((*_, context, _),) = hits(db, "docs", "three", **how)
        return None if context is None else str(context)

    assert around() is None
    assert (around(context=1) or "").split() == ["part", "two", "part", "three", "part", "four"]
    assert (around(section=True) or "").split() == ["part", "three", "part", "four"]
    assert (around(context=20) or "").split() == (
        ["part", "one", "part", "two", "part", "three", "part", "four", "part", "five"]
    )


def test_a_trace_keeps_how_hits_were_picked_and_its_replay_is_exact(db: Connection) -> None:
    made = Made(db, vocabulary=30, longest=3, chunks_per_document=4)
    made.add(100)
    how = {"per_document": 1, "collapse": True, "diversity": 0.25}
    db.execute(
        "select from ragdb.retrieve('made', 'qa qb', per_document => %(per_document)s,"
        " collapse => %(collapse)s, diversity => %(diversity)s, context => 2)",
        how,
    )
    assert db.execute(
        "select t.ranking, r.verdict, v.bad from ragdb.last_trace_id() i, ragdb.get_trace(i) t,"
        " ragdb.replay(i) r, (select count(*) as bad from ragdb.verify_trace(ragdb.last_trace_id())"
        " where not is_intact) v"
    ).fetchone() == (how, "exact", 0)


@pytest.mark.parametrize("mode", ["lexical", "reference"])
@pytest.mark.parametrize(
    "how", [{"min_lexical": 0.3}, {"min_semantic": 0.1}, {"diversity": 0.12345678901234568}]
)
def test_a_search_by_words_alone_keeps_its_floors_to_the_last_digit(
    db: Connection, mode: str, how: dict[str, float]
) -> None:
    made = Made(db, vocabulary=30, longest=6, chunks_per_document=4)
    made.add(100)
    db.execute("set extra_float_digits = 0")
    ((name, value),) = how.items()
    db.execute(
        f"select from ragdb.retrieve('made', 'qa qb qc', mode => %s, {name} => %s)".encode(),
        (mode, value),
    )
    assert db.execute(
        "select t.ranking, r.verdict from ragdb.last_trace_id() i, ragdb.get_trace(i) t,"
        " ragdb.replay(i) r"
    ).fetchone() == (how, "exact")


@pytest.mark.parametrize(
    "how",
    ["per_document => 0", "diversity => 1.1", "diversity => null", "context => 21",
     "context => null", "collapse => null", "section => null", "per_document => 1001"],
)  # fmt: skip
def test_an_option_out_of_range_is_refused(db: Connection, how: str) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    with pytest.raises(psycopg.DatabaseError) as caught:
        db.execute(f"select * from ragdb.search('docs', 'x', {how})".encode())
    assert caught.value.sqlstate == "RG400"
