"""A corpus in one file: `ragdb export` writes it, `ragdb import` reads it.

The file is gzip of lines of JSON. The first says what the corpus is (`ragdb.export_corpus`), the
last has the SHA-256 of all before it; between them come documents, originals and embeddings. Both
ways hold one line at a time. A file is looked through to its end before anything of it is given to
the database, and what it gives is one transaction.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

from ragdb.client import upkeep
from ragdb.client.calls import Reals
from ragdb.errors import AlreadyExists, DocumentNotFound, RagdbError
from ragdb.version import __version__

if TYPE_CHECKING:
    from ragdb.client._generated.functions import Blob
    from ragdb.client.client import Client

FAMILY, VERSION = "ragdb-corpus/", 1
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


# ── out ─────────────────────────────────────────────────────────────────────────────────────────


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
    if target.exists() and not (force and target.is_file()):
        raise ExportError(f"{target} exists already", "give another name, or --force to replace it")
    with _snapshot(db):
        header = db.export_corpus(corpus)
        try:
            descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        except OSError as error:
            raise ExportError(
                f"{target.parent} cannot be written to: {error.strerror}", "name another folder"
            ) from error
        try:
            with open(descriptor, "wb") as file:
                originals = _write(db, corpus, header, file, blobs, progress)
                file.flush()
                os.fsync(file.fileno())
                size = file.tell()
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
            raise
    return _exported(header, originals, size)


@contextlib.contextmanager
def _snapshot(db: Client) -> Iterator[None]:
    """A transaction in which every statement sees the same."""
    connection = db.connection
    is_own = connection.info.transaction_status == TransactionStatus.IDLE
    with connection.transaction():
        if is_own:
            connection.execute("set transaction isolation level repeatable read, read only")
        (level,) = connection.execute("show transaction_isolation").fetchone() or ("",)
        if level not in ("repeatable read", "serializable"):
            raise ExportError(
                f"the transaction is {level}: an export would be of many moments",
                "export outside a transaction, or in one of isolation level repeatable read",
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
    with gzip.GzipFile("", "wb", 5, file, mtime=0) as lines:

        def put(line: bytes) -> None:
            lines.write(line)
            digest.update(line)

        put(_json({**header, "made_by": f"ragdb {__version__}"}))
        at = 0
        while documents := db.export_documents(corpus, at):
            put(DOCUMENTS + ",".join(row.document for row in documents).encode() + b"]}\n")
            for row in documents:
                if blobs and row.has_blob:
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
            put(_json({"embeddings": values, "of": [some.doc_cids, some.ordinals]}))
            at = some.position
            done += len(some.ordinals)
            if progress:
                progress(done, total)
        lines.write(_json({"end": digest.hexdigest(), "originals": originals}))
    return originals


def _original(blob: Blob) -> bytes:
    if blob.size > ORIGINAL:
        raise ExportError(
            f"the original {blob.cid} has {blob.size} bytes, and a file takes {ORIGINAL}",
            "export without originals: --no-blobs",
        )
    data = base64.b64encode(blob.bytes or b"").decode()
    return _json({"blob": blob.cid, "media_type": blob.media_type, "bytes": data})


def _json(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _exported(header: Json, originals: int, size: int) -> Exported:
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


# ── in ──────────────────────────────────────────────────────────────────────────────────────────


def read(
    db: Client,
    path: str | os.PathLike[str],
    *,
    corpus: str | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Make the corpus of a file, under its own name or another, in one transaction.

    Raises ExportError, NotAuthorized, EmbedderMismatch and what else the database refuses.
    """
    source = Path(path)
    found = check(source)
    name = found.corpus if corpus is None else corpus
    upkeep.maintain(db.connection)
    try:
        with db.connection.transaction():
            _read(db, source, name, progress)
    except AlreadyExists as error:
        if error.diag.message_primary != f'corpus "{name}" exists already':
            raise
        raise ExportError(
            f"corpus {name} exists already",
            f"import it under another name (--as NAME), or drop that one: ragdb corpus drop {name}",
        ) from error
    except RagdbError:
        raise
    except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded) as error:
        # what it has for a text or a number is none to the database
        raise _strange(source, error.diag.message_primary or str(error)) from error
    except UnicodeEncodeError as error:
        raise _strange(source, "a text is not valid Unicode") from error
    if found.embedder:
        with db.connection.transaction():
            db.index_space(name)
    return replace(found, corpus=name)


