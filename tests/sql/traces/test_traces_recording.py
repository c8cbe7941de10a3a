"""A retrieval is a search that leaves exactly one trace, which can be read and verified."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql
from psycopg.rows import dict_row

from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import one
from tests.refusal import refused

TEXTS = {
    "refunds": "Refunds are paid within fourteen days of the return.",
    "shipping": "Shipping takes three days; returns of a refund take longer.",
    "warranty": "The warranty covers two years. Ünïcode 退款 too.",
}


def fill(db: Connection, corpus: str = "docs", **options: str) -> None:
    """A corpus of three documents of one chunk each."""
    given = sql.SQL("").join(
        sql.SQL(", {} => {}").format(sql.Identifier(k), sql.Literal(v)) for k, v in options.items()
    )
    db.execute(sql.SQL("select ragdb.create_corpus({}{})").format(sql.Literal(corpus), given))
    put(db, corpus, TEXTS)


def put(db: Connection, corpus: str, texts: dict[str, str]) -> None:
    documents = [
        text_document(
            f"docs/{name}.md", text, title=name, media_type="text/markdown", metadata={"lang": "en"}
        )
        for name, text in texts.items()
    ]
    db.execute("select ragdb.put_documents(%s, %s)", (corpus, json.dumps(documents)))


def trace(db: Connection, trace_id: UUID | None = None) -> dict[str, Any]:
    trace_id = trace_id or one(db, "select ragdb.last_trace_id()")
    cursor = db.cursor(row_factory=dict_row)
    (row,) = cursor.execute("select * from ragdb.get_trace(%s)", (trace_id,)).fetchall()
    return row


def traces(db: Connection) -> int:
    return int(one(db, "select count(*) from ragdb.list_traces()"))


def sqlstate(db: Connection, query: str, *parameters: Any) -> str | None:
    return refused(db, query, *parameters).sqlstate


@pytest.fixture
def docs(any_db: Connection) -> Connection:
    any_db.execute("set role writer")
    fill(any_db)
    return any_db


# ---- the canonical form, again in Python --------------------------------------------------------


def fields_hash(*fields: bytes | None) -> bytes:
    return hashlib.sha256(
        b"".join(
            struct.pack(">i", -1) if f is None else struct.pack(">i", len(f)) + f for f in fields
        )
    ).digest()


def sent(value: Any, kind: str) -> bytes | None:
    """The bytes of a value in PostgreSQL's binary format."""
    if value is None:
        return None
    match kind:
        case "text":
            return str(value).encode()
        case "uuid":
            return bytes(value.bytes)
        case "integer":
            return struct.pack(">i", value)
        case "oid":
            return struct.pack(">I", value)
        case "bigint":
            return struct.pack(">q", value)
        case "double precision":
            return struct.pack(">d", value)
        case "boolean":
            return struct.pack(">?", value)
        case "bytea":
            return bytes(value)
        case "jsonb":
            return json.dumps(value, ensure_ascii=False).encode()
        case "text[]":
            return fields_hash(*(v.encode() for v in value))
        case "timestamp with time zone":
            since = value - datetime(2000, 1, 1, tzinfo=UTC)
            return struct.pack(">q", since // timedelta(microseconds=1))
    raise AssertionError(kind)


def columns(db: Connection, table: str) -> dict[str, str]:
    return dict(
        db.execute(
            "select attname::text, format_type(atttypid, atttypmod) from pg_attribute"
            " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
            (f"ragdb.{table}",),
        ).fetchall()
    )


def hits_of(db: Connection, trace_id: UUID) -> list[dict[str, Any]]:
    cursor = db.cursor(row_factory=dict_row)
    return cursor.execute("select * from ragdb.trace_hits(%s)", (trace_id,)).fetchall()


def expected_hashes(db: Connection, trace_id: UUID) -> tuple[str, bytes]:
    row, hits = trace(db, trace_id), hits_of(db, trace_id)
    result: list[bytes | None] = [b"ragdb.result/1"]
    for hit in hits:
        result += [hit["chunk_id"].encode(), hit["content_hash"], struct.pack(">d", hit["score"])]
    fields: list[bytes | None] = [b"ragdb.trace/1"]
    for name, kind in columns(db, "retrieval_traces").items():
        if name not in ("trace_hash", "trace_mac"):
            fields.append(sent(row[name], kind))
    for hit in hits:
        for name, kind in columns(db, "retrieval_hits").items():
            if name not in ("corpus_id", "trace_id", "created_at"):
                fields.append(sent(hit[name], kind))
    return fields_hash(*result).hex(), fields_hash(*fields)


# ---- recording ----------------------------------------------------------------------------------


def test_retrieve_returns_what_search_returns_and_one_trace(docs: Connection) -> None:
    docs.execute("set role reader")
    found = docs.execute("select * from ragdb.search('docs', 'refund of returns', 2)").fetchall()
    assert traces(docs) == 0
    got = docs.execute("select * from ragdb.retrieve('docs', 'refund of returns', 2)").fetchall()
    assert len(found) == 2
    assert [row[1:] for row in got] == found
    assert {row[0] for row in got} == {one(docs, "select ragdb.last_trace_id()")}
    assert traces(docs) == 1


def test_a_trace_holds_all_inputs_and_the_outcome(docs: Connection) -> None:
    version = one(docs, "select version from ragdb.corpus_info('docs')")
    docs.execute("set role reader")
    chunk_ids = [one(docs, f"select chunk_id from ragdb.search('docs', '{w}', 1)") for w in TEXTS]
    docs.execute(
        "select ragdb.retrieve('docs', %s, k => 7, mode => 'lexical', min_score => 0.001,"
        """ filter => '{"lang": "en"}', chunk_ids => %s, statistics => 'docs',"""
        " client => 'a test', otel_trace_id => %s, otel_span_id => %s)",
        ("refund 退款", chunk_ids[:2], "ab" * 16, "cd" * 8),
    )
    row = trace(docs)
    kept = {
        "corpus": "docs",
        "retrieval_mode": "global",
        "rank_mode": "lexical",
        "query_text": "refund 退款",
        "query_hash": hashlib.sha256("refund 退款".encode()).hexdigest(),
        "limit_requested": 7,
        "limit_returned": 2,
        "min_score": 0.001,
        "filters": {"lang": "en"},
        "chunk_ids": chunk_ids[:2],
        "statistics": "docs",
        "corpus_version": version,
        "is_exact": True,
        "is_admissible": False,
        "admissibility_shortfall": False,
        "slice_id": None,
        "error_code": None,
        "client": "a test",
        "caller": "reader",
        "otel_trace_id": "ab" * 16,
        "otel_span_id": "cd" * 8,
    }
    assert {name: row[name] for name in kept} == kept
    assert 0 < row["elapsed_ms"] < 10_000
    hits = hits_of(docs, row["id"])
    found = docs.execute(
        "select rank, chunk_id, decode(content_hash, 'hex'), score, lexical_score, lexical_rank"
        " from ragdb.search('docs', 'refund 退款', 7, chunk_ids => %s)",
        (chunk_ids[:2],),
    ).fetchall()
    wanted = ("rank", "chunk_id", "content_hash", "score", "lexical_score", "lexical_rank")
    assert [tuple(hit[name] for name in wanted) for hit in hits] == found


def test_a_retrieval_without_hits_leaves_its_trace(docs: Connection) -> None:
    assert docs.execute("select ragdb.retrieve('docs', 'zebra')").fetchall() == []
    row = trace(docs)
    assert (row["query_text"], row["limit_returned"]) == ("zebra", 0)
    assert hits_of(docs, row["id"]) == []


def test_the_last_trace_is_that_of_the_transaction_or_an_error(any_clone: str) -> None:
    with psycopg.connect(any_clone) as db:
        assert sqlstate(db, "select ragdb.last_trace_id()") == "RG407"
        fill(db)
        before = db.execute("select trace_id from ragdb.retrieve('docs', 'refund')").fetchall()
        # what is rolled back to a savepoint was recorded by nobody
        with db.transaction(force_rollback=True):
            db.execute("select ragdb.retrieve('docs', 'shipping')")
        assert one(db, "select ragdb.last_trace_id()") == before[0][0]
        db.commit()
        assert sqlstate(db, "select ragdb.last_trace_id()") == "RG407"
        db.rollback()
        db.execute("select ragdb.retrieve('docs', 'shipping')")
        db.rollback()
        assert sqlstate(db, "select ragdb.last_trace_id()") == "RG407"
        assert traces(db) == 1


def test_the_time_is_the_millisecond_of_the_id(docs: Connection) -> None:
    before = datetime.now(UTC)
    trace_id = one(docs, "select trace_id from ragdb.retrieve('docs', 'warranty')")
    row = trace(docs, trace_id)
    assert (trace_id.version, trace_id.variant) == (7, UUID(int=0x8 << 60).variant)
    assert int(row["created_at"].timestamp() * 1000) == trace_id.int >> 80
    assert abs(row["created_at"] - before) < timedelta(minutes=1)


@pytest.mark.parametrize("kept", ["full", "hash", "none"])
def test_a_corpus_says_what_is_kept_of_a_query(any_db: Connection, kept: str) -> None:
    fill(any_db, "docs", record_query_text=kept)
    any_db.execute("select ragdb.retrieve('docs', 'refund')")
    row = trace(any_db)
    assert row["query_text"] == ("refund" if kept == "full" else None)
    assert row["query_hash"] == (None if kept == "none" else hashlib.sha256(b"refund").hexdigest())
    assert ("refund" in json.dumps(row, default=str)) == (kept == "full")


def test_a_read_only_transaction_searches_and_says_why_it_cannot_retrieve(docs: Connection) -> None:
    docs.execute("set local transaction_read_only = on")
    assert docs.execute("select from ragdb.search('docs', 'refund')").fetchall()
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction, match="read-only") as caught:
        docs.execute("select ragdb.retrieve('docs', 'refund')")
    assert "ragdb.search()" in str(caught.value.diag.message_hint)


