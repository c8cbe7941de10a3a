-- Traces against their hashes and signatures, and what hangs from traces against them. Each step
-- reads a batch by its key whatever the planner believes of the size of the tables.

-- Says what is wrong with a trace, its hits and its reranking; is_intact is null where only its
-- signature cannot be checked.
create or replace function ragdb_internal.trace_problem(
  trace ragdb.retrieval_traces, keys ragdb_internal.known_keys,
  out is_intact boolean, out problem text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hits constant ragdb.retrieval_hits[] := array(
    select h from ragdb.retrieval_hits h where h.corpus_id = trace.corpus_id
      and h.trace_id = trace.id and h.created_at = trace.created_at order by h.rank);
  v_reranks constant ragdb.retrieval_reranks[] := array(
    select r from ragdb.retrieval_reranks r where r.corpus_id = trace.corpus_id
      and r.trace_id = trace.id and r.created_at = trace.created_at order by r.rank);
  v_signature ragdb_internal.signature := ragdb_internal.signature(
    trace.trace_hash, trace.trace_mac, trace.created_at, keys);
begin
  is_intact := v_signature.is_intact;
  problem := v_signature.problem;
  if trace.created_at <> ragdb_internal.uuid_time(trace.id) then
    is_intact := false;
    problem := concat_ws('; ', problem, 'its time is not that of its id');
  end if;
  if trace.trace_hash <> ragdb_internal.trace_hash(trace, v_hits) then
    is_intact := false;
    problem := concat_ws('; ', problem, 'its row or its hits are not what was recorded');
  end if;
  if v_reranks <> '{}' then
    v_signature := ragdb_internal.signature(v_reranks[1].rerank_hash, v_reranks[1].rerank_mac,
      v_reranks[1].recorded_at, keys);
    if v_signature.is_intact is not true then
      is_intact := is_intact and v_signature.is_intact;
      problem := concat_ws('; ', problem, 'its reranking: ' || v_signature.problem);
    end if;
    if v_reranks[1].rerank_hash
      is distinct from ragdb_internal.rerank_hash(trace.trace_hash, v_reranks)
    then
      is_intact := false;
      problem := concat_ws('; ', problem, 'its reranking is not what was recorded');
    end if;
  end if;
end $$;

-- Verifies the hashes and signatures of a batch of traces with their hits and rerankings.
create or replace function ragdb_internal.verify_traces(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
  v_made record;
begin
  with batch as materialized (
    select t as trace, t.corpus_id, t.id from ragdb.retrieval_traces t
      where (t.corpus_id, t.id) > (coalesce((after ->> 0)::integer, -1),
        coalesce(after ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
      order by t.corpus_id, t.id limit most
  )
  select count(*) as looked,
      (array_agg(jsonb_build_array(b.corpus_id, b.id) order by b.corpus_id, b.id))[count(*)]
        as last,
      array_agg(row('traces', 'error', 'trace ' || b.id, p.problem,
        format('ragdb trace verify %s shows what differs; restore it from a backup', b.id)
        )::ragdb.finding order by b.corpus_id, b.id) filter (where not p.is_intact) as findings,
      count(*) filter (where p.is_intact is null) as unchecked,
      min(b.id::text) filter (where p.is_intact is null) as first_unchecked,
      min(p.problem) filter (where p.is_intact is null) as why
    into strict v_made
    from batch b
    cross join lateral ragdb_internal.trace_problem(b.trace, v_keys) p;
  return ragdb_internal.verified(v_made.looked, most, v_made.last, v_made.findings
    || case when v_made.unchecked > 0 then array[row('traces', 'warning',
      format('%s from %s on', ragdb_internal.counted(v_made.unchecked, 'trace'),
        v_made.first_unchecked), v_made.why,
      'verify with the key at hand: RAGDB_SIGNING_KEY_FILE, or ragdb keys import')
      ::ragdb.finding] else '{}' end);
end $$;

-- Looks in a batch of rows of a table for those without their trace. Rows whose trace was deleted.
-- A month that was dropped took them along.
create or replace function ragdb_internal.orphans(parent text, after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_made record;
begin
  execute format($sql$
    with batch as materialized (
      select t.corpus_id, t.trace_id, t.created_at, t.rank from ragdb.%I t
        where (t.corpus_id, t.trace_id, t.rank) > (coalesce(($1 ->> 0)::integer, -1),
          coalesce($1 ->> 1, '00000000-0000-0000-0000-000000000000')::uuid,
          coalesce(($1 ->> 2)::integer, -1))
        order by t.corpus_id, t.trace_id, t.rank limit $2
    ), lost as (
      select d.trace_id from (
        select distinct b.corpus_id, b.trace_id, b.created_at from batch b) d
        where not exists (select from ragdb.retrieval_traces t where t.corpus_id = d.corpus_id
          and t.id = d.trace_id and t.created_at = d.created_at)
    )
    select (select count(*) from batch) as looked,
      (select jsonb_build_array(b.corpus_id, b.trace_id, b.rank) from batch b
        order by b.corpus_id desc, b.trace_id desc, b.rank desc limit 1) as last,
      (select array_agg(row($3, 'error', 'trace ' || l.trace_id,
          'there are rows of ragdb.' || $4 || ' and the trace is gone',
          'somebody deleted the trace: restore it from a backup')::ragdb.finding
        order by l.trace_id) from lost l) as findings$sql$, parent)
    into strict v_made using after, most,
      case parent when 'retrieval_hits' then 'hits' else 'reranks' end, parent;
  return ragdb_internal.verified(v_made.looked, most, v_made.last, v_made.findings);
end $$;

-- Looks for hits without their trace.
create or replace function ragdb_internal.verify_hits(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return ragdb_internal.orphans('retrieval_hits', after, 10 * most);

-- Looks for rerankings without their trace.
create or replace function ragdb_internal.verify_reranks(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return ragdb_internal.orphans('retrieval_reranks', after, 10 * most);
