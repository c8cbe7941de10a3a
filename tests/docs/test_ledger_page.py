"""The worked example of docs/ledger.md holds, by the page's own definitions and by the package."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

import ragdb
from ragdb.ledger import keys, notes, offline, proofs
from tests import merkle_twin as twin
from tests.conftest import Run

PAGE = (Path(__file__).resolve().parents[2] / "docs/ledger.md").read_text()
SEED = bytes(range(32))


def block(name: str) -> str:
    """The block of the page behind a line `<!-- name -->`."""
    found = re.search(rf"<!-- {name} -->\n```text\n(.*?)```", PAGE, re.S)
    assert found, name
    return found[1]


def signer() -> keys.Signer:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return keys.from_private(Ed25519PrivateKey.from_private_bytes(SEED))


def test_the_example_is_what_its_rules_make() -> None:
    from datetime import UTC, datetime

    at = datetime(2026, 11, 22, 12, tzinfo=UTC)
    entries = [
        twin.entry("trace", f"1/01a2053b-9d2c-7614-8404-01234500219{n}", bytes([n]) * 32, at)
        for n in range(3)
    ]
    leaves = [twin.leaf(entry) for entry in entries]
    assert block("entry").split() == [
        entries[2][n : n + 32].hex() for n in range(0, len(entries[2]), 32)
    ]
    assert block("leaf").strip() == leaves[2].hex()
    root = base64.b64encode(twin.root(leaves)).decode()
    text = f"example.com/evidence\n3\n{root}\n"
    checkpoint = signer().checkpoint(text)
    proof = proofs.Proof(entries[2], 2, tuple(twin.path(2, leaves)), checkpoint)
    assert block("proof") == str(proof)
    assert block("key").strip() == str(signer().verifier("example.com/evidence"))


def test_the_example_is_verified_and_a_change_of_it_is_not(tmp_path: Path) -> None:
    trusted = offline.keys([block("key")], [], None)
    file = tmp_path / "proof"
    file.write_text(block("proof"))
    assert [f.finding for f in offline.verify([file], trusted)] == ["signed", "included"]
    file.write_text(block("proof").replace("index 2", "index 1"))
    assert [f.finding for f in offline.verify([file], trusted)] == ["signed", "not_included"]


def test_a_third_party_sees_that_a_trace_and_its_texts_are_those_of_the_ledger(
    run: Run, clone: str
) -> None:
    program: dict[str, Any] = {}
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(code, program)
    with psycopg.connect(clone, autocommit=True) as connection:
        db = ragdb.Database(connection)
        db.add(
            ["Grüße: refunds are paid\r\nin cash. ", "refunds"], [{"year": 2}] * 2, corpus="docs"
        )
        ids = [chunk.chunk_id for chunk in db.list_chunks("docs")]
        made: list[Any] = [
            db.retrieve("docs", "refunds", 2),
            db.retrieve("docs", "Grüße", 2, filter={"year": {"gt": 1e-7, "lt": 2.5}}),
            db.retrieve("docs", "refunds", 2, chunk_ids=ids[:1], min_score=0),
        ]
        db.seal_ledger()
        texts = {chunk.chunk_id: chunk.text for chunk in db.list_chunks("docs")}
        for hits in made:
            entry = db.ledger_entry("trace", str(hits.trace_id))
            shown = json.loads(run("trace", "show", hits.trace_id, "--json").stdout)
            assert program["trace_hash"](shown) == entry.hash.hex()
            assert program["other_texts"](shown, texts) == []
            shown["hits"][0]["score"] /= 2
            assert program["trace_hash"](shown) != entry.hash.hex()
            first = shown["hits"][0]["chunk_id"]
            assert program["other_texts"](shown, texts | {first: "gifts"}) == [first]


def test_a_third_party_sees_what_was_reranked_and_returned(run: Run, clone: str) -> None:
    program: dict[str, Any] = {}
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(code, program)
    with psycopg.connect(clone, autocommit=True) as connection:
        db = ragdb.Database(connection)
        db.add(["refunds are paid", "refunds"], corpus="docs")
        hits = db.retrieve("docs", "refunds", 2)
        db.bind_reranker("tiny", "/models/tiny", "ab" * 32)
        db.record_rerank(hits.trace_id, "tiny", [h.chunk_id for h in hits], [0.25, 1.0], 1)
        db.seal_ledger()
        entry = db.ledger_entry("rerank", str(hits.trace_id))
        shown = json.loads(run("trace", "show", hits.trace_id, "--json").stdout)
        ((reranks,),) = connection.execute(
            "select json_agg(r) from ragdb.trace_reranks(%s) r", (hits.trace_id,)
        ).fetchall()
        assert program["trace_hash"](shown) == shown["trace_hash"]
        assert program["rerank_hash"](shown["trace_hash"], reranks) == entry.hash.hex()
        reranks[1]["is_returned"] = True
        assert program["rerank_hash"](shown["trace_hash"], reranks) != entry.hash.hex()


@pytest.mark.parametrize("rule", ["0x00", "0x01", "cosignature/v1", "c2sp.org/tlog-proof@v1"])
def test_the_page_says_what_is_hashed_and_signed(rule: str) -> None:
    assert rule in PAGE
    assert notes.cosigned("x", 1).startswith(b"cosignature/v1\n")
