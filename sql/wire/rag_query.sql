-- Capabilities rag.query and rag.list_corpora.

-- Asks the workers for the embedding of a query and returns the answer meanwhile.
create or replace function ragdb_internal.wait_for_query(
  corpus ragdb.corpora, embedder ragdb.embedders, query text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_error text;
begin
  perform ragdb.request_query_embedding(corpus.name, query);
  select s.last_error into v_error from ragdb.query_embedding_state(corpus.name, query) s;
  return ragdb_internal.wait_for_worker(embedder, 'the query waits for a worker that embeds it',
    v_error, 100, ragdb_internal.query_job(corpus.corpus_id, embedder.embedder_id,
      sha256(convert_to(query, 'UTF8'))));
end $$;

-- Returns the job id of a query that waits for its embedding. A query that waits has no id of its
-- own: this is one of version 8, made of its key.
create or replace function ragdb_internal.query_job(corpus_id integer, embedder_id integer,
  query_hash bytea) returns uuid
language sql immutable parallel safe
return pg_catalog.overlay(pg_catalog.overlay(pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(
    'ragdb.query/1'::bytea || pg_catalog.int4send(query_job.corpus_id)
    || pg_catalog.int4send(query_job.embedder_id) || query_job.query_hash), 1, 16), 'hex'),
  '8', 13, 1), '8', 17, 1)::uuid;

-- Returns a field of a request that is how many rows to return, 1 to most; null when it is missing.
-- Raises RG400.
create or replace function ragdb_internal.wire_count(input jsonb, field text, most integer)
returns integer
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if input ? field then
    if jsonb_typeof(input -> field) <> 'number' or (input ->> field)::numeric not between 1 and most
      or (input ->> field)::numeric <> trunc((input ->> field)::numeric)
    then
      raise exception '% is %, not a whole number from 1 to %', field,
          ragdb_internal.quote(input ->> field), most
        using errcode = 'RG400', detail = 'it is how many are returned at most',
          hint = 'leave it out for the default, which ragdb.capabilities() has in the schema';
    end if;
  end if;
  return (input ->> field)::numeric;
end $$;

-- Returns a field of a request that is true or false, true unless given. Raises RG400.
create or replace function ragdb_internal.wire_flag(input jsonb, field text) returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if input ? field and jsonb_typeof(input -> field) <> 'boolean' then
    raise exception '% is not true or false', field
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(input -> field),
        hint = 'the default is true';
  end if;
  return coalesce((input ->> field)::boolean, true);
end $$;

-- Returns the corpus, or the first of its parts, that has not kept the embedding of a query and
-- does not make it itself; null without one.
create or replace function ragdb_internal.lacking_embedding(
  corpus ragdb.corpora, embedder_id integer, query text)
returns ragdb.corpora
language sql stable parallel safe
return (
  select c from ragdb.corpora c
  where (c.corpus_id = (corpus).corpus_id and (corpus).parts = 0
      or c.part_of = (corpus).corpus_id and (corpus).parts > 0)
    and not ragdb_internal.is_static(lacking_embedding.embedder_id)
    and ragdb_internal.kept_embedding(
      c.corpus_id, lacking_embedding.embedder_id, lacking_embedding.query) is null
  order by c.corpus_id limit 1);

-- Returns the answer of rag.query to a request that is sound, and records a trace; or has a worker
-- embed the query. Raises RG410.
create or replace function ragdb_internal.answer_query(corpus ragdb.corpora, query text, k integer,
  filter jsonb, has_text boolean, began timestamptz) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces :=
    ragdb_internal.space(ragdb_internal.embedded_as(corpus), 'current');
  v_embedder ragdb.embedders;
  v_lacking ragdb.corpora;
  v_chunks jsonb;
