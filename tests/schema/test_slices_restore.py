"""A restored copy has the same slices, verifies old tokens once it has the keys, and replays exactly."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from ragdb.server import migrate, postgres
from tests.conftest import Connection, Server
from tests.schema.conftest import Ways
from tests.sql.conversations import chat, message, uuid

QUERY = [0.6, 0.8, 0.0]


def connect(dsn: str) -> Connection:
    return psycopg.connect(dsn, row_factory=dict_row)


def ask(db: Connection, query: str, *values: Any) -> list[dict[str, Any]]:
    return db.execute(query, values).fetchall()


def fill(db: Connection) -> None:
    """A conversation with embeddings, a key, retrievals by words and by meaning, and an atom."""
    texts = ["Refunds are paid by card.", "Ähnlich für Gutscheine: Österreich, Ærø, Zürich."]
    chat(
        db,
        [
            message(
                n, [n // 2] if n > 1 else [], text=f"{texts[n % 3 == 0]} Turn {n}.", salience=0.8
            )
            for n in range(1, 30)
        ],
    )
    db.execute("select ragdb.create_embedder('three', 3)")
    db.execute("select ragdb.embed_corpus('chat', 'three')")
    claimed = ask(db, "select * from ragdb.claim_embeddings('test')")
    db.execute(
        "select ragdb.complete_embeddings(%s, %s, %s::integer[], %s::real[])",
        (
            claimed[0]["space_id"],
            [c["input_hash"] for c in claimed],
            [c["attempt"] for c in claimed],
            [x for n in range(len(claimed)) for x in (1.0, n / 10, 0.5)],
        ),
    )
    db.execute("select ragdb.create_signing_key('k1')")
    db.execute("select * from ragdb.register_policy('{\"max_nodes\": 7}')")
    for mode in ("lexical", "hybrid", "semantic"):
        hits = ask(
            db,
            "select * from ragdb.retrieve_slice('chat', 'refunds by card', anchor => %s,"
            " mode => %s, query_embedding => %s)",
            uuid(5),
            mode,
            QUERY,
        )
        (made,) = ask(
            db,
            "select * from ragdb.promote_to_atom(%s, %s, 'Refunds are paid by card.')",
            hits[0]["trace_id"],
            [hit["chunk_id"] for hit in hits],
        )
        assert made["code"] == "PROMOTED", made
    ask(db, "select * from ragdb.retrieve('chat', 'refunds', query_embedding => %s)", QUERY)
    db.commit()


def said(db: Connection) -> dict[str, Any]:
    """What the database says of its slices, with the token that a fresh one would have left out."""
    return {
        "slices": ask(
            db,
            "select slice_id, graph_snapshot_hash, selection_order, edge_count"
            " from ragdb.build_slice('chat', %s, sign => false)",
            uuid(5),
        ),
        "registry": ask(db, "select ragdb.registry_fingerprint()"),
        "turns": ask(db, "select * from ragdb.get_turn('chat', %s)", uuid(7)),
        "dual": ask(db, "select * from ragdb.search_dual('chat', 'card')"),
        "replays": ask(
            db,
            "select t.id, r.* from ragdb.list_traces() t, ragdb.replay(t.id) r order by t.id",
        ),
    }


def verified(db: Connection) -> set[str | None]:
    rows = ask(
        db,
        "select v.* from ragdb.list_traces() t, ragdb.verify_token(t.corpus, t.admissibility_token,"
        " t.slice_id, t.anchor_chunk_id, t.policy_id, t.policy_params_hash, t.graph_snapshot_hash,"
        " t.schema_version) v where t.slice_id is not null",
    )
    assert len(rows) == 3
    return {row["reason"] and row["reason"].split(":")[0] for row in rows}


@pytest.mark.parametrize(
    ("source", "target", "way", "options"),
    [
        (16, 18, "migrate", ["--exclude-table-data=ragdb.signing_secrets"]),
        pytest.param(18, 18, "extension", [], marks=pytest.mark.nightly),
        pytest.param(
            *(18, 18, "migrate", ["--exclude-table-data=ragdb.signing_secrets"]),
            marks=pytest.mark.nightly,
        ),
    ],
    ids=["16 to 18", "extension", "18 to 18"],
)
def test_a_restored_copy_proves_what_the_original_did(
    request: pytest.FixtureRequest,
    ways: Ways,
    tmp_path: Path,
    source: int,
    target: int,
    way: str,
    options: list[str],
) -> None:
    old: Server = request.getfixturevalue(f"server{source}")
    new: Server = request.getfixturevalue(f"server{target}")
    with ExitStack() as stack:
        before = ways.database(old, way, stack)
        with connect(before) as db:
            db.execute("select ragdb.maintain()")
            fill(db)
            original = said(db)
            keys = ask(db, "select * from ragdb.export_signing_keys()")
            assert verified(db) == {None}
        assert {replay["verdict"] for replay in original["replays"]} == {"exact"}
        after = ways.database(new, "empty", stack)
        dump = tmp_path / "dump"
        program = postgres.binary("pg_dump", target)
        subprocess.run([program, "-Fc", *options, "-f", dump, "-d", before], check=True)
        program = postgres.binary("pg_restore", target)
        for section in ("pre-data", "data", "post-data"):
            subprocess.run([program, f"--section={section}", "-d", after, dump], check=True)
        with connect(after) as db:
            assert ask(db, "select is_at_hand from ragdb.list_signing_keys()") == [
                {"is_at_hand": False}
            ]
            assert said(db) == original
            assert verified(db) == {"key_absent"}
            for key in keys:
                db.execute(
                    "select ragdb.import_signing_key(%(key_id)s, %(secret)s, %(state)s,"
                    " %(created_at)s, %(active_until)s, %(not_after)s)",
                    key,
                )
            assert verified(db) == {None}
            assert said(db) == original
            # the copy goes on: what it records is admissible there
            (hit,) = ask(
                db,
                "select * from ragdb.retrieve_slice('chat', 'refunds', anchor => %s, k => 1)",
                uuid(5),
            )
            (trace,) = ask(db, "select * from ragdb.get_trace(%s)", hit["trace_id"])
            assert trace["is_admissible"]


def slice_ids(dsn: str) -> str:
    with connect(dsn) as db:
        db.execute("select ragdb.maintain()")
        fill(db)
        found = said(db)
    return json.dumps([found["slices"], found["registry"]])


@pytest.fixture(scope="module")
def usual_ids(server18: Server) -> str:
    """Those of a database with the locale of the server."""
    with server18.database() as database:
        return slice_ids(server18.dsn(database.dbname))


# by day that which is farthest from the server's own
@pytest.mark.parametrize(
    "locale", ["C", *(pytest.param(n, marks=pytest.mark.nightly) for n in ("C.UTF-8", "POSIX"))]
)
def test_another_locale_has_the_same_slice_ids(
    server18: Server, usual_ids: str, locale: str
) -> None:
    dsn = server18.dsn("located")
    with psycopg.connect(server18.uri, autocommit=True) as dba:
        dba.execute(
            "create database located template template0 encoding 'UTF8'"
            f" locale_provider libc locale '{locale}'"
        )
        try:
            migrate.migrate(dsn)
            assert slice_ids(dsn) == usual_ids
        finally:
            dba.execute("drop database located with (force)")
