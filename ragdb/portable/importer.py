"""Make a corpus of a file, in one transaction: `ragdb import`."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.types.json import Jsonb

from ragdb.client import upkeep
from ragdb.client.calling import Reals
from ragdb.errors import AlreadyExists, AmbiguousDocument, DocumentNotFound, RagdbError
from ragdb.portable.format import (
    DOCUMENTS,
    Exported,
    ExportError,
    Json,
    Progress,
    check,
    header_of,
    read_lines,
    record_of,
    strange,
)

if TYPE_CHECKING:
    from ragdb.client.client import Client


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
            "import it under another name (--corpus NAME), or drop that one:"
            f" ragdb corpus drop {name}",
        ) from error
    except RagdbError:
        raise
    except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded) as error:
        # what it has for a text or a number is none to the database
        raise strange(source, error.diag.message_primary or str(error)) from error
    except UnicodeEncodeError as error:
        raise strange(source, "a text is not valid Unicode") from error
    if found.embedder:
        with db.connection.transaction():
            db.index_space(name)
    return replace(found, corpus=name)


def _read(db: Client, source: Path, name: str, progress: Progress | None) -> None:
    lines = read_lines(source)
    header = header_of(source, next(lines))
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
            record = record_of(source, line)
            if "blob" in record:
                _read_original(db, source, name, record)
                originals += 1
            elif "embeddings" in record:
                if embedder and not has_space:
                    make_space()
                    has_space = True
                done += _read_embeddings(db, source, name, record)
            elif "synonyms" in record:
                db.import_synonyms(name, record["synonyms"])
            elif record.get("originals") != originals:
                raise strange(source, "one of its lines is of an unknown kind")
        if progress:
            progress(done, total)
    if embedder and not has_space:
        make_space()
    db.finish_import(name, header)


def _read_original(db: Client, source: Path, name: str, record: Json) -> None:
    data, cid, media_type = (
        _bytes(source, record.get("bytes")),
        record["blob"],
        record.get("media_type"),
    )
    if cid != "sha256:" + hashlib.sha256(data).hexdigest() or not isinstance(media_type, str):
        raise strange(source, f"an original does not match its hash: {cid!r:.80}")
    try:
        # an error that is none ends no transaction
        with contextlib.suppress(AmbiguousDocument), db.connection.transaction():
            db.get_document(name, cid)
    except DocumentNotFound as error:
        raise strange(source, f"an original does not belong to a document: {cid}") from error
    db.put_blob(data, media_type, name)


def _read_embeddings(db: Client, source: Path, name: str, record: Json) -> int:
    data, of = _bytes(source, record["embeddings"]), record.get("of")
    if (
        len(data) % 4
        or not isinstance(of, list)
        or [type(some) for some in of] != [list, list]
        or not all(isinstance(uri, str) for uri in of[0])
        or not all(type(ordinal) is int for ordinal in of[1])
    ):
        raise strange(source, "embeddings are not numbers, or do not belong to chunks")
    values: Any = Reals(data)
    return db.import_embeddings(name, of[0], of[1], values)


def _bytes(source: Path, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError) as error:
        raise strange(source, "bytes are not base64") from error