begin
  if v_space.space_id is not null then
    select e.* into strict v_embedder from ragdb.embedders e
      where e.embedder_id = v_space.embedder_id;
    v_lacking := ragdb_internal.lacking_embedding(corpus, v_embedder.embedder_id, query);
    if v_lacking.corpus_id is not null then
      return ragdb_internal.wait_for_query(v_lacking, v_embedder, query);
    end if;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'rank', h.rank, 'score', h.score,
      'metadata', jsonb_build_object('doc_cid', h.doc_cid, 'doc_title', h.title, 'page', h.page,
        'chunk_id', h.chunk_id))
    || case when has_text then jsonb_build_object('text', h.text) else '{}' end
      order by h.rank), '[]')
    into v_chunks
    from ragdb.retrieve(corpus => answer_query.corpus.name, query => answer_query.query,
      k => answer_query.k, filter => ragdb_internal.wire_filter(answer_query.filter),
      client => 'rag.query@1.0') h;
  return jsonb_build_object('output', jsonb_build_object('chunks', v_chunks),
    'meta', jsonb_build_object('corpus', corpus.name, 'ms', ragdb_internal.ms_since(began),
      'embedding_model', v_embedder.name));
end $$;

-- A query that fails is recorded too, once it is known which corpus was asked.
create or replace function ragdb.rag_query(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpus ragdb.corpora;
  v_query text;
  v_k integer;
  v_detail text;
  v_hint text;
begin
  perform ragdb_internal.enter_capability('rag.query', request);
  v_corpus := ragdb_internal.routable_corpus(
    ragdb_internal.wire_text(request -> 'params', 'corpus'), 'read', true);
  v_query := ragdb_internal.wire_text(v_input, 'query');
  perform ragdb_internal.check_query(v_query);
  v_k := coalesce(ragdb_internal.wire_count(v_input, 'k', 20), 5);
  return ragdb_internal.answer_query(v_corpus, v_query, v_k, v_input -> 'filter',
    ragdb_internal.wire_flag(v_input, 'include_text'), v_began);
exception when sqlstate 'RG000' then
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  if v_corpus.corpus_id is not null and v_query is not null
    and sqlstate not in ('RG450', 'RG470') and ragdb_internal.may_record_failure()
  then
    perform ragdb.record_failure(v_corpus.name, v_query, sqlstate,
      ragdb_internal.ms_since(v_began)::float8, k => v_k, filter => v_input -> 'filter',
      client => 'rag.query@1.0');
  elsif sqlstate in ('RG401', 'RG404') then
    perform ragdb_internal.note_refusal(request #>> '{params,corpus}', sqlstate);
  end if;
  return ragdb_internal.wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_query is
  'Capability rag.query@1.0: {"params": {"corpus"}, "input": {"query", "k" (1 to 20, 5), "filter", '
  '"include_text" (true)}} gives {"output": {"chunks": [{"rank", "score", "text", "metadata": '
  '{"doc_cid", "doc_title", "page", "chunk_id"}}]}, "meta": {"corpus", "ms", "embedding_model"}} '
  'and records a trace; or {"error"} with not_found, bad_request, unauthorized, capacity_exceeded, '
  'or partition while a worker embeds the query. Raises 25006 where nothing can be written.';

create or replace function ragdb.rag_list_corpora(request jsonb default '{}') returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpora jsonb;
  v_detail text;
  v_hint text;
begin
  perform ragdb_internal.enter_capability('rag.list_corpora', request);
  select coalesce(jsonb_agg(jsonb_build_object('name', c.name, 'docs', n.documents,
      'chunks', n.chunks, 'size_bytes', n.size_bytes,
      'language_majority', n.language) order by c.name), '[]')
    into v_corpora
    from ragdb_internal.page_of_corpora(
        coalesce(ragdb_internal.wire_text(v_input, 'prefix'), ''),
        coalesce(ragdb_internal.wire_text(v_input, 'after'), ''),
        ragdb_internal.wire_count(v_input, 'count', (ragdb_internal.limits()).page_rows), false) c
      cross join lateral ragdb_internal.counts(c) n;
  return jsonb_build_object('output', jsonb_build_object('corpora', v_corpora),
    'meta', jsonb_build_object('ms', ragdb_internal.ms_since(v_began)));
exception when sqlstate 'RG000' then
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb_internal.wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_list_corpora is
  'Capability rag.list_corpora@1.0: {"params": {}, "input": {"prefix", "after", "count" (1 to '
  '10000, all)}} gives {"output": {"corpora": [{"name", "docs", "chunks", "size_bytes", '
  '"language_majority"}]}, "meta": {"ms"}}, of the corpora that the caller may read without '
  'personal, by name, in pages as of ragdb.list_corpora; or {"error"} with bad_request, '
  'unauthorized or capacity_exceeded.';
