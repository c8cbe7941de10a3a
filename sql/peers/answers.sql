-- The answers of peers to a query beside the local one. What a peer says is data: of each chunk the
-- fields that are known are taken, of their types and sizes, and each is marked with who said it.

-- Returns whose key signed the document of a chunk, and its trust; {} for what is from here, or was
-- changed here since.
create or replace function ragdb_internal.origin_of_chunk(corpus_id integer, chunk_id text)
returns jsonb
language sql stable parallel safe
return coalesce((
  select pg_catalog.jsonb_build_object('author', pg_catalog.encode(e.author, 'hex'),
      'trust', case when p.revoked_at is not null then 'revoked' else p.trust end)
    from ragdb.chunks c
      join ragdb.document_sources s on s.corpus_id = c.corpus_id and s.doc_no = c.doc_no
      join ragdb.documents h on h.corpus_id = s.corpus_id and h.doc_no = s.doc_no
      join ragdb.shared_documents d on d.corpus_id = s.corpus_id and d.source = s.uri
        and d.event_id = h.event_id
      join ragdb.shared_corpora o on o.corpus_id = d.corpus_id
      join ragdb.shared_events e on e.corpus_id = d.corpus_id and e.hash = d.hash
      left join ragdb.peers p on p.public_key = e.author
    where c.corpus_id = origin_of_chunk.corpus_id and c.chunk_id = origin_of_chunk.chunk_id
      and e.author is distinct from o.author
    order by s.uri limit 1), '{}');

-- Returns a chunk of a peer's answer as it is taken over: its known fields, and who said it.
create or replace function ragdb_internal.chunk_of_peer(chunk jsonb, peer ragdb.peers)
returns jsonb
language sql immutable parallel safe
return pg_catalog.jsonb_build_object(
  'score', case pg_catalog.jsonb_typeof(chunk -> 'score') when 'number'
    then least(greatest((chunk ->> 'score')::numeric, 0), 1) else 0 end,
  'metadata', pg_catalog.jsonb_build_object(
    'doc_cid', pg_catalog.left(coalesce(chunk #>> '{metadata,doc_cid}', ''), 100),
    'doc_title', pg_catalog.left(chunk #>> '{metadata,doc_title}', 2500),
    'page', case when chunk #>> '{metadata,page}' ~ '^[1-9][0-9]{0,8}$'
      then (chunk #>> '{metadata,page}')::integer end,
    'chunk_id', pg_catalog.left(coalesce(chunk #>> '{metadata,chunk_id}', ''), 512),
    'peer', (peer).name, 'author', pg_catalog.encode((peer).public_key, 'hex'),
    'trust', (peer).trust))
  || case pg_catalog.jsonb_typeof(chunk -> 'text') when 'string'
    then pg_catalog.jsonb_build_object('text', pg_catalog.left(chunk ->> 'text', 100000))
    else '{}' end;

-- Returns the chunks of the local answer (place 0) and of those of peers, each with its rank there.
create or replace function ragdb_internal.listed_chunks(corpus_id integer, answer jsonb,
  answers jsonb)
returns table (chunk jsonb, place bigint, nth bigint)
language sql stable parallel safe
begin atomic
  select c.v || jsonb_build_object('metadata', c.v -> 'metadata'
      || ragdb_internal.origin_of_chunk(listed_chunks.corpus_id, c.v #>> '{metadata,chunk_id}')),
    0, c.n
  from jsonb_array_elements(answer #> '{output,chunks}') with ordinality c (v, n)
  union all
  select ragdb_internal.chunk_of_peer(c.v, p), a.n, c.n
  from jsonb_array_elements(answers) with ordinality a (v, n)
    join ragdb.peers p on p.name = a.v ->> 'peer' and p.revoked_at is null
    cross join lateral jsonb_array_elements(
      case jsonb_typeof(a.v #> '{answer,output,chunks}') when 'array'
        then a.v #> '{answer,output,chunks}' else '[]' end) with ordinality c (v, n)
  where jsonb_typeof(c.v) = 'object' and c.n <= 20;
end;

-- Returns the best k chunks of the local answer and those of peers, by their ranks. Scores of
-- different corpora do not compare, ranks do. What several found counts for each, once however
-- often one of them says it.
create or replace function ragdb_internal.merged_chunks(corpus_id integer, answer jsonb,
  answers jsonb, k integer) returns jsonb
language sql stable parallel safe
return (
  with said as (
    select distinct on (l.place, c.doc_cid, c.said) l.chunk, l.place, l.nth, c.doc_cid, c.said
    from ragdb_internal.listed_chunks(merged_chunks.corpus_id, merged_chunks.answer,
        merged_chunks.answers) l
      cross join lateral (
        select l.chunk #>> '{metadata,doc_cid}' as doc_cid,
          coalesce(l.chunk ->> 'text', l.chunk #>> '{metadata,chunk_id}') as said) c
    order by l.place, c.doc_cid, c.said, l.nth
  ), found as (
    select pg_catalog.sum(1.0 / (ragdb_internal.rrf_constant() + s.nth)) as weight,
      pg_catalog.min(s.place) as place,
      (pg_catalog.array_agg(s.chunk order by s.place))[1] as chunk
    from said s group by s.doc_cid, s.said
  ), ranked as (
    select f.chunk, pg_catalog.row_number() over (
      order by f.weight desc, f.place, f.chunk #>> '{metadata,chunk_id}') as rank
    from found f
  )
  select coalesce(pg_catalog.jsonb_agg(r.chunk || pg_catalog.jsonb_build_object('rank', r.rank)
      order by r.rank), '[]')
    from ranked r where r.rank <= merged_chunks.k);

create or replace function ragdb.merge_peer_answers(corpus text, answer jsonb, answers jsonb,
  k integer default 5) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(merge_peer_answers.corpus, 'read');
begin
  if coalesce(jsonb_typeof(answer #> '{output,chunks}'), '') <> 'array'
    or coalesce(jsonb_typeof(answers), '') <> 'array' or k is null or k not between 1 and 20
  then
    raise exception 'there is no answer of rag.query to merge, or k is not 1 to 20'
      using errcode = 'RG400', detail = 'k is ' || coalesce(k::text, 'null'),
        hint = 'answers is an array of {"peer", "answer"} or {"peer", "error"}';
  end if;
  return jsonb_build_object(
    'output', jsonb_build_object('chunks',
      ragdb_internal.merged_chunks(v_corpus.corpus_id, answer, answers, k)),
    'meta', answer -> 'meta' || jsonb_build_object('peers', (
      select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', p.name,
          'trust', p.trust, 'error', case
            when p.revoked_at is not null then 'its key is revoked'
            when jsonb_typeof(a.v #> '{answer,output,chunks}') = 'array' then null
            else left(coalesce(a.v ->> 'error', a.v #>> '{answer,error}', 'it did not answer'), 500)
          end)) order by a.n), '[]')
      from jsonb_array_elements(answers) with ordinality a (v, n)
        join ragdb.peers p on p.name = a.v ->> 'peer')));
end $$;
comment on function ragdb.merge_peer_answers is
  'Merges the answer of ragdb.rag_query with those of peers, an array of {"peer", "answer"} or '
  '{"peer", "error"}, into one of at most k chunks (1 to 20), by their ranks. Each chunk of a peer '
  'has in its metadata "peer", "author" (the key of the peer in hex) and "trust", and a local one '
  'of a document that a peer signed has "author" and "trust"; "meta" names the "peers" that were '
  'asked, each with the "error" of one that gave no answer. Raises RG400, RG404.';
