-- Retrieval under a slice: what is found carries the proof that it was admitted.

-- Says which members of a slice a search in some mode cannot look at by words or by meaning; null
-- when it can look at all.
create or replace function ragdb_internal.shortfall(slice ragdb.slices, mode text) returns text
language sql stable parallel safe
return (
  with members as materialized (
    select c.chunk_id, c.chunk_no
      from pg_catalog.unnest((slice).chunk_ids) i (chunk_id)
      cross join lateral (
        select h.chunk_id, h.chunk_no from ragdb.chunks h
          where h.corpus_id = (slice).corpus_id and h.chunk_id = i.chunk_id
          offset 0) c
  ), indexed as materialized (
    select x.chunk_no from ragdb.chunk_lexemes x
      where shortfall.mode <> 'reference' and x.corpus_id = (slice).corpus_id
        and x.chunk_no = any (array(select m.chunk_no from members m))
  ), embedded as materialized (
    select e.chunk_no
      from ragdb_internal.space((slice).corpus_id, 'current') s
      cross join lateral ragdb_internal.stored_of(
        s.space_id, s.corpus_id, array(select m.chunk_no from members m)) e
      where ragdb_internal.uses_embeddings(shortfall.mode)
  ), lacking as (
    -- meaning asks the index for the phrases and signs of a query
    select 'are not in the lexical index' as what, m.chunk_id from members m
      where shortfall.mode <> 'reference'
        and m.chunk_no not in (select x.chunk_no from indexed x)
    union all
    select 'have no embedding by ' || e.name, m.chunk_id
      from ragdb_internal.space((slice).corpus_id, 'current') s
      join ragdb.embedders e on e.embedder_id = s.embedder_id
      cross join members m
      where ragdb_internal.uses_embeddings(shortfall.mode)
        and m.chunk_no not in (select v.chunk_no from embedded v)
  )
  select pg_catalog.string_agg(pg_catalog.format('%s of %s admitted chunks %s: %s', n.count,
      pg_catalog.cardinality((slice).chunk_ids), n.what, pg_catalog.left(n.ids, 300)), '; '
      order by n.what)
    from (
      select l.what, pg_catalog.count(*) as count,
          pg_catalog.string_agg(l.chunk_id, ', ' order by l.chunk_id collate "C") as ids
        from lacking l group by l.what) n);

-- What a retrieval under a slice read: the corpus, the slice and its token, how it ranked and what
-- it found.
create type ragdb_internal.slice_finding as (
  corpus ragdb.corpora, slice ragdb.slices, policy ragdb.slice_policies, token text,
  basis ragdb_internal.search_basis, shortfall text, hits ragdb.hit[]);

-- Reads all that a retrieval under a slice returns and records. Stable, hence one snapshot: the
-- evidence that is verified is the evidence that is searched. Raises what ragdb.search_slice
-- raises, RG433, and RG436 when the stored slice's evidence has changed.
create or replace function ragdb_internal.find_in_slice(
  corpus text, slice_id text, anchor text, policy jsonb, asked ragdb_internal.search_arguments)
returns ragdb_internal.slice_finding
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(find_in_slice.corpus, 'read');
  v_named constant record :=
    ragdb_internal.named_slice(v_corpus, find_in_slice.slice_id, anchor, policy);
  v_found ragdb_internal.slice_finding;
begin
  v_found.corpus := v_corpus;
  v_found.slice := v_named.slice;
  v_found.policy := v_named.resolved;
  if find_in_slice.slice_id is not null
    and (ragdb_internal.fingerprinted(v_corpus, v_found.slice)).slice_id <> find_in_slice.slice_id
  then
    -- what would be found is not what was admitted
    raise exception 'slice % is not what it was', ragdb_internal.quote(find_in_slice.slice_id)
      using errcode = 'RG436',
        detail = ragdb_internal.slice_changes(v_found.slice),
        hint = 'build the slice again from its anchor and policy';
  end if;
  v_found.token := ragdb_internal.issue_token(v_corpus, v_found.slice, v_found.policy);
  v_found.basis := ragdb_internal.basis_of_search(array[v_corpus], asked);
  asked.mode := (v_found.basis).mode;
  asked.query_embedding := (v_found.basis).query_embedding;
  asked.chunk_ids := (v_found.slice).chunk_ids;
  v_found.shortfall := ragdb_internal.shortfall(v_found.slice, asked.mode);
  v_found.hits := ragdb_internal.search_turns(v_corpus, asked);
  return v_found;
