-- Search that knows turns. A slice is an exact filter inside ranking, and what is found is never
-- cut by an approximate index.

create type ragdb.turn_hit as (
  trace_id uuid, rank integer, corpus text, chunk_id text, source text, title text,
  heading text[], page integer, text text, citation jsonb, score float8, lexical_score float8,
  semantic_score float8, lexical_rank integer, semantic_rank integer, bm25 float8,
  coverage float8, content_hash text, metadata jsonb, mode text, is_exact boolean,
  session_id text, role text, phase text, salience real, depth integer, sibling_order integer,
  homogeneity real, temporal real, complexity real, context text);
comment on type ragdb.turn_hit is
  'One result of a search that knows turns: the chunk and its scores, and its session, role and '
  'trajectory where it is a turn; trace_id where it was recorded.';

-- Adds to hits what is known of them as turns.
create or replace function ragdb_internal.with_turns(
  corpus_id integer, trace_id uuid, hits ragdb.hit[])
returns setof ragdb.turn_hit
language sql stable parallel safe
begin atomic
  select with_turns.trace_id, h.rank, h.corpus, h.chunk_id, h.source, h.title, h.heading, h.page,
      h.text, h.citation, h.score, h.lexical_score, h.semantic_score, h.lexical_rank,
      h.semantic_rank, h.bm25, h.coverage, h.content_hash, h.metadata, h.mode, h.is_exact,
      t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order, t.homogeneity,
      ragdb_internal.turn_temporal(t.corpus_id, t.session_id, t.created_at), t.complexity,
      h.context
    from pg_catalog.unnest(with_turns.hits) h
    cross join lateral ragdb_internal.chunk_of(with_turns.corpus_id, h.chunk_id) c
    left join ragdb.turns t on t.corpus_id = c.corpus_id and t.chunk_no = c.chunk_no
    order by h.rank;
end;

