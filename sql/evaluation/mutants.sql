-- Broken retrievers: what each would have returned for a case instead of the sound one. An eval
-- that passes with them tests nothing.

-- Lists the broken retrievers that evals are challenged with.
create or replace function ragdb_internal.mutants() returns text[]
language sql immutable parallel safe
return array['reversed order', 'random order', 'first result dropped', 'last result dropped',
  'one more than topK', 'only the first', 'threshold ignored', 'off by one page', 'wrong results',
  'citation stripped', 'source lost', 'text lost', 'stale chunk', 'scores doubled',
  'scores halved', 'constant score', 'every chunk twice', 'ASCII only', 'empty'];

-- Whether a broken retriever returns a hit, where the sound one gave so many of so many found.
create or replace function ragdb_internal.mutant_keeps(mutant text, hit ragdb_internal.eval_hit,
  given integer, found integer, k integer) returns boolean
language sql immutable parallel safe
return case mutant
  when 'one more than topK' then (hit).rank <= k + 1
  when 'threshold ignored' then (hit).rank <= k
  when 'first result dropped' then (hit).rank between 2 and k + 1
  when 'last result dropped' then (hit).rank < given
  when 'off by one page' then (hit).rank between k + 1 and 2 * k
  when 'wrong results' then (hit).rank > found - k and (hit).rank > given
  when 'only the first' then (hit).rank = 1
  when 'empty' then false
  when 'ASCII only' then (hit).text !~ '[^\x01-\x7f]'
  else true end;

-- Returns a hit as a broken retriever returns it.
create or replace function ragdb_internal.mutant_hit(mutant text, hit ragdb_internal.eval_hit)
  returns ragdb_internal.eval_hit
language sql immutable parallel safe
return case
  when mutant = 'stale chunk' and (hit).rank = 1 then row((hit).case_no, (hit).rank,
    (hit).chunk_id || ':old', (hit).source, 'This text was replaced.', (hit).citation, (hit).score,
    pg_catalog.repeat('0', 64), (hit).token_count, (hit).doc_cid, (hit).start_offset,
    (hit).end_offset)::ragdb_internal.eval_hit
  else row((hit).case_no, (hit).rank, (hit).chunk_id,
    case mutant when 'source lost' then '' else (hit).source end,
    case mutant when 'text lost' then '' else (hit).text end,
    case mutant when 'citation stripped' then '{}' else (hit).citation end,
    case mutant when 'scores doubled' then least(1, 2 * (hit).score)
      when 'scores halved' then (hit).score / 2 when 'constant score' then 0.5
      else (hit).score end,
    (hit).content_hash, (hit).token_count, (hit).doc_cid, (hit).start_offset,
    (hit).end_offset)::ragdb_internal.eval_hit
end;

-- Returns a hit at another rank.
create or replace function ragdb_internal.ranked_hit(hit ragdb_internal.eval_hit, rank integer)
  returns ragdb_internal.eval_hit
language sql immutable parallel safe
return row((hit).case_no, ranked_hit.rank, (hit).chunk_id, (hit).source, (hit).text,
  (hit).citation, (hit).score, (hit).content_hash, (hit).token_count, (hit).doc_cid,
  (hit).start_offset, (hit).end_offset)::ragdb_internal.eval_hit;

-- Returns the hits that a broken retriever chooses among: found or given ones, in the order of a
-- seed where its order is random. `found` has more than the retriever gives, ranked on: what a
-- retriever without its limits returns.
create or replace function ragdb_internal.reordered_hits(mutant text,
  found ragdb_internal.eval_hit[], given ragdb_internal.eval_hit[], seed text)
returns setof ragdb_internal.eval_hit
language sql immutable parallel safe
begin atomic
  select (ragdb_internal.ranked_hit(h, case mutant when 'random order'
    then (pg_catalog.row_number() over (order by pg_catalog.encode(pg_catalog.sha256(
      pg_catalog.convert_to(seed || h.chunk_id, 'UTF8')), 'hex'), h.rank))::integer
    else h.rank end)).*
  from pg_catalog.unnest(case when mutant in ('one more than topK', 'threshold ignored',
    'first result dropped', 'off by one page', 'wrong results') then found else given end) h;
end;

-- Returns what a broken retriever returns where a sound one gave `given`, the first of `found`.
create or replace function ragdb_internal.broken(mutant text, found ragdb_internal.eval_hit[],
  given ragdb_internal.eval_hit[], k integer, seed text) returns ragdb_internal.eval_hit[]
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.array_agg(ragdb_internal.ranked_hit(x.hit, x.n::integer)
    order by x.n), '{}')
  from (
    select ragdb_internal.mutant_hit(mutant, h) as hit,
      pg_catalog.row_number() over (
        order by case mutant when 'reversed order' then -h.rank else h.rank end, h.rank) as n
    from ragdb_internal.reordered_hits(mutant, found, given, seed) h
    where ragdb_internal.mutant_keeps(mutant, h, pg_catalog.cardinality(given),
      pg_catalog.cardinality(found), k)
    union all
    select row(h.case_no, h.rank, h.chunk_id || ':again', h.source, h.text, h.citation, h.score,
        h.content_hash, h.token_count, h.doc_cid, h.start_offset, h.end_offset
        )::ragdb_internal.eval_hit,
      pg_catalog.cardinality(given) + h.rank
    from pg_catalog.unnest(given) h where mutant = 'every chunk twice') x);
