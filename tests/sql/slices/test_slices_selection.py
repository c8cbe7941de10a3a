"""What a policy admits around an anchor, in which order, and under which names."""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import Connection
from tests.sql.conversations import chat, conversation, message, put, uuid
from tests.sql.signed_slices import build

DEFAULT: dict[str, Any] = {
    "version": "slice_policy_v1",
    "max_nodes": 256,
    "max_radius": 10,
    "phase_weights": {
        "synthesis": 1.0,
        "planning": 0.9,
        "consolidation": 0.6,
        "debugging": 0.5,
        "exploration": 0.3,
    },
    "salience_weight": 0.3,
    "distance_decay": 0.9,
    "include_siblings": True,
    "max_siblings_per_node": 5,
}


def twin(
    turns: dict[str, tuple[str, float]],
    edges: set[tuple[str, str]],
    anchor: str,
    policy: dict[str, Any],
) -> list[tuple[str, int]]:
    """The expansion as the specification words it, on whole adjacency lists, in numpy's float32.

    `turns` maps an id to (phase, salience); the result is (id, distance) in order of selection.
    """
    f = np.float32
    parents, children = defaultdict(set), defaultdict(set)
    for parent, child in edges:
        parents[child].add(parent)
        children[parent].add(child)

    def power(n: int) -> Any:
        result, base = f(1), f(policy["distance_decay"])
        while n:
            if n & 1:
                result = result * base
            n >>= 1
            if n:
                base = base * base
        return result

    def entry(turn: str, distance: int) -> tuple[Any, ...]:
        phase, salience = turns[turn]
        weight = f(policy["phase_weights"][phase]) + f(salience) * f(policy["salience_weight"])
        # heapq pops the least: higher priority, smaller distance, larger id
        return (-(weight * power(distance)), distance, [-b for b in turn.encode()], turn)

    frontier, visited = [entry(anchor, 0)], {anchor}
    selected: list[tuple[str, int]] = []
    while frontier and len(selected) < policy["max_nodes"]:
        _, distance, _, turn = heapq.heappop(frontier)
        if distance > policy["max_radius"]:
            continue
        selected.append((turn, distance))
        if distance + 1 > policy["max_radius"]:
            continue
        for near in [*sorted(parents[turn]), *sorted(children[turn])]:
            if near not in visited:
                visited.add(near)
                heapq.heappush(frontier, entry(near, distance + 1))
        if policy["include_siblings"]:
            kin = {c for p in parents[turn] for c in children[p]} - {turn}
            best = sorted(kin, key=lambda t: (-f(turns[t][1]), t))[
                : policy["max_siblings_per_node"]
            ]
            for sibling in best:
                if sibling not in visited:
                    visited.add(sibling)
                    heapq.heappush(frontier, entry(sibling, distance))
    return selected


@pytest.mark.shared
def test_slices_are_those_of_existing_graph_kernels(any_db: Connection, shared: Path) -> None:
    golden = json.loads((shared / "golden/slices.json").read_text())
    for name, fixture in golden["fixtures"].items():
        corpus = name.replace("_", "-")
        parents = defaultdict(list)
        for edge in fixture["edges"]:
            parents[edge["child"]].append({"id": edge["parent"], "edge_type": edge["edge_type"]})
        turns = [
            {
                "id": turn["id"],
                "text": turn["id"],
                "role": turn["role"],
                "phase": turn["phase"],
                "salience": 0.5 if turn["salience"] is None else turn["salience"],
                "parents": parents[turn["id"]],
            }
            for turn in fixture["turns"]
        ]
        chat(any_db, turns, corpus)
    for case in golden["cases"]:
        found = build(any_db, case["anchor"], case["policy"], case["fixture"].replace("_", "-"))
        expect = case["expect"]
        assert found["selection_order"] == expect["selection_order"], case
        assert (
            dict(zip(found["selection_order"], found["distances"], strict=True))
            == expect["distance"]
        )
        assert found["chunk_ids"] == expect["turn_ids"]
        assert found["edge_count"] == expect["edge_count"]
        assert found["params_hash"] == expect["policy_params_hash"]
    for vector in golden["params_hash_vectors"]:
        policy = json.dumps(vector["policy"])
        assert any_db.execute("select ragdb.policy_hash(%s)", (policy,)).fetchone() == (
            vector["hash"],
        )


