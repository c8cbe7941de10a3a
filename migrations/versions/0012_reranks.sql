-- State of reranking: the models, and the scores that they gave to the hits of a trace.

-- What a model promises, wherever it lies; and, last, where it lies here.
create table ragdb.rerankers (
  name text collate "C" constraint rerankers_name_is_unique primary key
    constraint rerankers_name_is_short check (length(name) between 1 and 200)
    constraint rerankers_name_is_not_none check (name <> 'none'),
  max_tokens integer not null constraint rerankers_max_tokens_are_positive check (max_tokens > 0),
  weights_sha256 text collate "C" not null
    constraint rerankers_weights_are_a_sha256 check (weights_sha256 ~ '^[0-9a-f]{64}$'),
  -- a path, or a name and revision on the hub
  source text not null,
  revision text,
  created_at timestamptz not null
);

-- A row for each hit of the trace, in the trace's month
create table ragdb.retrieval_reranks (
  corpus_id integer not null,
  trace_id uuid not null,
  created_at timestamptz not null,
  rank integer not null,
  chunk_id text collate "C" not null,
  score float8 not null,
  model text not null,
  is_returned boolean not null,
  recorded_at timestamptz not null,
  -- over all rows of the trace, in the first of them
  rerank_hash bytea,
  rerank_mac bytea,
  constraint reranks_hash_is_in_the_first_row check ((rank = 1) = (rerank_hash is not null)),
  constraint reranks_mac_is_of_a_hash check (rerank_mac is null or rerank_hash is not null)
) partition by range (created_at);

alter table ragdb.eval_runs add column reranker text;
