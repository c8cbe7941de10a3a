-- What one speaker said goes, from today and from every version, and what others said stays. A
-- conversation is put again without those turns: so whatever hangs from its chunks follows as when
-- a file changes. The record does not name the speaker: that is what is to be forgotten.

-- Returns the turns of a speaker, in a session (null: in any).
create or replace function ragdb_internal.turns_of_speaker(
  corpus_id integer, speaker text, session text)
returns integer[]
language sql stable parallel safe
return array(
  select t.chunk_no from ragdb.turns t
    where t.corpus_id + 0 = turns_of_speaker.corpus_id
      and (t.given ->> 'speaker') collate "C" = turns_of_speaker.speaker
      and (turns_of_speaker.session is null or t.session_id = turns_of_speaker.session));

-- Returns the turns that were a speaker's in the history of a corpus, in a session (null: any).
create or replace function ragdb_internal.past_turns_of_speaker(
  corpus_id integer, speaker text, session text)
returns integer[]
language sql stable parallel safe
return array(
  select distinct p.key::integer from ragdb.past_rows p
    where p.corpus_id = past_turns_of_speaker.corpus_id and p.kind = 'turn'
      and p.was #>> '{given,speaker}' = past_turns_of_speaker.speaker
      and (past_turns_of_speaker.session is null
        or p.was ->> 'session_id' = past_turns_of_speaker.session));

-- Takes away the conversations in which somebody speaks that conflicts with peers kept, and tells
-- whether there was one.
create or replace function ragdb_internal.forget_speaker(
  corpus_id integer, speaker text, session text)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update ragdb.shared_conflicts c set body = null
    where c.corpus_id = forget_speaker.corpus_id
      and c.body::jsonb -> 'messages' @> jsonb_build_array(jsonb_build_object('speaker', speaker))
      and (session is null or c.body::jsonb ->> 'session' = session);
  return found;
end $$;

-- Returns the texts that some chunks have and had, with their headings.
create or replace function ragdb_internal.texts_of_chunks(corpus_id integer, chunk_nos integer[])
returns text[]
language sql stable parallel safe
return array(
  select ragdb_internal.searched_text(null, c.heading, c.text)
    from pg_catalog.unnest(texts_of_chunks.chunk_nos) n (chunk_no)
    cross join lateral (select h.heading, h.text from ragdb.chunks h
      where h.corpus_id = texts_of_chunks.corpus_id and h.chunk_no = n.chunk_no offset 0) c
  union all
  select pg_catalog.concat_ws(E'\n', p.was ->> 'heading', p.was ->> 'text')
    from ragdb.past_rows p
    where p.corpus_id = texts_of_chunks.corpus_id and p.kind = 'chunk'
      and p.key = any (texts_of_chunks.chunk_nos::text[]));

-- Returns exported conversations without some of their turns, as other documents, by their places;
-- one of which nothing is left is missing. A message without a time has that of its place.
create or replace function ragdb_internal.without_turns(
  corpus text, documents jsonb, chunk_ids text[])
returns table (place bigint, document jsonb)
language sql stable parallel safe
begin atomic
  with gone as materialized (
    select pg_catalog.unnest(without_turns.chunk_ids) as id
  ), message as (
    select d.n, pg_catalog.jsonb_agg((case when (m.v ->> 'created_at')::timestamptz
          = pg_catalog.to_timestamp(m.n) then m.v - 'created_at' else m.v end)
        || pg_catalog.jsonb_build_object('parents', coalesce((
          select pg_catalog.jsonb_agg(p.v order by p.n)
            from pg_catalog.jsonb_array_elements(m.v -> 'parents') with ordinality p (v, n)
            where p.v ->> 'id' not in (select g.id from gone g)), '[]')) order by m.n) as left
      from pg_catalog.jsonb_array_elements(without_turns.documents) with ordinality d (v, n)
        cross join lateral pg_catalog.jsonb_array_elements(d.v -> 'messages')
          with ordinality m (v, n)
      where m.v ->> 'id' not in (select g.id from gone g)
      group by d.n
  ), rest as materialized (
    select m.n, pg_catalog.row_number() over (order by m.n) - 1 as nth,
        (without_turns.documents -> (m.n - 1)::integer) - 'size_bytes'
          || pg_catalog.jsonb_build_object('messages', m.left) as document
      from message m
  ), turns as (
    select t.nth, pg_catalog.array_agg(t order by t.place) as turns
      from ragdb_internal.parsed_turns(without_turns.corpus, (
        select pg_catalog.jsonb_agg(r.document order by r.nth) from rest r)) t
      group by t.nth
  )
  select r.n, r.document || pg_catalog.jsonb_build_object('doc_cid',
        ragdb_internal.session_cid(r.document ->> 'session', t.turns))
    from rest r join turns t using (nth);
