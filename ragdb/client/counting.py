"""Numbers of things, and names of many, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

FEW = 8  # names in a sentence
LISTED = 20  # rows of each list in a status, beside how many there are


def named(number: int, thing: str) -> str:
    """The word for so many things.

    >>> [named(1, "chunk"), named(2, "chunk"), named(0, "entry"), named(2, "corpus")]
    ['chunk', 'chunks', 'entries', 'corpora']
    """
    if number == 1:
        return thing
    if thing == "corpus":
        return "corpora"
    return f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}s"


def counted(number: int, thing: str, do: str = "") -> str:
    """A number of things, what they are, and what they do.

    >>> [counted(1, "document"), counted(2, "case", "catch"), counted(1, "case", "catch")]
    ['1 document', '2 cases catch', '1 case catches']
    """
    ending = ("es" if do.endswith(("o", "ch")) else "s") if number == 1 and do else ""
    return f"{number} {named(number, thing)}" + (f" {do}{ending}" if do else "")


def some(names: Sequence[str], most: int = FEW) -> str:
    """The first of some names, and how many more there are.

    >>> some(["a", "b", "c"]), some(["a", "b", "c"], 2), some([])
    ('a, b, c', 'a, b and 1 more', 'none')
    """
    shown = ", ".join(names[:most]) or "none"
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
