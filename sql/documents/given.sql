-- How a given document is read: what it says of itself, with the defaults for what it leaves out,
-- and its chunks. The document has been checked; these only read.

-- What a document says of itself; a document is written again when its first source says something
-- else.
create type ragdb_internal.document_description as (
  title text,
  language text,
  media_type text,
  metadata jsonb,
  chunking jsonb,
  external_id text);

-- Returns what a given document says of itself; the language is a default for one that names none.
create or replace function ragdb_internal.given_description(document jsonb, default_language text)
returns ragdb_internal.document_description
language sql immutable parallel safe
return row(
  given_description.document ->> 'title',
  coalesce(ragdb_internal.language_code(given_description.document ->> 'language'),
    given_description.default_language),
  given_description.document ->> 'media_type',
  coalesce(nullif(given_description.document -> 'metadata', 'null'), '{}'),
  given_description.document -> 'chunking',
  given_description.document ->> 'external_id')::ragdb_internal.document_description;

-- Returns what a stored document says of itself.
create or replace function ragdb_internal.stored_description(document ragdb.documents)
returns ragdb_internal.document_description
language sql immutable parallel safe
return row(
  document.title, document.language, document.media_type, document.metadata, document.chunking,
  document.external_id)::ragdb_internal.document_description;

-- Returns the name of the source that a given document comes from; empty for none.
create or replace function ragdb_internal.given_source_name(document jsonb) returns text
language sql immutable parallel safe
return coalesce(given_source_name.document ->> 'source_name', '');

-- Returns what tells a document from others of the same bytes: its external id, else its source. A
-- conversation needs neither: its messages have ids. Two files of the same bytes are two documents,
-- each cited by its own name. One record that is found in two files is one.
create or replace function ragdb_internal.document_name(
  chunking jsonb, external_id text, source text)
returns text
language sql immutable parallel safe
return case
  when ragdb_internal.has_turns(document_name.chunking) then 'turns'
  when document_name.external_id is not null then 'id ' || document_name.external_id
  else 'source ' || document_name.source
end;

-- Returns the name of a given document.
create or replace function ragdb_internal.given_name(document jsonb) returns text
language sql immutable parallel safe
return ragdb_internal.document_name(given_name.document -> 'chunking',
  given_name.document ->> 'external_id', given_name.document ->> 'uri');

-- A chunk as its document has it; own_id is the id of a turn, null for any other chunk.
create type ragdb_internal.chunk_content as (
  ordinal integer,
  heading text[],
  page integer,
  start_offset integer,
  end_offset integer,
  token_count integer,
  content_hash bytea,
  citation jsonb,
  text text,
  own_id text);

-- Returns the chunks of a given document.
create or replace function ragdb_internal.given_chunks(document jsonb)
returns setof ragdb_internal.chunk_content
language sql stable parallel safe
begin atomic
  select (c.n - 1)::integer,
    array(select jsonb_array_elements_text(nullif(c.v -> 'heading', 'null'))),
    (c.v ->> 'page')::integer, (c.v ->> 'start')::integer, (c.v ->> 'end')::integer,
    (c.v ->> 'tokens')::integer, ragdb_internal.content_hash(c.v ->> 'text'),
    nullif(c.v -> 'citation', 'null'), c.v ->> 'text', c.v ->> 'id'
  from jsonb_array_elements(given_chunks.document -> 'chunks') with ordinality c (v, n);
end;

-- Tells whether a given document has the texts of a stored one as its chunks, in their order. The
-- texts are compared: who claims the identity of some bytes says nothing of what they say.
create or replace function ragdb_internal.says_the_same(
  document jsonb, corpus_id integer, doc_no integer)
returns boolean
language sql stable parallel safe
return array(
    select c.v ->> 'text'
      from pg_catalog.jsonb_array_elements(says_the_same.document -> 'chunks')
        with ordinality c (v, n)
      order by c.n)
  = array(
    select c.text from ragdb.chunks c
      where c.corpus_id = says_the_same.corpus_id and c.doc_no = says_the_same.doc_no
      order by c.ordinal);

-- Returns what chunks say together, without white space and without what one repeats of another.
create or replace function ragdb_internal.letters(texts text[], starts integer[]) returns text
language sql immutable parallel safe
return (
  select pg_catalog.regexp_replace(pg_catalog.string_agg(pg_catalog.substr(
      x.text, greatest(coalesce(x.covered - x.start, 0), 0) + 1), '' order by x.start, x.n),
      '\s+', '', 'g')
    from (
      select u.text, u.start, u.n, pg_catalog.max(u.start + pg_catalog.length(u.text))
          over (order by u.start, u.n rows between unbounded preceding and 1 preceding) as covered
        from unnest(letters.texts, letters.starts)
          with ordinality u (text, start, n)) x);

-- Tells whether a given document says what a stored one says, however each of them is cut. Whoever
-- claims the identity of some bytes chooses how he says that he cut them.
create or replace function ragdb_internal.says_the_same_cut_otherwise(
  document jsonb, corpus_id integer, doc_no integer)
returns boolean
language sql stable parallel safe
return (
    select ragdb_internal.letters(pg_catalog.array_agg(c.v ->> 'text' order by c.n),
        pg_catalog.array_agg((c.v ->> 'start')::integer order by c.n))
      from pg_catalog.jsonb_array_elements(says_the_same_cut_otherwise.document -> 'chunks')
        with ordinality c (v, n))
  is not distinct from (
    select ragdb_internal.letters(pg_catalog.array_agg(c.text order by c.ordinal),
        pg_catalog.array_agg(c.start_offset order by c.ordinal))
      from ragdb.chunks c
      where c.corpus_id = says_the_same_cut_otherwise.corpus_id
        and c.doc_no = says_the_same_cut_otherwise.doc_no);

-- Returns the chunks of a stored document, in no order.
create or replace function ragdb_internal.stored_chunks(document ragdb.documents)
returns setof ragdb_internal.chunk_content
language sql stable parallel safe
begin atomic
  select c.ordinal, c.heading, c.page, c.start_offset, c.end_offset, c.token_count, c.content_hash,
    c.citation, c.text, case when ragdb_internal.has_turns(document.chunking) then c.chunk_id end
  from ragdb.chunks c
  where c.corpus_id = document.corpus_id and c.doc_no = document.doc_no;
end;