end;

-- Puts conversations again without some of their turns, each at all of its sources, and returns the
-- sources of those of which nothing is left. The first source would take the turns from a document
-- that the others still have.
create or replace function ragdb_internal.put_rest(
  corpus ragdb.corpora, doc_nos integer[], chunk_ids text[])
returns text[]
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_left integer[];
  v_rest jsonb;
  v_others text[];
  v_emptied text[];
begin
  select array_agg(doc_nos[r.place]), jsonb_agg(r.document order by r.place)
    into v_left, v_rest
    from ragdb_internal.without_turns(corpus.name, (
      select jsonb_agg(ragdb_internal.moved_document(corpus.corpus_id, n.doc_no) order by n.nth)
        from unnest(doc_nos) with ordinality n (doc_no, nth)), chunk_ids) r;
  select array_agg(s.uri order by s.nth, s.uri) filter (where s.is_left and s.place > 1),
      array_agg(s.uri order by s.nth, s.uri) filter (where not s.is_left)
    into v_others, v_emptied
    from (
      select n.nth, h.uri, n.doc_no = any (coalesce(v_left, '{}')) as is_left,
          row_number() over (partition by n.doc_no order by h.uri) as place
        from unnest(doc_nos) with ordinality n (doc_no, nth)
        cross join lateral (select d.uri from ragdb.document_sources d
          where d.corpus_id = corpus.corpus_id and d.doc_no = n.doc_no offset 0) h) s;
  if v_others <> '{}' then
    perform ragdb_internal.write_documents(
      ragdb_internal.lock_corpus(corpus.name, 'admin'), '[]', false, v_others);
  end if;
  perform ragdb_internal.put_exported(corpus.name, v_rest) where v_rest is not null;
  return coalesce(v_emptied, '{}');
end $$;

-- Puts conversations again without some of their turns, 100000 tokens at a time, takes away those
-- of which nothing is left, and returns how many these are.
create or replace function ragdb_internal.put_without(
  corpus ragdb.corpora, doc_nos integer[], chunk_ids text[], reason text)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1 -- numbers as exact as they are
as $$
declare
  v_some integer[];
  v_uris text[] := '{}';
begin
  for v_some in
    select array_agg(d.doc_no order by d.doc_no)
      from (
        select n.doc_no, (sum(h.size) over (order by n.doc_no))::bigint / 100000 as part
          from unnest(doc_nos) n (doc_no)
          cross join lateral (select o.tokens + o.chunks as size from ragdb.documents o
            where o.corpus_id = corpus.corpus_id and o.doc_no = n.doc_no offset 0) h) d
      group by d.part order by d.part
  loop
    v_uris := v_uris || ragdb_internal.put_rest(corpus, v_some, chunk_ids);
  end loop;
  if v_uris = '{}' then
    return 0;
  end if;
  return (ragdb_internal.remove_sources(ragdb_internal.lock_corpus(corpus.name, 'admin'), v_uris,
    'erase', 'turns of a speaker', reason)).documents_deleted;
end $$;

-- Takes turns out of their conversations, with what was derived from them, on record.
create or replace function ragdb_internal.erase_turns(
  corpus ragdb.corpora, chunk_nos integer[], reason text,
  out turns_deleted integer, out documents_deleted integer)
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
as $$
declare
  v_id constant integer := corpus.corpus_id;
  v_ids text[];
  v_doc_nos integer[];
  v_documents text[];
