-- What is embedded of a chunk.

-- Returns what is embedded of chunks: the prefix, then title, heading path and text joined by
-- newlines. Beside it the head, which is title and heading path, and the body, which is prefix and
-- text. Rows are looked up by key, and each text is put together once, whatever the caller does
-- with it.
create or replace function ragdb_internal.embedding_inputs(
  corpus_id integer, chunk_nos integer[], prefix text)
returns table (chunk_no integer, head text, body text, input text)
language sql stable parallel safe
begin atomic
  select n.chunk_no, i.head, i.body, i.input
  from pg_catalog.unnest(embedding_inputs.chunk_nos) n (chunk_no)
    cross join lateral (
      select ragdb_internal.searched_text(d.title, c.heading, null) as head,
        embedding_inputs.prefix || c.text as body,
        embedding_inputs.prefix
          || ragdb_internal.searched_text(d.title, c.heading, c.text) as input
      from (select h.doc_no, h.heading, h.text from ragdb.chunks h
          where h.corpus_id = embedding_inputs.corpus_id and h.chunk_no = n.chunk_no offset 0) c
        cross join lateral (select o.title from ragdb.documents o
          where o.corpus_id = embedding_inputs.corpus_id and o.doc_no = c.doc_no offset 0) d
      offset 0) i;
end;
