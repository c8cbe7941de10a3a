-- Documents: what is stored of a file, how its chunks are named, the graph between chunks, and
-- events.

create or replace function ragdb_internal.document_languages(corpus_id integer, doc_nos integer[])
  returns jsonb
language sql stable parallel safe
return (
  select coalesce(pg_catalog.jsonb_object_agg(l.language, l.documents), '{}')
  from (
    select d.language, count(*) as documents
    from pg_catalog.unnest(document_languages.doc_nos) x (doc_no)
      cross join lateral (select o.language from ragdb.documents o
        where o.corpus_id = document_languages.corpus_id and o.doc_no = x.doc_no offset 0) d
    where d.language is not null
    group by d.language) l);
comment on function ragdb_internal.document_languages(integer, integer[]) is
  'Counts some documents of a corpus by language, those of none left out.';

create or replace function ragdb_internal.recounted(counts jsonb, gone jsonb, come jsonb) returns jsonb
language sql immutable parallel safe
return (
  select coalesce(pg_catalog.jsonb_object_agg(n.key, n.count), '{}')
  from (
    select c.key, sum(c.count) as count
    from (
      select l.key, l.value::integer as count from pg_catalog.jsonb_each_text(recounted.counts) l
      union all
      select l.key, -l.value::integer from pg_catalog.jsonb_each_text(recounted.gone) l
      union all
      select l.key, l.value::integer from pg_catalog.jsonb_each_text(recounted.come) l) c
    group by c.key
    having sum(c.count) <> 0) n);
comment on function ragdb_internal.recounted(jsonb, jsonb, jsonb) is
  'Returns counts by key without what is gone and with what has come.';

create or replace function ragdb_internal.drop_unused_blobs(cids text[]) returns void
language sql
begin atomic
  delete from ragdb.blobs b where b.cid = any (drop_unused_blobs.cids)
    and not exists (select from ragdb.corpora c join ragdb.documents d on d.corpus_id = c.corpus_id
      where d.doc_cid = b.cid);
end;
comment on function ragdb_internal.drop_unused_blobs(text[]) is
  'Removes those of the given blobs that no document has.';

-- The one function that writes documents. It works out which documents a call touches, what they
-- and their chunks shall be, and changes only what differs: a row that stays keeps its number, its
-- vector and its edges.
--
-- The first source of a document, in byte order, decides its title, language, metadata and chunking
-- and names its chunks, so that the order in which files arrive decides nothing.
create or replace function ragdb_internal.write_documents(
  corpus ragdb.corpora, documents jsonb, force boolean, gone_uris text[]
) returns table ("position" integer, doc_cid text, chunks_indexed integer, tokens_indexed bigint,
  ingest_event_id uuid, was_duplicate boolean)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_id integer := corpus.corpus_id;
  v_now timestamptz := ragdb_internal.now();
  v_language text := ragdb_internal.config_language(corpus.text_config);
  -- documents touched: number, cid, title before, position of the input that decides, and what
  -- becomes of it
  d_no integer[];
  d_cid text[];
  d_old_title text[];
  d_position integer[];
  d_uri text[];
  d_source_name text[];
  d_state text[];
  -- document of each position of the input
  i_doc integer[];
  v_new_docs integer;
  v_documents integer;
  v_tokens bigint;
  v_bytes bigint;
  v_languages jsonb;
  v_moved text[];
  -- chunks that there shall be, in the order of their documents
  k_no integer[];
  k_doc integer[];
  k_ordinal integer[];
  k_id text[];
  k_source text[];
  k_heading jsonb[];
  k_page integer[];
  k_start integer[];
  k_end integer[];
  k_tokens integer[];
  k_hash bytea[];
  k_n bigint[];
  k_text text[];
  v_kept integer[];
  v_gone integer[] := '{}';
  v_reindexed integer[] := '{}';
  -- hyperlinks that there shall be
  l_doc integer[];
  l_ordinal integer[];
  l_target text[];
  v_duplicate text;