def test_a_failed_retrieval_leaves_a_trace_only_when_it_is_recorded(docs: Connection) -> None:
    docs.execute("set role reader")
    assert sqlstate(docs, "select ragdb.retrieve('docs', 'refund', k => 0)") == "RG400"
    assert traces(docs) == 0
    trace_id = one(
        docs,
        "select ragdb.record_failure('docs', 'refund', 'RG400', 1.5, k => 0, mode => 'nonsense')",
    )
    row = trace(docs, trace_id)
    assert (row["error_code"], row["limit_requested"], row["limit_returned"], row["rank_mode"]) == (
        ("RG400", 0, 0, None)
    )
    assert (row["elapsed_ms"], row["is_exact"], row["caller"]) == (1.5, False, "reader")
    assert one(docs, "select bool_and(is_intact) from ragdb.verify_trace(%s)", trace_id)


INCOMPLETE = [
    ("'docs', 'q', null, 1", "RG400"),
    ("'docs', 'q', '00000', 1", "RG400"),
    ("'docs', 'q', 'rg400', 1", "RG400"),
    ("'docs', 'q', 'RG4000', 1", "RG400"),
    ("'docs', 'q', 'RG400', null", "RG400"),
    ("'docs', 'q', 'RG400', -1", "RG400"),
    ("'docs', 'q', 'RG400', 'NaN'", "RG400"),
    ("'docs', 'q', 'RG400', 'infinity'", "RG400"),
    ("'docs', 'q', 'RG400', 1, client => repeat('x', 201)", "RG413"),
    ("'docs', 'q', 'RG400', 1, otel_trace_id => 'AB'", "RG400"),
    ("'docs', 'q', 'RG400', 1, otel_span_id => repeat('a', 17)", "RG400"),
    ("'nowhere', 'q', 'RG404', 1", "RG404"),
    ("null, 'q', 'RG404', 1", "RG400"),
]
REFUSED = [
    ("'docs', 'q', client => repeat('x', 201)", "RG413"),
    ("'docs', 'q', otel_trace_id => 'x'", "RG400"),
    ("'docs', null", "RG400"),
    ("null, 'q'", "RG400"),
    ("'nowhere', 'q'", "RG404"),
    ("'docs', 'q', mode => 'semantic'", "RG415"),
]


