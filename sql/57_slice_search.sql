-- Retrieval under a slice: the slice is an exact filter inside ranking, and what is found carries its provenance.

do $$ begin
  if pg_catalog.to_regtype('ragdb.turn_hit') is null then
    create type ragdb.turn_hit as (
      trace_id uuid, rank integer, corpus text, chunk_id text, source text, title text, heading text[], page integer,
      text text, citation jsonb, score float8, lexical_score float8, semantic_score float8, bm25 float8, coverage float8,
      content_hash text, metadata jsonb, session_id text, role text, phase text, salience real, depth integer,
      sibling_order integer, homogeneity real, temporal real, complexity real);
  end if;
end $$;
comment on type ragdb.turn_hit is
  'One result of a search that knows turns: the chunk and its scores, and its session, role and trajectory where it is a turn; trace_id where it was recorded.';

create or replace function ragdb._with_turns(corpus_id integer, trace_id uuid, hits ragdb.hit[])
returns setof ragdb.turn_hit
language sql stable
begin atomic
  select _with_turns.trace_id, h.rank, h.corpus, h.chunk_id, h.source, h.title, h.heading, h.page, h.text, h.citation,
      h.score, h.lexical_score, h.semantic_score, h.bm25, h.coverage, h.content_hash, h.metadata,
      t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order, t.homogeneity, t.temporal, t.complexity
    from pg_catalog.unnest(_with_turns.hits) h
    join ragdb.chunks c on c.corpus_id = _with_turns.corpus_id and c.chunk_id = h.chunk_id
    left join ragdb.turns t on t.corpus_id = c.corpus_id and t.chunk_no = c.chunk_no
    order by h.rank;
end;
comment on function ragdb._with_turns(integer, uuid, ragdb.hit[]) is 'Adds to hits what is known of them as turns.';

