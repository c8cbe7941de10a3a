-- What the ledger enters of a row: a hash of each kind over its content, never over a stored hash.

-- Returns the sha256 of a list of texts; null for null.
create or replace function ragdb_internal.array_hash(list text[]) returns bytea
language sql stable parallel safe
return case when list is not null then ragdb_internal.fields_hash(variadic array(
  select ragdb_internal.utf8(l.value)
    from pg_catalog.unnest(list) with ordinality l (value, n) order by l.n)) end;

-- Returns the hash of a trace and its hits, which is its trace_hash.
create or replace function ragdb_internal.sealed_hash(trace ragdb.retrieval_traces) returns bytea
language sql stable parallel safe
return ragdb_internal.trace_hash(trace, array(
  select h from ragdb.retrieval_hits h
    where h.corpus_id = (trace).corpus_id and h.trace_id = (trace).id
      and h.created_at = (trace).created_at order by h.rank));

-- Returns the hash of the whole reranking that a row begins, which is its rerank_hash.
create or replace function ragdb_internal.sealed_hash(first ragdb.retrieval_reranks) returns bytea
language sql stable parallel safe
return ragdb_internal.rerank_hash(
  (select (t.trace).trace_hash
    from ragdb_internal.trace_at((first).trace_id, (first).created_at) t
    where t.corpus_id = (first).corpus_id),
  array(select r from ragdb.retrieval_reranks r
    where r.corpus_id = (first).corpus_id and r.trace_id = (first).trace_id
      and r.created_at = (first).created_at order by r.rank));

-- Returns the hash of a gate: all its columns.
create or replace function ragdb_internal.sealed_hash(gate ragdb.evidence_gates) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.gate/1'::bytea, pg_catalog.int4send((gate).corpus_id), pg_catalog.uuid_send((gate).id),
  pg_catalog.timestamptz_send((gate).created_at), pg_catalog.uuid_send((gate).trace_id),
  ragdb_internal.utf8((gate).query_hash), ragdb_internal.utf8((gate).pack_hash),
  pg_catalog.boolsend((gate).is_enough), pg_catalog.int4send((gate).chunks),
  pg_catalog.int4send((gate).min_chunks), pg_catalog.float8send((gate).best_score),
  pg_catalog.float8send((gate).min_score), pg_catalog.int4send((gate).terms),
  pg_catalog.float8send((gate).coverage), pg_catalog.float8send((gate).min_coverage),
  ragdb_internal.array_hash((gate).missing_terms), ragdb_internal.utf8((gate).rank_mode),
  ragdb_internal.utf8((gate).min_score_by), ragdb_internal.utf8((gate).client),
  ragdb_internal.utf8((gate).caller), pg_catalog.oidsend((gate).caller_oid));

-- Returns the columns of a citation, from row_no on, as they are hashed.
create or replace function ragdb_internal.citation_fields(citation ragdb.answer_citations)
returns bytea[]
language sql stable parallel safe
return array[
  pg_catalog.int4send((citation).row_no), pg_catalog.int4send((citation).citation),
  ragdb_internal.utf8((citation).code), pg_catalog.boolsend((citation).is_advisory),
  ragdb_internal.utf8((citation).source_id), ragdb_internal.utf8((citation).chunk_id),
  ragdb_internal.utf8((citation).method), pg_catalog.int4send((citation).start_offset),
  pg_catalog.int4send((citation).end_offset), ragdb_internal.utf8((citation).unit),
  pg_catalog.float8send((citation).similarity)];

-- Returns the hash of an answer: all its columns, then those of its citations.
create or replace function ragdb_internal.sealed_hash(answer ragdb.evidence_answers) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(variadic array[
  'ragdb.answer/1'::bytea, pg_catalog.int4send((answer).corpus_id),
  pg_catalog.uuid_send((answer).id), pg_catalog.timestamptz_send((answer).created_at),
  pg_catalog.uuid_send((answer).trace_id), ragdb_internal.utf8((answer).pack_hash),
  ragdb_internal.utf8((answer).answer_hash), pg_catalog.boolsend((answer).is_insufficient),
  pg_catalog.boolsend((answer).is_verified), pg_catalog.int4send((answer).citations),
  pg_catalog.int4send((answer).problems), ragdb_internal.utf8((answer).task),
  ragdb_internal.utf8((answer).model), pg_catalog.int4send((answer).attempt),
  pg_catalog.float8send((answer).elapsed_ms), pg_catalog.int4send((answer).input_tokens),
  pg_catalog.int4send((answer).output_tokens),
  ragdb_internal.utf8((answer).client), ragdb_internal.utf8((answer).caller),
  pg_catalog.oidsend((answer).caller_oid)]
  || array(
    select f.field
      from ragdb.answer_citations c
      cross join lateral pg_catalog.unnest(ragdb_internal.citation_fields(c))
        with ordinality f (field, n)
      where c.corpus_id = (answer).corpus_id and c.answer_id = (answer).id
        and c.created_at = (answer).created_at
      order by c.row_no, f.n));

