"""Small static models of each kind, trained on a few paragraphs, and their twins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.database import Database
from ragdb.server import static
from tests.conftest import Server
from tests.static_twin import Twin, train

ROOT = Path(__file__).parents[3]
PROSE = [
    part
    for name in ("design.md", "chunker.md", "http.md")
    for part in (ROOT / "docs" / name).read_text().split("\n\n")
]


@pytest.fixture(scope="session", params=["bpe", "digits", "wordpiece", "unigram"])
def twin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Twin:
    folder = tmp_path_factory.mktemp("static") / request.param
    return train(request.param, PROSE, folder)


@pytest.fixture(scope="session")
def bpe_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("static") / "small"
    train("bpe", PROSE, folder)
    return folder


@pytest.fixture
def loaded(db: psycopg.Connection[Any], bpe_folder: Path) -> Database:
    """A database whose default embedder is a small static one."""
    made = Database(db)
    static.load(made, "small", str(bpe_folder))
    return made


@pytest.fixture(scope="module")
def small_twin(bpe_folder: Path) -> Twin:
    return Twin(bpe_folder / "model.safetensors", bpe_folder / "tokenizer.json", "embeddings")


@pytest.fixture(scope="module")
def loaded_once(server18: Server, bpe_folder: Path) -> Iterator[psycopg.Connection[Any]]:
    """One connection with the small model for all examples of a property."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as connection,
    ):
        static.load(Database(connection), "small", str(bpe_folder))
        yield connection
