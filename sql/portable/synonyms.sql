-- The synonyms of a corpus as they go out, by ragdb.list_synonyms, and come in.

-- Returns what the digest of an export has of the synonyms of a corpus; null without any.
create or replace function ragdb_internal.exported_synonyms(corpus_id integer) returns bytea
language sql stable parallel safe
return (
  select ragdb_internal.packed('synonyms')
    || pg_catalog.sha256(pg_catalog.string_agg(
      ragdb_internal.packed(s.word) || ragdb_internal.packed(s.means), ''
      order by s.word, s.means))
  from ragdb.synonyms s where s.corpus_id = exported_synonyms.corpus_id having count(*) > 0);

-- Refuses what is not an array of words, each with an array of words. Raises RG455.
create or replace function ragdb_internal.check_imported_synonyms(synonyms jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_list constant boolean := coalesce(jsonb_typeof(synonyms), '') = 'array';
begin
  if not v_is_list or exists (
      select from jsonb_array_elements(synonyms) s
      where coalesce(jsonb_typeof(s -> 'word'), '') <> 'string'
        or coalesce(jsonb_typeof(s -> 'synonyms'), '') <> 'array') or exists (
      select from jsonb_array_elements(synonyms) s
        cross join jsonb_array_elements(s -> 'synonyms' || (s -> 'word')) w
      where jsonb_typeof(w) <> 'string' or w #>> '{}' !~ E'\\S' or length(w #>> '{}') > 200) then
    perform ragdb_internal.refuse_import('synonyms is not an array of words with their synonyms');
  end if;
end $$;

-- Definer, like all that writes tables.
create or replace function ragdb.import_synonyms(corpus text, synonyms jsonb) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.importing(import_synonyms.corpus);
begin
  perform ragdb_internal.check_imported_synonyms(synonyms);
  return (
    select ragdb_internal.store_synonyms(v_corpus, coalesce(array_agg(s ->> 'word'), '{}'),
      coalesce(array_agg(m), '{}'))
    from jsonb_array_elements(synonyms) s
      cross join jsonb_array_elements_text(s -> 'synonyms') m);
end $$;
comment on function ragdb.import_synonyms is
  'Stores synonyms, an array of {"word", "synonyms": […]} as ragdb.list_synonyms returns them, in '
  'the corpus that this transaction imports, and returns the number of pairs. Raises RG400, RG401, '
  'RG404, RG413, RG455.';
