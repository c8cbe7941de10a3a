"""Reads the files of static models: vectors of pieces of words, and how words become pieces.

Two layouts are known: the package wordllama, and the folders of model2vec, which hold
model.safetensors and tokenizer.json. What comes out is what `ragdb.put_static_pieces` takes. No
package of theirs is imported, and nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragdb.errors import EmbedderMismatch, EmbedderNotFound

if TYPE_CHECKING:
    from ragdb.models.encoders import Matrix

PACKAGE = "wordllama"
NAME = "wordllama-256"
MODEL = "dleemiller/word-llama-l2-supercat"
# the files that the wheel of wordllama 0.4 holds
WEIGHTS_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
LARGEST = 511
SIGNS = frozenset(map(chr, range(128))) - frozenset(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)


@dataclass(frozen=True)
class StaticModel:
    """A static model as the database takes it."""

    model: str
    dims: int
    weights_sha256: str
    tokenizer: str
    folding: str
    pieces: list[str]
    """In the order of their bytes."""
    ranks: list[int]
    vectors: Matrix
    """A row of whole numbers for each piece."""

    @property
    def digest(self) -> str:
        """What `ragdb.bind_static` compares with what has come."""
        import numpy as np

        rows = np.empty((len(self.pieces), self.dims + 2), ">u2")
        rows[:, :2] = self.dims, 0
        rows[:, 2:] = self.vectors.astype(np.float16).view(np.uint16)
        total = hashlib.sha256()
        for piece, rank, row in zip(self.pieces, self.ranks, rows, strict=True):
            name = piece.encode()
            total.update(struct.pack(">i", len(name)) + name + struct.pack(">i", rank))
            total.update(row.tobytes())
        return total.hexdigest()


def installed() -> bool:
    """Whether the package of the default model is there."""
    return find_spec(PACKAGE) is not None


def read(source: str | None = None) -> StaticModel:
    """A static model of a folder or an installed package; without either, the default one.

    Raises EmbedderNotFound, EmbedderMismatch.
    """
    folder = _folder(source or PACKAGE)
    if find_spec("numpy") is None:
        raise EmbedderNotFound(
            "a static model is read with numpy, which is not installed:"
            " pip install 'ragdb-postgres[static]'"
        )
    if (folder / "weights").is_dir() and (folder / "tokenizers").is_dir():
        weights = folder / "weights/l2_supercat_256.safetensors"
        tokenizer = folder / "tokenizers/l2_supercat_tokenizer_config.json"
        _check(weights, WEIGHTS_SHA256)
        _check(tokenizer, TOKENIZER_SHA256)
        name = MODEL
    else:
        weights, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
        name = folder.name
    for file in (weights, tokenizer):
        if not file.is_file():
            raise EmbedderNotFound(
                f"{str(folder)!r} has no {file.name}; a static model is a folder with"
                " model.safetensors and tokenizer.json, or the package wordllama"
            )
    described = _tokenizer(tokenizer)
    pieces, ranks, vectors = _scaled(described, _vectors(weights))
    return StaticModel(
        model=name,
        dims=vectors.shape[1],
        weights_sha256=_sha256(weights),
        tokenizer=described.kind,
        folding=described.folding,
        pieces=pieces,
        ranks=ranks,
        vectors=vectors,
    )


def _folder(source: str) -> Path:
    folder = Path(source)
    if folder.is_dir():
        return folder
    found = find_spec(source) if source.isidentifier() else None
    if found is None or not found.submodule_search_locations:
        raise EmbedderNotFound(
            f"{source!r} is neither a folder nor an installed package;"
            " `pip install 'ragdb-postgres[static]'` brings the default static model"
        )
    return Path(found.submodule_search_locations[0])


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _check(file: Path, expected: str) -> None:
    if file.is_file() and _sha256(file) != expected:
        raise EmbedderMismatch(
            f"{file.name} has the SHA-256 {_sha256(file)}, not {expected};"
            " the package is of another version than this ragdb knows"
        )


def _tensors(file: Path) -> dict[str, Matrix]:
    """The tensors of a safetensors file: a length, a header of JSON, and numbers."""
    import numpy as np

    kinds: dict[str, Any] = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}
    content = file.read_bytes()
    try:
        (length,) = struct.unpack_from("<Q", content)
        header = json.loads(content[8 : 8 + length])
        header.pop("__metadata__", None)
        found = {}
        for name, tensor in header.items():
            start, end = (8 + length + offset for offset in tensor["data_offsets"])
            if tensor["dtype"] == "BF16":
                raw = np.frombuffer(content[start:end], "<u2").astype("<u4") << 16
                numbers = raw.view("<f4")
            elif tensor["dtype"] in kinds:
                numbers = np.frombuffer(content[start:end], kinds[tensor["dtype"]])
            else:
                raise EmbedderMismatch(
                    f"{file.name} has numbers of type {tensor['dtype']}, which is not read;"
                    " save the model with float16 or float32 numbers"
                )
            found[name] = numbers.reshape(tensor["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedderMismatch(f"{file.name} is not a safetensors file: {error}") from None
    return found


def _vectors(file: Path) -> Matrix:
    """One row of numbers a token, weighted where the file has weights."""
    import numpy as np

    tensors = _tensors(file)
    main = [tensors[name] for name in ("embeddings", "embedding.weight") if name in tensors]
    if not main or main[0].ndim != 2:
        raise EmbedderMismatch(
            f"{file.name} has {', '.join(tensors) or 'nothing'}, and no matrix embeddings or"
            " embedding.weight: it is not a static model"
        )
    vectors = main[0].astype(np.float32)
    if "mapping" in tensors:
        vectors = vectors[tensors["mapping"].astype(np.int64)]
    if "weights" in tensors:
        vectors = vectors * tensors["weights"].astype(np.float32)[:, None]
    if not 1 <= vectors.shape[1] <= 4000 or not np.isfinite(vectors).all() or not vectors.any():
        raise EmbedderMismatch(f"{file.name} has vectors that are too wide, not finite or all zero")
    return vectors


@dataclass(frozen=True)
class _Described:
    kind: str
    folding: str
    tokens: dict[str, tuple[int, int]]
    """Of each piece its number and its rank."""


def _tokenizer(file: Path) -> _Described:
    try:
        given = json.loads(file.read_bytes())
        model = given["model"]
        kind = {"BPE": "bpe", "WordPiece": "wordpiece", "Unigram": "unigram"}.get(model["type"])
        if kind is None:
            raise EmbedderMismatch(
                f"{file.name} has a tokenizer of type {model['type']};"
                " BPE, WordPiece and Unigram are read"
            )
        special = {t["content"] for t in given.get("added_tokens") or [] if t.get("special")}
        if kind == "unigram":
            # in thousandths one way to cut a word in some thousands tied with another
            listed = [(t, n, round(1e7 * max(p, -99))) for n, (t, p) in enumerate(model["vocab"])]
        else:
            listed = [(token, number, number) for token, number in model["vocab"].items()]
        spell = _speller(kind, model, json.dumps([given["pre_tokenizer"], given["normalizer"]]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedderMismatch(
            f"{file.name} is not the description of a tokenizer: {error}"
        ) from None
    tokens: dict[str, tuple[int, int]] = {}
    for token, number, rank in sorted(listed, key=lambda row: row[1]):
        piece = None if token in special else spell(token)
        if piece == " " and kind == "unigram":
            tokens[piece] = (number, rank)  # it may begin a word by itself, and means nothing
        elif piece and (letters := set(piece.removeprefix(" "))) and not SIGNS & letters:
            tokens.setdefault(piece, (number, rank))
    return _Described(kind, _folding(given["normalizer"]), tokens)


def _speller(kind: str, model: dict[str, Any], around: str) -> Any:
    """What writes a token as we write pieces: a space in front where it begins words."""
    if kind == "wordpiece":
        prefix = model.get("continuing_subword_prefix") or "##"
        return lambda t: t[len(prefix) :] if t.startswith(prefix) else f" {t}"
    if '"ByteLevel"' in around:
        codes = _byte_codes()

        def spell(token: str) -> str | None:
            try:
                return bytes(codes[letter] for letter in token).decode()
            except (KeyError, UnicodeDecodeError):
                return None  # a part of a letter

        return spell
    return lambda t: None if t.startswith("<0x") else t.replace("\u2581", " ")


def _byte_codes() -> dict[str, int]:
    """The letters by which byte-level tokenizers write bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {
        chr(256 + n): byte for n, byte in enumerate(hidden)
    }


