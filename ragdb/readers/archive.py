"""Formats that are zip archives of XML: what they may unpack to, and their parts."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO

from ragdb.client.counting import counted
from ragdb.readers.document import ReadError

_MAX_PARTS = 64 * 1024 * 1024
_MAX_ENTRIES = 10_000
_READ = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx", ".bin")


class Parts:
    """The parts of an archive whose declared sizes are within limits."""

    def __init__(self, data: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise ReadError(
                "corrupt", f"it is not a readable archive ({str(error)[:80]})", "save it again"
            ) from None
        entries = self._archive.infolist()
        # what a bomb declares; zipfile never unpacks more than that
        unpacked = sum(e.file_size for e in entries if e.filename.lower().endswith(_READ))
        if len(entries) > _MAX_ENTRIES or unpacked > _MAX_PARTS:
            raise ReadError(
                "limits",
                f"it unpacks to {counted(len(entries), 'entry')} and {unpacked} bytes of text",
                f"the limits are {_MAX_ENTRIES} entries and {_MAX_PARTS} bytes: split it",
            )
        self.names = frozenset(self._archive.namelist())

    def read(self, name: str) -> bytes:
        """The bytes of a part, none for one that there is not. Raises ReadError `corrupt`."""
        if name not in self.names:
            return b""
        if self._archive.getinfo(name).file_size > _MAX_PARTS:
            raise ReadError("limits", f"its part {name[:80]} is too large", "split it")
        try:
            return self._archive.read(name)
        except MemoryError:
            raise
        except Exception as error:
            # each way of packing has errors of its own; this one is that of zipfile
            if type(error) is RuntimeError:
                raise ReadError(
                    "encrypted", "it is encrypted", "save it without a password"
                ) from None
            raise ReadError(
                "corrupt", f"its part {name[:80]} cannot be read ({type(error).__name__})",
                "save it again",
            ) from None  # fmt: skip

    def copy(self, changed: Mapping[str, bytes]) -> bytes:
        """The archive with other parts in place of some, and without those that hold no text."""
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name in self.names:
                if name.lower().endswith(_READ):
                    archive.writestr(name, changed[name] if name in changed else self.read(name))
        return packed.getvalue()


def kind(data: bytes) -> str | None:
    """The format of an archive by what is in it; None for one that is not read."""
    parts = Parts(data)
    for format_name, part in (
        ("docx", "word/document.xml"),
        ("sheet", "xl/workbook.xml"),
        ("sheet", "xl/workbook.bin"),
        ("pptx", "ppt/presentation.xml"),
    ):
        if part in parts.names:
            return format_name
    declared = parts.read("mimetype").strip() if "mimetype" in parts.names else b""
    return {
        b"application/epub+zip": "epub",
        b"application/vnd.oasis.opendocument.text": "odt",
        b"application/vnd.oasis.opendocument.spreadsheet": "sheet",
    }.get(declared)
