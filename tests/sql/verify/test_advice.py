"""What is to be done is said to who may know of it, with the command that does it."""

from __future__ import annotations

import re
from contextlib import closing

import psycopg
import pytest

from tests.conftest import Connection
from tests.embedding import make_embedder, one, put
from tests.waiting import until

Advice = tuple[str, str | None, bool, str, str | None]


def advice(db: Connection) -> dict[str, Advice]:
    return {row[0]: row for row in db.execute("select * from ragdb.advice()").fetchall()}


def test_nothing_is_to_be_done_at_first(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, {"a.txt": "a b c"})
    any_db.execute("select ragdb.optimize_corpus('docs')")
    assert advice(any_db) == {}


def test_each_thing_to_do_is_done_by_what_it_says(any_db: Connection) -> None:
    make_embedder(any_db)
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, {"a.txt": "a b c"})
    any_db.execute("select ragdb.optimize_corpus('docs')")
    put(any_db, {f"long{n}.txt": "word " * 200 for n in range(98)})
    assert "corpus docs" not in advice(any_db)  # the mean of few chunks is chance
    put(any_db, {"long.txt": "word " * 200})
    any_db.execute("select ragdb.embed_corpus('docs', 'hash')")
    any_db.execute("select * from ragdb.claim_embeddings('w')")
    any_db.execute(
        "update ragdb.embedding_jobs set is_dead = true, failures = 5, worker = null,"
        " last_error = 'out of memory'"
    )
    found = advice(any_db)
    drifted, dead = found["corpus docs"], found["embeddings of docs by hash"]
    assert drifted[1:3] == ("docs", False)
    assert re.match(r"chunks are \d+% longer on the mean than its ranking counts with", drifted[3])
    assert dead[1:] == (
        "docs", True, "100 inputs given up: out of memory",
        "select ragdb.retry_failed('docs');",
    )  # fmt: skip
    any_db.execute(str(dead[4]).encode())
    name = str(drifted[4]).removeprefix("ragdb corpus optimize ")
    any_db.execute("select ragdb.optimize_corpus(%s)", (name,))
    found = advice(any_db)
    assert found == {
        "embeddings of docs by hash": (
            "embeddings of docs by hash", "docs", False,
            "100 chunks wait for an embedding, and no worker runs", "ragdb embed docs",
        )
    }  # fmt: skip


def test_a_second_space_is_filled_by_what_changes_the_embedder(any_db: Connection) -> None:
    make_embedder(any_db)
    make_embedder(any_db, "next")
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.embed_corpus('docs', 'hash')")
    put(any_db, {"a.txt": "a b c"})
    any_db.execute("select ragdb.reembed_corpus('docs', 'next')")
    found = advice(any_db)
    assert found["embeddings of docs by hash"][4] == "ragdb embed docs"
    assert found["embeddings of docs by next"][4] == "ragdb reembed docs --model next"


def test_faults_come_first(any_db: Connection) -> None:
    make_embedder(any_db)
    for corpus in ("a", "b", "c"):
        any_db.execute("select ragdb.create_corpus(%s)", (corpus,))
        any_db.execute("select ragdb.embed_corpus(%s, 'hash')", (corpus,))
        put(any_db, {f"{corpus}.txt": corpus}, corpus)
    any_db.execute("select * from ragdb.claim_embeddings('w', only_corpus => 'b')")
    any_db.execute(
        "update ragdb.embedding_jobs set is_dead = true, worker = null, last_error = 'x'"
    )
    found = any_db.execute("select corpus, is_fault from ragdb.advice()").fetchall()
    assert found == [("b", True), ("a", False), ("c", False)]


def test_a_corpus_of_another_language_than_its_words_are_stemmed_by_is_named(
    any_db: Connection,
) -> None:
    for corpus, config in (("wrong", "english"), ("right", "german"), ("plain", "simple")):
        any_db.execute("select ragdb.create_corpus(%s, text_config => %s)", (corpus, config))
        put(any_db, {f"{n}.txt": "Das Haus" for n in range(19)}, corpus, language="de")
        assert advice(any_db) == {}
    for corpus in ("wrong", "right", "plain"):
        put(any_db, {"last.txt": "Das Haus"}, corpus, language="de")
        any_db.execute("select ragdb.optimize_corpus(%s)", (corpus,))
    (found,) = advice(any_db).values()
    assert found == (
        "corpus wrong", "wrong", False,
        "most of its documents are in the language de, and its words are stemmed as english ones",
        "ragdb ingest PATH --corpus ANOTHER --text-config german",
    )  # fmt: skip


