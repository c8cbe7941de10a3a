-- Wire capabilities: requests and answers as JSON objects, for HTTP, for other programs, and for
-- psql.
--
-- They answer from what is stored. What a model or a reader of files must do first becomes a job,
-- and the answer is {"error": "partition", "retry_after_ms", "job_id"}: the caller commits, waits
-- and asks the same again. Errors are answers too, with the word of ragdb.error_codes(): nothing is
-- raised but what is no error of the request (a read-only server, a full disk).

-- ── descriptors ─────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._capability_limits()
returns table (
  name text, version text, trust_required text, timeout_seconds integer, max_concurrent integer,
  k_max integer, needs_params text[], takes_params text[], needs_input text[], takes_input text[])
language sql immutable parallel safe
begin atomic
  select * from (values
    ('rag.query', '1.0', 'member', 10, 4, 20,
      array['corpus'], array['corpus'], array['query'],
      array['query', 'k', 'filter', 'include_text']),
    ('rag.ingest', '1.0', 'trusted', 300, 2, null::integer,
      array['corpus'], array['corpus'], array['doc_cid'],
      array['doc_cid', 'title', 'language', 'metadata']),
    ('rag.list_corpora', '1.0', 'member', 10, 4, null,
      '{}'::text[], '{}'::text[], '{}'::text[], '{}'::text[]),
    ('embed.text', '1.0', 'member', 60, 4, null,
      array['model'], array['model'], array['texts'], array['texts', 'normalize'])
  ) as c (name, version, trust_required, timeout_seconds, max_concurrent, k_max,
    needs_params, takes_params, needs_input, takes_input);
end;
comment on function ragdb._capability_limits() is
  'Returns what holds for each capability, and the fields of its requests.';

create or replace function ragdb._capability_schemas()
returns table (name text, request_schema jsonb, response_schema jsonb)
language sql immutable parallel safe
begin atomic
  select * from (values
    ('rag.query',
      '{"type": "object", "additionalProperties": false, "required": ["params", "input"],
        "properties": {
        "params": {"type": "object", "additionalProperties": false, "required": ["corpus"],
          "properties": {"corpus": {"type": "string"}}},
        "input": {"type": "object", "additionalProperties": false, "required": ["query"],
          "properties": {
          "query": {"type": "string", "minLength": 1, "maxLength": 32768, "pattern": "\\S"},
          "k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
          "filter": {"type": ["object", "null"]},
          "include_text": {"type": "boolean", "default": true}}}}}'::jsonb,
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"],
        "properties": {
        "output": {"type": "object", "additionalProperties": false, "required": ["chunks"],
          "properties": {
          "chunks": {"type": "array", "maxItems": 20, "items": {"type": "object",
            "additionalProperties": false, "required": ["rank", "score", "metadata"],
              "properties": {
              "rank": {"type": "integer", "minimum": 1, "maximum": 20},
              "score": {"type": "number", "minimum": 0, "maximum": 1},
              "text": {"type": "string"},
              "metadata": {"type": "object", "additionalProperties": false,
                "required": ["doc_cid", "doc_title", "page", "chunk_id"], "properties": {
                  "doc_cid": {"type": "string"}, "doc_title": {"type": ["string", "null"]},
                  "page": {"type": ["integer", "null"], "minimum": 1},
                  "chunk_id": {"type": "string"}}}}}}}},
        "meta": {"type": "object", "additionalProperties": false,
          "required": ["corpus", "ms", "embedding_model"], "properties": {
            "corpus": {"type": "string"}, "ms": {"type": "number", "minimum": 0},
            "embedding_model": {"type": ["string", "null"]}}}}}'::jsonb),
    ('rag.ingest',
      '{"type": "object", "additionalProperties": false, "required": ["params", "input"],
        "properties": {
        "params": {"type": "object", "additionalProperties": false, "required": ["corpus"],
          "properties": {"corpus": {"type": "string"}}},
        "input": {"type": "object", "additionalProperties": false, "required": ["doc_cid"],
          "properties": {
          "doc_cid": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
          "title": {"type": ["string", "null"], "maxLength": 2500},
          "language": {"type": ["string", "null"], "pattern": "^[A-Za-z0-9-]{1,64}$"},
          "metadata": {"type": ["object", "null"]}}}}}',
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"],
        "properties": {
        "output": {"type": "object", "additionalProperties": false,
          "required": ["doc_cid", "chunks_indexed", "tokens_indexed"], "properties": {
            "doc_cid": {"type": "string"}, "chunks_indexed": {"type": "integer", "minimum": 0},
            "tokens_indexed": {"type": "integer", "minimum": 0}}},
        "meta": {"type": "object", "additionalProperties": false,
          "required": ["corpus", "ms", "ingest_event_id"], "properties": {
            "corpus": {"type": "string"}, "ms": {"type": "number", "minimum": 0},
            "ingest_event_id": {"type": "string", "format": "uuid"}}}}}'),
    ('rag.list_corpora',
      '{"type": "object", "additionalProperties": false, "properties": {
        "params": {"type": "object", "additionalProperties": false},
        "input": {"type": "object", "additionalProperties": false}}}',
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"],
        "properties": {
        "output": {"type": "object", "additionalProperties": false, "required": ["corpora"],
          "properties": {
          "corpora": {"type": "array", "items": {"type": "object", "additionalProperties": false,
            "required": ["name", "docs", "chunks", "size_bytes", "language_majority"],
              "properties": {
              "name": {"type": "string"}, "docs": {"type": "integer", "minimum": 0},
              "chunks": {"type": "integer", "minimum": 0},
              "size_bytes": {"type": "integer", "minimum": 0},
              "language_majority": {"type": ["string", "null"]}}}}}},
        "meta": {"type": "object", "additionalProperties": false, "required": ["ms"],
          "properties": {"ms": {"type": "number", "minimum": 0}}}}}'),
    ('embed.text',
      '{"type": "object", "additionalProperties": false, "required": ["params", "input"],
        "properties": {
        "params": {"type": "object", "additionalProperties": false, "required": ["model"],
          "properties": {"model": {"type": "string"}}},
        "input": {"type": "object", "additionalProperties": false, "required": ["texts"],
          "properties": {
          "texts": {"type": "array", "minItems": 1, "maxItems": 256,
            "items": {"type": "string", "minLength": 1, "maxLength": 8192, "pattern": "\\S"}},
          "normalize": {"type": "boolean", "default": true}}}}}',
      '{"type": "object", "additionalProperties": false, "required": ["output", "meta"],
        "properties": {
        "output": {"type": "object", "additionalProperties": false,
          "required": ["embeddings", "dim"], "properties": {
            "embeddings": {"type": "array", "minItems": 1, "maxItems": 256,
              "items": {"type": "array", "minItems": 1, "items": {"type": "number"}}},
            "dim": {"type": "integer", "minimum": 1}}},
        "meta": {"type": "object", "additionalProperties": false, "required": ["model", "ms"],
          "properties": {"model": {"type": "string"}, "ms": {"type": "number", "minimum": 0}}}}}')
  ) as s (name, request_schema, response_schema);
end;
comment on function ragdb._capability_schemas() is
  'Returns the JSON schemas of the requests and answers of each capability.';

create or replace function ragdb.capability_schemas()
returns table (
  name text, version text, trust_required text, timeout_seconds integer, max_concurrent integer,
  request_schema jsonb, response_schema jsonb)
language sql immutable parallel safe security definer
begin atomic
  select l.name, l.version, l.trust_required, l.timeout_seconds, l.max_concurrent,
    s.request_schema, s.response_schema
  from ragdb._capability_limits() l join ragdb._capability_schemas() s on s.name = l.name
  order by l.name;
