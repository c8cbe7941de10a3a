"""What a record or a front matter says of its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragdb.readers.document import ReadError, one_line


def fields(
    keys: Mapping[str, Any], id_keys: tuple[str, ...]
) -> tuple[str | None, str | None, str | None, dict[str, Any]]:
    """Title, language, id and metadata of a record or a front matter.

    `metadata` is the metadata; every other key that means nothing to us joins it.
    """
    rest = dict(keys)
    title = one_line(_text(rest.pop("title", None)))
    languages = [_text(rest.pop(key, None)) for key in ("language", "lang")]
    ids = [_text(rest.pop(key, None)) for key in id_keys]
    metadata = rest.pop("metadata", None)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise ReadError("malformed", "its metadata is not an object", "write metadata as an object")
    return (
        title,
        next(filter(None, languages), None),
        next(filter(None, ids), None),
        {**rest, **(metadata or {})},
    )


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, bool | list | dict):
        return None
    return str(value).strip() or None
