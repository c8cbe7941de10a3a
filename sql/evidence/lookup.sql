-- What looks up the queries of a question, and what it finds.

create type ragdb.asked_retriever as (
  corpus text, retriever text, rag text, k integer, mode text, reranker text, max_context integer);
comment on type ragdb.asked_retriever is
  'What looks up the queries of a question: a corpus, or a retriever of a contract with its mode '
  'and reranker; k chunks, of which the grounding of the rag takes max_context characters (null: '
  'all).';

-- How the queries of a question are looked up, among what, and whether on record.
create type ragdb_internal.lookup as (
  source ragdb.asked_retriever, rerank text, filter jsonb, record boolean,
  context ragdb_internal.call_context);

-- Refuses another corpus than the one that a retriever searches. Raises RG400.
create or replace function ragdb_internal.check_asked_corpus(corpus text, declared text)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus <> declared then
    raise exception 'the retriever searches corpus % and not %', ragdb_internal.quote(declared),
        ragdb_internal.quote(corpus)
      using errcode = 'RG400', detail = 'a retriever of a contract names its corpus',
        hint = 'leave corpus out, or leave the retriever out';
  end if;
end $$;

-- Refuses a mode of ranking beside a retriever, which has one. Raises RG400.
create or replace function ragdb_internal.check_rank_mode(rank_mode text, retriever text)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if rank_mode is not null and retriever is not null then
    raise exception 'both a retriever and rank_mode are given'
      using errcode = 'RG400', detail = 'a retriever of a contract declares how it ranks',
        hint = 'leave rank_mode out';
  end if;
end $$;

-- A rag names its retriever and, in its grounding, how much evidence is taken. Definer: contracts
-- are granted to nobody.
create or replace function ragdb.ask_retriever(
  corpus text default null, retriever text default null, rag text default null,
  k integer default null, rank_mode text default null)
returns ragdb.asked_retriever
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_asked ragdb.asked_retriever := row(
    corpus, null, null, coalesce(k, 8), rank_mode, null, null);
  v_named ragdb_internal.named_retriever;
begin
  if coalesce(retriever, rag) is null then
    v_asked.corpus := coalesce(corpus, ragdb_internal.only_corpus());
    return v_asked;
  end if;
  v_named := ragdb_internal.named_retriever(retriever, rag);
  perform ragdb_internal.check_rank_mode(rank_mode, (v_named.retriever).name);
  perform ragdb_internal.check_asked_corpus(corpus, (v_named.settings).corpus);
  v_asked := row((v_named.settings).corpus, (v_named.retriever).name, v_named.rag,
    coalesce(k, (v_named.settings).k), (v_named.settings).mode, (v_named.settings).reranker, null);
  if rag is not null then
    select (g.keys ->> 'maxContext')::integer into v_asked.max_context
      from ragdb_internal.contract_node('rag', rag) r
        join ragdb.contract_nodes g on g.contract = r.contract and g.version = r.version
          and g.node = 'grounding' and g.rag = r.name;
  end if;
  return v_asked;
end $$;
comment on function ragdb.ask_retriever is
  'Returns what ragdb.ask looks up queries by: a corpus, the only one that the caller may read '
  'where nothing is named, or the retriever or rag of a contract that searches it, for k chunks '
  '(1 to 1000; 8 of a corpus, or as many as the retriever declares) by rank_mode, which a '
  'retriever declares. Raises RG400, RG404, RG417, RG441.';

-- Returns what is found for a query, on record or not. Raises what ragdb.retrieve and
-- ragdb.retrieve_with raise.
create or replace function ragdb_internal.asked_hits(lookup ragdb_internal.lookup, query text)
returns setof ragdb.traced_hit
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_source constant ragdb.asked_retriever := lookup.source;
  v_retriever constant text := case when v_source.rag is null then v_source.retriever end;
begin
  if v_source.retriever is null and lookup.record then
    return query select h.* from ragdb_internal.retrieve_traced(
      v_source.corpus, query, v_source.k, v_source.mode, filter => lookup.filter,
      asker => lookup.context) h;
  elsif v_source.retriever is null then
    return query select null::uuid, h.*
      from ragdb.search(v_source.corpus, query, v_source.k, v_source.mode,
        filter => lookup.filter) h;
  elsif lookup.record then
    return query select h.* from ragdb.retrieve_with(
      v_retriever, query, v_source.k, filter => lookup.filter, rag => v_source.rag,
      client => (lookup.context).client, otel_trace_id => (lookup.context).otel_trace_id,
      otel_span_id => (lookup.context).otel_span_id, rerank => lookup.rerank) h;
  else
    return query select null::uuid, h.* from ragdb.search_with(
      v_retriever, query, v_source.k, filter => lookup.filter, rag => v_source.rag,
      rerank => lookup.rerank) h;
  end if;
end $$;

-- Returns what is found for a query as ragdb.ask_weigh takes it.
create or replace function ragdb_internal.asked_result(lookup ragdb_internal.lookup, query text)
returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_chunks constant jsonb := (
    select coalesce(jsonb_agg(jsonb_build_object('source_id', h.source, 'chunk_id', h.chunk_id,
        'text', h.text, 'score', h.score, 'corpus', h.corpus, 'title', h.title,
        'heading', h.heading, 'page', h.page, 'start_offset', h.start_offset,
        'end_offset', h.end_offset, 'content_hash', h.content_hash)
        || case when lookup.record then jsonb_build_object('trace_id', h.trace_id)
          else jsonb_build_object('mode', h.mode) end
        order by h.rank), '[]')
    from ragdb_internal.asked_hits(lookup, query) h);
begin
  return jsonb_build_object('chunks', v_chunks,
    'trace_id', case when lookup.record then ragdb.last_trace_id() end);
end $$;
