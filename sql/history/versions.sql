-- Versions of a corpus: which can be asked for, which was the present one at a time, and what the
-- corpus was at it.

-- Refuses a version that is null, in the future or not kept. Raises RG400, RG437.
create or replace function ragdb_internal.check_version(corpus ragdb.corpora, version bigint)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if version is null then
    raise exception 'a version of corpus % is null', ragdb_internal.quote(corpus.name)
      using errcode = 'RG400', detail = 'it is a whole number, which each write raises',
        hint = 'ragdb.list_versions() lists them; ragdb.version_at() tells that of a time';
  elsif corpus.history is null then
    raise exception 'corpus % keeps no history', ragdb_internal.quote(corpus.name)
      using errcode = 'RG437', detail = 'it can be searched as it is today and not as it was',
        hint = 'an admin of the corpus can call ragdb.keep_history(); it keeps what changes from '
               'then on';
  elsif version > corpus.version then
    raise exception 'version % of corpus % is in the future', version,
        ragdb_internal.quote(corpus.name)
      using errcode = 'RG437', detail = 'the corpus is at version ' || corpus.version,
        hint = 'leave it out for the corpus as it is';
  elsif version < corpus.history_from then
    raise exception 'version % of corpus % is before its kept history', version,
        ragdb_internal.quote(corpus.name)
      using errcode = 'RG437',
        detail = format('the history is kept from version %s on, which was there at %s',
          corpus.history_from, corpus.history_since),
        hint = 'ask for a later version; what is before is gone';
  end if;
end $$;

-- A corpus as it was at a version, which its version is, the space that was searched then (null:
-- none), and whether every chunk had had an embedding there.
create type ragdb_internal.past_corpus as (
  corpus ragdb.corpora, space_id integer, embedder_id integer, is_filled boolean);

-- Returns a corpus as it was at a version, with the name and the rights of today. Raises RG400,
-- RG437.
create or replace function ragdb_internal.corpus_at(corpus ragdb.corpora, version bigint)
returns ragdb_internal.past_corpus
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found ragdb_internal.past_corpus;
  v_before jsonb;
begin
  perform ragdb_internal.check_version(corpus, version);
  select v.before into v_before from ragdb.corpus_versions v
    where v.corpus_id = corpus.corpus_id and v.version > corpus_at.version
    order by v.version limit 1;
  if v_before is null then
    v_found.corpus := corpus;
    select s.space_id, s.embedder_id, s.is_filled
      into v_found.space_id, v_found.embedder_id, v_found.is_filled
      from ragdb.embedding_spaces s
      where s.corpus_id = corpus.corpus_id and s.state = 'current';
  else
    v_found.corpus := jsonb_populate_record(corpus, v_before - array['name', 'personal_of',
      'personal_oid', 'is_restricted', 'record_reads', 'history', 'history_from',
      'history_since']);
    v_found.corpus.version := corpus_at.version;
    v_found.space_id := (v_before ->> 'space_id')::integer;
    v_found.embedder_id := (v_before ->> 'embedder_id')::integer;
    v_found.is_filled := (v_before ->> 'is_filled')::boolean;
  end if;
  return v_found;
end $$;

create or replace function ragdb.version_at(corpus text, at timestamptz) returns bigint
language plpgsql stable security definer -- versions are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(version_at.corpus, 'read');
begin
  if at is null then
    raise exception 'at is null'
      using errcode = 'RG400', detail = 'it is the time that is asked for',
        hint = 'give a time up to now';
  end if;
  perform ragdb_internal.check_version(v_corpus, v_corpus.version);
  if at > ragdb_internal.now() then
    raise exception '% is in the future', at
      using errcode = 'RG437', detail = 'nobody knows yet what the corpus will be',
        hint = 'give a time up to now';
  elsif at < v_corpus.history_since then
    raise exception '% is before the kept history of corpus %', at,
        ragdb_internal.quote(v_corpus.name)
      using errcode = 'RG437',
        detail = format('the history is kept since %s, from version %s on',
          v_corpus.history_since, v_corpus.history_from),
        hint = 'ask for a later time; what is before is gone';
  end if;
  return coalesce((
    select v.version from ragdb.corpus_versions v
    where v.corpus_id = v_corpus.corpus_id and v.began_at <= at
      and v.version > v_corpus.history_from
    order by v.version desc limit 1), v_corpus.history_from);
end $$;
comment on function ragdb.version_at is
  'Returns the version of a corpus that was the present one at a time; a version begins when its '
  'transaction takes the corpus. Raises RG400, RG404, RG437.';

create or replace function ragdb.list_versions(
  corpus text, before bigint default null, count integer default 100)
returns table (
  version bigint, began_at timestamptz, documents integer, chunks integer, is_kept_from boolean)
language plpgsql stable security definer -- versions are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(list_versions.corpus, 'read');
begin
  perform ragdb_internal.check_listed(list_versions.count, 'versions');
  return query
    select l.version, l.began_at, l.documents, l.chunks, l.version = v_corpus.history_from
    from (
      select v.version, v.began_at,
        coalesce((lead(v.before) over w ->> 'documents')::integer, v_corpus.documents) as documents,
        coalesce((lead(v.before) over w ->> 'chunks')::integer, v_corpus.chunks) as chunks
      from (
        select s.version, s.began_at, s.before from ragdb.corpus_versions s
          where s.corpus_id = v_corpus.corpus_id and s.version > v_corpus.history_from
        union all
        select v_corpus.history_from, v_corpus.history_since, null
          where v_corpus.history is not null) v
      window w as (order by v.version)) l
    where list_versions.before is null or l.version < list_versions.before
    order by l.version desc limit list_versions.count;
end $$;
comment on function ragdb.list_versions is
  'Lists the versions that a corpus can be searched as of, latest first, at most count (1 to '
  '10000) below one (null: all): when each began and how many documents and chunks there were; '
  'is_kept_from marks the earliest. Without history there is none. Raises RG400, RG404.';
