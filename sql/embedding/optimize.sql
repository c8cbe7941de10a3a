-- The upkeep of a corpus in one call: what its ranking counts with, and the index of its vectors.

-- Builds the index of the current space of a corpus where it is due and a static embedder made the
-- vectors; the caller holds the corpus lock. Under any other embedder the worker that makes the
-- last vector builds the index.
create or replace function ragdb_internal.index_static(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_space constant ragdb.embedding_spaces := ragdb_internal.space(corpus.corpus_id, 'current');
begin
  if ragdb_internal.is_static(v_space.embedder_id) then
    perform ragdb_internal.build_index(corpus, v_space.space_id);
  end if;
end $$;

create or replace function ragdb.optimize_corpus(corpus text, new_pivot float8 default null)
returns table (chunks integer, pivot_before float8, pivot float8, lexemes_dropped integer)
language plpgsql security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.lock_corpus(optimize_corpus.corpus, 'write', true);
  v_pivot float8 := case when v_corpus.part_of is null
    then ragdb_internal.next_pivot(v_corpus) else v_corpus.pivot end;
  v_member ragdb.corpora;
  v_dropped integer;
begin
  perform ragdb_internal.check_pivot(v_corpus, optimize_corpus.new_pivot);
  if v_corpus.parts > 0 then
    select o.pivot, o.lexemes_dropped into v_pivot, v_dropped
      from ragdb_internal.optimize_parts(v_corpus, optimize_corpus.new_pivot) o;
  else
    v_dropped := ragdb_internal.optimize(v_corpus, v_pivot);
  end if;
  foreach v_member in array ragdb_internal.members(v_corpus) loop
    perform ragdb_internal.index_static(v_member);
  end loop;
  perform ragdb_internal.renew_statistics('{ragdb.documents,ragdb.document_sources,ragdb.chunks,'
    'ragdb.edges,ragdb.lexemes,ragdb.chunk_lexemes,ragdb.term_blocks,ragdb.chunk_embeddings}',
    ends_load => true);
  return query select c.chunks, v_corpus.pivot, v_pivot, v_dropped
    from ragdb.corpora c where c.corpus_id = v_corpus.corpus_id;
end $$;
comment on function ragdb.optimize_corpus is
  'Sets a corpus''s pivot to the mean length of its chunks (from 10,000 chunks on only where it '
  'is over 25 % off), brings bounds and blocks up to date, drops lexemes that no chunk has, and '
  'builds the index of vectors under a static embedder as ragdb.index_space does. A part keeps '
  'the pivot of its whole; with the name of the whole, the statistics of all parts are summed and '
  'all get one pivot: the given one, which servers that have parts of one corpus must agree on, or '
  'the mean. Raises RG400, RG401, RG404.';
