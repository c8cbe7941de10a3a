"""The languages of documents that name none: the database tells them by their beginnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragdb.readers.document import Document

if TYPE_CHECKING:
    from ragdb.client._generated.functions import Functions

BEGINNING = 1000  # characters that ragdb.guess_languages looks at


def beginning(document: Document) -> str:
    """What the language of a document is told by."""
    if document.messages is None:
        return document.text[:BEGINNING]
    first = document.messages[:BEGINNING]  # there is a line end between two
    return "\n".join(one["text"][:BEGINNING] for one in first)[:BEGINNING]


def told(db: Functions, beginnings: Sequence[str]) -> dict[int, str]:
    """The languages that can be told, by the places of their texts."""
    rows = db.guess_languages(list(beginnings)) if beginnings else ()
    return {row.position: row.language for row in rows if row.language}
