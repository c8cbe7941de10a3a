-- The words of a corpus as it was. What has not changed since is read from the lexical index of
-- today; what has is analysed anew.

-- A chunk as it was: its lexemes, and how many there are, each occurrence counted.
create type ragdb_internal.past_words as (chunk_no integer, words tsvector, length integer);

-- A corpus as it was, with its space then; the chunks of today whose entries in the lexical index
-- do not count, the chunks of then that have none, and by how many more chunks had each lexeme then
-- than today.
create type ragdb_internal.past as (
  corpus ragdb.corpora, space_id integer, embedder_id integer, stale integer[],
  old ragdb_internal.past_words[], lexemes text[], changes integer[]);

-- Returns the documents of a corpus that have another title than it had.
create or replace function ragdb_internal.retitled_at(corpus ragdb.corpora) returns integer[]
language sql stable parallel safe
return array(
  select i.key::integer from ragdb_internal.images(retitled_at.corpus, 'document') i
    left join lateral (
      select t.title from ragdb.documents t
      where t.corpus_id = (retitled_at.corpus).corpus_id and t.doc_no = i.key::integer offset 0) d
      on true
  where d.title is distinct from i.was ->> 'title');

-- Returns the numbers of chunks whose words are not what they were, or that were not there. A chunk
-- that went on in another version of its document has the words that it had, if text, heading and
-- title are the same.
create or replace function ragdb_internal.stale_chunks(
  corpus ragdb.corpora, retitled integer[])
returns integer[]
language sql stable parallel safe
return array(
  select i.key::integer
  from ragdb_internal.images(stale_chunks.corpus, 'chunk') i
    left join ragdb_internal.images(stale_chunks.corpus, 'document') p on p.key = i.was ->> 'doc_no'
    left join lateral (
      select t.title from ragdb.documents t
      where t.corpus_id = (stale_chunks.corpus).corpus_id
        and t.doc_no = (i.was ->> 'doc_no')::integer offset 0) e on true
    left join lateral (
      select n.text, n.heading, t.title
      from ragdb.chunks n
        join ragdb.documents t on t.corpus_id = n.corpus_id and t.doc_no = n.doc_no
      where n.corpus_id = (stale_chunks.corpus).corpus_id and n.chunk_no = i.key::integer
      offset 0) c on true
  where not coalesce(c.text = i.was ->> 'text'
    and pg_catalog.to_jsonb(c.heading) = i.was -> 'heading'
    and c.title is not distinct from case when p.key is null then e.title
      else p.was ->> 'title' end, false)
  union
  select c.chunk_no from ragdb.chunks c
    where c.corpus_id = (stale_chunks.corpus).corpus_id
      and c.chunk_no >= (stale_chunks.corpus).next_chunk_no
  union
  select c.chunk_no from ragdb.chunks c
    where c.corpus_id = (stale_chunks.corpus).corpus_id
      and c.doc_no = any (stale_chunks.retitled));

-- Returns the words of some chunks of a corpus as they were, of those that were there.
create or replace function ragdb_internal.old_words(
  corpus ragdb.corpora, stale integer[])
returns ragdb_internal.past_words[]
language sql stable parallel safe
return array(
  with chunk as materialized (
    select c.* from ragdb_internal.chunks_at_then(old_words.corpus, old_words.stale) c)
  select row(w.chunk_no, w.words, (
      select coalesce(sum(pg_catalog.cardinality(u.positions)), 0)
      from pg_catalog.unnest(w.words) u))::ragdb_internal.past_words
  from (
    select c.chunk_no, ragdb_internal.lexemes(
      ragdb_internal.searched_text(d.title, c.heading, c.text), (old_words.corpus).text_config)
      as words
    from chunk c
      join ragdb_internal.documents_at_then(old_words.corpus,
        array(select distinct o.doc_no from chunk o)) d on d.doc_no = c.doc_no
    offset 0) w);

-- Gathers what a search of a corpus as it was needs to know of its words.
create or replace function ragdb_internal.past(known ragdb_internal.past_corpus)
returns ragdb_internal.past
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_past ragdb_internal.past;
begin
  v_past.corpus := known.corpus;
  v_past.space_id := known.space_id;
  v_past.embedder_id := known.embedder_id;
  v_past.stale := ragdb_internal.stale_chunks(
    known.corpus, ragdb_internal.retitled_at(known.corpus));
  v_past.old := ragdb_internal.old_words(known.corpus, v_past.stale);
  select array_agg(c.lexeme), array_agg(c.change) into v_past.lexemes, v_past.changes
  from (
    select g.lexeme, sum(g.change)::integer as change
    from (
      select w.lexeme collate "C" as lexeme, 1 as change
      from unnest(v_past.old) o cross join lateral unnest(o.words) w
      union all
      select l.lexeme, -1
      from ragdb_internal.indexed_at((known.corpus).corpus_id, v_past.stale) x
        cross join lateral ragdb_internal.postings_of(x.impacts) p
        join ragdb.lexemes l on l.corpus_id = (known.corpus).corpus_id
          and l.term_id = p.term_id) g
    group by g.lexeme
    having sum(g.change) <> 0) c;
  return v_past;
end $$;

-- Returns how many chunks of a corpus as it was had each of some lexemes.
create or replace function ragdb_internal.known_then(past ragdb_internal.past, lexemes text[])
returns table (lexeme text, df integer)
language sql stable parallel safe
begin atomic
  select w.lexeme, coalesce(l.df, 0) + coalesce(c.change, 0)
  from (select distinct u.lexeme collate "C" as lexeme
      from pg_catalog.unnest(known_then.lexemes) u (lexeme)) w
    left join lateral (select d.df from ragdb.lexemes d
      where d.corpus_id = ((past).corpus).corpus_id and d.lexeme = w.lexeme offset 0) l on true
    left join unnest((past).lexemes, (past).changes) c (lexeme, change)
      on c.lexeme collate "C" = w.lexeme;
end;
