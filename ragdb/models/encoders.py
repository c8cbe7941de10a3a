"""What an encoder is: texts in, vectors out; and the one that needs no weights."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


if TYPE_CHECKING:
    Matrix = NDArray[np.float32]


class ProviderDown(Exception):
    """The provider cannot be reached or is overloaded: its inputs are not to blame."""

    exit_code = 2


class InputRefused(Exception):
    """The provider will not embed this input, however often it is asked."""

    exit_code = 2


class Encoder(Protocol):
    """Turns texts into vectors of `dims` numbers, one row a text, in their order."""

    dims: int

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Raises ProviderDown, InputRefused (of one of the texts), InvalidEmbedding."""
        ...

    def cut(self, texts: Sequence[str]) -> int:
        """How many of these texts go on after what the model reads; 0 where that is not known."""
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

    def cut(self, texts: Sequence[str]) -> int:
        return 0


def check(vectors: Matrix) -> list[str | None]:
    """What is wrong with each row: not finite or zero; None where it is fine."""
    import numpy as np

    finite: Any = np.isfinite(vectors).all(axis=1)
    zero: Any = ~vectors.any(axis=1)
    return [
        "the embedding is zero" if nothing else None if fine else "the embedding is not finite"
        for fine, nothing in zip(finite, zero, strict=True)
    ]
