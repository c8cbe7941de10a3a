"""Shared by tests of vectors: a corpus of one-chunk documents that is embedded at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from ragdb.models.encoders import HashEncoder
from tests.conftest import Connection
from tests.documents import text_document

WIDTH = 64
ENCODER = HashEncoder(WIDTH)
Encode = Callable[[Sequence[str]], Any]


def put(db: Connection, texts: Mapping[str, str], corpus: str = "docs", **more: Any) -> None:
    documents = [text_document(uri, text, **more) for uri, text in texts.items()]
    db.execute("select count(*) from ragdb.put_documents(%s, %s)", (corpus, Jsonb(documents)))


def make_embedder(db: Connection, name: str = "hash", dims: int = WIDTH, **more: Any) -> str:
    arguments = {"name": name, "dims": dims, **more}
    named = ", ".join(f"{key} => %({key})s" for key in arguments)
    db.execute(f"select ragdb.create_embedder({named})", arguments)
    db.execute("select ragdb.bind_embedder(%s, 'hash', 'hash-v1')", (name,))
    return name


def make_corpus(
    db: Connection, texts: Mapping[str, str], corpus: str = "docs", **more: Any
) -> None:
    """A corpus whose chunks wait for their embeddings by the hashing embedder."""
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    make_embedder(db)
    db.execute("select ragdb.embed_corpus(%s, 'hash')", (corpus,))
    put(db, texts, corpus, **more)


def claim(db: Connection, worker: str = "w", count: int = 100, lease: str = "60 s") -> list[Any]:
    """Rows of (space_id, input_hash, attempt, input)."""
    return db.execute(
        "select space_id, input_hash, attempt, input from ragdb.claim_embeddings(%s, %s, %s)",
        (worker, count, lease),
    ).fetchall()


def complete(db: Connection, rows: Sequence[Any], encode: Encode = ENCODER.encode) -> int:
    stored: int = one(
        db,
        "select ragdb.complete_embeddings(%s, %s, %s, %s)",
        rows[0][0],
        [row[1] for row in rows],
        [row[2] for row in rows],
        Reals(encode([row[3] for row in rows])),
    )
    return stored


def embed(db: Connection, encode: Encode = ENCODER.encode) -> int:
    """Embed all that waits, as a worker does; the number of chunks."""
    stored = 0
    while rows := claim(db):
        stored += complete(db, rows, encode)
    return stored


def one(db: Connection, query: str, *parameters: Any) -> Any:
    """The one value of a query."""
    ((value,),) = db.execute(query, parameters).fetchall()
    return value


def status(db: Connection, column: str, corpus: str = "docs") -> Any:
    return one(
        db, f"select {column} from ragdb.embedding_status(%s) where state = 'current'", corpus
    )
