-- A source belongs to where it came from: the folder or file that a program read it from. Two
-- folders may have one name, and then the documents of one would replace those of the other. Nor
-- does a text take the place of a conversation.

-- Refuses documents whose source came from another root, unless they adopt it. Raises RG409.
create or replace function ragdb_internal.check_roots(corpus ragdb.corpora, documents jsonb)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_other record;
begin
  select g.v ->> 'uri' as uri, s.root, g.v ->> 'root' as given into v_other
  from jsonb_array_elements(documents) with ordinality g (v, n)
    cross join lateral (
      select s.root from ragdb.document_sources s
      where s.corpus_id = corpus.corpus_id and s.uri = g.v ->> 'uri'
      offset 0) s
  where corpus.next_doc_no > 1
    and s.root <> g.v ->> 'root' and (g.v -> 'adopt') is distinct from 'true'
  order by g.n limit 1;
  if found then
    raise exception 'source % of corpus % came from %, not from %',
        ragdb_internal.quote(v_other.uri), ragdb_internal.quote(corpus.name),
        ragdb_internal.quote(v_other.root), ragdb_internal.quote(v_other.given)
      using errcode = 'RG409', detail = 'one source has one document; nothing was written',
        hint = 'give it another uri, or say "adopt": true';
  end if;
end $$;

-- Refuses plain documents whose source is a conversation, unless they adopt it: what was said there
-- may be nowhere else. One that came from a file is what the file says, now another thing. Raises
-- RG409.
create or replace function ragdb_internal.check_conversations_stay(
  corpus ragdb.corpora, documents jsonb)
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_uri text;
begin
  select g.v ->> 'uri' into v_uri
  from jsonb_array_elements(documents) with ordinality g (v, n)
    cross join lateral (
      select s.doc_no, s.root from ragdb.document_sources s
      where s.corpus_id = corpus.corpus_id and s.uri = g.v ->> 'uri'
      offset 0) s
    cross join lateral (
      select d.chunking from ragdb.documents d
      where d.corpus_id = corpus.corpus_id and d.doc_no = s.doc_no
      offset 0) d
  where corpus.next_doc_no > 1 and ragdb_internal.has_turns(d.chunking)
    and not ragdb_internal.has_turns(g.v -> 'chunking')
    and (s.root = g.v ->> 'root') is not true and (g.v -> 'adopt') is distinct from 'true'
  order by g.n limit 1;
  if found then
    raise exception 'source % of corpus % is a conversation',
        ragdb_internal.quote(v_uri), ragdb_internal.quote(corpus.name)
      using errcode = 'RG409',
        detail = 'a text in its place would take what was said there; nothing was written',
        hint = 'ragdb.append_turns() adds to it and ragdb.put_conversations() replaces it; for a '
          'text, give another source, or delete the conversation: ragdb.delete_document()';
  end if;
end $$;

create or replace function ragdb.known_sources(corpus text, uris text[])
returns table (uri text, root text, doc_cid text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
  v_ids constant integer[] := ragdb_internal.readable_ids(
    ragdb_internal.open_corpus(known_sources.corpus, 'read', true));
begin
  if known_sources.uris is null or not ragdb_internal.is_list(known_sources.uris) then
    raise exception 'uris is not a list of sources'
      using errcode = 'RG400', detail = 'a source is named by its uri',
        hint = 'ragdb.list_documents() lists them';
  end if;
  return query
    select u.uri, s.root, s.doc_cid
    from unnest(known_sources.uris) u (uri)
      cross join lateral (
        select s.root, d.doc_cid
        from ragdb.document_sources s join ragdb.documents d using (corpus_id, doc_no)
        where s.corpus_id = any (v_ids) and s.uri = u.uri
        offset 0) s;
end $$;
comment on function ragdb.known_sources is
  'Returns those of some sources that the corpus has: where each came from (root, null where '
  'nobody said) and the identity of its document. Raises RG400, RG404.';
