"""How much matches, in all and by the values of fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragdb.client.counting import counted

if TYPE_CHECKING:
    from ragdb.cli.session import Session


def print_facets(
    session: Session, found: Sequence[Any], fields: list[str], total: Any, corpora: list[str]
) -> None:
    """Print the counts of what matches, and that of all."""
    nothing = f"nothing found in {', '.join(corpora)}"
    empty = f"nothing that matches has {' or '.join(fields)}" if total.chunks else nothing
    session.rows(found, "field value documents chunks", empty=empty)
    if total.chunks:
        documents, chunks = counted(total.documents, "document"), counted(total.chunks, "chunk")
        session.note(f"{documents}, {chunks} match")
    elif session.format != "table":
        session.note(nothing)