def test_a_failure_is_recorded_only_in_full(docs: Connection) -> None:
    for arguments, code in INCOMPLETE:
        assert sqlstate(docs, f"select ragdb.record_failure({arguments})") == code, arguments
    assert traces(docs) == 0


def test_a_refused_retrieval_records_nothing(docs: Connection) -> None:
    for arguments, code in REFUSED:
        assert sqlstate(docs, f"select ragdb.retrieve({arguments})") == code, arguments
    assert traces(docs) == 0


# ---- hashes -------------------------------------------------------------------------------------


@given(st.lists(st.none() | st.binary(max_size=40), max_size=6))
def test_a_list_of_fields_hashes_as_in_python(server: str, fields: list[bytes | None]) -> None:
    with psycopg.connect(server, dbname="ragdb_template") as db:
        got = one(db, "select ragdb_internal.fields_hash(variadic %s::bytea[])", fields)
    assert got == fields_hash(*fields)


SETTINGS = [
    "set local extra_float_digits = -10",
    "set local timezone = 'Asia/Kathmandu'",
    "set local datestyle = 'sql, dmy'",
    "set local bytea_output = 'escape'",
    "set local intervalstyle = 'iso_8601'",
    "set local xmloption = 'document'",
    "set local lc_numeric = 'C'",
]


