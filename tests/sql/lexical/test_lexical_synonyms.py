"""Of a word and all that stands for it the best counts in a chunk, by every way to rank."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Connection, Server
from tests.documents import text_document
from tests.sql.lexical_twin import Collection, lexemes, put, search
from tests.sql.made_corpus import FewDocuments

MEANING = ["car", "automobile", "vehicle", "motorcar"]
TEXTS = {
    "others": "an automobile, a vehicle, a motorcar",
    "word": "car car car, the car",
    "one": "an automobile on the road",
    "both": "a car or automobile here",
    "else": "nothing of the kind in here",
}
# all documents of a corpus in one piece, or some in each part
PIECES = {"docs": ["docs"], "whole": ["part-1", "part-2"]}


def make(db: Connection, corpus: str, texts: dict[str, str], synonyms: Iterable[list[str]]) -> None:
    """A corpus of some texts, in its parts where it has any."""
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    pieces = PIECES[corpus]
    for part in pieces:
        if part != corpus:
            db.execute("select ragdb.create_corpus(%s, part_of => %s)", (part, corpus))
    for words in synonyms:
        db.execute("select ragdb.add_synonyms(%s, %s)", (corpus, words))
    for part, (uri, text) in zip(itertools.cycle(pieces), texts.items(), strict=False):
        put(db, part, [text_document(uri, text)])
    if len(pieces) > 1:
        db.execute("select ragdb.sync_statistics(%s)", (corpus,))


def scores(db: Connection, corpus: str, query: str) -> dict[str, float]:
    asked = "select source, score from ragdb.search(%s, %s, 50)"
    return dict(db.execute(asked, (corpus, query)).fetchall())


@pytest.mark.parametrize("corpus", PIECES)
def test_many_synonyms_in_a_chunk_count_as_the_best(any_db: Connection, corpus: str) -> None:
    make(any_db, corpus, TEXTS, [MEANING])
    found = scores(any_db, corpus, "car")
    assert next(iter(found)) == "word"
    assert found["others"] < found["word"]
    # as if the word were the only one there
    any_db.execute("select ragdb.remove_synonyms(%s, word) from unnest(%s::text[]) word",
                   (corpus, MEANING))  # fmt: skip
    alone = scores(any_db, corpus, "car")
    assert {uri: found[uri] for uri in alone} == alone
    assert alone.keys() == {"word", "both"}


@pytest.mark.parametrize("corpus", PIECES)
def test_the_parts_of_a_score_are_what_counts_of_each_word(any_db: Connection, corpus: str) -> None:
    make(any_db, corpus, TEXTS, [MEANING, ["road", "street lane"]])
    for query in ("car", "car road", "automobile vehicle", "streetlane vehicel"):
        hits = any_db.execute(
            "select chunk_id, score, bm25 from ragdb.search(%s, %s)", (corpus, query)
        ).fetchall()
        assert hits
        for chunk_id, score, bm25 in hits:
            parts = any_db.execute(
                "select coalesce(stands_for, lexeme), lexeme, stands_for, points, most"
                " from ragdb.explain_score(%s, %s, %s)",
                (corpus, query, chunk_id),
            ).fetchall()
            assert sum(points for *_, points, _ in parts) == pytest.approx(score, rel=1e-9)
            given = [word for word, *_, points, _ in parts if points > 0]
            assert len(given) == len(set(given)), "one of each word"
            assert all(points <= most for *_, points, most in parts)
            [[contributed]] = any_db.execute(
                "select sum(contribution) from ragdb.explain_search(%s, %s, %s)",
                (corpus, query, chunk_id),
            ).fetchall()
            assert contributed == pytest.approx(bm25, rel=1e-12)


def test_what_several_words_stand_for_counts_with_all_of_them(any_db: Connection) -> None:
    texts = {"both": "the motor of a cart here", "half": "the motor of a boat here"}
    make(any_db, "docs", {**texts, "word": "the car and the boat here"}, [["car", "motor cart"]])
    found = scores(any_db, "docs", "car")
    assert list(found) == ["word", "both", "half"]
    rows = any_db.execute(
        "select e.lexeme, e.contribution > 0 from ragdb.search('docs', 'car') s"
        " cross join lateral ragdb.explain_search('docs', 'car', s.chunk_id) e"
        " where s.source = 'both' order by 1"
    ).fetchall()
    assert rows == [("car", False), ("cart", True), ("motor", True)]


@pytest.mark.parametrize(
    ("word", "texts"),
    [
        # misspelt, and a synonym is what was meant
        ("kettel", {"b": "kettle kettle kettle", "a": "the kettle, a boiler", "c": "boiler"}),
        # 10 and mb for 10mb, beside synonyms of it
        ("10mb", {"b": "10mb 10mb 10mb", "a": "10 MB, kettle, boiler"}),
        ("creme", {"b": "crème crème crème", "a": "crème, kettle", "c": "kettle", "d": "boiler"}),
    ],
)
def test_all_that_stands_for_a_word_counts_once(
    any_db: Connection, word: str, texts: dict[str, str]
) -> None:
    make(any_db, "docs", texts, [[word, "kettle", "boiler"]])
    found = scores(any_db, "docs", word)
    assert found["a"] < found["b"] <= 1
    assert found["a"] < 0.7


def test_a_word_said_twice_is_several_words(any_db: Connection) -> None:
    make(any_db, "docs", {"a": "a farewell", "b": "by the road"}, [["bye bye", "farewell"]])
    assert scores(any_db, "docs", "bye") == {}
    listed = any_db.execute("select word, synonyms from ragdb.list_synonyms('docs')").fetchall()
    assert listed == [("farewell", ["bye bye"])]


def past(db: Connection, query: str) -> list[tuple[str, float, float, float]]:
    """(source, score, BM25, coverage) of corpus docs as it is, as a search of the past finds it."""
    then = "as_of => (select version from ragdb.corpora where name = 'docs')"
    return db.execute(
        "select source, score, bm25, coverage"
        f" from ragdb.search('docs', %s, 50, {then}) order by rank".encode(),
        (query,),
    ).fetchall()


def test_a_corpus_as_it_was_ranks_by_the_best_of_each_word(any_db: Connection) -> None:
    make(any_db, "docs", TEXTS, [MEANING, ["road", "street lane", "kind here"], ["10mb", "car"]])
    any_db.execute("select ragdb.keep_history('docs', '1 day')")
    queries = ("car", "car road", "automobile vehicle vehicle", "autmobile roda", "10mb kind")
    now = [
        any_db.execute(
            "select source, score, bm25, coverage from ragdb.search('docs', %s, 50) order by rank",
            (query,),
        ).fetchall()
        for query in queries
    ]
    assert all(now)
    assert [past(any_db, query) for query in queries] == now


# Few words, so that synonyms meet in chunks; each stays as it is when it is analysed
WORDS = [f"w{letter}" for letter in string.ascii_lowercase[:12]]
words = st.sampled_from([*WORDS[:4] * 3, *WORDS])
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)
expressions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True).map(" ".join)


@settings(max_examples=40)
@given(
    stored=st.lists(texts, min_size=1, max_size=30),
    groups=st.lists(st.lists(expressions, min_size=2, max_size=5, unique=True), max_size=4),
    queries=st.lists(texts, min_size=1, max_size=4),
    k=st.integers(1, 12),
    optimized=st.booleans(),
)
def test_random_synonyms_rank_as_by_brute_force(
    server18: Server,
    stored: list[str],
    groups: list[list[str]],
    queries: list[str],
    k: int,
    optimized: bool,
) -> None:
    with server18.rolled_back() as db:
        make(db, "docs", {f"{n}.txt": text for n, text in enumerate(stored)}, groups)
        if optimized:
            db.execute("select ragdb.optimize_corpus('docs')")
        db.execute("select ragdb.keep_history('docs', '1 day')")
        twin = Collection.read(db, "docs")
        means: dict[str, list[list[str]]] = {}
        for group in groups:
            for word, other in itertools.permutations(group, 2):
                if " " not in word:
                    means.setdefault(word, []).append(other.split())
        for query in queries:
            found = search(db, "docs", query, k, typos=False)
            expected = twin.search(lexemes(db, query), k, synonyms=means)
            assert [f[0] for f in found] == [e[0] for e in expected], query
            for (_, score, bm25), (_, twin_score, twin_bm25) in zip(found, expected, strict=True):
                assert score == pytest.approx(twin_score, rel=1e-9)
                assert bm25 == pytest.approx(twin_bm25, rel=1e-9)
                assert 0 < score <= 1
            assert [row[1:3] for row in past(db, query)][:k] == [row[1:] for row in found]


def test_synonyms_of_a_large_corpus_rank_as_by_brute_force(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=300, longest=20)
    made.add(2_100)
    groups = [made.words[:12], made.words[30:34], [made.words[40], made.words[250]]]
    for group in groups:
        db.execute("select ragdb.add_synonyms('made', %s)", (group,))
    means = {
        word: [[other] for other in group if other != word] for group in groups for word in group
    }
    queries = [made.words[3], f"{made.words[31]} {made.words[100]}", made.words[250],
               " ".join([*made.words[:3], made.words[60]])]  # fmt: skip
    for optimized in (False, True):
        if optimized:
            db.execute("select ragdb.optimize_corpus('made')")
        twin = Collection.read(db, "made")
        for query in queries:
            expected = twin.search(lexemes(db, query, "simple"), 30, synonyms=means)
            for how in ({}, {"chunk_ids": made.ids}):
                found = search(db, "made", query, 30, typos=False, **how)
                assert [f[0] for f in found] == [e[0] for e in expected], query
                assert [f[1] for f in found] == pytest.approx([e[1] for e in expected], rel=1e-9)
