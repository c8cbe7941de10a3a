"""Which corpora are meant where none is named, and whether one is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ragdb.client.client import Client


class Listed(Protocol):
    """A row of `ragdb.list_corpora`."""

    @property
    def name(self) -> str: ...
    @property
    def part_of(self) -> str | None: ...
    @property
    def parts(self) -> int | None: ...
    @property
    def moved_to(self) -> str | None: ...


def searched(corpora: Sequence[Listed]) -> list[str]:
    """The names of those that are here; the manual only where there is nothing else.

    One made of parts stands for them, where all are listed.
    """
    seen = Counter(corpus.part_of for corpus in corpora)
    whole = {corpus.name for corpus in corpora if corpus.parts == seen[corpus.name] > 0}
    names = [
        corpus.name
        for corpus in corpora
        if corpus.moved_to is None
        and corpus.part_of not in whole
        and (not corpus.parts or corpus.name in whole)
    ]
    return [name for name in names if name != "system"] or names


def is_there(db: Client, corpus: str) -> bool:
    """Whether the caller may read a corpus; an error would end a transaction to say that.

    Of those that begin with its name it is the first.
    """
    return [row.name for row in db.list_corpora(corpus, count=1)] == [corpus]
