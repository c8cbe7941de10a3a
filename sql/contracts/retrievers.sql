-- Retrieval through a retriever of a contract: how it searches, and searches by its name.

-- Returns a retriever, rag or tool of the contracts in force by its name. Raises RG441.
create or replace function ragdb_internal.contract_node(node text, name text)
  returns ragdb.contract_nodes
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node ragdb.contract_nodes;
begin
  select n.* into v_node from ragdb.contract_nodes n
    join ragdb.contracts k on k.contract = n.contract and k.version = n.version and k.is_current
    where n.node = contract_node.node and n.name = contract_node.name
      and ragdb_internal.may_read_contract(k.contract, k.version);
  if not found then
    raise exception '% % does not exist', node, ragdb_internal.quote(name)
      using errcode = 'RG441',
        detail = 'no contract in force that is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()) || ' declares it',
        hint = coalesce('did you mean ' || ragdb_internal.nearest_name(name, array(
            select n.name from ragdb.contract_nodes n
              join ragdb.contracts k on k.contract = n.contract and k.version = n.version
                and k.is_current
            where n.node = contract_node.node and n.name is not null
              and ragdb_internal.may_read_contract(k.contract, k.version))) || '?',
          'ragdb.apply_contract() puts a contract in force');
  end if;
  return v_node;
end $$;

create type ragdb.retriever_settings as (
  corpus text, mode text, k integer, min_score float8, embedding_model text, reranker text);
comment on type ragdb.retriever_settings is
  'How a retriever of a contract searches when nothing else is asked.';

-- Returns the settings of a retriever: unless it declares others, mode lexical, or hybrid with an
-- embed, topK 5, minScore 0 and no reranker.
create or replace function ragdb_internal.retriever_settings(retriever ragdb.contract_nodes)
  returns ragdb.retriever_settings
language sql stable parallel safe
return row((retriever).corpus, ragdb_internal.retriever_mode((retriever).keys),
  coalesce(((retriever).keys ->> 'topK')::integer, 5),
  coalesce(((retriever).keys ->> 'minScore')::float8, 0),
  (select e.keys ->> 'model' from ragdb.contract_nodes e
    where e.contract = (retriever).contract and e.version = (retriever).version
      and e.node = 'embed' and e.name = (retriever).keys ->> 'embed'),
  nullif((retriever).keys ->> 'rerank', 'none'))::ragdb.retriever_settings;

-- Returns the settings of a retriever whose corpus the caller may read and is embedded by the
-- declared model. Raises RG404, RG417.
create or replace function ragdb_internal.open_retriever(retriever ragdb.contract_nodes)
  returns ragdb.retriever_settings
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings ragdb.retriever_settings := ragdb_internal.retriever_settings(retriever);
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(v_settings.corpus, 'read', true);
  v_embedder ragdb.embedders;
begin
  if ragdb_internal.uses_embeddings(v_settings.mode) then
    select e.* into v_embedder from ragdb.embedding_spaces s
      join ragdb.embedders e on e.embedder_id = s.embedder_id
      where s.corpus_id = ragdb_internal.embedded_as(v_corpus) and s.state = 'current';
    if v_embedder.name is distinct from v_settings.embedding_model
      and v_embedder.model is distinct from v_settings.embedding_model then
      raise exception 'retriever % is declared for model %', ragdb_internal.quote(retriever.name),
        ragdb_internal.quote(v_settings.embedding_model)
        using errcode = 'RG417',
          detail = 'corpus ' || ragdb_internal.quote(v_settings.corpus) || ' is embedded by '
            || ragdb_internal.quote(v_embedder.name),
          hint = 'change the embed node and apply the contract, or reembed the corpus';
    end if;
  end if;
  return v_settings;
end $$;

-- Definer: contracts are granted to nobody; who may read one of its corpora may read a contract.
create or replace function ragdb.get_retriever(retriever text) returns ragdb.retriever_settings
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if retriever is null then
    raise exception 'retriever is null'
      using errcode = 'RG400', detail = 'a retriever is a node of a contract',
        hint = 'ragdb.export_contract() shows the nodes of one';
  end if;
  return ragdb_internal.open_retriever(ragdb_internal.contract_node('retriever', retriever));
end $$;
comment on function ragdb.get_retriever is
  'Returns how a retriever of a contract in force searches when nothing else is asked: corpus, '
  'mode, k, min_score, the model that it is declared for and the reranker (null for none). Raises '
  'RG400, RG404, RG417, RG441.';

