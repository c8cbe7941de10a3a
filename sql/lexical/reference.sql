-- The reference ranking: Jaccard of sets of words, as the reference runtime of the contracts ranks.
-- It reads every chunk, and is there to compare with.

-- Returns the distinct runs of letters, marks and numbers (Unicode 15.0) of a text in NFKC and
-- lower case, in the order of their first places.
create or replace function ragdb_internal.reference_tokens(text text) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text := text;
begin
  if octet_length(v_text) <> length(v_text) then
    v_text := ragdb_internal.reference_lower(
      normalize(regexp_replace(v_text, '[' || ragdb_internal.unassigned() || ']+', ' ', 'g'),
        nfkc));
  end if;
  return array(
    select t.token
    from (
      select case
          when octet_length(w.word[1]) > length(w.word[1])
            and w.word[1] ~ ('[' || ragdb_internal.capitals() || ']')
          then translate(w.word[1], ragdb_internal.capitals(), ragdb_internal.smalls())
          else w.word[1]
        end as token, w.ordinal
      from regexp_matches(
          lower(v_text collate "C"), '[a-z0-9' || ragdb_internal.wordly() || ']+', 'g')
        with ordinality w (word, ordinal)) t
    group by t.token
    order by min(t.ordinal));
end $$;

-- Returns the Jaccard coefficient of two sets of tokens, in [0, 1]; 0 for two empty sets.
create or replace function ragdb_internal.jaccard(a text[], b text[]) returns float8
language sql immutable parallel safe
return (
  select coalesce(
    n.both / nullif(cardinality(jaccard.a) + cardinality(jaccard.b) - n.both, 0)::float8, 0)
  from (
    select count(*) as both from unnest(jaccard.a) x (token)
    where x.token = any (jaccard.b)) n);

-- Returns the k chunks whose sets of words are most like the query's (Jaccard, over 0), as the
-- reference runtime ranks. Reads every chunk. Raises RG410.
create or replace function ragdb_internal.rank_reference(
  corpus ragdb.corpora, query text, k integer, filter jsonb, chunk_ids text[])
returns table (chunk_no integer, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tokens text[] := ragdb_internal.reference_tokens(query);
  v_among integer[] := ragdb_internal.filtered_chunks(corpus.corpus_id, filter, chunk_ids);
begin
  return query
    select j.chunk_no, j.score
    from (
      select c.chunk_no, c.chunk_id,
        ragdb_internal.jaccard(v_tokens, ragdb_internal.reference_tokens(c.text)) as score
      from ragdb.chunks c
      where c.corpus_id = corpus.corpus_id
        and (v_among is null or c.chunk_no in (select unnest(v_among)))
      offset 0) j -- a score is made once
    where j.score > 0
    order by j.score desc, j.chunk_id
    limit k;
end $$;
