"""A conversation, its slices and its retrievals, as the tests of several folders ask for them."""

from __future__ import annotations

import json
import struct
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.sql.conversations import chat, message, uuid

FIELDS = (
    "slice_id",
    "anchor_chunk_id",
    "policy_id",
    "params_hash",
    "graph_snapshot_hash",
    "schema_version",
)


def messages() -> list[dict[str, Any]]:
    return [
        message(1, text="How are refunds paid?", salience=0.9),
        message(2, [1], text="Refunds are paid by card within two weeks.", salience=0.8),
        message(3, [2], text="And refunds of gifts?", salience=0.4),
        message(4, [3], text="Refunds of gifts are vouchers.", salience=0.6),
        message(5, [1], text="Shipping is another matter.", salience=0.2),
    ]


def sign(db: Connection) -> Connection:
    """A conversation and a signing key."""
    chat(db, messages())
    db.execute("select ragdb.create_signing_key('k1')")
    return db


def one(db: Connection, query: str, *values: Any) -> dict[str, Any]:
    with db.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(query, values).fetchone()
    assert row is not None
    return row


def export(db: Connection, anchor: int = 1) -> dict[str, Any]:
    return one(db, "select * from ragdb.export_slice('chat', %s)", uuid(anchor))


def verify(
    db: Connection, made: dict[str, Any], members: list[str] | None = None, corpus: str = "chat"
) -> tuple[bool, str | None]:
    row = one(
        db,
        f"select * from ragdb.verify_token(%s, %s{', %s' * 6}, %s)",
        corpus,
        made["admissibility_token"],
        *(made[field] for field in FIELDS),
        members,
    )
    return row["valid"], row["reason"]


def retrieve(db: Connection, query: str = "refunds", **arguments: Any) -> list[dict[str, Any]]:
    arguments = {"corpus": "chat", "query": query, "anchor": uuid(1)} | arguments
    names = ", ".join(f"{name} => %({name})s" for name in arguments)
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(f"select * from ragdb.retrieve_slice({names})", arguments).fetchall()


def packed(*fields: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(field)) + field for field in fields)


def replay(db: Connection, trace: Any) -> dict[str, Any]:
    return one(db, "select * from ragdb.replay(%s)", trace)


def promote(
    db: Connection, trace: Any, chunks: list[str], sufficiency: str = "default"
) -> dict[str, Any]:
    return one(
        db,
        "select * from ragdb.promote_to_atom(%s, %s, 'Refunds are paid.', %s)",
        trace,
        chunks,
        sufficiency,
    )


def build(db: Connection, anchor: str, policy: Any = None, corpus: str = "chat") -> dict[str, Any]:
    with db.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(
            "select * from ragdb.build_slice(%s, %s, %s, sign => false)",
            (corpus, anchor, None if policy is None else json.dumps(policy)),
        ).fetchone()
    assert row is not None
    return row
