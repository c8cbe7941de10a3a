-- What a writer does while it waits for another of the same corpus: it analyses the texts that it
-- brings. That depends on nothing but them and the text configuration, which a corpus keeps, and is
-- half of a put. Where nobody writes, the rows are analysed once they are there, by parallel
-- workers, who can share a table but not a document.
--
-- Who is about to write counts as one who writes. Of two writers one would find the corpus free
-- while the other analyses, and hold it for all of its own analysis: a core was idle meanwhile.

-- Notes that this transaction is about to write documents to a corpus, and tells whether no other
-- is. The lock is shared and kept to the end of the transaction. Nobody waits for it, because any
-- role can take such a lock. Whether another has it tells one that is not shared, which goes with
-- its block: a lock of the session would stay where a call is cancelled before it lets go.
create or replace function ragdb_internal.writes_alone(corpus_id integer) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_class constant integer := hashtext('ragdb writers');
begin
  if not pg_try_advisory_xact_lock_shared(v_class, corpus_id) then
    return false;
  end if;
  begin
    if pg_try_advisory_xact_lock(v_class, corpus_id) then
      raise no_data_found;
    end if;
  exception when no_data_found then
    return true;
  end;
  return false;
end $$;

-- Chunks of given documents as a corpus analyses them, without numbers, with their postings;
-- positions are those of their documents in the input.
create type ragdb_internal.given_analysis as (
  corpus_id integer,
  positions integer[],
  ordinals integer[],
  ready ragdb_internal.analysed_chunks);

-- Analyses the chunks of given documents whose bytes a corpus does not have, if another transaction
-- holds the corpus or is about to write to it; null for a call of more than 32 MB. If no other
-- does, the caller holds it. Documents whose bytes are here are seldom written again. What is made
-- is held in memory, and may be larger than the texts.
create or replace function ragdb_internal.analysed_ahead(corpus ragdb.corpora, documents jsonb)
returns ragdb_internal.given_analysis
language plpgsql
set search_path = pg_catalog, pg_temp
set work_mem = '64MB'
as $$
declare
  v_given ragdb_internal.given_analysis;
  v_chunks ragdb_internal.analysed_chunk[];
begin
  if pg_column_size(documents) > 32 * 1048576 or ragdb_internal.writes_alone(corpus.corpus_id)
    and ragdb_internal.try_corpus(corpus.corpus_id)
  then
    return null;
  end if;
  select array_agg(a.position), array_agg(a.ordinal),
      array_agg(row(null, a.words, (select o.word_order from ragdb_internal.word_order(a.words) o),
        ragdb_internal.word_count(a.words))::ragdb_internal.analysed_chunk)
    into v_given.positions, v_given.ordinals, v_chunks
    from (
      select i.n - 1 as position, c.n - 1 as ordinal,
        ragdb_internal.lexemes(ragdb_internal.searched_text(
          i.v ->> 'title',
          array(select jsonb_array_elements_text(nullif(c.v -> 'heading', 'null'))),
          c.v ->> 'text'), corpus.text_config) as words
      from jsonb_array_elements(documents) with ordinality i (v, n)
        cross join lateral jsonb_array_elements(i.v -> 'chunks') with ordinality c (v, n)
      where not ragdb_internal.has_bytes(corpus.corpus_id, i.v ->> 'doc_cid')
      offset 0) a;
  v_given.corpus_id := corpus.corpus_id;
  v_given.ready := row(null, v_chunks, corpus.pivot,
    array(select p from ragdb_internal.postings(corpus, v_chunks) p order by p.lexeme))
    -- without the cast it goes by way of text
    ::ragdb_internal.analysed_chunks;
  return v_given;
end $$;

-- Returns what was analysed ahead for this corpus of the documents that are new or written, under
-- the numbers of their chunks. Meanwhile another corpus of the name may have been made, which
-- analyses otherwise.
create or replace function ragdb_internal.ready_chunks(
  corpus_id integer, touched ragdb_internal.touched_document[],
  ahead ragdb_internal.given_analysis)
returns ragdb_internal.analysed_chunks
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '64MB'
as $$
declare
  v_ready ragdb_internal.analysed_chunks := ahead.ready;
begin
  if ahead.corpus_id is distinct from ready_chunks.corpus_id then
    return null;
  end if;
  v_ready.chunks := array(
    select row(k.chunk_no, a.words, a.word_order, a.length)::ragdb_internal.analysed_chunk
    from unnest(v_ready.chunks, ahead.positions, ahead.ordinals) with ordinality
        a (chunk_no, words, word_order, length, position, ordinal, nth)
      join (
        select t.position, c.ordinal, c.chunk_no
        from unnest(touched) t
          cross join lateral (
            select h.chunk_no, h.ordinal from ragdb.chunks h
            where h.corpus_id = ready_chunks.corpus_id and h.doc_no = t.doc_no offset 0) c
        where t.state in ('new', 'written')
        offset 0) k on (k.position, k.ordinal) = (a.position, a.ordinal)
    order by a.nth);
  v_ready.numbers := array(select c.chunk_no from unnest(v_ready.chunks) c);
  -- postings are of all of them
  if cardinality(v_ready.chunks) <> cardinality(ahead.positions) then
    v_ready.postings := null;
  end if;
  return v_ready;
end $$;
