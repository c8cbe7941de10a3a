-- Edges against what documents say, and added ones against what was recorded of them. What was said
-- to what within a conversation is in the hashes of its event.

-- Returns what a finding calls an edge: by the ids of its chunks.
create or replace function ragdb_internal.edge_name(
  corpus_id integer, edge ragdb_internal.chunk_edge)
returns text
language sql stable parallel safe
return pg_catalog.format('edge from %s to %s of corpus %s',
  coalesce((select c.chunk_id from ragdb.chunks c
    where c.corpus_id = edge_name.corpus_id and c.chunk_no = (edge).parent_no),
    'number ' || (edge).parent_no),
  coalesce((select c.chunk_id from ragdb.chunks c
    where c.corpus_id = edge_name.corpus_id and c.chunk_no = (edge).child_no),
    'number ' || (edge).child_no),
  coalesce((select c.name from ragdb.corpora c where c.corpus_id = edge_name.corpus_id),
    edge_name.corpus_id::text));

-- Returns what is wrong with some edges of a corpus as findings.
create or replace function ragdb_internal.edge_findings(
  corpus_id integer, problems text[], edges ragdb_internal.chunk_edge[])
returns ragdb.finding[]
language sql stable parallel safe
return array(
  select row('edges', 'error', ragdb_internal.edge_name(edge_findings.corpus_id, row(
        p.parent_no, p.child_no, p.edge_type)::ragdb_internal.chunk_edge),
      p.edge_type || ': ' || p.problem,
      case when n.name = 'system' then 'ragdb init --force writes the manual anew'
        else 'ragdb ingest --force makes the edges of a document anew; ragdb.remove_edges() and '
          'ragdb.add_edges() take away and add' end)::ragdb.finding
    from rows from (pg_catalog.unnest(edge_findings.problems), pg_catalog.unnest(edges))
      with ordinality p (problem, parent_no, child_no, edge_type, n)
      left join ragdb.corpora n on n.corpus_id = edge_findings.corpus_id
    order by p.n);

-- Tells whether what was recorded last of an edge is that it was added.
create or replace function ragdb_internal.is_recorded_edge(
  corpus_id integer, edge ragdb_internal.chunk_edge)
returns boolean
language sql stable parallel safe
return coalesce(ragdb_internal.last_state(
    is_recorded_edge.corpus_id, 'edge', ragdb_internal.edge_key(edge))
  = ragdb_internal.edge_hash(ragdb_internal.edge_key(edge)), false);

