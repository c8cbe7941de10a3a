"""A call for one corpus opens no table of the vectors of another: a database may have thousands."""

from __future__ import annotations

import json
from contextlib import suppress

import psycopg
import pytest

from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.embedding import embed, make_corpus, one
from tests.processor import spent
from tests.sql.conversations import conversation, message
from tests.sql.corpora.test_parts_doors import PART, WHOLE
from tests.sql.soundness import errors

TIMES = 6  # a statement may have another plan from its sixth time on
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
      and i.inhrelid <> all (%s::regclass[])
    """
OWN = """
    select coalesce(array_agg('ragdb.' || ragdb_internal.space_table(s.space_id)), '{}')
    from ragdb.embedding_spaces s join ragdb.corpora c on c.corpus_id = s.corpus_id
    where c.name = 'docs'
    """


def locked_by(db: Connection, call: str) -> int:
    """How many tables of other corpora are locked after some calls, of which nothing stays."""
    own = one(db, OWN)
    with db.transaction(force_rollback=True):
        for _ in range(TIMES):
            with suppress(psycopg.Error), db.transaction():
                db.execute(f"select * from ragdb.{call}".encode())
        return int(one(db, LOCKED, own))  # what a call locked stays locked


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
            locked[call] = one(db, LOCKED, [])
            db.rollback()
        assert {call: count for call, count in locked.items() if count} == {}


def test_rights_to_other_corpora_take_a_status_as_little_as_a_list(clone: str) -> None:
    """Each right was planned anew, for a plan of the status is made for its corpora."""
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "red apple"})
        embed(db)
        db.execute("select ragdb.create_corpus('other-' || n) from generate_series(1, 300) n")
        db.execute("set role reader")

        def taken(call: str, rows: int) -> float:
            before = spent(db)
            for _ in range(40):
                assert len(db.execute(f"select * from ragdb.{call}()".encode()).fetchall()) == rows
            return spent(db) - before

        assert taken("embedding_status", 1) < 3 * taken("list_corpora", 301)


def tables(db: Connection) -> int:
    return int(
        one(
            db,
            "select count(*) from pg_inherits where inhparent = 'ragdb.chunk_embeddings'::regclass",
        )
    )


@OLDER_BY_NIGHT
@pytest.mark.parametrize(
    "read",
    [
        f"ragdb.search('docs', 'red', {HYBRID})",
        "ragdb.chunk_embeddings",  # as pg_dump locks it
    ],
)
def test_a_drop_waits_for_no_reader_and_holds_up_no_corpus(any_clone: str, read: str) -> None:
    with (
        psycopg.connect(any_clone, autocommit=True) as db,
        psycopg.connect(any_clone) as reader,
        psycopg.connect(any_clone) as drop,
    ):
        for corpus in ("docs", "other"):
            make_corpus(db, {"a": "red apple"}, corpus)
        embed(db)
        db.execute("select ragdb.keep_history('docs', '1 day')")
        search = f"select chunk_id from ragdb.search('other', 'red', {HYBRID})".encode()
        reader.execute(f"select from {read}".encode())
        for connection in (db, drop):
            connection.execute("set lock_timeout = 2000")
        drop.execute("select ragdb.drop_corpus('docs')")
        # not even while its transaction is open
        assert len(db.execute(search).fetchall()) == 1
        db.execute("select ragdb.put_text('other', 'b', 'green pear')")
        drop.commit()
        assert (tables(db), one(db, "select count(*) from ragdb.chunk_embeddings")) == (2, 1)
        assert db.execute("select ragdb.maintain()").fetchall() == []
        assert tables(db) == 2
        assert errors(db) == []
        reader.rollback()
        assert db.execute("select ragdb.maintain()").fetchall() == [("chunk_embeddings_1",)]
        assert tables(db) == 1
        assert one(db, "select count(*) from ragdb.settings where key ~ 'left'") == 0


def test_a_space_that_somebody_reads_is_dropped_for_those_who_come_after(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db, psycopg.connect(clone) as reader:
        make_corpus(db, {"a": "red apple"})
        embed(db)
        reader.execute("set transaction isolation level repeatable read")
        search = f"select chunk_id from ragdb.search('docs', 'red', {HYBRID})".encode()
        before = reader.execute(search).fetchall()
        db.execute("select ragdb.drop_space('docs', 'hash')")
        assert one(db, "select count(*) from ragdb.embedding_status('docs')") == 0
        db.execute("select ragdb.embed_corpus('docs', 'hash')")
        assert reader.execute(search).fetchall() == before
        reader.rollback()
        db.execute("select ragdb.maintain()")
        embed(db)
        assert (tables(db), db.execute(search).fetchall()) == (1, before)


def test_a_new_part_makes_no_space_but_that_of_its_whole(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {})
        db.execute("select ragdb.create_corpus('part', part_of => 'docs')")
        assert one(db, "select count(*) from ragdb.embedding_spaces") == 2
        assert one(db, "select value from ragdb.settings where key = 'spaces_created'") == 2
