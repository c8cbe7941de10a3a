"""Random calls of every public function: rows, an error of class RG, a refusal or a time limit.

Each call takes its arguments from what the database holds, from what breaks programs, and from
sound JSON that was damaged at random. One call in ten is committed, so that later ones meet what
it left.
"""

from __future__ import annotations

import copy
import os
import random
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.errors import RagdbError
from tests.conftest import Connection, Server
from tests.contract_twin import parse
from tests.documents import text_document
from tests.schema.fill import fill
from tests.sql.conversations import conversation, uuid
from tests.sql.signed_slices import messages
from tests.sql.test_arguments_hostile import HOSTILE, SOUND

EXAMPLE = Path(__file__).parents[2] / "examples" / "contract" / "support.kern"
SWAPS = {
    "name=Docs ": "name=help ",
    "=Docs ": "=help ",
    "mode=hybrid": "mode=lexical",
    " embed=DocsEmbedding": "",
    "minScore=0.72": "minScore=0",
}
ALLOWED = {"42501", "57014"}  # a right that is missing, and the time limit of a statement
ROUND = 2_500  # calls that meet what earlier ones of their round left
ROLES = ("reader", "writer", "admin", "owner")


def contract() -> str:
    """The contract of the example over a corpus of its own, searched without a model."""
    text = "\n".join(
        line for line in EXAMPLE.read_text().splitlines() if not line.startswith("embed ")
    )
    for old, new in SWAPS.items():
        text = text.replace(old, new)
    return text


FUNCTIONS = """
select p.proname, p.prokind = 'p', p.pronargs - p.pronargdefaults,
  array(select p.proargnames[i] from generate_series(1, p.pronargs) i),
  array(select format_type(t, null) from unnest(p.proargtypes) with ordinality a (t, n) order by n)
from pg_proc p
where p.pronamespace = 'ragdb'::regnamespace and p.prorettype <> 'trigger'::regtype
order by p.proname, p.oid
"""
# What arguments of these names find in the database of a round
STORED = {
    "corpus": "select name from ragdb.corpora",
    "chunk_id": "select chunk_id from ragdb.chunks",
    "doc_cid": "select doc_cid from ragdb.documents",
    "uri": "select uri from ragdb.document_sources",
    "trace_id": "select id from ragdb.retrieval_traces",
    "slice_id": "select slice_id from ragdb.slices",
    "token": "select admissibility_token from ragdb.retrieval_traces where slice_id is not null",
    "policy_id": "select policy_id from ragdb.slice_policies",
    "params_hash": "select params_hash from ragdb.slice_policies",
    "graph_snapshot_hash": "select graph_snapshot_hash from ragdb.slices",
    "key_id": "select key_id from ragdb.signing_keys",
    "run_id": "select run_id from ragdb.eval_runs",
    "atom_ids": "select array[atom_id] from ragdb.semantic_atoms",
    "proposal_id": "select proposal_id from ragdb.semantic_proposals",
    "cid": "select cid from ragdb.blobs",
    "embedder": "select name from ragdb.embedders",
    "space_id": "select space_id from ragdb.embedding_spaces",
}
SAME = {
    "anchor": "chunk_id",
    "anchor_chunk_id": "chunk_id",
    "only_corpus": "corpus",
    "baseline": "run_id",
    "only_embedder": "embedder",
}
WORDS = {
    "mode": ["lexical", "semantic", "hybrid", "reference"],
    "fusion": ["convex", "rrf"],
    "statistics": ["corpus", "global"],
    "query": ["refunds", 'a "bicycle" +car -search', "paid within fourteen days", "?!"],
    "question": ["How are refunds paid?"],
    "anchor": ["chat"],
    "session": ["s1"],
    "retriever": ["DocsSearch"],
    "rag": ["AnswerDocs"],
    "tool": ["AnswerDocs"],
    "eval": ["Faithfulness"],
    "contract": ["support", contract()],
    "unit": ["token", "char"],
    "offsets": ["codepoint", "utf16", "byte"],
    "strategy": ["paragraph", "sentence", "page", "fixed"],
    "format": ["table", "tap", "junit", "markdown", "csv", "json"],
    "role": ["reader", "writer2", "nobody"],
    "privilege": ["read", "write"],
    "decision": ["accepted", "rejected"],
    "provider": ["hash", "endpoint"],
    "text_config": ["english", "simple", "german"],
}
CHUNKS = [
    {"id": "c1", "chunk_id": "c1", "source_id": "s", "source": "s", "text": "Refunds.", "score": 1}
]
DOCUMENT = text_document("new.md", "A new text, and one more sentence in it.")
JSON: dict[str, Any] = {
    "documents": [DOCUMENT, text_document("b.md", "Another one.")],
    "document": DOCUMENT,
    "conversations": [conversation(messages(), "s9")],
    "contract": {"contract": "support", "nodes": parse(contract())},
    "policy": {"policy_id": "default", "max_nodes": 5, "phase_weights": {"planning": 0.5}},
    "filter": {"uri": {"glob": "*.txt"}, "page": {"in": [1, 2]}, "source": "a.txt"},
    "retrieval": {"query": "refunds", "chunks": CHUNKS, "latency_ms": 3},
    "pack": {"query": "refunds", "chunks": CHUNKS, "omitted": []},
    "evidence": [{"chunk_id": "c1", "source_id": "s", "text": "Refunds are paid."}],
    "output": {"answer": "Refunds are paid.", "citations": [{"chunk_id": "c1", "source_id": "s"}]},
    "case": {"query": "refunds", "asserts": [{"kind": "scoreGte", "threshold": 0}]},
    "cases": [{"name": "n", "query": "refunds", "labels": {"a.txt": 2}}],
    "plan": {"needs_retrieval": True, "queries": ["refunds"], "reason": "asked"},
    "request": {
        "request_id": "00000000-0000-4000-8000-000000000001",
        "capability": "rag.query",
        "payload": {"corpus": "docs", "query": "refunds", "k": 3},
    },
    "arguments": {"question": "How are refunds paid?"},
    "rerank_scores": {"refunds": {"c1": 0.5}},
    "header": {"format": "ragdb-corpus", "version": 1, "corpus": {"name": "docs2"}},
    "chunks": DOCUMENT["chunks"],
    "chunking": DOCUMENT["chunking"],
    "links": [{"uri": "b.txt", "start": 0, "end": 3}],
    "metadata": {"lang": "en", "tags": ["a", "b"], "n": 1e300},
}
SPOILT: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    1e300,
    1.5,
    "",
    "x" * 3000,
    [],
    {},
    [[]],
    "1e999",
    "\u0001",
]


