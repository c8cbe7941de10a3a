"""The embedders of a database, their encoders, and the embedding of a query."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import psycopg

from ragdb.client._generated.functions import Functions
from ragdb.client._generated.rows import Embedders
from ragdb.client.calling import Reals as Reals
from ragdb.errors import EmbedderNotFound, InvalidEmbedding
from ragdb.models.encoders import Encoder, HashEncoder, check
from ragdb.models.endpoints import EndpointEncoder
from ragdb.models.local import PACKAGED, LocalEncoder, model_folder

if TYPE_CHECKING:
    from ragdb.models.encoders import Matrix

STATIC = "static"
# the weights that sentence-transformers/all-MiniLM-L6-v2 was published with
MINILM: dict[str, Any] = {
    "name": "all-MiniLM-L6-v2",
    "model": "sentence-transformers/all-MiniLM-L6-v2",
    "dims": 384,
    "max_tokens": 256,
    "weights_sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}


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


def load(embedder: Embedders) -> Encoder:
    """The encoder of an embedder, kept for the process.

    Raises EmbedderNotFound, EmbedderMismatch.
    """
    if embedder.provider is None or embedder.provider_model is None:
        raise EmbedderNotFound(
            f"embedder {embedder.name!r} is not bound to a provider; run "
            f"ragdb embedder bind {embedder.name} --provider sentence-transformers|openai|hash"
        )
    if find_spec("numpy") is None:
        extra = "endpoint" if embedder.provider == "openai" else "embed"
        raise EmbedderNotFound(
            f"embedder {embedder.name!r} needs numpy, which is not installed: "
            f"pip install 'ragdb-postgres[{extra}]'"
        )
    return _load(
        embedder.provider,
        embedder.provider_model,
        embedder.dims,
        embedder.max_tokens,
        embedder.weights_sha256,
        embedder.revision,
    )


def need(connection: psycopg.Connection[Any], name: str) -> None:
    """Raise EmbedderNotFound where a local model, or what runs it, is not on this machine."""
    embedder = embedders(connection).get(name)
    if embedder and embedder.provider == "sentence-transformers" and embedder.provider_model:
        model_folder(embedder.provider_model, embedder.revision)


def embedders(connection: psycopg.Connection[Any]) -> dict[str, Embedders]:
    """All embedders by name."""
    return {row.name: row for row in Functions(connection).list_embedders()}


def ensure_default(connection: psycopg.Connection[Any]) -> str:
    """Create and bind all-MiniLM-L6-v2, from the packaged weights, and return its name."""
    name = str(MINILM["name"])
    if name not in embedders(connection):
        db = Functions(connection)
        db.create_embedder(**MINILM)
        db.bind_embedder(name, "sentence-transformers", PACKAGED)
    return name


def current(connection: psycopg.Connection[Any], corpus: str) -> Embedders | None:
    """The embedder that a corpus is searched by; None when it has no embeddings."""
    return Functions(connection).corpus_embedder(corpus)


def query(embedder: Embedders, text: str) -> Reals:
    """The embedding of a query. Raises ProviderDown, InputRefused, InvalidEmbedding."""
    return Reals(_encoded(embedder, text))


def many(
    connection: psycopg.Connection[Any], embedder: Embedders, texts: Sequence[str]
) -> list[float]:
    """The numbers of the embeddings of some queries, one behind the other. Raises as `query`."""
    if embedder.provider == STATIC:
        db = Functions(connection)
        return [number for text in texts for number in db.embed(text, embedder.name)]
    vectors = load(embedder).encode([embedder.query_prefix + text for text in texts])
    return [float(number) for number in vectors.ravel()]


def numbers(embedder: Embedders, text: str) -> list[float]:
    """The numbers of a query's embedding. Raises what `query` raises."""
    return [float(number) for number in _encoded(embedder, text).ravel()]


def _encoded(embedder: Embedders, text: str) -> Matrix:
    vectors = load(embedder).encode([embedder.query_prefix + text])
    if wrong := check(vectors)[0]:
        raise InvalidEmbedding(wrong)
    return vectors
