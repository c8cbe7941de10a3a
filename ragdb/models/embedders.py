"""The embedders of a database, their encoders, and the embedding of a query."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import class_row

from ragdb.client.calling import Reals as Reals
from ragdb.errors import EmbedderNotFound, InvalidEmbedding
from ragdb.models.encoders import Encoder, HashEncoder, check
from ragdb.models.endpoints import EndpointEncoder
from ragdb.models.local import PACKAGED, LocalEncoder

# the weights that sentence-transformers/all-MiniLM-L6-v2 was published with
MINILM = {
    "name": "all-MiniLM-L6-v2",
    "model": "sentence-transformers/all-MiniLM-L6-v2",
    "dims": 384,
    "max_tokens": 256,
    "weights_sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}


@dataclass(frozen=True, slots=True)
class Embedder:
    """A row of `ragdb.list_embedders()`: what a model promises, and who runs it."""

    embedder_id: int
    name: str
    model: str
    revision: str | None
    dims: int
    metric: str
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    weights_sha256: str | None
    provider: str | None
    provider_model: str | None
    created_at: Any


@functools.lru_cache(4)
def _load(
    provider: str,
    source: str,
    dims: int,
    max_tokens: int,
    weights: str | None,
    revision: str | None,
) -> Encoder:
    if provider == "hash":
        if source != "hash-v1":
            raise EmbedderNotFound(f"the hashing embedder is hash-v1, not {source!r}")
        return HashEncoder(dims)
    if provider == "openai":
        return EndpointEncoder(source, dims)
    return LocalEncoder(source, dims, max_tokens, weights, revision)


def load(embedder: Embedder) -> Encoder:
    """The encoder of an embedder, kept for the process.

    Raises EmbedderNotFound, EmbedderMismatch.
    """
    if embedder.provider is None or embedder.provider_model is None:
        raise EmbedderNotFound(
            f"embedder {embedder.name!r} is bound to no provider: "
            f"ragdb embedder bind {embedder.name} --provider sentence-transformers|openai|hash"
        )
    return _load(
        embedder.provider,
        embedder.provider_model,
        embedder.dims,
        embedder.max_tokens,
        embedder.weights_sha256,
        embedder.revision,
    )


def embedders(connection: psycopg.Connection[Any]) -> dict[str, Embedder]:
    """All embedders by name."""
    with connection.cursor(row_factory=class_row(Embedder)) as cursor:
        rows = cursor.execute("select * from ragdb.list_embedders()").fetchall()
    return {row.name: row for row in rows}


def ensure_default(connection: psycopg.Connection[Any]) -> str:
    """Create and bind all-MiniLM-L6-v2, from the packaged weights, and return its name."""
    name = str(MINILM["name"])
    if name not in embedders(connection):
        connection.execute(
            "select ragdb.create_embedder(name => %(name)s, model => %(model)s, dims => %(dims)s,"
            " max_tokens => %(max_tokens)s, weights_sha256 => %(weights_sha256)s)",
            MINILM,
        )
        connection.execute(
            "select ragdb.bind_embedder(%s, 'sentence-transformers', %s)", (name, PACKAGED)
        )
    return name


def current(connection: psycopg.Connection[Any], corpus: str) -> Embedder | None:
    """The embedder that a corpus is searched by; None when it has no embeddings."""
    with connection.cursor(row_factory=class_row(Embedder)) as cursor:
        return cursor.execute("select * from ragdb.corpus_embedder(%s)", (corpus,)).fetchone()


def common(connection: psycopg.Connection[Any], corpora: Sequence[str]) -> Embedder | None:
    """The one embedder that all of some corpora are searched by; None when there is none."""
    found = [current(connection, corpus) for corpus in corpora]
    return found[0] if found and all(embedder == found[0] for embedder in found) else None


def query(embedder: Embedder, text: str) -> Reals:
    """The embedding of a query. Raises ProviderDown, InputRefused, InvalidEmbedding."""
    vectors = load(embedder).encode([embedder.query_prefix + text])
    if wrong := check(vectors)[0]:
        raise InvalidEmbedding(wrong)
    return Reals(vectors)


def numbers(embedder: Embedder, text: str) -> list[float]:
    """The numbers of a query's embedding. Raises what `query` raises."""
    return [float(number) for number in query(embedder, text).vectors.ravel()]


def for_query(
    connection: psycopg.Connection[Any], corpora: Sequence[str], text: str
) -> list[float] | None:
    """The embedding to search these corpora by; None unless all have embeddings by one embedder.

    Raises EmbedderNotFound, EmbedderMismatch, InvalidEmbedding, ProviderDown, InputRefused.
    """
    embedder = common(connection, corpora)
    return None if embedder is None else numbers(embedder, text)
