"""Write a corpus to a file: `ragdb export`."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg.pq import TransactionStatus

from ragdb import files
from ragdb.portable.format import (
    DOCUMENTS,
    ORIGINAL,
    RATIO,
    SLACK,
    Exported,
    ExportError,
    Json,
    Progress,
    exported_of,
)
from ragdb.version import __version__

if TYPE_CHECKING:
    from ragdb.client._generated.rows import Blob
    from ragdb.client.client import Client


def write(
    db: Client,
    corpus: str,
    path: str | os.PathLike[str],
    *,
    blobs: bool = True,
    force: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write a corpus to a file that only its owner may read, whole or not at all.

    A transaction of the caller's must be of isolation level repeatable read, so that all is of one
    moment. Raises ExportError, CorpusNotFound.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        hint = "give another name; - is stdout for `ragdb export`"
        raise ExportError(f"{target} is there, and is not a file", hint)
    if target.exists() and not force:
        raise ExportError(f"{target} exists already", "give another name, or --force to replace it")
    with _snapshot(db):
        header = db.export_corpus(corpus)
        try:
            with files.draft(target, 0o600) as file:
                originals = _write(db, corpus, header, file, blobs, progress)
                size = file.tell()
        except OSError as error:
            raise ExportError(
                f"{target.parent} cannot be written to: {error.strerror}",
                "name another folder, or make room there",
            ) from error
    return exported_of(header, originals, size)


@contextlib.contextmanager
def _snapshot(db: Client) -> Iterator[None]:
    """A transaction in which every statement sees the same."""
    connection = db.connection
    is_own = connection.info.transaction_status == TransactionStatus.IDLE
    with connection.transaction():
        if is_own:
            connection.execute("set transaction isolation level repeatable read")
        (level,) = connection.execute("show transaction_isolation").fetchone() or ("",)
        if level not in ("repeatable read", "serializable"):
            raise ExportError(
                f"the transaction is {level}: an export would mix several states",
                "export outside a transaction, or in one with isolation level repeatable read",
            )
        yield


def _write(
    db: Client,
    corpus: str,
    header: Json,
    file: Any,
    blobs: bool,
    progress: Progress | None,
) -> int:
    total = header["counts"]["chunks"] + header["counts"]["embeddings"]
    done = originals = 0
    digest = hashlib.sha256()
    with contextlib.closing(_Packed(file)) as lines:

        def put(line: bytes) -> None:
            lines.write(line)
            digest.update(line)

        put(_json({**header, "made_by": f"ragdb {__version__}"}))
        at, seen = 0, set[str]()
        while documents := db.export_documents(corpus, at):
            put(DOCUMENTS + ",".join(row.document for row in documents).encode() + b"]}\n")
            for row in documents:
                # once, under however many names its document is
                if blobs and row.has_blob and row.doc_cid not in seen:
                    seen.add(row.doc_cid)
                    put(_original(db.get_blob(row.doc_cid)))
                    originals += 1
            at = documents[-1].position
            done += sum(row.chunks for row in documents)
            if progress:
                progress(done, total)
        at = 0
        while found := db.export_embeddings(corpus, at):
            (some,) = found
            values = base64.b64encode(some.embeddings or b"").decode()
            put(_json({"embeddings": values, "of": [some.sources, some.ordinals]}))
            at = some.position
            done += len(some.ordinals)
            if progress:
                progress(done, total)
        words = [{"word": row.word, "synonyms": row.synonyms} for row in db.list_synonyms(corpus)]
        for begin in range(0, len(words), 1000):
            put(_json({"synonyms": words[begin : begin + 1000]}))
        lines.write(_json({"end": digest.hexdigest(), "originals": originals}))
    return originals


class _Packed:
    """Lines in gzip; some as they are, where all would be packed tighter than an import takes."""

    def __init__(self, file: Any) -> None:
        self._file, self._unpacked = file, 0
        self._begin(5)

    def _begin(self, level: int) -> None:
        self._level = level
        self._gzip = gzip.GzipFile("", "wb", level, self._file, mtime=0)

    def write(self, line: bytes) -> None:
        self._unpacked += len(line)
        level = 0 if self._unpacked > RATIO // 2 * self._file.tell() + SLACK // 2 else 5
        if level != self._level:
            self._gzip.close()
            self._begin(level)
        self._gzip.write(line)

    def close(self) -> None:
        self._gzip.close()


def _original(blob: Blob) -> bytes:
    if blob.size > ORIGINAL:
        raise ExportError(
            f"the original {blob.cid} has {blob.size} bytes, but a file takes at most {ORIGINAL}",
            "export without originals: --no-blobs",
        )
    data = base64.b64encode(blob.bytes or b"").decode()
    return _json({"blob": blob.cid, "media_type": blob.media_type, "bytes": data})


def _json(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
