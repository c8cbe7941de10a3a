-- How the files of documents were read: a client that finds a file as it was need not read it
-- again.
--
-- That is kept to save work, and is evidence of nothing: it is not hashed, exported or sent to
-- peers, and has no past. It holds for the last event of its document. Whatever changes a document
-- or its sources leaves another event, by whatever door it comes, and later events of a corpus have
-- greater ids. So a file of many documents is as it was where these are as many, and their last
-- event is the same. The bytes of a file that is a document are compared with those of the
-- document, so nobody can note a reading of bytes that are to come.

-- What the documents of a file are: how many, their last event, and what they come to.
create type ragdb_internal.file_state as (
  documents integer,
  event_id uuid,
  cids text[],
  chunks integer,
  tokens bigint);

-- A source whose documents are what its file would be read as.
create type ragdb_internal.unchanged_source as (
  uri text,
  doc_cid text,
  has_records boolean,
  state ragdb_internal.file_state,
  pages integer,
  pages_without_text integer,
  bad_characters integer,
  cut integer,
  empty integer);

-- Lists the fields that a given reading may have.
create or replace function ragdb_internal.reading_fields()
returns setof ragdb_internal.given_field
language sql immutable parallel safe
begin atomic
  select f.* from ragdb_internal.document_fields() f where f.name in ('uri', 'doc_cid')
  union all
  select * from (values
    ('reading', '{string}'::text[], '^[0-9a-f]{64}$', null::integer, null::integer,
      '"%s" must be 64 hex digits'),
    ('event_id', '{string,"null"}', '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', null, null,
      '"%s" must be the id of an event')
  ) f (name, types, pattern, fewest, most, must_be)
  union all
  select n, '{number,"null"}', '^[0-9]{1,9}$', null, null,
    '"%s" must be a whole number of at most 9 digits'
  from unnest('{documents,empty,pages_without_text,bad_characters,cut}'::text[]) n;
end;

-- Refuses readings with a field that is missing, wrong or unknown. Raises RG412.
create or replace function ragdb_internal.check_readings(readings jsonb) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fields constant ragdb_internal.given_field[] :=
    array(select f from ragdb_internal.reading_fields() f);
  v_bad record;
begin
  if readings is null or jsonb_typeof(readings) <> 'array' then
    raise exception 'readings is not an array'
      using errcode = 'RG412', detail = 'each is an object with "uri", "doc_cid" and "reading"',
        hint = 'one reading goes in an array of one';
  end if;
  select r.n - 1 as position, p.problem into v_bad
  from jsonb_array_elements(readings) with ordinality r (v, n)
    cross join lateral ragdb_internal.field_problems(r.v, 'reading', v_fields) p
  where p.problem is not null
  order by r.n limit 1;
  if found then
    raise exception 'reading %: %', v_bad.position, v_bad.problem
      using errcode = 'RG412', detail = 'readings count from 0; none was noted or compared',
        hint = 'ragdb.note_readings is described in docs/reference.md';
  end if;
end $$;

-- Returns the document that the file of a reading is, or the first of those that it has.
create or replace function ragdb_internal.document_read(corpus_id integer, reading jsonb)
returns setof ragdb.documents
language sql stable parallel safe rows 1
begin atomic
  select d.*
  from (select coalesce(
        (select h.doc_no from ragdb.document_sources h
          where h.corpus_id = document_read.corpus_id and h.uri = document_read.reading ->> 'uri'),
        (select h.doc_no from ragdb.document_sources h
          where h.corpus_id = document_read.corpus_id
            and h.uri >= (document_read.reading ->> 'uri') || '#'
            and h.uri <= ragdb_internal.past_prefix((document_read.reading ->> 'uri') || '#')
          order by h.uri limit 1)) as doc_no
      offset 0) s
    cross join lateral (
      select h.* from ragdb.documents h
      where h.corpus_id = document_read.corpus_id and h.doc_no = s.doc_no offset 0) d;
end;

-- Returns what the documents of a file are now, where it is not a document itself: that of its
-- name, and those of its records.
create or replace function ragdb_internal.file_state(corpus_id integer, uri text)
returns ragdb_internal.file_state
language sql stable parallel safe
begin atomic
  select count(*)::integer, max(d.event_id::text collate "C")::uuid, array_agg(d.doc_cid),
      sum(d.chunks)::integer, sum(d.tokens)::bigint
    from (
        select h.doc_no from ragdb.document_sources h
          where h.corpus_id = file_state.corpus_id and h.uri = file_state.uri
        union all
        select h.doc_no from ragdb.document_sources h
          where h.corpus_id = file_state.corpus_id
            and h.uri >= file_state.uri || '#'
            and h.uri <= ragdb_internal.past_prefix(file_state.uri || '#')) s
      cross join lateral (
        select h.* from ragdb.documents h
        where h.corpus_id = file_state.corpus_id and h.doc_no = s.doc_no offset 0) d;
end;

-- Returns what a document is now that is a file, or the documents of the file that it is the first
-- of.
create or replace function ragdb_internal.state_read(
  document ragdb.documents, uri text, is_file boolean)
returns ragdb_internal.file_state
language sql stable parallel safe
return case when is_file
  then row(1, document.event_id, array[document.doc_cid], document.chunks, document.tokens)
    ::ragdb_internal.file_state
  else ragdb_internal.file_state(document.corpus_id, state_read.uri) end;

