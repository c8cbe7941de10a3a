-- Embeddings of queries that are kept, and the space that a corpus is searched by.

-- Returns the current space of a corpus. Raises RG415.
create or replace function ragdb_internal.current_space(corpus ragdb.corpora)
returns ragdb.embedding_spaces
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space ragdb.embedding_spaces := ragdb_internal.space(
    ragdb_internal.embedded_as(corpus), 'current');
begin
  if v_space.space_id is null then
    raise exception 'corpus % has no embeddings', ragdb_internal.quote(corpus.name)
      using errcode = 'RG415', detail = 'it can be searched by words only',
            hint = format('ragdb embed %s makes them; or pass mode => ''lexical''', corpus.name);
  end if;
  return v_space;
end $$;

-- Keeps an embedding under its own hash where none is seen there, and returns its row. A row of
-- another transaction that has not ended may yet be rolled back: who waited for its end would hold
-- up a search, and who took it for kept would leave a trace that cannot be replayed. So both store
-- it. A row that is found is held, so that retention (ragdb_internal.drop_query_embeddings) leaves
-- it to the trace that will name it; one that retention has locked counts as gone. Raises RG404.
create or replace function ragdb_internal.keep_query_embedding(
  corpus_id integer, embedder_id integer, embedding real[])
returns ragdb.query_embeddings
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash constant bytea := ragdb_internal.vector_hash(embedding);
  v_kept ragdb.query_embeddings;
begin
  perform ragdb_internal.hold_corpus(corpus_id);
  select q.* into v_kept from ragdb.query_embeddings q
    where q.corpus_id = keep_query_embedding.corpus_id
      and q.embedder_id = keep_query_embedding.embedder_id and q.embedding_hash = v_hash
    limit 1 for key share skip locked;
  if not found then
    insert into ragdb.query_embeddings as q
      (corpus_id, embedding_hash, embedder_id, stored_by, embedding, created_at)
      values (keep_query_embedding.corpus_id, v_hash, keep_query_embedding.embedder_id,
        pg_current_xact_id(), ragdb_internal.pgvector(keep_query_embedding.embedding),
        ragdb_internal.now())
      returning q.* into v_kept;
  end if;
  return v_kept;
end $$;

-- Returns the embedding kept for a query in a corpus, or in the whole that it is a part of; null
-- without one.
create or replace function ragdb_internal.kept_embedding(
  corpus_id integer, embedder_id integer, query text)
returns real[]
language sql stable parallel safe
return (
  select ragdb_internal.numbers(v.embedding)
  from ragdb.embedded_queries q
    join ragdb.query_embeddings v on v.corpus_id = q.corpus_id and v.embedder_id = q.embedder_id
      and v.embedding_hash = q.embedding_hash and v.stored_by = q.stored_by
  where q.corpus_id in (kept_embedding.corpus_id, (
      select c.part_of from ragdb.corpora c where c.corpus_id = kept_embedding.corpus_id))
    and q.embedder_id = kept_embedding.embedder_id
    and q.query_hash = pg_catalog.sha256(pg_catalog.convert_to(kept_embedding.query, 'UTF8'))
  order by q.corpus_id = kept_embedding.corpus_id desc limit 1);

-- For writers only: what is kept here answers every reader who asks the same. Whoever names the
-- embedder keeps it for no other, where the corpus has changed to another meanwhile.
create or replace function ragdb.put_query_embedding(
  corpus text, query text, embedding float8[], embedder text default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(
    put_query_embedding.corpus, 'write', true);
  v_numbers constant real[] := ragdb_internal.single(embedding);
  v_embedder ragdb.embedders;
  v_kept ragdb.query_embeddings;
begin
  if query is null or query = '' then
    raise exception 'query is %', case when query is null then 'null' else 'empty' end
      using errcode = 'RG400', detail = 'an embedding is kept under its query',
            hint = 'pass the query as it is asked';
  end if;
  v_embedder := ragdb_internal.embedder(coalesce(embedder, (
    select e.name from ragdb.embedders e
    where e.embedder_id = (ragdb_internal.current_space(v_corpus)).embedder_id)));
  perform ragdb_internal.check_embeddings(
    v_numbers, v_embedder.dims, v_embedder.metric, array['the query']);
  v_kept := ragdb_internal.keep_query_embedding(
    v_corpus.corpus_id, v_embedder.embedder_id, v_numbers);
  insert into ragdb.embedded_queries
    (corpus_id, embedder_id, query_hash, embedding_hash, stored_by, due_at)
    values (v_corpus.corpus_id, v_embedder.embedder_id, sha256(convert_to(query, 'UTF8')),
      v_kept.embedding_hash, v_kept.stored_by, ragdb_internal.now())
    on conflict on constraint embedded_queries_are_unique_per_embedder do update
      set embedding_hash = excluded.embedding_hash, stored_by = excluded.stored_by,
        query_text = null, due_at = excluded.due_at;
  return encode(v_kept.embedding_hash, 'hex');
end $$;
comment on function ragdb.put_query_embedding is
  'Keeps the embedding of a query by an embedder, the current one of the corpus unless another is '
  'named, so that everyone can search by it, and returns its hash. Raises RG400, RG401, RG404, '
  'RG415, RG416, RG418.';

create or replace function ragdb.corpus_embedder(corpus text) returns setof ragdb.embedders
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(corpus_embedder.corpus, 'read', true);
begin
  return query select e.*
    from ragdb.embedding_spaces s join ragdb.embedders e on e.embedder_id = s.embedder_id
    where s.corpus_id = ragdb_internal.embedded_as(v_corpus) and s.state = 'current';
end $$;
comment on function ragdb.corpus_embedder is
  'Returns the embedder that a corpus is searched by; no row when it has no embeddings. Raises '
  'RG400, RG404.';