begin
  with input as materialized (
    select (d.n - 1)::integer as position, d.v ->> 'doc_cid' as doc_cid, d.v ->> 'uri' as uri,
      coalesce(d.v ->> 'source_name', '') as source_name, d.v ->> 'title' as title,
      coalesce(d.v ->> 'language', v_language) as language, d.v ->> 'media_type' as media_type,
      coalesce(nullif(d.v -> 'metadata', 'null'), '{}') as metadata, d.v -> 'chunking' as chunking,
      d.v ->> 'external_id' as external_id
    from jsonb_array_elements(documents) with ordinality d (v, n)
  ), left_uris as materialized (
    select i.uri from input i union select unnest(gone_uris)
  ), touched as (
    select s.doc_no from left_uris u join ragdb.document_sources s on s.corpus_id = v_id
      and s.uri = u.uri
    union
    select d.doc_no from input i join ragdb.documents d on d.corpus_id = v_id
      and d.doc_cid = i.doc_cid
  ), old as materialized (
    select d.* from touched t
      cross join lateral (select o.* from ragdb.documents o where o.corpus_id = v_id
        and o.doc_no = t.doc_no offset 0) d
  ), sources as (
    select o.doc_cid, s.uri, s.source_name, null as position
    from old o join ragdb.document_sources s on s.corpus_id = v_id and s.doc_no = o.doc_no
      left join left_uris u on u.uri = s.uri
    where u.uri is null
    union all
    select i.doc_cid, i.uri, i.source_name, i.position from input i
  ), firsts as (
    select distinct on (s.doc_cid) s.doc_cid, s.uri, s.source_name, s.position
    from sources s order by s.doc_cid, s.uri collate "C"
  ), decided as (
    select coalesce(o.doc_no, corpus.next_doc_no - 1
          + (row_number() over (partition by o.doc_no is null order by f.position))::integer)
            as doc_no,
      coalesce(o.doc_cid, f.doc_cid) as doc_cid, o.title, f.position, f.uri, f.source_name,
      case
        when f.doc_cid is null then 'gone'
        when o.doc_no is null then 'new'
        when f.position is not null and (force
          or (o.title, o.language, o.media_type, o.metadata, o.chunking, o.external_id)
            is distinct from (i.title, i.language, i.media_type, i.metadata, i.chunking,
              i.external_id)) then 'written'
        when (o.source, o.source_name) is distinct from (f.uri, f.source_name) then 'renamed'
        else 'same'
      end as state
    from old o full join firsts f on f.doc_cid = o.doc_cid
      left join input i on i.position = f.position
  )
  select array_agg(x.doc_no order by x.doc_no), array_agg(x.doc_cid order by x.doc_no),
    array_agg(x.title order by x.doc_no), array_agg(x.position order by x.doc_no),
    array_agg(x.uri order by x.doc_no), array_agg(x.source_name order by x.doc_no),
    array_agg(x.state order by x.doc_no), count(*) filter (where x.state = 'new')
  into d_no, d_cid, d_old_title, d_position, d_uri, d_source_name, d_state, v_new_docs
  from decided x;

  select coalesce(-count(*), 0), coalesce(-sum(d.tokens), 0), coalesce(-sum(d.size_bytes), 0)
    into v_documents, v_tokens, v_bytes
    from unnest(d_no) x (doc_no) join ragdb.documents d on d.corpus_id = v_id
      and d.doc_no = x.doc_no;
  v_languages := ragdb_internal.document_languages(v_id, d_no);

  i_doc := array(
    select x.doc_no
    from jsonb_array_elements(documents) with ordinality i (v, n)
      join unnest(d_no, d_cid) x (doc_no, doc_cid) on x.doc_cid = i.v ->> 'doc_cid'
    order by i.n);

  -- Documents and their sources. The check of a foreign key is planned under the plan_cache_mode of
  -- its statement, and to plan one for each row takes longer than to write it: what is written so
  -- has one plan only.
  set local plan_cache_mode = auto;
  insert into ragdb.documents (corpus_id, doc_no, doc_cid, title, language, media_type, metadata,
    chunking, external_id,
      source_name, source, size_bytes, pages, chunks, tokens, event_id, created_at, updated_at)
    select v_id, x.doc_no, x.doc_cid, i.v ->> 'title', coalesce(i.v ->> 'language', v_language),
      i.v ->> 'media_type',
      coalesce(nullif(i.v -> 'metadata', 'null'), '{}'), i.v -> 'chunking', i.v ->> 'external_id',
        x.source_name, x.uri,
      (i.v ->> 'size_bytes')::bigint, (i.v ->> 'pages')::integer,
        jsonb_array_length(i.v -> 'chunks'),
      (select coalesce(sum((c ->> 'tokens')::bigint), 0)
        from jsonb_array_elements(i.v -> 'chunks') c),
      -- until its event has an id, below
      '00000000-0000-0000-0000-000000000000', v_now, v_now
    from unnest(d_no, d_cid, d_position, d_uri, d_source_name, d_state) x (doc_no, doc_cid,
      position, uri, source_name, state)
      cross join lateral (select documents -> x.position as v offset 0) i
    where x.state in ('new', 'written')
    order by x.doc_no
    on conflict on constraint documents_number_is_unique_per_corpus do update
      set (title, language, media_type, metadata, chunking, external_id, source_name, source,
        size_bytes, pages, chunks,
          tokens, updated_at)
        = (excluded.title, excluded.language, excluded.media_type, excluded.metadata,
          excluded.chunking,
          excluded.external_id, excluded.source_name, excluded.source, excluded.size_bytes,
            excluded.pages, excluded.chunks,
          excluded.tokens, excluded.updated_at);
  set local plan_cache_mode = force_custom_plan;
  update ragdb.documents d set source = x.uri, source_name = x.source_name, updated_at = v_now
    from unnest(d_no, d_uri, d_source_name, d_state) x (doc_no, uri, source_name, state)
    where d.corpus_id = v_id and d.doc_no = x.doc_no and x.state = 'renamed';
  delete from ragdb.document_sources s using unnest(gone_uris) u (uri) where s.corpus_id = v_id
    and s.uri = u.uri;
  set local plan_cache_mode = auto;
  with put as (
    insert into ragdb.document_sources as s (corpus_id, uri, doc_no, source_name, etag, seen_at)
      select v_id, i.v ->> 'uri', x.doc_no, coalesce(i.v ->> 'source_name', ''), i.v ->> 'etag',
        v_now
      from unnest(i_doc) with ordinality x (doc_no, n)
        cross join lateral (select documents -> x.n::integer - 1 as v offset 0) i
      order by 2
      on conflict on constraint document_sources_uri_is_unique_per_corpus do update
        set doc_no = excluded.doc_no, source_name = excluded.source_name, etag = excluded.etag,
          seen_at = case s.doc_no when excluded.doc_no then s.seen_at else excluded.seen_at end
        where (s.doc_no, s.source_name, s.etag) is distinct from (excluded.doc_no,
          excluded.source_name, excluded.etag)
      returning uri
  )
  select gone_uris || coalesce(array_agg(p.uri), '{}') into v_moved from put p;
  set local plan_cache_mode = force_custom_plan;

  -- the chunks that there shall be: those given for a document that is written, its own for one
  -- that is renamed
  with desired as (
    select x.doc_no, (c.n - 1)::integer as ordinal,
      coalesce(nullif(c.v -> 'heading', 'null'), '[]') as heading,
      (c.v ->> 'page')::integer as page, (c.v ->> 'start')::integer as start_offset,
        (c.v ->> 'end')::integer as end_offset,
      (c.v ->> 'tokens')::integer as token_count,
        ragdb_internal.content_hash(c.v ->> 'text') as content_hash, c.v ->> 'text' as text,
      c.v ->> 'id' as given_id
    from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      join jsonb_array_elements(documents) with ordinality i (v, n) on i.n = x.position + 1,
      jsonb_array_elements(i.v -> 'chunks') with ordinality c (v, n)
    where x.state in ('new', 'written')
    union all
    select c.doc_no, c.ordinal, to_jsonb(c.heading), c.page, c.start_offset, c.end_offset,
      c.token_count, c.content_hash, c.text,
      case when d.chunking ->> 'chunker' = 'turns/1' then c.chunk_id end
    from unnest(d_no, d_state) x (doc_no, state)
      cross join lateral (select o.* from ragdb.documents o where o.corpus_id = v_id
        and o.doc_no = x.doc_no offset 0) d
      cross join lateral (select h.* from ragdb.chunks h where h.corpus_id = v_id
        and h.doc_no = x.doc_no offset 0) c
    where x.state = 'renamed'
  ), counted as (
    select x.*, row_number() over (partition by x.doc_no, x.content_hash order by x.ordinal) - 1
      as n from desired x
  ), named as (
    select x.*, d.source, case
        when x.given_id is not null then x.given_id
        when d.external_id is null then ragdb_internal.chunk_id(corpus.name, d.source_name, d.source,
          x.content_hash, x.n)
        when d.chunks = 1 then d.external_id
        else d.external_id || '#' || x.ordinal + 1
      end as chunk_id
    from counted x
      cross join lateral (select o.* from ragdb.documents o where o.corpus_id = v_id
        and o.doc_no = x.doc_no offset 0) d
    order by x.doc_no, x.ordinal
  )
  select array_agg(x.doc_no), array_agg(x.ordinal), array_agg(x.chunk_id), array_agg(x.source),
    array_agg(x.heading),
    array_agg(x.page), array_agg(x.start_offset), array_agg(x.end_offset), array_agg(x.token_count),
    array_agg(x.content_hash), array_agg(x.n), array_agg(x.text)
  into k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens, k_hash, k_n,
    k_text
  from named x;
  select array_agg(x.doc_no), array_agg(x.ordinal), array_agg(x.target) into l_doc, l_ordinal,
    l_target
  from (
    select x.doc_no, (l.v ->> 'chunk')::integer as ordinal, l.v ->> 'target' as target
    from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      join jsonb_array_elements(documents) with ordinality i (v, n) on i.n = x.position + 1,
      jsonb_array_elements(nullif(i.v -> 'links', 'null')) l (v)
    -- a target that no uri can equal needs no row
    where x.state in ('new', 'written') and octet_length(l.v ->> 'target') <= 2000
    union
    select c.doc_no, c.ordinal, l.target
    from unnest(d_no, d_state) x (doc_no, state)
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = x.doc_no
      join ragdb.document_links l on l.corpus_id = v_id and l.chunk_no = c.chunk_no
    where x.state = 'renamed'
  ) x;

  select min(k.chunk_id) into v_duplicate
  from (select k.chunk_id from unnest(k_id) k (chunk_id) group by 1 having count(*) > 1) k;
  if v_duplicate is null then
    -- lateral and limit: an index look-up for each, whatever the planner believes to find
    select min(k.chunk_id) into v_duplicate
    from unnest(k_id) k (chunk_id)
      cross join lateral (select c.doc_no from ragdb.chunks c
        where c.corpus_id = v_id and c.chunk_id = k.chunk_id limit 1) c
    where c.doc_no not in (select x.doc_no from unnest(d_no, d_state) x (doc_no, state)
      where x.state <> 'same');
  end if;
  if v_duplicate is not null then
    raise exception 'two documents want the chunk id %', ragdb_internal.quote(v_duplicate)
      using errcode = 'RG409',
        detail = 'an external id names one document of a corpus; nothing was written',
            hint = 'give every document an external_id of its own, or none; or delete the document '
                   'that has it';
  end if;

  -- which rows stay: first those with the same id, then those with the same content in a document
  -- that is renamed
  with existing as materialized (
    select c.chunk_no, c.doc_no, c.chunk_id, c.content_hash,
      row_number() over (partition by c.doc_no, c.content_hash order by c.ordinal) - 1 as n
    from unnest(d_no, d_state) x (doc_no, state)
      join ragdb.chunks c on c.corpus_id = v_id and c.doc_no = x.doc_no
    where x.state in ('written', 'renamed', 'gone')
  ), desired as materialized (
    select * from unnest(k_doc, k_id, k_hash, k_n)
      with ordinality k (doc_no, chunk_id, content_hash, n, i)
  ), same_id as materialized (
    select d.i, e.chunk_no from desired d join existing e on e.chunk_id = d.chunk_id
  ), same_content as materialized (
    select d.i, e.chunk_no
    from desired d join existing e on (e.doc_no, e.content_hash, e.n) = (d.doc_no, d.content_hash,
      d.n)
    where d.i not in (select s.i from same_id s)
      and e.chunk_no not in (select s.chunk_no from same_id s)
  ), stays as (
    select * from same_id union all select * from same_content
  )
  select array_agg(s.chunk_no order by d.i),
    array_agg(s.chunk_no) filter (where s.chunk_no is not null),
    (select coalesce(array_agg(e.chunk_no), '{}') from existing e
      where e.chunk_no not in (select chunk_no from stays))
  into k_no, v_kept, v_gone
  from desired d left join stays s on s.i = d.i;

  -- of those that stay, the ones that are searched by something else than before
  if v_kept is not null then
    select coalesce(array_agg(c.chunk_no), '{}') into v_reindexed
    from unnest(k_no, k_doc, k_heading, k_text) k (chunk_no, doc_no, heading, text)
      join ragdb.chunks c on c.corpus_id = v_id and c.chunk_no = k.chunk_no
      join ragdb.documents d on d.corpus_id = v_id and d.doc_no = k.doc_no
      join unnest(d_no, d_old_title) o (doc_no, title) on o.doc_no = c.doc_no
    where force or d.title is distinct from o.title or to_jsonb(c.heading) <> k.heading
      or c.text <> k.text;
  end if;
  if cardinality(v_gone || v_reindexed) > 0 then
    perform ragdb_internal.unindex_chunks(v_id, v_gone || v_reindexed);
  end if;
  delete from ragdb.chunks c using unnest(v_gone) g (chunk_no) where c.corpus_id = v_id
    and c.chunk_no = g.chunk_no;
  if v_kept is not null then
    update ragdb.chunks c
    set doc_no = k.doc_no, ordinal = k.ordinal, chunk_id = k.chunk_id, source = k.source,
      page = k.page,
      heading = array(select jsonb_array_elements_text(k.heading)), start_offset = k.start_offset,
      end_offset = k.end_offset, token_count = k.token_count, content_hash = k.content_hash,
        text = k.text
    from unnest(k_no, k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens,
      k_hash, k_text)
      k (chunk_no, doc_no, ordinal, chunk_id, source, heading, page, start_offset, end_offset,
        token_count, content_hash, text)
    where c.corpus_id = v_id and c.chunk_no = k.chunk_no
      and (c.doc_no, c.ordinal, c.chunk_id, c.source, to_jsonb(c.heading), c.page, c.start_offset,
        c.end_offset, c.token_count,
          c.content_hash, c.text)
        is distinct from (k.doc_no, k.ordinal, k.chunk_id, k.source, k.heading, k.page,
          k.start_offset, k.end_offset,
          k.token_count, k.content_hash, k.text);
  end if;
  -- numbers for the new ones
  select array_agg(coalesce(k.chunk_no, corpus.next_chunk_no - 1 + k.nth) order by k.i) into k_no
  from (select k.*, (row_number() over (partition by k.chunk_no is null order by k.i))::integer
    as nth
        from unnest(k_no) with ordinality k (chunk_no, i)) k;
  set local plan_cache_mode = auto;
  insert into ragdb.chunks (corpus_id, chunk_no, doc_no, ordinal, chunk_id, source, heading, page,
    start_offset, end_offset,
      token_count, content_hash, text)
    select v_id, k.chunk_no, k.doc_no, k.ordinal, k.chunk_id, k.source,
      array(select jsonb_array_elements_text(k.heading)), k.page,
      k.start_offset, k.end_offset, k.token_count, k.content_hash, k.text
    from unnest(k_no, k_doc, k_ordinal, k_id, k_source, k_heading, k_page, k_start, k_end, k_tokens,
      k_hash, k_text)
      k (chunk_no, doc_no, ordinal, chunk_id, source, heading, page, start_offset, end_offset,
        token_count, content_hash, text)
    where k.chunk_no >= corpus.next_chunk_no
    order by k.chunk_no;
  set local plan_cache_mode = force_custom_plan;
  delete from ragdb.documents d using unnest(d_no, d_state) x (doc_no, state)
    where d.corpus_id = v_id and d.doc_no = x.doc_no and x.state = 'gone';

  perform ragdb_internal.link_chunks(v_id, k_no, k_doc, k_ordinal, k_heading, l_doc, l_ordinal, l_target,
    coalesce(v_kept, '{}'), v_moved
    || coalesce((select array_agg(s.uri) from unnest(d_no, d_state) x (doc_no, state)
        join ragdb.document_sources s on s.corpus_id = v_id and s.doc_no = x.doc_no
          where x.state <> 'same'), '{}'));

  select v_documents + count(*), v_tokens + coalesce(sum(d.tokens), 0),
    v_bytes + coalesce(sum(d.size_bytes), 0)
    into v_documents, v_tokens, v_bytes
    from unnest(d_no) x (doc_no) join ragdb.documents d on d.corpus_id = v_id
      and d.doc_no = x.doc_no;
  update ragdb.corpora c
    set documents = c.documents + v_documents, token_count = c.token_count + v_tokens,
      size_bytes = c.size_bytes + v_bytes,
      languages = ragdb_internal.recounted(c.languages, v_languages, ragdb_internal.document_languages(v_id, d_no)),
      next_doc_no = c.next_doc_no + v_new_docs,
      next_chunk_no = greatest(c.next_chunk_no,
        coalesce((select max(k) from unnest(k_no) k), 0) + 1)
    where c.corpus_id = v_id;
  v_reindexed := v_reindexed || array(select k from unnest(k_no) k where k >= corpus.next_chunk_no);
  if cardinality(v_reindexed) > 0 then
    perform ragdb_internal.index_chunks(v_id, v_reindexed);
  end if;
  perform ragdb_internal.drop_unused_blobs((select array_agg(x.doc_cid)
    from unnest(d_cid, d_state) x (doc_cid, state) where x.state = 'gone'));

  -- those of an import come with its end
  if corpus.import_xid is distinct from pg_current_xact_id() then
    perform ragdb_internal.write_events(corpus, array(
      select x.doc_no from unnest(d_no, d_position, d_state) x (doc_no, position, state)
      where x.state in ('new', 'written') or x.state = 'renamed' and x.position is not null
      order by x.position));
  end if;

  return query
    select (i.n - 1)::integer, d.doc_cid, d.chunks, d.tokens, d.event_id,
      x.state = 'same' or x.position is distinct from i.n - 1
    from jsonb_array_elements(documents) with ordinality i (v, n)
      join ragdb.documents d on d.corpus_id = v_id and d.doc_cid = i.v ->> 'doc_cid'
      join unnest(d_no, d_position, d_state) x (doc_no, position, state) on x.doc_no = d.doc_no
    order by i.n;
end $$;
comment on function ragdb_internal.write_documents(ragdb.corpora, jsonb, boolean, text[]) is
  'Puts checked documents and takes sources away, changing only what differs; the caller holds the '
  'corpus lock. Raises RG409.';

create or replace function ragdb_internal.remove_sources(corpus ragdb.corpora, uris text[])
returns table (documents_deleted integer, chunks_deleted integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.write_documents(corpus, '[]', false, uris);
  return query select corpus.documents - c.documents, corpus.chunks - c.chunks
    from ragdb.corpora c where c.corpus_id = corpus.corpus_id;
end $$;
comment on function ragdb_internal.remove_sources(ragdb.corpora, text[]) is
  'Takes sources away and counts what went with them; the caller holds the corpus lock.';
