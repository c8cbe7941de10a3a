"""The static model that a fresh database gets where its package is installed."""

from __future__ import annotations

import psycopg
import pytest

import ragdb
from ragdb.server import static

TEXTS = {
    "pets": "Cats and dogs sleep most of the day.",
    "money": "The bank raised its interest rates.",
}


def test_without_the_package_nothing_is_loaded(clone: str) -> None:
    assert not static.load_default(clone)
    with ragdb.connect(clone) as db:
        assert db.list_static_models() == []


@pytest.mark.usefixtures("packaged")
def test_with_the_package_a_new_corpus_is_searched_by_meaning(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as admin:
        admin.execute("drop role if exists setter")
        admin.execute("create role setter login")
        admin.execute("grant ragdb_owner to setter with inherit false, set true")
        try:
            assert static.load_default(f"{clone} user=setter")
        finally:
            admin.execute("drop role setter")
    assert static.load_default(clone)
    with ragdb.connect(clone) as db:
        (model,) = db.list_static_models()
        assert (model.embedder, model.pieces, model.is_default) == ("wordllama-256", 30558, True)
        db.create_corpus("notes")
        for source, text in TEXTS.items():
            db.put_text("notes", source, text)
        (best, *_) = db.search("notes", "a kitten takes a nap")
        assert (best.source, best.mode) == ("pets", "hybrid")
        assert db.search("notes", "a kitten takes a nap", mode="lexical") == []


@pytest.mark.usefixtures("packaged")
def test_who_may_not_be_the_owner_loads_nothing_and_is_told_nothing(clone: str) -> None:
    assert static.load_default(f"{clone} user=reader")
    with ragdb.connect(clone) as db:
        assert db.list_static_models() == []
