-- The hashes that prove a trace: of its result, of all that it says, and of how its corpus ranked.

-- Returns the sha256 (hex) of the ordered chunk ids, content hashes and scores of a retrieval: what
-- the caller was given.
create or replace function ragdb_internal.result_hash(hits ragdb.retrieval_hits[]) returns text
language sql stable parallel safe
return pg_catalog.encode(ragdb_internal.fields_hash(variadic
  array['ragdb.result/1'::bytea] || array(
    select f.bytes
      from pg_catalog.unnest(hits) as h
      cross join lateral pg_catalog.unnest(array[
        ragdb_internal.utf8(h.chunk_id), h.content_hash, pg_catalog.float8send(h.score)])
        with ordinality as f (bytes, n)
      order by h.rank, f.n)), 'hex');

-- Returns the columns of a trace as they are hashed: all but trace_hash and trace_mac. Everything
-- but trace_hash itself and trace_mac, in the order of the columns.
create or replace function ragdb_internal.trace_fields(trace ragdb.retrieval_traces)
returns bytea[]
language sql stable parallel safe
return array[
  'ragdb.trace/1'::bytea,
  pg_catalog.int4send((trace).corpus_id), pg_catalog.uuid_send((trace).id),
  pg_catalog.timestamptz_send((trace).created_at), ragdb_internal.utf8((trace).corpus),
  ragdb_internal.utf8((trace).retriever), ragdb_internal.utf8((trace).rag),
  ragdb_internal.utf8((trace).retrieval_mode), ragdb_internal.utf8((trace).rank_mode),
  ragdb_internal.utf8((trace).query_text), ragdb_internal.utf8((trace).query_hash),
  ragdb_internal.utf8((trace).query_embedding_hash),
  ragdb_internal.utf8((trace).embedding_model),
  ragdb_internal.utf8((trace).slice_id), ragdb_internal.utf8((trace).anchor_chunk_id),
  pg_catalog.int4send((trace).slice_chunk_count), pg_catalog.int4send((trace).slice_edge_count),
  ragdb_internal.utf8((trace).policy_id), ragdb_internal.utf8((trace).policy_params_hash),
  ragdb_internal.utf8((trace).schema_version), ragdb_internal.utf8((trace).graph_snapshot_hash),
  ragdb_internal.utf8((trace).admissibility_token), pg_catalog.boolsend((trace).is_admissible),
  pg_catalog.boolsend((trace).admissibility_shortfall),
  ragdb_internal.utf8((trace).shortfall_reason),
  pg_catalog.int4send((trace).limit_requested), pg_catalog.int4send((trace).limit_returned),
  pg_catalog.float8send((trace).min_score),
  -- the text of a jsonb value is one and the same under every setting
  ragdb_internal.utf8((trace).filters::text),
  case when (trace).chunk_ids is not null then ragdb_internal.fields_hash(variadic array(
    select ragdb_internal.utf8(c.chunk_id)
      from pg_catalog.unnest((trace).chunk_ids) with ordinality as c (chunk_id, n)
      order by c.n)) end,
  ragdb_internal.utf8((trace).statistics), ragdb_internal.utf8((trace).ranking_hash),
  ragdb_internal.utf8((trace).result_hash), pg_catalog.int8send((trace).corpus_version),
  pg_catalog.boolsend((trace).is_exact), pg_catalog.float8send((trace).elapsed_ms),
  ragdb_internal.utf8((trace).error_code), ragdb_internal.utf8((trace).client),
  ragdb_internal.utf8((trace).caller), pg_catalog.oidsend((trace).caller_oid),
  ragdb_internal.utf8((trace).otel_trace_id),
  ragdb_internal.utf8((trace).otel_span_id), ragdb_internal.utf8((trace).ranking::text),
  ragdb_internal.utf8((trace).stages::text)];

-- Returns the sha256 of a trace: all its columns but trace_hash and trace_mac, then its hits by
-- rank.
create or replace function ragdb_internal.trace_hash(
  trace ragdb.retrieval_traces, hits ragdb.retrieval_hits[])
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(variadic ragdb_internal.trace_fields(trace) || array(
  select f.bytes
    from pg_catalog.unnest(hits) as h
    cross join lateral pg_catalog.unnest(array[
      pg_catalog.int4send(h.rank), ragdb_internal.utf8(h.chunk_id), h.content_hash,
      pg_catalog.float8send(h.score), pg_catalog.float8send(h.lexical_score),
      pg_catalog.float8send(h.semantic_score), pg_catalog.int4send(h.lexical_rank),
      pg_catalog.int4send(h.semantic_rank)]) with ordinality as f (bytes, n)
    order by h.rank, f.n));

-- Returns the sha256 (hex) of what decides a corpus's ranking besides its documents: text
-- configuration, the versions of PostgreSQL that stem its chunks and its queries by it, k1, b,
-- pivot, and the hash of its synonyms.
create or replace function ragdb_internal.ranking_hash(corpus ragdb.corpora, synonyms bytea)
returns text
language sql stable parallel safe
return pg_catalog.encode(ragdb_internal.fields_hash(
  'ragdb.ranking/2'::bytea, ragdb_internal.utf8((corpus).text_config),
  pg_catalog.int4send((corpus).analysed_by), pg_catalog.int4send(ragdb_internal.server_major()),
  pg_catalog.float8send((corpus).k1), pg_catalog.float8send((corpus).b),
  pg_catalog.float8send((corpus).pivot), synonyms), 'hex');

-- Returns the same of a corpus whose synonyms are those that were recorded last: each retrieval
-- keeps it, and to hash a thousand of them takes as long as a short search.
create or replace function ragdb_internal.ranking_hash(corpus ragdb.corpora) returns text
language sql stable parallel safe
return (
  select ragdb_internal.ranking_hash(ranking_hash.corpus, case when (w.whole).has_synonyms
    then ragdb_internal.last_state((w.whole).corpus_id, 'synonyms', '') end)
  from (select ragdb_internal.whole_of(ranking_hash.corpus) as whole offset 0) w);
