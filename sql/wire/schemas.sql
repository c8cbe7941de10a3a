-- The capabilities that there are: their limits, and the JSON schemas of their requests and
-- answers. A new one is a row of both lists, and the function that answers it.

-- Returns what holds for each capability, and the fields of its requests.
create or replace function ragdb_internal.capability_limits()
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
      array['doc_cid', 'source', 'title', 'language', 'metadata']),
    ('rag.list_corpora', '1.0', 'member', 10, 4, null,
      '{}'::text[], '{}'::text[], '{}'::text[], array['prefix', 'after', 'count']),
    ('embed.text', '1.0', 'member', 60, 4, null,
      array['model'], array['model'], array['texts'], array['texts', 'normalize'])
  ) as c (name, version, trust_required, timeout_seconds, max_concurrent, k_max,
    needs_params, takes_params, needs_input, takes_input);
end;

-- Returns the JSON schemas of the requests and answers of each capability.
create or replace function ragdb_internal.all_capability_schemas()
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
                  "chunk_id": {"type": "string"}, "peer": {"type": "string"},
                  "author": {"type": "string"}, "trust": {"type": "string"}}}}}}}},
        "meta": {"type": "object", "additionalProperties": false,
          "required": ["corpus", "ms", "embedding_model"], "properties": {
            "corpus": {"type": "string"}, "ms": {"type": "number", "minimum": 0},
            "embedding_model": {"type": ["string", "null"]},
            "peers": {"type": "array", "items": {"type": "object", "additionalProperties": false,
              "required": ["name", "trust"], "properties": {
                "name": {"type": "string"}, "trust": {"type": "string"},
                "error": {"type": "string"}}}}}}}}'::jsonb),
    ('rag.ingest',
      '{"type": "object", "additionalProperties": false, "required": ["params", "input"],
        "properties": {
        "params": {"type": "object", "additionalProperties": false, "required": ["corpus"],
          "properties": {"corpus": {"type": "string"}}},
        "input": {"type": "object", "additionalProperties": false, "required": ["doc_cid"],
          "properties": {
          "doc_cid": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
          "source": {"type": ["string", "null"], "minLength": 1, "maxLength": 2000},
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
        "input": {"type": "object", "additionalProperties": false, "properties": {
          "prefix": {"type": ["string", "null"]}, "after": {"type": ["string", "null"]},
          "count": {"type": "integer", "minimum": 1, "maximum": 10000}}}}}',
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

create or replace function ragdb.capability_schemas()
returns table (
  name text, version text, trust_required text, timeout_seconds integer, max_concurrent integer,
  request_schema jsonb, response_schema jsonb)
language sql immutable parallel safe security definer
begin atomic
  select l.name, l.version, l.trust_required, l.timeout_seconds, l.max_concurrent,
    s.request_schema, s.response_schema
  from ragdb_internal.capability_limits() l
    join ragdb_internal.all_capability_schemas() s on s.name = l.name
  order by l.name;
end;
comment on function ragdb.capability_schemas is
  'Lists the wire capabilities that there are, with the trust they take, their limits and the JSON '
  'schemas of request and answer.';

-- Definer, like all that follow: the tables are granted to nobody.
create or replace function ragdb.capabilities(
  prefix text default '', after text default '', count integer default null)
returns table (
  name text, version text, stability text, trust_required text, timeout_seconds integer,
  max_concurrent integer, idempotent boolean, params jsonb, request_schema jsonb,
  response_schema jsonb)
language sql stable parallel safe security definer
begin atomic
  with page as materialized (
    select c.corpus_id, c.name, ragdb_internal.privilege(c) as has
    from ragdb_internal.page_of_corpora(
      capabilities.prefix, capabilities.after, capabilities.count, false) c)
  select l.name, l.version, 'stable', l.trust_required, l.timeout_seconds, l.max_concurrent, true,
    p.params, s.request_schema, s.response_schema
  from ragdb_internal.capability_limits() l
    join ragdb_internal.all_capability_schemas() s on s.name = l.name
    cross join lateral (
      select jsonb_build_object('corpus', c.name, 'embedding_model', e.name, 'k_max', l.k_max)
        as params
      from page c
        left join lateral ragdb_internal.space(c.corpus_id, 'current') w on true
        left join ragdb.embedders e on e.embedder_id = w.embedder_id
      where l.name = 'rag.query'
      union all
      select jsonb_build_object('model', e.name, 'dim', e.dims)
      from ragdb.embedders e
      where l.name = 'embed.text' and e.provider is not null
      union all
      select jsonb_build_object('corpora_available',
        coalesce(jsonb_agg(c.name order by c.name), '[]'))
      from page c
      where l.name = 'rag.ingest' and c.has > 1
      having l.name = 'rag.ingest'
      union all
      select '{}'::jsonb where l.name = 'rag.list_corpora') p
  order by l.name, p.params::text collate "C";
end;
comment on function ragdb.capabilities is
  'Lists the wire capabilities that the caller can route to, rag.query once for each corpus and '
  'embed.text once for each embedder, with the trust they take (unknown < member < trusted < '
  'anchor), their limits and the JSON schemas of request and answer. rag.query and the '
  'corpora_available of rag.ingest are of the corpora whose name begins with a prefix and comes '
  'after a given one, the first count that the caller may read (1 to 10000; null: all). Raises '
  'RG400.';
