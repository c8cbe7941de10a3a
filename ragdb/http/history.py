"""The history of a corpus: how long it is kept, its versions, and what changed between two."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import FastAPI, Query, Request
from pydantic import AwareDatetime, BaseModel, Field

from ragdb.client._generated import rows
from ragdb.client.rows import record
from ragdb.http import models as m
from ragdb.http.corpora import CORPUS, AfterSource, Corpus, SourcePrefix
from ragdb.http.gate import Answer
from ragdb.http.routes import Count, Routes, Token, next_after
from ragdb.http.server import Server

Version = Annotated[int, Query(ge=0, le=9223372036854775807, description="A version.")]


class Kept(m.Body):
    """For how many days a corpus can be searched as it was."""

    days: Annotated[float, Field(gt=0, le=36500, allow_inf_nan=False)]


class Erased(m.Body):
    """A source, of today or of before, that no version is to have."""

    source: Annotated[str, Field(min_length=1, max_length=2048)]
    reason: Annotated[str | None, Field(max_length=10000)] = None


class ErasedSpeaker(m.Body):
    """Somebody whose turns, in one conversation or in all, no version is to have."""

    speaker: Annotated[str, Field(min_length=1, max_length=200)]
    session: Annotated[str | None, Field(min_length=1)] = None
    reason: Annotated[str | None, Field(max_length=10000)] = None


class Versions(BaseModel):
    """Versions, latest first; the next page is before the last one."""

    versions: list[rows.ListVersionsRow]


class Differences(BaseModel):
    """Differences in the order of `source`; the next page begins after `next`, null at the end."""

    next: str | None
    differences: list[rows.DiffCorpusRow]


class DroppedVersions(BaseModel):
    dropped: int


def register(app: FastAPI, server: Server) -> None:
    routes = Routes(app, "Corpora", 404)

    path = f"{CORPUS}/history"

    @routes.get(path, response_model=Versions)
    async def list_versions(
        request: Request,
        corpus: Corpus,
        _: Token,
        before: Version | None = None,
        at: Annotated[
            AwareDatetime | None, Query(description="A time: the version of then alone.")
        ] = None,
        count: Count = 100,
    ) -> Answer:
        """List the versions that a corpus can be searched as of."""
        async with server.transaction(request) as db:
            if at is not None:
                before, count = await db.version_at(server.served(corpus), at) + 1, 1
            listed = await db.list_versions(server.served(corpus), before, count)
        return Answer({"versions": listed})

    @routes.put(path, response_model=rows.KeepHistoryRow)
    async def keep_history(request: Request, corpus: Corpus, body: Kept, _: Token) -> Answer:
        """Have a corpus keep its history from now on, so long."""
        async with server.transaction(request) as db:
            kept = await db.keep_history(server.served(corpus), timedelta(days=body.days))
        return Answer(record(kept))

    @routes.delete(path, response_model=DroppedVersions)
    async def drop_history(request: Request, corpus: Corpus, _: Token) -> Answer:
        """Remove the history of a corpus and keep none; says how many rows it had."""
        async with server.transaction(request) as db:
            dropped = await db.drop_history(server.served(corpus))
        return Answer({"dropped": dropped})

    @routes.get(f"{CORPUS}/diff", response_model=Differences)
    async def diff_corpus(
        request: Request,
        corpus: Corpus,
        _: Token,
        since: Version,
        until: Version | None = None,
        prefix: SourcePrefix = "",
        after: AfterSource = "",
        count: Count | None = None,
    ) -> Answer:
        """List the sources that differ between two versions of a corpus: all, or `count`."""
        async with server.transaction(request) as db:
            found = await db.diff_corpus(server.served(corpus), since, until, prefix, after, count)
        goes_on = next_after(found, count, "source")
        return Answer({"differences": found, "next": goes_on})

    @routes.post(f"{CORPUS}/erase", response_model=rows.EraseSourceRow)
    async def erase_source(request: Request, corpus: Corpus, body: Erased, _: Token) -> Answer:
        """Delete a source, and take what was ever found there out of every version."""
        async with server.transaction(request) as db:
            gone = await db.erase_source(server.served(corpus), body.source, body.reason)
        return Answer(record(gone))

    @routes.post(f"{CORPUS}/erase/speaker", response_model=rows.EraseSpeakerRow)
    async def erase_speaker(
        request: Request, corpus: Corpus, body: ErasedSpeaker, _: Token
    ) -> Answer:
        """Erase what one speaker said from every version; what others said stays."""
        async with server.transaction(request) as db:
            gone = await db.erase_speaker(
                server.served(corpus), body.speaker, body.session, body.reason
            )
        return Answer(record(gone))
