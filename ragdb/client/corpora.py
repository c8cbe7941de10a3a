"""Which corpora are meant where none is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol


class Listed(Protocol):
    """A row of `ragdb.list_corpora`."""

    @property
    def name(self) -> str: ...
    @property
    def part_of(self) -> str | None: ...
    @property
    def parts(self) -> int | None: ...


def searched(corpora: Sequence[Listed]) -> list[str]:
    """A corpus that is made of parts stands for them, where all of them are listed."""
    seen = Counter(corpus.part_of for corpus in corpora)
    whole = {corpus.name for corpus in corpora if corpus.parts == seen[corpus.name] > 0}
    return [
        corpus.name
        for corpus in corpora
        if corpus.part_of not in whole and (not corpus.parts or corpus.name in whole)
    ]
