-- What one role asked and said goes from corpora that go on, with all that hangs from it. What
-- others recorded stays. The rows are chosen once and erased by their keys, so that the acts in the
-- ledger name just those that went.

-- A row of evidence: its kind in the ledger, and its id in a corpus.
create type ragdb_internal.evidence_key as (kind text, corpus_id integer, id uuid);

-- Returns as whom somebody who leaves recorded evidence: as the role of this oid or, for null, the
-- one that has the name now; where there is none, as every role that had it. A role that is made
-- later under the name is somebody else.
create or replace function ragdb_internal.leaver(caller text, caller_oid oid)
returns ragdb_internal.asker[]
language sql stable parallel safe
return case when coalesce(leaver.caller_oid, ragdb_internal.role_oid(leaver.caller)) is null
  then array[row(leaver.caller, null, false, 'infinity'::timestamptz)::ragdb_internal.asker]
  else ragdb_internal.askers_of(leaver.caller,
    coalesce(leaver.caller_oid, ragdb_internal.role_oid(leaver.caller))) end;

-- Returns the keys of the rows of a table that askers recorded in some corpora (null: in any), or
-- that hang from traces.
create or replace function ragdb_internal.keys_of_askers(
  kind text, relation text, askers ragdb_internal.asker[], corpora integer[],
  traces ragdb_internal.evidence_key[])
