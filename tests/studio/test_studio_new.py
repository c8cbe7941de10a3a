"""A database in which nothing is yet: each view says what to do first."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

import ragdb
from tests.conftest import Server
from tests.embedding import one
from tests.http.conftest import Api, served
from tests.studio.conftest import logged_in


@pytest.fixture(scope="module")
def fresh(server18: Server) -> Iterator[Api]:
    with server18.database() as database:
        dsn = server18.dsn(database.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            token = one(db, "select ragdb.create_http_token('reader', 'reader')")
        with served(dsn, {"reader": token}) as api:
            yield api


@pytest.mark.parametrize(
    "view", ["search", "traces", "slices", "documents", "answers", "map", "health"]
)
def test_a_view_of_no_corpus_says_how_one_is_made(fresh: Api, view: str) -> None:
    with logged_in(fresh) as client:
        page = client.get(f"/studio/{view}").text
    assert "There is no corpus yet" in page
    assert "ragdb ingest FOLDER --corpus docs" in page
    # what needs a corpus comes later
    assert "--corpus CORPUS" not in page


def test_who_has_no_corpus_is_led_to_the_manual(fresh: Api) -> None:
    with logged_in(fresh) as client:
        assert "corpus=system" not in client.get("/studio/search").text
        with ragdb.connect(fresh.dsn) as db:
            db.create_corpus("system")
            db.put_text("system", "guide.md", "A corpus is made by ragdb ingest.")
        page = client.get("/studio/search").text
        assert "There is no corpus yet" in page
        assert '<a href="../studio/search?corpus=system">search the manual</a>' in page
        assert client.get("/studio/search?corpus=system&q=ingest").text.count('class="card hit"')


def test_a_view_begins_with_a_corpus_that_has_something(fresh: Api) -> None:
    with ragdb.connect(fresh.dsn) as db:
        db.create_corpus("announced")
        db.create_corpus("filled")
        db.put_text("filled", "a.md", "A zebra.")
    with logged_in(fresh) as client:
        for view in ("search", "documents", "slices", "map"):
            assert '<option value="filled" selected>' in client.get(f"/studio/{view}").text, view
        named = client.get("/studio/search?corpus=announced").text
        assert '<option value="announced" selected>' in named
