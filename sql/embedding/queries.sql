-- Embeddings of queries, made by workers on request.
create or replace function ragdb.request_query_embedding(corpus text, query text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(
    request_query_embedding.corpus, 'read', true);
  v_space ragdb.embedding_spaces := ragdb_internal.current_space(v_corpus);
begin
  perform ragdb_internal.check_query(query);
  if ragdb_internal.is_static(v_space.embedder_id)
    or ragdb_internal.kept_embedding(v_corpus.corpus_id, v_space.embedder_id, query) is not null
  then
    return true;
  end if;
  perform ragdb_internal.hold_corpus(v_corpus.corpus_id);
  insert into ragdb.embedded_queries as q (corpus_id, embedder_id, query_hash, query_text, due_at)
    values (v_corpus.corpus_id, v_space.embedder_id, sha256(convert_to(query, 'UTF8')), query,
      clock_timestamp())
    on conflict on constraint embedded_queries_are_unique_per_embedder do update
      set due_at = least(q.due_at, excluded.due_at), last_error = null;
  perform ragdb_internal.notify('ragdb_embeddings');
  return false;
end $$;
comment on function ragdb.request_query_embedding is
  'Asks the workers for the embedding of a query (1 to 32768 characters) and says whether it is '
  'there already. Raises RG400, RG401, RG404, RG415.';

create or replace function ragdb.query_embedding_state(corpus text, query text)
returns table (is_ready boolean, last_error text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(
    query_embedding_state.corpus, 'read', true);
  v_space ragdb.embedding_spaces := ragdb_internal.current_space(v_corpus);
begin
  select q.embedding_hash is not null, q.last_error into is_ready, last_error
    from ragdb.embedded_queries q
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_space.embedder_id
      and q.query_hash = sha256(convert_to(query, 'UTF8'));
  is_ready := coalesce(is_ready, ragdb_internal.is_static(v_space.embedder_id));
  return next;
end $$;
comment on function ragdb.query_embedding_state is
  'Says whether a query''s embedding is kept or made by the search itself, and why a worker failed '
  'to make it. Raises RG400, RG401, RG404, RG415.';

-- A worker that connects through a pooler is seen where the pooler hands its name on.
create or replace function ragdb.has_worker() returns boolean
language sql stable parallel restricted
return exists (
  select from pg_catalog.pg_stat_activity a
  where a.datname = pg_catalog.current_database() and a.application_name = 'ragdb/worker');
comment on function ragdb.has_worker is
  'Tells whether a worker is connected, which may embed a query on request (ragdb.embed_query).';

create or replace function ragdb.claim_queries(
  worker text, count integer default 16, lease interval default '60 seconds',
  only_embedder text default null)
returns table (
  corpus text, embedder text, query_hash bytea, attempt integer, query text, input text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb_internal.check_worker(worker, lease);
  perform ragdb_internal.check_listed(count, 'queries', 1000);
  return query
    with due as materialized (
      select q.corpus_id, q.embedder_id, q.query_hash, c.name as corpus, e.name as embedder,
        e.query_prefix
      from ragdb.embedded_queries q
        join ragdb.corpora c on c.corpus_id = q.corpus_id
        join ragdb.embedders e on e.embedder_id = q.embedder_id
      where q.embedding_hash is null and q.due_at <= clock_timestamp()
        and e.name = coalesce(only_embedder, e.name)
        and ragdb_internal.privilege(c) >= 2
      order by q.due_at limit claim_queries.count
      for update of q skip locked
    )
    update ragdb.embedded_queries q
    set attempt = q.attempt + 1, due_at = clock_timestamp() + claim_queries.lease
    from due d
    where q.corpus_id = d.corpus_id and q.embedder_id = d.embedder_id
      and q.query_hash = d.query_hash
    returning d.corpus, d.embedder, q.query_hash, q.attempt, q.query_text,
      d.query_prefix || q.query_text;
end $$;
comment on function ragdb.claim_queries is
  'Claims up to count (1 to 1000) queries that wait for an embedding, of corpora that the caller '
  'may write. Answer each with ragdb.put_query_embedding() or ragdb.fail_query(). Raises RG400.';

create or replace function ragdb.fail_query(
  corpus text, embedder text, query_hash bytea, attempt integer, error text)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(fail_query.corpus, 'write', true);
  v_embedder ragdb.embedders := ragdb_internal.embedder(embedder);
begin
  -- five failures, and nobody waits for it any more
  delete from ragdb.embedded_queries q
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_embedder.embedder_id
      and q.query_hash = fail_query.query_hash and q.attempt = fail_query.attempt
      and q.embedding_hash is null and q.attempt >= 5;
  update ragdb.embedded_queries q
    set last_error = left(coalesce(error, 'unknown'), 500),
        due_at = clock_timestamp()
          + make_interval(secs => 2 ^ least(q.attempt, 6)) * (0.5 + random())
    where q.corpus_id = v_corpus.corpus_id and q.embedder_id = v_embedder.embedder_id
      and q.query_hash = fail_query.query_hash and q.attempt = fail_query.attempt
      and q.embedding_hash is null;
end $$;
comment on function ragdb.fail_query is
  'Gives a claimed query back after a failure, to be tried again after a back-off, five times in '
  'all. Raises RG400, RG401, RG404, RG416.';

-- It commits, so that a worker sees the request. So it cannot have a set clause or be a definer;
-- everything is qualified, and it may call no private function.
create or replace procedure ragdb.embed_query(
  query text, corpus text default null, timeout_s float8 default 30)
language plpgsql
as $$
declare
  v_corpora text[];
  v_name text;
  v_ready boolean;
  v_error text;
  v_until timestamptz;
  v_commit text;
  v_rollback text;
begin
  -- outside a transaction block both are refused for the subtransaction, each in its own words;
  -- inside one, in the same words
  begin
    commit;
  exception when invalid_transaction_termination then
    v_commit := sqlerrm;
  end;
  begin
    rollback;
  exception when invalid_transaction_termination then
    v_rollback := sqlerrm;
  end;
  if v_commit operator(pg_catalog.=) v_rollback then
    raise exception 'embed_query was called inside a transaction block'
      using errcode = 'RG419',
            detail = 'it commits, so that a worker sees the request, and waits for the answer',
            hint = 'call it on its own: outside begin … commit in psql, with autocommit in a '
                   'driver';
  end if;
  if timeout_s is null or not (timeout_s between 0 and 3600) then
    raise exception 'timeout_s is %', coalesce(timeout_s::text, 'null')
      using errcode = 'RG400', detail = 'it is the time to wait in seconds',
            hint = 'pass 0 to 3600';
  end if;
  v_until := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => timeout_s);
  v_corpora := case when corpus is not null then array[corpus]
    else array(select distinct s.corpus from ragdb.embedding_status() s
      where s.state operator(pg_catalog.=) 'current') end;
  foreach v_name in array v_corpora loop
    perform ragdb.request_query_embedding(v_name, query);
  end loop;
  commit;
  foreach v_name in array v_corpora loop
    loop
      select s.is_ready, s.last_error into v_ready, v_error
        from ragdb.query_embedding_state(v_name, query) s;
      exit when v_ready;
      if pg_catalog.clock_timestamp() > v_until then
        raise exception 'no worker embedded the query in % s', timeout_s
          using errcode = 'RG420',
                detail = coalesce('the last attempt failed: ' || v_error, 'none has claimed it'),
                hint = 'start one with `ragdb worker`; the request stays, so a later call may find '
                       'the answer';
      end if;
      perform pg_catalog.pg_sleep(0.02);
      commit;
    end loop;
  end loop;
end $$;
comment on procedure ragdb.embed_query is
  'Has a running worker embed a query for one corpus or all readable ones that have embeddings, '
  'and waits up to timeout_s (0 to 3600); from then on everyone can search by its meaning. Call it '
  'outside a transaction block. Raises RG400, RG401, RG404, RG415, RG419, RG420.';
