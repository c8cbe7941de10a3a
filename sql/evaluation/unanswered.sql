-- The questions that had no answer, and the cases that ask them.

-- Returns the gates of some corpora among the latest 1000 that found too little evidence, and the
-- answers among the latest 1000 that abstain or cite wrongly. Of the latest of each kind only the
-- bad ones are looked up: a lookup checks who may see it. By id, and by time in a way that no index
-- has: a plan for any time would read those of all corpora by their time, for each corpus.
create or replace function ragdb_internal.unanswered_evidence(
  corpora integer[], since timestamptz)
returns table (corpus_id integer, trace_id uuid, why text, asked_at timestamptz)
language sql stable parallel safe
begin atomic
  with answers as (
    select a.* from pg_catalog.unnest(unanswered_evidence.corpora) c (n)
      cross join lateral (select e.* from ragdb.evidence_answers e
      where e.corpus_id = c.n
        and e.id >= ragdb_internal.first_uuid7(coalesce(unanswered_evidence.since, '-infinity'))
        and coalesce(e.created_at >= unanswered_evidence.since, true)
      order by e.id desc limit 1000) a
    order by a.id desc limit 1000),
  gates as (
    select g.* from pg_catalog.unnest(unanswered_evidence.corpora) c (n)
      cross join lateral (select e.* from ragdb.evidence_gates e
      where e.corpus_id = c.n
        and e.id >= ragdb_internal.first_uuid7(coalesce(unanswered_evidence.since, '-infinity'))
        and coalesce(e.created_at >= unanswered_evidence.since, true)
      order by e.id desc limit 1000) g
    order by g.id desc limit 1000)
  select g.corpus_id, g.trace_id, 'too little evidence', g.created_at from gates g
    where not g.is_enough
  union all
  select a.corpus_id, a.trace_id,
    case when a.is_insufficient then 'no answer' else 'wrong citation' end, a.created_at
  from answers a where a.is_insufficient or not a.is_verified;
end;

-- Returns each time that a question to some corpora had no hit, not enough evidence, no answer or a
-- wrong one.
create or replace function ragdb_internal.unanswered_events(corpora integer[], since timestamptz)
returns table (corpus text, query text, why text, asked_at timestamptz, trace_id uuid)
language sql stable parallel safe
begin atomic
  select t.corpus, t.query_text, 'no hit', t.created_at, t.id
    from ragdb_internal.latest_traces(unanswered_events.corpora,
      row(unanswered_events.since, null, null, null, null, null, 2000)) t
    where t.error_code is null and t.limit_returned = 0
  union all
  select (t.trace).corpus, (t.trace).query_text, e.why, e.asked_at, e.trace_id
    from ragdb_internal.unanswered_evidence(unanswered_events.corpora, unanswered_events.since) e
      cross join lateral ragdb_internal.trace_at(
        e.trace_id, ragdb_internal.uuid_time(e.trace_id)) t
    where t.corpus_id = e.corpus_id
      and exists (select from pg_catalog.unnest(ragdb_internal.traced_askers()) a
        where a is null or ragdb_internal.is_of_asker(
          (t.trace).caller, (t.trace).caller_oid, (t.trace).created_at, a));
end;

-- Returns the cases of evals that the caller may read and that ask one of some questions, named
-- rag/eval: case.
create or replace function ragdb_internal.cases_of(queries text[])
returns table (corpus text, query text, name text)
language sql stable parallel safe
begin atomic
  select p.corpus, s.query, s.rag || '/' || s.eval || ': ' || s.name
  from (select distinct o.corpus_id, o.rag from ragdb.eval_cases o
      where o.query = any (cases_of.queries)) a
    cross join lateral ragdb_internal.page_of_evals(array[a.corpus_id], a.rag, '', 1) p
    join ragdb.eval_cases s on s.corpus_id = p.corpus_id and s.rag = (p.eval).rag
      and s.eval = (p.eval).name
  where s.rag = a.rag and s.query = any (cases_of.queries);
end;

create type ragdb.unanswered_question as (
  corpus text, query text, reasons text[], times integer, last_at timestamptz, trace_id uuid,
  eval_cases text[]);
comment on type ragdb.unanswered_question is
  'A question that was not answered: why, how many times, the latest trace, and the cases of evals '
  'that ask the same.';

create or replace function ragdb.list_unanswered(
  corpus text default null, since timestamptz default null, count integer default 50,
  before uuid default null)
returns setof ragdb.unanswered_question
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpora constant integer[] := ragdb_internal.traced_corpora(corpus);
begin
  perform ragdb_internal.check_listed(count, 'questions');
  return query
    with u as (
      select e.corpus, e.query, array_agg(distinct e.why order by e.why) as reasons,
        count(distinct e.trace_id)::integer as times, max(e.asked_at) as last_at,
        (array_agg(e.trace_id order by e.trace_id desc))[1] as trace_id
      from ragdb_internal.unanswered_events(v_corpora, list_unanswered.since) e
      where e.query is not null
      group by e.corpus, e.query),
    p as materialized (
      select u.* from u
      where u.trace_id < coalesce(list_unanswered.before, ragdb_internal.last_uuid())
      order by u.trace_id desc limit list_unanswered.count),
    x as materialized (select c.* from ragdb_internal.cases_of(array(select p.query from p)) c)
    select p.corpus, p.query, p.reasons, p.times, p.last_at, p.trace_id,
      array(select x.name from x where x.corpus = p.corpus and x.query = p.query order by 1)
    from p order by p.trace_id desc;
end $$;
comment on function ragdb.list_unanswered is
  'Returns the questions that were not answered among those the caller may read, of one corpus or '
  'of all, asked at or after since: reasons are no hit, too little evidence, no answer and wrong '
  'citation; times counts the retrievals, trace_id is the latest, and the list begins with the '
  'latest of all; eval_cases names the cases that ask the same. It reads the latest 2000 '
  'retrievals and 1000 gates and answers. count is 1 to 10000, before the last trace_id of the '
  'page before. Raises RG400, RG404.';
