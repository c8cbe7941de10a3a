"""A transaction that stays open on one corpus stops no call on another, and no read of its own."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection
from tests.embedding import claim, embed, make_embedder, one, put
from tests.sql import conversations
from tests.sql.signed_slices import messages

CONTRACT = """corpus name={0}
retriever name=R{0} corpus={0} topK=5 mode=lexical
rag name=A{0} retriever=R{0}
  ragEval name=V{0} mode=contract metric=mrr threshold=0.1
"""
READS = [
    "search('{0}', 'red', mode => 'lexical')",
    "search('{0}', 'red', query_embedding => array_fill(0.1::float8, array[64]))",
    "search(query => 'red', mode => 'lexical')",
    "retrieve('{0}', 'red', mode => 'lexical')",
    "retrieve_with('R{0}', 'red')",
    "ask('{0}', 'red apple', rank_mode => 'lexical')",
    "similar('{0}', '{1}')",
    "list_documents('{0}')",
    "list_corpora()",
    "list_traces('{0}')",
    "embedding_status()",
    "record_failure('{0}', 'red', 'RG400', 1)",
    "advice()",
    "metrics()",
    "has_worker()",
]
WRITES = [
    "retrieve('{0}', 'red', query_embedding => array_fill(0.1::float8, array[64]))",
    "put_text('{0}', 'new', 'red')",
    "delete_source('{0}', 'a')",
    "erase_source('{0}', 'a')",
    "optimize_corpus('{0}')",
    "put_conversations('chat-{0}', '[]')",
    "retrieve_slice('chat-{0}', 'refunds', anchor => '{2}', mode => 'lexical')",
    "claim_embeddings('{0}', only_corpus => '{0}')",
    "put_query_embedding('{0}', 'red', array_fill(0.1::float8, array[64]))",
    "grant_corpus('{0}', 'reader', 'read')",
    "restrict_corpus('{0}')",
    "record_reads('{0}', 'off')",
    "keep_history('{0}', '2 days')",
    "run_eval('A{0}')",
    "import_eval('A{0}', 'V{0}', '[]')",
    "create_http_token('reader', 'token-{0}')",
    "begin_move('{0}', 'elsewhere')",
    "drop_space('{0}', 'other')",
    "cutover_corpus('{0}', 'other', force => true)",
    "drop_corpus('{0}')",
]
# of all corpora: what it holds may be of any
CLAIM = "claim_embeddings('w')"
# whoever makes a space or a corpus waits for another who does, and so with contracts
MAKERS = [
    "create_corpus('new-{0}')",
    "embed_corpus('chat-{0}', 'hash')",
    "withdraw_contract('k{0}')",
]
# these wait for whoever records what they take away, and nobody waits for them
LOGS = [
    "erase_traces('{0}')",
    "erase_caller('reader')",
    "drop_access_events_before('2020-01-01')",
]


def filled(db: Connection, corpus: str) -> list[str]:
    """What the calls name: a corpus, a chunk of it, and a turn."""
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    db.execute("select ragdb.embed_corpus(%s, 'hash')", (corpus,))
    put(db, {"a": f"red apple of {corpus}", "b": "green pear"}, corpus)
    embed(db)
    db.execute("select ragdb.record_reads(%s, 'on')", (corpus,))
    db.execute("select ragdb.reembed_corpus(%s, 'other')", (corpus,))
    put(db, {"c": f"red plum of {corpus}"}, corpus)
    assert len(claim(db, count=1)) == 1
    put(db, {"d": f"red wine of {corpus}"}, corpus)
    chat = f"chat-{corpus}"
    db.execute("select ragdb.create_corpus(%s)", (chat,))
    conversations.put(db, chat, conversations.conversation(messages()))
    db.execute("select ragdb.apply_contract(%s, %s)", (CONTRACT.format(corpus), f"k{corpus}"))
    chunk = "select min(chunk_id) from ragdb.list_chunks(%s)"
    turn = one(db, chunk, chat)
    # the first slice of a database keeps the default policy, for which all others wait
    db.execute("select ragdb.export_slice(%s, %s)", (chat, turn))
    return [corpus, one(db, chunk, corpus), turn]


Two = tuple[list[str], list[str]]


@pytest.fixture(scope="module")
def two(module_clone: str) -> Iterator[Two]:
    with psycopg.connect(module_clone, autocommit=True) as db:
        make_embedder(db)
        make_embedder(db, "other")
        db.execute("select ragdb.create_signing_key('k')")
        yield filled(db, "one"), filled(db, "two")


@pytest.mark.nightly
@pytest.mark.parametrize("held", [*READS, *WRITES, *MAKERS, *LOGS])
def test_what_stays_open_stops_no_other(module_clone: str, two: Two, held: str) -> None:
    mine, others = two
    calls = [call.format(*others) for call in [*READS, *WRITES, CLAIM]]
    calls += [call.format(*mine) for call in READS]
    calls += [call.format(*others) for call in MAKERS if held not in MAKERS]
    waits = []
    with psycopg.connect(module_clone) as holder, psycopg.connect(module_clone) as other:
        holder.execute(f"select * from ragdb.{held.format(*mine)}".encode())
        other.execute("set lock_timeout = '1s'")
        other.commit()
        for call in calls:
            try:
                other.execute(f"select * from ragdb.{call}".encode())
            except psycopg.errors.LockNotAvailable:
                waits.append(call)
            other.rollback()
        holder.rollback()
    assert waits == []
