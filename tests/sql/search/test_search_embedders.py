"""A search of corpora that different models embed says which, and what to do."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from ragdb.cli.main import app
from ragdb.client.calling import Reals
from ragdb.errors import InvalidEmbedding, ModeNotAvailable
from ragdb.models.worker import Worker
from tests.conftest import Connection
from tests.embedding import ENCODER, make_corpus, make_embedder, put

QUESTION = "what sleeps all day?"
NAMED = "hash (docs, more), other (late)"
SEARCH = "select mode from ragdb.search(array['docs', 'late', 'more'], %s, mode => %s)"


@pytest.fixture
def differing(clone: str) -> str:
    """Three corpora, embedded to their ends: two by one model outside, one by another."""
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "a cat sleeps"})
        make_embedder(db, "other")
        for name, embedder in (("more", "hash"), ("late", "other")):
            db.execute("select ragdb.create_corpus(%s)", (name,))
            db.execute("select ragdb.embed_corpus(%s, %s)", (name, embedder))
            put(db, {name: f"a dog that is {name} sleeps"}, name)
    Worker(clone).run(until="empty")
    return clone


def heard(db: Connection) -> list[Any]:
    said: list[Any] = []
    db.add_notice_handler(lambda n: said.append((n.message_primary, n.message_hint)))
    return said


def test_a_search_by_words_says_which_corpora_have_which_embedder(differing: str) -> None:
    with psycopg.connect(differing, autocommit=True) as db:
        said = heard(db)
        assert db.execute(SEARCH, (QUESTION, None)).fetchall() == [("lexical",)] * 3
        ((message, hint),) = said
        assert message.endswith(f"the corpora have several embedders: {NAMED}")
        assert "ragdb.reembed_corpus()" in hint


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_a_mode_that_needs_one_embedder_is_refused_with_all_of_them(
    differing: str, mode: str
) -> None:
    with psycopg.connect(differing, autocommit=True) as db:
        with pytest.raises(ModeNotAvailable, match="several embedders") as refused:
            db.execute(SEARCH, (QUESTION, mode))
        assert NAMED in str(refused.value)
        assert "ragdb.reembed_corpus()" in (refused.value.diag.message_hint or "")


def test_an_embedding_is_refused_where_models_of_one_width_differ(differing: str) -> None:
    """Nothing else would tell: the numbers are as many."""
    (vector,) = ENCODER.encode([QUESTION])
    search = "select count(*) from ragdb.search(%s::text[], %s, query_embedding => %s)"
    with psycopg.connect(differing, autocommit=True) as db:
        asked = [QUESTION, Reals(vector)]
        assert db.execute(search, [["docs", "more"], *asked]).fetchall() == [(2,)]
        with pytest.raises(InvalidEmbedding, match="several embedders") as refused:
            db.execute(search, [["docs", "late", "more"], *asked])
        assert NAMED in str(refused.value)


def test_each_model_compares_its_own_where_all_have_embedded_the_query(differing: str) -> None:
    with psycopg.connect(differing, autocommit=True) as db:
        (vector,) = ENCODER.encode([QUESTION])
        for corpus, embedder in (("docs", "hash"), ("more", "hash"), ("late", "other")):
            db.execute(
                "select ragdb.put_query_embedding(%s, %s, %s, %s)",
                (corpus, QUESTION, Reals(vector), embedder),
            )
        said = heard(db)
        assert db.execute(SEARCH, (QUESTION, None)).fetchall() == [("hybrid",)] * 3
        assert said == []


def test_a_query_without_words_is_not_blamed_on_the_embedders(differing: str) -> None:
    with (
        psycopg.connect(differing, autocommit=True) as db,
        pytest.raises(ModeNotAvailable, match="needs a query with a word"),
    ):
        db.execute(SEARCH, ("?!", "hybrid"))


def test_the_command_line_names_the_verb_that_mends_it(differing: str) -> None:
    corpora = [f"--corpus={name}" for name in ("docs", "late", "more")]
    done = CliRunner().invoke(
        app, ["search", QUESTION, *corpora, "--json", "--dsn", differing], catch_exceptions=False
    )
    assert len(json.loads(done.stdout)) == 3
    assert NAMED in done.stderr
    assert "`ragdb reembed`" in done.stderr
