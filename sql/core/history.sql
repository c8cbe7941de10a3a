-- How the past of a corpus is kept: whatever changes or removes a row of a corpus that keeps its
-- history leaves the row as it was, with the version that changed it.
--
-- These are triggers, because rows go by many ways, some of them foreign keys that cascade. A row
-- that changes several times in a version leaves its first image, so there is nothing to clear up.
-- They fire only in a transaction that has locked a corpus with history, or one that leaves for
-- another database (the setting ragdb.history): any other pays for a look at the setting, and a
-- restore writes no image.

-- Keeps what a corpus with history is before this transaction writes to it, once for a version; the
-- caller has just locked and read its row.
create or replace function ragdb_internal.begin_version(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
begin
  insert into ragdb.corpus_versions (corpus_id, version, began_at, before)
    select corpus.corpus_id, corpus.version,
      greatest(ragdb_internal.now(), (
        select v.began_at from ragdb.corpus_versions v where v.corpus_id = corpus.corpus_id
        order by v.version desc limit 1)),
      to_jsonb(corpus) || (
        select jsonb_build_object('space_id', min(s.space_id), 'embedder_id', min(s.embedder_id),
          'is_filled', bool_or(s.is_filled))
        from ragdb.embedding_spaces s
        where s.corpus_id = corpus.corpus_id and s.state = 'current')
    on conflict on constraint corpus_versions_are_unique do nothing;
  perform ragdb_internal.note('version', corpus.corpus_id || '/' || corpus.version) where found;
  perform ragdb_internal.renew_statistics('{ragdb.corpus_versions,ragdb.past_rows}');
  perform set_config('ragdb.history', 'on', true);
end $$;

-- Returns the kinds of rows that a corpus with history keeps as they were. An index on past rows
-- has the kind before the version.
create or replace function ragdb_internal.past_kinds() returns text[]
language sql immutable parallel safe
return '{document,source,chunk,turn,edge,embedding,synonym}'::text[];

-- Returns the SHA-256 of a row of the past, as it goes into the hash of its version.
create or replace function ragdb_internal.past_row_hash(kind text, key text, was jsonb)
returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(
  pg_catalog.jsonb_build_array(past_row_hash.kind, past_row_hash.key, past_row_hash.was)::text));

-- Returns what an act calls a row of the past that it erased. By the hash, because the key of a
-- source is its name.
create or replace function ragdb_internal.erased_entry(
  corpus_id integer, until bigint, erased_hash bytea)
returns text
language sql immutable parallel safe
return 'past:' || erased_entry.corpus_id || '/' || erased_entry.until || '/'
  || pg_catalog.encode(erased_entry.erased_hash, 'hex');

-- Keeps a row of a corpus with history as it was before this version (null: absent), unless this
-- version made it, as the number of its document or chunk says (null: it has none). What a version
-- makes is not kept as absent before it: numbers are given in order, so the number says so.
create or replace function ragdb_internal.keep_image(
  corpus_id integer, kind text, key text, number integer, was jsonb)
returns void
language sql
begin atomic
  insert into ragdb.past_rows (corpus_id, kind, key, until, was)
    select c.corpus_id, keep_image.kind, keep_image.key, c.version, keep_image.was
    from ragdb.corpora c
      cross join lateral (
        select h.before from ragdb.corpus_versions h
        where h.corpus_id = keep_image.corpus_id and h.version = c.version offset 0) v
    where c.corpus_id = keep_image.corpus_id and c.history is not null
      and coalesce(keep_image.number < (v.before ->> case keep_image.kind
        when 'document' then 'next_doc_no' else 'next_chunk_no' end)::integer, true)
    on conflict on constraint past_rows_are_unique do nothing;
end;

-- Trigger of the tables of a corpus: keeps the row that goes or changes, or that there was none,
-- and notes it where the corpus moves; its argument is the kind of row.
create or replace function ragdb_internal.keep_past_row() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_row record := case tg_op when 'INSERT' then new else old end;
  v_was constant jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) end;
  v_kind constant text := tg_argv[0];
  v_number integer;
  v_key text;
begin
  if v_kind = 'document' then
    v_number := v_row.doc_no;
  elsif v_kind in ('chunk', 'turn') then
    v_number := v_row.chunk_no;
  elsif v_kind = 'embedding' then
    v_number := v_row.chunk_no;
    v_key := v_row.space_id || ' ' || v_row.chunk_no;
  elsif v_kind = 'edge' then
    v_number := greatest(v_row.parent_no, v_row.child_no);
    v_key := concat_ws(' ', v_row.parent_no, v_row.child_no, v_row.edge_type);
  elsif v_kind = 'source' then
    v_key := v_row.uri;
  elsif v_kind = 'synonym' then
    v_key := jsonb_build_array(v_row.word, v_row.means);
  end if;
  perform ragdb_internal.keep_image(
    v_row.corpus_id, v_kind, coalesce(v_key, v_number::text), v_number, v_was);
  if current_setting('ragdb.moving', true) = 'on' then
    perform ragdb_internal.note_changes(v_row.corpus_id, v_kind, v_was,
      case when tg_op <> 'DELETE' then to_jsonb(new) end);
  end if;
  return null;
end $$;

create or replace trigger past_is_kept after update or delete on ragdb.documents
  for each row when (current_setting('ragdb.history', true) = 'on')
  execute function ragdb_internal.keep_past_row('document');
create or replace trigger past_is_kept after insert or update or delete on ragdb.document_sources
  for each row when (current_setting('ragdb.history', true) = 'on')
  execute function ragdb_internal.keep_past_row('source');
create or replace trigger past_is_kept after update or delete on ragdb.chunks
  for each row when (current_setting('ragdb.history', true) = 'on')
  execute function ragdb_internal.keep_past_row('chunk');
create or replace trigger past_is_kept after insert or update or delete on ragdb.turns
  for each row when (current_setting('ragdb.history', true) = 'on')
  execute function ragdb_internal.keep_past_row('turn');
create or replace trigger past_is_kept after insert or update or delete on ragdb.edges
  for each row when (current_setting('ragdb.history', true) = 'on')
  execute function ragdb_internal.keep_past_row('edge');
create or replace trigger past_is_kept after insert or update or delete on ragdb.synonyms
  for each row when (current_setting('ragdb.history', true) = 'on')
  execute function ragdb_internal.keep_past_row('synonym');
