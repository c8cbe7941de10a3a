"""Rows in every part of the schema, by the functions a user calls, with partitions made at run time."""

from __future__ import annotations

from typing import Any

from tests.conftest import Connection

TEXT = (
    """Refunds are paid within fourteen days.\n\nA bicycle is not a car.\n\nSearch finds chunks."""
)
MONTHS = ("2026-01-15", "2026-02-15", "2026-03-15")


def fill(connection: Connection) -> None:
    connection.execute(
        "insert into ragdb.settings (key, value) values ('allow_test_clock', 'true') on conflict do nothing"
    )
    connection.execute("select ragdb.create_corpus('docs', title => 'Documents')")
    connection.execute("select ragdb.create_corpus('other')")
    for name in ("a", "b"):
        connection.execute(
            "select * from ragdb.put_text('docs', %s, %s, max_tokens => 16, overlap => 0)",
            (f"{name}.txt", f"{TEXT}\n\nThis is {name}."),
        )
    connection.execute("select ragdb.grant_corpus('docs', 'reader', 'read')")
    connection.execute("select ragdb.create_embedder('three', 3)")
    connection.execute("select ragdb.embed_corpus('docs', 'three')")
    claimed = connection.execute("select * from ragdb.claim_embeddings('fill')").fetchall()
    assert claimed
    connection.execute(
        "select ragdb.complete_embeddings(%s, %s, %s::integer[], %s::real[])",
        (
            claimed[0][0],
            [row[3] for row in claimed],
            [row[4] for row in claimed],
            [0.6, 0.8, 0.0] * len(claimed),
        ),
    )
    connection.execute("select ragdb.bind_reranker('tiny', '/models/tiny', repeat('ab', 32))")
    for month in MONTHS:
        connection.execute("select set_config('ragdb.now', %s, false)", (f"{month} 12:00:00+00",))
        connection.execute("select ragdb.maintain()")
        with connection.transaction():
            connection.execute("select * from ragdb.retrieve('docs', 'refunds for a bicycle')")
            connection.execute(
                "select r.* from (select array_agg(h.chunk_id) as ids, array_agg(h.rank / 3.0) as scores"
                " from ragdb.trace_hits(ragdb.last_trace_id()) h) t,"
                " ragdb.record_rerank(ragdb.last_trace_id(), 'tiny', t.ids, t.scores::float8[], 2) r"
            )
            connection.execute(
                "select ragdb.record_gate('refunds for a bicycle', p.pack), a.*"
                " from ragdb.build_evidence_pack(ragdb.last_trace_id()) p (pack),"
                " ragdb.record_answer(ragdb.answer_from_evidence('refunds for a bicycle', p.pack), p.pack) a"
            )
    connection.execute("reset ragdb.now")
    connection.execute("select ragdb.maintain()")


def rows(connection: Connection) -> dict[str, tuple[int, str]]:
    """Of every table of the schema: how many rows, and a hash of them all."""
    found = {}
    tables = connection.execute(
        "select relname from pg_class where relnamespace = 'ragdb'::regnamespace and relkind = 'r'"
        # what installed_code has is of the catalogue, with numbers that every server gives anew
        " and relname not in ('alembic_version', 'installed_code')"
    ).fetchall()
    for (table,) in tables:
        count, digest = connection.execute(
            f'select count(*), md5(string_agg(t::text, chr(10) order by t::text collate "C"))'
            f' from ragdb."{table}" t'
        ).fetchall()[0]
        found[table] = (count, digest)
    return found


def answers(connection: Connection) -> list[Any]:
    """What the database says when asked."""
    return [
        connection.execute(
            "select * from ragdb.search('docs', 'refunds for a bicycle')"
        ).fetchall(),
        connection.execute("select * from ragdb.list_corpora()").fetchall(),
        connection.execute(
            "select v.* from ragdb.list_traces() t, ragdb.verify_trace(t.id) v order by t.id, v.field"
        ).fetchall(),
    ]
