"""Lexical search ranks the shared collections at least as well as the best in-memory BM25."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.judged import ndcg, records
from tests.sql.lexical_twin import put

pytestmark = pytest.mark.shared

# least nDCG@10, of xquad the best column of the collection's table less 0.01; cranfield and scifact
# are measured where they are written already, in test_lexical_exact
FLOORS = {
    "rag_anthropic_docs": (0.69, "english"),
    "xquad/en": (0.955, "english"),
    "xquad/de": (0.930, "german"),
    "xquad/ru": (0.944, "russian"),
    "xquad/tr": (0.927, "turkish"),
    "xquad/ar": (0.924, "arabic"),
    "xquad/hi": (0.945, "hindi"),
    "xquad/th": (0.956, "simple"),
    "xquad/zh": (0.953, "simple"),
}


@pytest.fixture(scope="module")
def database(module_clone: str) -> Iterator[Connection]:
    with psycopg.connect(module_clone, autocommit=True) as connection:
        yield connection


def filled(db: Connection, data: Path, config: str, step: int = 1) -> float:
    """nDCG@10 of a collection that is written first."""
    name = data.name.replace("_", "-")
    db.execute("select ragdb.create_corpus(%s, text_config => %s)", (name, config))
    put(
        db,
        name,
        (
            text_document(r["_id"], r["text"], title=r["title"])
            for r in records(data / "corpus.jsonl")
            if r["text"].strip()
        ),
        batch=2000,
    )
    db.execute("select ragdb.optimize_corpus(%s)", (name,))
    return ndcg(db, name, data, step)


# by day Latin, Arabic and Chinese; the other languages at night
BY_NIGHT = ("xquad/de", "xquad/th", "xquad/ru", "xquad/tr", "xquad/hi")


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.nightly] if n in BY_NIGHT else []) for n in FLOORS],
)
def test_a_collection_is_ranked_well(database: Connection, shared: Path, name: str) -> None:
    floor, config = FLOORS[name]
    # of the 1,190 questions in a language every sixth by day
    step = 6 if name.startswith("xquad") and name not in BY_NIGHT else 1
    assert filled(database, shared / "data" / name, config, step) >= floor


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted({n for n in FLOORS if "xquad" in n} - {*BY_NIGHT}))
def test_all_questions_in_a_language_are_ranked_well(clone: str, shared: Path, name: str) -> None:
    floor, config = FLOORS[name]
    with psycopg.connect(clone, autocommit=True) as connection:
        assert filled(connection, shared / "data" / name, config) >= floor


@pytest.mark.nightly
def test_all_of_squad_is_ranked_well(clone: str, shared: Path) -> None:
    with psycopg.connect(clone, autocommit=True) as connection:
        assert filled(connection, shared / "data" / "squad_v1_dev", "english") >= 0.87