-- A retriever that a caller named, itself or by a rag, and how it searches.
create type ragdb_internal.named_retriever as (
  retriever ragdb.contract_nodes, rag text, settings ragdb.retriever_settings);

-- Returns a retriever by its name or that of a rag, with its settings. Raises RG400, RG404, RG417,
-- RG441.
create or replace function ragdb_internal.named_retriever(retriever text, rag text)
  returns ragdb_internal.named_retriever
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rag ragdb.contract_nodes;
  v_named ragdb_internal.named_retriever;
begin
  if (retriever is null) = (rag is null) then
    raise exception '% given',
        case when rag is null then 'neither retriever nor rag is'
          else 'both retriever and rag are' end
      using errcode = 'RG400', detail = 'one of them says how to search',
        hint = 'pass retriever, or retriever => null and rag';
  end if;
  if rag is not null then
    v_rag := ragdb_internal.contract_node('rag', rag);
    v_named.rag := v_rag.name;
  end if;
  v_named.retriever := ragdb_internal.contract_node('retriever',
    coalesce(retriever, v_rag.keys ->> 'retriever'));
  v_named.settings := ragdb_internal.open_retriever(v_named.retriever);
  return v_named;
end $$;

-- Refuses to search without the reranker that a retriever declares (null: none) unless rerank is
-- none. The ranking of a retriever that declares a reranker is returned without it only if that is
-- asked for. Raises RG400, RG415.
create or replace function ragdb_internal.check_rerank(retriever text, declared text, rerank text)
  returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if rerank <> 'none' then
    raise exception 'rerank is %', ragdb_internal.quote(rerank)
      using errcode = 'RG400', detail = 'a reranker runs in the client',
        hint = 'leave it out, or pass none for the ranking before reranking';
  end if;
  if declared is not null and rerank is null then
    raise exception 'retriever % is reranked by %', ragdb_internal.quote(retriever),
        ragdb_internal.quote(declared)
      using errcode = 'RG415',
        detail = 'a reranker runs in the client, and this call ends in the database',
        hint = 'ragdb.evidence.database.PostgresRetriever, ragdb eval and ragdb mcp rerank; '
          'retrieve_with(…, rerank => ''none'') gives the ranking before';
  end if;
end $$;

-- Definer: contracts are granted to nobody; the right to the corpus is checked.
create or replace function ragdb.search_with(
  retriever text, query text, k integer default null, min_score float8 default null,
  filter jsonb default null, query_embedding float8[] default null, rag text default null,
  rerank text default null)
returns setof ragdb.hit
language plpgsql stable parallel restricted security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_named ragdb_internal.named_retriever := ragdb_internal.named_retriever(retriever, rag);
  v_settings ragdb.retriever_settings := v_named.settings;
begin
  perform ragdb_internal.check_rerank((v_named.retriever).name, v_settings.reranker, rerank);
  return query select h.*
    from ragdb.search(v_settings.corpus, query, coalesce(k, v_settings.k), v_settings.mode,
      coalesce(min_score, v_settings.min_score), filter, query_embedding => query_embedding) h;
end $$;
comment on function ragdb.search_with is
  'Searches as ragdb.retrieve_with does, and records nothing. Raises what ragdb.search raises, '
  'RG415, RG417, RG441.';

-- Definer: it writes tables that are granted to nobody.
create or replace function ragdb.retrieve_with(
  retriever text, query text, k integer default null, min_score float8 default null,
  filter jsonb default null, query_embedding float8[] default null, rag text default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null,
  rerank text default null)
returns setof ragdb.traced_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_named ragdb_internal.named_retriever := ragdb_internal.named_retriever(retriever, rag);
  v_settings ragdb.retriever_settings := v_named.settings;
begin
  perform ragdb_internal.check_rerank((v_named.retriever).name, v_settings.reranker, rerank);
  return query select h.*
    from ragdb_internal.retrieve_traced(v_settings.corpus, query, coalesce(k, v_settings.k),
      v_settings.mode, coalesce(min_score, v_settings.min_score), filter,
      query_embedding => query_embedding,
      asker => ragdb_internal.call_context(client, otel_trace_id, otel_span_id,
        (v_named.retriever).name, v_named.rag)) h;
end $$;
comment on function ragdb.retrieve_with is
  'Searches through a retriever of a contract, or that of a rag, by its mode, topK and minScore '
  'unless k (1 to 1000) or min_score (0 to 1) say otherwise, and records the trace with both '
  'names. A retriever that declares a reranker must be asked for its ranking before reranking '
  '(rerank: none), which a client reranks. Raises what ragdb.retrieve raises, RG415, RG417, RG441.';
