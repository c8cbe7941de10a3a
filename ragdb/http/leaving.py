"""Who hangs up is not worked for any longer: what was begun ends, in the database too."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


async def run(app: ASGIApp, scope: Scope, receive: Receive, send: Send, *, has_body: bool) -> None:
    """Run the application until it has answered, or its client is gone once the body was read."""
    is_read, gone = asyncio.Event(), asyncio.Event()
    is_answered = False
    # of a request without a body the application need not read
    waiting: list[Message] = []
    if not has_body:
        waiting.append({"type": "http.request", "body": b"", "more_body": False})
        is_read.set()

    async def received() -> Message:
        if waiting:
            return waiting.pop()
        if is_read.is_set():
            await gone.wait()
            return {"type": "http.disconnect"}
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            is_read.set()
        return message

    async def sent(message: Message) -> None:
        nonlocal is_answered
        is_answered = message["type"] == "http.response.body" and not message.get("more_body")
        await send(message)

    async def watch() -> None:
        await is_read.wait()
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()
        if not is_answered:
            work.cancel()

    work = asyncio.ensure_future(app(scope, received, sent))
    watcher = asyncio.create_task(watch())
    try:
        await work
    except asyncio.CancelledError:
        if not gone.is_set():
            raise
    finally:
        watcher.cancel()