-- Compares the edges that leave the chunks of some documents with what these say, and with what was
-- recorded.
create or replace function ragdb_internal.wrong_edges(corpus_id integer, doc_nos integer[])
returns ragdb.finding[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_nestloop = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_problems text[];
  v_edges ragdb_internal.chunk_edge[];
begin
  with present as materialized (
    select e.* from unnest(doc_nos) d (doc_no)
      cross join lateral (select o.chunk_no from ragdb.chunks o
        where o.corpus_id = wrong_edges.corpus_id and o.doc_no = d.doc_no offset 0) c
      cross join lateral (
        select o.parent_no, o.child_no, o.edge_type, o.is_added, o.child_salience
        from ragdb.edges o
        where o.corpus_id = wrong_edges.corpus_id and o.parent_no = c.chunk_no offset 0) e
  ), compared as (
    select coalesce(p.parent_no, s.parent_no) as parent_no,
        coalesce(p.child_no, s.child_no) as child_no,
        coalesce(p.edge_type, s.edge_type) as edge_type, p.is_added,
        s.parent_no is not null as is_said, p.child_salience
      from present p full join ragdb_internal.said_edges(corpus_id, doc_nos) s
        on (s.parent_no, s.child_no, s.edge_type) = (p.parent_no, p.child_no, p.edge_type)
  ), wrong as (
    select row(c.parent_no, c.child_no, c.edge_type)::ragdb_internal.chunk_edge as edge, case
        when c.is_added is null then 'a document says it, and it is not there'
        when c.is_added and not ragdb_internal.is_recorded_edge(corpus_id,
            row(c.parent_no, c.child_no, c.edge_type)::ragdb_internal.chunk_edge)
          then 'nobody recorded that it was added'
        when not c.is_added and not c.is_said
            and not ragdb_internal.is_answer(corpus_id, c.parent_no, c.child_no)
          then 'no document says it'
        when c.child_salience <> coalesce((select t.salience from ragdb.turns t
            where t.corpus_id = wrong_edges.corpus_id and t.chunk_no = c.child_no), 0.5)
          then 'it has not the salience of the turn that it leads to' end as problem
      from compared c
  )
  select array_agg(w.problem order by w.edge), array_agg(w.edge order by w.edge)
    into v_problems, v_edges from wrong w where w.problem is not null;
  return ragdb_internal.edge_findings(corpus_id, v_problems, v_edges);
end $$;

-- Returns edges that leave no chunk, so many at most.
create or replace function ragdb_internal.loose_edges(most integer) returns ragdb.finding[]
language sql stable parallel safe
return coalesce((
  select pg_catalog.array_agg(f.finding) from (
    select pg_catalog.unnest(ragdb_internal.edge_findings(e.corpus_id,
        array['it leaves no chunk'], array[
          row(e.parent_no, e.child_no, e.edge_type)::ragdb_internal.chunk_edge])) as finding
      from ragdb.edges e
      where not exists (select from ragdb.chunks c
        where c.corpus_id = e.corpus_id and c.chunk_no = e.parent_no)
      limit most) f), '{}');

-- Compares the edges of a batch of documents with what these say, and with what was recorded of
-- added ones. Of one corpus in a step, and of ten times as many chunks as other steps take rows.
create or replace function ragdb_internal.verify_edges(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_id constant integer := (
    select d.corpus_id from ragdb.documents d
    where (d.corpus_id, d.doc_no)
      > (coalesce((after ->> 0)::integer, -1), coalesce((after ->> 1)::integer, -1))
    order by d.corpus_id, d.doc_no limit 1);
  v_doc_nos integer[];
  v_last integer;
begin
  v_doc_nos := array(
    select p.doc_no from (
      select d.doc_no, sum(d.chunks) over (order by d.doc_no) - d.chunks as before
        from ragdb.documents d
        where d.corpus_id = v_id
          and (v_id is distinct from (after ->> 0)::integer or d.doc_no > (after ->> 1)::integer)
        order by d.doc_no limit most) p
      where p.before < 10 * most);
  v_last := v_doc_nos[cardinality(v_doc_nos)];
  if exists (select from ragdb.documents d where (d.corpus_id, d.doc_no) > (v_id, v_last)) then
    return row(cardinality(v_doc_nos), jsonb_build_array(v_id, v_last),
      ragdb_internal.wrong_edges(v_id, v_doc_nos))::ragdb_internal.verified;
  end if;
  return row(cardinality(v_doc_nos), null,
    ragdb_internal.wrong_edges(v_id, v_doc_nos) || ragdb_internal.loose_edges(most)
    )::ragdb_internal.verified;
end $$;

-- Looks for the edges that a batch of records says were added.
create or replace function ragdb_internal.verify_added_edges(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return ragdb_internal.verified_rows('added_edges', array(
    select row(jsonb_build_array(s.corpus_id, s.key), case when l.is_gone
          then ragdb_internal.edge_name(s.corpus_id, k.edge) end, case when l.is_gone
          then format('%s: it was added on %s, and is gone', (k.edge).edge_type,
            ragdb_internal.minute_of(s.created_at))
        end)::ragdb_internal.checked_row
      from ragdb_internal.recorded_last('edge', after, most) s
        cross join lateral (
          select row(s.key::jsonb ->> 0, s.key::jsonb ->> 1, s.key::jsonb ->> 2)
            ::ragdb_internal.chunk_edge as edge offset 0) k
        cross join lateral (
          select s.hash is not null and not exists (select from ragdb.edges e
              where e.corpus_id = s.corpus_id and e.parent_no = (k.edge).parent_no
                and e.child_no = (k.edge).child_no and e.edge_type = (k.edge).edge_type
                and e.is_added)
            and 2 = (select count(*) from ragdb.chunks c where c.corpus_id = s.corpus_id
              and c.chunk_no in ((k.edge).parent_no, (k.edge).child_no)) as is_gone offset 0) l
      order by s.corpus_id, s.key), most, 'add it again with ragdb.add_edges()');
end $$;
