-- A trace proves itself: its hashes are computed again from its rows. What it rests on is another
-- question: a document that was edited since leaves the record of the retrieval as it was.

-- Returns hits with the hashes of what their chunks say now; null for a chunk that is gone.
create or replace function ragdb_internal.hits_now(hits ragdb.retrieval_hits[])
returns ragdb.retrieval_hits[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hit ragdb.retrieval_hits;
  v_hits ragdb.retrieval_hits[] := '{}';
begin
  foreach v_hit in array hits loop
    v_hit.content_hash := (
      select ragdb_internal.content_hash(c.text)
      from ragdb_internal.chunk_of(v_hit.corpus_id, v_hit.chunk_id) c);
    v_hits := v_hits || v_hit;
  end loop;
  return v_hits;
end $$;

create or replace function ragdb.verify_trace(trace_id uuid)
returns table (
  field text, is_intact boolean, stored text, recomputed text, subject text)
language plpgsql stable parallel safe security definer -- traces are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace constant ragdb.retrieval_traces := ragdb_internal.open_trace(trace_id, is_audit => true);
  v_hits constant ragdb.retrieval_hits[] := array(select h from ragdb.trace_hits(trace_id) h);
  v_reranks constant ragdb.retrieval_reranks[] :=
    array(select r from ragdb.trace_reranks(trace_id) r);
  v_first constant ragdb.retrieval_reranks := v_reranks[1];
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  return query
    select v.field, v.stored is not distinct from v.recomputed, v.stored, v.recomputed,
        case v.field when 'evidence' then 'evidence' else 'record' end
      from (values
        ('trace_hash', encode(v_trace.trace_hash, 'hex'),
          encode(ragdb_internal.trace_hash(v_trace, v_hits), 'hex')),
        ('result_hash', v_trace.result_hash, ragdb_internal.result_hash(v_hits)),
        ('evidence', v_trace.result_hash,
          ragdb_internal.result_hash(ragdb_internal.hits_now(v_hits))),
        ('limit_returned', v_trace.limit_returned::text, cardinality(v_hits)::text),
        ('query_hash', v_trace.query_hash,
          case when v_trace.query_text is null then v_trace.query_hash
            else encode(sha256(ragdb_internal.utf8(v_trace.query_text)), 'hex') end),
        ('rerank_hash', encode(v_first.rerank_hash, 'hex'),
          encode(ragdb_internal.rerank_hash(v_trace.trace_hash, v_reranks), 'hex'))
      ) as v (field, stored, recomputed)
      where v_reranks <> '{}' or v.field not like 'rerank%'
    union all
    select m.field, s.is_intact, encode(m.mac, 'hex'),
        coalesce(s.problem, 'signed by key ' || s.key_id, 'no key was active then'), 'record'
      from (values
        ('trace_mac', v_trace.trace_hash, v_trace.trace_mac, v_trace.created_at),
        ('rerank_mac', v_first.rerank_hash, v_first.rerank_mac, v_first.recorded_at)
      ) as m (field, hash, mac, at)
      cross join lateral ragdb_internal.signature(m.hash, m.mac, m.at, v_keys) s
      where m.hash is not null;
end $$;
comment on function ragdb.verify_trace is
  'Recomputes the hashes of a trace. Subject record: from its rows, one row for trace_hash (every '
  'column and hit), result_hash, limit_returned, query_hash and trace_mac, and of its reranking '
  'where it has one, rerank_hash and rerank_mac; is_intact is false where a row was edited, added '
  'or removed since, or a signature is missing, wrong or of a key that is reported compromised, '
  'and null where the key that signed is not at hand; recomputed says which. Subject evidence: one '
  'row, evidence, from the texts of its chunks; is_intact false where a hit is gone or says '
  'something else, whoever changed it. Raises RG400, RG407.';
