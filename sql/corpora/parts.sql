-- Parts: corpora that rank as one. Each is a corpus of its own, with writers, rights and embeddings
-- of its own, so that several can be loaded at once; N, df and the pivot are those of the whole.

-- Refuses a new corpus as a part of another where either cannot be, or where its settings are
-- neither the defaults nor those of the whole. Raises RG400, RG409.
create or replace function ragdb_internal.check_becomes_part(
  corpus text, whole ragdb.corpora, text_config text, k1 float8, b float8, history interval)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus in ('personal', 'system') or whole.name in ('personal', 'system') then
    raise exception 'corpora "personal" and "system" have no parts and are none'
      using errcode = 'RG400', detail = 'one belongs to a role and the other to the installer',
        hint = 'choose other names';
  elsif whole.part_of is not null or whole.next_doc_no > 1 then
    raise exception 'corpus % cannot have parts', ragdb_internal.quote(whole.name)
      using errcode = 'RG400', detail = case when whole.part_of is not null
          then 'it is a part itself' else 'it has, or had, documents of its own' end,
        hint = 'create another corpus, and make it the whole of both';
  elsif history is not null or whole.history is not null then
    raise exception 'a corpus that keeps its history has no parts and is none'
      using errcode = 'RG400', detail = 'what the statistics of a whole were is not kept',
        hint = 'leave history out, or keep the corpus in one piece';
  elsif exists (select from ragdb.parts_elsewhere e
      where e.corpus_id = whole.corpus_id and e.name = check_becomes_part.corpus)
  then
    raise exception 'part % is on another server', ragdb_internal.quote(corpus)
      using errcode = 'RG409', detail = 'the name of a part is its own on all servers',
        hint = 'choose another name; ragdb.drop_part_statistics() forgets one that is gone there';
  elsif text_config not in ('english', whole.text_config) or k1 not in (1.2, whole.k1)
    or b not in (0.75, whole.b)
  then
    raise exception 'a part is searched as its whole is'
      using errcode = 'RG400', detail = format('text_config is %s, k1 %s and b %s in corpus %s',
          ragdb_internal.quote(whole.text_config), whole.k1, whole.b,
          ragdb_internal.quote(whole.name)),
        hint = 'leave text_config, k1 and b out';
  end if;
end $$;

-- Makes a new corpus a part of another, which is searched and embedded as that is; the caller holds
-- the lock of the whole.
create or replace function ragdb_internal.join_whole(corpus_id integer, whole ragdb.corpora)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(whole.corpus_id, 'current');
begin
  update ragdb.corpora c
    set part_of = whole.corpus_id, text_config = whole.text_config, k1 = whole.k1, b = whole.b,
      pivot = whole.pivot, record_query_text = whole.record_query_text,
      record_reads = whole.record_reads
    where c.corpus_id = join_whole.corpus_id;
  perform ragdb_internal.record_state('settings', join_whole.corpus_id);
  update ragdb.corpora c set parts = c.parts + 1 where c.corpus_id = whole.corpus_id;
  if v_space.space_id is not null then
    perform ragdb_internal.make_space(join_whole.corpus_id,
      (select e from ragdb.embedders e where e.embedder_id = v_space.embedder_id), 'current',
      v_space.m, v_space.ef_construction);
  end if;
end $$;

-- Takes a part that is about to be dropped out of the statistics of its whole. The whole is locked
-- before its parts, by whoever locks both. Its version, which counts that of each part, never
-- falls.
create or replace function ragdb_internal.leave_whole(part ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole ragdb.corpora;
begin
  if part.part_of is null then
    return;
  end if;
  v_whole := ragdb_internal.lock_opened(ragdb_internal.whole_of(part));
  perform ragdb_internal.sum_parts(v_whole, part.corpus_id);
  update ragdb.corpora c set parts = c.parts - 1, version = c.version + part.version
    where c.corpus_id = part.part_of
    returning c.* into v_whole;
  if v_whole.parts = 0 then
    delete from ragdb.parts_elsewhere e where e.corpus_id = v_whole.corpus_id;
    delete from ragdb.lexemes l where l.corpus_id = v_whole.corpus_id;
    update ragdb.corpora c set chunks = 0, lexeme_count = 0, next_term_id = 1
      where c.corpus_id = v_whole.corpus_id;
  end if;
end $$;

create or replace function ragdb.list_parts(corpus text)
returns table (name text, title text, documents integer, chunks integer, is_stale boolean,
  chunks_synced integer, synced_at timestamptz, version bigint, updated_at timestamptz,
  is_elsewhere boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_whole constant ragdb.corpora := ragdb_internal.open_corpus(list_parts.corpus, 'read', true);
begin
  return query
    select c.name, c.title, c.documents, c.chunks, ragdb_internal.is_stale(c), s.chunks,
      s.synced_at, c.version, c.updated_at, false
    from ragdb.corpora c left join ragdb.part_states s on s.corpus_id = c.corpus_id
    where c.part_of = v_whole.corpus_id and ragdb_internal.privilege(c) > 0
    union all
    select e.name, null, null, null, null, e.chunks, e.synced_at, e.version, null, true
    from ragdb.parts_elsewhere e where e.corpus_id = v_whole.corpus_id
    order by 1;
end $$;
comment on function ragdb.list_parts is
  'Lists the parts of a corpus that the caller may read: counts, and whether one was written to '
  'since ragdb.sync_statistics counted it (is_stale), with how many chunks that counted and when. '
  'Of a part on another server (is_elsewhere) it says what that server counted and gave; what has '
  'become of it since is known there. Raises RG400, RG404.';