def test_the_hashes_are_those_of_an_independent_twin(docs: Connection) -> None:
    docs.execute(
        "select ragdb.retrieve('docs', 'refund Ünïcode', k => 3, min_score => 0.0001,"
        """ filter => '{"lang": "en"}', client => 'größe')"""
    )
    row = trace(docs)
    result_hash, trace_hash = expected_hashes(docs, row["id"])
    assert row["limit_returned"] >= 2
    assert (row["result_hash"], row["trace_hash"]) == (result_hash, trace_hash)


def test_no_setting_changes_a_hash(docs: Connection) -> None:
    docs.execute("select ragdb.retrieve('docs', 'refund Ünïcode', min_score => 0.1::float4)")
    trace_id = one(docs, "select ragdb.last_trace_id()")
    before = docs.execute("select * from ragdb.verify_trace(%s)", (trace_id,)).fetchall()
    for setting in SETTINGS:
        docs.execute(setting)
    assert docs.execute("select * from ragdb.verify_trace(%s)", (trace_id,)).fetchall() == before
    # a client in another encoding: what is sent to it, no hash is made of
    docs.execute("set client_encoding = 'LATIN1'")
    assert one(docs, "select bool_and(is_intact) from ragdb.verify_trace(%s)", trace_id)


def edit(db: Connection, table: str, change: str) -> None:
    """What a superuser can do who switches the triggers off."""
    month = one(db, f"select tableoid::regclass::text from ragdb.{table} limit 1")
    db.execute(f"alter table {month} disable trigger user")
    db.execute(f"update {month} {change}")


OTHER = {
    "text": "'x'",
    "uuid": "gen_random_uuid()",
    "integer": "coalesce({column}, 0) + 10",
    "oid": "({column}::bigint + 1)::oid",
    "bigint": "{column} + 1",
    "double precision": "coalesce({column}, 0) + 1e-9",
    "boolean": "not {column}",
    "bytea": "set_byte({column}, 0, (get_byte({column}, 0) + 1) % 256)",
    "jsonb": """'{"lang": "de"}'""",
    "text[]": "array['x']",
    "timestamp with time zone": "{column} + interval '1 microsecond'",
}


@pytest.mark.parametrize("table", ["retrieval_traces", "retrieval_hits"])
def test_an_edit_of_any_column_is_found(docs: Connection, table: str) -> None:
    docs.execute("select ragdb.retrieve('docs', 'refund')")
    trace_id = one(docs, "select ragdb.last_trace_id()")
    docs.execute("reset role")
    unseen = []
    for name, kind in columns(docs, table).items():
        if name == "trace_mac":  # it signs the others
            continue
        try:
            with docs.transaction(force_rollback=True):
                edit(docs, table, f"set {name} = {OTHER[kind].replace('{column}', name)}")
                intact = one(
                    docs, "select bool_and(is_intact) from ragdb.verify_trace(%s)", trace_id
                )
        except psycopg.errors.CheckViolation:
            intact = False
        except psycopg.DatabaseError as error:
            intact = error.sqlstate != "RG407"
        if intact:
            unseen.append(name)
    assert unseen == []


