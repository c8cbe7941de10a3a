-- What it takes to put documents that are cut already, be they texts or conversations.

-- Returns a row for each given document when all of them are stored as they are given, else no row.
create or replace function ragdb_internal.stored_already(corpus ragdb.corpora, documents jsonb)
returns table (
  "position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
  ingest_event_id uuid, was_duplicate boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_id constant integer := corpus.corpus_id;
  v_language constant text := ragdb_internal.config_language(corpus.text_config);
begin
  return query
    select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id, true
    from jsonb_array_elements(documents) with ordinality i (v, n)
      cross join lateral (
        select h.* from ragdb.documents h
        where h.corpus_id = v_id and h.doc_cid = i.v ->> 'doc_cid'
          and h.name = ragdb_internal.given_name(i.v)
        offset 0) d
    where not exists (
      select from jsonb_array_elements(documents) g (v)
        left join lateral (
          select h.* from ragdb.document_sources h
          where h.corpus_id = v_id and h.uri = g.v ->> 'uri' offset 0) s on true
        left join lateral (
          select h.* from ragdb.documents h
          where h.corpus_id = v_id and h.doc_no = s.doc_no offset 0) d on true
      where (d.doc_cid, d.name)
          is distinct from (g.v ->> 'doc_cid', ragdb_internal.given_name(g.v))
        or (s.source_name, s.root, s.etag)
          is distinct from (ragdb_internal.given_source_name(g.v),
            coalesce(g.v ->> 'root', s.root), g.v ->> 'etag')
        or d.source = s.uri and ragdb_internal.stored_description(d)
          is distinct from ragdb_internal.given_description(g.v, v_language)
        or not ragdb_internal.says_the_same(g.v, v_id, d.doc_no))
    order by i.n;
end $$;

-- Notes that the caller brought to a corpus those of some blobs whose bytes it has put. Whoever
-- brought the bytes brings them to the corpus with their document. A session keeps the plan, which
-- looks up by key: to make one takes longer than all the rest of a blob.
create or replace function ragdb_internal.bring_blobs(corpus_id integer, cids text[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
  perform ragdb_internal.bring_original(row(bring_blobs.corpus_id, u.cid, u.media_type, u.role,
      ragdb_internal.now())::ragdb.corpus_blobs)
    from (select distinct c.cid from unnest(cids) c (cid) order by 1) c
      cross join lateral (
        select o.cid, o.role, o.media_type from ragdb.blob_uploads o
        where o.cid = c.cid and ragdb_internal.is_caller(o.role, o.role_oid) limit 1) u
    where not exists (
      select from ragdb.corpus_blobs b
      where b.corpus_id = bring_blobs.corpus_id and b.cid = u.cid offset 0);
end $$;

-- Notes that the caller brought to a corpus the bytes of those of some documents that it has put.
-- Under the lock of the corpus where it is taken at all: a drop that has it would wait for whoever
-- holds what is stored under the corpus, and he for the lock.
create or replace function ragdb_internal.bring_originals(corpus_id integer, documents jsonb)
returns void
language sql
return ragdb_internal.bring_blobs(bring_originals.corpus_id, array(
  select i ->> 'doc_cid' from pg_catalog.jsonb_array_elements(bring_originals.documents) i));

-- Puts documents, all of them conversations or none. Raises what ragdb.put_documents() raises.
create or replace function ragdb_internal.put_given(
  corpus text, documents jsonb, force boolean, are_turns boolean)
returns setof ragdb.put_result
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(put_given.corpus, 'write');
  v_ahead ragdb_internal.given_analysis;
begin
  perform ragdb_internal.check_documents(documents, are_turns);
  if force is null then
    raise exception 'force is null'
      using errcode = 'RG400',
        detail = 'it says whether documents that are stored already are written again',
        hint = 'the default is false';
  end if;
  -- a vacuum in the middle of the last put saw no row of it
  if v_corpus.next_doc_no > 1 then
    perform ragdb_internal.renew_statistics(
      '{ragdb.documents,ragdb.document_sources,ragdb.chunks}');
  end if;
  perform ragdb_internal.check_roots(v_corpus, documents);
  -- where all of it is stored already, nothing is written: not even the corpus row is locked
  if not force then
    return query
      select s.*, (extract(epoch from clock_timestamp() - v_began) * 1000)::float8
      from ragdb_internal.stored_already(v_corpus, documents) s;
    if found then
      perform ragdb_internal.bring_originals(v_corpus.corpus_id, documents);
      return;
    end if;
  end if;
  if jsonb_array_length(documents) = 0 then return; end if;
  v_ahead := ragdb_internal.analysed_ahead(v_corpus, documents);
  v_corpus := ragdb_internal.lock_corpus(put_given.corpus, 'write');
  -- the roots again, because another may have brought them meanwhile
  perform ragdb_internal.check_roots(v_corpus, documents),
    ragdb_internal.check_conversations_stay(v_corpus, documents),
    ragdb_internal.bring_originals(v_corpus.corpus_id, documents);
  return query
    select w.*, (extract(epoch from clock_timestamp() - v_began) * 1000)::float8
    from ragdb_internal.write_documents(v_corpus, documents, force, '{}', v_ahead) w;
end $$;
