"""The file that a corpus is exported to: gzip of lines of JSON.

The first line says what the corpus is (`ragdb.export_corpus`), the last has the SHA-256 of all
before it; between them come documents, originals and embeddings. A file is looked through to its
end before anything of it is given to the database.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FAMILY, VERSION = "ragdb-corpus/", 2
EMBEDDER = ("name", "m", "ef_construction")
DOCUMENTS = b'{"documents": ['
ORIGINAL = 256 << 20  # bytes that an original may have
LINE = ORIGINAL // 3 * 4 + (1 << 20)  # one in base64, and what is around it

# deflate can unpack to a thousand times as much; of text and vectors it makes some five times
RATIO, SLACK = 300, 64 << 20
Json = dict[str, Any]
Progress = Callable[[int, int], None]


class ExportError(Exception):
    """An export that cannot be made, or a file that is none; `hint` says what to do."""

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Exported:
    """What a file holds; `size` is in bytes, of the file."""

    corpus: str
    documents: int
    chunks: int
    turns: int
    embeddings: int
    originals: int
    embedder: str | None
    size: int
    digest: str


def exported_of(header: Json, originals: int, size: int) -> Exported:
    counts, embedder = header["counts"], header["embedder"]
    return Exported(
        header["corpus"]["name"],
        counts["documents"],
        counts["chunks"],
        counts["turns"],
        counts["embeddings"],
        originals,
        embedder and embedder["name"],
        size,
        header["digest"],
    )


def check(path: str | os.PathLike[str]) -> Exported:
    """Look a file through to its end, and say what it holds.

    Raises ExportError for one that is not an export, of a newer version, cut off or altered.
    """
    source = Path(path)
    first = last = b""
    for line in read_lines(source):
        first, last = first or line, line
    originals = record_of(source, last)["originals"]
    return exported_of(header_of(source, first), originals, source.stat().st_size)


def read_lines(source: Path) -> Iterator[bytes]:
    """The lines of a file; the last comes only when it has the hash of those before it."""
    lines = _unpacked(source)
    line = next(lines, b"")
    header_of(source, line)
    digest = hashlib.sha256()
    for following in lines:
        yield line
        digest.update(line)
        line = following
    end = record_of(source, line)
    if end.get("end") != digest.hexdigest() or type(end.get("originals")) is not int:
        raise _damaged(source)
    yield line


def _unpacked(source: Path) -> Iterator[bytes]:
    most = RATIO * source.stat().st_size + SLACK
    try:
        with gzip.open(source) as lines:
            while line := lines.readline(LINE + 1):
                most -= len(line)
                if most < 0 or len(line) > LINE:
                    raise strange(source, f"it unpacks to {RATIO} times its size, or in one line")
                yield line
    except (EOFError, zlib.error) as error:
        raise _damaged(source) from error
    except gzip.BadGzipFile as error:
        if "Not a gzipped file" in str(error):
            raise strange(source, "it is not compressed by gzip") from error
        raise _damaged(source) from error


def header_of(source: Path, line: bytes) -> Json:
    header = record_of(source, line)
    form = header.get("format")
    if not isinstance(form, str) or not form.startswith(FAMILY):
        raise strange(source, "it does not begin like one")
    if form != f"{FAMILY}{VERSION}":
        maker = f", made by {header['made_by']!s:.40}" if "made_by" in header else ""
        raise ExportError(
            f"{source} has the format {form:.40}{maker}, and this ragdb reads {FAMILY}{VERSION}",
            "export the corpus again with this version of ragdb, or import the file with the one"
            " that made it",
        )
    corpus, counts, embedder = (header.get(name) for name in ("corpus", "counts", "embedder"))
    if (
        not isinstance(corpus, dict)
        or not isinstance(corpus.get("name"), str)
        or not isinstance(counts, dict)
        or any(
            type(counts.get(n)) is not int for n in ("documents", "chunks", "turns", "embeddings")
        )
        or not isinstance(header.get("digest"), str)
        or not (embedder is None or isinstance(embedder, dict))
        or any(name not in (embedder or EMBEDDER) for name in EMBEDDER)
    ):
        raise strange(source, "its first line is incomplete")
    return header


def record_of(source: Path, line: bytes) -> Json:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise strange(source, "one of its lines is not JSON") from error
    if not isinstance(record, dict):
        raise strange(source, "one of its lines is not a JSON object")
    return record


def _damaged(source: Path) -> ExportError:
    return ExportError(
        f"{source} was cut off or altered", "copy it again, or export the corpus again"
    )


def strange(source: Path, why: str) -> ExportError:
    return ExportError(
        f"{source} is not an export of a corpus: {why}",
        "create one with `ragdb export`; nothing was imported",
    )