def check(path: str | os.PathLike[str]) -> Exported:
    """Look a file through to its end, and say what it holds.

    Raises ExportError for one that is no export, of a newer version, cut off or altered.
    """
    source = Path(path)
    first = last = b""
    for line in _lines(source):
        first, last = first or line, line
    originals = _record(source, last)["originals"]
    return _exported(_header(source, first), originals, source.stat().st_size)


def _read(db: Client, source: Path, name: str, progress: Progress | None) -> None:
    lines = _lines(source)
    header = _header(source, next(lines))
    counts, embedder = header["counts"], header["embedder"]
    total, done, originals, has_space = counts["chunks"] + counts["embeddings"], 0, 0, False
    db.import_corpus(header, name)

    def make_space() -> None:
        # late: until the transaction ends nobody else makes one
        db.embed_corpus(name, embedder["name"], embedder["m"], embedder["ef_construction"])

    for line in lines:
        if line.startswith(DOCUMENTS):
            documents = Jsonb(line[len(DOCUMENTS) - 1 : -2], dumps=bytes)
            done += db.import_documents(name, documents)
        else:
            record = _record(source, line)
            if "blob" in record:
                _read_original(db, source, name, record)
                originals += 1
            elif "embeddings" in record:
                if embedder and not has_space:
                    make_space()
                    has_space = True
                done += _read_embeddings(db, source, name, record)
            elif record.get("originals") != originals:
                raise _strange(source, "a line of it is of no known kind")
        if progress:
            progress(done, total)
    if embedder and not has_space:
        make_space()
    db.finish_import(name, header)


def _read_original(db: Client, source: Path, name: str, record: Json) -> None:
    data, cid, media_type = (
        _bytes(source, record.get("bytes")),
        record["blob"],
        record["media_type"],
    )
    if cid != "sha256:" + hashlib.sha256(data).hexdigest() or not isinstance(media_type, str):
        raise _strange(source, f"an original is not what its hash says: {cid!r:.80}")
    try:
        db.get_document(name, cid)
    except DocumentNotFound as error:
        raise _strange(source, f"an original belongs to no document: {cid}") from error
    db.put_blob(data, media_type)


def _read_embeddings(db: Client, source: Path, name: str, record: Json) -> int:
    import numpy as np

    data, of = _bytes(source, record["embeddings"]), record.get("of")
    if (
        len(data) % 4
        or not isinstance(of, list)
        or [type(some) for some in of] != [list, list]
        or not all(isinstance(cid, str) for cid in of[0])
        or not all(type(ordinal) is int for ordinal in of[1])
    ):
        raise _strange(source, "embeddings are not numbers, or of no chunks")
    values: Any = Reals(np.frombuffer(data, ">f4").astype(np.float32))
    return db.import_embeddings(name, of[0], of[1], values)


def _lines(source: Path) -> Iterator[bytes]:
    """The lines of a file; the last comes only when it has the hash of those before it."""
    lines = _unpacked(source)
    line = next(lines, b"")
    _header(source, line)
    digest = hashlib.sha256()
    for following in lines:
        yield line
        digest.update(line)
        line = following
    end = _record(source, line)
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
                    raise _strange(source, f"it unpacks to {RATIO} times its size, or in one line")
                yield line
    except (EOFError, zlib.error) as error:
        raise _damaged(source) from error
    except gzip.BadGzipFile as error:
        if "Not a gzipped file" in str(error):
            raise _strange(source, "it is not compressed by gzip") from error
        raise _damaged(source) from error


def _header(source: Path, line: bytes) -> Json:
    header = _record(source, line)
    form = header.get("format")
    if not isinstance(form, str) or not form.startswith(FAMILY):
        raise _strange(source, "it does not begin as one")
    if form != f"{FAMILY}{VERSION}":
        raise ExportError(
            f"{source} has the format {form:.40}, and this ragdb reads {FAMILY}{VERSION}",
            "upgrade ragdb",
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
        raise _strange(source, "its first line lacks something")
    return header


def _record(source: Path, line: bytes) -> Json:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _strange(source, "a line of it is no JSON") from error
    if not isinstance(record, dict):
        raise _strange(source, "a line of it is no JSON object")
    return record


def _bytes(source: Path, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError) as error:
        raise _strange(source, "bytes are not in base64") from error


def _damaged(source: Path) -> ExportError:
    return ExportError(
        f"{source} was cut off or altered", "copy it again, or export the corpus again"
    )


def _strange(source: Path, why: str) -> ExportError:
    return ExportError(
        f"{source} is no export of a corpus: {why}", "`ragdb export` makes one; nothing was kept"
    )
