"""What a search is given in excess is refused with an error of ragdb; what it is not is answered.

docs/limits.md lists the limits. Each is tried on both sides of it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import psycopg
import pytest

from ragdb import errors
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.documents import text_document
from tests.embedding import one
from tests.sql.lexical_twin import Collection, lexemes, put, search
from tests.sql.made_corpus import FewDocuments, Made, word


def make(db: Connection, *texts: str) -> None:
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(db, "docs", [text_document(f"{n}.txt", text) for n, text in enumerate(texts)])


@pytest.mark.parametrize("mode", ["lexical", "reference"])
def test_a_query_has_at_most_32768_characters(db: Connection, mode: str) -> None:
    make(db, "a word", "nothing")
    for query in ("word" + " " * 32_764, ("word ü " * 5_000)[:32_768]):
        assert len(query) == 32_768
        assert len(search(db, "docs", query, mode=mode)) == 1
        with pytest.raises(errors.InvalidArgument, match="too long") as raised, db.transaction():
            search(db, "docs", query + " ", mode=mode)
        assert "keep the words that matter" in str(raised.value.diag.message_hint)
    for function in ("explain_search('docs', %s, 'x')", "highlight('docs', 'x', %s)"):
        with pytest.raises(errors.InvalidArgument, match="too long"), db.transaction():
            db.execute(f"select ragdb.{function}".encode(), ("x" * 32_769,))


@pytest.mark.parametrize("sign", ["+", "-", "phrase"])
def test_a_query_demands_at_most_1000_words(any_db: Connection, sign: str) -> None:
    words = [word(n) for n in range(1_001)]
    make(any_db, " ".join(words), "other words")

    def query(count: int) -> str:
        asked = words[:count]
        signed = " ".join(sign + w for w in asked)
        return f'"{" ".join(asked)}"' if sign == "phrase" else f"{signed} other"

    assert len(search(any_db, "docs", query(999), syntax="web")) == 1
    assert len(search(any_db, "docs", query(1_000), syntax="web")) == 1
    with pytest.raises(errors.InvalidArgument, match="demands 1001 words"):
        search(any_db, "docs", query(1_001), syntax="web")


@pytest.mark.by_day(1)
@pytest.mark.parametrize("asked", [257, pytest.param(16_000, marks=pytest.mark.nightly), 16_001])
def test_a_question_of_16000_lexemes_ranks_as_by_brute_force(db: Connection, asked: int) -> None:
    # a lexeme for every two characters that lie side by side
    text = "".join(chr(0x20000 + n) for n in range(16_002))
    make(db, *(text[n : n + 20 + n % 41] for n in range(0, 15_960, 40)))
    query = text[: asked + 1]
    twin = Collection.read(db, "docs")
    cut = lexemes(db, query, "simple")
    assert len(cut) == min(asked, 16_000)
    expected = twin.search(cut, 20)
    assert [found[0] for found in search(db, "docs", query, 20)] == [e[0] for e in expected]


@OLDER_BY_NIGHT
@pytest.mark.parametrize("count", [15_999, 16_000, 16_001])
def test_a_chunk_of_16000_lexemes_is_found_by_each(any_db: Connection, count: int) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [a + b + c for a in letters for b in letters for c in letters][:count]
    make(any_db, " ".join(words), "zz yy")
    kept = one(any_db, "select max(cardinality(ragdb_internal.entries(impacts)) / 2)"
               " from ragdb.chunk_lexemes")  # fmt: skip
    assert kept == min(count, 16_000)
    for asked in (words[0], words[count // 2], words[15_998]):
        assert len(search(any_db, "docs", asked)) == 1


@pytest.mark.parametrize("count", [16_382, 16_383, 16_384, 20_000])
def test_words_past_the_last_position_rank_and_make_no_phrase(
    any_db: Connection, count: int
) -> None:
    filler = [chr(97 + n % 26) for n in range(count - 2)]
    make(any_db, " ".join([*filler, "last", "one"]), "one last")
    assert len(search(any_db, "docs", "last")) == 2
    found = search(any_db, "docs", '"last one"', syntax="web")
    assert len(found) == (count <= 16_383)


@pytest.mark.parametrize("times", [254, 255, 256, 257, 5_000])
def test_a_word_counts_255_times_at_most(any_db: Connection, times: int) -> None:
    make(any_db, "again " * times, "again and again", "once")
    twin = Collection.read(any_db, "docs")
    assert max(terms.get("again", 0) for terms in twin.chunks.values()) == min(times, 255)
    expected = twin.search({"again": 1}, 5)
    found = search(any_db, "docs", "again", 5)
    assert [row[0] for row in found] == [e[0] for e in expected]
    assert [row[1] for row in found] == pytest.approx([e[1] for e in expected], rel=1e-9)


def test_no_text_overflows_what_holds_its_lexemes(db: Connection) -> None:
    # pairs of characters of four bytes, all of them different: the most bytes a character can cost
    plane = [chr(0x20000 + n) for n in range(40_000)]
    texts = [
        "".join(plane) * 2,
        "".join(plane)[:32_000] + " " + " ".join(f".a{chr(97 + n % 26)}" for n in range(9_000)),
        " ".join(f"a{n}-b.c_{n}" for n in range(9_000)),
        " ".join("ü" * (n % 7 + 1) + str(n) for n in range(9_000)),
    ]
    make(db, *texts)
    for text in texts:
        assert search(db, "docs", text[:500], 4)


def test_a_filter_has_at_most_100_conditions_and_4_million_bytes(db: Connection) -> None:
    make(db, "a word", "a word too")

    def found(**filter: Any) -> int:
        return len(search(db, "docs", "word", filter=json.dumps(filter)))

    hundred = {f"f{n}": {"exists": False} for n in range(100)}
    assert found(**hundred) == 2
    with pytest.raises(errors.InvalidFilter, match="101 conditions"), db.transaction():
        found(**hundred, one={"exists": False})
    # by operators of one field too
    with pytest.raises(errors.InvalidFilter, match="conditions"), db.transaction():
        found(**{f"f{n}": {"exists": False, "ne": 1} for n in range(51)})
    assert found(f={"ne": "x" * 3_999_000}) == 2
    with pytest.raises(errors.InvalidFilter, match="bytes"), db.transaction():
        found(f={"ne": "x" * 4_000_000})


def test_a_chunk_has_at_most_ten_million_characters(db: Connection) -> None:
    make(db, "a word")
    long = text_document("long.txt", "word " * 2_000_000 + "x")
    with pytest.raises(errors.InvalidDocument, match="at most 10000000 characters") as failed:
        put(db, "docs", [long])
    assert failed.value.diag.message_hint == "a word is never cut: put spaces into a longer one"


@pytest.mark.nightly
def test_a_chunk_of_ten_million_characters_is_found_and_marked(any_db: Connection) -> None:
    make(any_db, "a word", "wörd" + " " * 9_999_990 + "other")
    for mode in ("lexical", "reference"):
        ((chunk, *_),) = search(any_db, "docs", "wörd", mode=mode)
    marked = one(any_db, "select ragdb.highlight('docs', %s, 'wörd')", chunk)
    assert len(marked) == 10_000_003
    assert marked.startswith("**wörd** ")


def test_numbers_of_chunks_and_documents_end_at_two_billion(db: Connection) -> None:
    make(db, "first")
    db.execute("update ragdb.corpora set next_chunk_no = 1999999999, next_doc_no = 1999999999")
    put(db, "docs", [text_document("a", "second word"), text_document("b", "third word")])
    assert one(db, "select max(chunk_no) from ragdb.chunks") == 2_000_000_000
    assert one(db, "select max(doc_no) from ragdb.documents") == 2_000_000_000
    assert len(search(db, "docs", "word first")) == 3
    with pytest.raises(errors.TooLarge, match="numbers"), db.transaction():
        put(db, "docs", [text_document("c", "fourth word")])
    db.execute("update ragdb.corpora set next_chunk_no = 5")
    with pytest.raises(errors.TooLarge, match="numbers"), db.transaction():
        put(db, "docs", [text_document("c", "fourth word")])


def test_numbers_of_lexemes_end_at_a_billion(db: Connection) -> None:
    make(db, "first")
    db.execute("update ragdb.corpora set next_term_id = 999999999")
    put(db, "docs", [text_document("a", "second third")])
    assert one(db, "select max(term_id) from ragdb.lexemes") == 1_000_000_000
    assert len(search(db, "docs", "first third")) == 2
    with pytest.raises(errors.TooLarge, match="lexemes"), db.transaction():
        put(db, "docs", [text_document("b", "fourth")])
    # what the hint says
    db.execute("select ragdb.repair_corpus('docs')")
    put(db, "docs", [text_document("b", "fourth")])
    assert len(search(db, "docs", "first third fourth")) == 3


@pytest.mark.nightly
def test_numbers_up_to_two_billion_have_blocks(db: Connection) -> None:
    made = FewDocuments(db)
    made.add(2_000)
    made.move(1 + np.arange(2_000) * (2_000_000_000 - 1) // 1_999)
    made.optimize()
    assert one(db, "select last_chunk_no from ragdb.block_states") == 2_000_000_000
    for words in (1, 3, 8):
        made.agrees(made.question(words), 10)


@OLDER_BY_NIGHT
def test_an_embedding_has_at_most_4000_numbers(any_version: Server) -> None:
    with psycopg.connect(any_version.shared) as db:
        made = Made(db)
        made.add(50)
        made.embed(dims=4_000)
        made.agrees_by_both(made.question(3))
        # as if there were enough for an index
        db.execute("update ragdb.corpora set chunks = 20000 where name = 'made'")
        assert one(db, "select ragdb.index_space('made')")
        vector = made.rng.normal(size=4_000).tolist()
        assert len(search(db, "made", "x", 5, mode="semantic", query_embedding=vector)) == 5
        with pytest.raises(errors.InvalidArgument, match="not described"):
            db.execute("select ragdb.create_embedder('wider', 4001)")
        db.rollback()
