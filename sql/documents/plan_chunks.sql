-- What a call shall change of chunks, before anything is changed: which there shall be, and which
-- rows of today they keep.

-- A chunk that there shall be; nth is how many chunks before it in its document have its content.
create type ragdb_internal.planned_chunk as (
  chunk_no integer,
  doc_no integer,
  source text,
  ordinal integer,
  chunk_id text,
  heading text[],
  page integer,
  start_offset integer,
  end_offset integer,
  token_count integer,
  content_hash bytea,
  citation jsonb,
  nth bigint,
  text text);

-- Returns the chunks that there shall be, without numbers and in no order: those given for a
-- document that is new or written, its own for one that is renamed.
create or replace function ragdb_internal.named_chunks(
  corpus ragdb.corpora, documents jsonb, touched ragdb_internal.touched_document[])
returns setof ragdb_internal.planned_chunk
language sql stable parallel safe
begin atomic
  select null::integer, c.doc_no, c.source, c.ordinal,
    ragdb_internal.chunk_name(c.own_id, c.external_id, c.chunks, c.ordinal, c.slug, c.bytes,
      c.content_hash, c.nth),
    c.heading, c.page, c.start_offset, c.end_offset, c.token_count, c.content_hash,
    c.citation, c.nth, c.text
  from (
    select d.doc_no, d.source, n.*, d.external_id, d.chunks, h.*,
      row_number() over (partition by d.doc_no, h.content_hash order by h.ordinal) - 1 as nth
    from unnest(named_chunks.touched) t
      cross join (select (ragdb_internal.whole_of(corpus)).name offset 0) w
      cross join lateral (
        select o as stored, o.*, named_chunks.documents -> t.position as given
        from ragdb.documents o
        where o.corpus_id = (corpus).corpus_id and o.doc_no = t.doc_no offset 0) d
      cross join lateral (
        select ragdb_internal.source_slug(d.source_name, d.source) as slug,
          ragdb_internal.source_bytes(w.name, d.source_name, d.source) as bytes
        offset 0) n
      cross join lateral (
        select g.* from ragdb_internal.given_chunks(d.given) g where t.state <> 'renamed'
        union all
        select s.* from ragdb_internal.stored_chunks(d.stored) s where t.state = 'renamed') h
    where t.state in ('new', 'written', 'renamed')) c;
end;

-- Returns the chunks of documents that change, under the document that they may stay in: of one
-- that is gone, a new one of the same bytes; nth is how many chunks before it in its document have
-- its content.
create or replace function ragdb_internal.existing_chunks(
  corpus_id integer, touched ragdb_internal.touched_document[])
returns table (doc_no integer, chunk_no integer, chunk_id text, content_hash bytea, nth bigint)
language sql stable parallel safe
begin atomic
  select coalesce(h.heir, t.doc_no), c.chunk_no, c.chunk_id, c.content_hash,
    row_number() over (partition by t.doc_no, c.content_hash order by c.ordinal) - 1
  from unnest(existing_chunks.touched) t
    left join (
      select g.doc_no, n.doc_no as heir
      from (
        select o.doc_no, o.doc_cid, row_number() over (partition by o.doc_cid order by o.doc_no) nth
        from unnest(existing_chunks.touched) o where o.state = 'gone') g
        join (
          select o.doc_no, o.doc_cid,
            row_number() over (partition by o.doc_cid order by o.doc_no) nth
          from unnest(existing_chunks.touched) o where o.state = 'new') n
          on (n.doc_cid, n.nth) = (g.doc_cid, g.nth)) h on h.doc_no = t.doc_no
    cross join lateral (
      select k.chunk_no, k.chunk_id, k.content_hash, k.ordinal from ragdb.chunks k
      where k.corpus_id = existing_chunks.corpus_id and k.doc_no = t.doc_no offset 0) c
  where t.state in ('written', 'renamed', 'gone');
end;

-- Returns the chunks that there shall be, in the order of their documents: with the number of the
-- row that stays, or with the next numbers. A row that stays keeps its number, its vector and its
-- edges: first those with the same id, then those with the same content in the same document, which
-- is renamed.
create or replace function ragdb_internal.planned_chunks(
  corpus ragdb.corpora, documents jsonb, touched ragdb_internal.touched_document[])
