"""Jupyter notebooks: prose as Markdown, code and what it printed as fenced code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragdb.client.rows import loads
from ragdb.readers import markdown
from ragdb.readers.document import Content, ReadError

_MAX_OUTPUT = 2_000


def read(text: str) -> Content:
    """Versions 3 and 4; images and tracebacks are left out, long outputs are cut."""
    try:
        notebook = loads(text, once=False)
        blocks = list(_blocks(notebook))
        about = notebook.get("metadata") or {}
        title = about.get("title")
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ReadError(
            "malformed", f"it is not a notebook ({type(error).__name__})", "save it again"
        ) from None
    return markdown.parse(
        "\n\n".join(block for block in blocks if block.strip()),
        title=title if isinstance(title, str) else None,
    )


def _blocks(notebook: dict[str, Any]) -> Iterator[str]:
    about = notebook.get("metadata") or {}
    language = str((about.get("language_info") or about.get("kernelspec") or {}).get("name", ""))
    language = language if language.isalnum() else ""
    cells = notebook.get("cells")
    if cells is None:
        cells = [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
    for cell in cells:
        source = _joined(cell.get("source", cell.get("input", "")))
        kind = cell.get("cell_type")
        if kind == "heading":
            yield f"{'#' * int(cell.get('level', 1))} {source}"
        elif kind == "code":
            yield _fenced(source, language)
            for output in cell.get("outputs") or []:
                shown = output.get("text") or (output.get("data") or {}).get("text/plain")
                yield _fenced(_joined(shown or "")[:_MAX_OUTPUT], "")
        else:
            yield source


def _joined(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _fenced(text: str, language: str) -> str:
    text = text.strip("\n")
    if not text.strip():
        return ""
    fence = "~~~" if "```" in text else "```"
    return f"{fence}{language}\n{text}\n{fence}"
