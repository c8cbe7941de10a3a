"""A twin of static-v2 (docs/static.md) that never calls our SQL, and a small model for tests.

It reads the model's files itself and cuts words by the library `tokenizers`, whose byte pair
encoding, WordPiece and Unigram are not ours. Characters are classed by Python's unicodedata.
"""

from __future__ import annotations

import json
import math
import re
import struct
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

# Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese: letters, by how their names begin
SCRIPTS = (
    *("CJK ", "IDEOGRAPHIC ", "VERTICAL ", "HANGZHOU ", "HIRAGANA ", "KATAKANA", "HENTAIGANA "),
    *("HANGUL ", "THAI ", "LAO ", "KHMER ", "MYANMAR "),
)


def begins_word(letter: str) -> bool:
    """Whether a letter is of a script without spaces."""
    return unicodedata.category(letter) in ("Lo", "Lm", "Nl") and unicodedata.name(
        letter, ""
    ).startswith(SCRIPTS)


# soft hyphens, joiners, marks of direction, stretches and variation selectors
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u0640\u180b-\u180e\u200c-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)


class Twin:
    """Embeds texts as docs/static.md says."""

    def __init__(self, weights: Path, tokenizer: Path, key: str) -> None:
        self.folder = weights.parent
        raw = weights.read_bytes()
        (length,) = struct.unpack_from("<Q", raw)
        tensor = json.loads(raw[8 : 8 + length])[key]
        start, end = (8 + length + n for n in tensor["data_offsets"])
        kind = {"F16": np.float16, "F32": np.float32}[tensor["dtype"]]
        self.vectors = np.frombuffer(raw[start:end], kind).reshape(tensor["shape"]).astype(float)
        self.described = json.loads(tokenizer.read_text())
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.vocabulary: dict[str, int] = self.tokenizer.get_vocab(with_added_tokens=False)
        special = {t["content"] for t in self.described["added_tokens"]}
        self.piece_of = {
            number: piece
            for token, number in self.vocabulary.items()
            if (piece := self.spelled(token)) and token not in special
        }
        self.whole = np.rint(self.vectors * 511 / np.abs(self.vectors[sorted(self.piece_of)]).max())
        self.number_of = {piece: n for n, piece in sorted(self.piece_of.items(), reverse=True)}
        self.nothing = self.scaled(-self.whole[sorted(self.piece_of)].sum(axis=0))

    @property
    def kind(self) -> str:
        return str(self.described["model"]["type"])

    def spelled(self, token: str) -> str | None:
        if self.kind == "WordPiece":
            piece = token[2:] if token.startswith("##") else " " + token
        else:
            piece = token.replace("\u2581", " ")
        letters = piece[1:] if piece.startswith(" ") else piece
        plain = all(ord(c) > 127 or (c.isalnum() and c.isascii()) for c in letters)
        return piece if letters and plain and not re.fullmatch("<0x..>", token) else None

    @staticmethod
    def unit(total: Any) -> Any:
        """Of length 1, as far as halves go; each of them is a float64 again."""
        return (total / np.linalg.norm(total)).astype(np.float32).astype(np.float16).astype(float)

    @classmethod
    def scaled(cls, vector: Any) -> Any:
        return cls.unit(np.rint(vector * 511 / np.abs(vector).max()))

    def words(self, text: str) -> list[str]:
        # what nobody sees does not keep a letter from its mark; normalisation makes stretches
        text = unicodedata.normalize("NFKC", INVISIBLE.sub("", text))[:65536]
        # an apostrophe that Unicode calls a letter is a quote here
        text = INVISIBLE.sub("", text).replace("\u02bc", "'")
        text = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text)
        return "".join(f" {c}" if begins_word(c) else c for c in text).split()

    def pieces(self, word: str) -> list[int]:
        if " " + word in self.number_of:
            return [self.number_of[" " + word]]
        given = self.tokenizer.encode(word, add_special_tokens=False).ids
        return [n for n in given if n in self.piece_of]

    def total(self, text: str) -> Any:
        """The sum of the words of a text, each by the root of how often it stands there."""
        total = np.zeros(self.vectors.shape[1])
        for word, count in Counter(w[:64] for w in self.words(text[:65536])).items():
            for number in self.pieces(word):
                total += round(8 * math.sqrt(count)) / 8 * self.whole[number]
        return total

    def embed(self, text: str) -> Any:
        total = self.total(text)
        return self.unit(total) if total.any() else self.nothing

    def chunk(self, head: str, text: str) -> Any:
        """The embedding of a chunk under a head, which is its title and its heading path."""
        above, total = self.total(head), self.total(text)
        if above.any():
            third = np.linalg.norm(total) / (3 * np.linalg.norm(above))
            total = total + max(1, round(8 * third) / 8) * above
        return self.unit(total) if total.any() else self.nothing


def train(kind: str, texts: list[str], folder: Path, dims: int = 16) -> Twin:
    """A small model of one kind, trained on some texts, in the files of model2vec."""
    special = ["[UNK]"]
    if kind in ("bpe", "digits"):  # whose pieces of digits are of one digit
        tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
        trainer: Any = trainers.BpeTrainer(vocab_size=600, special_tokens=special)
    elif kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        trainer = trainers.WordPieceTrainer(vocab_size=600, special_tokens=special)
    else:
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(vocab_size=600, special_tokens=special, unk_token="[UNK]")
    if kind == "wordpiece":
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    elif kind == "digits":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(), pre_tokenizers.Digits(individual_digits=True)]
        )
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.train_from_iterator(texts, trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    vectors = np.random.default_rng(7).normal(size=(size, dims)).astype(np.float32)
    header = json.dumps(
        {
            "embeddings": {
                "dtype": "F32",
                "shape": list(vectors.shape),
                "data_offsets": [0, vectors.nbytes],
            }
        }
    ).encode()
    content = struct.pack("<Q", len(header)) + header + vectors.tobytes()
    (folder / "model.safetensors").write_bytes(content)
    return Twin(folder / "model.safetensors", folder / "tokenizer.json", "embeddings")
