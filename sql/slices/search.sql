-- Retrieval under a slice: the slice is an exact filter inside ranking, and what is found carries
-- its provenance.

create type ragdb.turn_hit as (
  trace_id uuid, rank integer, corpus text, chunk_id text, source text, title text,
  heading text[], page integer, text text, citation jsonb, score float8, lexical_score float8,
  semantic_score float8, lexical_rank integer, semantic_rank integer, bm25 float8,
  coverage float8, content_hash text, metadata jsonb, mode text, is_exact boolean,
  session_id text, role text, phase text, salience real, depth integer, sibling_order integer,
  homogeneity real, temporal real, complexity real);
comment on type ragdb.turn_hit is
  'One result of a search that knows turns: the chunk and its scores, and its session, role and '
  'trajectory where it is a turn; trace_id where it was recorded.';

create or replace function ragdb_internal.with_turns(corpus_id integer, trace_id uuid, hits ragdb.hit[])
returns setof ragdb.turn_hit
language sql stable parallel safe
begin atomic
  select with_turns.trace_id, h.rank, h.corpus, h.chunk_id, h.source, h.title, h.heading, h.page,
      h.text, h.citation, h.score, h.lexical_score, h.semantic_score, h.lexical_rank,
      h.semantic_rank, h.bm25, h.coverage, h.content_hash, h.metadata, h.mode, h.is_exact,
      t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order, t.homogeneity,
      t.temporal, t.complexity
    from pg_catalog.unnest(with_turns.hits) h
    join ragdb.chunks c on c.corpus_id = with_turns.corpus_id and c.chunk_id = h.chunk_id
    left join ragdb.turns t on t.corpus_id = c.corpus_id and t.chunk_no = c.chunk_no
    order by h.rank;
end;
comment on function ragdb_internal.with_turns(integer, uuid, ragdb.hit[]) is
  'Adds to hits what is known of them as turns.';

-- The fields of a turn are asked for in the same filter as metadata; they choose the chunks, the
-- rest goes on to search.
create or replace function ragdb_internal.turn_filter(
  corpus_id integer, filter jsonb, chunk_ids text[], out members text[], out rest jsonb)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_filter constant jsonb := turn_filter.filter;
  v_key text;
  v_salience real;
begin
  members := turn_filter.chunk_ids;
  rest := v_filter;
  if coalesce(jsonb_typeof(v_filter) <> 'object', true)
    or not v_filter ?| array['role', 'phase', 'session', 'min_salience']
  then
    return;
  end if;
  foreach v_key in array array['role', 'phase', 'session'] loop
    if v_filter ? v_key and jsonb_typeof(v_filter -> v_key) <> 'string' then
      raise exception 'filter % is not a text', v_key
        using errcode = 'RG410',
              detail = 'its value is ' || ragdb_internal.quote((v_filter -> v_key)::text),
              hint = 'role, phase and session take one text each';
    end if;
  end loop;
  if v_filter ? 'min_salience' and (jsonb_typeof(v_filter -> 'min_salience') <> 'number'
      or not (v_filter ->> 'min_salience')::numeric between 0 and 1)
  then
    raise exception 'filter min_salience is not a number of 0 to 1'
      using errcode = 'RG410',
            detail = 'its value is ' || ragdb_internal.quote((v_filter -> 'min_salience')::text),
            hint = 'salience is a share';
  end if;
  -- no single is as small as what is rounded away
  v_salience := round((v_filter ->> 'min_salience')::numeric, 37)::real;
  members := array(
    select c.chunk_id from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      where t.corpus_id = turn_filter.corpus_id
        and (v_filter ->> 'role' is null or t.role = v_filter ->> 'role')
        and (v_filter ->> 'phase' is null or t.phase = v_filter ->> 'phase')
        and (v_filter ->> 'session' is null or t.session_id = v_filter ->> 'session')
        and (v_filter ->> 'min_salience' is null
          or t.salience >= v_salience)
        and (turn_filter.chunk_ids is null
          or c.chunk_id in (select unnest(turn_filter.chunk_ids))));
  rest := nullif(v_filter - array['role', 'phase', 'session', 'min_salience'], '{}');
