-- Turns read back: one with all that is derived of it, or who said each of many and when.

create or replace function ragdb.get_turn(corpus text, chunk_id text)
returns table (
  turn_id text, session_id text, role text, phase text, salience real, depth integer,
  sibling_order integer, homogeneity real, temporal real, complexity real,
  created_at timestamptz, content_hash text, text text)
-- turns and chunks are granted to nobody
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora;
begin
  v_corpus := ragdb_internal.open_with_chunk(get_turn.corpus, get_turn.chunk_id);
  return query
    select c.chunk_id, t.session_id, t.role, t.phase, t.salience, t.depth, t.sibling_order,
        t.homogeneity, ragdb_internal.turn_temporal(t.corpus_id, t.session_id, t.created_at),
        t.complexity, t.created_at,
        encode(ragdb_internal.content_hash(c.text), 'hex'), c.text
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = v_corpus.corpus_id and c.chunk_id = get_turn.chunk_id;
  if not found then
    raise exception 'turn % is not in corpus %', ragdb_internal.quote(get_turn.chunk_id),
        ragdb_internal.quote(v_corpus.name)
      using errcode = 'RG406',
        detail = 'a turn is a chunk that came with a conversation',
        hint = 'ids of turns are UUIDs in lower case; ragdb.get_chunk() reads any chunk';
  end if;
end $$;
comment on function ragdb.get_turn is
  'Returns a turn with its text and derived fields. Raises RG400, RG404, RG406.';

create or replace function ragdb.list_turns(corpus text, chunk_ids text[])
returns table (
  chunk_id text, session_id text, role text, speaker text, said_at timestamptz)
-- turns and chunks are granted to nobody
language plpgsql stable security definer rows 10
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_corpora constant ragdb.corpora[] := ragdb_internal.open_with_parts(list_turns.corpus);
begin
  if (cardinality(list_turns.chunk_ids) <= 1000
    and ragdb_internal.is_list(list_turns.chunk_ids)) is not true
  then
    raise exception 'chunk_ids is not a list of ids'
      using errcode = 'RG400', detail = 'a list has one dimension, no null and 1,000 ids at most',
        hint = 'pass an array, such as array[''a'', ''b'']';
  end if;
  return query
    select c.chunk_id, t.session_id, t.role, t.given ->> 'speaker',
        -- as ragdb_internal.has_time_sql
        nullif(t.created_at, to_timestamp(t.place + 1))
      from unnest(v_corpora) o
      cross join unnest(list_turns.chunk_ids) with ordinality i (id, n)
      cross join lateral (
        select k.chunk_id, k.chunk_no from ragdb.chunks k
          where k.corpus_id = o.corpus_id and k.chunk_id = i.id
          offset 0) c
      cross join lateral (
        select h.* from ragdb.turns h
          where h.corpus_id = o.corpus_id and h.chunk_no = c.chunk_no
          offset 0) t
      order by i.n;
end $$;
comment on function ragdb.list_turns is
  'Returns who said those of at most 1,000 chunks that are turns of conversations, and when, in '
  'the order given: the role, the name of the speaker where the conversation says it, and the time '
  'where it has one. Raises RG400, RG404.';
