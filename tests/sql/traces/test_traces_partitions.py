"""Traces lie in one partition a month, which nobody can change and retention drops whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from uuid import UUID

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.waiting import after_commit

PARENTS = (
    "answer_citations",
    "evidence_answers",
    "evidence_feedback",
    "evidence_gates",
    "retrieval_hits",
    "retrieval_reranks",
    "retrieval_traces",
)
KEYS = {
    "answer_citations": "corpus_id, answer_id, row_no",
    "retrieval_hits": "corpus_id, trace_id, rank",
    "retrieval_reranks": "corpus_id, trace_id, rank",
}


def partitions(db: Connection, parent: str = "retrieval_traces") -> list[str]:
    rows = db.execute(
        "select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid"
        " where i.inhparent = %s::regclass order by c.relname",
        (f"ragdb.{parent}",),
    )
    return [name.removeprefix(f"{parent}_") for (name,) in rows]


def pin(db: Connection, now: str) -> None:
    db.execute("select set_config('ragdb.now', %s, true)", (now,))


def failed(db: Connection, at: str) -> UUID:
    """A trace without hits at a time; the shortest way to one."""
    pin(db, at)
    (trace_id,) = db.execute("select ragdb.record_failure('docs', 'q', '57014', 3)").fetchall()[0]
    assert isinstance(trace_id, UUID)
    return trace_id


def home(db: Connection, trace_id: UUID) -> str:
    rows = db.execute(
        "select tableoid::regclass::text from ragdb.retrieval_traces where id = %s", (trace_id,)
    ).fetchall()
    return str(rows[0][0])


def fill(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")


@pytest.fixture
def any_db(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """In a session of the file's own: what tables come and go is told to each plan of a session.

    That of all files keeps thousands of plans.
    """
    with any_version.rolled_back(any_filled) as db:
        yield db


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    return any_db


def test_maintain_makes_this_month_three_ahead_and_a_default(any_db: Connection) -> None:
    pin(any_db, "2031-11-30 12:00:00+00")
    made = [name for (name,) in any_db.execute("select ragdb.maintain()")]
    months = ["2031_11", "2031_12", "2032_01", "2032_02"]
    assert made == [f"{parent}_{month}" for parent in PARENTS for month in months]
    for parent in PARENTS:
        assert {*months, "default"} <= set(partitions(any_db, parent))


def test_maintain_twice_makes_nothing_and_takes_no_lock(clone: str) -> None:
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.maintain()")
        db.commit()
        assert db.execute("select ragdb.maintain()").fetchall() == []
        locks = db.execute(
            "select locktype, mode from pg_locks where pid = pg_backend_pid()"
            " and (locktype = 'advisory' or mode not in ('AccessShareLock', 'ExclusiveLock'))"
        ).fetchall()
    assert locks == []


def test_the_month_is_utc_whatever_the_session_says(docs: Connection) -> None:
    docs.execute("set local timezone = 'Pacific/Kiritimati'")
    docs.execute("set local datestyle = 'german, dmy'")
    pin(docs, "2031-10-31 23:59:59.999+00")  # November there for 14 hours
    docs.execute("select ragdb.maintain()")
    last = failed(docs, "2031-10-31 23:59:59.999+00")
    first = failed(docs, "2031-11-01 00:00:00+00")
    assert home(docs, last) == "ragdb.retrieval_traces_2031_10"
    assert home(docs, first) == "ragdb.retrieval_traces_2031_11"


def test_rows_of_the_default_move_when_their_month_is_made(docs: Connection) -> None:
    early, late = failed(docs, "2035-05-15 00:00:00+00"), failed(docs, "2035-09-01 00:00:00+00")
    assert home(docs, early) == home(docs, late) == "ragdb.retrieval_traces_default"
    docs.execute("select ragdb.maintain()")
    assert home(docs, early) == "ragdb.retrieval_traces_2035_05"
    assert home(docs, late) == "ragdb.retrieval_traces_2035_09"
    assert docs.execute("select count(*) from ragdb.retrieval_traces_default").fetchall() == [(0,)]
    for trace_id in (early, late):
        rows = docs.execute("select is_intact from ragdb.verify_trace(%s)", (trace_id,)).fetchall()
        assert set(rows) == {(True,)}
    unplaced = failed(docs, "2039-01-01 00:00:00+00")
    with pytest.raises(psycopg.DatabaseError, match="refused"), docs.transaction():
        docs.execute("delete from ragdb.retrieval_traces where id = %s", (unplaced,))


def test_the_parents_carry_no_key_index_or_trigger(any_db: Connection) -> None:
    found = any_db.execute(
        """
        select indexrelid::regclass::text from pg_index
          where indrelid = any (%(parents)s::regclass[])
        union all
        select tgname from pg_trigger where tgrelid = any (%(parents)s::regclass[])
        union all
        select conname from pg_constraint
          where conrelid = any (%(parents)s::regclass[]) and contype not in ('c', 'n')
        """,
        {"parents": [f"ragdb.{parent}" for parent in PARENTS]},
    ).fetchall()
    assert found == []


def test_every_partition_has_its_key_and_its_triggers(any_db: Connection) -> None:
    rows = any_db.execute(
        """
        select i.inhrelid::regclass::text,
          (select pg_get_constraintdef(k.oid) from pg_constraint k
            where k.conrelid = i.inhrelid and k.contype = 'p'),
          array(select t.tgenabled::text from pg_trigger t where t.tgrelid = i.inhrelid)
        from pg_inherits i where i.inhparent = any (%s::regclass[])
        """,
        ([f"ragdb.{parent}" for parent in PARENTS],),
    ).fetchall()
    assert len(rows) >= 10
    for name, key, triggers in rows:
        parent = next(p for p in PARENTS if p in name)
        assert key == f"PRIMARY KEY ({KEYS.get(parent, 'corpus_id, id, created_at')})", name
        # append-only, always; and a trace that claims to be admissible proves it
        proves = ["O"] if parent == "retrieval_traces" else []
        assert sorted(triggers) == ["A", "A", *proves], name


CHANGES = [
    "update ragdb.{table} set created_at = created_at",
    "update ragdb.{table} set created_at = created_at + interval '1 month'",
    "delete from ragdb.{table}",
    "truncate ragdb.{table}",
    "truncate ragdb.{table} cascade",
    "merge into ragdb.{table} t using (select 1) s on true when matched then delete",
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("role", ["ragdb_owner", "postgres"])
def test_the_owner_and_a_superuser_cannot_change_a_trace(
    docs: Connection, role: str, change: str
) -> None:
    partition = home(docs, failed(docs, "2035-05-15 00:00:00+00")).removeprefix("ragdb.")
    docs.execute(f"set role {role}")
    if role == "postgres":  # who can switch ordinary triggers off
        docs.execute("set local session_replication_role = replica")
    for table in ("retrieval_traces", partition):
        with pytest.raises(psycopg.DatabaseError) as caught, docs.transaction():
            docs.execute(change.format(table=table))
        assert caught.value.sqlstate == "RG414"


@pytest.mark.parametrize(
    ("lock", "change"),
    [
        # of another transaction, and of another table
        ("'{0}', '3'", CHANGES[2]),
        ("'access_events', pg_current_xact_id()", CHANGES[2]),
        # the one that would do, for what is not a deletion
        ("'{0}', pg_current_xact_id()", CHANGES[0]),
        ("'{0}', pg_current_xact_id()", CHANGES[3]),
    ],
)
def test_what_lets_a_function_delete_lets_nothing_else_pass(
    docs: Connection, lock: str, change: str
) -> None:
    partition = home(docs, failed(docs, "2035-05-15 00:00:00+00")).removeprefix("ragdb.")
    docs.execute("reset role")
    docs.execute(f"insert into ragdb.locks select ragdb_internal.removal({lock})".format(partition))
    with pytest.raises(psycopg.DatabaseError) as caught, docs.transaction():
        docs.execute(change.format(table=partition))
    assert caught.value.sqlstate == "RG414"


def test_after_an_erasure_its_own_transaction_deletes_nothing_more(docs: Connection) -> None:
    docs.execute("reset role")
    failed(docs, "2035-05-15 00:00:00+00")
    docs.execute("select ragdb.drop_corpus('docs')")
    docs.execute("select ragdb.create_corpus('docs')")
    kept = failed(docs, "2035-05-16 00:00:00+00")
    assert docs.execute("select traces from ragdb.erase_traces('docs')").fetchall() == [(1,)]
    with pytest.raises(psycopg.DatabaseError) as caught, docs.transaction():
        docs.execute("delete from ragdb.retrieval_traces")
    assert caught.value.sqlstate == "RG414"
    assert docs.execute("select id from ragdb.retrieval_traces").fetchall() == [(kept,)]
    assert docs.execute("select from ragdb.locks where name like 'rows of %'").fetchall() == []


def test_retention_drops_whole_months_that_have_ended(docs: Connection) -> None:
    for at in ("2020-01-31", "2020-02-01", "2020-02-28", "2020-04-01"):
        failed(docs, f"{at} 10:00:00+00")
    pin(docs, "2020-04-15 00:00:00+00")
    docs.execute("set role admin")
    dropped = docs.execute("select * from ragdb.drop_traces_before('2020-03-01')").fetchall()
    docs.execute("reset role")
    assert dropped == [(date(2020, 1, 1), 1, 0), (date(2020, 2, 1), 2, 0)]
    for parent in PARENTS:
        left = partitions(docs, parent)
        assert not {"2020_01", "2020_02"} & set(left)
        assert {"2020_04", "default"} <= set(left)
    kept = docs.execute("select created_at::date from ragdb.list_traces('docs')").fetchall()
    assert kept == [(date(2020, 4, 1),)]
    assert docs.execute("select * from ragdb.drop_traces_before('2020-03-31')").fetchall() == []


def test_a_month_of_which_a_dba_has_dropped_a_part_is_dropped(docs: Connection) -> None:
    failed(docs, "2020-01-31 10:00:00+00")
    docs.execute("select ragdb.maintain()")
    docs.execute("drop table ragdb.retrieval_hits_2020_01")
    pin(docs, "2020-04-15 00:00:00+00")
    dropped = docs.execute("select * from ragdb.drop_traces_before('2020-03-01')").fetchall()
    assert dropped[0] == (date(2020, 1, 1), 1, 0)
    assert "2020_01" not in partitions(docs, "retrieval_traces")


def test_a_month_that_has_not_ended_is_never_dropped(docs: Connection) -> None:
    trace_id = failed(docs, "2020-04-01 00:00:00+00")
    pin(docs, "2020-04-30 23:59:00+00")
    docs.execute("select ragdb.drop_traces_before('2020-04-30')")
    assert home(docs, trace_id) == "ragdb.retrieval_traces_2020_04"
    for before, said in (
        ("2020-05-01", "before is in the future"),
        ("infinity", "before is in the future"),
        (None, "before is null"),
    ):
        with pytest.raises(psycopg.DatabaseError) as caught, docs.transaction():
            docs.execute("select ragdb.drop_traces_before(%s::date)", (before,))
        assert caught.value.sqlstate == "RG400"
        assert caught.value.diag.message_primary == said


def test_two_that_maintain_at_once_make_each_partition_once(clone: str) -> None:
    with psycopg.connect(clone) as one, psycopg.connect(clone) as two:
        for connection in (one, two):
            pin(connection, "2040-01-01 00:00:00+00")
        first = one.execute("select ragdb.maintain()").fetchall()
        second = after_commit(one, two, lambda: two.execute("select ragdb.maintain()").fetchall())
        assert (len(first), second) == (4 * len(PARENTS), [])


def test_maintain_leaves_busy_tables_to_the_next_call(
    clone: str, as_role: Callable[..., Connection]
) -> None:
    with psycopg.connect(clone) as admin:
        admin.execute("alter function ragdb.maintain() set lock_timeout = '100ms'")
    reader, writer = psycopg.connect(clone), as_role("writer")
    said: list[str] = []
    writer.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
    with reader:
        reader.execute("select count(*) from ragdb.retrieval_traces")
        pin(writer, "2040-01-01 00:00:00+00")
        assert writer.execute("select ragdb.maintain()").fetchall() == []
        assert "next call" in said[0]
        reader.rollback()
        assert len(writer.execute("select ragdb.maintain()").fetchall()) == 4 * len(PARENTS)


def test_reloading_the_code_keeps_partitions_append_only(clone: str) -> None:
    from ragdb.server import migrate

    migrate.migrate(clone, force=True)
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        failed(db, "2035-05-15 00:00:00+00")
        with pytest.raises(psycopg.DatabaseError) as caught:
            db.execute("delete from ragdb.retrieval_traces")
    assert caught.value.sqlstate == "RG414"
