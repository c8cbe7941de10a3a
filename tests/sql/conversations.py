"""Small graphs of turns for tests, stored by the function that users call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from tests.conftest import Connection


def uuid(n: int) -> str:
    return str(UUID(int=n))


def conversation(
    messages: Sequence[dict[str, Any]], session: str = "s1", **fields: Any
) -> dict[str, Any]:
    body = json.dumps(messages, sort_keys=True).encode()
    return {
        "doc_cid": "sha256:" + hashlib.sha256(body).hexdigest(),
        "uri": f"chat.jsonl#{session}",
        "session": session,
        "messages": list(messages),
    } | fields


def message(n: int, parents: Iterable[int] = (), **fields: Any) -> dict[str, Any]:
    return {
        "id": uuid(n),
        "parents": [uuid(p) for p in parents],
        "role": "user" if n % 2 else "assistant",
        "text": f"message number {n}",
    } | fields


def put(db: Connection, corpus: str, *conversations: dict[str, Any]) -> None:
    db.execute("select ragdb.put_conversations(%s, %s)", (corpus, json.dumps(conversations)))


def chat(db: Connection, messages: Sequence[dict[str, Any]], corpus: str = "chat") -> None:
    """A corpus of one conversation."""
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    put(db, corpus, conversation(messages))
