-- What comes in: an import is one transaction that begins with the header and ends when what came
-- is what the header says. All public functions are definers because nobody but the owner touches
-- the tables.

create or replace function ragdb.import_corpus(header jsonb, corpus text default null) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings constant jsonb := header -> 'corpus';
  v_embedder constant jsonb := nullif(header -> 'embedder', 'null');
  v_name constant text := coalesce(import_corpus.corpus, v_settings ->> 'name');
  v_caller constant text := ragdb_internal.caller();
  v_id integer;
begin
  perform ragdb_internal.check_header(header);
  perform ragdb_internal.check_new_corpus(v_name, v_settings ->> 'text_config',
    (v_settings ->> 'k1')::float8, (v_settings ->> 'b')::float8,
    v_settings ->> 'record_query_text');
  -- without the space that a new corpus gets: to drop it would hold every other until the end
  v_id := ragdb_internal.insert_corpus(
    v_name, v_settings ->> 'title', v_settings ->> 'text_config',
    (v_settings ->> 'k1')::float8, (v_settings ->> 'b')::float8,
    v_settings ->> 'record_query_text', null);
  perform ragdb_internal.restore_declared_cases(v_id, v_name),
    ragdb_internal.make_overdue_partitions();
  if not coalesce((v_settings ->> 'pivot')::float8 between 1e-6 and 1e9, false) then
    perform ragdb_internal.refuse_import(
      'its pivot is ' || ragdb_internal.quote(v_settings ->> 'pivot'));
  end if;
  update ragdb.corpora c
    set pivot = (v_settings ->> 'pivot')::float8, import_xid = pg_current_xact_id()
    where c.corpus_id = v_id;
  -- what few could read there is not for all to read here
  if (v_settings ->> 'is_restricted')::boolean and v_name not in ('personal', 'system') then
    perform ragdb_internal.set_grant(v_id, v_caller, 'admin');
  end if;
  perform ragdb_internal.record_state('settings', v_id);
  if v_embedder is not null then
    perform ragdb_internal.check_may_create_embedder(v_embedder ->> 'name');
    perform ragdb_internal.import_embedder(v_embedder);
  end if;
  return v_name;
end $$;
comment on function ragdb.import_corpus is
  'Begins the import of a corpus, in one transaction that ragdb.finish_import ends and that cannot '
  'be committed without it: makes it, under the name of its header or another, with its settings '
  'and its embedder. Where it was restricted only the caller and admins may read it; rights are '
  'not part of an export. Raises RG400, RG401, RG409, RG411, RG417, RG455.';

-- Refuses what is not an array of documents with sources. Raises RG455.
create or replace function ragdb_internal.check_imported(documents jsonb) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(jsonb_typeof(documents), '') <> 'array' or exists (
      select from jsonb_array_elements(documents) d
      where jsonb_typeof(d) <> 'object' or coalesce(jsonb_typeof(d -> 'sources'), '') <> 'array'
        or d -> 'sources' = '[]') then
    perform ragdb_internal.refuse_import('documents is not an array of documents with sources');
  end if;
end $$;

-- Puts documents as exports have them into a corpus, without added edges, and returns the number of
-- their chunks. The first source decides; at the others, the same record is found too, one after
-- the other: a call takes a turn once. Raises RG400, RG401, RG404, RG409, RG412, RG413, RG455.
create or replace function ragdb_internal.put_exported(corpus text, documents jsonb)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_nth bigint;
  v_documents jsonb;
  v_conversations jsonb;
  v_chunks integer;
  v_all integer := 0;
begin
  perform ragdb_internal.check_imported(documents);
  for v_nth, v_documents, v_conversations in
    with source as materialized (
      select d.n, d.v - array['sources', 'edges'] as document,
        jsonb_build_object(
          'uri', s.v -> 'uri', 'source_name', s.v -> 'source_name', 'etag', s.v -> 'etag',
          -- whatever is at this source here
          'adopt', true)
          -- which a move brings
          || jsonb_strip_nulls(jsonb_build_object('root', s.v -> 'root')) as source,
        row_number() over (partition by d.n order by (s.v ->> 'uri') collate "C") as nth
      from jsonb_array_elements(documents) with ordinality d (v, n),
        jsonb_array_elements(d.v -> 'sources') s (v)
    )
    select s.nth,
        jsonb_agg(s.document || s.source order by s.n) filter (where not s.document ? 'messages'),
        jsonb_agg(s.document || s.source order by s.n) filter (where s.document ? 'messages')
      from source s group by s.nth order by s.nth
  loop
    select coalesce(sum(p.chunks_indexed), 0) into v_chunks from (
      select d.chunks_indexed from ragdb.put_documents(corpus, coalesce(v_documents, '[]')) d
      union all
      select c.chunks_indexed
      from ragdb.put_conversations(corpus, coalesce(v_conversations, '[]')) c) p;
    v_all := v_all + case when v_nth = 1 then v_chunks else 0 end;
  end loop;
  return v_all;
end $$;

create or replace function ragdb.import_documents(corpus text, documents jsonb) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.importing(import_documents.corpus);
  v_chunks constant integer := ragdb_internal.put_exported(v_corpus.name, documents);
begin
  -- which the digest does not know of
  if v_corpus.moving is null and jsonb_path_exists(documents, '$[*].sources[*].root') then
    perform ragdb_internal.refuse_import('its sources say where they were brought from');
  end if;
  perform ragdb_internal.import_edges(v_corpus.corpus_id, documents);
  return v_chunks;
