"""Edges between the chunks of documents."""

from __future__ import annotations

from tests.conftest import Connection
from tests.processor import spent


def test_sections_by_the_thousand_are_joined_to_those_above_and_not_each_to_each(
    any_db: Connection,
) -> None:
    any_db.execute("set local statement_timeout = '120s'")
    before = spent(any_db)
    found = any_db.execute(
        """with chunk as (
          -- every tenth is a section with the nine after it below
          select n, case when n % 10 = 0 then array['s' || n / 10]
            else array['s' || n / 10, 'part ' || n] end as heading
          from generate_series(0, 9999) n)
        select edge_type, count(*), min(child_no - parent_no), max(child_no - parent_no)
        from (select array_agg(
              row(n, 1, '', n, '', heading, null, 0, 0, 0, '', null, 0, '')
                ::ragdb_internal.planned_chunk
              order by n) as planned
            from chunk) c,
          ragdb_internal.document_edges(planned, '{}')
        group by edge_type order by edge_type"""
    ).fetchall()
    assert spent(any_db) - before < 5
    assert found == [("branch", 9000, 1, 9), ("default", 9999, 1, 1)]


def test_links_by_the_thousand_are_checked_without_a_look_at_all_chunks_for_each(
    db: Connection,
) -> None:
    db.execute("set local statement_timeout = '120s'")
    db.execute(
        """create temporary table given on commit drop as
        select jsonb_build_array(jsonb_build_object(
          'chunks', jsonb_agg(jsonb_build_object('text', repeat(md5(n::text), 30))),
          'links', jsonb_agg(jsonb_build_object('target', 'a.md', 'chunk', n)))) as documents
        from generate_series(0, 5999) n"""
    )
    before = spent(db)
    db.execute("select ragdb_internal.check_links(documents) from given")
    assert spent(db) - before < 2
