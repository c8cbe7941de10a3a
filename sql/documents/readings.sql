-- How the files of documents were read: a client that finds a file as it was need not read it
-- again.
--
-- That is kept to save work, and is evidence of nothing: it is not hashed, exported or sent to
-- peers, and has no past. It holds for the last event of its document. Whatever changes a document
-- or its sources leaves another event, by whatever door it comes. The bytes of a file are compared
-- with those of the document, so nobody can note a reading of bytes that are to come.

-- A source whose document is what its file would be read as.
create type ragdb_internal.unchanged_source as (
  uri text,
  doc_cid text,
  chunks integer,
  tokens bigint,
  pages integer,
  pages_without_text integer,
  bad_characters integer,
  cut integer);

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
  from unnest('{pages_without_text,bad_characters,cut}'::text[]) n;
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

-- Returns the document at the source of a reading, where it has the bytes that were read.
create or replace function ragdb_internal.document_read(corpus_id integer, reading jsonb)
returns setof ragdb.documents
language sql stable parallel safe rows 1
begin atomic
  select d.*
  from (
      select h.doc_no from ragdb.document_sources h
      where h.corpus_id = document_read.corpus_id and h.uri = document_read.reading ->> 'uri'
      offset 0) s
    cross join lateral (
      select h.* from ragdb.documents h
      where h.corpus_id = document_read.corpus_id and h.doc_no = s.doc_no offset 0) d
  where d.doc_cid = document_read.reading ->> 'doc_cid';
end;

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
  insert into ragdb.document_readings as o (corpus_id, doc_no, event_id, reading,
      pages_without_text, bad_characters, cut)
    select distinct on (d.doc_no) v_id, d.doc_no, d.event_id, decode(r ->> 'reading', 'hex'),
      coalesce((r ->> 'pages_without_text')::integer, 0),
      coalesce((r ->> 'bad_characters')::integer, 0), coalesce((r ->> 'cut')::integer, 0)
    from jsonb_array_elements(readings) r
      cross join lateral ragdb_internal.document_read(v_id, r) d
    where d.event_id = (r ->> 'event_id')::uuid
    order by d.doc_no, r ->> 'uri' collate "C"
    on conflict on constraint document_readings_are_unique do update
      set (event_id, reading, pages_without_text, bad_characters, cut)
        = (excluded.event_id, excluded.reading, excluded.pages_without_text,
          excluded.bad_characters, excluded.cut);
  get diagnostics v_noted = row_count;
  perform ragdb_internal.renew_statistics('{ragdb.document_readings}');
  return v_noted;
end $$;
comment on function ragdb.note_readings is
  'Notes how the files of documents were read, for ragdb.unchanged_sources, and returns of how '
  'many; none while another writes to the corpus. A reading is {"uri", "doc_cid", "reading", '
  '"event_id", "pages_without_text", "bad_characters", "cut"}: "reading" is a SHA-256 in hex of '
  'what shapes the document beside the bytes, "event_id" that which the document was put with, and '
  'the numbers, which may be missing, are what else was found in the file. A document that has '
  'another event by now is passed over. Raises RG400, RG401, RG404, RG412.';

create or replace function ragdb.unchanged_sources(corpus text, readings jsonb)
returns table (
  uri text, doc_cid text, chunks integer, tokens bigint, pages integer,
  pages_without_text integer, bad_characters integer, cut integer)
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
    select row(r.v ->> 'uri', d.doc_cid, d.chunks, d.tokens, d.pages, o.pages_without_text,
        o.bad_characters, o.cut)::ragdb_internal.unchanged_source
    from jsonb_array_elements(readings) with ordinality r (v, n)
      cross join lateral ragdb_internal.document_read(v_id, r.v) d
      cross join lateral (
        select h.* from ragdb.document_readings h
        where h.corpus_id = v_id and h.doc_no = d.doc_no offset 0) o
    where o.event_id = d.event_id and o.reading = decode(r.v ->> 'reading', 'hex')
    order by r.n);
  perform ragdb_internal.bring_blobs(v_id, array(select f.doc_cid from unnest(v_found) f));
  return query select f.* from unnest(v_found) f;
end $$;
comment on function ragdb.unchanged_sources is
  'Returns those of some sources whose document is what its file would be read as, with what was '
  'found in the file: it was read so (ragdb.note_readings), has these bytes, and has not changed '
  'since. A reading is {"uri", "doc_cid", "reading"}. Where the caller has put the '
  'bytes, the corpus has them as the original from then on, as when the document is put again. '
  'Raises RG400, RG401, RG404, RG412.';
