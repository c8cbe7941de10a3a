"""Each single statement that edits, deletes or copies a row of evidence is found by ragdb.verify.

The attacker is the superuser with triggers off. What is passed over is listed below with why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import Connection, Server
from tests.documents import document
from tests.sql.conversations import uuid
from tests.sql.ledger.conftest import fill

pytestmark = pytest.mark.nightly

OF_KINDS = (
    "access_events", "admissibility_incidents", "contracts", "corpus_versions", "erasures",
    "eval_runs", "events",
    "evidence_answers", "evidence_feedback", "evidence_gates", "key_events", "ledger_acts",
    "proposal_decisions", "recorded_states", "retrieval_reranks", "retrieval_traces",
    "semantic_atoms",
    "semantic_proposals", "slice_policies", "slices",
)  # fmt: skip
OTHERS = (
    "answer_citations", "blobs", "chunks", "contract_nodes", "corpora", "corpus_blobs",
    "corpus_grants",
    "document_links", "document_sources", "documents", "edges", "eval_assert_results",
    "eval_baselines", "eval_case_results", "eval_cases", "eval_items", "eval_labels",
    "eval_metrics", "http_tokens", "ledger_checkpoints", "ledger_head",
    "ledger_leaves", "ledger_tiles", "past_rows", "retrieval_hits", "role_quotas", "signing_keys",
    "signing_secrets", "synonyms", "turns",
)  # fmt: skip
PASSED_OVER = {
    "access_events": {"event_hash"},  # a copy of what the ledger has; nothing reads it
    # who has the name of that role now, which ragdb.bind_role changes
    "contracts": {"applied_by", "applied_by_oid"},
    # what is counted of rows (ragdb doctor counts them), and when it was written to last
    "corpora": {
        "chunks", "languages", "lexeme_count", "next_chunk_no", "next_doc_no", "next_term_id",
        "optimized_to", "parts", "size_bytes", "token_count", "updated_at", "version_xid",
        # which transaction imports it, for as long as that runs
        "import_xid",
        # by which a corpus is said to need a repair; `ragdb doctor --deep` looks at its chunks
        "analysed_by",
        # raised: more may have been written than there is; one that is too low is found
        "lamport", "version",
    },
    "contract_nodes": {"columns", "line", "column"},  # where it stands in its text
    # derived from the turns around it, the embeddings and the edges, as a salience is where none
    # was given
    "turns": {"answers_no", "depth", "homogeneity", "sibling_order"},
    # said of it, and read by nobody who decides
    "http_tokens": {"created_at", "created_by"},
    "role_quotas": {"set_at", "set_by"},
    # signatures are verified outside, and those who need a checkpoint keep it outside
    "ledger_checkpoints": {"note", "created_at", "deleted", "emptied"},
}  # fmt: skip
NOT_TRIED = {
    "where it is forgotten, files are read again": ("document_readings",),
    "made anew of chunks, which `ragdb doctor --deep` compares": (
        "block_states", "chunk_lexemes", "lexemes", "part_states", "term_blocks",
    ),
    "a worker gave them, or a static embedder makes them again": (
        "chunk_embeddings", "embedded_queries", "embedding_spaces", "query_embeddings",
        "static_pieces", "static_words",
    ),
    "recorded at each change, tried in tests/sql/verify/test_recorded_states.py": (
        "embedders", "gate_calibrations", "rerankers", "static_models",
    ),
    "counted or measured of rows that are tried": (
        "histogram_rollups", "retrieval_rollups", "source_readings", "trace_marks",
    ),
    "what waits or is held": (
        "blob_uploads", "embed_jobs", "embedding_jobs", "http_sessions", "ingest_jobs",
        "ledger_pending", "locks", "move_changes", "move_documents", "moves", "parts_elsewhere",
    ),
    "what peers sent, tried in tests/peers/test_peers_verify.py": (
        "shared_conflicts", "shared_corpora", "shared_documents", "shared_events",
    ),
    "how this database is run": (
        "alembic_version", "installed_code", "peer_corpora", "peers", "role_bindings", "settings",
    ),
}  # fmt: skip
# what a column is made that is null
FILLED = {
    "int2": "0", "int4": "0", "int8": "0", "oid": "10", "float8": "0.5", "float4": "0.5",
    "bool": "true", "text": "'x'", "uuid": "gen_random_uuid()", "xid8": "'1'",
    "interval": "'1 day'", "timestamptz": "now()", "bytea": "sha256('')", "tsvector": "'x:1'",
    "jsonb": "'null'", "_text": "'{}'", "_uuid": "'{}'", "_bytea": "'{}'",
}  # fmt: skip
JOINED = [{"parent": uuid(p), "child": uuid(c)} for p, c in ((1, 3), (2, 4))]
VALUES = {
    "int2": "{0} + 1", "int4": "{0} + 1", "int8": "{0} + 1", "oid": "({0}::bigint + 1)::oid",
    "float8": "{0} + 0.125", "float4": "{0} / 2", "bool": "not {0}", "text": "{0} || 'x'",
    "uuid": "gen_random_uuid()",
    "xid8": "({0}::text::bigint + 1)::text::xid8", "interval": "{0} + interval '1 day'",
    "timestamptz": "{0} + interval '1 second'", "bytea": "sha256({0})", "tsvector": "'x:1'",
    "jsonb": "{0} || '{{\"max_nodes\": 1}}'", "_text": "{0} || 'x'::text",
    "_uuid": "{0} || gen_random_uuid()", "_bytea": "{0} || sha256('')",
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(server18: Server) -> Iterator[Connection]:
    """The superuser in a sealed database, with all triggers of ragdb off."""
    with server18.database() as base:
        dsn = server18.dsn(base.dbname)
        with psycopg.connect(dsn, autocommit=True) as db:
            fill(db)
            for _ in range(2):
                db.execute("select ragdb.run_eval('A')")
                db.execute("select from ragdb.retrieve('chat', 'refunds')")
            for role in ("writer", "writer2"):
                db.execute("select ragdb.grant_corpus('closed', %s, 'read')", (role,))
                db.execute("select ragdb.create_http_token(%s, %s, '1 day')", (role, role))
                db.execute("select ragdb.set_quota(%s, 9, 9, 9, 9)", (role,))
            db.execute("select ragdb.bless_run(run_id, reason => 'best') from ragdb.run_eval('A')")
            db.execute("select ragdb.add_synonyms('chat', '{refund,repayment}')")
            for text in ("A bridge of steel.", "A bridge of wood."):
                db.execute("select ragdb.put_text('past', 'a.md', %s, title => 'A')", (text,))
            for uri, other in (("a.md", "b.md"), ("b.md", "a.md")):
                linking = document(uri, ["One text.", "Another."], links=[(0, other), (1, other)])
                db.execute("select ragdb.put_documents('closed', %s)", (json.dumps([linking]),))
            db.execute("select ragdb.add_edges('chat', %s)", (json.dumps(JOINED),))
            for data in (b"one", b"another"):
                db.execute("select ragdb.put_blob(%s, 'x/y', 'closed')", (data,))
            db.execute("select ragdb.seal_ledger()")
            ((text,),) = db.execute("select ragdb.ledger_checkpoint()").fetchall()
            line = f"— {text.splitlines()[0]} {'A' * 92}\n"
            db.execute("select ragdb.store_checkpoint(%s)", (f"{text}\n{line}",))
        with psycopg.connect(dsn) as db:
            tables = "select oid::regclass::text from pg_class where relkind = 'r'"
            for (table,) in db.execute(f"{tables} and relnamespace = 'ragdb'::regnamespace"):
                db.execute(f"alter table {table} disable trigger user")
            assert not found(db)
            yield db
            db.rollback()


def found(db: Connection) -> bool:
    """Whether what reads rows finds something: code and triggers are looked at by other checks."""
    row = db.execute(
        "select exists (select from ragdb.verify(checks => array(select c.check from"
        " ragdb.verification_checks() c where c.check not in ('code', 'triggers', 'pgvector')))"
        " where severity <> 'note')"
    ).fetchone()
    return row == (True,)


def passes(db: Connection, statement: str) -> bool | None:
    """Whether a statement is not found; None for one that is refused or changes nothing."""
    try:
        with db.transaction(force_rollback=True):
            if db.execute(statement.encode()).rowcount == 0:
                return None
            return not found(db)
    except (psycopg.IntegrityError, psycopg.DataError):
        return None


def statements(db: Connection, table: str) -> Iterator[tuple[str, list[str]]]:
    """What is done to a table, and by which statements: each that is not refused counts."""
    columns: dict[str, str] = dict(
        db.execute(
            "select attname, t.typname from pg_attribute a join pg_type t on t.oid = a.atttypid"
            " where attrelid = %s::regclass and attnum > 0 and not attisdropped order by attnum",
            (f"ragdb.{table}",),
        ).fetchall()
    )
    ((size,),) = db.execute(f"select count(*) from ragdb.{table}").fetchall()
    assert size, f"{table} has no row"
    the_row = f"(x.tableoid, x.ctid) = (select y.tableoid, y.ctid from ragdb.{table} y"
    for column, kind in columns.items():
        values = (
            f'(select y."{column}" from ragdb.{table} y'
            f' where y."{column}" <> x."{column}" order by y."{column}" desc limit 1)',
            VALUES[kind].format(f'x."{column}"'),
            "null",
        )
        yield (
            column,
            [
                f'update ragdb.{table} x set "{column}" = {value} where {the_row}'
                f' where y."{column}" is not null order by y limit 1)'
                f' and ({value}) is distinct from x."{column}"'
                for value in values
            ]
            + [
                f'update ragdb.{table} x set "{column}" = {FILLED[kind]} where {the_row}'
                f' where y."{column}" is null order by y limit 1)'
            ],
        )
        copied = [VALUES[kind].format(f'x."{c}"') if c == column else f'x."{c}"' for c in columns]
        yield (
            f"copied by {column}",
            [f"insert into ragdb.{table} select {', '.join(copied)} from ragdb.{table} x limit 1"],
        )
    for place in sorted({0, size // 2, size - 1}):
        yield (
            "deleted",
            [f"delete from ragdb.{table} x where {the_row} order by y offset {place} limit 1)"],
        )
    yield "emptied", [f"delete from ragdb.{table}"]


@pytest.mark.parametrize("table", [*OF_KINDS, *OTHERS])
def test_no_edit_of_one_row_of_evidence_passes(whole: Connection, table: str) -> None:
    passed = set()
    for what, ways in statements(whole, table):
        if any(passes(whole, way) for way in ways):
            passed.add(what)
    assert passed == PASSED_OVER.get(table, set())


def test_every_kind_of_the_ledger_is_among_the_tables(whole: Connection) -> None:
    rows = whole.execute("select relation from ragdb_internal.ledger_kinds()").fetchall()
    assert sorted(relation.removeprefix("ragdb.") for (relation,) in rows) == sorted(OF_KINDS)


def test_every_table_is_tried_or_named_with_the_reason(whole: Connection) -> None:
    rows = whole.execute(
        "select relname from pg_class where relkind in ('r', 'p') and not relispartition"
        " and relnamespace = 'ragdb'::regnamespace"
    ).fetchall()
    not_tried = [table for tables in NOT_TRIED.values() for table in tables]
    assert sorted(table for (table,) in rows) == sorted([*OF_KINDS, *OTHERS, *not_tried])