@pytest.mark.parametrize(
    ("table", "change", "differs"),
    [
        (
            "retrieval_hits",
            "set trace_id = gen_random_uuid() where rank = 2",
            {"trace_hash", "result_hash", "limit_returned"},
        ),
        ("retrieval_hits", "set rank = 5 - rank", {"trace_hash", "result_hash"}),
        ("retrieval_hits", "set lexical_rank = 7 where rank = 1", {"trace_hash"}),
        ("retrieval_traces", "set limit_returned = 3", {"trace_hash", "limit_returned"}),
        ("retrieval_traces", "set query_text = 'other'", {"trace_hash", "query_hash"}),
        ("retrieval_traces", "set elapsed_ms = 1", {"trace_hash"}),
    ],
)
def test_verify_says_what_differs(
    docs: Connection, table: str, change: str, differs: set[str]
) -> None:
    docs.execute("select ragdb.retrieve('docs', 'refund')")
    trace_id = one(docs, "select ragdb.last_trace_id()")
    docs.execute("reset role")
    edit(docs, table, change)
    rows = docs.execute(
        "select * from ragdb.verify_trace(%s) where subject = 'record'", (trace_id,)
    ).fetchall()
    assert {field for field, is_intact, *_ in rows if not is_intact} == differs
    # of a signature is said who made it
    assert all(
        (stored != recomputed) == (field in differs)
        for field, _, stored, recomputed, _ in rows
        if field != "trace_mac"
    )


# ---- reading ------------------------------------------------------------------------------------


def test_traces_are_listed_newest_first_and_bounded(docs: Connection) -> None:
    fill(docs, "other")
    ids = [
        one(docs, "select trace_id from ragdb.retrieve(%s, 'warranty', 1)", corpus)
        for corpus in ("docs", "other", "docs", "other", "docs")
    ]

    def listed(*arguments: Any) -> list[UUID]:
        marks = ", ".join(["%s"] * len(arguments))
        rows = docs.execute(f"select id from ragdb.list_traces({marks})", arguments)
        return [row[0] for row in rows]

    assert listed() == ids[::-1]
    assert listed("docs") == ids[::-2]
    assert listed(None, None, 2) == [ids[4], ids[3]]
    since = trace(docs, ids[2])["created_at"]
    assert listed(None, since) == [i for i in ids[::-1] if trace(docs, i)["created_at"] >= since]
    for count in (0, 10001, -1, None):
        assert sqlstate(docs, "select ragdb.list_traces(count => %s::int)", count) == "RG400"
    assert sqlstate(docs, "select ragdb.list_traces('nowhere')") == "RG404"


def test_an_id_that_is_no_trace_is_said_to_be_none(docs: Connection) -> None:
    for function in ("get_trace", "trace_hits", "verify_trace"):
        for trace_id in (UUID(int=0), UUID(int=2**128 - 1), "018f3f3c-7a3f-7c3a-8000-000000000000"):
            assert sqlstate(docs, f"select ragdb.{function}(%s)", trace_id) == "RG407"
        assert sqlstate(docs, f"select ragdb.{function}(null)") == "RG400"


def test_a_trace_is_hidden_with_its_corpus(docs: Connection) -> None:
    docs.execute("set role reader2")
    trace_id = one(docs, "select trace_id from ragdb.retrieve('docs', 'warranty', 1)")
    assert trace(docs, trace_id)["caller"] == "reader2"
    docs.execute("set role reader")
    docs.execute("select ragdb.retrieve('docs', 'warranty', 1)")
    docs.execute("set role admin")
    docs.execute("select ragdb.grant_corpus('docs', 'reader', 'read')")
    docs.execute("set role reader2")
    for function in ("get_trace", "trace_hits", "verify_trace"):
        assert sqlstate(docs, f"select ragdb.{function}(%s)", trace_id) == "RG407"
    assert traces(docs) == 0
    assert sqlstate(docs, "select ragdb.retrieve('docs', 'warranty')") == "RG404"
    assert sqlstate(docs, "select ragdb.record_failure('docs', 'q', 'RG404', 1)") == "RG404"
    docs.execute("set role reader")
    assert traces(docs) == 1


