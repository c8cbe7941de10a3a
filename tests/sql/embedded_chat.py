"""A conversation whose turns are embedded."""

from __future__ import annotations

import math
from typing import Any

from tests.conftest import Connection
from tests.sql.conversations import message

Vector = list[float]
VECTORS: dict[int, Vector] = {
    1: [1.0, 0.0, 0.0],
    2: [0.6, 0.8, 0.0],
    3: [0.0, 1.0, 0.0],
    4: [0.0, 0.6, 0.8],
    5: [-1.0, 0.0, 0.0],
}


def messages() -> list[dict[str, Any]]:
    return [
        message(1, text="How are refunds paid?", salience=0.9),
        message(2, [1], text="Refunds are paid by card."),
        message(3, [2], text="And refunds of gifts?"),
        message(4, [3], text="Gifts become vouchers."),
        message(5, [1], text="Shipping is another matter."),
    ]


def cosine(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def embed(db: Connection, only: set[int] | None = None) -> None:
    """Have the queue's claims answered with VECTORS; those of other messages fail."""
    claimed = db.execute("select * from ragdb.claim_embeddings('test')").fetchall()
    for space, _, _, input_hash, attempt, text in claimed:
        n = next(
            i for i, m in enumerate(messages(), 1) if m["text"] == text or f"\n{m['text']}" in text
        )
        if only is None or n in only:
            db.execute(
                "select ragdb.complete_embeddings(%s, %s, %s::integer[], %s::real[])",
                (space, [input_hash], [attempt], VECTORS[n]),
            )