end;
comment on function ragdb.capability_schemas() is
  'Lists the wire capabilities that there are, with the trust they take, their limits and the JSON '
  'schemas of request and answer.';

-- Definer, like all that follow: the tables are granted to nobody.
create or replace function ragdb.capabilities()
returns table (
  name text, version text, stability text, trust_required text, timeout_seconds integer,
  max_concurrent integer, idempotent boolean, params jsonb, request_schema jsonb,
  response_schema jsonb)
language sql stable parallel safe security definer
begin atomic
  select l.name, l.version, 'stable', l.trust_required, l.timeout_seconds, l.max_concurrent, true,
    p.params, s.request_schema, s.response_schema
  from ragdb._capability_limits() l
    join ragdb._capability_schemas() s on s.name = l.name
    cross join lateral (
      select jsonb_build_object('corpus', c.name, 'embedding_model', e.name, 'k_max', l.k_max)
        as params
      from ragdb.corpora c
        left join lateral ragdb._space(c.corpus_id, 'current') w on true
        left join ragdb.embedders e on e.embedder_id = w.embedder_id
      where l.name = 'rag.query' and c.personal_of is null
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      union all
      select jsonb_build_object('model', e.name, 'dim', e.dims)
      from ragdb.embedders e
      where l.name = 'embed.text' and e.provider is not null
      union all
      select jsonb_build_object('corpora_available',
        coalesce(jsonb_agg(c.name order by c.name), '[]'))
      from ragdb.corpora c
      where l.name = 'rag.ingest' and c.personal_of is null
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 1
      having l.name = 'rag.ingest'
      union all
      select '{}'::jsonb where l.name = 'rag.list_corpora') p
  order by l.name, p.params::text collate "C";
end;
comment on function ragdb.capabilities() is
  'Lists the wire capabilities that the caller can route to, rag.query once for each corpus and '
  'embed.text once for each embedder, with the trust they take (unknown < member < trusted < '
  'anchor), their limits and the JSON schemas of request and answer.';

-- ── entering, refusing and answering ────────────────────────────────────────────────────────────

create or replace function ragdb._trust() returns text
language sql stable parallel safe
return case
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage')
    or pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_owner', 'usage') then 'anchor'
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_writer', 'usage') then 'trusted'
  when pg_catalog.pg_has_role(ragdb._caller(), 'ragdb_reader', 'usage') then 'member'
  else 'unknown' end;
comment on function ragdb._trust() is
  'Returns the trust level of the caller: anchor (ragdb_admin), trusted (ragdb_writer), member '
  '(ragdb_reader) or unknown.';

-- Trust, then shape, then capacity. A slot is an advisory lock of the transaction, of the caller's
-- own: no caller can take the slots of others, and none outlives its transaction.
create or replace function ragdb._enter_capability(capability text, request jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_levels constant text[] := array['unknown', 'member', 'trusted', 'anchor'];
  v_limits record;
  v_part record;
  v_field text;
begin
  select l.* into strict v_limits from ragdb._capability_limits() l where l.name = capability;
  if array_position(v_levels, ragdb._trust())
    < array_position(v_levels, v_limits.trust_required)
  then
    raise exception '% takes trust level %', capability, v_limits.trust_required
      using errcode = 'RG401',
            detail = format('role %s is %s', ragdb._quote(ragdb._caller()), ragdb._trust()),
            hint = 'unknown < member (ragdb_reader) < trusted (ragdb_writer) < anchor '
                   '(ragdb_admin)';
  end if;
  if request is null or jsonb_typeof(request) <> 'object' then
    raise exception 'a request is a JSON object, not %', coalesce(jsonb_typeof(request), 'null')
      using errcode = 'RG400', detail = 'its fields are params and input',
            hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  for v_part in
    select * from (values
      ('the request', request, '{}'::text[], array['params', 'input']),
      ('params', request -> 'params', v_limits.needs_params, v_limits.takes_params),
      ('input', request -> 'input', v_limits.needs_input, v_limits.takes_input)
    ) as p (part, fields, needs, takes)
  loop
    if jsonb_typeof(v_part.fields) <> 'object' then
      raise exception '% is no object', v_part.part
        using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(v_part.fields),
              hint = 'ragdb.capabilities() has the schema of each request';
    end if;
    select n into v_field from unnest(v_part.needs) n
      where not coalesce(v_part.fields, '{}') ? n limit 1;
    if found then
      raise exception '% lacks %', v_part.part, v_field
        using errcode = 'RG400', detail = 'it must have ' || array_to_string(v_part.needs, ', '),
              hint = 'ragdb.capabilities() has the schema of each request';
    end if;
    select k into v_field from jsonb_object_keys(coalesce(v_part.fields, '{}')) k
      where k <> all (v_part.takes) limit 1;
    if found then
      raise exception '% has no field %', v_part.part, ragdb._quote(v_field)
        using errcode = 'RG400',
          detail = 'a field that nothing obeys would promise what does not happen',
              hint = case when v_part.takes = '{}' then v_part.part || ' has no fields'
                else 'fields are ' || array_to_string(v_part.takes, ', ') end;
    end if;
  end loop;
  for i in 1..v_limits.max_concurrent loop
    if pg_try_advisory_xact_lock(hashtextextended(
      format('ragdb %s %s %s', capability, i, ragdb._caller()), 0))
    then
      return;
    end if;
  end loop;
  raise exception 'all % slots of % are in use', v_limits.max_concurrent, capability
    using errcode = 'RG450',
          detail = format('role %s has that many calls in transactions that are open',
            ragdb._quote(ragdb._caller())),
          hint = 'try again in a moment';
end $$;
comment on function ragdb._enter_capability(text, jsonb) is
  'Refuses a caller without the trust that a capability takes, a request of another shape, and one '
  'call too many at a time. Raises RG400, RG401, RG450.';

create or replace function ragdb._wire_error(
  error text, message text, hint text default null, retry_after_ms integer default null,
  job_id uuid default null, sqlstate text default null)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
  'error', error, 'message', message, 'hint', hint, 'retry_after_ms', retry_after_ms,
  'job_id', job_id, 'sqlstate', sqlstate));
comment on function ragdb._wire_error(text, text, text, integer, uuid, text) is
  'Returns an error as a capability answers it.';

create or replace function ragdb._wire_error_of(sqlstate text, message text, detail text, hint text)
returns jsonb
language sql stable parallel safe
return (
  select ragdb._wire_error(c.wire_word, _wire_error_of.message || coalesce(': '
      || nullif(_wire_error_of.detail, ''), ''), nullif(_wire_error_of.hint, ''),
    case c.http_status when 429 then 200 end, null, c.sqlstate)
  from ragdb.error_codes() c where c.sqlstate = _wire_error_of.sqlstate);
comment on function ragdb._wire_error_of(text, text, text, text) is
  'Returns an error of class RG as a capability answers it; null for a code that is not ours.';

create or replace function ragdb._wait_for_worker(
  embedder ragdb.embedders, waits text, last_error text, retry_after_ms integer, job_id uuid)
returns jsonb
language sql stable parallel safe
return case when (embedder).name is not null and (embedder).provider is null
  then ragdb._wire_error('partition',
    pg_catalog.format('embedder %s is bound to no provider', ragdb._quote((embedder).name)),
    'ragdb embedder bind names what runs it; then ask again', 30000, _wait_for_worker.job_id)
  else ragdb._wire_error('partition',
    _wait_for_worker.waits || coalesce('; the last attempt failed: ' || _wait_for_worker.last_error,
      ''),
    'ask again after retry_after_ms; ragdb worker must run', _wait_for_worker.retry_after_ms,
      _wait_for_worker.job_id) end;
comment on function ragdb._wait_for_worker(ragdb.embedders, text, text, integer, uuid) is
  'Returns the answer of a capability whose result a worker makes meanwhile, or would if the '
  'embedder (null: none is needed) were bound.';