returns ragdb_internal.planned_chunk[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
begin
  return array(
    with wanted as materialized (
      select w.* from ragdb_internal.named_chunks(corpus, documents, touched) w
    ), existing as materialized (
      select e.* from ragdb_internal.existing_chunks(corpus.corpus_id, touched) e
    ), same_id as materialized (
      select w.chunk_id, e.chunk_no from wanted w join existing e on e.chunk_id = w.chunk_id
    ), same_content as (
      select w.chunk_id, e.chunk_no
      from wanted w
        join existing e on (e.doc_no, e.content_hash, e.nth) = (w.doc_no, w.content_hash, w.nth)
      where w.chunk_id not in (select s.chunk_id from same_id s)
        and e.chunk_no not in (select s.chunk_no from same_id s)
    ), stays as (
      select s.* from same_id s union all select s.* from same_content s
    )
    select row(
      coalesce(s.chunk_no, corpus.next_chunk_no - 1
        + row_number() over (partition by s.chunk_no is null order by w.doc_no, w.ordinal)),
      w.doc_no, w.source, w.ordinal, w.chunk_id, w.heading, w.page, w.start_offset, w.end_offset,
      w.token_count, w.content_hash, w.citation, w.nth, w.text)::ragdb_internal.planned_chunk
    from wanted w left join stays s on s.chunk_id = w.chunk_id
    order by w.doc_no, w.ordinal);
end $$;

-- Returns the ids that the documents of a call want, for themselves (kind external_id) and for
-- their chunks (chunk id), each with the position of its document in the input, and whether a
-- document that stays as it is has it. A document is found by its id, and its chunks by theirs, so
-- each is of one document.
create or replace function ragdb_internal.wanted_ids(
  corpus_id integer, touched ragdb_internal.touched_document[],
  planned ragdb_internal.planned_chunk[])
returns table (kind text, id text, "position" integer, is_taken boolean)
language sql stable parallel safe
begin atomic
  with others as materialized (
    select t.doc_no from unnest(wanted_ids.touched) t where t.state <> 'same'
  )
  select 'chunk id', p.chunk_id, t.position, c.doc_no is not null
  from unnest(wanted_ids.planned) p
    join unnest(wanted_ids.touched) t on t.doc_no = p.doc_no
    -- limit: an index look-up for each, whatever the planner believes to find
    left join lateral (
      select h.doc_no from ragdb.chunks h
      where h.corpus_id = wanted_ids.corpus_id and h.chunk_id = p.chunk_id limit 1) c
      on c.doc_no not in (select o.doc_no from others o)
  union all
  select 'external_id', d.external_id, t.position, o.doc_no is not null
  from unnest(wanted_ids.touched) t
    cross join lateral (
      select h.external_id from ragdb.documents h
      where h.corpus_id = wanted_ids.corpus_id and h.doc_no = t.doc_no offset 0) d
    left join lateral (
      select h.doc_no from ragdb.documents h
      where h.corpus_id = wanted_ids.corpus_id and h.external_id = d.external_id offset 0) o
      on o.doc_no not in (select x.doc_no from others x)
  where t.state in ('new', 'written', 'renamed') and d.external_id is not null;
end;

-- Returns the positions of given documents that want ids of stored documents, or of others before
-- them: "3, 7-9", at most 100 of these; null for none. Who puts many at once learns of all of them,
-- and need not find them one by one.
create or replace function ragdb_internal.clashing_documents(
  corpus_id integer, touched ragdb_internal.touched_document[],
  planned ragdb_internal.planned_chunk[])
returns text
language sql stable parallel safe
begin atomic
  select string_agg(case when r.last = r.first then r.first::text
    else format('%s-%s', r.first, r.last) end, ', ' order by r.first)
  from (
    select lower(u) as first, upper(u) - 1 as last
    from unnest((
      select range_agg(int4range(k.position, k.position, '[]'))
      from (
        select w.position, w.is_taken,
          dense_rank() over (partition by w.kind, w.id order by w.position nulls first) as nth
        from ragdb_internal.wanted_ids(clashing_documents.corpus_id, clashing_documents.touched,
          clashing_documents.planned) w) k
      where k.position is not null and (k.is_taken or k.nth > 1))) u
    order by 1 limit 100) r;
end;

-- Refuses documents and chunks whose id another has, in the input or in a document that stays as it
-- is. Raises RG409.
create or replace function ragdb_internal.check_ids(
  corpus_id integer, touched ragdb_internal.touched_document[],
  planned ragdb_internal.planned_chunk[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
as $$
declare
  v_wanted record;
begin
  select w.kind, w.id into v_wanted
  from ragdb_internal.wanted_ids(corpus_id, touched, planned) w
  group by w.kind, w.id having count(*) > 1 or bool_or(w.is_taken)
  order by w.kind desc, w.id limit 1;
  if found then
    raise exception 'two documents want the % %', v_wanted.kind, ragdb_internal.quote(v_wanted.id)
      using errcode = 'RG409',
        detail = format('documents with ids that others have, counted from 0: %s; nothing was '
          'written', ragdb_internal.clashing_documents(corpus_id, touched, planned)),
        hint = case v_wanted.kind
          when 'external_id' then 'an external_id, such as the _id of a record, names one '
            'document of a corpus: put files that use the same ids into a corpus each, and what '
            'is newer under the source of the older'
          else 'a chunk is of one document, and so is a message, which is known by its id, or '
            'without one by when it was said, by whom and what: leave it out of one of the two, '
            'put them into a corpus each, or put what is newer under the source of the older' end;
  end if;
end $$;
