-- Vectors: embedders, the spaces of a corpus, and the nearest chunks of a space.
--
-- A space is one corpus under one embedder: a partition of chunk_embeddings with its own HNSW index
-- over halfvec, which finds candidates; the score that counts is computed from the vectors in full
-- precision. Callers speak real[]: pgvector's types stay inside, and every check is ours.

-- pgvector, named in bound bodies only

create or replace function ragdb._vector(embedding real[]) returns vector
language sql immutable parallel safe
return _vector.embedding::vector;
comment on function ragdb._vector(real[]) is 'Makes a vector of numbers.';

create or replace function ragdb._numbers(embedding vector) returns real[]
language sql immutable parallel safe
return _numbers.embedding::real[];
comment on function ragdb._numbers(vector) is 'Returns the numbers of a vector.';

-- A cast of an array fails at a number that a float4 cannot hold, and of a constant before it is
-- known whether one is there
create or replace function ragdb._single(embedding float8[]) returns real[]
language plpgsql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if array_ndims(embedding) > 1 then
    return '{{0}}';
  end if;
  if not exists (select from unnest(embedding) n (v) where n.v <> 0
    and abs(n.v) not between 1e-37 and 3e38) then
    return embedding::real[];
  end if;
  return array(
    select case when abs(n.v) < 1e-37 then 0 when abs(n.v) > 3e38 then 'nan' else n.v end::real
    from unnest(embedding) with ordinality n (v, place) order by n.place);
end $$;
comment on function ragdb._single(float8[]) is
  'Returns numbers in the precision of an embedding: below 1e-37 zero, above 3e38 not a number. '
  'That, and {{0}} for an array of arrays, is refused by ragdb._check_embeddings().';