create or replace function ragdb._ms_since(began timestamptz) returns numeric
language sql stable parallel safe
return pg_catalog.round(
  (1000 * extract(epoch from pg_catalog.clock_timestamp() - _ms_since.began))::numeric, 3);
comment on function ragdb._ms_since(timestamptz) is
  'Returns the milliseconds since a time, to a microsecond.';

create or replace function ragdb._wire_text(fields jsonb, field text) returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(fields -> field) not in ('string', 'null') then
    raise exception '% is no text', field
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(fields -> field),
            hint = 'ragdb.capabilities() has the schema of each request';
  end if;
  return fields ->> field;
end $$;
comment on function ragdb._wire_text(jsonb, text) is
  'Returns a field of a request that is a text; null when it is null or missing. Raises RG400.';

-- `personal` is nobody's to route to, not even its owner's.
create or replace function ragdb._routable_corpus(corpus text, privilege text)
returns ragdb.corpora
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus = 'personal' then
    raise exception 'corpus "personal" does not exist'
      using errcode = 'RG404', detail = 'a personal corpus is served by no capability',
            hint = 'its owner searches it with ragdb.search()';
  end if;
  return ragdb._open_corpus(corpus, privilege);
end $$;
comment on function ragdb._routable_corpus(text, text) is
  'Returns a corpus as ragdb._open_corpus does, but no personal one. Raises RG400, RG401, RG404.';

-- ── rag.query ───────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb._wire_filter(filter jsonb) returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bounds text[];
  v_bound text;
  v_operator text;
  v_field text;
  v_beside jsonb;
  v_filter jsonb := nullif(filter, 'null');
begin
  if jsonb_typeof(v_filter) <> 'object' then
    return v_filter;  -- ragdb.search refuses it
  end if;
  v_bounds := array(select f.key from jsonb_each(filter) f
    where f.key ~ '^(min|max)_.' and jsonb_typeof(f.value) = 'number' order by f.key collate "C");
  v_filter := v_filter - v_bounds;
  foreach v_bound in array v_bounds loop
    v_field := substr(v_bound, 5);
    v_operator := case left(v_bound, 4) when 'min_' then 'gte' else 'lte' end;
    v_beside := v_filter -> v_field;
    v_beside := case coalesce(jsonb_typeof(v_beside), 'none') when 'none' then '{}'
      when 'object' then v_beside
      when 'array' then jsonb_build_object('all', v_beside)
        else jsonb_build_object('eq', v_beside) end;
    if v_beside ? v_operator then
      raise exception 'filter bounds % twice', ragdb._quote(v_field)
        using errcode = 'RG410',
          detail = format('by %s and by %s', ragdb._quote(v_bound), v_operator),
              hint = 'leave one of them out';
    end if;
    v_filter := v_filter || jsonb_build_object(v_field,
      v_beside || jsonb_build_object(v_operator, filter -> v_bound));
  end loop;
  return v_filter;
end $$;
comment on function ragdb._wire_filter(jsonb) is
  'Returns the filter of a request as ragdb.search takes it: min_year and max_year, with a number, '
  'bound the field year, beside what it says of year itself. Raises RG410.';

create or replace function ragdb.rag_query(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpus ragdb.corpora;
  v_space ragdb.embedding_spaces;
  v_embedder ragdb.embedders;
  v_k integer;
  v_query text;
  v_chunks jsonb;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('rag.query', request);
  v_corpus := ragdb._routable_corpus(ragdb._wire_text(request -> 'params', 'corpus'), 'read');
  v_query := ragdb._wire_text(v_input, 'query');
  if coalesce(v_query !~ '\S' or length(v_query) > 32768, true) then
    raise exception 'query is %', case when v_query is null then 'null'
        when length(v_query) > 32768 then 'too long' else 'empty' end
      using errcode = 'RG400', detail = 'a query has 1 to 32768 characters',
        hint = 'pass the question as query';
  end if;
  if v_input ? 'k' then
    if jsonb_typeof(v_input -> 'k') <> 'number' or (v_input ->> 'k')::numeric not between 1 and 20
      or (v_input ->> 'k')::numeric <> trunc((v_input ->> 'k')::numeric)
    then
      raise exception 'k is %, not a whole number from 1 to 20', ragdb._quote(v_input ->> 'k')
        using errcode = 'RG400', detail = 'it is the number of chunks to return',
          hint = 'the default is 5';
    end if;
  end if;
  v_k := coalesce((v_input ->> 'k')::numeric, 5);
  if v_input ? 'include_text' and jsonb_typeof(v_input -> 'include_text') <> 'boolean' then
    raise exception 'include_text is not true or false'
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(v_input -> 'include_text'),
            hint = 'the default is true';
  end if;
  v_space := ragdb._space(v_corpus.corpus_id, 'current');
  if v_space.space_id is not null then
    select e.* into strict v_embedder from ragdb.embedders e
      where e.embedder_id = v_space.embedder_id;
    if ragdb._query_embedding(v_corpus.corpus_id, v_embedder.embedder_id, v_query) is null then
      return ragdb._wait_for_query(v_corpus, v_embedder, v_query);
    end if;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object(
      'rank', h.rank, 'score', h.score,
      'metadata', jsonb_build_object('doc_cid', h.doc_cid, 'doc_title', h.title, 'page', h.page,
        'chunk_id', h.chunk_id))
    || case when coalesce((v_input ->> 'include_text')::boolean, true)
        then jsonb_build_object('text', h.text) else '{}' end order by h.rank), '[]')
    into v_chunks
    from ragdb.retrieve(corpus => v_corpus.name, query => v_query, k => v_k,
      filter => ragdb._wire_filter(v_input -> 'filter'), client => 'rag.query@1.0') h;
  return jsonb_build_object('output', jsonb_build_object('chunks', v_chunks),
    'meta', jsonb_build_object('corpus', v_corpus.name, 'ms', ragdb._ms_since(v_began),
      'embedding_model', v_embedder.name));
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  if v_corpus.corpus_id is not null and v_query is not null and sqlstate <> 'RG450' then
    perform ragdb.record_failure(v_corpus.name, v_query, sqlstate, ragdb._ms_since(v_began)::float8,
      k => v_k, filter => v_input -> 'filter', client => 'rag.query@1.0');
  end if;
  return ragdb._wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_query(jsonb) is
  'Capability rag.query@1.0: {"params": {"corpus"}, "input": {"query", "k" (1 to 20, 5), "filter", '
  '"include_text" (true)}} gives {"output": {"chunks": [{"rank", "score", "text", "metadata": '
  '{"doc_cid", "doc_title", "page", "chunk_id"}}]}, "meta": {"corpus", "ms", "embedding_model"}} '
  'and records a trace; or {"error"} with not_found, bad_request, unauthorized, capacity_exceeded, '
  'or partition while a worker embeds the query. Raises 25006 where nothing can be written.';

create or replace function ragdb._wait_for_query(
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
  return ragdb._wait_for_worker(embedder, 'the query waits for a worker that embeds it', v_error,
    100,
    ragdb._query_job(corpus.corpus_id, embedder.embedder_id, sha256(convert_to(query, 'UTF8'))));
end $$;
comment on function ragdb._wait_for_query(ragdb.corpora, ragdb.embedders, text) is
  'Asks the workers for the embedding of a query and returns the answer meanwhile.';

-- A query that waits has no id of its own: this is one of version 8, made of its key.
create or replace function ragdb._query_job(corpus_id integer, embedder_id integer,
  query_hash bytea) returns uuid
language sql immutable parallel safe
return pg_catalog.overlay(pg_catalog.overlay(pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(
    'ragdb.query/1'::bytea || pg_catalog.int4send(_query_job.corpus_id)
    || pg_catalog.int4send(_query_job.embedder_id) || _query_job.query_hash), 1, 16), 'hex'),
  '8', 13, 1), '8', 17, 1)::uuid;
