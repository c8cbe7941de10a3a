-- Ranked chunks that hits are picked among, and what two of them are compared by.

-- A ranked chunk, the document that it is of, and the hash of its text. Of a corpus as it was also
-- its impacts and its embedding, which the index of today may not have; of a part those too,
-- because each part numbers its words as it likes, and of which corpus it is one (whole_id).
create type ragdb_internal.contender as (
  ranked ragdb_internal.ranked, document text, content_hash bytea, impacts sparsevec,
  stored ragdb.chunk_embeddings, metric text, whole_id integer);

-- Returns the k best of ranked chunks of some corpora, best first. Past the k-th not all that rank
-- are known.
create or replace function ragdb_internal.contenders(
  corpora ragdb.corpora[], ranked ragdb_internal.ranked[], k integer)
returns setof ragdb_internal.contender
language sql stable parallel safe
begin atomic
  with ranked as materialized (select r as ranked, r.* from pg_catalog.unnest(contenders.ranked) r)
  select r.ranked, r.corpus_id || '.' || h.doc_no, h.content_hash, null::sparsevec,
    null::ragdb.chunk_embeddings,
    null::text, null::integer
  from ranked r
    join pg_catalog.unnest(contenders.corpora) c on c.corpus_id = r.corpus_id
    cross join lateral (
      select o.doc_no, o.chunk_id, o.content_hash from ragdb.chunks o
      where o.corpus_id = r.corpus_id and o.chunk_no = r.chunk_no offset 0) h
  where r.score >= coalesce((select s.score from ranked s order by s.score desc
    limit 1 offset contenders.k - 1), 0)
  order by r.score desc, h.chunk_id, c.name
  limit contenders.k;
end;

-- Returns the impacts of ranked chunks of several corpora by words that are numbered alike in all
-- of them; none of a chunk without words.
create or replace function ragdb_internal.common_impacts(ranked ragdb_internal.ranked[])
returns table (corpus_id integer, chunk_no integer, impacts sparsevec)
language sql stable parallel safe
begin atomic
  select n.corpus_id, n.chunk_no,
    ragdb_internal.sparse(pg_catalog.string_agg(n.term || ':' || n.impact::real, ','))
  from (
    select r.corpus_id, r.chunk_no, pg_catalog.dense_rank() over (order by l.lexeme) as term,
      x.entries[i + 1] as impact
    from pg_catalog.unnest(common_impacts.ranked) r
      cross join lateral (select ragdb_internal.entries(o.impacts) as entries
        from ragdb.chunk_lexemes o
        where o.corpus_id = r.corpus_id and o.chunk_no = r.chunk_no offset 0) x
      cross join generate_series(1, pg_catalog.cardinality(x.entries), 2) i
      cross join lateral (select d.lexeme from ragdb.lexemes d
        where d.corpus_id = r.corpus_id and d.term_id = x.entries[i]::integer offset 0) l) n
  group by n.corpus_id, n.chunk_no;
end;

-- Adds to chunks of parts what they are compared with those of other parts by.
create or replace function ragdb_internal.comparable(
  corpora ragdb.corpora[], contenders ragdb_internal.contender[])
returns ragdb_internal.contender[]
language sql stable parallel safe
return (
  with impacts as materialized (
    select i.* from ragdb_internal.common_impacts(array(
      select c.ranked from pg_catalog.unnest(comparable.contenders) c)) i
  ), spaces as materialized (
    select c.corpus_id, c.part_of, s.space_id, (select e.metric from ragdb.embedders e
      where e.embedder_id = s.embedder_id) as metric
    from pg_catalog.unnest(comparable.corpora) c
      cross join lateral ragdb_internal.space(c.corpus_id, 'current') s
  )
  select pg_catalog.array_agg(row(c.ranked, c.document, c.content_hash,
    case when s.part_of is not null then coalesce(i.impacts, ragdb_internal.sparse(null)) end,
    case when s.part_of is not null then
      (select e from ragdb_internal.stored_of(
        s.space_id, s.corpus_id, array[(c.ranked).chunk_no]) e) end,
    case when s.part_of is not null then s.metric end, s.part_of)::ragdb_internal.contender
    order by c.ordinality)
  from pg_catalog.unnest(comparable.contenders) with ordinality c
    join spaces s on s.corpus_id = (c.ranked).corpus_id
    left join impacts i on i.corpus_id = s.corpus_id and i.chunk_no = (c.ranked).chunk_no);

-- Returns the k best of ranked chunks of some corpora, best first, with what they are compared by
-- where a search of parts compares them.
create or replace function ragdb_internal.to_pick(
  corpora ragdb.corpora[], ranked ragdb_internal.ranked[], request ragdb_internal.search_request)
returns ragdb_internal.contender[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_contenders constant ragdb_internal.contender[] := array(
    select c from ragdb_internal.contenders(corpora, ranked, request.k) c);
begin
  if ((request.options).collapse or (request.options).diversity > 0)
    and ragdb_internal.are_parts_of_one(corpora)
  then
    return coalesce(ragdb_internal.comparable(corpora, v_contenders), '{}');
  end if;
  return v_contenders;
end $$;
