-- The legs of a search by meaning over parts of one corpus, ranked as those of it in one piece.
--
-- Each part ranks both legs to their depths. What is deeper than that in both legs of all parts
-- together is not a candidate, and a rank is one among all parts.

-- Whether several of some corpora are parts of one.
create or replace function ragdb_internal.are_parts_of_one(corpora ragdb.corpora[])
returns boolean
language sql immutable parallel safe
return pg_catalog.cardinality(are_parts_of_one.corpora) > 1 and exists (
  select from pg_catalog.unnest(are_parts_of_one.corpora) c
  where c.part_of is not null group by c.part_of having count(*) > 1);

-- Refuses to compare meanings over parts of one corpus with different embedders. Similarities by
-- two models do not compare. Raises RG417.
create or replace function ragdb_internal.check_one_embedder(corpora ragdb.corpora[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole text;
begin
  select w.name into v_whole
    from unnest(corpora) c join ragdb.corpora w on w.corpus_id = c.part_of
    group by w.name
    having count(distinct (ragdb_internal.space(c.corpus_id, 'current')).embedder_id) > 1
    limit 1;
  if found then
    raise exception 'the parts of corpus % are embedded by several embedders',
        ragdb_internal.quote(v_whole)
      using errcode = 'RG417', detail = 'similarities by two models do not compare',
        hint = 'pass mode => ''lexical'' until all parts are embedded by one; '
               'ragdb.reembed_corpus() changes that of a part';
  end if;
end $$;

-- Refuses a search by meaning over several corpora whose similarities would not compare: of parts
-- of one corpus that several embedders embed, or by one given embedding. Raises RG417, RG418.
create or replace function ragdb_internal.check_embedders(
  corpora ragdb.corpora[], request ragdb_internal.search_request)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_several text;
begin
  perform ragdb_internal.check_one_embedder(corpora);
  if request.query_embedding is not null and request.is_fit is not true then
    v_several := ragdb_internal.several_embedders(corpora);
    if v_several is not null then
      raise exception 'a query_embedding is of one embedder, and %', v_several
        using errcode = 'RG418', detail = 'vectors of two models do not compare',
              hint = 'search corpora of one embedder, or give all the same with '
                     'ragdb.reembed_corpus()';
    end if;
  end if;
end $$;

-- A chunk in a ranking of a part: the corpus that it is a part of, the share of the lexical leg
-- there, and the id of the chunk, null where the caller knows it by its numbers.
create type ragdb_internal.part_candidate as (
  whole_id integer, weight float8, chunk_id text, ranked ragdb_internal.ranked);

-- Returns what is a candidate of a semantic or hybrid search for k hits among all parts of a
-- corpus, with its ranks, and the score by rrf, among them.
create or replace function ragdb_internal.legs_of_all(
  candidates ragdb_internal.part_candidate[], k integer, fusion text)
returns setof ragdb_internal.ranked
language sql stable parallel safe
begin atomic
  with near as (
    select r.*, p.whole_id, p.weight,
      case when r.semantic_rank is not null then pg_catalog.rank() over (
        partition by p.whole_id, r.semantic_rank is null
        order by r.semantic_score desc)::integer end as nearness
    from pg_catalog.unnest(legs_of_all.candidates) p
      cross join lateral (select (p.ranked).*) r
  ), placed as (
    select n.*, n.nearness <= d.near as is_near, d.worded as depth,
      case when n.lexical_rank is not null then pg_catalog.rank() over (
        partition by n.whole_id,
          n.lexical_rank is not null or coalesce(n.nearness <= d.near, false)
        order by n.lexical_score desc)::integer end as place
    from near n
      cross join (select ragdb_internal.worded_depth(legs_of_all.k) as worded,
        ragdb_internal.near_depth(legs_of_all.k) as near) d
  ), merged as (
    select p.*, case when p.place <= p.depth then p.place end as worded,
      case when p.is_near then p.nearness end as neared
    from placed p where p.place <= p.depth or p.is_near
  )
  select m.corpus_id, m.chunk_no,
    case legs_of_all.fusion when 'rrf' then ragdb_internal.fused('rrf', m.weight, m.lexical_score,
      m.semantic_score, m.worded, m.neared) else m.score end,
    m.lexical_score, m.semantic_score, m.worded, m.neared, m.bm25, m.coverage, m.is_exact
  from merged m;
end;

-- Returns the candidates of a semantic or hybrid search of each of some corpora, those of parts of
-- one corpus with their ranks, and the score by rrf, among all of these parts.
create or replace function ragdb_internal.merged_legs(
  corpora ragdb.corpora[], ranked ragdb_internal.ranked[], request ragdb_internal.search_request)
returns setof ragdb_internal.ranked
language sql stable parallel safe
begin atomic
  with parts as materialized (
    select c.corpus_id, c.part_of, coalesce((request).lexical_weight, ragdb_internal.lexical_weight(
        (ragdb_internal.space(c.corpus_id, 'current')).embedder_id)) as weight
    from pg_catalog.unnest(merged_legs.corpora) c where c.part_of is not null
  )
  select l.* from ragdb_internal.legs_of_all(array(
      select row(p.part_of, p.weight, null, r)::ragdb_internal.part_candidate
      from pg_catalog.unnest(merged_legs.ranked) r
        join parts p on p.corpus_id = r.corpus_id),
      (request).k, (request).fusion) l
  union all
  select r.* from pg_catalog.unnest(merged_legs.ranked) r
    where r.corpus_id not in (select p.corpus_id from parts p);
end;