comment on function ragdb._query_job(integer, integer, bytea) is
  'Returns the job id of a query that waits for its embedding.';

-- ── rag.ingest ──────────────────────────────────────────────────────────────────────────────────

-- Contents decide, so what is declared refuses only what begins like no packed file
create or replace function ragdb._is_readable(media_type text, head bytea) returns boolean
language sql immutable parallel safe
return pg_catalog.lower(pg_catalog.btrim(pg_catalog.split_part(_is_readable.media_type, ';', 1)))
  = any (array[
    'text/plain', 'text/markdown', 'text/x-markdown', 'text/x-rst', 'text/html',
    'application/xhtml+xml', 'application/pdf', 'application/octet-stream',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document'])
  or pg_catalog.substr(_is_readable.head, 1, 5) = '%PDF-'::bytea
  or pg_catalog.substr(_is_readable.head, 1, 4) = '\x504b0304'::bytea;
comment on function ragdb._is_readable(text, bytea) is
  'Says whether a blob may be a document that the readers know, by its media type or its first '
  'bytes.';

create or replace function ragdb._check_waiting_jobs() returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_waiting bigint;
begin
  select count(*) into v_waiting from (
    select from ragdb.ingest_jobs j where j.requested_by = ragdb._caller() and j.failed_at is null
    union all
    select from ragdb.embed_jobs j where j.requested_by = ragdb._caller()
      and j.texts is not null) w;
  if v_waiting >= 1000 then
    raise exception 'role % has % jobs waiting', ragdb._quote(ragdb._caller()), v_waiting
      using errcode = 'RG451', detail = 'a role may have 1000 jobs waiting for workers',
            hint = 'wait until workers have done some, or start more of them: ragdb worker';
  end if;
end $$;
comment on function ragdb._check_waiting_jobs() is
  'Refuses another job of a caller who has 1000 waiting. Raises RG451.';

create or replace function ragdb.rag_ingest(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_corpus ragdb.corpora;
  v_cid text;
  v_title text;
  v_language text;
  v_document ragdb.documents;
  v_blob record;
  v_job ragdb.ingest_jobs;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('rag.ingest', request);
  v_corpus := ragdb._routable_corpus(ragdb._wire_text(request -> 'params', 'corpus'), 'write');
  v_cid := ragdb._wire_text(v_input, 'doc_cid');
  v_title := ragdb._wire_text(v_input, 'title');
  v_language := ragdb._wire_text(v_input, 'language');
  if coalesce(v_cid !~ '^sha256:[0-9a-f]{64}$', true) then
    raise exception 'doc_cid is %', ragdb._quote(v_cid)
      using errcode = 'RG400', detail = 'it is sha256: and 64 hex digits in lower case',
            hint = 'ragdb.put_blob() returns it';
  end if;
  if length(v_title) > 2500 or v_language !~ '^[A-Za-z0-9-]{1,64}$'
    or coalesce(jsonb_typeof(v_input -> 'metadata'), 'null') not in ('object', 'null')
  then
    raise exception 'title, language or metadata is not what it must be'
      using errcode = 'RG400',
            detail = 'a title has at most 2500 characters, a language is a code such as en, '
                     'metadata is an object',
            hint = 'leave out what is not known';
  end if;
  select d.* into v_document from ragdb.documents d
    where d.corpus_id = v_corpus.corpus_id and d.doc_cid = v_cid;
  if found then
    return jsonb_build_object(
      'output', jsonb_build_object('doc_cid', v_document.doc_cid, 'chunks_indexed',
        v_document.chunks,
        'tokens_indexed', v_document.tokens),
      'meta', jsonb_build_object('corpus', v_corpus.name, 'ms', ragdb._ms_since(v_began),
        'ingest_event_id', v_document.event_id));
  end if;
  select b.media_type, substring(b.bytes from 1 for 8) as head into v_blob from ragdb.blobs b
    where b.cid = v_cid and (
      exists (select from ragdb.blob_uploads u where u.cid = b.cid and u.role = ragdb._caller())
      or exists (select from ragdb.corpora c join ragdb.documents d on d.corpus_id = c.corpus_id
        where d.doc_cid = b.cid and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0));
  if not found then
    raise exception 'no blob %', ragdb._quote(v_cid)
      using errcode = 'RG408',
        detail = 'a blob is ingested by who has put it, or may read a document of it',
            hint = 'put the bytes first: ragdb.put_blob()';
  end if;
  if not ragdb._is_readable(v_blob.media_type, v_blob.head) then
    raise exception 'blobs of type % are not read', ragdb._quote(v_blob.media_type)
      using errcode = 'RG452', detail = 'one document is one blob',
            hint = 'text, Markdown, RST, HTML, PDF and DOCX are read; ragdb ingest reads JSONL';
  end if;
  select j.* into v_job from ragdb.ingest_jobs j
    where j.corpus_id = v_corpus.corpus_id and j.doc_cid = v_cid;
  -- what failed a moment ago would fail again; later it may have been put right
  if v_job.failed_at > clock_timestamp() - interval '1 minute' then
    return ragdb._wire_error(v_job.error, v_job.message, v_job.hint, job_id => v_job.job_id);
  end if;
  if v_job.job_id is null or v_job.failed_at is not null then
    perform ragdb._check_waiting_jobs();
    insert into ragdb.ingest_jobs as j (corpus_id, doc_cid, job_id, title, language, metadata,
        requested_by, due_at, created_at)
      values (v_corpus.corpus_id, v_cid, ragdb._uuid7(ragdb._now()), v_title, v_language,
        coalesce(nullif(v_input -> 'metadata', 'null'), '{}'), ragdb._caller(), clock_timestamp(),
          ragdb._now())
      on conflict on constraint ingest_jobs_document_is_unique_per_corpus do update
        set title = excluded.title, language = excluded.language, metadata = excluded.metadata,
          requested_by = excluded.requested_by, failures = 0, attempt = j.attempt + 1,
            worker = null,
          due_at = excluded.due_at, error = null, message = null, hint = null, failed_at = null
        where j.failed_at is not null;
    select j.* into strict v_job from ragdb.ingest_jobs j
      where j.corpus_id = v_corpus.corpus_id and j.doc_cid = v_cid;
    perform pg_notify('ragdb_embeddings', 'ingest');
  end if;
  return ragdb._wait_for_worker(ragdb._unbound_embedder(v_corpus.corpus_id),
    'the blob waits for a worker that reads it', v_job.message, 250, v_job.job_id);
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb._wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_ingest(jsonb) is
  'Capability rag.ingest@1.0: {"params": {"corpus"}, "input": {"doc_cid" (of a blob), "title", '
  '"language", "metadata"}} gives {"output": {"doc_cid", "chunks_indexed", "tokens_indexed"}, '
  '"meta": {"corpus", "ms", "ingest_event_id"}}, of a document that is there already its existing '
  'result; or {"error"} with not_found, bad_request, unauthorized, rate_limited, '
  'capacity_exceeded, or partition while a worker reads the blob.';

create or replace function ragdb._unbound_embedder(corpus_id integer) returns ragdb.embedders
language sql stable parallel safe
return (select e from ragdb._space(_unbound_embedder.corpus_id, 'current') s
  join ragdb.embedders e on e.embedder_id = s.embedder_id where e.provider is null);
comment on function ragdb._unbound_embedder(integer) is
  'Returns the embedder of a corpus when nothing is bound to run it, else null.';

create or replace function ragdb.claim_ingest_jobs(
  worker text, count integer default 1, lease interval default '600 seconds',
  only_corpus text default null)
returns table (
  job_id uuid, attempt integer, corpus text, doc_cid text, media_type text, bytes bytea, title text,
  language text, metadata jsonb, max_tokens integer, overlap integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_only integer;
begin
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 100 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many blobs',
        hint = 'pass count from 1 to 100';
  end if;
  if only_corpus is not null then
    v_only := (ragdb._open_corpus(only_corpus, 'write')).corpus_id;
  end if;
  delete from ragdb.ingest_jobs j where j.failed_at < clock_timestamp() - interval '1 day';
  -- a blob that kills five workers is to blame, and one that is gone comes no more
  with hopeless as materialized (
    select j.job_id, b.cid is null as is_gone
    from ragdb.ingest_jobs j left join ragdb.blobs b on b.cid = j.doc_cid
    where j.failed_at is null and j.due_at <= clock_timestamp()
      and (b.cid is null or j.attempt >= j.failures + 5)
    for update of j skip locked
  )
  update ragdb.ingest_jobs j
    set failed_at = clock_timestamp(), worker = null,
      error = case when h.is_gone then 'not_found' else 'internal_error' end,
      message = case when h.is_gone then 'the blob is gone'
        else 'five workers died or lost their lease on it' end,
      hint = case when h.is_gone then 'put the bytes again: ragdb.put_blob()' end
    from hopeless h where j.job_id = h.job_id;
  return query
    with due as materialized (
      select j.job_id, c.name as corpus, ragdb._space(j.corpus_id, 'current') as space
      from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
      where j.failed_at is null and j.due_at <= clock_timestamp()
        and j.corpus_id = coalesce(v_only, j.corpus_id)
        and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
        and (ragdb._unbound_embedder(j.corpus_id)).name is null
      order by j.due_at limit claim_ingest_jobs.count
      for update of j skip locked
    )
    update ragdb.ingest_jobs j
    set attempt = j.attempt + 1, worker = claim_ingest_jobs.worker,
      due_at = clock_timestamp() + claim_ingest_jobs.lease
    from due d join ragdb.blobs b on true
    where j.job_id = d.job_id and b.cid = j.doc_cid
    returning j.job_id, j.attempt, d.corpus, j.doc_cid, b.media_type, b.bytes, j.title, j.language,
      j.metadata, case when (d.space).space_id is null then 1000 else 240 end,
      case when (d.space).space_id is null then 200 else 48 end;
end $$;
comment on function ragdb.claim_ingest_jobs(text, integer, interval, text) is
  'Claims up to count (1 to 100) blobs that wait to be read, for the time of the lease (1 s to 1 '
  'day), of corpora that the caller may write, with the chunking they shall get: 1000 tokens and '
  '200 overlap, or 240 and 48 where the corpus has embeddings. Commit before reading; answer with '
  'ragdb.complete_ingest_job() or ragdb.fail_ingest_job(). Raises RG400, RG401, RG404.';

create or replace function ragdb._ingest_job(job_id uuid, attempt integer) returns ragdb.ingest_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs;
begin
  select j.* into v_job from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.job_id = _ingest_job.job_id and j.attempt = _ingest_job.attempt and j.failed_at is null
      and ragdb._privilege(c.corpus_id, c.personal_of, c.name) >= 2
    for update of j;
  if not found then
    raise exception 'job % is not this worker''s', coalesce(_ingest_job.job_id::text, 'null')
      using errcode = 'RG453', detail = 'it is done, failed, or claimed again since',
            hint = 'nothing is lost: whoever has it now answers';
  end if;
  return v_job;
end $$;
comment on function ragdb._ingest_job(uuid, integer) is
  'Locks and returns an ingest job under the number of its last claim. Raises RG453.';

create or replace function ragdb.complete_ingest_job(job_id uuid, attempt integer, document jsonb)
returns setof ragdb.put_result
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs := ragdb._ingest_job(job_id, attempt);
  v_result ragdb.put_result;
begin
  if document ->> 'doc_cid' is distinct from v_job.doc_cid then
    raise exception 'the document is not the one that was claimed'
      using errcode = 'RG412', detail = 'its doc_cid is ' || ragdb._quote(document ->> 'doc_cid'),
            hint = 'the doc_cid of a document is that of its bytes';
  end if;
  select p.* into strict v_result from ragdb.corpora c,
      ragdb.put_documents(c.name, jsonb_build_array(document)) p
    where c.corpus_id = v_job.corpus_id;
  -- who asked is the author, not who read the file
  update ragdb.events e set author = v_job.requested_by
    where e.event_id = v_result.ingest_event_id and not v_result.was_duplicate;
  delete from ragdb.ingest_jobs j where j.job_id = v_job.job_id;
  return next v_result;
end $$;
comment on function ragdb.complete_ingest_job(uuid, integer, jsonb) is
  'Stores the document that a claimed blob is, in the form of ragdb.put_documents, with who asked '
  'for it as the author of its event, and ends the job. Raises RG409, RG412, RG413, RG453.';

create or replace function ragdb.fail_ingest_job(
  job_id uuid, attempt integer, message text, hint text default null, error text default null)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.ingest_jobs := ragdb._ingest_job(job_id, attempt);
begin
  if message is null or error not in ('bad_request', 'not_found', 'internal_error', 'conflict') then
    raise exception 'message is null, or error is %', ragdb._quote(error)
      using errcode = 'RG400',
        detail = 'a final failure has its wire word, one that may pass has none',
            hint = 'error is bad_request, not_found, conflict or internal_error, or null';
  end if;
  update ragdb.ingest_jobs j
    set worker = null, failures = j.failures + 1, message = left(fail_ingest_job.message, 1000),
      hint = left(fail_ingest_job.hint, 1000),
      error = coalesce(fail_ingest_job.error, case when j.failures >= 4 then 'internal_error' end),
      failed_at = case when fail_ingest_job.error is not null or j.failures >= 4
        then clock_timestamp() end,
      due_at = clock_timestamp() + make_interval(secs => 2 ^ (j.failures + 1)) * (0.5 + random())
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.fail_ingest_job(uuid, integer, text, text, text) is
  'Ends a claimed ingest job with the wire word, message and hint that its caller gets; without a '
  'word it is tried again after a back-off, five times in all. Raises RG400, RG453.';

-- ── rag.list_corpora ────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.rag_list_corpora(request jsonb default '{}') returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_corpora jsonb;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('rag.list_corpora', request);
  select coalesce(jsonb_agg(jsonb_build_object('name', l.name, 'docs', l.documents, 'chunks',
    l.chunks,
      'size_bytes', l.size_bytes, 'language_majority', l.language_majority) order by l.name), '[]')
    into v_corpora
    from ragdb.list_corpora() l where l.name <> 'personal';
  return jsonb_build_object('output', jsonb_build_object('corpora', v_corpora),
    'meta', jsonb_build_object('ms', ragdb._ms_since(v_began)));
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb._wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.rag_list_corpora(jsonb) is
  'Capability rag.list_corpora@1.0: {"params": {}, "input": {}} gives {"output": {"corpora": '
  '[{"name", "docs", "chunks", "size_bytes", "language_majority"}]}, "meta": {"ms"}}, of the '
  'corpora that the caller may read without personal; or {"error"} with bad_request, unauthorized '
  'or capacity_exceeded.';

-- ── embed.text ──────────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.embed_text(request jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_input constant jsonb := request -> 'input';
  v_embedder ragdb.embedders;
  v_texts text[];
  v_hash bytea;
  v_job ragdb.embed_jobs;
  v_embeddings jsonb;
  v_detail text;
  v_hint text;
begin
  perform ragdb._enter_capability('embed.text', request);
  v_embedder := ragdb._embedder(coalesce(ragdb._wire_text(request -> 'params', 'model'), ''));
  if jsonb_typeof(v_input -> 'texts') <> 'array'
    or jsonb_array_length(v_input -> 'texts') not between 1 and 256
    or exists (select from jsonb_array_elements(v_input -> 'texts') t
      where jsonb_typeof(t) <> 'string' or length(t #>> '{}') > 8192 or t #>> '{}' !~ '\S')
  then
    raise exception 'texts are not 1 to 256 texts of 1 to 8192 characters'
      using errcode = 'RG400', detail = 'each becomes one embedding',
        hint = 'cut what is longer, send more in another request';
  end if;
  if v_input ? 'normalize' and jsonb_typeof(v_input -> 'normalize') <> 'boolean' then
    raise exception 'normalize is not true or false'
      using errcode = 'RG400', detail = 'it is of type ' || jsonb_typeof(v_input -> 'normalize'),
            hint = 'the default is true';
  end if;
  v_texts := array(select t #>> '{}' from jsonb_array_elements(v_input -> 'texts')
    with ordinality e (t, n) order by n);
  v_hash := ragdb._fields_hash(variadic array(
    select ragdb._utf8(t) from unnest(v_texts) with ordinality e (t, n) order by n));
  select j.* into v_job from ragdb.embed_jobs j
    where j.embedder_id = v_embedder.embedder_id and j.request_hash = v_hash;
  if v_job.embeddings is not null then
    return jsonb_build_object('output', jsonb_build_object(
        'embeddings', ragdb._listed_embeddings(v_job.embeddings, v_embedder.dims,
          coalesce((v_input ->> 'normalize')::boolean, true)), 'dim', v_embedder.dims),
      'meta', jsonb_build_object('model', v_embedder.name, 'ms', ragdb._ms_since(v_began)));
  end if;
  if v_job.failed_at > clock_timestamp() - interval '1 minute' then
    return ragdb._wire_error('bad_request', v_job.message, job_id => v_job.job_id);
  end if;
  if v_job.job_id is null or v_job.failed_at is not null then
    perform ragdb._check_waiting_jobs();
    insert into ragdb.embed_jobs as j (embedder_id, request_hash, job_id, texts, requested_by,
      due_at, created_at)
      values (v_embedder.embedder_id, v_hash, ragdb._uuid7(ragdb._now()), v_texts, ragdb._caller(),
        clock_timestamp(), ragdb._now())
      on conflict on constraint embed_jobs_request_is_unique_per_embedder do update
        set texts = excluded.texts, failed_at = null, message = null, failures = 0, worker = null,
          attempt = j.attempt + 1, due_at = excluded.due_at, requested_by = excluded.requested_by
        where j.failed_at is not null;
    select j.* into strict v_job from ragdb.embed_jobs j
      where j.embedder_id = v_embedder.embedder_id and j.request_hash = v_hash;
    perform pg_notify('ragdb_embeddings', 'texts');
  end if;
  return ragdb._wait_for_worker(v_embedder, 'the texts wait for a worker that embeds them',
    v_job.message, 100,
    v_job.job_id);
exception when others then
  if sqlstate !~ '^RG' then
    raise;
  end if;
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  return ragdb._wire_error_of(sqlstate, sqlerrm, v_detail, v_hint);
end $$;
comment on function ragdb.embed_text(jsonb) is
  'Capability embed.text@1.0: {"params": {"model"}, "input": {"texts" (1 to 256 of 1 to 8192 '
  'characters), "normalize" (true)}} gives {"output": {"embeddings", "dim"}, "meta": {"model", '
  '"ms"}}, by an embedder and without its prefixes; or {"error"} with not_found, bad_request, '
  'unauthorized, rate_limited, capacity_exceeded, or partition while a worker embeds the texts.';

create or replace function ragdb._listed_embeddings(embeddings real[], dims integer,
  is_scaled boolean)
returns jsonb
language sql immutable parallel safe
begin atomic
  select pg_catalog.jsonb_agg(case when _listed_embeddings.is_scaled then (
      select pg_catalog.jsonb_agg(v.x / c.norm order by v.n)
      from pg_catalog.unnest(c.numbers) with ordinality v (x, n))
        else pg_catalog.to_jsonb(c.numbers) end order by c.n)
  from (
    select i.n, k.numbers, (select pg_catalog.sqrt(pg_catalog.sum(x::float8 * x::float8 order by n))
        from pg_catalog.unnest(k.numbers) with ordinality v (x, n)) as norm
    from pg_catalog.generate_series(1, pg_catalog.cardinality(embeddings) / dims) i (n)
      cross join lateral (select embeddings[(i.n - 1) * dims + 1 : i.n * dims] as numbers) k) c;
end;
comment on function ragdb._listed_embeddings(real[], integer, boolean) is
  'Returns embeddings, one behind the other, as a JSON array of arrays, each scaled to length 1 '
  'where asked.';

create or replace function ragdb.claim_embed_jobs(
  worker text, count integer default 1, lease interval default '120 seconds',
  only_embedder text default null)
returns table (job_id uuid, attempt integer, embedder text, texts text[])
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb._check_worker(worker, lease);
  if count is null or count not between 1 and 100 then
    raise exception 'count is %', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'a claim takes that many requests',
        hint = 'pass count from 1 to 100';
  end if;
  -- what a worker answers is believed by everyone who asks
  if ragdb._trust() not in ('trusted', 'anchor') then
    return;
  end if;
  delete from ragdb.embed_jobs j
    where j.texts is null
      and coalesce(j.failed_at, j.due_at) < clock_timestamp() - interval '1 day';
  with fatal as materialized (
    select j.job_id from ragdb.embed_jobs j
    where j.texts is not null and j.due_at <= clock_timestamp() and j.attempt >= j.failures + 5
    for update skip locked
  )
  update ragdb.embed_jobs j
    set failed_at = clock_timestamp(), texts = null, worker = null,
      message = 'five workers died or lost their lease on it'
    from fatal f where j.job_id = f.job_id;
  return query
    with due as materialized (
      select j.job_id, e.name
      from ragdb.embed_jobs j join ragdb.embedders e on e.embedder_id = j.embedder_id
      where j.texts is not null and j.due_at <= clock_timestamp() and e.provider is not null
        and e.name = coalesce(only_embedder, e.name)
      order by j.due_at limit claim_embed_jobs.count
      for update of j skip locked
    )
    update ragdb.embed_jobs j
    set attempt = j.attempt + 1, worker = claim_embed_jobs.worker,
      due_at = clock_timestamp() + claim_embed_jobs.lease
    from due d where j.job_id = d.job_id
    returning j.job_id, j.attempt, d.name, j.texts;
end $$;
comment on function ragdb.claim_embed_jobs(text, integer, interval, text) is
  'Claims up to count (1 to 100) requests of ragdb.embed_text that wait, for the time of the lease '
  '(1 s to 1 day); none for a caller without ragdb_writer. Commit before embedding; answer with '
  'ragdb.complete_embed_job() or ragdb.fail_embed_job(). Raises RG400.';

create or replace function ragdb._embed_job(job_id uuid, attempt integer) returns ragdb.embed_jobs
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs;
begin
  select j.* into v_job from ragdb.embed_jobs j
    where j.job_id = _embed_job.job_id and j.attempt = _embed_job.attempt and j.texts is not null
      and ragdb._trust() in ('trusted', 'anchor')
    for update;
  if not found then
    raise exception 'job % is not this worker''s', coalesce(_embed_job.job_id::text, 'null')
      using errcode = 'RG453', detail = 'it is done, failed, or claimed again since',
            hint = 'nothing is lost: whoever has it now answers';
  end if;
  return v_job;
end $$;
comment on function ragdb._embed_job(uuid, integer) is
  'Locks and returns an embed job under the number of its last claim. Raises RG453.';

create or replace function ragdb.complete_embed_job(job_id uuid, attempt integer, embeddings real[])
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs := ragdb._embed_job(job_id, attempt);
  v_embedder ragdb.embedders;
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = v_job.embedder_id;
  perform ragdb._check_embeddings(complete_embed_job.embeddings, v_embedder.dims, v_embedder.metric,
    array(select 'text ' || n from generate_series(1, cardinality(v_job.texts)) n));
  update ragdb.embed_jobs j
    set embeddings = complete_embed_job.embeddings, texts = null, worker = null, message = null,
      due_at = clock_timestamp()
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.complete_embed_job(uuid, integer, real[]) is
  'Stores the embeddings of a claimed request, one behind the other in the order of its texts. '
  'Raises RG418, RG453.';

create or replace function ragdb.fail_embed_job(
  job_id uuid, attempt integer, message text, is_final boolean default false)
returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job ragdb.embed_jobs := ragdb._embed_job(job_id, attempt);
  v_is_final constant boolean := is_final or v_job.failures >= 4;
begin
  if message is null or is_final is null then
    raise exception 'message or is_final is null'
      using errcode = 'RG400', detail = 'the caller is told why',
        hint = 'pass the error of the model';
  end if;
  update ragdb.embed_jobs j
    set worker = null, failures = j.failures + 1, message = left(fail_embed_job.message, 1000),
      failed_at = case when v_is_final then clock_timestamp() end,
      texts = case when not v_is_final then j.texts end,
      due_at = clock_timestamp() + make_interval(secs => 2 ^ (j.failures + 1)) * (0.5 + random())
    where j.job_id = v_job.job_id;
end $$;
comment on function ragdb.fail_embed_job(uuid, integer, text, boolean) is
  'Gives a claimed request back after a failure, to be tried again after a back-off, five times in '
  'all, or ends it. Raises RG400, RG453.';

-- ── jobs and events ─────────────────────────────────────────────────────────────────────────────

create or replace function ragdb.job_state(job_id uuid)
returns table (
  capability text, corpus text, state text, error text, message text, hint text,
  created_at timestamptz)
language plpgsql stable parallel safe security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select 'rag.ingest@1.0', c.name, case when j.failed_at is not null then 'failed'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work'
          else 'waiting' end,
      j.error, j.message, j.hint, j.created_at
    from ragdb.ingest_jobs j join ragdb.corpora c on c.corpus_id = j.corpus_id
    where j.job_id = job_state.job_id and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
    union all
    select 'embed.text@1.0', null, case when j.failed_at is not null then 'failed'
        when j.embeddings is not null then 'done'
        when j.worker is not null and j.due_at > clock_timestamp() then 'in_work'
          else 'waiting' end,
      case when j.failed_at is not null then 'bad_request' end, j.message, null, j.created_at
    from ragdb.embed_jobs j
    where j.job_id = job_state.job_id
      and (j.requested_by = ragdb._caller() or ragdb._trust() in ('trusted', 'anchor'))
    union all
    select 'rag.query@1.0', c.name,
      case when q.attempt > 0 and q.last_error is null then 'in_work' else 'waiting' end,
      null, q.last_error, null, null::timestamptz
    from ragdb.embedded_queries q join ragdb.corpora c on c.corpus_id = q.corpus_id
    where q.embedding_hash is null and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
      and ragdb._query_job(q.corpus_id, q.embedder_id, q.query_hash) = job_state.job_id
    limit 1;
  if not found then
    raise exception 'no job %', coalesce(job_state.job_id::text, 'null')
      using errcode = 'RG453', detail = 'it is done, or was never the caller''s to see',
            hint = 'repeat the request: it answers with the result';
  end if;
end $$;
comment on function ragdb.job_state(uuid) is
  'Returns what has become of the job of a partition answer: waiting, in_work, failed (with the '
  'error), or done for texts; a job that is done otherwise is no more. Raises RG453.';

create or replace function ragdb.event_envelopes(after uuid default null, count integer default 100)
returns setof jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if count is null or count not between 1 and 10000 then
    raise exception 'count is %, not 1 to 10000', coalesce(count::text, 'null')
      using errcode = 'RG400', detail = 'it is the number of events to read',
        hint = 'the default is 100';
  end if;
  return query
    with routable as materialized (
      select c.corpus_id from ragdb.corpora c
      where c.personal_of is null and ragdb._privilege(c.corpus_id, c.personal_of, c.name) > 0
    )
    select jsonb_build_object('schema_version', 1, 'event_id', e.event_id, 'lamport', e.lamport,
      'wall_clock', ragdb._wire_time(e.created_at), 'community_id', current_database(),
      'author', e.author, 'event_type', e.kind, 'data', jsonb_build_object('corpus', e.corpus,
        'doc_cid', e.doc_cid, 'title', e.title, 'language', e.language, 'chunks', e.chunks))
    from ragdb.events e
    where e.corpus_id in (select r.corpus_id from routable r)
      and e.event_id > coalesce(event_envelopes.after, '00000000-0000-0000-0000-000000000000')
    order by e.event_id limit event_envelopes.count;
end $$;
comment on function ragdb.event_envelopes(uuid, integer) is
  'Returns the events after a given one (null: from the beginning), oldest first, at most count (1 '
  'to 10000), each as the envelope of the wire: {"schema_version", "event_id", "lamport", '
  '"wall_clock", "community_id" (the database), "author" (the role), "event_type", "data": '
  '{"corpus", "doc_cid", "title", "language", "chunks"}}; personal corpora are left out. Raises '
  'RG400.';

create or replace function ragdb._wire_time(at timestamptz) returns text
language sql stable parallel safe
return pg_catalog.to_char(_wire_time.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function ragdb._wire_time(timestamptz) is
  'Returns a time in UTC as RFC 3339 has it, to the millisecond.';

-- ── what the HTTP and MCP servers ask ───────────────────────────────────────────────────────────

create or replace function ragdb.corpora_with_chunks(chunk_ids text[]) returns setof text
language sql stable parallel safe security definer
begin atomic
  select k.name collate "default" from ragdb.corpora k
  where k.personal_of is null and ragdb._privilege(k.corpus_id, k.personal_of, k.name) > 0
    and exists (select from pg_catalog.unnest(corpora_with_chunks.chunk_ids) i (chunk_id)
      join ragdb.chunks c on c.corpus_id = k.corpus_id and c.chunk_id = i.chunk_id)
  order by k.name;
end;
comment on function ragdb.corpora_with_chunks(text[]) is
  'Returns the names of the corpora that the caller may read and that have a chunk of one of these '
  'ids, without personal.';

create or replace function ragdb.prepare_query(corpus text, query text) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(prepare_query.corpus, 'read');
begin
  return (ragdb._space(v_corpus.corpus_id, 'current')).space_id is null
    or ragdb.request_query_embedding(prepare_query.corpus, prepare_query.query);
end $$;
comment on function ragdb.prepare_query(text, text) is
  'Says whether a corpus can be searched for a query (1 to 32768 characters) by all that it has: '
  'it has no embeddings, or the query has one; otherwise the workers are asked for that. Raises '
  'RG400, RG404.';

create or replace function ragdb.retrieve_global(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, query_embedding float8[] default null,
  client text default null, otel_trace_id text default null, otel_span_id text default null)
returns setof ragdb.turn_hit
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(retrieve_global.corpus, 'read');
  v_hits ragdb.traced_hit[];
begin
  v_hits := array(select r from ragdb._retrieve(
    corpus => retrieve_global.corpus, query => retrieve_global.query, k => retrieve_global.k,
    mode => retrieve_global.mode, min_score => retrieve_global.min_score,
    filter => retrieve_global.filter, query_embedding => retrieve_global.query_embedding,
    client => retrieve_global.client, otel_trace_id => retrieve_global.otel_trace_id,
    otel_span_id => retrieve_global.otel_span_id) r order by r.rank);
  return query select w.* from ragdb._with_turns(v_corpus.corpus_id, ragdb.last_trace_id(), array(
    select row(h.rank, h.corpus, h.chunk_id, h.doc_cid, h.source, h.title, h.heading, h.page,
      h.start_offset, h.end_offset, h.text, h.citation, h.score, h.lexical_score, h.semantic_score,
      h.lexical_rank, h.semantic_rank, h.bm25, h.coverage, h.content_hash, h.metadata, h.mode,
      h.is_exact)::ragdb.hit
    from unnest(v_hits) h order by h.rank)) w;
end $$;
comment on function ragdb.retrieve_global(text, text, integer, text, float8, jsonb, float8[], text,
  text, text) is
  'Returns the hits of ragdb.search with the same arguments and what is known of them as turns, '
  'and records the one trace, which is never admissible. Raises what ragdb.search raises, RG413, '
  'and 25006 where nothing can be written.';

create or replace function ragdb.provenance(trace_id uuid) returns jsonb
language plpgsql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(trace_id);
begin
  return jsonb_build_object(
    'query_id', v_trace.id, 'retrieval_mode', v_trace.retrieval_mode,
    'query_text', v_trace.query_text,
    'retrieved_turn_ids', coalesce((select jsonb_agg(h.chunk_id order by h.rank)
      from ragdb.trace_hits(v_trace.id) h), '[]'),
    'timestamp', ragdb._wire_time(v_trace.created_at), 'elapsed_ms', v_trace.elapsed_ms,
    'is_admissible', v_trace.is_admissible, 'slice_id', v_trace.slice_id,
    'anchor_turn_id', v_trace.anchor_chunk_id,
    'slice_info', case when v_trace.slice_id is not null then jsonb_build_object(
      'slice_id', v_trace.slice_id, 'anchor_turn_id', v_trace.anchor_chunk_id,
      'turn_count', v_trace.slice_chunk_count, 'edge_count', v_trace.slice_edge_count,
      'policy_ref', jsonb_build_object('policy_id', v_trace.policy_id,
        'params_hash', v_trace.policy_params_hash),
      'policy_id', v_trace.policy_id, 'params_hash', v_trace.policy_params_hash,
      'schema_version', v_trace.schema_version,
      'graph_snapshot_hash', v_trace.graph_snapshot_hash,
      'admissibility_token', v_trace.admissibility_token) end,
    'query_embedding_hash', v_trace.query_embedding_hash, 'result_hash', v_trace.result_hash,
    'filters_applied', v_trace.filters, 'limit_requested', v_trace.limit_requested,
    'limit_returned', v_trace.limit_returned,
    'admissibility_shortfall', v_trace.admissibility_shortfall,
    'shortfall_reason', v_trace.shortfall_reason, 'corpus', v_trace.corpus,
    'corpus_version', v_trace.corpus_version, 'rank_mode', v_trace.rank_mode,
    'embedding_model', v_trace.embedding_model, 'trace_hash', encode(v_trace.trace_hash, 'hex'));
end $$;
comment on function ragdb.provenance(uuid) is
  'Returns the provenance of a recorded retrieval as one object: query_id (the trace), '
  'retrieval_mode, retrieved_turn_ids, is_admissible, slice_info with the policy''s reference, '
  'snapshot and token (null in global mode), hashes of query embedding and result, filters, limits '
  'and shortfall. Raises RG400, RG407.';

-- ── tokens of the HTTP server ───────────────────────────────────────────────────────────────────

create or replace function ragdb.create_http_token(role text, name text,
  expires_in interval default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role pg_roles;
  -- four random uuids carry 488 random bits from the server's strong generator
  v_token constant text := 'rgh_'
    || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
    || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
begin
  if name is null or length(name) not between 1 and 200 or name ~ '[[:cntrl:]]' then
    raise exception 'token name % is not 1 to 200 characters', ragdb._quote(create_http_token.name)
      using errcode = 'RG400', detail = 'it names the token where it is listed and revoked',
            hint = 'such as the program that uses it';
  end if;
  if expires_in <= interval '0' or expires_in > interval '100 years' then
    raise exception 'expires_in is %', expires_in
      using errcode = 'RG400', detail = 'it is the time from now on that the token is good for',
            hint = 'leave it out for a token that is good until it is revoked';
  end if;
  select r.* into v_role from pg_roles r where r.rolname = create_http_token.role;
  if not found then
    raise exception 'role % does not exist', ragdb._quote(create_http_token.role)
      using errcode = 'RG400', detail = 'a token stands for a database role',
        hint = 'create role makes one';
  end if;
  if v_role.rolsuper or pg_has_role(v_role.oid, 'ragdb_owner', 'usage') then
    raise exception 'role % is too mighty for a token', ragdb._quote(create_http_token.role)
      using errcode = 'RG401', detail = 'it is a superuser or a member of ragdb_owner',
            hint = 'make a role in ragdb_reader, ragdb_writer or ragdb_admin for the program';
  end if;
  if not pg_has_role(ragdb._caller(), v_role.oid, 'set') then
    raise exception 'role % may not act as role %', ragdb._quote(ragdb._caller()),
      ragdb._quote(create_http_token.role)
      using errcode = 'RG401', detail = 'nobody hands out rights that are not theirs',
            hint = format('grant %I to %I', v_role.rolname, ragdb._caller());
  end if;
  insert into ragdb.http_tokens (name, token_hash, role, created_by, created_at, expires_at)
    values (create_http_token.name, sha256(convert_to(v_token, 'UTF8')), v_role.rolname,
      ragdb._caller(), ragdb._now(), ragdb._now() + expires_in)
    on conflict on constraint http_tokens_name_is_unique do nothing;
  if not found then
    raise exception 'token % exists already', ragdb._quote(create_http_token.name)
      using errcode = 'RG409', detail = 'a token is never shown again',
        hint = 'revoke it, or choose another name';
  end if;
  return v_token;
end $$;
comment on function ragdb.create_http_token(text, text, interval) is
  'Makes a bearer token of the HTTP server for a role that the caller may act as, and returns it '
  'this once: only its hash is kept. Raises RG400, RG401, RG409.';

create or replace function ragdb.revoke_http_token(name text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  delete from ragdb.http_tokens t where t.name = revoke_http_token.name;
  if not found then
    raise exception 'token % does not exist', ragdb._quote(revoke_http_token.name)
      using errcode = 'RG454', detail = 'nothing was revoked',
        hint = 'ragdb.list_http_tokens() lists the names';
  end if;
end $$;
comment on function ragdb.revoke_http_token(text) is
  'Revokes a bearer token: the next request with it is refused. Raises RG454.';

create or replace function ragdb.list_http_tokens()
returns table (name text, role text, created_by text, created_at timestamptz,
  expires_at timestamptz)
language sql stable parallel safe security definer
begin atomic
  select t.name, t.role, t.created_by, t.created_at, t.expires_at
  from ragdb.http_tokens t order by t.name;
end;
comment on function ragdb.list_http_tokens() is
  'Lists the bearer tokens of the HTTP server by name, without anything of the tokens.';

-- The hash of a token is as hard to come by as the token: whoever asks has been given it.
create or replace function ragdb.http_token_role(token_hash bytea) returns text
language sql stable parallel safe security definer
return (select t.role from ragdb.http_tokens t
  where t.token_hash = http_token_role.token_hash
    and (t.expires_at is null or t.expires_at > ragdb._now()));
comment on function ragdb.http_token_role(bytea) is
  'Returns the role that a bearer token stands for, by the SHA-256 of the token; null when it is '
  'unknown or has expired.';