end $$;
comment on function ragdb_internal.turn_filter(integer, jsonb, text[]) is
  'Takes role, phase, session and min_salience out of a filter and returns the chunks that satisfy '
  'them among those given (null: all), with the rest of the filter. Raises RG410.';

create or replace function ragdb_internal.search_turns(
  corpus ragdb.corpora, query text, k integer, mode text, min_score float8, filter jsonb,
  chunk_ids text[], statistics text, query_embedding float8[], fusion text,
  lexical_weight float8, min_lexical float8, min_semantic float8)
returns ragdb.hit[]
language sql stable parallel restricted
return array(
  select h
    from ragdb_internal.turn_filter((search_turns.corpus).corpus_id, search_turns.filter,
      search_turns.chunk_ids) f
    cross join lateral ragdb.search(
      corpus => (search_turns.corpus).name, query => search_turns.query, k => search_turns.k,
      mode => search_turns.mode, min_score => search_turns.min_score, filter => f.rest,
      chunk_ids => f.members, statistics => search_turns.statistics,
      query_embedding => search_turns.query_embedding, fusion => search_turns.fusion,
      lexical_weight => search_turns.lexical_weight, min_lexical => search_turns.min_lexical,
      min_semantic => search_turns.min_semantic) h
    order by h.rank);
comment on function ragdb_internal.search_turns(ragdb.corpora, text, integer, text, float8, jsonb, text[],
  text, float8[], text, float8, float8, float8) is
  'Returns the hits of ragdb.search under a filter that may ask for fields of turns. Raises what '
  'ragdb.search raises.';

-- A slice comes by the id of a stored one, or by anchor and policy and is built now.
create or replace function ragdb_internal.named_slice(
  corpus ragdb.corpora, slice_id text, anchor text, policy jsonb,
  out slice ragdb.slices, out resolved ragdb.slice_policies)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if (named_slice.slice_id is null) = (named_slice.anchor is null) then
    raise exception 'a slice is named by its id or by its anchor'
      using errcode = 'RG400',
            detail = case when named_slice.anchor is null then 'neither was given'
              else 'both were given' end,
            hint = 'pass slice_id of a stored slice, or anchor and, if not the default, policy';
  end if;
  if named_slice.slice_id is not null then
    slice := ragdb_internal.stored_slice(corpus.corpus_id, named_slice.slice_id);
    resolved := ragdb_internal.resolve_policy(jsonb_build_object(
      'policy_id', slice.policy_id, 'params_hash', slice.params_hash));
  else
    resolved := ragdb_internal.resolve_policy(named_slice.policy);
    slice := (ragdb_internal.assemble_slice(corpus, named_slice.anchor, resolved)).slice;
  end if;
end $$;
comment on function ragdb_internal.named_slice(ragdb.corpora, text, text, jsonb) is
  'Returns a stored slice by its id, or builds one by anchor and policy. Raises RG400, RG430, '
  'RG431, RG434, RG435.';

-- Definer, like all that follow: turns, slices and keys are granted to nobody.
create or replace function ragdb.search_slice(
  corpus text, query text, slice_id text default null, anchor text default null,
  policy jsonb default null, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default 0.5, min_lexical float8 default 0, min_semantic float8 default 0)
returns setof ragdb.turn_hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(search_slice.corpus, 'read');
  v_named record := ragdb_internal.named_slice(v_corpus, slice_id, anchor, policy);
begin
  return query select w.* from ragdb_internal.with_turns(v_corpus.corpus_id, null, ragdb_internal.search_turns(
    v_corpus, query, k, mode, min_score, filter, (v_named.slice).chunk_ids, statistics,
    query_embedding, fusion, lexical_weight, min_lexical, min_semantic)) w;