-- Returns the hash of a policy: all its columns.
create or replace function ragdb_internal.sealed_hash(policy ragdb.slice_policies) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.policy/1'::bytea, ragdb_internal.utf8((policy).policy_id),
  ragdb_internal.utf8((policy).params_hash), ragdb_internal.utf8((policy).canonical),
  (policy).sha256, ragdb_internal.utf8((policy).policy::text),
  pg_catalog.timestamptz_send((policy).created_at), ragdb_internal.utf8((policy).created_by));

-- Returns the hash of a stored slice: all its columns.
create or replace function ragdb_internal.sealed_hash(slice ragdb.slices) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.slice/1'::bytea, pg_catalog.int4send((slice).corpus_id),
  ragdb_internal.utf8((slice).slice_id), ragdb_internal.utf8((slice).anchor_chunk_id),
  ragdb_internal.utf8((slice).policy_id), ragdb_internal.utf8((slice).params_hash),
  ragdb_internal.array_hash((slice).chunk_ids),
  ragdb_internal.fields_hash(variadic (slice).content_hashes),
  ragdb_internal.array_hash((slice).selection_order), pg_catalog.int4send((slice).edge_count),
  ragdb_internal.utf8((slice).schema_version), ragdb_internal.utf8((slice).graph_snapshot_hash),
  pg_catalog.timestamptz_send((slice).created_at));

-- Returns the hash of an event: all its columns.
create or replace function ragdb_internal.sealed_hash(event ragdb.events) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.event/1'::bytea, pg_catalog.int8send((event).lamport),
  pg_catalog.uuid_send((event).event_id), ragdb_internal.utf8((event).kind),
  pg_catalog.timestamptz_send((event).created_at), ragdb_internal.utf8((event).author),
  pg_catalog.int4send((event).corpus_id), ragdb_internal.utf8((event).corpus),
  ragdb_internal.utf8((event).doc_cid), ragdb_internal.utf8((event).source),
  ragdb_internal.utf8((event).title), ragdb_internal.utf8((event).language),
  pg_catalog.int4send((event).chunks), (event).document_hash, (event).chunks_hash);

-- Returns the hash of an act: all its columns.
create or replace function ragdb_internal.sealed_hash(act ragdb.ledger_acts) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.act/1'::bytea, pg_catalog.uuid_send((act).act_id),
  pg_catalog.timestamptz_send((act).created_at), ragdb_internal.utf8((act).act),
  ragdb_internal.utf8((act).caller), ragdb_internal.array_hash((act).kinds),
  pg_catalog.int4send((act).corpus_id), pg_catalog.timestamptz_send((act).from_at),
  pg_catalog.timestamptz_send((act).to_at), ragdb_internal.array_hash((act).entries),
  ragdb_internal.utf8((act).reason));

-- Returns the hash of what a person said: all its columns.
create or replace function ragdb_internal.sealed_hash(feedback ragdb.evidence_feedback)
returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.feedback/1'::bytea, pg_catalog.int4send((feedback).corpus_id),
  pg_catalog.uuid_send((feedback).id), pg_catalog.timestamptz_send((feedback).created_at),
  pg_catalog.uuid_send((feedback).trace_id), pg_catalog.uuid_send((feedback).answer_id),
  ragdb_internal.utf8((feedback).chunk_id), ragdb_internal.utf8((feedback).verdict),
  ragdb_internal.utf8((feedback).comment), ragdb_internal.utf8((feedback).client),
  ragdb_internal.utf8((feedback).caller), pg_catalog.oidsend((feedback).caller_oid));

-- Returns the hash of a version of a contract: its name, version and time, and the hash of its
-- nodes.
create or replace function ragdb_internal.sealed_hash(contract ragdb.contracts) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(
  'ragdb.contract/1'::bytea, ragdb_internal.utf8((contract).contract),
  pg_catalog.int4send((contract).version), (contract).nodes_hash,
  pg_catalog.timestamptz_send((contract).applied_at));

