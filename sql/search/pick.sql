-- Picks hits among ranked chunks: at most so many of a document, none that repeats a better one,
-- and diverse ones. The search goes deeper until it has as many as were asked for.
--
-- What a chunk says is compared by its impacts, which the lexical index keeps: the cosine of two of
-- them is 1 for the same words as often, and does not need a model.

-- Tells whether two chunks have nearly the same words as often, by their impacts: a cosine of 0.95
-- or more. Rounding may make a cosine more than 1, and a chunk without words has NaN.
create or replace function ragdb_internal.has_same_words(a sparsevec, b sparsevec) returns boolean
language sql immutable parallel safe
return ragdb_internal.cosine(has_same_words.a, has_same_words.b) between 0.95 and 1.1;

-- Tells whether a chunk has nearly the same words as often as one of others of its corpus.
create or replace function ragdb_internal.is_near(
  corpus_id integer, chunk_no integer, chunk_nos integer[])
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_impacts ragdb.chunk_lexemes.impacts%type;
begin
  select x.impacts into v_impacts from ragdb.chunk_lexemes x
    where x.corpus_id = is_near.corpus_id and x.chunk_no = is_near.chunk_no;
  return exists (
    select from ragdb.chunk_lexemes x
    where x.corpus_id = is_near.corpus_id and x.chunk_no = any (is_near.chunk_nos)
      and ragdb_internal.has_same_words(x.impacts, v_impacts));
end $$;

-- Returns the first of some chunks that are neither too many of a document nor repeat one before
-- them, by the same text or, in a corpus or its parts, nearly the same words; at most so many.
create or replace function ragdb_internal.picked(
  contenders ragdb_internal.contender[], options ragdb_internal.search_options, most integer)