begin
  select count(*), coalesce(array_agg(c.chunk_id), '{}'),
      array_agg(distinct c.doc_no), array_agg(distinct ragdb_internal.document_entry(
        v_id, d.event_id::text))
    into turns_deleted, v_ids, v_doc_nos, v_documents
    from unnest(chunk_nos) n (chunk_no)
    cross join lateral (select h.chunk_id, h.doc_no from ragdb.chunks h
      where h.corpus_id = v_id and h.chunk_no = n.chunk_no offset 0) c
    cross join lateral (select h.event_id from ragdb.documents h
      where h.corpus_id = v_id and h.doc_no = c.doc_no offset 0) d;
  if turns_deleted = 0 then
    documents_deleted := 0;
    return;
  end if;
  perform ragdb_internal.erase_derived(corpus, v_ids, 'erase', 'turns of a speaker', reason);
  documents_deleted := ragdb_internal.put_without(corpus, v_doc_nos, v_ids, reason);
  perform ragdb_internal.record_deletion('deletion', corpus, v_documents, concat(
    ragdb_internal.counted(turns_deleted, 'turn'), ' of a speaker', ': ' || reason));
end $$;

-- Returns the documents in which some chunks were.
create or replace function ragdb_internal.documents_of_past_chunks(
  corpus_id integer, chunk_nos integer[])
returns integer[]
language sql stable parallel safe
return array(
  select distinct (p.was ->> 'doc_no')::integer from ragdb.past_rows p
    where p.corpus_id = documents_of_past_chunks.corpus_id and p.kind = 'chunk'
      and p.key = any (documents_of_past_chunks.chunk_nos::text[]) and p.was is not null);

create or replace function ragdb.erase_speaker(
  corpus text, speaker text, session text default null, reason text default null)
returns table (turns_deleted integer, documents_deleted integer, past_rows_erased integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.lock_corpus(erase_speaker.corpus, 'admin');
  v_id constant integer := v_corpus.corpus_id;
  v_now constant integer[] := ragdb_internal.turns_of_speaker(v_id, speaker, session);
  v_all constant integer[] := v_now
    || ragdb_internal.past_turns_of_speaker(v_id, speaker, session);
  v_texts constant text[] := ragdb_internal.texts_of_chunks(v_id, v_all);
  v_was_in_conflict constant boolean := ragdb_internal.forget_speaker(v_id, speaker, session);
begin
  perform ragdb_internal.check_erasure('erase', reason);
  if speaker is null then
    raise exception 'speaker is null'
      using errcode = 'RG400', detail = 'what one speaker said is erased',
        hint = 'name the speaker as the turns do: ragdb.list_turns() tells';
  elsif not v_was_in_conflict and v_all = '{}' then
    raise exception 'no turn of corpus % is by %', ragdb_internal.quote(v_corpus.name),
        ragdb_internal.quote(speaker) || case when session is null then ''
          else ' in session ' || ragdb_internal.quote(session) end
      using errcode = 'RG406', detail = 'neither today nor in its history or its conflicts',
        hint = 'ragdb.facets() on the field speaker lists those who speak';
  end if;
  select t.* into turns_deleted, documents_deleted
    from ragdb_internal.erase_turns(v_corpus, v_now, reason) t;
  perform ragdb_internal.forget_words(v_texts), ragdb_internal.drop_lexemes(v_id);
  past_rows_erased := ragdb_internal.record_erased_history(v_corpus,
    ragdb_internal.documents_erased(v_id, ragdb_internal.documents_of_past_chunks(v_id, v_all)),
    ragdb_internal.erase_images(v_id, '{}', v_all), reason);
  perform ragdb_internal.record_erased_conflicts(v_corpus, reason)
    where turns_deleted + past_rows_erased = 0;
  return next;
end $$;
comment on function ragdb.erase_speaker is
  'Erases what a speaker said in the conversations of a corpus, in one session or in all (null): '
  'the turns, what was derived from them, the original files that had them, and what versions, and '
  'conflicts with peers, kept of them. What others said stays; what answered an erased turn begins '
  'anew. Returns how many turns, documents without another turn, and rows of the history went. '
  'Raises RG400, RG401, RG404, RG406.';