returns ragdb_internal.evidence_key[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys ragdb_internal.evidence_key[];
begin
  execute format($sql$
    select coalesce(array_agg(row($1, u.corpus_id, u.id)::ragdb_internal.evidence_key), '{}')
    from (
      select r.corpus_id, r.id from ragdb.%1$I r
        where ($3 is null or r.corpus_id = any ($3)) and exists (
          select from unnest($2) a
          where ragdb_internal.is_of_asker(r.caller, r.caller_oid, r.created_at, a))
      union
      select r.corpus_id, r.id from unnest($4) k
        join ragdb.%1$I r on r.corpus_id = k.corpus_id and r.trace_id = k.id) u$sql$, relation)
    into v_keys using kind, askers, corpora, traces;
  return v_keys;
end $$;

-- Returns the keys of the traces that askers recorded in some corpora (null: in any), and locks
-- them: who writes what hangs from one has held it, or finds it gone.
create or replace function ragdb_internal.lock_traces_of(
  askers ragdb_internal.asker[], corpora integer[])
returns ragdb_internal.evidence_key[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row('trace', t.corpus_id, t.id)::ragdb_internal.evidence_key
    from ragdb.retrieval_traces t
    where (corpora is null or t.corpus_id = any (corpora)) and exists (
      select from unnest(askers) a
      where ragdb_internal.is_of_asker(t.caller, t.caller_oid, t.created_at, a))
    for update of t);
end $$;

-- Returns the keys of all that askers recorded in some corpora (null: in any), and of what hangs
-- from their traces and answers.
create or replace function ragdb_internal.evidence_of_askers(
  askers ragdb_internal.asker[], corpora integer[])
returns ragdb_internal.evidence_key[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_traces constant ragdb_internal.evidence_key[] :=
    ragdb_internal.lock_traces_of(askers, corpora);
  v_answers constant ragdb_internal.evidence_key[] := ragdb_internal.keys_of_askers(
    'answer', 'evidence_answers', askers, corpora, v_traces);
begin
  return v_traces || v_answers
    || ragdb_internal.keys_of_askers('gate', 'evidence_gates', askers, corpora, v_traces)
    || array(
      select f from unnest(ragdb_internal.keys_of_askers(
          'feedback', 'evidence_feedback', askers, corpora, v_traces)) f
      union
      select row('feedback', f.corpus_id, f.id)::ragdb_internal.evidence_key
        from unnest(v_answers) k join ragdb.evidence_feedback f
          on f.corpus_id = k.corpus_id and f.answer_id = k.id)
    || array(
      select row('rerank', r.corpus_id, r.trace_id)::ragdb_internal.evidence_key
      from unnest(v_traces) k join ragdb.retrieval_reranks r
        on r.corpus_id = k.corpus_id and r.trace_id = k.id and r.rank = 1);
end $$;

-- Deletes rows by their keys, and what is part of them.
create or replace function ragdb_internal.erase_evidence(keys ragdb_internal.evidence_key[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.erase_from_partitions(t.parent, format(
      '(r.corpus_id, r.%I) in (select k.corpus_id, k.id from unnest($1) k)', t.id),
      array(select k from unnest(keys) k where k.kind = t.kind))
    from (values
      ('answer_citations', 'answer', 'answer_id'), ('evidence_answers', 'answer', 'id'),
      ('evidence_feedback', 'feedback', 'id'), ('evidence_gates', 'gate', 'id'),
      ('retrieval_hits', 'trace', 'trace_id'), ('retrieval_reranks', 'trace', 'trace_id'),
      ('retrieval_traces', 'trace', 'id')) t (parent, kind, id);
end $$;

-- A question that was asked in a corpus, by its hash.
create type ragdb_internal.asked_question as (corpus_id integer, query_hash bytea);

-- Returns the questions of traces.
create or replace function ragdb_internal.questions_of(traces ragdb_internal.evidence_key[])
returns ragdb_internal.asked_question[]
language sql stable parallel safe
return array(
  select distinct row(t.corpus_id, pg_catalog.decode(t.query_hash, 'hex'))
      ::ragdb_internal.asked_question
  from pg_catalog.unnest(questions_of.traces) k
    join ragdb.retrieval_traces t on t.corpus_id = k.corpus_id and t.id = k.id
  where t.query_hash is not null);

-- Forgets the embeddings of questions that nobody else asked. What is kept for the parts of a
-- corpus is kept under the whole.
create or replace function ragdb_internal.forget_questions(
  questions ragdb_internal.asked_question[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.embedded_queries q
    using (
      select c.part_of, u.* from unnest(questions) u
        left join ragdb.corpora c on c.corpus_id = u.corpus_id
      where not exists (select from ragdb.retrieval_traces t
        where t.corpus_id = u.corpus_id and t.query_hash = encode(u.query_hash, 'hex'))) g
    where q.query_hash = g.query_hash and q.corpus_id in (g.corpus_id, g.part_of);
  perform ragdb_internal.drop_query_embeddings(ragdb_internal.now(), '-infinity');
end $$;

-- Refuses to erase where nothing can be written, nobody is named, or what was recorded meanwhile is
-- not seen. Raises RG400, 25006.
create or replace function ragdb_internal.check_leaver(caller text, reason text) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_erasure('erase', reason),
    ragdb_internal.check_recordable('erase_caller writes', 'run it on the primary');
  if caller is null then
    raise exception 'caller is null'
      using errcode = 'RG400', detail = 'what one role asked and said is erased',
        hint = 'name the role as ragdb.list_traces() does';
  elsif current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the transaction is %', current_setting('transaction_isolation')
      using errcode = 'RG400', detail = 'it does not see what others recorded since it began',
        hint = 'call it after: begin transaction isolation level read committed';
  end if;
end $$;

-- Tells by a notice that nothing was found, or where all corpora were meant that others had the
-- name, whose evidence stays.
create or replace function ragdb_internal.tell_of_namesakes(
  caller text, corpus text, erased integer)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_others constant text := (
    select string_agg(distinct r.caller_oid::text, ', ') from (
      select t.caller_oid from ragdb.retrieval_traces t where t.caller = tell_of_namesakes.caller
      union all
      select f.caller_oid from ragdb.evidence_feedback f
        where f.caller = tell_of_namesakes.caller) r
    where r.caller_oid is distinct from ragdb_internal.role_oid(tell_of_namesakes.caller));
begin
  if corpus is null and v_others is not null then
    raise notice 'what others recorded under the name % stays', ragdb_internal.quote(caller)
      using detail = 'they were roles of oid ' || v_others,
        hint = 'erase it by caller_oid where one of them was the same person';
  elsif erased = 0 then
    raise notice 'nothing is left of role %', ragdb_internal.quote(caller)
        || case when corpus is null then '' else ' in corpus ' || ragdb_internal.quote(corpus) end
      using detail = 'neither retrievals nor feedback, answers or gates',
        hint = 'ragdb.list_traces() shows an auditor who asked';
  end if;
end $$;

-- A role that left nothing is no error: in a cluster each node is asked.
create or replace function ragdb.erase_caller(
  caller text, corpus text default null, reason text default null, caller_oid oid default null)
returns table (traces bigint, answers bigint, gates bigint, feedback bigint)
language plpgsql security definer rows 1 -- it deletes what is append-only
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys ragdb_internal.evidence_key[];
  v_questions ragdb_internal.asked_question[];
begin
  perform ragdb_internal.check_leaver(caller, reason);
  -- what is under way ends, and is erased too
  perform ragdb_internal.await_writers(ragdb_internal.trace_tables());
  perform ragdb_internal.hold('maintain');
  v_keys := ragdb_internal.evidence_of_askers(ragdb_internal.leaver(caller, caller_oid),
    case when corpus is not null then ragdb_internal.dropped_with_traces(corpus)
      || array(select c.corpus_id from ragdb.corpora c where c.name = erase_caller.corpus) end);
  v_questions := ragdb_internal.questions_of(
    array(select k from unnest(v_keys) k where k.kind = 'trace'));
  -- a refresh counts these hours again, without what goes
  insert into ragdb.trace_marks
    select distinct k.corpus_id, date_trunc('hour', ragdb_internal.uuid_time(k.id), 'UTC')
    from unnest(v_keys) k where k.kind = 'trace';
  perform ragdb_internal.erase_evidence(v_keys);
  perform ragdb_internal.record_caller_erased(array(
    select ragdb_internal.row_entry(k.kind, k.corpus_id, k.id) from unnest(v_keys) k), reason);
  perform ragdb_internal.forget_questions(v_questions);
  perform ragdb_internal.tell_of_namesakes(caller, corpus, cardinality(v_keys));
  return query
    select count(*) filter (where k.kind = 'trace'), count(*) filter (where k.kind = 'answer'),
        count(*) filter (where k.kind = 'gate'), count(*) filter (where k.kind = 'feedback')
      from unnest(v_keys) k;
end $$;
comment on function ragdb.erase_caller is
  'Erases what one role asked and said, in a corpus or (null) in all: its traces with their hits, '
  'rerankings, gates, answers and feedback, the gates, answers and feedback that it recorded of '
  'what others asked, and the embeddings of questions that nobody else asked; returns how many '
  'traces, answers, gates and feedback went. Acts in the ledger name each row, with the reason (up '
  'to 10000 characters), and not the role. It means the role that has the name now, or where there '
  'is none all that had it; caller_oid names an earlier one. It waits for who records a retrieval, '
  'and holds up nobody. A notice says so where nothing was left. Raises RG400, and 25006 where '
  'nothing can be written.';
