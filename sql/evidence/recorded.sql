-- What was recorded of answers and gates, newest first, and the questions that had no answer. The
-- rows have no text; the question is that of the trace, for whoever may read the trace.

create type ragdb.recorded_answer as (
  answer_id uuid, created_at timestamptz, corpus text, trace_id uuid, query text,
  is_insufficient boolean, is_verified boolean, citations integer, problems integer, task text,
  model text, attempt integer, client text, caller text);
comment on type ragdb.recorded_answer is
  'An answer as it was recorded: whether its citations hold, and the question of its trace (null '
  'where the caller may not read the trace, or where questions are not recorded).';

create type ragdb.recorded_gate as (
  gate_id uuid, created_at timestamptz, corpus text, trace_id uuid, query text, is_enough boolean,
  chunks integer, min_chunks integer, best_score float8, min_score float8, min_score_by text,
  coverage float8, min_coverage float8, missing_terms text[], rank_mode text, client text,
  caller text);
comment on type ragdb.recorded_gate is
  'A weighing of evidence as it was recorded: what decided it, and the question and the missing '
  'terms, both null where the caller may not read the trace or where they are not recorded.';

-- Returns the question of a trace that the caller may read; null for any other.
create or replace function ragdb_internal.question_of(corpus_id integer, trace_id uuid)
  returns text
language sql stable parallel safe
return (
  select (t.trace).query_text from ragdb_internal.trace_at(
    question_of.trace_id, ragdb_internal.uuid_time(question_of.trace_id)) t
  where t.corpus_id = question_of.corpus_id and ragdb_internal.may_open_trace(t.trace, true));

-- Whether the caller may read the trace of an answer, or gave it without one. What an answer cites
-- is what it says.
create or replace function ragdb_internal.is_shown_answer(answer ragdb.evidence_answers)
returns boolean
language sql stable parallel safe
return exists (
  select from ragdb_internal.trace_at(
    (answer).trace_id, ragdb_internal.uuid_time((answer).trace_id)) t
  where t.corpus_id = (answer).corpus_id and ragdb_internal.may_open_trace(t.trace, true))
  or ((answer).trace_id is null
    and ragdb_internal.is_caller((answer).caller, (answer).caller_oid))
  or ragdb_internal.is_auditor();

-- Definer, like those below: the tables are granted to nobody. Ids are in the order of time, so
-- each corpus is one range of each partition's key, read backwards.
create or replace function ragdb.list_answers(
  corpus text default null, since timestamptz default null, count integer default 50,
  before uuid default null)
returns setof ragdb.recorded_answer
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'answers');
  return query
    select a.id, a.created_at, k.name, a.trace_id,
      ragdb_internal.question_of(a.corpus_id, a.trace_id), a.is_insufficient, a.is_verified,
      a.citations, a.problems, a.task, a.model, a.attempt, a.client, a.caller
    from (
      select n.* from unnest(ragdb_internal.traced_corpora(corpus)) c
        cross join lateral (select e.* from ragdb.evidence_answers e
          where e.corpus_id = c and e.created_at >= coalesce(list_answers.since, '-infinity')
            and e.id < coalesce(list_answers.before, ragdb_internal.last_uuid())
          order by e.id desc limit list_answers.count) n
      order by n.id desc limit list_answers.count) a
      join ragdb.corpora k on k.corpus_id = a.corpus_id
    order by a.id desc;
end $$;
comment on function ragdb.list_answers is
  'Returns the latest recorded answers, newest first, of one corpus or of all that the caller may '
  'read, recorded at or after since; count is 1 to 10000, before the last id of the page before. '
  'Raises RG400, RG404.';

create or replace function ragdb.list_gates(
  corpus text default null, since timestamptz default null, count integer default 50,
  before uuid default null)
returns setof ragdb.recorded_gate
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_listed(count, 'gates');
  return query
    select g.id, g.created_at, k.name, g.trace_id, q.query, g.is_enough, g.chunks, g.min_chunks,
      g.best_score, g.min_score, g.min_score_by, g.coverage, g.min_coverage,
      case when q.query is not null then g.missing_terms end, g.rank_mode, g.client, g.caller
    from (
      select n.* from unnest(ragdb_internal.traced_corpora(corpus)) c
        cross join lateral (select e.* from ragdb.evidence_gates e
          where e.corpus_id = c and e.created_at >= coalesce(list_gates.since, '-infinity')
            and e.id < coalesce(list_gates.before, ragdb_internal.last_uuid())
          order by e.id desc limit list_gates.count) n
      order by n.id desc limit list_gates.count) g
      join ragdb.corpora k on k.corpus_id = g.corpus_id
      cross join lateral (
        select ragdb_internal.question_of(g.corpus_id, g.trace_id) as query offset 0) q
    order by g.id desc;
end $$;
comment on function ragdb.list_gates is
  'Returns the latest recorded decisions whether evidence was enough, newest first, of one corpus '
  'or of all that the caller may read, recorded at or after since; count is 1 to 10000, before the '
  'last id of the page before. Raises RG400, RG404.';

-- Returns a recorded answer of a corpus whose answers the caller may read. Raises RG407.
create or replace function ragdb_internal.open_answer(answer_id uuid)
returns ragdb.evidence_answers
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer ragdb.evidence_answers;
begin
  if answer_id is not null then
    select a.* into v_answer
      from unnest(ragdb_internal.traced_corpora(null)) c
        join ragdb.evidence_answers a on a.corpus_id = c and a.id = open_answer.answer_id
          and a.created_at = ragdb_internal.uuid_time(open_answer.answer_id);
  end if;
  if v_answer.id is null then
    raise exception 'answer % does not exist', ragdb_internal.quote(answer_id::text)
      using errcode = 'RG407',
        detail = 'no answer of that id is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_answers() lists the latest';
  end if;
  return v_answer;
end $$;

create or replace function ragdb.get_answer(answer_id uuid) returns ragdb.recorded_answer
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer constant ragdb.evidence_answers := ragdb_internal.open_answer(answer_id);
begin
  return row(v_answer.id, v_answer.created_at,
    (select c.name from ragdb.corpora c where c.corpus_id = v_answer.corpus_id),
    v_answer.trace_id, ragdb_internal.question_of(v_answer.corpus_id, v_answer.trace_id),
    v_answer.is_insufficient, v_answer.is_verified, v_answer.citations, v_answer.problems,
    v_answer.task, v_answer.model, v_answer.attempt, v_answer.client,
    v_answer.caller)::ragdb.recorded_answer;
end $$;
comment on function ragdb.get_answer is
  'Returns one recorded answer, without its text, which is not kept. Raises RG407.';