end $$;
comment on function ragdb.search_slice(text, text, text, text, jsonb, integer, text, float8, jsonb,
  text, float8[], text, float8, float8, float8) is
  'Returns the k best members of a slice (by the id of a stored one, or by anchor and policy) for '
  'a query, with the other arguments of ragdb.search, exactly and without recording; filter also '
  'takes role, phase, session and min_salience. Raises what ragdb.search raises, RG430, RG431, '
  'RG434, RG435.';

create or replace function ragdb.search_global(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, chunk_ids text[] default null,
  statistics text default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default 0.5, min_lexical float8 default 0,
  min_semantic float8 default 0)
returns setof ragdb.turn_hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(search_global.corpus, 'read');
begin
  return query select w.* from ragdb_internal.with_turns(v_corpus.corpus_id, null, ragdb_internal.search_turns(
    v_corpus, query, k, mode, min_score, filter, chunk_ids, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic)) w;
end $$;
comment on function ragdb.search_global(text, text, integer, text, float8, jsonb, text[], text,
  float8[], text, float8, float8, float8) is
  'Returns the hits of ragdb.search with the same arguments and what is known of them as turns; '
  'never admissible. filter also takes role, phase, session and min_salience. Raises what '
  'ragdb.search raises.';

create or replace function ragdb_internal.shortfall(slice ragdb.slices, mode text) returns text
language sql stable parallel safe
return (
  select pg_catalog.format('%s of %s admitted chunks have no embedding by %s: %s', m.count,
      pg_catalog.cardinality((slice).chunk_ids), e.name, pg_catalog.left(m.ids, 300))
    from ragdb_internal.space((slice).corpus_id, 'current') s
    join ragdb.embedders e on e.embedder_id = s.embedder_id
    cross join lateral (
      select pg_catalog.count(*) as count,
          pg_catalog.string_agg(c.chunk_id, ', ' order by c.chunk_id collate "C") as ids
        from pg_catalog.unnest((slice).chunk_ids) i (chunk_id)
          cross join lateral (select h.chunk_id, h.chunk_no from ragdb.chunks h
            where h.corpus_id = (slice).corpus_id and h.chunk_id = i.chunk_id offset 0) c
        where not exists (select from ragdb.chunk_embeddings v where v.space_id = s.space_id
          and v.corpus_id = (slice).corpus_id and v.chunk_no = c.chunk_no)) m
    where shortfall.mode in ('semantic', 'hybrid') and m.count > 0);
comment on function ragdb_internal.shortfall(ragdb.slices, text) is
  'Says which members of a slice a search in some mode cannot look at by meaning; null when it can '
  'at all.';

create type ragdb_internal.slice_finding as (
  corpus ragdb.corpora, slice ragdb.slices, policy ragdb.slice_policies, token text, mode text,
  query_embedding real[], embedder_id integer, shortfall text, hits ragdb.hit[]);
comment on type ragdb_internal.slice_finding is
  'What a retrieval under a slice read: the corpus, the slice and its token, how it ranked and '
  'what it found.';

-- Stable, hence one snapshot: the evidence that is verified is the evidence that is searched.
create or replace function ragdb_internal.find_in_slice(
  corpus text, query text, slice_id text, anchor text, policy jsonb, k integer, mode text,
  min_score float8, filter jsonb, statistics text, query_embedding float8[], fusion text,
  lexical_weight float8, min_lexical float8, min_semantic float8)
returns ragdb_internal.slice_finding
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(find_in_slice.corpus, 'read');
  v_named record := ragdb_internal.named_slice(v_corpus, find_in_slice.slice_id, anchor, policy);
  v_embedding constant real[] := ragdb_internal.single(query_embedding);
  v_space ragdb.embedding_spaces;
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
      using errcode = 'RG436', detail = ragdb_internal.slice_changes(v_found.slice),
            hint = 'build the slice again from its anchor and policy';
  end if;
  v_found.token := ragdb_internal.issue_token(v_corpus, v_found.slice, v_found.policy);
  v_found.mode := ragdb_internal.search_mode(array[v_corpus], find_in_slice.mode, query, v_embedding);
  if v_found.mode in ('semantic', 'hybrid') then
    v_space := ragdb_internal.current_space(v_corpus);
    v_found.query_embedding := ragdb_internal.query_vector(v_corpus, v_space, query, v_embedding);
    v_found.embedder_id := v_space.embedder_id;
    v_found.shortfall := ragdb_internal.shortfall(v_found.slice, v_found.mode);
  end if;
  v_found.hits := ragdb_internal.search_turns(v_corpus, query, k, v_found.mode, min_score, filter,
    (v_found.slice).chunk_ids, statistics, v_found.query_embedding, fusion, lexical_weight,
    min_lexical, min_semantic);
  return v_found;
