-- What a call shall change, before anything is changed: which documents it touches and what
-- becomes of each, which chunks there shall be and which rows of today they keep, and the links
-- between them.
--
-- The first source of a document, in byte order, decides its title, language, metadata and chunking
-- and names its chunks, so that the order in which files arrive decides nothing.
--
-- Nothing is known of how many rows a call brings, and what the planner believes of tables that
-- grow within a transaction is worthless. So it has no choice: lookups go by key (lateral, offset
-- 0), and what is joined in memory is hashed.

create type ragdb_internal.touched_document as (
  doc_no integer,
  doc_cid text,
  title_before text,
  "position" integer,
  uri text,
  source_name text,
  state text);
comment on type ragdb_internal.touched_document is
  'A document that a call touches: its first source (uri, source_name), the position in the input '
  'that decides what it is (null: its first source is not given), and what becomes of it: state is '
  'new, written, renamed (only its first source is another), same or gone.';

create or replace function ragdb_internal.documents_at(
  corpus_id integer, uris text[], doc_cids text[])
returns setof ragdb.documents
language sql stable parallel safe
begin atomic
  select d.*
  from (
    select s.doc_no from unnest(documents_at.uris) u (uri)
      cross join lateral (
        select h.doc_no from ragdb.document_sources h
        where h.corpus_id = documents_at.corpus_id and h.uri = u.uri offset 0) s
    union
    select o.doc_no from unnest(documents_at.doc_cids) i (doc_cid)
      cross join lateral (
        select h.doc_no from ragdb.documents h
        where h.corpus_id = documents_at.corpus_id and h.doc_cid = i.doc_cid offset 0) o
  ) t
    cross join lateral (
      select h.* from ragdb.documents h
      where h.corpus_id = documents_at.corpus_id and h.doc_no = t.doc_no offset 0) d;
end;
comment on function ragdb_internal.documents_at(integer, text[], text[]) is
  'Returns the documents of a corpus that have one of some sources or one of some identities.';

-- One of the two texts is not of these bytes. The one that comes last stays, so that nobody keeps
-- another's text out by claiming his hash first.
create or replace function ragdb_internal.disputed(corpus_id integer, documents jsonb)
returns jsonb
language sql stable parallel safe
begin atomic
  select coalesce(jsonb_object_agg(o.doc_cid, o.position order by o.uri desc), '{}')
  from (
    select d.doc_cid, i.n - 1 as position, i.v ->> 'uri' collate "C" as uri
    from jsonb_array_elements(disputed.documents) with ordinality i (v, n)
      cross join lateral (
        select h.doc_no, h.doc_cid, h.chunking from ragdb.documents h
        where h.corpus_id = disputed.corpus_id and h.doc_cid = i.v ->> 'doc_cid' offset 0) d
    where not case when d.chunking = i.v -> 'chunking'
      then ragdb_internal.says_the_same(i.v, disputed.corpus_id, d.doc_no)
      else ragdb_internal.says_the_same_cut_otherwise(i.v, disputed.corpus_id, d.doc_no) end) o;
end;
comment on function ragdb_internal.disputed(integer, jsonb) is
  'Returns the identities of the stored documents whose bytes are given with other texts, however '
  'they are cut, each with the position of the first source that gives them.';

-- A source that is given says something else now, and one that is gone says nothing: what they say
-- today counts no more.
create or replace function ragdb_internal.touched_documents(
  corpus ragdb.corpora, documents jsonb, force boolean, gone_uris text[])
returns ragdb_internal.touched_document[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_language constant text := ragdb_internal.config_language(corpus.text_config);
  v_disputed constant jsonb := ragdb_internal.disputed(corpus.corpus_id, documents);
  v_cids constant text[] := array(select i ->> 'doc_cid' from jsonb_array_elements(documents) i);
  v_uris constant text[] :=
    gone_uris || array(select i ->> 'uri' from jsonb_array_elements(documents) i);
begin
  return array(
    with old as materialized (
      select d.doc_no, d.doc_cid, d.title, d.source, d.source_name,
        ragdb_internal.stored_description(d) as description
      from ragdb_internal.documents_at(corpus.corpus_id, v_uris, v_cids) d
    ), source as (
      select i.v ->> 'doc_cid' as doc_cid, i.v ->> 'uri' as uri,
        ragdb_internal.given_source_name(i.v) as source_name, (i.n - 1)::integer as position,
        ragdb_internal.given_description(i.v, v_language) as description
      from jsonb_array_elements(documents) with ordinality i (v, n)
      union all
      select o.doc_cid, s.uri, s.source_name, null, null
      from old o cross join lateral (
        select h.uri, h.source_name from ragdb.document_sources h
        where h.corpus_id = corpus.corpus_id and h.doc_no = o.doc_no offset 0) s
      where s.uri not in (select unnest(v_uris))
    ), first as (
      select distinct on (s.doc_cid) s.*, (v_disputed ->> s.doc_cid)::integer as disputed
      from source s order by s.doc_cid, s.uri collate "C")
    select row(
      coalesce(o.doc_no, corpus.next_doc_no - 1
        + row_number() over (partition by o.doc_no is null order by f.position)),
      coalesce(o.doc_cid, f.doc_cid), o.title, coalesce(f.disputed, f.position), f.uri,
      f.source_name, case
        when f.doc_cid is null then 'gone'
        when o.doc_no is null then 'new'
        when f.disputed is not null or f.position is not null
          and (force or o.description is distinct from f.description) then 'written'
        when (o.source, o.source_name) is distinct from (f.uri, f.source_name) then 'renamed'
        else 'same' end)::ragdb_internal.touched_document
    from old o full join first f on f.doc_cid = o.doc_cid
    order by o.doc_no, f.position);
end $$;
comment on function ragdb_internal.touched_documents(ragdb.corpora, jsonb, boolean, text[]) is
  'Returns the documents that a call touches, in the order of their numbers; those that are not '
  'stored yet have the next numbers, in the order of the input.';

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
  nth bigint,
  text text);
