-- What answers a question that was found in a conversation: its replies, which may have no word of
-- it. A slice says what may be cited, so what was found in one brings nothing along. A conversation
-- meets a filter as a whole.

-- Tells whether a chunk was found by a search of a corpus and not of a slice, as its trace says;
-- one without a trace names the mode of the search.
create or replace function ragdb_internal.is_found_in_corpus(chunk jsonb) returns boolean
language sql stable parallel safe
return case when ragdb_internal.trace_of(chunk) is null then chunk ? 'mode'
  else exists (
    select from ragdb_internal.trace_at(ragdb_internal.trace_of(chunk),
      ragdb_internal.uuid_time(ragdb_internal.trace_of(chunk))) t
    where (t.trace).retrieval_mode = 'global') end;

-- Tells whether a chunk that was found by a search of a corpus asks something.
create or replace function ragdb_internal.is_found_question(chunk jsonb) returns boolean
language sql stable parallel safe
return ragdb_internal.opening(chunk ->> 'text') = 'question'
  and ragdb_internal.is_found_in_corpus(chunk);

-- Returns the first three replies to a chunk of evidence that is a turn of a conversation, there,
-- as evidence that names what it answers; none where the caller may not read.
create or replace function ragdb_internal.replies_to(chunk jsonb) returns setof jsonb
language sql stable parallel safe
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
begin atomic
  select pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
      'source_id', k.source, 'chunk_id', k.chunk_id, 'text', k.text, 'corpus', c.name,
      'score', replies_to.chunk -> 'score', 'title', replies_to.chunk -> 'title',
      'start_offset', k.start_offset, 'end_offset', k.end_offset,
      'content_hash', pg_catalog.encode(ragdb_internal.content_hash(k.text), 'hex'),
      'answers', pg_catalog.jsonb_build_object(
        'text', q.text, 'score', replies_to.chunk -> 'score')))
    from ragdb.corpora c
    cross join lateral (
      select q.chunk_no, q.doc_no, q.text from ragdb.chunks q
        where q.corpus_id = c.corpus_id and q.chunk_id = replies_to.chunk ->> 'chunk_id'
        offset 0) q
    cross join lateral (
      select e.child_no from ragdb.edges e
        where e.corpus_id = c.corpus_id and e.parent_no = q.chunk_no and e.edge_type = 'reply'
        offset 0) e
    cross join lateral (
      select t.sibling_order from ragdb.turns t
        where t.corpus_id = c.corpus_id and t.chunk_no = e.child_no
        offset 0) t
    cross join lateral (
      select k.* from ragdb.chunks k
        where k.corpus_id = c.corpus_id and k.chunk_no = e.child_no and k.doc_no = q.doc_no
        offset 0) k
    where c.name = replies_to.chunk ->> 'corpus' and ragdb_internal.privilege(c) > 0
    order by t.sibling_order, k.chunk_no limit 3;
end;

-- Returns chunks that were found, behind each question of a conversation its replies. A reply that
-- was found itself keeps its place, its score and its trace.
create or replace function ragdb_internal.with_replies(chunks jsonb) returns jsonb
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
begin atomic
  with found as materialized (
    select f.chunk, f.n from pg_catalog.jsonb_array_elements(chunks) with ordinality f (chunk, n)
  ), replies as materialized (
    select distinct on (r.reply ->> 'chunk_id') r.reply, f.n, r.m
    from found f
      cross join lateral ragdb_internal.replies_to(f.chunk) with ordinality r (reply, m)
    where ragdb_internal.is_found_question(f.chunk)
    order by r.reply ->> 'chunk_id', f.n
  )
  select coalesce(pg_catalog.jsonb_agg(b.chunk order by b.n, b.m), '[]') from (
    select f.chunk || coalesce((
        select pg_catalog.jsonb_build_object('answers', r.reply -> 'answers') from replies r
        where r.reply ->> 'chunk_id' = f.chunk ->> 'chunk_id' limit 1), '{}') as chunk, f.n, 0 as m
    from found f
    union all
    select r.reply, r.n, r.m from replies r
    where not exists (select from found f
      where f.chunk ->> 'chunk_id' = r.reply ->> 'chunk_id')) b;
end;

-- Records that the caller reads the corpora that have replies to chunks that were found. Who weighs
-- chunks without a search has read nothing of the corpus yet. Raises RG471.
create or replace function ragdb_internal.record_replies(chunks jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.record_read(c) from ragdb.corpora c
    where c.record_reads <> 'off' and exists (
      select from jsonb_array_elements(record_replies.chunks) f (chunk)
        cross join lateral ragdb_internal.replies_to(f.chunk)
      where f.chunk ->> 'corpus' = c.name and ragdb_internal.is_found_question(f.chunk));
end $$;