@st.composite
def graphs(
    draw: st.DrawFn,
) -> tuple[dict[int, tuple[str, float]], set[tuple[int, int]], int, dict[str, Any]]:
    has_hub = draw(st.booleans())
    size = draw(st.integers(15 if has_hub else 1, 25))
    phase = st.sampled_from(list(DEFAULT["phase_weights"]))
    # few values of salience, so that ties are common
    turns = {
        n: (draw(phase), draw(st.sampled_from([0.0, 0.5, 0.7, 1.0]))) for n in range(1, size + 1)
    }
    node = st.integers(1, size)
    edges = draw(st.sets(st.tuples(node, node).filter(lambda e: e[0] != e[1]), max_size=3 * size))
    if has_hub:  # more children than a slice may have
        edges |= {(1, n) for n in range(2, size + 1)}
    policy = DEFAULT | {
        "max_nodes": draw(st.integers(1, 12)),
        "max_radius": draw(st.integers(0, 4)),
        "include_siblings": draw(st.booleans()),
        "max_siblings_per_node": draw(st.integers(0, 4)),
        "distance_decay": draw(st.sampled_from([0.0, 0.000001, 0.5, 0.9, 1.0])),
    }
    return turns, edges, draw(node), policy


# a sibling that is also a child of a hub, and not among the best of its children
CHILD_AND_SIBLING = (
    dict.fromkeys(range(1, 16), ("synthesis", 0.0)),
    {(2, 1), (2, 3)} | {(1, n) for n in range(2, 16)},
    1,
    DEFAULT
    | {
        "max_nodes": 2,
        "max_radius": 1,
        "include_siblings": True,
        "max_siblings_per_node": 1,
        "distance_decay": 0.0,
    },
)

# the best children of a hub were met before it, from farther away, where they count for less
MET_FROM_AFAR = (
    {
        **dict.fromkeys(range(1, 5), ("synthesis", 0.5)),
        **dict.fromkeys(range(5, 13), ("exploration", 0.5)),
        13: ("exploration", 1.0),
        **dict.fromkeys(range(14, 22), ("exploration", 0.3)),
    },
    {(1, 2), (2, 3), (3, 4), (1, 13)}
    | {(4, n) for n in range(5, 13)}
    | {(13, n) for n in [*range(5, 13), *range(14, 22)]},
    1,
    DEFAULT | {"max_nodes": 8, "include_siblings": False},
)

# the same of two hubs that share children: what one leaves out is not the best of the other
HUBS_THAT_SHARE = (
    {
        **MET_FROM_AFAR[0],
        **dict.fromkeys(range(22, 40), ("exploration", 0.5)),
    },
    MET_FROM_AFAR[1] | {(4, n) for n in range(22, 40)} | {(13, n) for n in range(22, 40)},
    1,
    MET_FROM_AFAR[3],
)


@given(graph=graphs())
@example(graph=CHILD_AND_SIBLING)
@example(graph=MET_FROM_AFAR)
@example(graph=HUBS_THAT_SHARE)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_selection_is_that_of_the_plain_algorithm(db: Connection, graph: Any) -> None:
    turns, edges, anchor, policy = graph
    with db.transaction(force_rollback=True):
        chat(
            db,
            [
                message(n, phase=phase, salience=salience)
                | {
                    "parents": [
                        {"id": uuid(p), "edge_type": "reference"}
                        for p, c in sorted(edges)
                        if c == n
                    ]
                }
                for n, (phase, salience) in turns.items()
            ],
        )
        found = build(db, uuid(anchor), policy)
        shown = db.execute(
            "select chunk_id, distance, is_admitted from ragdb.slice_graph('chat', null, %s, %s)",
            (uuid(anchor), json.dumps(policy)),
        ).fetchall()
    expected = twin(
        {uuid(n): fields for n, fields in turns.items()},
        {(uuid(p), uuid(c)) for p, c in edges},
        uuid(anchor),
        policy,
    )
    assert list(zip(found["selection_order"], found["distances"], strict=True)) == expected
    # the graph has no distances: it finds them again from the order of selection
    assert [row[0] for row in shown if row[2]] == [turn for turn, _ in expected]
    if len(turns) <= policy["max_nodes"]:
        assert [row[1] for row in shown if row[2]] == [distance for _, distance in expected]