-- Returns the hashes of the cases of a run, in order.
create or replace function ragdb_internal.case_hashes(corpus_id integer, run_id uuid)
returns bytea[]
language sql stable parallel safe
return array(
  select ragdb_internal.fields_hash(
      pg_catalog.int4send(c.case_no), ragdb_internal.utf8(c.kind), ragdb_internal.utf8(c.name),
      ragdb_internal.utf8(c.query), ragdb_internal.array_hash(c.tags),
      ragdb_internal.utf8(c.status), pg_catalog.uuid_send(c.trace_id),
      pg_catalog.float8send(c.elapsed_ms), ragdb_internal.utf8(c.error_code),
      pg_catalog.int4send(c.hits), pg_catalog.int4send(c.labels),
      pg_catalog.int4send(c.stale_labels))
    from ragdb.eval_case_results c
    where c.corpus_id = case_hashes.corpus_id and c.run_id = case_hashes.run_id
    order by c.case_no);

-- Returns the hashes of the assertions, the metrics and the ranked items of a run, in order.
create or replace function ragdb_internal.outcome_hashes(corpus_id integer, run_id uuid)
returns bytea[]
language sql stable parallel safe
return array(
  select ragdb_internal.fields_hash(
      pg_catalog.int4send(a.case_no), pg_catalog.int4send(a.assert_no),
      ragdb_internal.utf8(a.kind), pg_catalog.boolsend(a.required),
      pg_catalog.boolsend(a.passed), ragdb_internal.utf8(a.code),
      ragdb_internal.utf8(a.message), ragdb_internal.utf8(a.expected::text),
      ragdb_internal.utf8(a.actual::text))
    from ragdb.eval_assert_results a
    where a.corpus_id = outcome_hashes.corpus_id and a.run_id = outcome_hashes.run_id
    order by a.case_no, a.assert_no)
  || array(
  select ragdb_internal.fields_hash(
      pg_catalog.int4send(m.case_no), ragdb_internal.utf8(m.metric),
      pg_catalog.float8send(m.value))
    from ragdb.eval_metrics m
    where m.corpus_id = outcome_hashes.corpus_id and m.run_id = outcome_hashes.run_id
    order by m.case_no, m.metric)
  || array(
  select ragdb_internal.fields_hash(
      pg_catalog.int4send(i.case_no), pg_catalog.int4send(i.rank), ragdb_internal.utf8(i.item),
      pg_catalog.int4send(i.grade))
    from ragdb.eval_items i
    where i.corpus_id = outcome_hashes.corpus_id and i.run_id = outcome_hashes.run_id
    order by i.case_no, i.rank);

-- Returns the hash of a run: all its columns, then those of its cases, assertions, metrics and
-- ranked items.
create or replace function ragdb_internal.sealed_hash(run ragdb.eval_runs) returns bytea
language sql stable parallel safe
return ragdb_internal.fields_hash(variadic array[
  'ragdb.run/1'::bytea, pg_catalog.int4send((run).corpus_id), pg_catalog.uuid_send((run).run_id),
  pg_catalog.timestamptz_send((run).created_at), ragdb_internal.utf8((run).corpus),
  pg_catalog.int8send((run).corpus_version), ragdb_internal.utf8((run).documents_hash),
  ragdb_internal.utf8((run).labels_hash), ragdb_internal.utf8((run).contract),
  pg_catalog.int4send((run).contract_version),
  ragdb_internal.utf8((run).rag), ragdb_internal.utf8((run).eval),
  ragdb_internal.utf8((run).retriever), ragdb_internal.utf8((run).rank_mode),
  pg_catalog.int4send((run).top_k), pg_catalog.float8send((run).min_score),
  ragdb_internal.utf8((run).embedding_model), ragdb_internal.utf8((run).reranker),
  ragdb_internal.utf8((run).ranking_hash), pg_catalog.int4send((run).semantics_version),
  ragdb_internal.utf8((run).label), ragdb_internal.array_hash((run).tags),
  ragdb_internal.utf8((run).metric), pg_catalog.float8send((run).threshold),
  pg_catalog.float8send((run).metric_value), pg_catalog.int4send((run).cases),
  pg_catalog.int4send((run).passed_cases), pg_catalog.int4send((run).assertions),
  pg_catalog.int4send((run).passed_assertions), pg_catalog.int4send((run).stale_labels),
  ragdb_internal.utf8((run).status), ragdb_internal.array_hash((run).reasons),
  pg_catalog.float8send((run).elapsed_ms), ragdb_internal.utf8((run).caller)]
  || ragdb_internal.case_hashes((run).corpus_id, (run).run_id)
  || ragdb_internal.outcome_hashes((run).corpus_id, (run).run_id));