returns ragdb_internal.contender[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_contender ragdb_internal.contender;
  v_ranked ragdb_internal.ranked;
  v_picked ragdb_internal.contender[] := '{}';
  v_documents text[] := '{}';
  v_hashes bytea[] := '{}';
  v_ids integer[] := '{}';
  v_nos integer[] := '{}';
begin
  foreach v_contender in array contenders loop
    exit when cardinality(v_picked) >= most;
    continue when
      cardinality(array_positions(v_documents, v_contender.document)) >= options.per_document;
    v_ranked := v_contender.ranked;
    if options.collapse then
      continue when v_contender.content_hash = any (v_hashes) or ragdb_internal.is_near(
        v_ranked.corpus_id, v_ranked.chunk_no, array(
          select n.chunk_no from unnest(v_ids, v_nos) n (corpus_id, chunk_no)
          where n.corpus_id = v_ranked.corpus_id and v_contender.impacts is null))
        or exists (select from unnest(v_picked) p
          where p.whole_id is not distinct from v_contender.whole_id
            and ragdb_internal.has_same_words(p.impacts, v_contender.impacts));
      v_hashes := v_hashes || v_contender.content_hash;
      v_ids := v_ids || v_ranked.corpus_id;
      v_nos := v_nos || v_ranked.chunk_no;
    end if;
    v_picked := v_picked || v_contender;
    v_documents := v_documents || v_contender.document;
  end loop;
  return v_picked;
end $$;

-- Returns how like (0 to 1) some chunks of a corpus are to one of it: by their embeddings where it
-- has one, else by their words.
create or replace function ragdb_internal.likeness(
  corpus ragdb.corpora, own_no integer, chunk_nos integer[])
returns table (chunk_no integer, likeness float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.read_space(corpus.corpus_id);
  v_metric text;
  v_embedding ragdb.chunk_embeddings.embedding%type;
begin
  select v.embedding into v_embedding from ragdb_internal.vectors_of(
    v_space.space_id, corpus.corpus_id, array[likeness.own_no]) v;
  if found then
    select e.metric into strict v_metric from ragdb.embedders e
      where e.embedder_id = v_space.embedder_id;
    return query select d.chunk_no, ragdb_internal.nearness(d.distance, v_metric)
      from ragdb_internal.chunk_distances(v_space, v_metric, v_embedding, likeness.chunk_nos) d;
  else
    return query
      select b.chunk_no, ragdb_internal.cosine(a.impacts, b.impacts)
      from ragdb.chunk_lexemes a join ragdb.chunk_lexemes b on b.corpus_id = a.corpus_id
      where a.corpus_id = corpus.corpus_id and a.chunk_no = likeness.own_no
        and b.chunk_no = any (likeness.chunk_nos);
  end if;
end $$;

-- Returns how like (0 to 1) some chunks of a corpus as it was, or of the parts of one, are to one
-- of them, as ragdb_internal.likeness does for one corpus of today.
create or replace function ragdb_internal.likeness_among(
  own ragdb_internal.contender, pool ragdb_internal.contender[])
returns table (corpus_id integer, chunk_no integer, likeness float8)
language sql immutable parallel safe
begin atomic
  select ((p).ranked).corpus_id, ((p).ranked).chunk_no, case
    when ((own).stored).chunk_no is not null then ragdb_internal.stored_similarity(
      (p).stored, ragdb_internal.full_vector((own).stored), (own).metric)
    else ragdb_internal.cosine((p).impacts, (own).impacts) end
  from pg_catalog.unnest(likeness_among.pool) p
  where (p).whole_id is not distinct from (own).whole_id
    and (((own).stored).chunk_no is null or ((p).stored).chunk_no is not null);
end;

-- Picks k chunks of a pool one after the other, each with the best of (1 - diversity) times its
-- score less diversity times its likeness (0 to 1) to the nearest that was picked. Maximal marginal
-- relevance (Carbonell and Goldstein, SIGIR 1998).
create or replace function ragdb_internal.diverse(
  corpora ragdb.corpora[], pool ragdb_internal.contender[], diversity float8, k integer)
returns ragdb_internal.contender[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_closest float8[] := array_fill(0::float8, array[cardinality(pool)]);
  v_left integer[] := array(select generate_subscripts(pool, 1));
  v_at integer;
  v_picked ragdb_internal.contender[] := '{}';
begin
  while cardinality(v_picked) < k and v_left <> '{}' loop
    select l.n into v_at from unnest(v_left) l (n)
      order by (1 - diversity) * (pool[l.n].ranked).score - diversity * v_closest[l.n] desc, l.n
      limit 1;
    v_picked := v_picked || pool[v_at];
    v_left := array_remove(v_left, v_at);
    v_closest := array(
      select greatest(v_closest[p.ordinality], nullif(s.likeness, 'NaN'))
      from unnest(pool) with ordinality p
        left join (
          select c.corpus_id, s.* from unnest(corpora) c
            cross join lateral ragdb_internal.likeness(c, (pool[v_at].ranked).chunk_no, array(
              select (o.ranked).chunk_no from unnest(pool) o
              where (o.ranked).corpus_id = c.corpus_id)) s
          where c.corpus_id = (pool[v_at].ranked).corpus_id and pool[v_at].impacts is null
          union all
          select s.*
          from ragdb_internal.likeness_among(pool[v_at], pool) s
          where pool[v_at].impacts is not null) s
          on s.corpus_id = (p.ranked).corpus_id and s.chunk_no = (p.ranked).chunk_no
      order by p.ordinality);
  end loop;
  return v_picked;
end $$;

-- Returns picked chunks as a ranking, in their order.
create or replace function ragdb_internal.ranked_of(picked ragdb_internal.contender[])
returns ragdb_internal.ranked[]
language sql immutable parallel safe
return array(
  select p.ranked from unnest(ranked_of.picked) with ordinality p order by p.ordinality);

-- Returns how deep to rank next where ranking k deep left too few to pick: as deep as it must be if
-- it goes on like this, and half of that more.
create or replace function ragdb_internal.deeper(k integer, wanted integer, picked integer)
returns integer
language sql immutable parallel safe
return least(8, greatest(2, ceil(1.5 * deeper.wanted / deeper.picked)))::integer * deeper.k;
