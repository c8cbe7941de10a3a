"""The parts of a score, as bars draw them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Part:
    """What a word or the meaning gives to a score, and where that stands in its bar, of 100."""

    kind: str
    label: str
    points: float
    most: float
    df: int | None = None
    tf: int | None = None
    value: float | None = None
    stands_for: str | None = None
    start: float = 0.0
    width: float = 0.0

    @classmethod
    def of(cls, row: Any, weight: float = 1.0) -> Part:
        """A row of `ragdb.explain_score`, of a leg with some weight."""
        return cls(
            row.part,
            row.lexeme or row.part,
            weight * row.points,
            weight * row.most,
            row.df,
            row.tf,
            row.value,
            row.stands_for if row.stands_for != row.lexeme else None,
        )


def meaning(similarity: float | None, weight: float) -> Part:
    """What the semantic leg gives to a score, in which it has a weight."""
    return Part("meaning", "meaning", weight * (similarity or 0.0), weight, value=similarity)


def stacked(parts: Iterable[Part]) -> list[Part]:
    """Parts one behind the other. Nothing is drawn of one that takes from the score."""
    placed, at = [], 0.0
    for part in parts:
        width = max(0.0, 100 * part.points)
        placed.append(replace(part, start=round(at, 2), width=round(width, 2)))
        at += width
    return placed
