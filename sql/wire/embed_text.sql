-- Capability embed.text: texts become embeddings, once a worker has embedded them.

-- Returns embeddings, one behind the other, as a JSON array of arrays, each scaled to length 1
-- where asked.
create or replace function ragdb_internal.listed_embeddings(embeddings real[], dims integer,
  is_scaled boolean)
returns jsonb
language sql immutable parallel safe
begin atomic
  select pg_catalog.jsonb_agg(case when listed_embeddings.is_scaled then (
      select pg_catalog.jsonb_agg(v.x / c.norm order by v.n)
      from pg_catalog.unnest(c.numbers) with ordinality v (x, n))
        else pg_catalog.to_jsonb(c.numbers) end order by c.n)
  from (
    select i.n, k.numbers, (select pg_catalog.sqrt(pg_catalog.sum(x::float8 * x::float8 order by n))
        from pg_catalog.unnest(k.numbers) with ordinality v (x, n)) as norm
    from pg_catalog.generate_series(1, pg_catalog.cardinality(embeddings) / dims) i (n)
      cross join lateral (select embeddings[(i.n - 1) * dims + 1 : i.n * dims] as numbers) k) c;
end;

-- Returns the texts of a request, 1 to 256 of 1 to 8192 characters. Raises RG400.
create or replace function ragdb_internal.wire_texts(input jsonb) returns text[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(input -> 'texts') <> 'array'
    or jsonb_array_length(input -> 'texts') not between 1 and 256
    or exists (select from jsonb_array_elements(input -> 'texts') t
      where jsonb_typeof(t) <> 'string' or length(t #>> '{}') > 8192 or t #>> '{}' !~ E'\\S')
  then
    raise exception 'texts are not 1 to 256 texts of 1 to 8192 characters'
      using errcode = 'RG400', detail = 'each becomes one embedding',
        hint = 'cut what is longer, send more in another request';
  end if;
  return array(select t #>> '{}' from jsonb_array_elements(input -> 'texts')
    with ordinality e (t, n) order by n);
end $$;

-- Has a worker embed texts, again where that failed, and returns the job. Raises RG451.
create or replace function ragdb_internal.queue_texts(embedder_id integer, request_hash bytea,
  texts text[]) returns ragdb.embed_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs;
begin
  perform ragdb_internal.check_waiting_jobs();
  insert into ragdb.embed_jobs as j (embedder_id, request_hash, job_id, texts, requested_by,
      requested_by_oid, due_at, created_at)
    values (queue_texts.embedder_id, queue_texts.request_hash,
      ragdb_internal.uuid7(ragdb_internal.now()), queue_texts.texts, ragdb_internal.caller(),
      ragdb_internal.caller_oid(), clock_timestamp(), ragdb_internal.now())
    on conflict on constraint embed_jobs_request_is_unique_per_embedder do update
      set texts = excluded.texts, failed_at = null, message = null, failures = 0, worker = null,
        attempt = j.attempt + 1, due_at = excluded.due_at
      where j.failed_at is not null;
  select j.* into strict v_job from ragdb.embed_jobs j
    where j.embedder_id = queue_texts.embedder_id and j.request_hash = queue_texts.request_hash;
  perform ragdb_internal.notify('ragdb_embeddings');
  return v_job;
end $$;

-- Returns the answer of embed.text: the embeddings, of a static embedder at once, or what a worker
-- is doing about them. Raises RG451.
create or replace function ragdb_internal.answer_texts(embedder ragdb.embedders, texts text[],
  is_scaled boolean, began timestamptz) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  -- with who asks: an answer that is there at once would tell that another asked the same
  v_hash constant bytea := ragdb_internal.fields_hash(variadic array(
    select ragdb_internal.utf8(t)
    from unnest(array[ragdb_internal.caller(), ragdb_internal.caller_oid()::text] || texts)
      with ordinality e (t, n) order by n));
  v_job ragdb.embed_jobs;
begin
  if ragdb_internal.is_static(embedder.embedder_id) then
    v_job.embeddings := array(
      select v.x from unnest(texts) with ordinality t (text, n)
        cross join lateral unnest(ragdb.embed(t.text, embedder.name)) with ordinality v (x, i)
      order by t.n, v.i);
  else
    select j.* into v_job from ragdb.embed_jobs j
      where j.embedder_id = embedder.embedder_id and j.request_hash = v_hash;
  end if;
  if v_job.embeddings is not null then
    return jsonb_build_object('output', jsonb_build_object(
        'embeddings', ragdb_internal.listed_embeddings(v_job.embeddings, embedder.dims, is_scaled),
        'dim', embedder.dims),
      'meta', jsonb_build_object('model', embedder.name, 'ms', ragdb_internal.ms_since(began)));
  end if;
  if v_job.failed_at > clock_timestamp() - interval '1 minute' then
    return ragdb_internal.wire_error('bad_request', v_job.message, job_id => v_job.job_id);
  end if;
  if v_job.job_id is null or v_job.failed_at is not null then
    v_job := ragdb_internal.queue_texts(embedder.embedder_id, v_hash, texts);
  end if;
  return ragdb_internal.wait_for_worker(embedder, 'the texts wait for a worker that embeds them',
    v_job.message, 100, v_job.job_id);
end $$;

create or replace function ragdb.embed_text(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_embedder ragdb.embedders;
  v_detail text;
  v_hint text;
begin
  perform ragdb_internal.enter_capability('embed.text', request);
  v_embedder := ragdb_internal.embedder(
    coalesce(ragdb_internal.wire_text(request -> 'params', 'model'), ''));
  return ragdb_internal.answer_texts(v_embedder, ragdb_internal.wire_texts(request -> 'input'),
    ragdb_internal.wire_flag(request -> 'input', 'normalize'), v_began);
exception when sqlstate 'RG000' then
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb_internal.wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.embed_text is
  'Capability embed.text@1.0: {"params": {"model"}, "input": {"texts" (1 to 256 of 1 to 8192 '
  'characters), "normalize" (true)}} gives {"output": {"embeddings", "dim"}, "meta": {"model", '
  '"ms"}}, by an embedder and without its prefixes; or {"error"} with not_found, bad_request, '
  'unauthorized, rate_limited, capacity_exceeded, or partition while a worker embeds the texts.';