def _folding(normalizer: dict[str, Any] | None) -> str:
    steps = (normalizer or {}).get("normalizers", [normalizer or {}])
    case = any(s.get("type") == "Lowercase" or s.get("lowercase") for s in steps)
    # BERT: null follows lowercase
    accents = any(
        s.get("type") == "StripAccents"
        or (
            s.get("type") == "BertNormalizer"
            and (s.get("strip_accents") if s.get("strip_accents") is not None else case)
        )
        for s in steps
    )
    return "accents" if accents and case else "case" if case else "none"


def _scaled(described: _Described, vectors: Matrix) -> tuple[list[str], list[int], Matrix]:
    """All pieces, their ranks, and their numbers scaled to whole ones of at most 511."""
    import numpy as np

    if any(number >= len(vectors) for number, _ in described.tokens.values()):
        raise EmbedderMismatch(
            f"the tokenizer has more tokens than the {len(vectors)} vectors of the model"
        )
    names = sorted(described.tokens, key=str.encode)
    rows = vectors[[described.tokens[name][0] for name in names]]
    rows[[name == " " for name in names]] = 0
    whole = np.rint(rows * (LARGEST / np.abs(rows).max().astype(np.float64)))
    nothing = -whole.sum(axis=0)
    if not nothing.any():
        nothing[0] = 1
    nothing = np.rint(nothing * (LARGEST / np.abs(nothing).max()))
    ranks = [0, *(described.tokens[name][1] for name in names)]
    # there is one zero
    return ["", *names], ranks, np.vstack([nothing, whole]).astype(np.int16).astype(np.float32)
