"""Whatever an argument of a public function is, the answer is rows or an error of class RG."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.errors import InvalidArgument, InvalidEmbedding, RagdbError
from tests.conftest import Connection
from tests.embedding import ENCODER, WIDTH, embed, make_corpus, one

pytestmark = pytest.mark.long
NOBODY = "00000000-0000-0000-0000-000000000000"
# It rebuilds what every test of the database uses, takes no argument and so has none that is wrong

HOSTILE: dict[str, list[Any]] = {
    "text": [None, "", " ", "x" * 50_000, "\x01\ufffe", '"', "-a", "; drop"],
    "integer": [None, 0, -1, 2**31 - 1, -(2**31)],
    "bigint": [None, -1, 2**63 - 1],
    "oid": [None, 0, 2**32 - 1],
    "double precision": [None, math.nan, math.inf, -math.inf, -1.0, 1e308, 1e-320],
    "boolean": [None, True],
    "jsonb": [None, "null", "1", "[]", "{}", "[null]", "[[]]", '{"a": null}', '{"": [1e400]}'],
    "text[]": [None, [], [None], [""], "{{a,b},{c,d}}", "[5:6]={a,b}"],
    "uuid[]": [None, [], "{NULL}", f"{{{{{NOBODY}}}}}"],
    "integer[]": [None, [], [None], [-1], "{{1,2}}"],
    "double precision[]": [
        *(None, [], [None], "{{1,2}}"),
        *([value] * WIDTH for value in (0.0, 1e300, 1e-300, math.nan)),
    ],
    "real[]": [None, [], [None], [0.0] * WIDTH, "{{1,2}}", [math.inf] * WIDTH],
    "bytea[]": [None, [], "{NULL}", [b""]],
    "bytea": [None, b"", b"\0" * 9],
    "uuid": [None, NOBODY],
    "interval": [None, "0", "-1 s", "infinity", "-infinity", "1 us"],
    "timestamp with time zone": [None, "infinity", "-infinity", "294276-01-01"],
    "date": [None, "infinity", "-infinity", "5874897-01-01"],
}

SOUND: dict[str, Any] = {
    "text": "x",
    "integer": 1,
    "bigint": 1,
    "oid": 1,
    "double precision": 0.5,
    "jsonb": "{}",
    "text[]": ["x"],
    "uuid": NOBODY,
    "boolean": False,
    "bytea": b"a",
    "double precision[]": [0.1] * WIDTH,
    "real[]": [0.1] * WIDTH,
    "uuid[]": [NOBODY],
    "interval": "1 min",
    "timestamp with time zone": "2026-01-01",
    "date": "1999-01-01",
    "integer[]": [1],
    "bytea[]": [b"a"],
}


# by day each argument is given every fifth of its values, and by night all
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_wrong_argument_is_refused_with_an_error_of_ragdb(db: Connection, step: int) -> None:
    make_corpus(db, {"a.md": "Refunds are paid within 14 days.", "b.md": "Shipping is free."})
    embed(db)
    chunk = one(db, "select chunk_id from ragdb.search('docs', 'refunds', mode => 'lexical')")
    trace = one(db, "select trace_id from ragdb.retrieve('docs', 'refunds', mode => 'lexical')")
    named = {
        "corpus": "docs",
        "corpora": ["docs"],
        "query": "refunds",
        "chunk_id": chunk,
        "chunk_ids": [chunk],
        "anchor": chunk,
        "trace_id": trace,
        "embedder": "hash",
        "uri": "a.md",
        "document": "a.md",
        "mode": "lexical",
        "queries": ["refunds"],
    }
    functions = db.execute(
        """
        select p.proname, p.pronargs - p.pronargdefaults,
          array(select p.proargnames[i] from generate_series(1, p.pronargs) i),
          array(select format_type(t, null) from unnest(p.proargtypes) with ordinality a (t, n)
            order by n)
        from pg_proc p
        where p.pronamespace = 'ragdb'::regnamespace and p.prokind = 'f'
          and p.prorettype <> 'trigger'::regtype and p.pronargs > 0
        order by 1
        """
    ).fetchall()
    internal = []
    calls = arguments = 0
    for function, required, names, types in functions:
        sound = [
            SOUND[t] if t == "jsonb" else named.get(n, SOUND[t])
            for n, t in zip(names, types, strict=True)
        ]
        for at, kind in enumerate(types):
            for value in [None, *HOSTILE[kind][1 + arguments % step :: step]]:
                # those before it that must be given, and it
                given = {i: sound[i] for i in range(required)} | {at: value}
                listed = ", ".join(f'"{names[i]}" => %s::{types[i]}' for i in given)
                query = f"select * from ragdb.{function}({listed})".encode()
                calls += 1
                try:
                    with db.transaction(force_rollback=True):
                        db.execute(query, list(given.values()))
                except RagdbError as error:
                    told = [error.diag.message_primary, error.diag.message_detail]
                    told.append(error.diag.message_hint)
                    if not all(told) or "<NULL>" in str(told):
                        internal.append((function, names[at], str(value)[:40], str(told)))
                except psycopg.Error as error:
                    internal.append((function, names[at], str(value)[:40], str(error)[:80]))
            arguments += 1
    assert calls > 3000 / step
    assert internal == [], "\n".join(map(str, internal))


def test_embed_query_refuses_a_time_that_is_none(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as connection:
        for timeout in (math.nan, math.inf, 1e308, None):
            with pytest.raises(InvalidArgument, match="timeout_s is"):
                connection.execute("call ragdb.embed_query('x', timeout_s => %s)", (timeout,))


def test_numbers_too_small_for_an_embedding_are_zero_and_too_large_are_refused(
    db: Connection,
) -> None:
    make_corpus(db, {"a.md": "Refunds are paid within 14 days.", "b.md": "Shipping is free."})
    embed(db)
    near = [float(v) for v in ENCODER.encode(["Refunds are paid within 14 days."])[0]]
    assert 0.0 in near
    search = """
      select chunk_id, score
      from ragdb.search('docs', 'x', mode => 'semantic', query_embedding => %s::float8[])
    """
    tiny = [v or 1e-60 for v in near]
    assert db.execute(search, (tiny,)).fetchall() == db.execute(search, (near,)).fetchall() != []
    with pytest.raises(InvalidEmbedding, match="is not finite"):
        db.execute(search, ([1e60, *near[1:]],))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda contract: contract.update(requireCitations="maybe"),
        lambda contract: contract.update(abstained=-1),
        lambda contract: contract.update(minGroundingCoverage=True),
        lambda contract: contract.update(minGroundingCoverage="a lot"),
        lambda contract: contract.update(minCitedChunks=1e300),
        lambda contract: contract.update(minCitedChunks=1.5),
        lambda contract: contract.update(evidencePolicy="strict"),
        lambda contract: contract.update(evidencePolicy={"minTopScore": "high"}),
    ],
)
def test_an_answer_contract_with_a_value_of_another_type_is_refused(
    db: Connection, spoil: Callable[[dict[str, Any]], None]
) -> None:
    retrieval = {"query": "q", "chunks": [{"id": "c", "text": "Paid.", "source": "s", "score": 1}]}
    contract: dict[str, Any] = {"query": "q", "answer": "Paid.", "groundingSpans": []}
    evaluate = "select ragdb.evaluate_answer(%s, %s)"
    assert one(db, evaluate, Jsonb(contract), Jsonb(retrieval))["status"] == "ungrounded"
    spoil(contract)
    with pytest.raises(RagdbError) as refused:
        db.execute(evaluate, (Jsonb(contract), Jsonb(retrieval)))
    assert refused.value.sqlstate == "RG442"


def test_spans_that_are_no_list_ground_no_answer_that_has_to_cite(db: Connection) -> None:
    retrieval = {"query": "q", "chunks": []}
    listless: list[Any] = [True, {}, "x", None]
    for spans in listless:
        contract = {"query": "q", "answer": "Paid.", "groundingSpans": spans}
        found = one(
            db,
            "select ragdb.evaluate_answer(%s, %s)",
            Jsonb(contract | {"requireCitations": True}),
            Jsonb(retrieval),
        )
        assert "CITATION_REQUIRED" in found["codes"]


def test_a_pack_whose_omissions_are_no_list_has_none(db: Connection) -> None:
    listless: list[Any] = [True, {}, "x", None]
    for omitted in listless:
        pack: dict[str, Any] = {"query": "q", "chunks": [], "omitted": omitted}
        found = one(db, "select ragdb.evidence_pack_to_input(%s)", Jsonb(pack))
        assert found["evidence"]["omitted"] == 0


# What JSON writes as a number and no double, single or integer is; and whole numbers with a point.
NUMBERS = ["1e-46", "1e-320", "1e-400", "-1e-400", "1e400", "1e1000", "5.0", "0.0", "1e0"]
CHUNKS = (
    '{"query": "q", "chunks": [{"id": "c", "chunk_id": "c", "source_id": "s", "source": "s",'
    ' "text": "Paid.", "score": <>}]}'
)
SOUND_CHUNKS = CHUNKS.replace("<>", "1")
ANSWER = '{"query": "q", "answer": "Paid.", "groundingSpans": [], <>}'
RECALL = '{"asserts": [{"kind": "recallAtK", "threshold": <>, "count": <>}]}'
MESSAGES = '[{"id": "m", "role": "user", "text": "a", "salience": <>, "feedback": 1e-400}]'
TALK = '[{"doc_cid": "sha256:' + "a" * 64 + '", "uri": "u", "session": "s", "messages": <>}]'


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("evaluate_answer(%s, %s)", [ANSWER.replace("<>", '"minCitedChunks": 1'), CHUNKS]),
        ("evaluate_answer(%s, %s)", [ANSWER.replace("<>", '"minCitedChunks": <>'), SOUND_CHUNKS]),
        ("evaluate_answer(%s, %s)", [ANSWER.replace("<>", '"minGroundingCoverage": <>'), CHUNKS]),
        (
            "evaluate_answer(%s, %s)",
            [
                ANSWER.replace("<>", '"evidencePolicy": {"minRetrievedChunks": <>}'),
                SOUND_CHUNKS,
            ],
        ),
        (
            "evaluate_answer(%s, %s)",
            [ANSWER.replace("<>", '"evidencePolicy": {"minTopScore": <>}'), SOUND_CHUNKS],
        ),
        ("evaluate_case(%s, %s)", ['{"asserts": [{"kind": "scoreGte", "threshold": 0}]}', CHUNKS]),
        ("evaluate_case(%s, %s)", [RECALL, SOUND_CHUNKS]),
        ("rag_enough_context_gate('paid', %s)", [CHUNKS]),
        ("policy_hash(%s)", ['{"salience_weight": <>, "phase_weights": {"planning": <>}}']),
        ("search_global('docs', 'paid', filter => %s)", ['{"min_salience": <>}']),
        ("put_conversations('docs', %s)", [TALK.replace("<>", MESSAGES)]),
    ],
)
def test_a_number_of_json_is_one_or_is_refused(
    db: Connection, query: str, arguments: list[str], number: str
) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    values = [argument.replace("<>", number) for argument in arguments]
    refused = None
    try:
        with db.transaction():
            db.execute(f"select * from ragdb.{query}", values)
    except RagdbError as error:
        refused = error.diag.message_hint
    except psycopg.Error as error:
        refused = error.sqlstate
    assert refused is None or len(refused) != 5