def spoil(value: Any, rng: random.Random) -> Any:
    """The same JSON with one place of it damaged."""
    places = list(_places(value))
    if not places or rng.random() < 0.05:
        return copy.deepcopy(rng.choice(SPOILT))
    holder, key = rng.choice(places)
    act = rng.randrange(4)
    if act == 0:
        del holder[key]
    elif act == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif act == 2 and isinstance(holder, dict):
        holder["".join(rng.choices(string.printable[:94], k=3))] = copy.deepcopy(rng.choice(SPOILT))
    else:
        wrong = rng.choice(SPOILT)
        holder[key] = copy.deepcopy(rng.choice([wrong, [wrong], {"in": [wrong]}]))
    return value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else []
    )
    for key in keys:
        yield value, key
        yield from _places(value[key])


def random_text(rng: random.Random) -> str:
    alphabets = (range(32, 127), range(0xA0, 0x250), range(0x4E00, 0x4F00), range(0x1F300, 0x1F400))
    size = rng.choice([1, 3, 20, 200])
    return "".join(chr(rng.choice(rng.choice(alphabets))) for _ in range(size))


def argument(name: str, kind: str, found: dict[str, list[Any]], rng: random.Random) -> Any:
    how = rng.random()
    if kind == "jsonb" and name in JSON and how < 0.8:
        value = copy.deepcopy(JSON[name])
        for _ in range(rng.choice([0, 1, 1, 2, 5])):
            value = spoil(value, rng)
        return Jsonb(value)
    if how < 0.65:
        known = [*found.get(SAME.get(name, name), []), *WORDS.get(name, [])]
        if known:
            return rng.choice(known)
        if kind == "text[]" and found["chunk_id"]:
            return rng.choices(found["chunk_id"], k=rng.randrange(1, 4))
        return SOUND[kind]
    if kind == "text" and how < 0.8:
        return random_text(rng)
    return rng.choice(HOSTILE[kind])


