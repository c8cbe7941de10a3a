-- Takes all rows of a corpus away.

-- Returns the key of the setting that keeps the last tick of dropped corpora of a name.
create or replace function ragdb_internal.last_tick_key(corpus text) returns text
language sql immutable parallel safe
return 'last_tick_of ' || last_tick_key.corpus;

-- Removes a corpus with its documents, index, grants and events; the caller holds it alone, and has
-- erased what was derived from it.
create or replace function ragdb_internal.remove_corpus(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant integer := remove_corpus.corpus_id;
begin
  update ragdb.moves m set state = 'left', ended_at = ragdb_internal.now()
    where m.corpus_id = v_id and m.state in ('copying', 'ready');
  -- what goes now is not to be kept
  update ragdb.corpora c set history = null, history_from = null, history_since = null
    where c.corpus_id = v_id and c.history is not null;
  perform ragdb_internal.drop_unused_blobs(v_id, array(
    select b.cid from ragdb.corpus_blobs b where b.corpus_id = v_id));
  -- first: no chunk that goes is looked for in them
  perform ragdb_internal.remove_spaces(v_id);
  delete from ragdb.chunk_lexemes x where x.corpus_id = v_id;
  delete from ragdb.lexemes l where l.corpus_id = v_id;
  -- before the references, which would weigh them
  delete from ragdb.turns t where t.corpus_id = v_id;
  delete from ragdb.edges e where e.corpus_id = v_id;
  delete from ragdb.document_links l where l.corpus_id = v_id;
  delete from ragdb.chunks c where c.corpus_id = v_id;
  delete from ragdb.document_readings r where r.corpus_id = v_id;
  delete from ragdb.documents d where d.corpus_id = v_id;
  delete from ragdb.events e where e.corpus_id = v_id;
  insert into ragdb.settings as s (key, value)
    select ragdb_internal.last_tick_key(c.name), to_jsonb(c.lamport) from ragdb.corpora c
      where c.corpus_id = v_id and c.lamport > 0
    on conflict on constraint settings_key_is_unique do update
      set value = to_jsonb(greatest(s.value::bigint, excluded.value::bigint));
  delete from ragdb.corpora c where c.corpus_id = v_id;
  -- an edge goes with its chunks, without a record, and originals went above
  perform ragdb_internal.record_state(s.kind, v_id, s.key) from (
    select distinct r.kind, r.key from ragdb.recorded_states r
      where r.corpus_id = v_id and not ragdb_internal.is_one_of_many(r.kind)) s;
  delete from ragdb.locks l where l.name = ragdb_internal.rights_lock(v_id);
end $$;
