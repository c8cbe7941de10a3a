-- Search of a corpus as it was at one of its versions: mode, ranking and hits.

create or replace function ragdb_internal.reference_then(
  corpus ragdb.corpora, query text, among integer[])
returns setof ragdb_internal.ranked
language sql stable parallel safe
begin atomic
  select j.corpus_id, j.chunk_no, j.score, null::float8, null::float8, null::integer,
    null::integer, null::float8, null::float8, true
  from (
    select c.corpus_id, c.chunk_no, ragdb_internal.jaccard(
      ragdb_internal.reference_tokens(reference_then.query),
      ragdb_internal.reference_tokens(c.text)) as score
    from ragdb_internal.chunks_then(reference_then.corpus) c
    where reference_then.among is null
      or c.chunk_no in (select pg_catalog.unnest(reference_then.among))) j
  where j.score > 0;
end;
comment on function ragdb_internal.reference_then(ragdb.corpora, text, integer[]) is
  'Ranks a corpus as it was by the reference ranking, among the given chunks (null: all).';

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
  if request.mode <> all (ragdb_internal.search_modes()) or request.mode in ('lexical', 'reference')
  then
    request.mode := ragdb_internal.search_mode(array[v_corpus], request.mode, request.query, null);
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
    request.mode := 'lexical';
    return request;
  end if;
  if request.query_embedding is null then
    request.query_embedding := ragdb_internal.query_embedding(
      v_corpus.corpus_id, past.embedder_id, request.query);
    if request.query_embedding is null then
      perform ragdb_internal.note_no_embedding(v_corpus, v_space, request.mode);
      request.mode := 'lexical';
      return request;
    end if;
  end if;
  request.query_embedding := ragdb_internal.query_vector(
    v_corpus, v_space, request.query, request.query_embedding);
  request.mode := coalesce(request.mode, 'hybrid');
  return request;
end $$;
comment on function ragdb_internal.with_mode_then(
  ragdb_internal.past_corpus, ragdb_internal.search_request) is
  'Returns a request with its mode chosen, and the embedding of its query by the space that was '
  'searched then. Raises RG400, RG415, RG418.';

create or replace function ragdb_internal.rank_then(
  known ragdb_internal.past_corpus, statistics ragdb.corpora,
  request ragdb_internal.search_request)
returns ragdb_internal.ranked[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_words constant text := ragdb_internal.asked_words(request);
  v_among constant integer[] := ragdb_internal.filtered_then(
    known.corpus, request.filter, request.chunk_ids);
  v_past ragdb_internal.past;
  v_demanded integer[];
  v_ranked ragdb_internal.ranked[];
begin
  if request.mode = 'reference' then
    v_ranked := array(
      select r from ragdb_internal.reference_then(known.corpus, request.query, v_among) r);
  else
    v_past := ragdb_internal.past(known);
  end if;
  if request.mode = 'lexical' then
    v_ranked := array(
      select r from ragdb_internal.lexical_then(
        v_past, statistics, v_words, v_among, null, (request.options).typos) r);
  elsif request.mode in ('semantic', 'hybrid') then
    -- as in ragdb_internal.rank_near: a mere phrase does not bind the semantic leg
    v_demanded := ragdb_internal.demanded_then(
      v_past, regexp_replace(v_words, '(^|[^+-])"[^"]*"', '\1 ', 'g'), v_among);
    v_ranked := case when request.mode = 'semantic'
      then array(select r from ragdb_internal.semantic_then(
        v_past, request.query_embedding, request.k, v_demanded) r)
      else array(select r from ragdb_internal.hybrid_then(
        v_past, statistics, request, v_among, v_demanded) r) end;
  end if;
  return array(
    select r from unnest(v_ranked) r
    where r.score >= request.min_score
      and coalesce(r.lexical_score, 0) >= request.min_lexical
      and coalesce(r.semantic_score, 0) >= request.min_semantic);
end $$;
comment on function ragdb_internal.rank_then(
  ragdb_internal.past_corpus, ragdb.corpora, ragdb_internal.search_request) is
  'Returns at least the k best chunks of a corpus as it was that reach the floors of a search, in '
  'no order. Raises RG410.';

create or replace function ragdb_internal.hits_then(
  corpus ragdb.corpora, ranked ragdb_internal.ranked[], k integer, mode text)
returns setof ragdb.hit
language sql stable parallel safe
begin atomic
  select t.rank, (hits_then.corpus).name, t.chunk_id, d.doc_cid, t.source, d.title, t.heading,
    t.page, t.start_offset, t.end_offset, t.text, t.citation, t.score, t.lexical_score,
    t.semantic_score, case when hits_then.mode = 'lexical' then t.rank else t.lexical_rank end,
    t.semantic_rank, t.bm25, t.coverage,
    pg_catalog.encode(ragdb_internal.content_hash(t.text), 'hex'), d.metadata, hits_then.mode,
    t.is_exact, null::text
  from (
      select r.score, r.lexical_score, r.semantic_score, r.lexical_rank, r.semantic_rank, r.bm25,
        r.coverage, r.is_exact, c.*,
        pg_catalog.row_number() over (order by r.score desc, c.chunk_id)::integer as rank
      from pg_catalog.unnest(hits_then.ranked) r
        join ragdb_internal.chunks_then(hits_then.corpus) c on c.chunk_no = r.chunk_no) t
    join ragdb_internal.documents_then(hits_then.corpus) d on d.doc_no = t.doc_no
  where t.rank <= hits_then.k
  order by t.rank;
end;
comment on function ragdb_internal.hits_then(
  ragdb.corpora, ragdb_internal.ranked[], integer, text) is
  'Returns the k best of ranked chunks of a corpus as it was as hits, by score, then chunk id.';

create or replace function ragdb_internal.search_then(
  corpora ragdb.corpora[], as_of bigint, statistics ragdb.corpora,
  request ragdb_internal.search_request)
returns ragdb.hit[]
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_found ragdb_internal.past_corpus;
begin
  if cardinality(corpora) <> 1 then
    raise exception 'as_of takes one corpus, and % are searched', cardinality(corpora)
      using errcode = 'RG400', detail = 'each corpus has versions of its own',
        hint = 'search them one by one; ragdb.version_at() gives the version of each at a time';
  end if;
  v_found := ragdb_internal.corpus_at(corpora[1], as_of);
  if ragdb_internal.picks(request.options) or (request.options).context > 0
    or (request.options).section
  then
    raise exception 'a search as of a version does not take per_document, collapse, diversity, '
      'context or section'
      using errcode = 'RG400', detail = 'they look at chunks beside those that rank, as of today',
        hint = 'leave them out';
  end if;
  request := ragdb_internal.with_mode_then(v_found, request);
  return array(
    select h from ragdb_internal.hits_then(v_found.corpus,
      ragdb_internal.rank_then(v_found, statistics, request), request.k, request.mode) h
    order by h.rank);
end $$;
comment on function ragdb_internal.search_then(
  ragdb.corpora[], bigint, ragdb.corpora, ragdb_internal.search_request) is
  'Returns the hits of a checked search of one corpus as it was at a version, weighed by its own '
  'statistics then or those of another today. Raises RG400, RG410, RG415, RG418, RG437.';
