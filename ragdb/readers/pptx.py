"""PPTX, by python-pptx (the extra `office`): a page a slide, with its tables and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

from pptx import Presentation

from ragdb.readers import tables
from ragdb.readers.archive import Parts
from ragdb.readers.building import Builder
from ragdb.readers.document import Content, ReadError, clean, one_line


def read(data: bytes) -> Content:
    """A slide's title is a heading; the title of the whole is that of its properties."""
    Parts(data)  # for its limits
    try:
        deck = Presentation(BytesIO(data))
        built = Builder()
        empty = 0
        for number, slide in enumerate(deck.slides, 1):
            built.page(number)
            before = built.size
            _slide(built, slide)
            empty += built.size == before
        about = deck.core_properties
        title, language = one_line(about.title), about.language or None
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        # python-pptx and lxml raise whatever they meet
        raise ReadError(
            "corrupt", f"it is not a readable PPTX ({type(error).__name__})", "save it again"
        ) from None
    return built.content(title=title, language=language, pages_without_text=empty)


def _slide(built: Builder, slide: Any) -> None:
    title = slide.shapes.title
    if title is not None:
        built.heading(1, title.text_frame.text)
    for block in _blocks(slide.shapes, None if title is None else title.shape_id):
        built.block(clean(block.replace("\v", "\n"))[0])
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        built.block(clean(slide.notes_slide.notes_text_frame.text)[0])


def _blocks(shapes: Iterable[Any], title: int | None) -> Iterator[str]:
    for shape in shapes:
        if shape.shape_id == title:
            continue
        if getattr(shape, "shapes", None) is not None:
            yield from _blocks(shape.shapes, title)
        elif getattr(shape, "has_table", False):
            yield tables.markdown([[cell.text for cell in row.cells] for row in shape.table.rows])
        elif shape.has_text_frame:
            yield "\n".join(paragraph.text for paragraph in shape.text_frame.paragraphs)