-- Rounded to 1e-6: pgvector's sums differ by CPU in the last digits.
create or replace function ragdb._similarity(a vector, b vector, metric text) returns float8
language sql immutable parallel safe
return pg_catalog.round(1000000::float8 * greatest(0::float8, least(1::float8, case metric
    when 'cosine' then 1::float8 - (a <=> b)
    when 'ip' then -(a <#> b)
    else 1::float8 - (a <-> b) * (a <-> b) / 2::float8
  end))) / 1000000::float8;
comment on function ragdb._similarity(vector, vector, text) is
  'Returns the similarity of two vectors in [0, 1], rounded to 1e-6: max(0, cosine), max(0, inner '
  'product) or max(0, 1 - distance² / 2).';

create or replace function ragdb._vector_hash(embedding real[]) returns bytea
language sql immutable parallel safe
return (select pg_catalog.sha256(pg_catalog.string_agg(pg_catalog.float4send(e.value),
  ''::bytea order by e.n))
  from pg_catalog.unnest(_vector_hash.embedding) with ordinality as e (value, n));
comment on function ragdb._vector_hash(real[]) is
  'Returns the sha256 of an embedding: its numbers as big-endian float4.';

create or replace function ragdb._cut(embeddings real[], dims integer)
returns table (n integer, embedding vector, norm float8)
language sql immutable parallel safe
begin atomic
  select v.n, v.embedding, vector_norm(v.embedding)
  from (select i.n, (_cut.embeddings[(i.n - 1) * _cut.dims + 1 : i.n * _cut.dims])::vector
    as embedding
    from pg_catalog.generate_series(1, pg_catalog.cardinality(_cut.embeddings) / _cut.dims) i (n)
    offset 0) v;
end;
comment on function ragdb._cut(real[], integer) is
  'Cuts a row of numbers into vectors of a width, with their norms.';

-- Dynamic text names pgvector where it is
create or replace function ragdb._vector_schema() returns text
language sql stable parallel safe
set search_path = pg_catalog, pg_temp
return (pg_catalog.parse_ident(pg_catalog.pg_typeof(null::vector)::text))[1];
comment on function ragdb._vector_schema() is 'Returns the schema that pgvector is installed in.';

create or replace function ragdb._space_table(space_id integer) returns text
language sql immutable parallel safe
return 'chunk_embeddings_' || _space_table.space_id;
comment on function ragdb._space_table(integer) is 'Returns the name of the partition of a space.';

-- Unit vectors order alike under every metric, and fit a half whatever the model's scale.
create or replace function ragdb._indexed_expression(schema text, value text, dims integer)
  returns text
language sql immutable parallel safe
return pg_catalog.format('%1$I.l2_normalize(%2$s)::%1$I.halfvec(%3$s)',
  _indexed_expression.schema, _indexed_expression.value, _indexed_expression.dims);
comment on function ragdb._indexed_expression(text, text, integer) is
  'Returns the text of what the HNSW index of a space is over, for a value; schema is pgvector''s.';

-- Each of the three ways to look at a space is one statement on its partition, planned anew (a
-- width cannot be a parameter, and a plan for the parent opens every partition): the vectors are
-- scored where they are found.

-- Ties at the k-th place all stay: only the caller knows the ids that order them.
create or replace function ragdb._scan_space(
  space ragdb.embedding_spaces, metric text, query vector, k integer)
returns table (chunk_no integer, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
  return query execute format(
    'with scored (chunk_no, score) as materialized ('
    'select s.chunk_no, ragdb._similarity(s.embedding, $1, %L) from ragdb.%I s)'
    ' select s.chunk_no, s.score from scored s where s.score >= coalesce('
    '(select l.score from scored l order by l.score desc limit 1 offset $2 - 1), 0)',
    metric, ragdb._space_table(space.space_id))
    using query, k;
end $$;
comment on function ragdb._scan_space(ragdb.embedding_spaces, text, vector, integer) is
  'Returns the k chunks of a space that are nearest to a vector, and all that tie with the last, '
  'looking at every one.';

create or replace function ragdb._score_chunks(
  space ragdb.embedding_spaces, metric text, query vector, chunk_nos integer[])
returns table (chunk_no integer, score float8)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = on
set jit = off
as $$
begin
  if cardinality(chunk_nos) = 0 then
    return;
  end if;
  return query execute format(
    'select s.chunk_no, ragdb._similarity(s.embedding, $1, %L)'
    ' from ragdb.%I s where s.corpus_id = $3 and s.chunk_no = any (array(select '
    'pg_catalog.unnest($2)))',
    metric, ragdb._space_table(space.space_id))
    using query, chunk_nos, space.corpus_id;
end $$;
comment on function ragdb._score_chunks(ragdb.embedding_spaces, text, vector, integer[]) is
  'Returns the similarity of the given chunks of a space to a vector; chunks without an embedding '
  'have no row.';

-- The search of the index. Nothing may take its place: other scans and sorts are off, and a filter
-- is a hashed subplan, which no index answers (and which is planned at once, where `= any` looks at
-- every element). What it finds is scored in full precision on the way.
create or replace function ragdb._walk_space(
  space ragdb.embedding_spaces, dims integer, metric text, query vector, k integer,
    chunk_nos integer[],
  ef_search integer default null)
returns table (chunk_no integer, score float8)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
declare
  v_ef text := current_setting('hnsw.ef_search');
  v_iterative text := current_setting('hnsw.iterative_scan');
  v_tuples text := current_setting('hnsw.max_scan_tuples');
  v_schema constant text := ragdb._vector_schema();
begin
  perform set_config('hnsw.ef_search',
    least(1000, greatest(coalesce(ef_search, space.ef_search), k))::text, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', '2147483647', true);
  return query execute format(
    'select s.chunk_no, ragdb._similarity(s.embedding, $1, %L)'
    ' from (select e.chunk_no, e.embedding from ragdb.%I e %s'
    ' order by %s operator(%I.<#>) %s limit $2) s',
    metric, ragdb._space_table(space.space_id),
    case when chunk_nos is not null then 'where (e.chunk_no in (select unnest($3))) is true' end,
    ragdb._indexed_expression(v_schema, 'e.embedding', dims), v_schema,
    ragdb._indexed_expression(v_schema, '$1', dims))
    using query, k, chunk_nos;
  perform set_config('hnsw.ef_search', v_ef, true),
    set_config('hnsw.iterative_scan', v_iterative, true),
    set_config('hnsw.max_scan_tuples', v_tuples, true);
end $$;
comment on function ragdb._walk_space(ragdb.embedding_spaces, integer, text, vector, integer,
  integer[], integer) is
  'Returns about the k nearest chunks of a space by its HNSW index with their similarity, among '
  'the given ones when not null; ef_search (null: the space''s own) is how many it looks at.';

create or replace function ragdb._nearest(
  corpus ragdb.corpora, space ragdb.embedding_spaces, query vector, k integer,
  chunk_nos integer[] default null)
returns table (chunk_no integer, score float8, is_exact boolean)
language plpgsql stable parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
  v_found integer[];
  v_scores float8[];
begin
  select e.* into strict v_embedder from ragdb.embedders e where e.embedder_id = space.embedder_id;
  -- a walk takes the longer the less of the graph is wanted, a look at every wanted chunk the
  -- longer the more: they meet near 20 √chunks (measured) and a slice, of at most 10,000 chunks, is
  -- always looked at whole
  if space.is_indexed and corpus.chunks >= 20000
    and (chunk_nos is null or cardinality(chunk_nos) > greatest(10000, 20 * sqrt(corpus.chunks)))
  then
    -- more than asked for: the index orders by halves, and what it swaps at the end is put right
    -- here
    select array_agg(s.chunk_no), array_agg(s.score) into v_found, v_scores
      from ragdb._walk_space(space, v_embedder.dims, v_embedder.metric, query,
        greatest(k, least(1000, k + k / 4 + 16)), chunk_nos) s;
    if cardinality(v_found) >= k then
      return query select s.chunk_no, s.score, false
        from unnest(v_found, v_scores) s (chunk_no, score);
      return;
    end if;
  end if;
  if chunk_nos is null then
    return query select s.chunk_no, s.score, true
      from ragdb._scan_space(space, v_embedder.metric, query, k) s;
  else
    return query
      with scored as materialized (
        select s.chunk_no, s.score
          from ragdb._score_chunks(space, v_embedder.metric, query, chunk_nos) s)
      select s.chunk_no, s.score, true from scored s
      where s.score >= coalesce((select l.score from scored l order by l.score desc
        limit 1 offset k - 1), 0);
  end if;
end $$;
comment on function ragdb._nearest(ragdb.corpora, ragdb.embedding_spaces, vector, integer,
  integer[]) is
  'Returns at least the k chunks nearest to a vector with their similarity, among the given ones '
  'when not null, and whether none was passed over.';

-- Checked here, so that the message names what is wrong and pgvector's never shows
create or replace function ragdb._check_embeddings(
  embeddings real[], dims integer, metric text, labels text[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wrong text;
  v_n integer;
begin
  if coalesce(array_ndims(embeddings), 0) <> 1
    or cardinality(embeddings) <> dims * cardinality(labels)
  then
    v_wrong := format('has %s numbers in %s dimension(s)',
      coalesce(cardinality(embeddings)::text, 'null'), coalesce(array_ndims(embeddings), 0));
    raise exception 'the embedding of % %', labels[1],
        case when cardinality(labels) > 1 then 'and others ' else '' end || v_wrong
      using errcode = 'RG418',
        detail = format('its width must be %s: %s in all', dims, dims * cardinality(labels)),
            hint = 'embed it with the model of the corpus; ragdb.embedding_status() names it';
  end if;
  v_n := coalesce(array_position(embeddings, null), array_position(embeddings, 'nan'::real),
    array_position(embeddings, 'infinity'::real), array_position(embeddings, '-infinity'::real));
  if v_n is not null then
    v_wrong := 'is not finite';
    v_n := (v_n - 1) / dims + 1;
  else
    select c.n, case when c.norm between 1e-12 and 1e12 then 'is not of length 1'
      else 'is zero or out of range' end
      into v_n, v_wrong
      from ragdb._cut(embeddings, dims) c
      where not c.norm between 1e-12 and 1e12 or (metric <> 'cosine' and abs(c.norm - 1) > 0.001)
      order by c.n limit 1;
  end if;
  if v_wrong is not null then
    raise exception 'the embedding of % %', labels[v_n], v_wrong
      using errcode = 'RG418',
            detail = case when metric = 'cosine' then 'it must be finite and not zero'
              else 'metric ' || metric || ' compares unit vectors' end,
            hint = 'the model or the endpoint gave a bad vector; nothing was stored';
  end if;
end $$;
comment on function ragdb._check_embeddings(real[], integer, text, text[]) is
  'Refuses embeddings, one behind the other, that are not finite, zero, of another width, or not '
  'of length 1 where the metric needs it; labels name them. Raises RG418.';

-- Embedders

create or replace function ragdb._embedder(embedder text) returns ragdb.embedders
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders;
begin
  select e.* into v_embedder from ragdb.embedders e where e.name = embedder;
  if not found then
    raise exception 'embedder % does not exist', ragdb._quote(embedder)
      using errcode = 'RG416', detail = 'no embedder of that name was created',
            hint = 'ragdb.list_embedders() lists them; ragdb.create_embedder() makes one';
  end if;
  return v_embedder;
end $$;
comment on function ragdb._embedder(text) is 'Returns the row of an embedder. Raises RG416.';

create or replace function ragdb.create_embedder(
  name text, dims integer, model text default null, metric text default 'cosine',
  max_tokens integer default 256, revision text default null, query_prefix text default '',
  passage_prefix text default '', weights_sha256 text default null)
returns ragdb.embedders
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_new ragdb.embedders;
  v_old ragdb.embedders;
begin
  if name is null or length(name) not between 1 and 200 or dims is null
    or dims not between 1 and 4000
    or metric is null or metric not in ('cosine', 'ip', 'l2') or max_tokens is null
      or max_tokens < 1
    or query_prefix is null or passage_prefix is null or weights_sha256 !~ '^[0-9a-f]{64}$'
  then
    raise exception 'embedder % is not described correctly', ragdb._quote(name)
      using errcode = 'RG400',
            detail = format('dims %s, metric %s, max_tokens %s', dims, ragdb._quote(metric),
              max_tokens),
            hint = 'a name of 1 to 200 characters, dims 1 to 4000, metric cosine, ip or l2, '
                   'max_tokens from 1, prefixes not null, weights_sha256 64 hex digits or null';
  end if;
  lock table ragdb.embedders in share row exclusive mode;
  v_new := row(coalesce((select max(e.embedder_id) from ragdb.embedders e), 0) + 1, name,
    coalesce(model, name), revision, dims, metric, max_tokens, query_prefix, passage_prefix,
    weights_sha256, null, null, ragdb._now());
  select e.* into v_old from ragdb.embedders e where e.name = create_embedder.name;
  if not found then
    insert into ragdb.embedders select v_new.*;
    return v_new;
  end if;
  if row(v_old.model, v_old.revision, v_old.dims, v_old.metric, v_old.max_tokens,
    v_old.query_prefix,
      v_old.passage_prefix, v_old.weights_sha256)
    is distinct from row(v_new.model, v_new.revision, v_new.dims, v_new.metric, v_new.max_tokens,
      v_new.query_prefix, v_new.passage_prefix, v_new.weights_sha256)
  then
    raise exception 'embedder % exists and promises something else', ragdb._quote(name)
      using errcode = 'RG409',
        detail = 'what an embedder promises never changes, because vectors rest on it',
            hint = 'create one under another name and move the corpus with ragdb.reembed_corpus()';
  end if;
  return v_old;
end $$;
comment on function ragdb.create_embedder(text, integer, text, text, integer, text, text, text,
  text) is
  'Creates an embedder, or returns it when it exists with the same promises; dims 1 to 4000, '
  'metric cosine, ip or l2, weights_sha256 64 hex digits. Raises RG400, RG409.';

create or replace function ragdb.bind_embedder(name text, provider text, provider_model text)
returns ragdb.embedders
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(name);
begin
  if provider is null or provider not in ('sentence-transformers', 'openai', 'hash')
    or provider_model is null or provider_model = ''
  then
    raise exception 'provider % with model % cannot be bound',
        ragdb._quote(provider), ragdb._quote(provider_model)
      using errcode = 'RG400', detail = 'providers are sentence-transformers, openai and hash',
            hint = 'give the name that the provider has for the model (packaged, a path, a hub or '
                   'endpoint name, or hash-v1)';
  end if;
  -- a worker loads what is named here: a writer may name only what cannot harm
  if not (pg_has_role(ragdb._caller(), 'ragdb_admin', 'usage') or provider = 'hash'
    or (provider_model = 'packaged' and v_embedder.weights_sha256 is not null))
  then
    raise exception 'role % may not bind an embedder to %', ragdb._quote(ragdb._caller()),
      ragdb._quote(provider_model)
      using errcode = 'RG401',
        detail = 'a writer may bind to hash-v1 and to packaged weights of a known digest',
            hint = 'ask an admin, who may call ragdb.bind_embedder()';
  end if;
  if v_embedder.provider is not null
    and (v_embedder.provider, v_embedder.provider_model) is distinct from (provider, provider_model)
    and v_embedder.weights_sha256 is null
    and exists (select from ragdb.embedding_spaces s
      join ragdb.chunk_embeddings c on c.space_id = s.space_id
      where s.embedder_id = v_embedder.embedder_id)
  then
    raise exception 'embedder % has vectors of provider %', ragdb._quote(name), v_embedder.provider
      using errcode = 'RG417',
            detail = 'vectors of two models would mix, and no digest of the weights tells that '
                     'they are one',
            hint = 'create an embedder under another name and move the corpus with '
                   'ragdb.reembed_corpus()';
  end if;
  update ragdb.embedders e
    set provider = bind_embedder.provider, provider_model = bind_embedder.provider_model
    where e.embedder_id = v_embedder.embedder_id
    returning e.* into v_embedder;
  return v_embedder;
end $$;
comment on function ragdb.bind_embedder(text, text, text) is
  'Binds an embedder to the provider that runs it: sentence-transformers, openai or hash; to a '
  'path, a hub or an endpoint only as an admin. Raises RG400, RG401, RG416, RG417.';

create or replace function ragdb.list_embedders() returns setof ragdb.embedders
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select e.* from ragdb.embedders e order by e.name;
end;
comment on function ragdb.list_embedders() is 'Lists the embedders by name.';

-- Spaces

create or replace function ragdb._make_space(
  corpus_id integer, embedder ragdb.embedders, state text, m integer, ef_construction integer)
returns ragdb.embedding_spaces
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces;
  v_table text;
begin
  if m is null or m not between 2 and 100 or ef_construction is null
    or ef_construction not between 4 and 1000 or ef_construction < 2 * m
  then
    raise exception 'm is % and ef_construction is %', coalesce(m::text, 'null'),
      coalesce(ef_construction::text, 'null')
      using errcode = 'RG400', detail = 'they shape the HNSW index of the space',
            hint = 'give m from 2 to 100 and ef_construction from 2 m to 1000';
  end if;
  lock table ragdb.embedding_spaces in share row exclusive mode;
  insert into ragdb.embedding_spaces (corpus_id, space_id, embedder_id, state, m, ef_construction,
    created_at, current_since)
  select _make_space.corpus_id, coalesce(max(s.space_id), 0) + 1, embedder.embedder_id,
    _make_space.state, _make_space.m, _make_space.ef_construction, ragdb._now(),
    case when _make_space.state = 'current' then ragdb._now() end
  from ragdb.embedding_spaces s
  returning * into v_space;
  v_table := ragdb._space_table(v_space.space_id);
  execute format('drop table if exists ragdb.%I', v_table);
  execute format('create table ragdb.%1$I (like ragdb.chunk_embeddings including all,'
    ' constraint %2$I primary key (corpus_id, chunk_no),'
    ' constraint %3$I foreign key (corpus_id, chunk_no) references ragdb.chunks on delete cascade)',
    v_table, v_table || '_chunk_is_unique', v_table || '_chunk_exists');
  execute format('create index %2$I on ragdb.%1$I (input_hash)', v_table, v_table || '_by_input');
  -- inline while it fits a page: a scan reads every vector
  execute format('alter table ragdb.%I alter embedding set storage %s', v_table,
    case when embedder.dims <= 1900 then 'main' else 'external' end);
  execute format('comment on table ragdb.%I is %L', v_table,
    format('Embeddings of space %s: corpus %s under embedder %s.', v_space.space_id, corpus_id,
      embedder.embedder_id));
  execute format('alter table ragdb.chunk_embeddings attach partition ragdb.%I for values in (%s)',
    v_table, v_space.space_id);
  return v_space;
end $$;
comment on function ragdb._make_space(integer, ragdb.embedders, text, integer, integer) is
  'Makes a space with its partition; the caller holds the corpus lock. Raises RG400.';

create or replace function ragdb._drop_space(space ragdb.embedding_spaces) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('drop table ragdb.%I', ragdb._space_table(space.space_id));
  delete from ragdb.embedding_spaces s where s.corpus_id = space.corpus_id
    and s.space_id = space.space_id;
end $$;
comment on function ragdb._drop_space(ragdb.embedding_spaces) is
  'Drops a space and its partition; the caller holds the corpus lock.';

create or replace function ragdb._drop_spaces(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb._drop_space(s) from ragdb.embedding_spaces s
    where s.corpus_id = _drop_spaces.corpus_id;
end $$;
comment on function ragdb._drop_spaces(integer) is
  'Drops all spaces of a corpus; the caller holds the corpus lock.';

create or replace function ragdb._space(corpus_id integer, state text)
  returns ragdb.embedding_spaces
language sql stable parallel safe
return (select s from ragdb.embedding_spaces s
  where s.corpus_id = _space.corpus_id and s.state = _space.state
  order by s.current_since desc nulls last, s.space_id desc limit 1);
comment on function ragdb._space(integer, text) is
  'Returns the space of a corpus in a state, the last one where there are several; null when there '
  'is none.';

create or replace function ragdb.embed_corpus(
  corpus text, embedder text, m integer default 16, ef_construction integer default 128)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._open_corpus(embed_corpus.corpus, 'write');
  v_space ragdb.embedding_spaces := ragdb._space(v_corpus.corpus_id, 'current');
begin
  if v_space.space_id is null then
    v_corpus := ragdb._lock_corpus(embed_corpus.corpus, 'write');
    v_space := ragdb._space(v_corpus.corpus_id, 'current');
  end if;
  if v_space.space_id is null then
    v_space := ragdb._make_space(v_corpus.corpus_id, v_embedder, 'current', m, ef_construction);
    perform pg_notify('ragdb_embeddings', '');
  elsif v_space.embedder_id <> v_embedder.embedder_id then
    raise exception 'corpus % is not embedded by %', ragdb._quote(corpus), ragdb._quote(embedder)
      using errcode = 'RG417',
            detail = 'it is embedded by ' || (select ragdb._quote(e.name) from ragdb.embedders e
              where e.embedder_id = v_space.embedder_id),
            hint = format('ragdb reembed %s --model %s changes the model without downtime', corpus,
              embedder);
  end if;
  return v_space.space_id;
end $$;
comment on function ragdb.embed_corpus(text, text, integer, integer) is
  'Has a corpus embedded by an embedder from now on, and returns its space; once it is, by no '
  'other. m 2 to 100, ef_construction 2 m to 1000. Raises RG400, RG401, RG404, RG416, RG417.';

create or replace function ragdb.reembed_corpus(
  corpus text, embedder text, m integer default 16, ef_construction integer default 128)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._lock_corpus(reembed_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id;
  if found and v_space.state = 'current' then
    raise exception 'corpus % is embedded by % already', ragdb._quote(corpus),
      ragdb._quote(embedder)
      using errcode = 'RG409', detail = 'its space is current', hint = 'name another embedder';
  elsif found then
    update ragdb.embedding_spaces s set state = 'building', queued_to = 0
      where s.space_id = v_space.space_id;
  else
    v_space := ragdb._make_space(v_corpus.corpus_id, v_embedder, 'building', m, ef_construction);
  end if;
  perform pg_notify('ragdb_embeddings', '');
  return v_space.space_id;
end $$;
comment on function ragdb.reembed_corpus(text, text, integer, integer) is
  'Starts, or takes up again, a second space of a corpus under another embedder, beside the '
  'current one, and returns it; workers fill it. Raises RG400, RG401, RG404, RG409, RG416.';

create or replace function ragdb._missing_embeddings(space ragdb.embedding_spaces) returns bigint
language sql stable parallel safe
return (select count(*) from ragdb.chunks c
  where c.corpus_id = (_missing_embeddings.space).corpus_id
    and not exists (select from ragdb.chunk_embeddings e
      where e.space_id = (_missing_embeddings.space).space_id
        and e.corpus_id = c.corpus_id and e.chunk_no = c.chunk_no));
comment on function ragdb._missing_embeddings(ragdb.embedding_spaces) is
  'Returns the number of chunks that a space has no embedding of.';

create or replace function ragdb.cutover_corpus(corpus text, embedder text,
  force boolean default false)
returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._lock_corpus(cutover_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces;
  v_missing bigint;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id
      and s.state <> 'current';
  if not found then
    raise exception 'corpus % has no second space of embedder %', ragdb._quote(corpus),
      ragdb._quote(embedder)
      using errcode = 'RG409', detail = 'the space is current already, or was never started',
            hint = 'ragdb.reembed_corpus() starts one';
  end if;
  v_missing := ragdb._missing_embeddings(v_space);
  if v_missing > 0 and not coalesce(force, false) then
    raise exception 'the space of embedder % lacks % of % chunks', ragdb._quote(embedder),
      v_missing, v_corpus.chunks
      using errcode = 'RG409', detail = 'after the change those would not be found by meaning',
            hint = 'let a worker finish, see ragdb.embedding_status(), or pass force => true';
  end if;
  update ragdb.embedding_spaces s set state = 'retired'
    where s.corpus_id = v_corpus.corpus_id and s.state = 'current';
  update ragdb.embedding_spaces s set state = 'current', current_since = ragdb._now(),
      queued_to = case when v_missing > 0 then 0 else s.queued_to end
    where s.space_id = v_space.space_id;
  -- what follows from the embeddings of turns follows from the current ones
  perform ragdb._derive_turns(v_corpus.corpus_id, array(
    select distinct t.session_id from ragdb.turns t where t.corpus_id = v_corpus.corpus_id));
  perform pg_notify('ragdb_embeddings', '');
  return v_space.space_id;
end $$;
comment on function ragdb.cutover_corpus(text, text, boolean) is
  'Makes the second space of a corpus the current one, in one transaction, and keeps the other for '
  'a rollback; refused while chunks are missing unless forced. Raises RG401, RG404, RG409, RG416.';

create or replace function ragdb.rollback_corpus(corpus text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._lock_corpus(rollback_corpus.corpus, 'admin');
  v_space ragdb.embedding_spaces := ragdb._space(v_corpus.corpus_id, 'retired');
  v_embedder text;
begin
  if v_space.space_id is null then
    raise exception 'corpus % has no retired space', ragdb._quote(corpus)
      using errcode = 'RG409', detail = 'there is nothing to go back to',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  select e.name into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  perform ragdb.cutover_corpus(corpus, v_embedder, force => true);
  return v_embedder;
end $$;
comment on function ragdb.rollback_corpus(text) is
  'Makes the space that was current before current again, and returns its embedder; chunks that '
  'came since are queued for it. Raises RG401, RG404, RG409.';

create or replace function ragdb.drop_space(corpus text, embedder text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_embedder ragdb.embedders := ragdb._embedder(embedder);
  v_corpus ragdb.corpora := ragdb._lock_corpus(drop_space.corpus, 'admin');
  v_space ragdb.embedding_spaces;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    where s.corpus_id = v_corpus.corpus_id and s.embedder_id = v_embedder.embedder_id;
  if not found then
    raise exception 'corpus % has no space of embedder %', ragdb._quote(corpus),
      ragdb._quote(embedder)
      using errcode = 'RG416', detail = 'it was never embedded by it, or dropped before',
            hint = 'ragdb.embedding_status() lists the spaces';
  end if;
  perform ragdb._drop_space(v_space);
end $$;
comment on function ragdb.drop_space(text, text) is
  'Drops the space of a corpus under an embedder with all its embeddings. Raises RG401, RG404, '
  'RG416.';

-- The smallest of some ef_search with which the index finds 98 in 100 of what a scan finds, and a
-- quarter on top for what 64 questions do not tell. What is asked for lies a quarter of the way
-- from one chunk to another: chunks themselves are found far more easily than questions of people,
-- what lies halfway takes three times their ef_search, this as much as they do (measured with
-- all-MiniLM-L6-v2 on four collections). Equal scores count as found, whichever chunk has them.
create or replace function ragdb._measure_ef_search(space ragdb.embedding_spaces,
  embedder ragdb.embedders)
returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_table constant text := ragdb._space_table(space.space_id);
  v_schema constant text := ragdb._vector_schema();
  v_between text;
  v_pairs text;
  v_ones integer[];
  v_others integer[];
  v_bounds float8[];
  v_found bigint;
  v_ef integer;
begin
  execute format('select array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 0), '
                 'array_agg(c.chunk_no order by n.i) filter (where n.i %% 2 = 1)'
    ' from (select i %% 64 * 2 + i / 64 as i, r.low + (r.high - r.low)::bigint * i / 127 as n'
    ' from (select min(s.chunk_no) as low, max(s.chunk_no) as high from ragdb.%1$I s) r, '
    'generate_series(0, 127) i) n'
    ' cross join lateral (select s.chunk_no from ragdb.%1$I s where s.corpus_id = $1 and '
    's.chunk_no >= n.n'
    ' order by s.chunk_no limit 1) c', v_table)
    into v_ones, v_others using space.corpus_id;
  v_pairs := format('(select q.n, %1$I.l2_normalize(a.embedding) operator(%1$I.+) '
                    '%1$I.l2_normalize('
    '%1$I.l2_normalize(a.embedding) operator(%1$I.+) %1$I.l2_normalize(b.embedding)) as between'
    ' from unnest($1, $2) with ordinality q (one, other, n)'
    ' join ragdb.%2$I a on a.corpus_id = $3 and a.chunk_no = q.one'
    ' join ragdb.%2$I b on b.corpus_id = $3 and b.chunk_no = q.other offset 0) p', v_schema,
      v_table);
  execute format('select array_agg(b.bound order by p.n) from %s cross join lateral (select '
                 'min(t.score) as bound'
    ' from (select ragdb._similarity(s.embedding, p.between, ''cosine'') as score from ragdb.%I s'
    ' order by 1 desc limit 10) t) b', v_pairs, v_table)
    into v_bounds using v_ones, v_others, space.corpus_id;
  foreach v_ef in array array[40, 60, 80, 100, 130, 160, 200, 250, 320, 400, 500, 640, 800] loop
    execute format('select count(*) from %s cross join lateral (select w.score'
      ' from ragdb._walk_space($4, $5, ''cosine'', p.between, 28, null, $6) w order by 1 desc '
      'limit 10) w'
      ' where w.score >= ($7)[p.n] - 0.000002', v_pairs)
      into v_found using v_ones, v_others, space.corpus_id, space, embedder.dims, v_ef, v_bounds;
    if v_found >= 0.98 * 10 * cardinality(v_bounds) then
      return v_ef * 5 / 4;
    end if;
  end loop;
  return 1000;
end $$;
comment on function ragdb._measure_ef_search(ragdb.embedding_spaces, ragdb.embedders) is
  'Returns the ef_search (50 to 1000) with which the index of a space finds 98 in 100 of the ten '
  'nearest to points between two of its chunks, and more.';

-- Built once the bulk is in: several times faster than growing it row by row.
create or replace function ragdb.index_space(corpus text, embedder text default null)
  returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(index_space.corpus, 'write');
  v_space ragdb.embedding_spaces;
  v_embedder ragdb.embedders;
  v_table text;
begin
  select s.* into v_space from ragdb.embedding_spaces s
    join ragdb.embedders e on e.embedder_id = s.embedder_id
    where s.corpus_id = v_corpus.corpus_id
      and case when embedder is null then s.state = 'current' else e.name = embedder end
    for update of s;
  if not found or v_space.is_indexed or v_corpus.chunks < 20000 then
    return false;
  end if;
  select e.* into strict v_embedder from ragdb.embedders e
    where e.embedder_id = v_space.embedder_id;
  v_table := ragdb._space_table(v_space.space_id);
  -- the graph is built in memory when it fits; up to 4 GB, more where the server allows more
  perform set_config('maintenance_work_mem', greatest(
      (select s.setting::bigint from pg_settings s where s.name = 'maintenance_work_mem'),
      least(4194304, 65536 + v_corpus.chunks * (v_embedder.dims * 2 + v_space.m * 40 + 200)::bigint
        / 1024))
    || 'kB', true);
  execute format('create index %I on ragdb.%I using hnsw ((%s) %I.halfvec_ip_ops)'
    ' with (m = %s, ef_construction = %s)', v_table || '_by_nearness', v_table,
    ragdb._indexed_expression(ragdb._vector_schema(), 'embedding', v_embedder.dims),
      ragdb._vector_schema(),
    v_space.m, v_space.ef_construction);
  execute format('analyze ragdb.%I', v_table);
  update ragdb.embedding_spaces s
    set is_indexed = true, ef_search = ragdb._measure_ef_search(v_space, v_embedder)
    where s.space_id = v_space.space_id;
  return true;
end $$;
comment on function ragdb.index_space(text, text) is
  'Builds the HNSW index of a space of a corpus (the current one unless an embedder is named) when '
  'it has 20,000 chunks and none yet, and says whether it did. Raises RG400, RG401, RG404.';
