"""A writer that waits for another analyses meanwhile; what it writes is the same."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import OLDER_BY_NIGHT, Connection
from tests.documents import document
from tests.sql.documents_twin import faults, put
from tests.waiting import until_it_waits

AHEAD = (
    "select coalesce(cardinality((ragdb_internal.analysed_ahead(c, %s)).positions), 0)"
    " from ragdb.corpora c"
)
# what an index says of its chunks, whatever their numbers are
INDEX = (
    "select c.chunk_id, x.lexeme_count, x.word_order, array("
    "  select (l.lexeme, l.df, l.max_impact, e.entries[i + 1]) from generate_series("
    "    1, cardinality(e.entries), 2) i"
    "  join ragdb.lexemes l on l.term_id = e.entries[i] order by 1)::text"
    " from ragdb.chunk_lexemes x join ragdb.chunks c using (corpus_id, chunk_no)"
    "  cross join lateral (select ragdb_internal.entries(x.impacts) as entries) e"
    " order by c.chunk_id"
)


def made(first: int, last: int, **more: Any) -> list[dict[str, Any]]:
    return [
        document(f"{n}.md", [f"word{n} of userId and C++ and 2.0.{n}", f"said again {n}"], **more)
        for n in range(first, last)
    ]


@pytest.fixture
def two(any_clone: str) -> Iterator[tuple[Connection, Connection]]:
    with psycopg.connect(any_clone) as one, psycopg.connect(any_clone, autocommit=True) as other:
        one.execute("select ragdb.create_corpus('docs')")
        put(one, *made(0, 3))
        one.commit()
        yield one, other


@contextmanager
def waiting(
    one: Connection, other: Connection, *documents: Any, force: bool = False
) -> Iterator[None]:
    """The other puts documents, and waits until the one commits."""
    with ThreadPoolExecutor(1) as puts:
        later = puts.submit(put, other, *documents, force=force)
        with psycopg.connect(one.info.dsn, autocommit=True) as third:
            until_it_waits(third, other)
        yield
        one.commit()
        later.result(120)


def test_texts_are_analysed_ahead_only_while_another_holds_the_corpus(
    two: tuple[Connection, Connection],
) -> None:
    one, other = two
    given = Jsonb(made(2, 5))
    assert other.execute(AHEAD, (given,)).fetchone() == (0,)
    one.execute("select ragdb.delete_source('docs', '0.md')")
    # not that of 2.md, whose bytes are here
    assert other.execute(AHEAD, (given,)).fetchone() == (4,)
    one.rollback()
    assert other.execute(AHEAD, (given,)).fetchone() == (0,)


def test_texts_are_analysed_ahead_while_another_is_about_to_write(
    two: tuple[Connection, Connection],
) -> None:
    """It began to analyse while a third held the corpus, which is free again."""
    one, other = two
    given = Jsonb(made(3, 5))
    with psycopg.connect(one.info.dsn) as next_one:
        one.execute("select ragdb.delete_source('docs', '0.md')")
        assert next_one.execute(AHEAD, (given,)).fetchone() == (4,)
        one.commit()
        assert other.execute(AHEAD, (given,)).fetchone() == (4,)
        next_one.rollback()
        assert other.execute(AHEAD, (given,)).fetchone() == (0,)


def test_what_was_analysed_ahead_is_not_analysed_again(two: tuple[Connection, Connection]) -> None:
    one, other = two
    put(one, *made(3, 5))
    with waiting(one, other, *made(5, 9)):
        one.execute(
            "create or replace function ragdb_internal.lexemes(text text, config text)"
            " returns tsvector language sql immutable return 'nothing'::tsvector"
        )
    assert other.execute(
        "select count(*) from ragdb.lexemes where lexeme in ('word5', 'word8', 'userid', 'c++')"
    ).fetchone() == (4,)
    assert other.execute("select df from ragdb.lexemes where lexeme = 'nothing'").fetchone() is None


def test_the_index_is_that_of_writers_one_after_the_other(
    two: tuple[Connection, Connection],
) -> None:
    one, other = two
    put(one, *made(3, 5))
    # one that is there, one that comes meanwhile, new ones
    with waiting(one, other, *made(2, 7), *made(9, 10, title="T", headings=[["H", "Über"], []])):
        put(one, *made(4, 6))
    assert faults(other) == []
    waited = other.execute(INDEX).fetchall()
    other.execute("select ragdb.repair_corpus('docs')")
    assert len(waited) == 16
    assert other.execute(INDEX).fetchall() == waited


def test_postings_that_were_made_ahead_are_used(two: tuple[Connection, Connection]) -> None:
    one, other = two
    put(one, *made(3, 5))
    with waiting(one, other, *made(5, 9)):
        one.execute(
            "create or replace function ragdb_internal.postings(corpus ragdb.corpora,"
            " chunks ragdb_internal.analysed_chunk[]) returns setof ragdb_internal.lexeme_postings"
            " language sql begin atomic select null::text, 0::real, null::int[], null::real[]"
            " where 1 / 0 > 0; end"
        )
    assert faults(other) == []


def test_postings_that_were_made_ahead_of_another_pivot_are_made_anew(
    two: tuple[Connection, Connection],
) -> None:
    one, other = two
    pivot = "select pivot from ragdb.corpora where name = 'docs'"
    before = other.execute(pivot).fetchone()
    put(one, document("long.md", ["many more words than the others have " * 50]))
    with waiting(one, other, *made(5, 9)):
        one.execute("select ragdb.optimize_corpus('docs')")
    after = other.execute(pivot).fetchone()
    assert before != after
    assert faults(other) == []
    waited = other.execute(INDEX).fetchall()
    other.execute("select ragdb.repair_corpus('docs')")
    assert other.execute(pivot).fetchone() == after
    assert other.execute(INDEX).fetchall() == waited


def test_what_changes_meanwhile_is_analysed_as_it_became(
    two: tuple[Connection, Connection],
) -> None:
    """Of two sources of one record the first decides the title: another brings one meanwhile."""
    one, other = two

    def named(title: str, uri: str) -> Any:
        return document(uri, ["text"], data=title[-1].encode(), external_id=title[-1], title=title)

    put(one, *made(3, 4))
    with waiting(one, other, named("later1", "b1.md"), named("sooner2", "b2.md"), *made(5, 6)):
        put(one, named("sooner1", "a1.md"), named("later2", "c2.md"))
    titles = "select title from ragdb.documents where external_id is not null order by 1"
    assert other.execute(titles).fetchall() == [("sooner1",), ("sooner2",)]
    held = "select lexeme from ragdb.lexemes where lexeme ~ 'later|sooner' and df > 0 order by 1"
    assert other.execute(held).fetchall() == [("sooner1",), ("sooner2",)]
    assert faults(other) == []


@OLDER_BY_NIGHT
def test_a_call_of_more_than_32_mb_waits_for_its_turn(two: tuple[Connection, Connection]) -> None:
    one, other = two
    given = Jsonb([document(f"{n}.md", [f"{n} " + "many " * 199_000]) for n in range(34)])
    one.execute("select ragdb.delete_source('docs', '0.md')")
    assert other.execute(AHEAD, (given,)).fetchone() == (0,)


def test_what_is_analysed_for_a_corpus_does_not_go_into_another_of_its_name(
    two: tuple[Connection, Connection],
) -> None:
    """It is dropped and made anew under another text configuration while texts are analysed."""
    one, other = two
    one.execute(
        "alter function ragdb_internal.lexemes(text, text) rename to analysed_lexemes;"
        "create function ragdb_internal.lexemes(text text, config text) returns tsvector"
        " language plpgsql immutable as $$ begin"
        " perform pg_advisory_xact_lock_shared(7);"
        " return ragdb_internal.analysed_lexemes(text, config); end $$"
    )
    one.commit()
    one.execute("select ragdb.drop_corpus('docs')")
    one.execute("select ragdb.create_corpus('docs', text_config => 'german')")
    with psycopg.connect(one.info.dsn, autocommit=True) as holder:
        holder.execute("select pg_advisory_lock(7)")
        with waiting(one, other, document("a.md", ["die Häuser running"])):
            one.commit()
            holder.execute("select pg_advisory_unlock(7)")
    held = "select lexeme from ragdb.lexemes where df > 0 order by 1"
    assert other.execute(held).fetchall() == [("haus",), ("running",)]
    assert faults(other) == []
