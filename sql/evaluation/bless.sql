create or replace function ragdb.bless_run(run_id uuid, name text default 'main',
  reason text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run ragdb.eval_runs := ragdb.get_eval_run(run_id);
begin
  if name is null or length(name) not between 1 and 64 then
    raise exception 'name is %', ragdb_internal.quote(name)
      using errcode = 'RG400', detail = 'a baseline has a name of 1 to 64 characters',
        hint = 'leave it out for main';
  end if;
  if v_run.status = 'empty' then
    raise exception 'run % has no case', ragdb_internal.quote(run_id::text)
      using errcode = 'RG442', detail = 'nothing can be compared with it',
        hint = 'bless a run that ran something';
  end if;
  perform ragdb_internal.open_corpus(v_run.corpus, 'write');
  insert into ragdb.eval_baselines (corpus_id, rag, eval, name, run_id, blessed_at, blessed_by,
    reason)
    values (v_run.corpus_id, v_run.rag, v_run.eval, bless_run.name, v_run.run_id, ragdb_internal.now(),
      ragdb_internal.caller(), bless_run.reason)
    on conflict on constraint eval_baselines_name_is_unique_per_eval do update
      set run_id = excluded.run_id, blessed_at = excluded.blessed_at,
        blessed_by = excluded.blessed_by, reason = excluded.reason;
end $$;
comment on function ragdb.bless_run(uuid, text, text) is
  'Makes a run a baseline of its eval, in place of the one of that name. Raises RG400, RG401, '
  'RG442, RG443.';

create or replace function ragdb.baseline_run(rag text, eval text, name text default 'main')
  returns uuid
language sql stable parallel safe security definer
begin atomic
  select b.run_id from ragdb.eval_baselines b join ragdb.corpora c on c.corpus_id = b.corpus_id
  where b.rag = baseline_run.rag and b.eval = baseline_run.eval and b.name = baseline_run.name
    and ragdb_internal.privilege(c.corpus_id, c.personal_of, c.name) > 0;
end;
comment on function ragdb.baseline_run(text, text, text) is
  'Returns the run that is the baseline of that name of an eval; null when there is none that the '
  'caller may see.';

-- What a broken retriever would have returned for the same case. `found` has more than the
-- retriever gives, ranked on: what a retriever without its limits returns.
create or replace function ragdb_internal.broken(mutant text, found ragdb_internal.eval_hit[],
  given ragdb_internal.eval_hit[], k integer, seed text) returns ragdb_internal.eval_hit[]
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.array_agg(row(x.case_no, x.n, x.chunk_id, x.source, x.text, x.citation,
    x.score, x.content_hash, x.token_count,
      x.doc_cid, x.start_offset, x.end_offset)::ragdb_internal.eval_hit order by x.n), '{}')
  from (
    select h.case_no, h.chunk_id || case when mutant = 'stale chunk' and h.rank = 1 then ':old'
      else '' end as chunk_id,
      case when mutant = 'source lost' then '' else h.source end as source,
      case when mutant = 'stale chunk' and h.rank = 1 then 'This text was replaced.'
        when mutant = 'text lost' then '' else h.text end as text,
      case when mutant = 'citation stripped' then '{}' else h.citation end as citation,
      case mutant when 'scores doubled' then least(1, 2 * h.score)
        when 'scores halved' then h.score / 2 when 'constant score' then 0.5
        else h.score end as score,
      case when mutant = 'stale chunk' and h.rank = 1 then pg_catalog.repeat('0', 64)
        else h.content_hash end as content_hash,
      h.token_count, h.doc_cid, h.start_offset, h.end_offset,
      pg_catalog.row_number() over (order by case mutant when 'reversed order' then -h.rank
        else h.rank end,
        h.rank) as n
    from (
      select u.*, pg_catalog.row_number() over (order by case when mutant = 'random order'
        then pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(seed || u.chunk_id, 'UTF8')),
          'hex') end, u.rank) as place
      from pg_catalog.unnest(case when mutant in ('one more than topK', 'threshold ignored',
        'first result dropped', 'off by one page', 'wrong results') then found else given end) u) o
      cross join lateral (select o.case_no,
        case when mutant = 'random order' then o.place::integer else o.rank end as rank, o.chunk_id,
        o.source, o.text, o.citation,
        o.score, o.content_hash, o.token_count, o.doc_cid, o.start_offset, o.end_offset) h
    where case mutant
      when 'one more than topK' then h.rank <= k + 1
      when 'threshold ignored' then h.rank <= k
      when 'first result dropped' then h.rank between 2 and k + 1
      when 'last result dropped' then h.rank < pg_catalog.cardinality(given)
      when 'off by one page' then h.rank between k + 1 and 2 * k
      when 'wrong results' then h.rank > pg_catalog.cardinality(found) - k
        and h.rank > pg_catalog.cardinality(given)
      when 'only the first' then h.rank = 1
      when 'empty' then false
      when 'ASCII only' then h.text !~ '[^\x01-\x7f]'
      else true end
    union all
    select h.case_no, h.chunk_id || ':again', h.source, h.text, h.citation, h.score, h.content_hash,
      h.token_count, h.doc_cid, h.start_offset, h.end_offset,
      pg_catalog.cardinality(given) + h.rank
    from pg_catalog.unnest(given) h where mutant = 'every chunk twice'
  ) x);
comment on function ragdb_internal.broken(text, ragdb_internal.eval_hit[], ragdb_internal.eval_hit[], integer, text) is
  'Returns what a broken retriever returns where a sound one gave `given`, the first of `found`.';
