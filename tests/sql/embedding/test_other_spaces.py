"""A call for one corpus opens no table of the vectors of another: a database may have thousands."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import psycopg

from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.embedding import embed, make_corpus, one
from tests.sql.conversations import conversation, message
from tests.sql.corpora.test_parts_doors import PART, WHOLE
from tests.waiting import until

TIMES = 7  # a statement may have another plan from its sixth time on
NEAR = "array_fill(0.1::real, array[64])"
HYBRID = f"mode => 'hybrid', query_embedding => {NEAR}"
THEN = "as_of => (select version from ragdb.corpus_info('docs'))"
TALK = json.dumps([conversation([message(1), message(2, [1]), message(3, [2])])])
CALLS = [
    *(f"{name}({arguments})" for name, (arguments, _) in WHOLE.items()),
    *(f"{name}({arguments})" for name, arguments in PART.items()),
    f"search('docs', 'red', {HYBRID}, diversity => 0.3)",
    "search('docs', 'red', mode => 'lexical', diversity => 0.3, collapse => true)",
    f"search('docs', 'red', {HYBRID}, {THEN})",
    f"search('docs', 'red', 2, {HYBRID}, diversity => 0.3, {THEN})",
    f"retrieve_slice('docs', 'red', {HYBRID}, anchor => :chunk)",
    "put_text('docs', 'copy', 'red apple')",
    "put_text('docs', 'a', 'a red apple pie')",
    "delete_source('docs', 'a')",
    f"put_conversations('docs', '{TALK}')",
    "bind_embedder('hash', 'hash', 'hash-v1')",
    "bind_embedder('alone', 'hash', 'hash-v2')",
]
LOCKED = """
    select count(*) from pg_locks l join pg_inherits i on i.inhrelid = l.relation
    where l.pid = pg_backend_pid() and i.inhparent = 'ragdb.chunk_embeddings'::regclass
      and i.inhrelid not in (
        select ('ragdb.' || ragdb_internal.space_table(s.space_id))::regclass
        from ragdb.embedding_spaces s join ragdb.corpora c on c.corpus_id = s.corpus_id
        where c.name = %s)
    """


def locked_by(db: Connection, call: str) -> int:
    """How many tables of other corpora are locked after some calls, of which nothing stays."""
    found = 0
    with db.transaction(force_rollback=True):
        for _ in range(TIMES):
            with suppress(psycopg.Error), db.transaction():
                db.execute(f"select * from ragdb.{call}".encode())
            found = max(found, one(db, LOCKED, "docs"))
    return found


@OLDER_BY_NIGHT
def test_a_call_for_one_corpus_locks_no_vectors_of_another(any_version: Server) -> None:
    with (
        any_version.database() as database,
        psycopg.connect(any_version.dsn(database.dbname), autocommit=True) as db,
    ):
        db.execute("select ragdb.create_signing_key('k')")
        db.execute("select ragdb.create_embedder('alone', 64)")
        for corpus in ("docs", "other", "third"):
            make_corpus(db, {"a": "red apple", "b": "green pear", "c": "red plum"}, corpus)
        embed(db)
        db.execute("select ragdb.keep_history('docs', '1 day')")
        chunk = one(db, "select chunk_id from ragdb.list_chunks('docs', '{\"source\": \"c\"}')")
        calls = [c.replace("whole", "docs").replace(":chunk", f"'{chunk}'") for c in CALLS]
        locked = {call: locked_by(db, call) for call in calls}
        assert {call: count for call, count in locked.items() if count} == {}


# each is of all corpora, and none needs a vector while nothing waits and no index lacks
OVER_ALL = (
    "ragdb.embedding_status(null, true)",
    "ragdb.metrics()",
    "ragdb.claim_embeddings('w')",
    "ragdb.capabilities()",
    "ragdb.list_corpora()",
    "bi.agg_embedding_backlog",
)


@OLDER_BY_NIGHT
def test_a_call_over_all_that_needs_no_vector_locks_none(any_clone: str) -> None:
    with psycopg.connect(any_clone, autocommit=True) as db:
        make_corpus(db, {"a": "red apple"})
        embed(db)
    with psycopg.connect(any_clone) as db:
        locked = {}
        for call in OVER_ALL:
            db.execute(f"select * from {call}".encode())
            locked[call] = one(db, LOCKED, "")
            db.rollback()
        assert {call: count for call, count in locked.items() if count} == {}


def test_a_drop_that_waits_for_a_reader_holds_up_no_other_corpus(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db, psycopg.connect(clone) as reader:
        make_corpus(db, {"a": "red apple"})
        embed(db)
        reader.execute(f"select * from ragdb.search('docs', 'red', {HYBRID})".encode())
        drop = threading.Thread(target=dropped, args=(clone,))
        drop.start()
        until(lambda: one(db, "select exists (select from pg_locks where not granted)"))
        db.execute("set lock_timeout = 1000")
        db.execute("select from ragdb.chunk_embeddings where space_id = 0")
        reader.rollback()
        drop.join()
        assert one(db, "select count(*) from ragdb.corpora where name = 'docs'") == 0


def dropped(dsn: str) -> None:
    with psycopg.connect(dsn) as db:
        db.execute("select ragdb.drop_corpus('docs')")
