-- What changed in a corpus between two of its versions, source by source.

-- Returns the sources of which something has changed since a corpus was as it is here: they
-- themselves, as each that is new, or their documents.
create or replace function ragdb_internal.sources_changed_since(corpus ragdb.corpora)
returns setof text
language sql stable parallel safe
begin atomic
  select p.key from ragdb.past_rows p
  where p.corpus_id = (sources_changed_since.corpus).corpus_id and p.kind = 'source'
    and p.until > (sources_changed_since.corpus).version
  union
  select s.uri
  from ragdb.past_rows p
    cross join lateral (
      select d.uri from ragdb.document_sources d
      where d.corpus_id = (sources_changed_since.corpus).corpus_id and d.doc_no = p.key::integer
      offset 0) s
  where p.corpus_id = (sources_changed_since.corpus).corpus_id and p.kind = 'document'
    and p.until > (sources_changed_since.corpus).version;
end;

-- Returns some sources of a corpus as it was, and the document found at each. Both are looked up
-- by lists: whether it has changed would else be asked of each of the corpus. Executed, as the plan
-- of each list is its own, and plan_cache_mode would have what is called planned at each call.
create or replace function ragdb_internal.described_then(corpus ragdb.corpora, uris text[])
returns table (
  uri text, doc_no integer, doc_cid text, title text, chunks integer, description jsonb)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_uris text[];
  v_doc_nos integer[];
begin
  execute 'select array_agg(s.uri), array_agg(s.doc_no)'
      ' from ragdb_internal.sources_then($1) s where s.uri = any ($2)'
    into v_uris, v_doc_nos using corpus, uris;
  return query execute $query$
    select s.uri, d.doc_no, d.doc_cid, d.title, d.chunks,
      to_jsonb(d) - array['source', 'source_name', 'event_id', 'created_at', 'updated_at']
    from unnest($2, $3) s (uri, doc_no)
      join ragdb_internal.documents_then($1) d on d.doc_no = s.doc_no
    where d.doc_no = any ($3)
    $query$ using corpus, v_uris, v_doc_nos;
end $$;

-- Returns the sources that a corpus had at its version and that were erased on purpose since.
create or replace function ragdb_internal.erased_sources(corpus ragdb.corpora)
returns setof text
language sql stable parallel safe
begin atomic
  select e.key from (
    select distinct on (p.key) p.key, p.erased_hash from ragdb.past_rows p
    where p.corpus_id = (erased_sources.corpus).corpus_id and p.kind = 'source'
      and p.until > (erased_sources.corpus).version
    order by p.key, p.until) e
  where e.erased_hash is not null;
end;

create or replace function ragdb.diff_corpus(
  corpus text, since bigint, until bigint default null, prefix text default '',
  after text default '', count integer default null)
returns table (
  source text, change text, doc_cid_before text, doc_cid_after text, title_before text,
  title_after text, chunks_before integer, chunks_after integer)
language plpgsql stable security definer -- the history is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(diff_corpus.corpus, 'read');
  v_before constant ragdb.corpora :=
    (ragdb_internal.corpus_at(v_corpus, diff_corpus.since)).corpus;
  v_after constant ragdb.corpora := (ragdb_internal.corpus_at(
    v_corpus, coalesce(diff_corpus.until, v_corpus.version))).corpus;
  v_uris text[];
begin
  if v_before.version > v_after.version then
    raise exception 'since is % and until is %', v_before.version, v_after.version
      using errcode = 'RG400', detail = 'the earlier version comes first',
        hint = 'change places';
  end if;
  perform ragdb_internal.check_paged(prefix, after, 'source'),
    ragdb_internal.check_listed(coalesce(count, 1), 'sources');
  v_uris := array(
    select s.uri from ragdb_internal.sources_changed_since(v_before) s (uri)
    where starts_with(s.uri, prefix) and s.uri > after collate "C");
  return query
    with before as materialized (
      select d.* from ragdb_internal.described_then(v_before, v_uris) d
    ), after as materialized (
      select d.* from ragdb_internal.described_then(v_after, v_uris) d
    ), erased as materialized (
      select e as uri from ragdb_internal.erased_sources(v_before) e where e = any (v_uris)
    )
    select uri, case when e.uri is not null then 'erased'
        when b.uri is null then 'added' when a.uri is null then 'deleted'
        when b.doc_cid <> a.doc_cid then 'replaced' else 'changed' end,
      b.doc_cid, a.doc_cid, b.title, a.title, b.chunks, a.chunks
    from before b full join after a using (uri) full join erased e using (uri)
    where e.uri is not null or b.description is distinct from a.description
    order by uri collate "C" limit count;
end $$;
comment on function ragdb.diff_corpus is
  'Returns the sources whose documents differ between two versions of a corpus (until null: '
  'today), in the order of their bytes: change is added, deleted, replaced (other bytes), changed '
  '(the same bytes with another title or metadata, or a conversation that grew), or erased: what '
  'was there was erased on purpose, so that nothing can be said of it. Of the sources those are '
  'returned that begin with a prefix and come after a given one, at most count (1 to 10000; null: '
  'all). Raises RG400, RG404, RG437.';
