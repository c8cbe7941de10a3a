"""A number and its unit are found whether they are written as one word or as two."""

from __future__ import annotations

import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import Collection, put, search

TEXTS = {
    "one word": "a limit of 10MB at 5GHz for 64bit, 1.5GB, 100km, 87KiB; 5µm",
    "two words": "a limit of 10 MB at 5 GHz for 64 bit, 1.5 GB, 100 km, 87 KiB; 5 µm",
    "neither": "a limit of 11 files, the 19th of the 1980s, and GLP-1R",
    "ordinal": "19, 1980",
}


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, "docs", [text_document(uri, text) for uri, text in TEXTS.items()])
    return any_db


def found(db: Connection, query: str, how: str = "") -> list[str]:
    asked = f"select source from ragdb.search('docs', %s{how}) order by rank"
    return [row[0] for row in db.execute(asked.encode(), (query,))]


@pytest.mark.parametrize("how", ["", ", typos => false"])
@pytest.mark.parametrize(
    "measure", ["10 MB", "5 GHz", "64 bit", "1.5 GB", "100 km", "87 KiB", "5 µm", "5 μm"]
)
def test_each_way_to_write_a_measure_finds_the_other(
    docs: Connection, measure: str, how: str
) -> None:
    together = measure.replace(" ", "")
    for query in (measure, measure.replace(" ", "\u00a0"), measure.lower()):
        assert found(docs, query, how) == ["two words", "one word"], query
    for query in (together, together.lower()):
        assert found(docs, query, how) == ["one word", "two words"], query


def test_units_of_other_letters_are_found(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs', text_config => 'russian')")
    put(any_db, "docs", [text_document("a", "до 100 км"), text_document("b", "до 100км")])
    assert found(any_db, "100км") == ["b", "a"]
    assert found(any_db, "100 КМ") == ["a", "b"]


@pytest.mark.parametrize("query", ["19th", "1980s"])
def test_an_ordinal_or_a_decade_is_not_read_as_a_measure(docs: Connection, query: str) -> None:
    assert found(docs, query) == ["neither"]


def test_the_end_of_a_name_is_not_read_as_a_measure(docs: Connection) -> None:
    put(docs, "docs", [text_document("parts", "1 R")])
    rows = docs.execute(
        "select e.stands_for from ragdb.search('docs', 'GLP-1R') s"
        " cross join lateral ragdb.explain_search('docs', 'GLP-1R', s.chunk_id) e"
    ).fetchall()
    assert rows
    assert {stands_for for (stands_for,) in rows} == {None}


def test_a_measure_weighs_less_than_what_was_typed_and_counts_once(docs: Connection) -> None:
    twin = Collection.read(docs, "docs")
    hits = {score: bm25 for _, score, bm25 in search(docs, "docs", "10mb", 2)}
    assert len(hits) == 2
    rows = docs.execute(
        "select e.lexeme, e.stands_for, e.contribution from ragdb.search('docs', '10mb') s"
        " cross join lateral ragdb.explain_search('docs', '10mb', s.chunk_id) e"
        " where s.source = 'two words' and e.tf > 0 order by 1"
    ).fetchall()
    assert [row[:2] for row in rows] == [("10", "10mb"), ("mb", "10mb")]
    most = twin.idf("10mb") * 2.2
    assert sum(row[2] for row in rows) < 0.7 * most
    asked = docs.execute(
        "select e.lexeme, e.stands_for from ragdb.search('docs', '10 MB') s"
        " cross join lateral ragdb.explain_search('docs', '10 MB', s.chunk_id) e"
        " where s.source = 'two words' and e.tf > 0 order by 1"
    ).fetchall()
    assert asked == [("10", None), ("mb", None)]


def test_a_measure_is_found_in_the_past(docs: Connection) -> None:
    docs.execute("select ragdb.keep_history('docs', '1 day')")
    then = "as_of => (select version from ragdb.corpora where name = 'docs')"
    for query in ("10mb", "10 MB", "19th"):
        now, past = (
            docs.execute(
                f"select source, score from ragdb.search('docs', %s{how})".encode(), (query,)
            ).fetchall()
            for how in ("", f", {then}")
        )
        assert now == past


@pytest.mark.parametrize(("asked", "told"), [("10 MB", "10mb"), ("10mb", "10 MB")])
def test_evidence_says_a_measure_as_it_is_written_there(
    any_db: Connection, asked: str, told: str
) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, "docs", [text_document("a", f"The limit is {told}.")])
    query = f"limit {asked}"
    any_db.execute("select from ragdb.retrieve('docs', %s)", (query,))
    [[gate]] = any_db.execute(
        "select ragdb.rag_enough_context_gate("
        "%s, ragdb.build_evidence_pack(ragdb.last_trace_id()), min_coverage => 1)",
        (query,),
    ).fetchall()
    assert gate["enough"], gate
