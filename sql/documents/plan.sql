-- What a call shall change, before anything is changed: which documents it touches and what
-- becomes of each.
--
-- Given documents are those stored of the same bytes and the same name. The first source of a
-- document, in byte order, decides its title, language, metadata and chunking, so that the order in
-- which files arrive decides nothing.
--
-- Nothing is known of how many rows a call brings, and what the planner believes of tables that
-- grow within a transaction is worthless. So it has no choice: lookups go by key (lateral, offset
-- 0), and what is joined in memory is hashed. In a corpus that never had a document nothing is
-- looked up: where one was dropped a moment ago, an index may be read whole for each look-up.

-- A document that a call touches: its first source (uri, source_name), the position in the input
-- that decides what it is (null: its first source is not given), and what becomes of it: state is
-- new, written, renamed (only its first source is another), same or gone.
create type ragdb_internal.touched_document as (
  doc_no integer,
  doc_cid text,
  name text,
  title_before text,
  "position" integer,
  uri text,
  source_name text,
  state text);

-- Returns the documents of a corpus that have one of some sources, or the bytes and the name of one
-- of some documents.
create or replace function ragdb_internal.documents_at(
  corpus ragdb.corpora, uris text[], documents jsonb)
returns setof ragdb.documents
language sql stable parallel safe
begin atomic
  select d.*
  from (
    select s.doc_no from unnest(documents_at.uris) u (uri)
      cross join lateral (
        select h.doc_no from ragdb.document_sources h
        where h.corpus_id = (corpus).corpus_id and h.uri = u.uri offset 0) s
    union
    select o.doc_no from jsonb_array_elements(documents_at.documents) i
      cross join lateral (
        select h.doc_no from ragdb.documents h
        where h.corpus_id = (corpus).corpus_id and h.doc_cid = i ->> 'doc_cid'
          and h.name = ragdb_internal.given_name(i)
        offset 0) o
  ) t
    cross join lateral (
      select h.* from ragdb.documents h
      where h.corpus_id = (corpus).corpus_id and h.doc_no = t.doc_no offset 0) d
  where (corpus).next_doc_no > 1;
end;

-- Returns the numbers of the stored documents whose bytes are given with other texts, however they
-- are cut, each with the position of the first source that gives them. One of the two texts is not
-- of these bytes. The one that comes last stays, so that nobody keeps another's text out by
-- claiming his hash first.
create or replace function ragdb_internal.disputed(corpus ragdb.corpora, documents jsonb)
returns jsonb
language sql stable parallel safe
begin atomic
  select coalesce(jsonb_object_agg(o.doc_no, o.position order by o.uri desc), '{}')
  from (
    select d.doc_no, i.n - 1 as position, i.v ->> 'uri' collate "C" as uri
    from jsonb_array_elements(disputed.documents) with ordinality i (v, n)
      cross join lateral (
        select h.doc_no, h.chunking from ragdb.documents h
        where h.corpus_id = (corpus).corpus_id and h.doc_cid = i.v ->> 'doc_cid'
          and h.name = ragdb_internal.given_name(i.v)
        offset 0) d
    where (corpus).next_doc_no > 1 and not case when d.chunking = i.v -> 'chunking'
      then ragdb_internal.says_the_same(i.v, (corpus).corpus_id, d.doc_no)
      else ragdb_internal.says_the_same_cut_otherwise(i.v, (corpus).corpus_id, d.doc_no) end) o;
end;

-- Returns the documents that a call touches, in the order of their numbers; those that are not
-- stored yet have the next numbers, in the order of the input. A source that is given says
-- something else now, and one that is gone says nothing: what they say today counts no more.
create or replace function ragdb_internal.touched_documents(
  corpus ragdb.corpora, documents jsonb, force boolean, gone_uris text[])
returns ragdb_internal.touched_document[]
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_language constant text := ragdb_internal.config_language(corpus.text_config);
  v_disputed constant jsonb := ragdb_internal.disputed(corpus, documents);
  v_names constant text[] := array(
    select ragdb_internal.given_name(i) from jsonb_array_elements(documents) i);
  v_uris constant text[] := gone_uris || array(
    select i ->> 'uri' from jsonb_array_elements(documents) i);
begin
  return array(
    with old as materialized (
      select d.doc_no, d.doc_cid, d.name, d.title, d.source, d.source_name,
        ragdb_internal.stored_description(d) as description
      from ragdb_internal.documents_at(corpus, v_uris, documents) d
    ), source as (
      select i.v ->> 'doc_cid' as doc_cid, v_names[i.n] as name, i.v ->> 'uri' as uri,
        ragdb_internal.given_source_name(i.v) as source_name, (i.n - 1)::integer as position,
        ragdb_internal.given_description(i.v, v_language) as description
      from jsonb_array_elements(documents) with ordinality i (v, n)
      union all
      select o.doc_cid, o.name, s.uri, s.source_name, null, null
      from old o cross join lateral (
        select h.uri, h.source_name from ragdb.document_sources h
        where h.corpus_id = corpus.corpus_id and h.doc_no = o.doc_no offset 0) s
      where s.uri not in (select unnest(v_uris))
    ), first as (
      select distinct on (s.doc_cid, s.name) s.*
      from source s order by s.doc_cid, s.name, s.uri collate "C")
    select row(coalesce(o.doc_no, corpus.next_doc_no - 1
        + row_number() over (partition by o.doc_no is null order by f.position)),
      coalesce(o.doc_cid, f.doc_cid), coalesce(o.name, f.name), o.title,
      coalesce((v_disputed ->> o.doc_no::text)::integer, f.position), f.uri, f.source_name, case
        when f.doc_cid is null then 'gone'
        when o.doc_no is null then 'new'
        when v_disputed ? o.doc_no::text or f.position is not null
          and (force or o.description is distinct from f.description) then 'written'
        when (o.source, o.source_name) is distinct from (f.uri, f.source_name) then 'renamed'
        else 'same' end)::ragdb_internal.touched_document
    from old o full join first f on (f.doc_cid, f.name) = (o.doc_cid, o.name)
    order by o.doc_no, f.position);
end $$;