end $$;

-- Returns the trace of what was found under a slice, but for its time and its identity.
create or replace function ragdb_internal.trace_of_slice(
  finding ragdb_internal.slice_finding, asked ragdb_internal.search_arguments)
returns ragdb.retrieval_traces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slice constant ragdb.slices := finding.slice;
  v_trace ragdb.retrieval_traces;
begin
  v_trace := ragdb_internal.note_search(
    v_trace, finding.corpus, finding.basis, asked, finding.hits);
  v_trace.retrieval_mode := 'slice';
  v_trace.slice_id := v_slice.slice_id;
  v_trace.anchor_chunk_id := v_slice.anchor_chunk_id;
  v_trace.slice_chunk_count := cardinality(v_slice.chunk_ids);
  v_trace.slice_edge_count := v_slice.edge_count;
  v_trace.policy_id := v_slice.policy_id;
  v_trace.policy_params_hash := v_slice.params_hash;
  v_trace.schema_version := v_slice.schema_version;
  v_trace.graph_snapshot_hash := v_slice.graph_snapshot_hash;
  v_trace.admissibility_token := finding.token;
  v_trace.is_admissible := finding.shortfall is null;
  v_trace.admissibility_shortfall := finding.shortfall is not null;
  v_trace.shortfall_reason := finding.shortfall;
  return v_trace;
end $$;

-- Definer: turns, slices and keys are granted to nobody.
create or replace function ragdb.retrieve_slice(
  corpus text, query text, slice_id text default null, anchor text default null,
  policy jsonb default null, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, min_lexical float8 default 0, min_semantic float8 default 0,
  syntax text default 'plain', per_document integer default null, collapse boolean default false,
  diversity float8 default 0, context integer default 0, section boolean default false,
  typos boolean default true,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_asked constant ragdb_internal.search_arguments := row(
    query, k, mode, min_score, filter, null, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic,
    row(syntax, per_document, collapse, diversity, context, section, typos)
      ::ragdb_internal.search_options);
  v_found ragdb_internal.slice_finding;
  v_trace ragdb.retrieval_traces;
begin
  perform ragdb_internal.ask_for_stages();
  perform ragdb_internal.hold_corpus(c.n)
    from ragdb_internal.corpus_number(corpus) c (n) where c.n is not null;
  v_found := ragdb_internal.find_in_slice(corpus, slice_id, anchor, policy, v_asked);
  if slice_id is null then
    perform ragdb_internal.store_slice(v_found.slice, v_found.policy);
  end if;
  v_trace := ragdb_internal.trace_of_slice(v_found, v_asked);
  v_trace.stages := ragdb_internal.noted_stages();
  v_trace.elapsed_ms := ragdb_internal.ms_since(v_started);
  v_trace.id := ragdb_internal.record_trace(v_found.corpus, query, v_trace, v_found.hits,
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id));
  return query select w.* from ragdb_internal.with_turns(
    (v_found.corpus).corpus_id, v_trace.id, v_found.hits) w;
end $$;
comment on function ragdb.retrieve_slice is
  'Returns the hits of ragdb.search_slice with the same arguments and records the one trace that '
  'proves them: slice, policy, snapshot and a fresh token, over evidence recomputed from the rows; '
  'not admissible where members are not in the lexical index, or have no embedding for a search by '
  'meaning. Raises what ragdb.search_slice raises, RG433, and RG436 when the stored slice''s '
  'evidence has changed.';
