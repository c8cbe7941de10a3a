-- A corpus whose parts are on several servers: each ranks the parts that it has, and one merges
-- what all of them found. A chunk has the same scores on each server as in the corpus in one piece
-- where all have the same digest. So whoever asks several passes one, and a server that ranks by
-- anything else refuses.

-- Returns the SHA-256 (hex) of what the scores of a corpus with parts rest on beside its chunks.
create or replace function ragdb_internal.ranking_digest(whole ragdb.corpora) returns text
language sql stable parallel safe
return pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
  pg_catalog.concat_ws(E'\n', (whole).name, (whole).text_config,
    (select pg_catalog.encode(
        pg_catalog.string_agg(pg_catalog.float8send(n.number), '' order by n.i), 'hex')
      from (values (1, (whole).k1), (2, (whole).b), (3, (whole).pivot)) n (i, number)),
    (select pg_catalog.string_agg(concat_ws(' ', p.name, encode(p.digest, 'hex')), E'\n'
        order by p.name)
      from (
        select c.name, s.digest
        from ragdb.corpora c join ragdb.part_states s on s.corpus_id = c.corpus_id
        where c.part_of = (whole).corpus_id
        union all
        select e.name, e.digest from ragdb.parts_elsewhere e
        where e.corpus_id = (whole).corpus_id) p),
    (select jsonb_build_array(e.model, e.revision, e.dims, e.metric, e.query_prefix,
        e.passage_prefix, e.weights_sha256, ragdb_internal.lexical_weight(e.embedder_id)::numeric)
      from ragdb.embedders e where e.embedder_id = (ragdb_internal.space(
        ragdb_internal.embedded_as(whole), 'current')).embedder_id),
    case when (whole).has_synonyms then (
      select jsonb_agg(jsonb_build_array(s.word, s.means) order by s.word, s.means)
      from ragdb.synonyms s where s.corpus_id = (whole).corpus_id) end), 'UTF8')), 'hex');

create or replace function ragdb.ranking_digest(corpus text) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole constant ragdb.corpora := ragdb_internal.open_corpus(ranking_digest.corpus, 'read', true);
begin
  perform ragdb_internal.check_has_parts(v_whole);
  return ragdb_internal.ranking_digest(v_whole);
end $$;
comment on function ragdb.ranking_digest is
  'Returns the SHA-256 (hex) of what the scores of a corpus with parts rest on beside its chunks: '
  'how it is analysed, k1, b, the pivot, what is counted of each part, the embedder, the synonyms. '
  'Servers on which it is equal give a chunk the same score. Raises RG400, RG404.';

-- Refuses to search a corpus as one of several servers with wrong arguments, or by a digest that is
-- not its own. Raises RG400, RG439.
create or replace function ragdb_internal.check_shares(
  whole ragdb.corpora, request ragdb_internal.search_request, expects text)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_request(request), ragdb_internal.check_has_parts(whole);
  if expects <> ragdb_internal.ranking_digest(whole) then
    raise exception 'corpus % ranks by other statistics here', ragdb_internal.quote(whole.name)
      using errcode = 'RG439',
        detail = 'scores of two servers compare where both count the same parts, with one pivot, '
          'one embedder and the same synonyms',
        hint = '`ragdb corpus sync` with all servers, or Servers.sync() in Python, exchanges the '
          'statistics; ragdb.ranking_digest() says whether they are equal';
  end if;
end $$;

