"""Statements read what they need by keys, whatever the planner believes of the tables."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.plans import matrix

DAY = (
    "put_documents, 100 new",
    "put_documents, one changed",
    "put_documents, 20 renamed",
    "delete_sources, 20",
    "append_turns, 10",
)
# rows that a statement may read besides; a corpus that was analyzed amid a first load is to the
# planner as few rows as ten keys have, and then it is read whole: explain_missing searches it
# often
BESIDES = {"dead": 20_000, "amid a load": 2_000}


@pytest.fixture(scope="module", params=["small", "dead"])
def outgrown(server18: Server, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A corpus whose tables were analyzed when they had a few rows of another one, or none."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as db,
    ):
        # a corpus of 400 documents, as it counts them by their pages, is one row to the planner,
        # which reads it whole where it looks for a document by its bytes
        large, new = matrix.Size(800, 40), matrix.Size(12, 12)
        matrix.make(db, request.param, large, new)
        yield db


@pytest.mark.by_day(4)
@pytest.mark.parametrize("name", DAY)
def test_what_is_written_is_found_by_key_in_a_corpus_that_outgrew_its_statistics(
    outgrown: Connection, name: str
) -> None:
    read = matrix.measure(outgrown, matrix.WRITERS[name], "large")
    assert read.written > 0
    assert read.excess() == ""


def test_a_corpus_is_searched_as_it_was_by_the_words_of_the_query(outgrown: Connection) -> None:
    """All its documents were read for the titles of the hits, and its chunks for their texts."""
    read = matrix.measure(
        outgrown, matrix.READERS["search, as it was, by a rare word"], "large", "auto"
    )
    assert read.returned > 0
    assert read.rows < 800, read.by


def test_a_search_of_the_past_for_a_word_of_all_chunks_reads_their_terms_and_changes_once(
    outgrown: Connection,
) -> None:
    """Each chunk's terms were looked up, and all that changed for each chunk that ties."""
    read = matrix.measure(outgrown, matrix.WHOLE["search, as it was"], "large")
    assert read.returned == 5
    assert sum(n for name, n in read.by.items() if name.startswith("ragdb.past_rows")) < 100
    assert read.buffers < 6000


def test_texts_that_take_no_place_of_a_conversation_are_not_looked_up_as_one(
    outgrown: Connection,
) -> None:
    """Those that neither name a root nor adopt are refused there."""
    read = matrix.measure(outgrown, matrix.WRITERS["put_documents, 50 as they are"], "large")
    assert read.rows < 8 * 50, read.by


def test_a_corpus_that_outgrew_its_statistics_is_exported_and_dropped_by_keys(
    outgrown: Connection,
) -> None:
    for name in ("export_documents", "drop_corpus"):
        read = matrix.measure(outgrown, matrix.WHOLE[name], "large")
        # of each of the 2,400 chunks: its document, its links, its edges to and fro, its lexemes
        assert read.rows <= 40 * 2400, read


@pytest.mark.nightly
@pytest.mark.parametrize("statistics", matrix.STATISTICS)
def test_no_statement_reads_what_it_does_not_need(any_version: Server, statistics: str) -> None:
    with (
        any_version.database() as database,
        psycopg.connect(any_version.dsn(database.dbname), autocommit=True) as db,
    ):
        matrix.make(db, statistics)
        wrong = [
            f"{name}, {corpus} corpus, {plans}: {excess}"
            for _, name, corpus, plans, read in matrix.measured(db, ("reader", "writer"))
            if (excess := read.excess(BESIDES.get(statistics, 1000)))
        ]
    assert wrong == []
