"""The documents of a corpus: what is put, listed, shown and deleted."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path, Query, Request
from pydantic import BaseModel, Field

from ragdb.client._generated import rows
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http.corpora import CORPUS, AfterSource, Corpus, Reason, SourcePrefix
from ragdb.http.gate import Answer
from ragdb.http.routes import Count, Routes, Token, failures, next_after
from ragdb.http.server import Server

DocumentId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=2048,
        description="One of its sources, its external id, or the doc_cid of its bytes.",
    ),
]
Source = Annotated[
    str, Path(min_length=1, max_length=2048, description="Its source, such as faq/refunds.md.")
]
AT_ONCE = 1000  # chunks that ragdb.list_turns takes


class Text(m.Body):
    """A text to store; what is absent has the default of `ragdb.put_text`."""

    text: Annotated[str, Field(description="It is cut into chunks; it may be empty.")]
    title: Annotated[str | None, Field(max_length=10000)] = None
    language: Annotated[str | None, Field(min_length=1, max_length=64)] = None
    metadata: Annotated[
        dict[str, Any], Field(default_factory=dict, description="What filters read.")
    ]
    external_id: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    media_type: Annotated[
        Literal["text/plain", "text/markdown"] | None,
        Field(description="Markdown where the source ends in .md, else plain, when absent."),
    ] = None
    strategy: Annotated[str, Field(description="Where the text is cut.")] = "paragraph"
    max_tokens: Annotated[int, Field(description="Largest chunk, in units.")] = 240
    overlap: Annotated[int, Field(description="What a chunk shares with the one before.")] = 48
    unit: Literal["token", "word", "char"] = "token"


class Documents(BaseModel):
    """Documents in the order of `source`; the next page begins after `next`, null at the end."""

    documents: list[rows.Document]
    next: str | None


class DocumentAnswer(BaseModel):
    """A document; the next page of its chunks begins at `next`, null at the end.

    `turns` says who said those chunks that are turns of a conversation, and when.
    """

    document: rows.Document
    chunks: list[rows.Chunk]
    turns: list[rows.ListTurnsRow]
    next: int | None
    versions: list[rows.DocumentVersionsRow]


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Corpora", 404)
    _put(routes, server)
    _documents(routes, server)


def _put(routes: Routes, server: Server) -> None:
    @routes.put(
        f"{CORPUS}/documents/{{document:name}}",
        response_model=rows.PutResult,
        responses=failures(404, 409),
    )
    async def put_text(
        request: Request, corpus: Corpus, document: Source, body: Text, _: Token
    ) -> Answer:
        """Store a text as the document of a source, in the place of an earlier one."""
        given = body.model_dump(exclude_unset=True)
        async with server.transaction(request) as db:
            # the function makes a corpus that is not there; a misspelt one would be open to all
            await db.corpus_info(server.served(corpus))
            put = await db.put_text(corpus, document, **given)
        return Answer(record(put))


def _documents(routes: Routes, server: Server) -> None:
    @routes.get(f"{CORPUS}/documents", response_model=Documents)
    async def list_documents(
        request: Request,
        corpus: Corpus,
        _: Token,
        prefix: SourcePrefix = "",
        after: AfterSource = "",
        count: Count = 100,
    ) -> Answer:
        """List the documents of a corpus by their source."""
        async with server.transaction(request) as db:
            listed = await db.list_documents(server.served(corpus), prefix, after, count)
        goes_on = next_after(listed, count, "source")
        return Answer({"documents": listed, "next": goes_on})

    @routes.get(
        f"{CORPUS}/documents/{{document:name}}",
        response_model=DocumentAnswer,
        responses=failures(404, 409),
    )
    async def get_document(
        request: Request,
        corpus: Corpus,
        document: DocumentId,
        _: Token,
        first: Annotated[
            int, Query(ge=0, le=2**31 - 1, description="Ordinal of the first chunk.")
        ] = 0,
        count: Count = 100,
    ) -> Answer:
        """Return a document with `count` of its chunks in order, and when it was put."""
        async with server.transaction(request) as db:
            found = await db.get_document(server.served(corpus), document)
            chunks = await db.document_chunks(corpus, document, first, count)
            ids = [chunk.chunk_id for chunk in chunks]
            turns = [
                turn
                for some in range(0, len(ids), AT_ONCE)
                for turn in await db.list_turns(corpus, ids[some : some + AT_ONCE])
            ]
            versions = await db.document_versions(corpus, document)
        end = first + len(chunks)
        goes_on = end if chunks and end < found.chunks else None
        said = {"document": found, "chunks": chunks, "turns": turns, "next": goes_on}
        return Answer({**said, "versions": versions})

    @routes.delete(
        f"{CORPUS}/documents/{{document:name}}",
        response_model=rows.DeleteDocumentRow,
        responses=failures(404, 409),
    )
    async def delete_document(
        request: Request,
        corpus: Corpus,
        document: DocumentId,
        _: Token,
        derived: Annotated[
            Literal["redact", "erase"],
            Query(description="Whether atoms and proposals lose their text, or go too."),
        ] = "redact",
        reason: Reason = None,
    ) -> Answer:
        """Delete a document, and what was derived from it."""
        async with server.transaction(request) as db:
            gone = await db.delete_document(server.served(corpus), document, derived, reason)
        return Answer(record(gone))
