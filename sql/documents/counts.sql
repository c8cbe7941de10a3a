-- What a corpus counts of its documents. The same counting serves the writer, which counts the
-- documents that it touches before and after, and who checks or repairs a corpus and counts all.

-- Counts of some documents; languages is the number of documents of each language, those without a
-- language left out.
create type ragdb_internal.document_counts as (
  documents bigint,
  tokens bigint,
  size_bytes bigint,
  languages jsonb);

-- Counts some documents of a corpus, their tokens, their bytes and their languages. By key, one by
-- one: the planner does not know how many documents the list has.
create or replace function ragdb_internal.count_documents(corpus_id integer, doc_nos integer[])
returns ragdb_internal.document_counts
language sql stable parallel safe
return (
  select row(
    coalesce(sum(l.documents), 0), coalesce(sum(l.tokens), 0), coalesce(sum(l.size_bytes), 0),
    coalesce(pg_catalog.jsonb_object_agg(l.language, l.documents)
      filter (where l.language is not null), '{}'))::ragdb_internal.document_counts
  from (
    select d.language, count(*) as documents, sum(d.tokens) as tokens,
      sum(d.size_bytes) as size_bytes
    from pg_catalog.unnest(count_documents.doc_nos) x (doc_no)
      cross join lateral (
        select o.language, o.tokens, o.size_bytes from ragdb.documents o
        where o.corpus_id = count_documents.corpus_id and o.doc_no = x.doc_no offset 0) d
    group by d.language) l);

-- Counts all documents of a corpus, their tokens, their bytes and their languages.
create or replace function ragdb_internal.count_corpus(corpus_id integer)
returns ragdb_internal.document_counts
language sql stable parallel safe
return ragdb_internal.count_documents(count_corpus.corpus_id, array(
  select d.doc_no from ragdb.documents d where d.corpus_id = count_corpus.corpus_id));

-- Returns counts by key without what is gone and with what has come.
create or replace function ragdb_internal.recounted(counts jsonb, gone jsonb, come jsonb)
returns jsonb
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