create or replace function ragdb.note_readings(corpus text, readings jsonb)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_id constant integer :=
    (ragdb_internal.open_corpus(note_readings.corpus, 'write')).corpus_id;
  v_noted integer;
begin
  perform ragdb_internal.check_readings(readings);
  -- whoever writes documents has this lock, and what is not noted is only read again
  if not ragdb_internal.try_corpus(v_id) then
    return 0;
  end if;
  insert into ragdb.document_readings as o (corpus_id, doc_no, event_id, reading, file_cid,
      documents, empty, pages_without_text, bad_characters, cut)
    select distinct on (d.doc_no) v_id, d.doc_no, (s.now).event_id,
      decode(r.v ->> 'reading', 'hex'), case when not r.is_file then r.v ->> 'doc_cid' end,
      (s.now).documents, coalesce((r.v ->> 'empty')::integer, 0),
      coalesce((r.v ->> 'pages_without_text')::integer, 0),
      coalesce((r.v ->> 'bad_characters')::integer, 0), coalesce((r.v ->> 'cut')::integer, 0)
    from (select v, v ->> 'documents' is null as is_file from jsonb_array_elements(readings) v) r
      cross join lateral ragdb_internal.document_read(v_id, r.v) d
      cross join lateral (
        select ragdb_internal.state_read(d, r.v ->> 'uri', r.is_file) as now offset 0) s
    where (s.now).event_id = (r.v ->> 'event_id')::uuid
      and case when r.is_file then d.doc_cid = r.v ->> 'doc_cid'
        else (s.now).documents = (r.v ->> 'documents')::integer end
    order by d.doc_no, r.v ->> 'uri' collate "C"
    on conflict on constraint document_readings_are_unique do update
      set (event_id, reading, file_cid, documents, empty, pages_without_text, bad_characters, cut)
        = (excluded.event_id, excluded.reading, excluded.file_cid, excluded.documents,
          excluded.empty, excluded.pages_without_text, excluded.bad_characters, excluded.cut);
  get diagnostics v_noted = row_count;
  perform ragdb_internal.renew_statistics('{ragdb.document_readings}');
  return v_noted;
end $$;
comment on function ragdb.note_readings is
  'Notes how files were read, for ragdb.unchanged_sources, and returns of how many; none while '
  'another writes to the corpus. A reading is {"uri", "doc_cid", "reading", "event_id", '
  '"documents", "empty", "pages_without_text", "bad_characters", "cut"}: "doc_cid" is the identity '
  'of the bytes of the file, "reading" a SHA-256 in hex of what shapes its documents beside the '
  'bytes, "event_id" that which its document was put with, and the numbers, which may be missing, '
  'are what else was found in the file. "documents" says that the file is not a document but has '
  'so many, at its uri or below it ("chats.json#7"), and "event_id" is then the last of theirs. '
  'A file whose documents are others by now is passed over. Raises RG400, RG401, RG404, RG412.';

create or replace function ragdb.unchanged_sources(corpus text, readings jsonb)
returns table (
  uri text, doc_cid text, has_records boolean, documents integer, chunks integer, tokens bigint,
  pages integer, pages_without_text integer, bad_characters integer, cut integer, empty integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_id constant integer :=
    (ragdb_internal.open_corpus(unchanged_sources.corpus, 'write')).corpus_id;
  v_found ragdb_internal.unchanged_source[];
begin
  perform ragdb_internal.check_readings(readings);
  v_found := array(
    select row(r.v ->> 'uri', case when (s.now).documents = 1 then d.doc_cid end,
        o.file_cid is not null, s.now, case when o.file_cid is null then d.pages end,
        o.pages_without_text, o.bad_characters, o.cut, o.empty)::ragdb_internal.unchanged_source
    from jsonb_array_elements(readings) with ordinality r (v, n)
      cross join lateral ragdb_internal.document_read(v_id, r.v) d
      cross join lateral (
        select h.* from ragdb.document_readings h
        where h.corpus_id = v_id and h.doc_no = d.doc_no offset 0) o
      cross join lateral (
        select ragdb_internal.state_read(d, r.v ->> 'uri', o.file_cid is null) as now offset 0) s
    where o.reading = decode(r.v ->> 'reading', 'hex')
      and coalesce(o.file_cid, d.doc_cid) = r.v ->> 'doc_cid'
      and (o.event_id, o.documents) = ((s.now).event_id, (s.now).documents)
    order by r.n);
  perform ragdb_internal.bring_blobs(v_id, array(
    select c.cid from unnest(v_found) f cross join unnest((f.state).cids) c (cid)));
  return query
    select f.uri, f.doc_cid, f.has_records, (f.state).documents, (f.state).chunks,
      (f.state).tokens, f.pages, f.pages_without_text, f.bad_characters, f.cut, f.empty
    from unnest(v_found) f;
end $$;
comment on function ragdb.unchanged_sources is
  'Returns those of some sources whose documents are what their files would be read as, with what '
  'was found in the files: they were read so (ragdb.note_readings), have these bytes, and have not '
  'changed since. A reading is {"uri", "doc_cid", "reading"}, where doc_cid is the identity of the '
  'bytes of the file; returned is that of its document, null where it has several. With '
  'has_records the file is not a document but has some, at its uri or below it ("chats.json#7"). '
  'Where the caller has put the bytes, the corpus has them as the original from then on, as when '
  'the document is put again. Raises RG400, RG401, RG404, RG412.';