end $$;
comment on function ragdb_internal.find_in_slice(text, text, text, text, jsonb, integer, text, float8,
  jsonb, text, float8[], text, float8, float8, float8) is
  'Reads all that a retrieval under a slice returns and records. Raises what ragdb.search_slice '
  'raises, RG433, and RG436 when the stored slice''s evidence has changed.';

create or replace function ragdb.retrieve_slice(
  corpus text, query text, slice_id text default null, anchor text default null,
  policy jsonb default null, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default 0.5, min_lexical float8 default 0, min_semantic float8 default 0,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_found ragdb_internal.slice_finding := ragdb_internal.find_in_slice(
    corpus, query, slice_id, anchor, policy, k, mode, min_score, filter, statistics,
    query_embedding, fusion, lexical_weight, min_lexical, min_semantic);
  v_trace ragdb.retrieval_traces;
begin
  if slice_id is null then
    perform ragdb_internal.store_slice(v_found.slice, v_found.policy);
  end if;
  v_trace.retrieval_mode := 'slice';
  v_trace.rank_mode := v_found.mode;
  if v_found.query_embedding is not null then
    v_trace := ragdb_internal.note_meaning(v_trace, v_found.corpus, v_found.embedder_id,
      v_found.query_embedding, fusion, lexical_weight, min_lexical, min_semantic);
  end if;
  v_trace.slice_id := (v_found.slice).slice_id;
  v_trace.anchor_chunk_id := (v_found.slice).anchor_chunk_id;
  v_trace.slice_chunk_count := cardinality((v_found.slice).chunk_ids);
  v_trace.slice_edge_count := (v_found.slice).edge_count;
  v_trace.policy_id := (v_found.slice).policy_id;
  v_trace.policy_params_hash := (v_found.slice).params_hash;
  v_trace.schema_version := (v_found.slice).schema_version;
  v_trace.graph_snapshot_hash := (v_found.slice).graph_snapshot_hash;
  v_trace.admissibility_token := v_found.token;
  v_trace.is_admissible := v_found.shortfall is null;
  v_trace.admissibility_shortfall := v_found.shortfall is not null;
  v_trace.shortfall_reason := v_found.shortfall;
  v_trace.limit_requested := k;
  v_trace.min_score := min_score;
  v_trace.filters := filter;
  v_trace.statistics := statistics;
  v_trace.is_exact := coalesce((select bool_and(h.is_exact) from unnest(v_found.hits) h), true);
  v_trace.elapsed_ms := 1000 * extract(epoch from clock_timestamp() - v_started)::float8;
  v_trace.id := ragdb_internal.record_trace(v_found.corpus, query, v_trace, v_found.hits,
    ragdb_internal.call_context(client, otel_trace_id, otel_span_id));
  return query select w.* from ragdb_internal.with_turns(
    (v_found.corpus).corpus_id, v_trace.id, v_found.hits) w;
end $$;
comment on function ragdb.retrieve_slice(text, text, text, text, jsonb, integer, text, float8,
  jsonb, text, float8[], text, float8, float8, float8, text, text, text) is
  'Returns the hits of ragdb.search_slice with the same arguments and records the one trace that '
  'proves them: slice, policy, snapshot and a fresh token, over evidence recomputed from the rows; '
  'not admissible where members had no embedding for a search by meaning. Raises what '
  'ragdb.search_slice raises, RG433, and RG436 when the stored slice''s evidence has changed.';