@pytest.mark.parametrize("policy", [{"distance_decay": 0.000001}, {"max_radius": 2000}])
def test_a_priority_too_small_for_a_single_is_0(db: Connection, policy: dict[str, Any]) -> None:
    chat(db, [message(n, [n - 1] if n > 1 else [], phase="planning") for n in range(1, 13)])
    found = build(db, uuid(1), policy)
    expected = twin(
        {uuid(n): ("planning", 0.5) for n in range(1, 13)},
        {(uuid(n), uuid(n + 1)) for n in range(1, 12)},
        uuid(1),
        DEFAULT | policy,
    )
    assert list(zip(found["selection_order"], found["distances"], strict=True)) == expected


SETTINGS = [
    "work_mem = '64kB'",
    "enable_hashjoin = off",
    "enable_indexscan = off",
    "timezone = 'Asia/Tokyo'",
    "extra_float_digits = 0",
    "bytea_output = 'escape'",
    "default_text_search_config = 'german'",
]


def test_one_graph_state_has_one_slice_id_in_every_session_and_version(
    server18: Any, server16: Any
) -> None:
    ids = []
    for server in (server18, server16):
        with server.database() as database:
            dsn = server.dsn(database.dbname)
            with psycopg.connect(dsn) as db:
                # chunks are numbered as they arrive, which decides nothing
                if server is server16:
                    chat(db, [message(100)], "earlier")
                chat(db, [message(n, [n // 2] if n > 1 else []) for n in range(1, 40)])
            for _ in range(4):
                with psycopg.connect(dsn) as db:
                    for setting in SETTINGS:
                        db.execute(f"set {setting}")
                        ids += [build(db, uuid(5))["slice_id"] for _ in range(2)]
    assert len(ids) > 100
    assert len(set(ids)) == 1


def test_content_changes_the_snapshot_though_no_id_does(db: Connection) -> None:
    messages = [message(1), message(2, [1]), message(3, [2])]
    chat(db, messages)
    before = build(db, uuid(1))
    put(db, "chat", conversation([*messages[:2], messages[2] | {"text": "something else"}]))
    after = build(db, uuid(1))
    assert after["chunk_ids"] == before["chunk_ids"]
    assert after["slice_id"] != before["slice_id"]
    assert after["graph_snapshot_hash"] != before["graph_snapshot_hash"]


@pytest.mark.parametrize(
    ("call", "sqlstate"),
    [
        ("ragdb.build_slice('chat', 'nobody')", "RG434"),
        ("ragdb.build_slice('chat', null)", "RG434"),
        ("ragdb.build_slice('nowhere', 'x')", "RG404"),
        ("""ragdb.build_slice('chat', 'x', '{"policy_id": "p", "params_hash": "0"}')""", "RG431"),
        ("ragdb.build_slices('chat', '{}')", "RG400"),
        ("ragdb.build_slices('chat', null)", "RG400"),
        ("ragdb.export_slice('chat', 'x')", "RG434"),
    ],
)
def test_a_slice_of_nothing_is_refused(db: Connection, call: str, sqlstate: str) -> None:
    chat(db, [message(1)])
    with pytest.raises(psycopg.DatabaseError) as caught:
        db.execute(f"select * from {call}")
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_hint


def test_each_anchor_of_a_batch_fails_alone(db: Connection) -> None:
    chat(db, [message(1), message(2, [1])])
    rows = db.execute(
        "select anchor_chunk_id, cardinality(chunk_ids), error_code"
        " from ragdb.build_slices('chat', %s, sign => false)",
        ([uuid(1), "nobody", uuid(2)],),
    ).fetchall()
    assert rows == [(uuid(1), 2, None), ("nobody", None, "RG434"), (uuid(2), 2, None)]


def test_a_slice_can_be_anchored_in_a_document(db: Connection) -> None:
    text = "# Guide\n\nStart here.\n\n## Setup\n\nInstall it.\n\n## Use\n\nRun it.\n"
    db.execute("select ragdb.create_corpus('docs')")
    db.execute(
        "select ragdb.put_text('docs', 'guide.md', %s, strategy => 'semantic',"
        " max_tokens => 8, overlap => 0)",
        (text,),
    )
    first = db.execute("select chunk_id from ragdb.search('docs', 'start')").fetchone()
    assert first is not None
    found = build(db, first[0], corpus="docs")
    assert len(found["chunk_ids"]) > 1
    assert found["edge_count"] >= len(found["chunk_ids"]) - 1
