"""The code in docs/admissibility.md gives an auditor the results that the page claims."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.sql.conversations import chat, message, uuid

PAGE = (Path(__file__).parents[2] / "docs/admissibility.md").read_text()


@pytest.fixture
def retrieved(db: Connection) -> tuple[Connection, dict[str, Any]]:
    """A retrieval under a slice, as its trace."""
    chat(
        db,
        [
            message(1, text="  How are refunds\r\npaid? "),
            message(2, [1], text="By card – or voucher."),
            message(3, text="Refunds of gifts?")
            | {"parents": [{"id": uuid(1), "edge_type": "reference"}, uuid(1), uuid(2)]},
        ],
    )
    db.execute("select ragdb.create_signing_key('k1')")
    db.row_factory = dict_row
    hit = db.execute(
        "select * from ragdb.retrieve_slice('chat', 'refunds', anchor => %s)", (uuid(1),)
    ).fetchone()
    assert hit is not None
    trace = db.execute("select * from ragdb.get_trace(%s)", (hit["trace_id"],)).fetchone()
    assert trace is not None
    return db, trace


def by_hand(db: Connection, slice_id: str) -> list[bool]:
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE, re.S)
    functions, query = block.split("\nwith ", 1)
    db.execute("drop function if exists pg_temp.packed(bytea), pg_temp.packed(text)")
    db.execute(functions)
    (row,) = db.execute("with " + query.replace(":'slice'", f"'{slice_id}'")).fetchall()
    return list(row.values())


def test_the_statement_by_hand_agrees_and_sees_every_edit(
    retrieved: tuple[Connection, dict[str, Any]],
) -> None:
    db, trace = retrieved
    assert by_hand(db, trace["slice_id"]) == [True, True, True]
    for edit, found in (
        (
            "alter table ragdb.chunks drop constraint chunks_content_hash_is_of_the_text;"
            " update ragdb.chunks set text = text || '.' where chunk_no = 2",
            [False, False, False],
        ),
        (
            "update ragdb.chunks set text = 'x', content_hash = sha256('x') where chunk_no = 2",
            [True, False, False],
        ),
        ("update ragdb.edges set edge_type = 'branch' where child_no = 2", [True, False, True]),
        ("delete from ragdb.edges where child_no = 2", [True, False, False]),
    ):
        with db.transaction(force_rollback=True):
            db.execute(edit)
            assert by_hand(db, trace["slice_id"]) == found, edit


def test_the_token_verifies_outside_of_the_database(
    retrieved: tuple[Connection, dict[str, Any]],
) -> None:
    db, trace = retrieved
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    page: dict[str, Any] = {}
    exec(block, page)
    key = db.execute("select * from ragdb.export_signing_keys()").fetchone()
    origin = db.execute("select id from ragdb.origin()").fetchone()
    policy = db.execute("select canonical from ragdb.slice_policies").fetchone()
    assert policy is not None
    assert origin is not None
    signed = key, policy["canonical"], origin["id"]
    assert page["verify"](trace, *signed)
    assert not page["verify"](trace | {"anchor_chunk_id": uuid(2)}, *signed)
    assert not page["verify"](trace, *signed[:2], UUID(int=1))


def table(first: str) -> dict[str, list[str]]:
    """The rows of the table that begins so, by their first cells."""
    body = PAGE.split(f"| {first} |")[1]
    lines = [line for line in body.split("\n\n")[0].splitlines()[2:] if line.startswith("|")]
    rows = ([cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: row[1:] for row in rows}


def test_the_page_has_the_default_policy(db: Connection) -> None:
    ((policy,),) = db.execute("select ragdb_internal.default_policy()").fetchall()
    said = {field: cells[0] for field, cells in table("field").items()}
    weights = dict(pair.rsplit(" ", 1) for pair in said.pop("phase_weights").split(", "))
    numbers = {name: {"true": True}.get(text) or float(text) for name, text in said.items()}
    made = numbers | {"phase_weights": {phase: float(text) for phase, text in weights.items()}}
    assert made | {"version": "slice_policy_v1"} == policy


def test_the_page_has_what_suffices_as_evidence(db: Connection) -> None:
    rows = db.execute("select * from ragdb_internal.sufficiencies()").fetchall()
    assert table("`sufficiency`") == {
        name: [*map(str, numbers), f"{float(mean):g}", "yes" if needs_exchange else "no"]
        for name, *numbers, needs_exchange, mean in rows
    }


def test_every_reason_and_cause_is_on_the_page() -> None:
    sql = Path(__file__).parents[2] / "sql"
    said = set(
        re.findall(r"reason := (?:format\()?'(\w+):", (sql / "slices/verify.sql").read_text())
    )
    for file in ("slices/replay.sql", "slices/replay_verdict.sql"):
        said |= set(re.findall(r"(?:cause := |then )'(\w+_\w+)'", (sql / file).read_text()))
    said |= set(re.findall(r"row\('([A-Z_]+)'", (sql / "promotion/promote.sql").read_text()))
    said |= set(re.findall(r"row\('([A-Z_]+)'", (sql / "promotion/claims.sql").read_text()))
    assert len(said) >= 15
    assert {word for word in said if f"`{word}`" not in PAGE} == set()