def prepared(connection: Connection) -> None:
    """A database with something in every table that an argument may name."""
    fill(connection)
    connection.execute("select ragdb.create_corpus('chat')")
    connection.execute(
        "select ragdb.put_conversations('chat', %s)", (Jsonb([conversation(messages())]),)
    )
    connection.execute("select ragdb.create_signing_key('k1')")
    connection.execute("select ragdb.put_blob('Refunds are paid.'::bytea, 'text/plain')")
    connection.execute("select ragdb.apply_contract(%s)", (Jsonb(JSON["contract"]),))
    connection.execute(
        "select ragdb.put_text('help', 'docs/refunds.md', 'Refunds follow the policy.')"
    )
    connection.execute("select ragdb.run_eval('AnswerDocs', 'Faithfulness')")
    hits = connection.execute(
        "select trace_id, array_agg(chunk_id)"
        " from ragdb.retrieve_slice('chat', 'refunds', anchor => %s)"
        " group by trace_id",
        (uuid(1),),
    ).fetchone()
    assert hits
    promoted = "Refunds are paid by card within two weeks."
    connection.execute(
        "select p.* from ragdb.promote_to_atom(%s, %s, %s) a,"
        " ragdb.propose('chat', array[a.atom_id], 'Refunds work.') p",
        (*hits, promoted),
    )


def call(
    connection: Connection, function: Any, found: dict[str, list[Any]], rng: random.Random
) -> str:
    """Call a function once; what should not have happened, or nothing."""
    name, is_procedure, required, names, types = function
    given = [i for i in range(len(names)) if i < required or rng.random() < 0.3]
    values = [argument(names[i], types[i], found, rng) for i in given]
    arguments = ", ".join(f'"{names[i]}" => %s::{types[i]}' for i in given)
    how = "call" if is_procedure else "select * from"
    role = rng.choice(ROLES)
    try:
        connection.execute(f"set role {role}".encode())
        with connection.transaction(force_rollback=rng.random() < 0.9):
            connection.execute(f"{how} ragdb.{name}({arguments})".encode(), values)
    except psycopg.Error as error:
        known = isinstance(error, RagdbError) and "<NULL>" not in str(error)
        if not known and error.sqlstate not in ALLOWED:
            shown = ", ".join(
                f"{names[i]} => {str(v)[:200]}" for i, v in zip(given, values, strict=True)
            )
            return f"{role}: {name}({shown}): {error.sqlstate} {str(error)[:300]}"
    finally:
        connection.execute("reset role")
    return ""


@pytest.mark.parametrize(
    "calls", [500, pytest.param(50_000, marks=pytest.mark.nightly)], ids=["some", "all"]
)
def test_random_calls_end_in_rows_or_an_error_of_ragdb(calls: int, server18: Server) -> None:
    seed = int(os.environ.get("RAGDB_FUZZ_SEED", "1"))
    wrong: list[str] = []
    with server18.database() as filled:
        with psycopg.connect(server18.dsn(filled.dbname), autocommit=True) as connection:
            prepared(connection)
        for done in range(0, calls, ROUND):
            rng = random.Random(f"{seed} {done}")
            with (
                server18.database(filled.dbname) as database,
                psycopg.connect(server18.dsn(database.dbname), autocommit=True) as connection,
            ):
                connection.execute("set statement_timeout = '20s'")
                functions = connection.execute(FUNCTIONS).fetchall()
                found = {
                    name: [value for (value,) in connection.execute(query.encode())]
                    for name, query in STORED.items()
                }
                for _ in range(min(ROUND, calls - done)):
                    wrong += filter(None, [call(connection, rng.choice(functions), found, rng)])
    assert wrong == []
