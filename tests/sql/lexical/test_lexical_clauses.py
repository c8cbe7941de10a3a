"""The syntax of a query: phrases, +words and -words."""

from __future__ import annotations

import random

import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import search


def found(db: Connection, query: str) -> set[str]:
    statement = "select source from ragdb.search('docs', %s, 10, syntax => 'web')"
    return {row[0] for row in db.execute(statement, (query,)).fetchall()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("order", {"order.txt", "reverse.txt", "refund.txt"}),
        ('"purchase order"', {"order.txt"}),
        ('"purchase orders"', {"order.txt"}),
        ('order -"purchase order"', {"reverse.txt", "refund.txt"}),
        ("order -refund", {"order.txt", "reverse.txt"}),
        ("rain +order", {"order.txt", "reverse.txt", "refund.txt"}),
        ("+rain +order", set()),
        ("+nosuchword order", set()),
        ("order -nosuchword", {"order.txt", "reverse.txt", "refund.txt"}),
        ('"nosuchword order"', set()),
        ('"state of the art"', {"state.txt"}),
        ('"state art"', set()),
        ("+user_id", {"state.txt"}),
        ("-order", set()),
        ('"" order', {"order.txt", "reverse.txt", "refund.txt"}),
        ('order "unclosed', {"order.txt", "reverse.txt", "refund.txt"}),
        ("+1 order -2", {"order.txt", "reverse.txt", "refund.txt"}),
        ("the of and", set()),
        ("& | ! ( ) : * ' \\ <-> rain", {"weather.txt"}),
    ],
)
def test_a_query_finds(docs: Connection, query: str, expected: set[str]) -> None:
    assert found(docs, query) == expected


def test_a_clause_changes_which_chunks_rank_and_no_score(docs: Connection) -> None:
    plain = {chunk: score for chunk, score, _ in search(docs, "docs", "purchase order")}
    clause = search(docs, "docs", '"purchase order"', syntax="web")
    assert 0 < len(clause) < len(plain)
    for chunk, score, _ in clause:
        assert score == plain[chunk]


def test_words_of_one_byte_are_told_apart(db: Connection) -> None:
    ((one, other),) = db.execute(
        "select min(w), max(w) from (select 'word' || n as w from generate_series(100, 999) n) x"
        " group by ragdb_internal.word_number(w) having count(*) > 1 limit 1"
    ).fetchall()
    texts = [f"{one} birch", f"{other} birch", f"{other} birch {one}", f"{one} birch {other}",
        f"{other} birch {one} birch", f"{one} the birch", f"birch {one}"]  # fmt: skip
    db.execute("select ragdb.create_corpus('made')")
    for text in texts:
        db.execute("select ragdb.put_text('made', %s, %s)", (text, text))
    rows = db.execute(
        "select text from ragdb.search('made', %s, syntax => 'web')", (f'"{one} birch"',)
    ).fetchall()
    assert {text for (text,) in rows} == {texts[0], texts[3], texts[4]}


def test_a_stop_word_of_a_phrase_stands_for_any_one_word(db: Connection) -> None:
    words = ["amber", "birch", "cedar", "dune", "ember", "fjord", "the", "of"]
    rng = random.Random(2)
    texts = [" ".join(rng.choices(words, k=rng.randint(2, 9))) for _ in range(2_100)]
    db.execute("select ragdb.create_corpus('made')")
    db.execute(
        "select ragdb.put_documents('made', %s)",
        (Jsonb([{**text_document("made", ""), "chunks": [
            {"text": text, "start": 100 * n, "end": 100 * n + len(text), "tokens": len(text)}
            for n, text in enumerate(texts)]}]),),
    )  # fmt: skip
    # what is indexed first has a list, then come blocks
    for _ in range(2):
        for phrase in (
            "amber birch", "amber the birch", "amber the of birch", "dune of ember the fjord",
            "cedar cedar of cedar", "amber the of the of the of the of the of the birch",
        ):  # fmt: skip
            expected = {
                row[0]
                for row in db.execute(
                    "select c.chunk_id from ragdb.chunks c"
                    " where to_tsvector('english', c.text) @@ phraseto_tsquery('english', %s)",
                    (phrase,),
                ).fetchall()
            }
            for query in (f'"{phrase}"', f'+fjord "{phrase}" of', f'amber -"{phrase}"'):
                ranked = [
                    [
                        row[0]
                        for row in db.execute(
                            "select chunk_id from ragdb.search('made', %s, %s, syntax => 'web')",
                            (query, k),
                        ).fetchall()
                    ]
                    for k in (10, 1_000)
                ]
                assert ranked[0] == ranked[1][:10], query
                allowed = (
                    expected
                    if query.startswith('"')
                    else expected & with_word(db, "fjord")
                    if query.startswith("+")
                    else with_word(db, "amber") - expected
                )
                assert set(ranked[1]) <= allowed, query
                assert len(ranked[1]) == min(1_000, len(allowed)), query
        db.execute("select ragdb.optimize_corpus('made')")


def with_word(db: Connection, word: str) -> set[str]:
    statement = "select chunk_id from ragdb.chunks where text ~ %s"
    return {row[0] for row in db.execute(statement, (rf"\y{word}\y",)).fetchall()}