def test_traces_of_a_personal_corpus_are_its_roles_alone(any_db: Connection) -> None:
    ids = {}
    for role in ("writer", "writer2"):
        any_db.execute(f"set role {role}")
        fill(any_db, "personal")
        ids[role] = one(any_db, "select trace_id from ragdb.retrieve('personal', 'warranty', 1)")
    for role in ("writer", "writer2", "reader", "admin", "owner", "postgres"):
        any_db.execute(f"set role {role}")
        seen = [row[0] for row in any_db.execute("select id from ragdb.list_traces()")]
        assert seen == ([ids[role]] if role in ids else [])
        for owner, trace_id in ids.items():
            if owner != role:
                for function in ("get_trace", "trace_hits", "verify_trace"):
                    assert sqlstate(any_db, f"select ragdb.{function}(%s)", trace_id) == "RG407"


def test_a_new_corpus_of_an_old_name_has_no_old_traces(docs: Connection) -> None:
    docs.execute("select ragdb.retrieve('docs', 'warranty', 1)")
    trace_id = one(docs, "select ragdb.last_trace_id()")
    docs.execute("set role admin")
    docs.execute("select ragdb.drop_corpus('docs')")
    docs.execute("set role writer")
    fill(docs)
    assert traces(docs) == 0
    assert sqlstate(docs, "select ragdb.get_trace(%s)", trace_id) == "RG407"


def test_a_login_is_the_caller_of_its_traces(
    clone: str, as_role: Callable[..., Connection]
) -> None:
    with as_role("writer") as writer:
        fill(writer)
    with as_role("reader") as reader:
        reader.execute("set ragdb.last_trace_id = '018f3f3c-7a3f-7c3a-8000-000000000000'")
        assert sqlstate(reader, "select ragdb.get_trace(ragdb.last_trace_id())") == "RG407"
        reader.execute("select ragdb.retrieve('docs', 'refund')")
        assert trace(reader)["caller"] == "reader"


@pytest.mark.parametrize(
    ("function", "tables"),
    [
        ("get_trace", {"traces"}),
        ("trace_hits", {"traces", "hits"}),
        ("trace_reranks", {"traces", "reranks"}),
        ("verify_trace", {"traces", "hits", "reranks"}),
    ],
)
def test_a_lookup_by_id_touches_one_month(
    any_version: Any,
    any_clone: str,
    login: Callable[..., Connection],
    function: str,
    tables: set[str],
) -> None:
    with login(any_clone, "writer") as writer:
        fill(writer)
        trace_id = one(writer, "select trace_id from ragdb.retrieve('docs', 'warranty', 1)")
    with login(any_clone, "auditor") as reader:
        reader.execute(f"select ragdb.{function}(%s)", (trace_id,))
        # a partition that is planned, though never scanned, is locked
        locked = reader.execute(
            "select i.inhparent::regclass::text, count(*) from pg_locks l"
            " join pg_inherits i on i.inhrelid = l.relation where l.pid = pg_backend_pid()"
            " and l.relation in (select c.oid from pg_class c where c.relkind = 'r')"
            " group by 1 order by 1 desc"
        ).fetchall()
    assert dict(locked) == {f"ragdb.retrieval_{table}": 1 for table in tables}


def test_the_time_of_a_retrieval_is_in_whole_microseconds(db: Connection) -> None:
    fill(db)
    for _ in range(60):
        db.execute("select from ragdb.retrieve('docs', 'refunds')")
    times = [ms for (ms,) in db.execute("select elapsed_ms from ragdb.list_traces('docs')")]
    assert times
    assert [ms for ms in times if ms != round(ms, 3)] == []
