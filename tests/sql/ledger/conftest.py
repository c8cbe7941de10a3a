"""A clone with evidence of every kind, sealed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.conftest import Connection, Server
from tests.sql.conversations import chat
from tests.sql.signed_slices import messages, one, promote, retrieve

KINDS = {
    "access",
    "act",
    "answer",
    "atom",
    "contract",
    "decision",
    "erasure",
    "event",
    "feedback",
    "gate",
    "incident",
    "key",
    "policy",
    "proposal",
    "rerank",
    "run",
    "slice",
    "state",
    "trace",
    "version",
}


CONTRACT = """corpus name=chat
retriever name=R corpus=chat topK=5
rag name=A retriever=R
  ragEval name=V mode=contract metric=mrr threshold=0.1
"""
CASE = [{"name": "c", "query": "refunds", "labels": [{"source": "nowhere"}]}]


def fill(db: Connection) -> dict[str, Any]:
    """Evidence of every kind; returns ids."""
    chat(db, messages())
    db.execute("select ragdb.create_signing_key('k1')")
    db.execute("select ragdb.apply_contract(%s, 'c')", (CONTRACT,))
    db.execute("select ragdb.import_eval('A', 'V', %s)", (Jsonb(CASE),))
    db.execute("select ragdb.run_eval('A')")
    hits = retrieve(db)
    trace = hits[0]["trace_id"]
    db.execute("select ragdb.record_feedback('bad', %s)", (trace,))
    everywhere = one(db, "select trace_id from ragdb.retrieve('chat', 'refunds')")["trace_id"]
    promote(db, everywhere, [h["chunk_id"] for h in hits])
    atom = promote(db, trace, [h["chunk_id"] for h in hits])["atom_id"]
    proposal = one(db, "select * from ragdb.propose('chat', %s, 'Refunds work.')", [atom])
    db.execute(
        "select * from ragdb.decide_proposal('chat', %s, 'accepted')", (proposal["proposal_id"],)
    )
    db.execute("select ragdb.bind_reranker('tiny', '/models/tiny', repeat('ab', 32))")
    db.execute(
        "select r.* from (select array_agg(h.chunk_id) as ids, array_agg(h.rank / 3.0) as scores"
        " from ragdb.trace_hits(%(t)s) h) t,"
        " ragdb.record_rerank(%(t)s, 'tiny', t.ids, t.scores::float8[], 2) r",
        {"t": trace},
    )
    db.execute(
        "select ragdb.record_gate('refunds', p.pack), a.* from"
        " ragdb.build_evidence_pack(%s) p (pack),"
        " ragdb.record_answer(ragdb.answer_from_evidence('refunds', p.pack), p.pack) a",
        (trace,),
    )
    db.execute("select ragdb.record_erasure('{trace:1/none}', 'nothing was there')")
    db.execute("select ragdb.create_corpus('closed')")
    db.execute("select ragdb.grant_corpus('closed', 'reader', 'read')")
    db.execute("select ragdb.create_corpus('past', history => '90 years')")
    db.execute("select ragdb.put_text('past', 'a.md', 'A bridge of copper.')")
    chat(db, messages(), "gone")
    hits = retrieve(db, corpus="gone")
    promote(db, hits[0]["trace_id"], [h["chunk_id"] for h in hits])
    db.execute(
        "select ragdb.delete_document('gone', doc_cid, 'erase', 'on request')"
        " from ragdb.list_documents('gone')"
    )
    return {"trace": trace, "atom": atom, "proposal": proposal["proposal_id"]}


def kinds(db: Connection) -> dict[str, int]:
    return dict(
        db.execute("select kind, count(*)::int from ragdb.ledger_leaves group by kind").fetchall()
    )


def findings(db: Connection) -> list[tuple[str, str, str]]:
    """What ragdb.verify_ledger finds: finding, kind and id."""
    return db.execute(
        "select finding, kind, id from ragdb.verify_ledger() order by 1, 2, 3"
    ).fetchall()


@pytest.fixture(scope="session")
def sealed(any_version: Server) -> Iterator[str]:
    """DSN of a database with evidence of every kind that is sealed; nobody changes it."""
    with any_version.database() as database:
        dsn = any_version.dsn(database.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            fill(db)
            db.execute("select ragdb.seal_ledger()")
        yield dsn


@pytest.fixture
def evidence(any_version: Server, sealed: str) -> Iterator[Connection]:
    """The superuser in that database, rolled back after."""
    with any_version.rolled_back(sealed) as db:
        yield db