end $$;
comment on function ragdb.import_documents is
  'Puts documents of an export, an array of what ragdb.export_documents returns, into the corpus '
  'that this transaction imports, and returns the number of their chunks; ids, links, edges and '
  'the index are made anew. Raises RG400, RG401, RG404, RG409, RG412, RG413, RG455.';

-- Stores embeddings, one behind the other, of chunks (source and ordinal) that have none, and
-- returns the chunks.
create or replace function ragdb_internal.store_imported(
  space ragdb.embedding_spaces, embedder ragdb.embedders, sources text[], ordinals integer[],
  embeddings real[])
returns integer[]
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
  v_id constant integer := space.corpus_id;
  v_stored integer[];
begin
  with place as materialized (
    select c.chunk_no, o.n
    from unnest(sources, ordinals) with ordinality o (source, ordinal, n)
      cross join lateral (
        select s.doc_no from ragdb.document_sources s
        where s.corpus_id = v_id and s.uri = o.source offset 0) d
      cross join lateral (
        select k.chunk_no from ragdb.chunks k
        where k.corpus_id = v_id and k.doc_no = d.doc_no and k.ordinal = o.ordinal offset 0) c
  ), stored as (
    insert into ragdb.chunk_embeddings (space_id, corpus_id, chunk_no, input_hash, embedding, half)
    select space.space_id, v_id, p.chunk_no, sha256(convert_to(i.input, 'UTF8')),
      case when not space.is_half then v.embedding end,
      case when space.is_half
        then ragdb_internal.halves(ragdb_internal.unit_length(v.embedding)) end
    from ragdb_internal.embedding_inputs(
        v_id, array(select p.chunk_no from place p), embedder.passage_prefix) i
      join place p on p.chunk_no = i.chunk_no
      join ragdb_internal.cut(embeddings, embedder.dims) v on v.n = p.n
    order by p.chunk_no
    on conflict do nothing
    returning chunk_no
  )
  select array_agg(s.chunk_no) into v_stored from stored s;
  return coalesce(v_stored, '{}');
end $$;

create or replace function ragdb.import_embeddings(
  corpus text, sources text[], ordinals integer[], embeddings real[])
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.importing(import_embeddings.corpus);
  v_space constant ragdb.embedding_spaces :=
    ragdb_internal.space(v_corpus.corpus_id, 'current');
  v_most constant integer := (ragdb_internal.limits()).export_rows;
  v_embedder ragdb.embedders;
  v_stored integer[];
begin
  if sources is null or cardinality(sources) not between 1 and v_most
      or cardinality(ordinals) is distinct from cardinality(sources) then
    perform ragdb_internal.refuse_import(
      format('sources and ordinals are not of one length of 1 to %s', v_most));
  end if;
  if v_space.space_id is null then
    perform ragdb_internal.refuse_import('its header names no embedder');
  end if;
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb_internal.check_embeddings(embeddings, v_embedder.dims, v_embedder.metric, array(
    select format('chunk %s of %s', o.ordinal, ragdb_internal.quote(o.source))
    from unnest(sources, ordinals) with ordinality o (source, ordinal, n) order by o.n));
  v_stored := ragdb_internal.store_imported(
    v_space, v_embedder, sources, ordinals, embeddings);
  if cardinality(v_stored) <> cardinality(sources) then
    perform ragdb_internal.refuse_import(
      'it has embeddings of chunks that are not there, or two of one');
  end if;
  perform ragdb_internal.derive_embedded_turns(v_space, v_stored);
  return cardinality(v_stored);
end $$;
comment on function ragdb.import_embeddings is
  'Stores embeddings, one behind the other, of chunks (first source of the document, and ordinal) '
  'of the corpus that this transaction imports, and returns their number. Raises RG400, RG401, '
  'RG404, RG418, RG455.';

create or replace function ragdb.finish_import(corpus text, header jsonb) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.importing(finish_import.corpus);
  v_found constant jsonb := ragdb_internal.export_header(v_corpus);
begin
  if v_corpus.moving is not null then
    perform ragdb_internal.refuse_import('it comes by a move, which ragdb.open_move() ends');
  end if;
  if v_found -> 'counts' is distinct from header -> 'counts' then
    perform ragdb_internal.refuse_import(format(
      'it has %s, and its header says %s',
      v_found -> 'counts', ragdb_internal.quote(header ->> 'counts')));
  end if;
  if v_found -> 'digest' is distinct from header -> 'digest' then
    perform ragdb_internal.refuse_import(
      'its settings, documents, embeddings or synonyms are not those of its digest');
  end if;
  perform ragdb_internal.catch_up(v_corpus);
  update ragdb.corpora c set import_xid = null where c.corpus_id = v_corpus.corpus_id;
  if (ragdb_internal.space(v_corpus.corpus_id, 'current')).space_id is null then
    perform ragdb_internal.bind_default(v_corpus.corpus_id);
    perform ragdb_internal.fill_static(ragdb_internal.space(v_corpus.corpus_id, 'current'));
  end if;
  perform ragdb_internal.note_filled(s.space_id)
    from ragdb.embedding_spaces s where s.corpus_id = v_corpus.corpus_id;
  perform ragdb_internal.write_events(v_corpus, array(
    select d.doc_no from ragdb.documents d
    where d.corpus_id = v_corpus.corpus_id order by d.doc_no));
end $$;
comment on function ragdb.finish_import is
  'Ends an import: compares what came with the counts and the digest of the header, completes '
  'the blocks of the lexical index and writes the events. Raises RG400, RG401, RG404, RG455.';