-- The fields of a turn are asked for in the same filter as metadata; they choose the chunks, the rest goes on to search.
create or replace function ragdb._turn_filter(corpus_id integer, filter jsonb, chunk_ids text[])
returns table (members text[], rest jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_filter constant jsonb := _turn_filter.filter;
  v_key text;
begin
  members := _turn_filter.chunk_ids;
  rest := v_filter;
  if v_filter is null or jsonb_typeof(v_filter) <> 'object' or not v_filter ?| array['role', 'phase', 'session', 'min_salience'] then
    return next; return;
  end if;
  foreach v_key in array array['role', 'phase', 'session'] loop
    if v_filter ? v_key and jsonb_typeof(v_filter -> v_key) <> 'string' then
      raise exception 'filter % is not a text', v_key
        using errcode = 'RG410', detail = 'its value is ' || ragdb._quote((v_filter -> v_key)::text),
              hint = 'role, phase and session take one text each';
    end if;
  end loop;
  if v_filter ? 'min_salience' and (jsonb_typeof(v_filter -> 'min_salience') <> 'number'
      or not (v_filter ->> 'min_salience')::numeric between 0 and 1) then
    raise exception 'filter min_salience is not a number of 0 to 1'
      using errcode = 'RG410', detail = 'its value is ' || ragdb._quote((v_filter -> 'min_salience')::text),
            hint = 'salience is a share';
  end if;
  members := array(
    select c.chunk_id from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      where t.corpus_id = _turn_filter.corpus_id
        and (v_filter ->> 'role' is null or t.role = v_filter ->> 'role')
        and (v_filter ->> 'phase' is null or t.phase = v_filter ->> 'phase')
        and (v_filter ->> 'session' is null or t.session_id = v_filter ->> 'session')
        and (v_filter ->> 'min_salience' is null or t.salience >= (v_filter ->> 'min_salience')::real)
        and (_turn_filter.chunk_ids is null or c.chunk_id = any(_turn_filter.chunk_ids)));
  rest := nullif(v_filter - array['role', 'phase', 'session', 'min_salience'], '{}');
  return next;
end $$;
comment on function ragdb._turn_filter(integer, jsonb, text[]) is
  'Takes role, phase, session and min_salience out of a filter and returns the chunks that satisfy them among those given, with the rest of the filter. Raises RG410.';

-- A slice comes by the id of a stored one, or by anchor and policy and is built now.
create or replace function ragdb._slice_members(corpus_id integer, corpus text, stored_id text, anchor text, policy jsonb)
returns table (slice_id text, anchor_chunk_id text, chunk_ids text[], selection_order text[], edge_count integer,
  policy_id text, params_hash text, schema_version text, graph_snapshot_hash text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stored ragdb.slices;
begin
  if (_slice_members.stored_id is null) = (_slice_members.anchor is null) then
    raise exception 'a slice is named by its id or by its anchor'
      using errcode = 'RG400', detail = case when _slice_members.anchor is null then 'neither was given' else 'both were given' end,
            hint = 'pass slice_id of a stored slice, or anchor and, if not the default, policy';
  end if;
  if _slice_members.stored_id is not null then
    v_stored := ragdb._stored_slice(_slice_members.corpus_id, _slice_members.stored_id);
    return query select v_stored.slice_id, v_stored.anchor_chunk_id, v_stored.chunk_ids, v_stored.selection_order,
      v_stored.edge_count, v_stored.policy_id, v_stored.params_hash, v_stored.schema_version, v_stored.graph_snapshot_hash;
  else
    return query select s.slice_id, s.anchor_chunk_id, s.chunk_ids, s.selection_order, s.edge_count, s.policy_id,
        s.params_hash, s.schema_version, s.graph_snapshot_hash
      from ragdb.build_slice(_slice_members.corpus, _slice_members.anchor, _slice_members.policy, false) s;
  end if;
end $$;
comment on function ragdb._slice_members(integer, text, text, text, jsonb) is
  'Returns a stored slice by its id, or builds one by anchor and policy. Raises RG400, RG430, RG431, RG434, RG435.';

create or replace function ragdb.search_slice(
  corpus text, query text, slice_id text default null, anchor text default null, policy jsonb default null,
  k integer default 10, mode text default null, min_score float8 default 0, filter jsonb default null)
returns setof ragdb.turn_hit
language plpgsql stable security definer -- turns and slices are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_members text[];
  v_filter jsonb;
begin
  v_corpus := ragdb._open_corpus(search_slice.corpus, 'read');
  select f.members, f.rest into strict v_members, v_filter
    from ragdb._slice_members(v_corpus.corpus_id, v_corpus.name, search_slice.slice_id, search_slice.anchor, search_slice.policy) s
    cross join lateral ragdb._turn_filter(v_corpus.corpus_id, search_slice.filter, s.chunk_ids) f;
  return query
    select w.* from ragdb._with_turns(v_corpus.corpus_id, null, array(
      select h from ragdb.search(corpus => search_slice.corpus, query => search_slice.query, k => search_slice.k,
        mode => search_slice.mode, min_score => search_slice.min_score, filter => v_filter, chunk_ids => v_members) h)) w;
end $$;
comment on function ragdb.search_slice(text, text, text, text, jsonb, integer, text, float8, jsonb) is
  'Returns the k best members of a slice (by the id of a stored one, or by anchor and policy) for a query, exactly and without recording; filter also takes role, phase, session and min_salience. Raises RG400, RG404, RG410, RG415, RG430, RG431, RG434, RG435.';

create or replace function ragdb.search_global(
  corpus text, query text, k integer default 10, mode text default null, min_score float8 default 0, filter jsonb default null)
returns setof ragdb.turn_hit
language plpgsql stable security definer -- turns is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora;
  v_members text[];
  v_filter jsonb;
begin
  v_corpus := ragdb._open_corpus(search_global.corpus, 'read');
  select f.members, f.rest into strict v_members, v_filter
    from ragdb._turn_filter(v_corpus.corpus_id, search_global.filter, null) f;
  return query
    select w.* from ragdb._with_turns(v_corpus.corpus_id, null, array(
      select h from ragdb.search(corpus => search_global.corpus, query => search_global.query, k => search_global.k,
        mode => search_global.mode, min_score => search_global.min_score, filter => v_filter, chunk_ids => v_members) h)) w;
end $$;
comment on function ragdb.search_global(text, text, integer, text, float8, jsonb) is
  'Returns the k best chunks of a whole corpus for a query with what is known of them as turns; never admissible. filter also takes role, phase, session and min_salience. Raises RG400, RG404, RG410, RG415.';

create or replace function ragdb.resolve_from_query(corpus text, query text, mode text default null) returns text
language sql stable
begin atomic
  select h.chunk_id from ragdb.search(corpus => resolve_from_query.corpus, query => resolve_from_query.query, k => 1,
    mode => resolve_from_query.mode) h;
end;
comment on function ragdb.resolve_from_query(text, text, text) is
  'Returns the best hit of a query as an anchor, or null when nothing matches. Raises what ragdb.search raises.';

create or replace function ragdb.resolve_anchor(
  corpus text, chunk_id text default null, session text default null, query text default null, project text default null)
returns table (anchor text, resolved_by text)
language plpgsql stable rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  anchor := ragdb.resolve_explicit(resolve_anchor.corpus, coalesce(resolve_anchor.chunk_id, ''));
  resolved_by := 'explicit';
  if anchor is null and resolve_anchor.session is not null then
    anchor := ragdb.resolve_from_session(resolve_anchor.corpus, resolve_anchor.session);
    resolved_by := 'session';
  end if;
  if anchor is null and resolve_anchor.query ~ '\S' then
    anchor := ragdb.resolve_from_query(resolve_anchor.corpus, resolve_anchor.query);
    resolved_by := 'semantic';
  end if;
  if anchor is null then
    select t.chunk_id into anchor from ragdb.resolve_temporal(resolve_anchor.corpus, 1, resolve_anchor.project) t;
    resolved_by := 'temporal';
  end if;
  if anchor is not null then
    return next;
  end if;
end $$;
comment on function ragdb.resolve_anchor(text, text, text, text, text) is
  'Returns an anchor and which way gave it: the chunk id itself (explicit), the latest turn of the session, the best hit of the query (semantic), the most recent turn (temporal); no row when none does. Raises RG400, RG404.';

-- ── recording ───────────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.retrieve_slice(
  corpus text, query text, slice_id text default null, anchor text default null, policy jsonb default null,
  k integer default 10, mode text default null, min_score float8 default 0, filter jsonb default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer -- slices, keys and traces are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_corpus ragdb.corpora;
  v_slice record;
  v_policy record;
  v_verified record;
  v_members text[];
  v_filter jsonb;
  v_hits ragdb.hit[];
  v_trace ragdb.retrieval_traces;
begin
  v_corpus := ragdb._open_corpus(retrieve_slice.corpus, 'read');
  select * into strict v_slice from ragdb._slice_members(v_corpus.corpus_id, v_corpus.name, retrieve_slice.slice_id,
    retrieve_slice.anchor, retrieve_slice.policy);
  if retrieve_slice.slice_id is null then
    perform ragdb._store_slice(v_corpus.corpus_id, v_corpus.name, v_slice.slice_id, v_slice.anchor_chunk_id,
      retrieve_slice.policy, v_slice.chunk_ids, v_slice.selection_order);
  end if;
  select * into strict v_policy from ragdb._resolve_policy(
    jsonb_build_object('policy_id', v_slice.policy_id, 'params_hash', v_slice.params_hash));
  v_trace.admissibility_token := ragdb._issue_token(v_corpus.name, v_slice.slice_id, v_slice.anchor_chunk_id,
    v_slice.policy_id, v_policy.sha256, v_slice.graph_snapshot_hash, v_slice.schema_version);
  select * into strict v_verified from ragdb.verify_token(v_corpus.name, v_trace.admissibility_token, v_slice.slice_id,
    v_slice.anchor_chunk_id, v_slice.policy_id, v_slice.params_hash, v_slice.graph_snapshot_hash,
    v_slice.schema_version, v_slice.chunk_ids);
  if not v_verified.valid then
    -- a stored slice whose evidence has changed: what would be found is not what was admitted
    raise exception 'slice % is not what it was', ragdb._quote(v_slice.slice_id)
      using errcode = 'RG436', detail = v_verified.reason, hint = 'build the slice again from its anchor and policy';
  end if;
  select f.members, f.rest into strict v_members, v_filter
    from ragdb._turn_filter(v_corpus.corpus_id, retrieve_slice.filter, v_slice.chunk_ids) f;
  v_hits := array(select h from ragdb.search(corpus => retrieve_slice.corpus, query => retrieve_slice.query,
    k => retrieve_slice.k, mode => retrieve_slice.mode, min_score => retrieve_slice.min_score, filter => v_filter,
    chunk_ids => v_members) h);
  v_trace.retrieval_mode := 'slice';
  v_trace.rank_mode := coalesce(mode, 'lexical');
  v_trace.slice_id := v_slice.slice_id;
  v_trace.anchor_chunk_id := v_slice.anchor_chunk_id;
  v_trace.slice_chunk_count := cardinality(v_slice.chunk_ids);
  v_trace.slice_edge_count := v_slice.edge_count;
  v_trace.policy_id := v_slice.policy_id;
  v_trace.policy_params_hash := v_slice.params_hash;
  v_trace.schema_version := v_slice.schema_version;
  v_trace.graph_snapshot_hash := v_slice.graph_snapshot_hash;
  v_trace.is_admissible := true;
  v_trace.admissibility_shortfall := false;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.is_exact := true;
  v_trace.client := client;
  v_trace.otel_trace_id := otel_trace_id;
  v_trace.otel_span_id := otel_span_id;
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb._record_trace(v_corpus, query, v_trace, v_hits);
  return query select w.* from ragdb._with_turns(v_corpus.corpus_id, v_trace.id, v_hits) w;
end $$;
comment on function ragdb.retrieve_slice(text, text, text, text, jsonb, integer, text, float8, jsonb, text, text, text) is
  'Returns the hits of ragdb.search_slice with the same arguments and records the one trace that proves them: slice, policy, snapshot and a fresh token, verified against the rows. Raises what ragdb.search_slice raises, RG433, and RG436 when the stored slice''s evidence has changed.';