def test_no_index_is_advised_that_would_not_be_built(any_db: Connection) -> None:
    make_embedder(any_db, dims=3)
    any_db.execute("select ragdb.create_corpus('docs')")
    any_db.execute("select ragdb.embed_corpus('docs', 'hash')")

    def fill(first: int, last: int) -> None:
        """As if so many chunks had been put and embedded."""
        any_db.execute(
            """
            insert into ragdb.chunk_embeddings
                (space_id, corpus_id, chunk_no, input_hash, embedding)
              select s.space_id, s.corpus_id, n, sha256(int4send(n)), '[1,0,0]'
              from ragdb.embedding_spaces s, generate_series(%s::int, %s::int) n
            """,
            (first, last),
        )
        any_db.execute("update ragdb.corpora set chunks = %s", (last,))

    def advised() -> str | None:
        return advice(any_db).get("embeddings of docs by hash", (None,) * 5)[4]

    fill(1, 9_999)
    assert (advised(), one(any_db, "select ragdb.index_space('docs')")) == (None, False)
    fill(10_000, 10_000)
    assert advised() == "select ragdb.index_space('docs');"


def test_a_whole_waits_for_its_parts_to_be_counted_and_for_no_embedding(
    any_db: Connection,
) -> None:
    make_embedder(any_db)
    any_db.execute("select ragdb.create_corpus('whole')")
    any_db.execute("select ragdb.embed_corpus('whole', 'hash')")
    any_db.execute("select ragdb.create_corpus('part', part_of => 'whole')")
    put(any_db, {"a.txt": "a b c"}, "part")
    found = advice(any_db)
    assert found.keys() == {"corpus whole", "embeddings of part by hash"}
    assert found["corpus whole"][3:] == (
        "1 of its 1 parts were written to since their statistics were summed",
        "ragdb corpus sync whole",
    )


@pytest.mark.parametrize(
    ("role", "is_told"), [("admin", True), ("auditor", True), ("reader", False)]
)
def test_of_the_ledger_and_of_roles_only_who_may_ask_is_told(
    any_db: Connection, role: str, is_told: bool
) -> None:
    any_db.execute("select ragdb.set_ledger(false)")
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, {f"{n}.txt": "a b c" for n in range(100)})
    any_db.execute("update ragdb.corpora set pivot = 9 where name = 'docs'")
    any_db.execute("select ragdb.restrict_corpus('docs')")
    any_db.execute("select ragdb.grant_corpus('docs', 'ragdb_admin', 'read')")
    any_db.execute(f"set role {role}")
    found = advice(any_db)
    assert ("ledger" in found) == is_told
    if is_told:
        assert found["ledger"][4] == "ragdb ledger switch on"
    assert ("corpus docs" in found) == (role == "admin")
    assert one(any_db, "select current_user") == role


BURN = """
    do $$ begin for n in 1 .. 10001 loop
      begin insert into burnt values (n); exception when division_by_zero then null; end;
    end loop; end $$
    """


def test_a_snapshot_that_keeps_old_versions_is_named_to_who_can_end_it(any_clone: str) -> None:
    with (
        closing(psycopg.connect(any_clone)) as old,
        psycopg.connect(any_clone, autocommit=True) as db,
    ):
        old.execute("set transaction isolation level repeatable read")
        old.execute("select from ragdb.settings")
        db.execute("create temp table burnt (n integer)")
        assert "transactions" not in advice(db)
        db.execute(BURN)
        _, corpus, is_fault, found, fix = advice(db)["transactions"]
        pid = old.info.backend_pid
        assert (corpus, is_fault) == (None, False)
        assert re.match(
            rf"process {pid} keeps the old versions of rows for \d+ transactions", found
        )
        db.execute("set role reader")
        assert "transactions" not in advice(db)
        db.execute("reset role")
        assert one(db, str(fix).rpartition("or: ")[2]) is True
        until(lambda: "transactions" not in advice(db))