create or replace function ragdb.search_candidates(
  corpus text, query text, k integer default 10, mode text default null,
  filter jsonb default null, chunk_ids text[] default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default null, syntax text default 'plain',
  per_document integer default null, context integer default 0, section boolean default false,
  typos boolean default true, expects text default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_request ragdb_internal.search_request := row(query, k, mode, 0, filter, chunk_ids,
    ragdb_internal.single(query_embedding), fusion, lexical_weight, 0, 0,
    row(syntax, per_document, false, 0, context, section, typos)::ragdb_internal.search_options,
    null);
  v_whole constant ragdb.corpora :=
    ragdb_internal.open_corpus(search_candidates.corpus, 'read', true);
  v_parts ragdb.corpora[];
  v_ranked ragdb_internal.ranked[];
begin
  perform ragdb_internal.check_shares(v_whole, v_request, expects);
  v_parts := ragdb_internal.open_parts(v_whole, is_of_several => true);
  if filter is not null then
    perform ragdb_internal.filter_conditions(filter);
  end if;
  v_request := ragdb_internal.with_mode(v_parts, v_request);
  if per_document is not null and v_request.mode = 'hybrid' then
    raise exception 'per_document does not go with mode hybrid over several servers'
      using errcode = 'RG400', detail = 'how deep both legs rank depends on what all servers pick',
        hint = 'pass mode => ''lexical'' or ''semantic'', or leave per_document out';
  end if;
  v_ranked := case when per_document is not null
    then ragdb_internal.rank_picked(v_parts, null, v_request)
    else ragdb_internal.rank_corpora(v_parts, null, v_request) end;
  return query select h.* from ragdb_internal.hits(v_parts, v_ranked,
    case when v_request.mode = 'hybrid' then greatest(1, cardinality(v_ranked)) else k end,
    v_request.mode, v_request.options) h order by h.rank;
end $$;
comment on function ragdb.search_candidates is
  'Returns what the parts of a corpus that this server has find for a query, with the arguments of '
  'ragdb.search, for ragdb.merge_candidates: the k best, in mode hybrid all that both legs rank. '
  'expects is the ragdb.ranking_digest that all servers must have (null: any). Raises RG400, '
  'RG401, RG404, RG410, RG415, RG417, RG418, RG439.';

-- Refuses to merge what is not candidates, or with wrong arguments. Raises RG400.
create or replace function ragdb_internal.check_candidates(
  shares jsonb, request ragdb_internal.search_request)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_request(request);
  if (jsonb_typeof(shares) = 'array'
      and not jsonb_path_exists(shares, 'strict $[*] ? (@.type() != "array")')
      and not jsonb_path_exists(shares, 'strict $[*][*] ? (@.type() != "object")')
      and not jsonb_path_exists(shares, '$[*][*] ? (!exists (@.chunk_id)
        || @.chunk_id.type() != "string" || !exists (@.score) || @.score.type() != "number"
        || @.score < 0 || @.score > 1 || @.lexical_score < 0 || @.lexical_score > 1
        || @.semantic_score < 0 || @.semantic_score > 1)')
    ) is not true
  then
    raise exception 'shares is not a list of lists of candidates'
      using errcode = 'RG400',
        detail = 'a candidate is an object with chunk_id and score (0 to 1) at least',
        hint = 'pass what ragdb.search_candidates() returned, a list for each server';
  elsif (request.mode = any (ragdb_internal.search_modes())) is not true then
    raise exception 'mode is %', coalesce(ragdb_internal.quote(request.mode), 'null')
      using errcode = 'RG400', detail = 'candidates are merged by the mode that found them',
        hint = 'pass lexical, semantic, hybrid or reference';
  end if;
end $$;

-- Reads the candidates of several servers: corpus_id is the number of the server and chunk_no that
-- of the candidate, both from 1.
create or replace function ragdb_internal.given_candidates(
  shares jsonb, whole_id integer, weight float8)
returns ragdb_internal.part_candidate[]
language sql immutable parallel safe
return array(
  select row(given_candidates.whole_id, given_candidates.weight, c.chunk_id, row(s.n, c.n, c.score,
      c.lexical_score, c.semantic_score, c.lexical_rank, c.semantic_rank, null, null, true
    )::ragdb_internal.ranked)::ragdb_internal.part_candidate
  from pg_catalog.jsonb_array_elements(given_candidates.shares) with ordinality s (share, n)
    cross join lateral rows from (pg_catalog.jsonb_to_recordset(s.share) as (
      chunk_id text, score float8, lexical_score float8, semantic_score float8,
      lexical_rank integer, semantic_rank integer)) with ordinality c (
      chunk_id, score, lexical_score, semantic_score, lexical_rank, semantic_rank, n));

create or replace function ragdb.merge_candidates(
  corpus text, shares jsonb, k integer default 10, mode text default 'lexical',
  min_score float8 default 0, fusion text default 'convex', lexical_weight float8 default null,
  min_lexical float8 default 0, min_semantic float8 default 0, asked text default null,
  is_unmet boolean default false)
returns table (rank integer, share integer, place integer, chunk_id text, score float8,
  lexical_rank integer, semantic_rank integer)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_whole constant ragdb.corpora :=
    ragdb_internal.open_corpus(merge_candidates.corpus, 'read', true);
  v_request constant ragdb_internal.search_request := row('-', k, mode, min_score, null, null,
    null, fusion, lexical_weight, min_lexical, min_semantic,
    row('plain', null, false, 0, 0, false, true)::ragdb_internal.search_options, null);
  v_candidates ragdb_internal.part_candidate[];
begin
  perform ragdb_internal.check_candidates(shares, v_request);
  begin
    v_candidates := ragdb_internal.given_candidates(shares, v_whole.corpus_id,
      coalesce(lexical_weight, ragdb_internal.lexical_weight((ragdb_internal.space(
        ragdb_internal.embedded_as(v_whole), 'current')).embedder_id)));
  exception when data_exception then
    raise exception 'shares has a score or a rank that is not a number'
      using errcode = 'RG400', detail = 'scores are numbers from 0 to 1, ranks integers, or null',
        hint = 'pass what ragdb.search_candidates() returned, a list for each server';
  end;
  if is_unmet then
    perform ragdb_internal.say_unmet(asked);
  else
    perform ragdb_internal.say_what_phrases_lack(asked, v_whole.text_config);
  end if;
  return query
    with merged as (
      select l.* from ragdb_internal.legs_of_all(v_candidates, k, fusion) l
        where ragdb_internal.uses_embeddings(mode)
      union all
      select (c.ranked).* from unnest(v_candidates) c
        where not ragdb_internal.uses_embeddings(mode)
    )
    select row_number() over best::integer, m.corpus_id, m.chunk_no, c.chunk_id, m.score,
      case when mode = 'lexical' then rank() over (order by m.score desc)
        else m.lexical_rank end::integer, m.semantic_rank
    from merged m join unnest(v_candidates) c
      on (c.ranked).corpus_id = m.corpus_id and (c.ranked).chunk_no = m.chunk_no
    where ragdb_internal.reaches_floors(m, v_request)
    window best as (order by m.score desc, c.chunk_id collate "C", m.corpus_id)
    order by 1 limit k;
end $$;
comment on function ragdb.merge_candidates is
  'Merges what ragdb.search_candidates found on several servers: shares is a list with one list '
  'for each, of objects with chunk_id, score, lexical_score, semantic_score, lexical_rank and '
  'semantic_rank. Returns the k best as ragdb.search of the corpus in one piece would: of which '
  'share and place in it, from 1, with rank and score among all. asked is the query in syntax web '
  'and is_unmet whether only its plain words find something, for the notices of ragdb.search. '
  'Raises RG400, RG404.';
