-- What people say of what was found and answered, and how evals learn from it.

-- Refuses a verdict that is not good or bad, and a comment that is too long. Raises RG400, RG413.
create or replace function ragdb_internal.check_feedback(verdict text, comment text, client text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_client(client, 'client');
  if verdict is null or verdict not in ('good', 'bad') then
    raise exception 'verdict is %', ragdb_internal.quote(verdict)
      using errcode = 'RG400', detail = 'a verdict is good or bad',
        hint = 'give good or bad, and what else there is to say as the comment';
  end if;
  if length(comment) > 4000 then
    raise exception 'comment has % characters', length(comment)
      using errcode = 'RG413', detail = 'a comment is what a person adds to a verdict',
        hint = 'give at most 4000 characters';
  end if;
end $$;

-- Returns the trace of the evidence of an answer; null where there is none.
create or replace function ragdb_internal.answered_trace(answer_id uuid) returns uuid
language sql stable parallel safe
return (
  select a.trace_id from ragdb.corpora c
    join ragdb.evidence_answers a on a.corpus_id = c.corpus_id
  where a.id = answered_trace.answer_id
    and a.created_at = ragdb_internal.uuid_time(answered_trace.answer_id));

-- Definer: it writes a table that is granted to nobody. Who may open the trace may judge it.
create or replace function ragdb.record_feedback(
  verdict text, trace_id uuid default null, answer_id uuid default null,
  chunk_id text default null, comment text default null, client text default null)
returns uuid
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces;
  v_row ragdb.evidence_feedback;
begin
  perform ragdb_internal.check_feedback(verdict, comment, client);
  perform ragdb_internal.check_recordable('record_feedback writes',
    'ragdb.list_feedback() reads what was recorded');
  v_trace := ragdb_internal.open_trace(
    coalesce(trace_id, ragdb_internal.answered_trace(answer_id)), is_audit => true);
  perform ragdb_internal.hold_trace(v_trace.corpus_id, v_trace.id);
  if ragdb_internal.answered_trace(answer_id) <> v_trace.id
    or answer_id is not null and ragdb_internal.answered_trace(answer_id) is null
  then
    raise exception 'answer % is not of trace %', answer_id, v_trace.id
      using errcode = 'RG400', detail = 'feedback on an answer names the trace of its evidence',
        hint = 'leave trace_id or answer_id out';
  end if;
  if chunk_id is not null and not exists (select from ragdb.trace_hits(v_trace.id) h
      where h.chunk_id = record_feedback.chunk_id)
  then
    raise exception 'chunk % is not a hit of the trace', ragdb_internal.quote(chunk_id)
      using errcode = 'RG406', detail = 'feedback is about what a retrieval found',
        hint = 'ragdb.trace_hits() lists the hits of a trace';
  end if;
  v_row.corpus_id := v_trace.corpus_id;
  v_row.id := ragdb_internal.uuid7(ragdb_internal.now());
  v_row.created_at := ragdb_internal.uuid_time(v_row.id);
  v_row.trace_id := v_trace.id;
  v_row.answer_id := answer_id;
  v_row.chunk_id := chunk_id;
  v_row.verdict := verdict;
  v_row.comment := nullif(comment, '');
  v_row.client := client;
  v_row.caller := ragdb_internal.caller();
  v_row.caller_oid := ragdb_internal.caller_oid();
  insert into ragdb.evidence_feedback values (v_row.*);
  perform ragdb_internal.note('feedback', v_row.corpus_id || '/' || v_row.id);
  return v_row.id;
end $$;
comment on function ragdb.record_feedback is
  'Records what a person says of a retrieval that the caller may read, of one hit of it (chunk_id) '
  'or of an answer from it (answer_id, which may stand in for trace_id), and returns its id; '
  'verdict is good or bad, comment has up to 4000 characters, client (up to 200) names the '
  'program. Of several verdicts of a role the last one counts. Raises RG400, RG406, RG407, RG413, '
  'and 25006 where nothing can be written.';

create or replace function ragdb.list_feedback(
  corpus text default null, since timestamptz default null, count integer default 50,
  before uuid default null)
returns table (
  feedback_id uuid, created_at timestamptz, corpus_name text, trace_id uuid, answer_id uuid,
  chunk_id text, verdict text, comment text, query_text text, client text, caller text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_first constant uuid := ragdb_internal.first_uuid7(coalesce(since, '-infinity'));
  v_askers constant ragdb_internal.asker[] := ragdb_internal.traced_askers();
begin
  perform ragdb_internal.check_listed(count, 'verdicts');
  return query
    select f.id, f.created_at, f.corpus, f.trace_id, f.answer_id, f.chunk_id, f.verdict,
        f.comment, f.query_text, f.client, f.caller
      from unnest(ragdb_internal.traced_corpora(corpus)) c (corpus_id)
        cross join lateral (
          select n.*, t.corpus, t.query_text
            from ragdb.evidence_feedback n
              -- by its key: joined, all traces would be read for the last verdicts
              cross join lateral (select r.corpus, r.query_text, r.caller, r.caller_oid,
                  r.created_at from ragdb.retrieval_traces r
                where r.corpus_id = n.corpus_id and r.id = n.trace_id
                  and r.created_at = ragdb_internal.uuid_time(n.trace_id) offset 0) t
            where n.corpus_id = c.corpus_id
              -- by id: by time those of other corpora would be read
              and n.id >= v_first and coalesce(n.created_at >= list_feedback.since, true)
              and n.id < coalesce(list_feedback.before, ragdb_internal.last_uuid())
              and exists (select from unnest(v_askers) a where a is null
                or ragdb_internal.is_of_asker(n.caller, n.caller_oid, n.created_at, a)
                or ragdb_internal.is_of_asker(t.caller, t.caller_oid, t.created_at, a))
            order by n.id desc limit list_feedback.count) f
      order by f.id desc limit list_feedback.count;
end $$;
comment on function ragdb.list_feedback is
  'Returns the latest feedback of the caller and on the caller''s retrievals, newest first, of one '
  'corpus or of all, given at or after since; for an auditor that of every role. count is 1 to '
  '10000, before the last id of the page before. Raises RG400, RG404.';

-- Returns the spans that feedback judged, by question: the good verdicts less the bad ones. The
-- last word of each role on each thing, about a chunk that still has the text that was judged. A
-- good answer makes the chunks of its sound citations good; a bad one may have had good chunks.
-- Only of traces of askers (null among these: of all). Each is looked up by its key: joined, all of
-- the corpus would be asked for whose they are.
create or replace function ragdb_internal.feedback_votes(
  corpus_id integer, askers ragdb_internal.asker[], since timestamptz)
returns table (query_text text, source text, start_offset integer, end_offset integer, vote integer)
language sql stable parallel safe
begin atomic
  with word as (
    select distinct on (f.caller, f.trace_id, f.answer_id, f.chunk_id) f.*, t.query_text
      from ragdb.evidence_feedback f
      cross join lateral (
        select r.query_text, r.caller, r.caller_oid, r.created_at from ragdb.retrieval_traces r
        where r.corpus_id = f.corpus_id and r.id = f.trace_id
          and r.created_at = ragdb_internal.uuid_time(f.trace_id) offset 0) t
      where f.corpus_id = feedback_votes.corpus_id
        and f.created_at >= coalesce(feedback_votes.since, '-infinity')
        and exists (select from pg_catalog.unnest(feedback_votes.askers) a where a is null
          or ragdb_internal.is_of_asker(t.caller, t.caller_oid, t.created_at, a))
      order by f.caller, f.trace_id, f.answer_id, f.chunk_id, f.created_at desc, f.id desc
  ), vote as (
    select w.query_text, w.trace_id, w.chunk_id, case w.verdict when 'good' then 1 else -1 end as n
      from word w where w.chunk_id is not null
    union all
    select w.query_text, w.trace_id, x.chunk_id, 1
      from word w cross join lateral (
        select distinct c.chunk_id from ragdb.answer_citations c
        where c.corpus_id = w.corpus_id and c.answer_id = w.answer_id
          and c.created_at = ragdb_internal.uuid_time(w.answer_id) and c.code is null) x
      where w.chunk_id is null and w.verdict = 'good'
  )
  select v.query_text, k.source, k.start_offset, k.end_offset, sum(v.n)::integer
    from vote v
    join ragdb.retrieval_hits h on h.corpus_id = feedback_votes.corpus_id
      and h.trace_id = v.trace_id and h.created_at = ragdb_internal.uuid_time(v.trace_id)
      and h.chunk_id = v.chunk_id
    join lateral ragdb_internal.chunk_of(h.corpus_id, h.chunk_id) k
      on k.content_hash = h.content_hash
    where v.query_text ~ '\S'
    group by v.query_text, k.source, k.start_offset, k.end_offset;
end;

create or replace function ragdb.feedback_cases(
  corpus text, since timestamptz default null, after text default '', count integer default null)
returns jsonb
language plpgsql stable security definer -- feedback and traces are granted to nobody
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(feedback_cases.corpus, 'read', true);
  v_askers constant ragdb_internal.asker[] := ragdb_internal.traced_askers();
begin
  perform ragdb_internal.check_paged('', after, 'query'),
    ragdb_internal.check_listed(coalesce(count, 1), 'cases');
  return (
    with judged as (
      select v.query_text, jsonb_agg(jsonb_build_object('source', v.source,
          'start', v.start_offset, 'end', v.end_offset, 'grade', (v.vote > 0)::integer)
          order by v.vote desc, v.source, v.start_offset) as labels
        from ragdb_internal.feedback_votes(v_corpus.corpus_id, v_askers, since) v
        where v.vote <> 0 and v.start_offset < v.end_offset
          and v.query_text > after collate "C"
        group by v.query_text having max(v.vote) > 0
        order by v.query_text collate "C" limit feedback_cases.count)
    select coalesce(jsonb_agg(jsonb_build_object(
        'name', 'feedback ' || left(encode(sha256(ragdb_internal.utf8(j.query_text)), 'hex'), 16),
        'query', j.query_text, 'tags', jsonb_build_array('feedback'), 'labels', j.labels)
        order by j.query_text collate "C"), '[]')
      from judged j);
end $$;
comment on function ragdb.feedback_cases is
  'Returns the cases that feedback makes for ragdb.import_eval, from the retrievals that the '
  'caller may read: a question with what people called good (grade 1) and bad (grade 0), as spans '
  'of documents. A question has to have something good, the corpus to keep its text, and the '
  'chunk to be as it was; verdicts that cancel each other say nothing. They come in the order of '
  'their questions; a page begins after one, and has at most count (1 to 10000; null: all). Raises '
  'RG400, RG401, RG404.';
