"""A slice policy can be obeyed, has one name, and never changes."""

from __future__ import annotations

import json

import psycopg
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.sql.conversations import chat, message, uuid
from tests.sql.signed_slices import build


@given(data=st.binary(max_size=200))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_xxh64_is_that_of_the_library(db: Connection, data: bytes) -> None:
    assert db.execute("select ragdb.xxh64(%s)", (data,)).fetchone() == (
        xxhash.xxh64(data).hexdigest(),
    )


def test_the_fingerprint_is_that_of_the_policies_that_are_listed(any_db: Connection) -> None:
    def fingerprints() -> tuple[str, str]:
        listed = any_db.execute("select policy_id, params_hash from ragdb.list_policies()")
        refs = [{"policy_id": name, "params_hash": params} for name, params in listed]
        (given,) = any_db.execute("select ragdb.registry_fingerprint()").fetchall()
        return given[0], xxhash.xxh64(json.dumps(refs, separators=(",", ":")).encode()).hexdigest()

    assert fingerprints() == ("21824822487c24ac",) * 2  # the Graph Kernel's with its default
    any_db.execute("select ragdb.register_policy('{}')")  # as with the first slice under it
    assert fingerprints() == ("21824822487c24ac",) * 2
    any_db.execute("""select ragdb.register_policy('{"max_nodes": 128}')""")
    given, expected = fingerprints()
    assert given == expected != "21824822487c24ac"


@pytest.mark.parametrize("weight", ["0.0000004", "1e-37", "1e-46", "1e-400"])
def test_policies_of_one_hash_admit_the_same(db: Connection, weight: str) -> None:
    # of equals the larger id is chosen, and any weight of salience would choose another
    chat(db, [message(1), *(message(n, [1], salience=1 / n) for n in range(2, 8))])
    policy = '{"max_nodes": 3, "salience_weight": %s}'
    exact, close = (build(db, uuid(1), json.loads(policy % "0")), policy % weight)
    with db.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(
            "select * from ragdb.build_slice('chat', %s, %s, false)", (uuid(1), close)
        ).fetchone()
    assert found is not None
    assert found["params_hash"] == exact["params_hash"]
    assert found["selection_order"] == exact["selection_order"]


BAD_POLICIES = [
    ('{"max_nodes": 0}', "max_nodes"),
    ('{"max_nodes": 2.5}', "max_nodes"),
    ('{"max_nodes": 10001}', "max_nodes"),
    ('{"max_radius": -1}', "max_radius"),
    ('{"distance_decay": 1.1}', "distance_decay"),
    ('{"salience_weight": "high"}', "salience_weight"),
    ('{"phase_weights": {"synthesis": 2}}', "synthesis"),
    ('{"phase_weights": {"joy": 0.5}}', "joy"),
    ('{"phase_weights": []}', "phase_weights"),
    ('{"max_node": 5}', "max_node"),
    ('{"version": "a b"}', "version"),
    ('{"include_siblings": 1}', "include_siblings"),
    ("[]", "object"),
    ("null", "object"),
]


@pytest.mark.parametrize(("policy", "named"), BAD_POLICIES)
def test_a_policy_that_cannot_be_obeyed_is_refused(db: Connection, policy: str, named: str) -> None:
    with pytest.raises(psycopg.DatabaseError, match=named) as caught:
        db.execute("select ragdb.register_policy(%s)", (policy,))
    assert caught.value.sqlstate == "RG430"


def test_a_registered_policy_is_a_reference_and_never_changes(db: Connection) -> None:
    chat(db, [message(1), message(2, [1])])
    given = json.dumps({"max_nodes": 1})
    rows = [
        db.execute("select * from ragdb.register_policy(%s)", (given,)).fetchone() for _ in range(2)
    ]
    assert rows[0] == rows[1]
    assert rows[0] is not None
    policy_id, params_hash = rows[0]
    found = build(db, uuid(1), {"policy_id": policy_id, "params_hash": params_hash})
    assert found["chunk_ids"] == [uuid(1)]
    for change in (
        "update ragdb.slice_policies set policy = '{}'",
        "delete from ragdb.slice_policies",
        "truncate ragdb.slice_policies cascade",
    ):
        with pytest.raises(psycopg.DatabaseError) as caught, db.transaction():
            db.execute(f"set local session_replication_role = replica; {change}")
        assert caught.value.sqlstate == "RG414"