comment on type ragdb_internal.planned_chunk is
  'A chunk that there shall be; nth is how many chunks before it in its document have its content.';

create or replace function ragdb_internal.named_chunks(
  corpus ragdb.corpora, documents jsonb, touched ragdb_internal.touched_document[])
returns setof ragdb_internal.planned_chunk
language sql stable parallel safe
begin atomic
  select null::integer, c.doc_no, c.source, c.ordinal,
    ragdb_internal.chunk_name(c.own_id, c.external_id, c.chunks, c.ordinal, (corpus).name,
      c.source_name, c.source, c.content_hash, c.nth),
    c.heading, c.page, c.start_offset, c.end_offset, c.token_count, c.content_hash, c.nth, c.text
  from (
    select d.doc_no, d.source, d.source_name, d.external_id, d.chunks, h.*,
      row_number() over (partition by d.doc_no, h.content_hash order by h.ordinal) - 1 as nth
    from unnest(named_chunks.touched) t
      cross join lateral (
        select o as stored, o.*, named_chunks.documents -> t.position as given
        from ragdb.documents o
        where o.corpus_id = (corpus).corpus_id and o.doc_no = t.doc_no offset 0) d
      cross join lateral (
        select g.* from ragdb_internal.given_chunks(d.given) g where t.state <> 'renamed'
        union all
        select s.* from ragdb_internal.stored_chunks(d.stored) s where t.state = 'renamed') h
    where t.state in ('new', 'written', 'renamed')) c;
end;
comment on function ragdb_internal.named_chunks(ragdb.corpora, jsonb,
  ragdb_internal.touched_document[]) is
  'Returns the chunks that there shall be, without numbers and in no order: those given for a '
  'document that is new or written, its own for one that is renamed.';

-- A row that stays keeps its number, its vector and its edges: first those with the same id, then
-- those with the same content in the same document, which is renamed.
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
      select t.doc_no, c.chunk_no, c.chunk_id, c.content_hash,
        row_number() over (partition by t.doc_no, c.content_hash order by c.ordinal) - 1 as nth
      from unnest(touched) t
        cross join lateral (
          select h.chunk_no, h.chunk_id, h.content_hash, h.ordinal from ragdb.chunks h
          where h.corpus_id = corpus.corpus_id and h.doc_no = t.doc_no offset 0) c
      where t.state in ('written', 'renamed', 'gone')
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
      w.token_count, w.content_hash, w.nth, w.text)::ragdb_internal.planned_chunk
    from wanted w left join stays s on s.chunk_id = w.chunk_id
    order by w.doc_no, w.ordinal);
end $$;
comment on function ragdb_internal.planned_chunks(ragdb.corpora, jsonb,
  ragdb_internal.touched_document[]) is
  'Returns the chunks that there shall be, in the order of their documents: with the number of the '
  'row that stays, or with the next numbers.';

create or replace function ragdb_internal.check_chunk_ids(
  corpus_id integer, touched ragdb_internal.touched_document[],
  planned ragdb_internal.planned_chunk[])
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_duplicate text;
begin
  select min(k.chunk_id) into v_duplicate
  from (select p.chunk_id from unnest(planned) p group by p.chunk_id having count(*) > 1) k;
  if v_duplicate is null then
    -- limit: an index look-up for each, whatever the planner believes to find
    select min(p.chunk_id) into v_duplicate
    from unnest(planned) p
      cross join lateral (
        select c.doc_no from ragdb.chunks c
        where c.corpus_id = check_chunk_ids.corpus_id and c.chunk_id = p.chunk_id limit 1) c
    where c.doc_no not in (select t.doc_no from unnest(touched) t where t.state <> 'same');
  end if;
  if v_duplicate is not null then
    raise exception 'two documents want the chunk id %', ragdb_internal.quote(v_duplicate)
      using errcode = 'RG409',
        detail = 'an external id names one document of a corpus; nothing was written',
        hint = 'give every document an external_id of its own, or none; or delete the document '
               'that has it';
  end if;
end $$;
comment on function ragdb_internal.check_chunk_ids(integer, ragdb_internal.touched_document[],
  ragdb_internal.planned_chunk[]) is
  'Refuses chunks whose id another chunk has, in the input or in a document that is not touched. '
  'Raises RG409.';
