"""A deletion goes by what it sees: one that does not see yet what rests on its documents begins
again, and so does whoever would rest on what is gone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import count

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.conversations import chat
from tests.sql.signed_slices import messages, promote, retrieve

CONTRACT = """corpus name={0}
retriever name=R{0} corpus={0} topK=5
rag name=A{0} retriever=R{0}
  ragEval name=V mode=contract metric=mrr threshold=0.1
"""
CASES = json.dumps([{"name": "c", "query": "refunds", "labels": [{"source": "nowhere"}]}])
SOURCE = "'{0}', 'chat.jsonl#s1'"
TRACE = "(select t.id from ragdb.list_traces('{0}') t where t.is_admissible)"
HITS = f"array(select h.chunk_id from ragdb.trace_hits({TRACE}) h)"
PACK = f"ragdb.build_evidence_pack({TRACE})"
RUN = "(select r.run_id from ragdb.list_eval_runs('A{0}') r limit 1)"
OPEN = "(select p.proposal_id from ragdb.list_proposals('{0}', 'open') p)"
DELETIONS = {
    "erases": f"delete_source({SOURCE}, 'erase')",
    "drops": "drop_corpus('{0}')",
    "redacts": f"delete_source({SOURCE})",
    "erases the past": f"erase_source({SOURCE})",
    "prunes": "prune_sources('{0}', '', '{{}}', derived => 'erase')",
    "deletes": "delete_document('{0}', (select d.doc_cid from ragdb.list_documents('{0}') d))",
}
REFERENCES = {
    "promotes": f"promote_to_atom({TRACE}, {HITS}, 'And refunds of gifts?')",
    "proposes": "propose('{0}', array(select a.atom_id from ragdb.list_atoms('{0}') a), 'So.')",
    "accepts": f"decide_proposal('{{0}}', {OPEN}, 'accepted')",
    "rejects": f"decide_proposal('{{0}}', {OPEN}, 'rejected')",
    "blesses": f"bless_run({RUN})",
    "runs": "run_eval('A{0}')",
    "imports": "import_eval('A{0}', 'V', '[]')",
    "asks": "add_eval_case('A{0}', 'V', 'what of gifts?')",
    "judges": f"record_feedback('good', {TRACE})",
    "weighs": f"record_gate('refunds', {PACK})",
    "answers": f"record_answer(ragdb.answer_from_evidence('refunds', {PACK}), {PACK})",
}

NUMBERS = count()


def fill(db: Connection, corpus: str) -> None:
    """A corpus of one session, on which an atom, an open proposal and a baseline rest."""
    chat(db, messages(), corpus)
    hits = retrieve(db, corpus=corpus)
    atom = promote(db, hits[0]["trace_id"], [h["chunk_id"] for h in hits])["atom_id"]
    db.execute("select ragdb.propose(%s, %s, 'Refunds work.')", (corpus, [atom]))
    db.execute("select ragdb.apply_contract(%s, %s)", (CONTRACT.format(corpus), corpus))
    db.execute("select ragdb.import_eval(%s, 'V', %s)", (f"A{corpus}", CASES))
    db.execute("select ragdb.bless_run(r.run_id) from ragdb.run_eval(%s) r", (f"A{corpus}",))
    db.commit()


def outcome(db: Connection, call: str) -> str | None:
    """SQLSTATE of what a session gets that ends with a call; None where it commits."""
    try:
        db.execute(f"select * from ragdb.{call}".encode())
        db.commit()
    except psycopg.Error as error:
        db.rollback()
        return error.sqlstate
    return None


# by day those that were wrong once
BY_DAY = (
    ("erases", ("proposes", "rejects")),
    ("drops", ("proposes", "blesses")),
)


@pytest.mark.parametrize(
    ("deletion", "references"),
    [*BY_DAY, *(pytest.param(d, REFERENCES, marks=pytest.mark.nightly) for d in DELETIONS)],
)
def test_who_deletes_and_who_refers_to_it_end_as_if_one_had_come_after_the_other(
    module_clone: str, deletion: str, references: Iterable[str]
) -> None:
    wrong = {}
    with psycopg.connect(module_clone) as one, psycopg.connect(module_clone) as other:
        if not one.execute("select from ragdb.list_signing_keys()").fetchall():
            one.execute("select ragdb.create_signing_key('k1')")
        other.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for reference in references:
            calls = (REFERENCES[reference], DELETIONS[deletion])
            for first, then in (calls, calls[::-1]):
                corpus = f"c{next(NUMBERS)}"
                fill(one, corpus)
                other.execute("select from ragdb.corpora")
                assert outcome(one, first.format(corpus)) is None
                state = outcome(other, then.format(corpus))
                if state not in (None, "40001") and not state.startswith("RG"):
                    wrong[reference, then] = state
        assert wrong == {}
        found = other.execute(
            "select * from ragdb.verify(checks => array(select c.check from"
            " ragdb.verification_checks() c where c.check not in ('code', 'triggers', 'pgvector')))"
            " where severity <> 'note'"
        )
        assert found.fetchall() == []
