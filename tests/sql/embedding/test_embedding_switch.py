"""A corpus keeps to its embedder, and moves to another without downtime."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from ragdb import errors
from tests.conftest import Connection
from tests.embedding import claim, complete, embed, make_corpus, make_embedder, one, put, status
from tests.refusal import refused
from tests.sql import conversations
from tests.waiting import after_commit


def make_chat(db: Connection) -> None:
    """A corpus of one conversation whose turns are embedded."""
    make_corpus(db, {})
    said = [conversations.message(n, [n - 1][: n - 1], text="word " * n) for n in range(1, 5)]
    conversations.put(db, "docs", conversations.conversation(said))
    embed(db)


def weights(db: Connection) -> Any:
    return one(
        db, "select array_agg(array[homogeneity, salience] order by chunk_no) from ragdb.turns"
    )


def derived_anew(db: Connection) -> Any:
    db.execute("select ragdb_internal.derive_turns(corpus_id, '{s1}') from ragdb.corpora")
    return weights(db)


def test_a_corpus_keeps_to_its_embedder(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    make_embedder(db, "other")
    with pytest.raises(errors.EmbedderMismatch) as caught, db.transaction():
        db.execute("select ragdb.embed_corpus('docs', 'other')")
    assert "ragdb reembed docs --model other" in str(caught.value.diag.message_hint)
    with pytest.raises(errors.EmbedderNotFound), db.transaction():
        db.execute("select ragdb.embed_corpus('docs', 'nobody')")


def test_spaces_are_listed_by_pages_of_corpora(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    make_embedder(db, "other")
    for corpus in ("beta", "docs-2", "zeta"):
        db.execute("select ragdb.create_corpus(%s)", (corpus,))
        db.execute("select ragdb.embed_corpus(%s, 'hash')", (corpus,))
    put(db, {"b": "beta"}, "beta")
    embed(db)
    db.execute("select ragdb.reembed_corpus('beta', 'other')")

    def page(arguments: str) -> list[tuple[str, str]]:
        return db.execute(
            f"select corpus, embedder from ragdb.embedding_status({arguments})"
        ).fetchall()

    everyone = [
        ("beta", "hash"), ("beta", "other"), ("docs", "hash"), ("docs-2", "hash"), ("zeta", "hash"),
    ]  # fmt: skip
    assert page("") == everyone
    # a page has all spaces of its last corpus
    assert page("count => 1") == everyone[:2]
    assert page("after => 'beta', count => 2") == everyone[2:4]
    assert page("prefix => 'docs'") == everyone[2:4]
    assert page("'beta', count => 1") == everyone[:2]
    assert page("after => 'zeta', count => 1") == page("prefix => 'do', after => 'docs-2'") == []
    for arguments in ("count => 0", "count => 10001", "prefix => null", "after => null"):
        assert refused(db, f"select ragdb.embedding_status({arguments})").sqlstate == "RG400"


def test_a_page_of_those_that_lack_an_index_passes_over_the_others(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    db.execute("select ragdb.create_corpus(unnest(array['first', 'next', 'zeta']))")
    for corpus in ("first", "next", "zeta"):
        db.execute("select ragdb.embed_corpus(%s, 'hash')", (corpus,))
    put(db, {"b": "beta"}, "next")
    put(db, {"c": "gamma", "d": "delta"}, "zeta")
    embed(db)
    db.execute(
        "create or replace function ragdb_internal.indexed_chunks() returns integer"
        " language sql immutable parallel safe return 1"
    )
    db.execute("select ragdb.index_space('docs')")
    put(db, {"e": "epsilon"}, "first")  # which waits
    lacking = "select corpus from ragdb.embedding_status(null, true, count => 1{})"
    assert one(db, lacking.format("")) == "next"
    assert one(db, lacking.format(", after => 'next'")) == "zeta"


def test_a_space_lacks_an_index_once_nothing_waits(db: Connection) -> None:
    make_corpus(db, {"a": "alpha", "b": "beta"})
    assert not status(db, "lacks_index")
    db.execute(
        "create or replace function ragdb_internal.indexed_chunks() returns integer"
        " language sql immutable parallel safe return 2"
    )
    assert not status(db, "lacks_index")
    assert one(db, "select ragdb.index_space('docs', 'nobody')") is False
    advice = "select found from ragdb.advice() where subject like 'embeddings%'"
    assert "no index" not in str(db.execute(advice).fetchall())
    embed(db)
    assert status(db, "lacks_index")
    assert "2 vectors and no index" in str(db.execute(advice).fetchall())
    db.execute("select ragdb.index_space('docs')")
    assert not status(db, "lacks_index")


def test_a_second_space_is_filled_beside_the_first_and_takes_over_at_once(db: Connection) -> None:
    make_corpus(db, {"a": "alpha", "b": "beta"})
    embed(db)
    make_embedder(db, "new")
    db.execute("select ragdb.reembed_corpus('docs', 'new')")
    assert status(db, "embedder") == "hash"
    with pytest.raises(errors.AlreadyExists, match="lacks 2"), db.transaction():
        db.execute("select ragdb.cutover_corpus('docs', 'new')")
    complete(db, claim(db, count=1))
    # interrupted and taken up again: what is there stays
    db.execute("select ragdb.reembed_corpus('docs', 'new')")
    assert complete(db, claim(db)) == 1
    db.execute("select ragdb.cutover_corpus('docs', 'new')")
    assert status(db, "embedder") == "new"
    put(db, {"c": "gamma"})
    embed(db)
    assert one(db, "select ragdb.rollback_corpus('docs')") == "hash"
    assert status(db, "array[embedded, backlog]") == [2, 1]
    assert embed(db) == 1
    db.execute("select ragdb.drop_space('docs', 'new')")
    assert one(db, "select count(*) from ragdb.embedding_status('docs')") == 1


def test_turns_weigh_by_embeddings_that_come_while_their_space_takes_over(clone: str) -> None:
    with psycopg.connect(clone) as db, psycopg.connect(clone) as other:
        # given a chat whose second space has yet to be filled when it takes over
        make_chat(db)
        make_embedder(db, "new")
        db.execute("select ragdb.reembed_corpus('docs', 'new')")
        claimed = claim(db)
        assert len(claimed) == 4
        db.commit()
        db.execute("select ragdb.cutover_corpus('docs', 'new', force => true)")
        # when
        stored = after_commit(db, other, lambda: complete(other, claimed))
        other.commit()
        # then they are as they come out when they are derived anew
        assert stored == 4
        assert weights(db) == derived_anew(db)


@pytest.mark.parametrize("is_written_first", [True, False])
def test_who_builds_an_index_waits_for_who_fills_and_switches_spaces(
    clone: str, is_written_first: bool
) -> None:
    with psycopg.connect(clone) as db, psycopg.connect(clone) as other:
        make_corpus(db, {"a": "alpha", "b": "beta"})
        db.execute(
            "create or replace function ragdb_internal.indexed_chunks() returns integer"
            " language sql immutable parallel safe return 1"
        )
        embed(db)
        make_embedder(db, "new")
        db.execute("select ragdb.reembed_corpus('docs', 'new')")
        db.commit()
        # one session writes to the table of the first space, and to its row
        steps = ["delete_source('docs', 'b')", "cutover_corpus('docs', 'new', force => true)"]
        first, then = steps if is_written_first else reversed(steps)
        db.execute(f"select ragdb.{first}")
        built = after_commit(
            db,
            other,
            lambda: other.execute("select ragdb.index_space('docs', 'hash')").fetchone(),
            before=lambda: db.execute(f"select ragdb.{then}"),
        )
        assert built == (True,)


def test_turns_weigh_by_no_embeddings_once_the_space_is_dropped(db: Connection) -> None:
    make_chat(db)
    before = weights(db)
    db.execute("select ragdb.drop_space('docs', 'hash')")
    assert before != weights(db) == derived_anew(db)


def test_a_space_that_was_begun_beside_no_other_becomes_the_first(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, {"a": "alpha", "b": "beta"})
    make_embedder(db, "new")
    begun = one(db, "select ragdb.reembed_corpus('docs', 'new')")
    assert complete(db, claim(db, count=1)) == 1
    assert one(db, "select ragdb.embed_corpus('docs', 'new')") == begun
    assert status(db, "array[state, embedded::text]") == ["current", "1"]
    assert complete(db, claim(db)) == 1
    assert status(db, "embedded") == 2


def test_a_retired_space_is_not_queued_again(db: Connection) -> None:
    make_corpus(db, {"a": "alpha", "b": "beta"})
    make_embedder(db, "other")
    db.execute("select ragdb.reembed_corpus('docs', 'other')")
    db.execute("select ragdb.cutover_corpus('docs', 'other', force => true)")
    db.execute("update ragdb.embedding_spaces set queued_to = 1")
    assert one(db, "select ragdb.requeue_embeddings('docs')") == 1
    queued = db.execute("select state, queued_to from ragdb.embedding_spaces order by state")
    assert queued.fetchall() == [("current", 0), ("retired", 1)]


def test_dropping_a_corpus_drops_its_spaces(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    embed(db)
    table = one(db, "select 'ragdb.chunk_embeddings_' || space_id from ragdb.embedding_spaces")
    db.execute("select ragdb.drop_corpus('docs')")
    assert one(db, f"select count(*) from {table}") == 0
    db.execute("select ragdb.maintain()")
    assert one(db, "select to_regclass(%s)", table) is None
    assert one(db, "select count(*) from ragdb.embedding_spaces") == 0
