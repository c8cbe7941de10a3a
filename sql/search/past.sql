-- Search of a corpus as it was at one of its versions: mode, ranking and hits.

-- Returns a request with its mode chosen, and the embedding of its query by the space that was
-- searched then. Raises RG400, RG415, RG418.
create or replace function ragdb_internal.with_mode_then(
  past ragdb_internal.past_corpus, request ragdb_internal.search_request)
returns ragdb_internal.search_request
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora := past.corpus;
  v_space ragdb.embedding_spaces;
begin
  if request.mode is null and past.is_filled is not true then
    request.mode := 'lexical';
    return request;
  elsif not ragdb_internal.uses_embeddings(request.mode) then
    perform ragdb_internal.check_mode(request.mode);
    return request;
  end if;
  select s.* into v_space from ragdb.embedding_spaces s where s.space_id = past.space_id;
  if not found then
    if request.mode is not null then
      raise exception 'corpus % has no embeddings of version %',
          ragdb_internal.quote(v_corpus.name), v_corpus.version
        using errcode = 'RG415', detail = 'it had none then, or its space was dropped since',
          hint = 'pass mode => ''lexical''';
    end if;
    raise notice 'searching by words only: the embeddings of version % of corpus % are gone',
        v_corpus.version, ragdb_internal.quote(v_corpus.name)
      using detail = 'the space that was searched then has been dropped since',
        hint = 'pass mode => ''lexical'' to ask for no more than this';
    request.mode := 'lexical';
    return request;
  end if;
  if request.query_embedding is null then
    request.query_embedding := ragdb_internal.query_embedding(
      v_corpus.corpus_id, past.embedder_id, request.query);
    if request.query_embedding is null then
      perform ragdb_internal.note_no_embedding(array[v_corpus], v_corpus, v_space, request);
      request.mode := 'lexical';
      return request;
    end if;
  end if;
  request.query_embedding := ragdb_internal.query_vector(
    v_corpus, v_space, request.query, request.query_embedding);
  request.mode := coalesce(request.mode, 'hybrid');
  return request;
end $$;

-- Returns the k best of ranked chunks of a corpus as it was as hits, by score, then chunk id; in
-- the order that they come in where that is asked for.
create or replace function ragdb_internal.hits_then(
  corpus ragdb.corpora, ranked ragdb_internal.ranked[], k integer, mode text,
  is_ordered boolean)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  with best as materialized (
    select r.* from pg_catalog.unnest(hits_then.ranked) with ordinality r
    where coalesce(
      r.score >= (select ragdb_internal.kth_score(hits_then.ranked, hits_then.k)), true)
  ), placed as materialized (
    select r.score, r.lexical_score, r.semantic_score, r.lexical_rank, r.semantic_rank, r.bm25,
      r.coverage, r.is_exact, c.*,
      pg_catalog.row_number() over (order by
        case when hits_then.is_ordered then r.ordinality end,
        r.score desc, c.chunk_id)::integer as rank,
      pg_catalog.rank() over (order by
        case when hits_then.is_ordered then r.ordinality end, r.score desc)::integer as place
    from best r
      join ragdb_internal.chunks_at_then(hits_then.corpus,
        array(select b.chunk_no from best b)) c on c.chunk_no = r.chunk_no
  )
  select t.rank, (hits_then.corpus).name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading,
    t.page, t.start_offset, t.end_offset, t.text,
    ragdb_internal.chunk_citation(t.citation, t.source), t.score, t.lexical_score,
    t.semantic_score, case when hits_then.mode = 'lexical' then t.place else t.lexical_rank end,
    t.semantic_rank, t.bm25, t.coverage,
    pg_catalog.encode(ragdb_internal.content_hash(t.text), 'hex'), d.metadata, hits_then.mode,
    t.is_exact, null::text
  from placed t
    join ragdb_internal.documents_at_then(hits_then.corpus, array(
      select distinct p.doc_no from placed p where p.rank <= hits_then.k)) d
      on d.doc_no = t.doc_no
  where t.rank <= hits_then.k
  order by t.rank;
end;

-- Returns the hits of a checked search of one corpus as it was at a version, weighed by its own
-- statistics then or those of another today, and the request with its mode chosen. Raises RG400,
-- RG410, RG415, RG418, RG437.
create or replace function ragdb_internal.search_then(
  corpora ragdb.corpora[], as_of bigint, statistics ragdb.corpora,
  inout request ragdb_internal.search_request, out hits ragdb.hit[])
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found ragdb_internal.past_corpus;
  v_past ragdb_internal.past;
  v_ranked ragdb_internal.ranked[];
begin
  if cardinality(corpora) <> 1 then
    raise exception 'as_of takes one corpus, and % are searched', cardinality(corpora)
      using errcode = 'RG400', detail = 'each corpus has versions of its own',
        hint = 'search them one by one; ragdb.version_at() gives the version of each at a time';
  end if;
  v_found := ragdb_internal.corpus_at(corpora[1], as_of);
  if (request.options).context > 0 or (request.options).section then
    raise exception 'a search as of a version does not take context or section'
      using errcode = 'RG400', detail = 'they show what stands around a hit today',
        hint = 'leave them out';
  end if;
  request := ragdb_internal.with_mode_then(v_found, request);
  v_past := ragdb_internal.past(v_found);
  v_ranked := case when ragdb_internal.picks(request.options)
    then ragdb_internal.rank_picked(array[v_past.corpus], statistics, request, v_past)
    else ragdb_internal.rank_then(v_past, statistics, request) end;
  hits := array(
    select h from ragdb_internal.hits_then(v_found.corpus, v_ranked, request.k, request.mode,
      (request.options).diversity > 0) h
    order by h.rank);
end $$;
