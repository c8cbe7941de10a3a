"""The routes that say whether server and database run."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import psycopg
from fastapi import FastAPI
from pydantic import BaseModel

from ragdb.client.client import AsyncClient
from ragdb.http.gate import Answer
from ragdb.http.routes import ERROR
from ragdb.http.server import Server
from ragdb.version import __version__


class Health(BaseModel):
    status: Literal["ok", "unavailable"]
    version: str


def register(app: FastAPI, server: Server) -> None:
    async def live() -> Answer:
        """Say that the server runs."""
        return Answer({"status": "ok", "version": __version__})

    async def ready() -> Answer:
        """Say whether the database answers."""
        try:
            async with asyncio.timeout(2), server.pool.connection() as connection:
                await AsyncClient(connection).rerank_depth(1)
        except (psycopg.Error, TimeoutError):
            return Answer({"status": "unavailable", "version": __version__}, 503)
        return Answer({"status": "ok", "version": __version__})

    unknown: dict[int | str, dict[str, Any]] = {
        400: {"description": "There is no such parameter (BAD_REQUEST).", "content": ERROR}
    }
    unready: dict[int | str, dict[str, Any]] = {
        503: {"model": Health, "description": "The database does not answer."}
    }
    for path, in_schema in (("/health/live", True), ("/live", False)):
        app.get(
            path,
            tags=["Health"],
            response_model=Health,
            responses=unknown,
            include_in_schema=in_schema,
        )(live)
    for path, in_schema in (("/health", True), ("/health/ready", True), ("/ready", False)):
        app.get(
            path,
            name="health" if path == "/health" else "ready",
            tags=["Health"],
            response_model=Health,
            responses=unknown | unready,
            include_in_schema=in_schema,
        )(ready)