-- Refuses a filter whose role, phase or session is not a text, or whose min_salience is not a
-- number of 0 to 1. Raises RG410.
create or replace function ragdb_internal.check_turn_filter(filter jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key text;
begin
  foreach v_key in array array['role', 'phase', 'session'] loop
    if filter ? v_key and jsonb_typeof(filter -> v_key) <> 'string' then
      raise exception 'filter % is not a text', v_key
        using errcode = 'RG410',
          detail = 'its value is ' || ragdb_internal.quote((filter -> v_key)::text),
          hint = 'role, phase and session take one text each';
    end if;
  end loop;
  if filter ? 'min_salience' and (jsonb_typeof(filter -> 'min_salience') <> 'number'
      or not (filter ->> 'min_salience')::numeric between 0 and 1)
  then
    raise exception 'filter min_salience is not a number of 0 to 1'
      using errcode = 'RG410',
        detail = 'its value is ' || ragdb_internal.quote((filter -> 'min_salience')::text),
        hint = 'salience is a share';
  end if;
end $$;

-- Tells whether a turn has the role, phase and session, and at least the min_salience, that a
-- checked filter asks for.
create or replace function ragdb_internal.meets_turn_filter(turn ragdb.turns, filter jsonb)
returns boolean
language sql immutable parallel safe
return (meets_turn_filter.filter ->> 'role' is null
    or (turn).role = meets_turn_filter.filter ->> 'role')
  and (meets_turn_filter.filter ->> 'phase' is null
    or (turn).phase = meets_turn_filter.filter ->> 'phase')
  and (meets_turn_filter.filter ->> 'session' is null
    or (turn).session_id = meets_turn_filter.filter ->> 'session')
  -- no single is as small as what is rounded away
  and (meets_turn_filter.filter ->> 'min_salience' is null or (turn).salience
    >= pg_catalog.round((meets_turn_filter.filter ->> 'min_salience')::numeric, 37)::real);

-- Returns the fields of a filter that are about turns and not about metadata.
create or replace function ragdb_internal.turn_fields() returns text[]
language sql immutable parallel safe
return '{role,phase,session,min_salience}'::text[];

-- Takes role, phase, session and min_salience out of a filter and returns the chunks that satisfy
-- them among those given (null: all), with the rest of the filter. The fields of a turn are asked
-- for in the same filter as metadata; they choose the chunks, the rest goes on to search. Raises
-- RG410.
create or replace function ragdb_internal.turn_filter(
  corpus_id integer, filter jsonb, chunk_ids text[], out members text[], out rest jsonb)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_filter constant jsonb := turn_filter.filter;
  v_fields constant text[] := ragdb_internal.turn_fields();
begin
  members := turn_filter.chunk_ids;
  rest := v_filter;
  if coalesce(jsonb_typeof(v_filter) <> 'object', true) or not v_filter ?| v_fields then
    return;
  end if;
  perform ragdb_internal.check_turn_filter(v_filter);
  members := array(
    select c.chunk_id from ragdb.turns t join ragdb.chunks c using (corpus_id, chunk_no)
      where t.corpus_id = any (ragdb_internal.with_parts(turn_filter.corpus_id))
        and ragdb_internal.meets_turn_filter(t, v_filter)
        and (turn_filter.chunk_ids is null
          or c.chunk_id in (select unnest(turn_filter.chunk_ids))));
  rest := nullif(v_filter - v_fields, '{}');
end $$;

-- Returns the hits of ragdb.search under a filter that may ask for fields of turns. Raises what
-- ragdb.search raises.
create or replace function ragdb_internal.search_turns(
  corpus ragdb.corpora, asked ragdb_internal.search_arguments)
returns ragdb.hit[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
begin
  select f.rest, f.members into asked.filter, asked.chunk_ids
    from ragdb_internal.turn_filter(corpus.corpus_id, asked.filter, asked.chunk_ids) f;
  return array(select h from ragdb_internal.search_as(corpus.name, asked) h order by h.rank);
end $$;

-- Returns a stored slice by its id, or builds one by anchor and policy. A slice comes by the id of
-- a stored one, or by anchor and policy and is built now. Raises RG400, RG430, RG431, RG434, RG435.
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

-- Definer, like ragdb.search_global: turns, slices and keys are granted to nobody.
create or replace function ragdb.search_slice(
  corpus text, query text, slice_id text default null, anchor text default null,
  policy jsonb default null, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, statistics text default null,
  query_embedding float8[] default null, fusion text default 'convex',
  lexical_weight float8 default null, min_lexical float8 default 0, min_semantic float8 default 0,
  syntax text default 'plain', per_document integer default null, collapse boolean default false,
  diversity float8 default 0, context integer default 0, section boolean default false,
  typos boolean default true)
returns setof ragdb.turn_hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(search_slice.corpus, 'read');
  v_named constant record := ragdb_internal.named_slice(v_corpus, slice_id, anchor, policy);
  v_asked constant ragdb_internal.search_arguments := row(
    query, k, mode, min_score, filter, (v_named.slice).chunk_ids, statistics, query_embedding,
    fusion, lexical_weight, min_lexical, min_semantic,
    row(syntax, per_document, collapse, diversity, context, section, typos)
      ::ragdb_internal.search_options);
begin
  return query select w.* from ragdb_internal.with_turns(
    v_corpus.corpus_id, null, ragdb_internal.search_turns(v_corpus, v_asked)) w;
end $$;
comment on function ragdb.search_slice is
  'Returns the k best members of a slice (by the id of a stored one, or by anchor and policy) for '
  'a query, with the other arguments of ragdb.search, exactly and without recording; filter also '
  'takes role, phase, session and min_salience. Raises what ragdb.search raises, RG430, RG431, '
  'RG434, RG435.';

create or replace function ragdb.search_global(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, chunk_ids text[] default null,
  statistics text default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default null, min_lexical float8 default 0,
  min_semantic float8 default 0,
  syntax text default 'plain', per_document integer default null, collapse boolean default false,
  diversity float8 default 0, context integer default 0, section boolean default false,
  typos boolean default true)
returns setof ragdb.turn_hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(search_global.corpus, 'read', true);
  v_asked constant ragdb_internal.search_arguments := row(
    query, k, mode, min_score, filter, chunk_ids, statistics, query_embedding, fusion,
    lexical_weight, min_lexical, min_semantic,
    row(syntax, per_document, collapse, diversity, context, section, typos)
      ::ragdb_internal.search_options);
begin
  return query select w.* from ragdb_internal.with_turns(
    v_corpus.corpus_id, null, ragdb_internal.search_turns(v_corpus, v_asked)) w;
end $$;
comment on function ragdb.search_global is
  'Returns the hits of ragdb.search with the same arguments and what is known of them as turns; '
  'they are never admissible. filter also takes role, phase, session and min_salience. Raises what '
  'ragdb.search raises.';
