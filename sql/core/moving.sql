-- What a move between databases asks of everything else: a corpus that has moved refuses what is
-- asked of it, but for what was recorded of it here (traces, slices, atoms, replays); one that
-- arrives is not there yet, and one that leaves notes what is written to it.

-- Whether a corpus arrives from another database, and this transaction is not one that brings it.
create or replace function ragdb_internal.is_arriving(corpus ragdb.corpora) returns boolean
language sql stable parallel safe
return (corpus).moving = 'arriving'
  and ((corpus).import_xid = pg_catalog.pg_current_xact_id_if_assigned()) is not true;

-- Returns the move that took a corpus to another database last.
create or replace function ragdb_internal.last_move_out(corpus ragdb.corpora) returns ragdb.moves
language sql stable parallel safe
return (select m from ragdb.moves m
  where m.corpus_id = (last_move_out.corpus).corpus_id and m.direction = 'out' and m.state = 'done'
  order by m.ended_at desc limit 1);

-- Returns the database to which a corpus has moved; null for one that is here.
create or replace function ragdb_internal.moved_to(corpus ragdb.corpora) returns text
language sql stable parallel safe
return case (moved_to.corpus).moving
  when 'moved' then (ragdb_internal.last_move_out(moved_to.corpus)).peer end;

-- Says where a corpus has moved to. Raises RG456.
create or replace function ragdb_internal.refuse_moved(corpus ragdb.corpora) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.last_move_out(corpus);
begin
  raise exception 'corpus % has moved to %',
      ragdb_internal.quote(corpus.name), ragdb_internal.quote(v_move.peer)
    using errcode = 'RG456',
      detail = format('it was closed here at %s; what was recorded of it here can be read here',
        to_char(v_move.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
      hint = 'connect to that database';
end $$;

-- Has the changes of a corpus that leaves noted for the rest of the transaction, and refuses one
-- that has moved; the caller has just locked and read its row. The two settings are those by which
-- the triggers of core/history.sql fire, and note. Raises RG456.
create or replace function ragdb_internal.begin_moving_write(corpus ragdb.corpora) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if corpus.moving = 'moved' then
    perform ragdb_internal.refuse_moved(corpus);
  elsif corpus.moving = 'leaving' then
    perform set_config('ragdb.history', 'on', true), set_config('ragdb.moving', 'on', true);
  end if;
end $$;

-- Returns what a row of a corpus that was written says has changed: d and the numbers of documents,
-- s and the uri of a source. A chunk that goes takes its turn, edges and embedding along, and its
-- document is noted by itself. A document moves with its added edges, which say where the chunk at
-- the other end stands: it has changed when that chunk has.
create or replace function ragdb_internal.changed_keys(
  corpus_id integer, kind text, changed jsonb)
returns text[]
language sql stable parallel safe
return case changed_keys.kind
  when 'document' then array['d ' || (changed ->> 'doc_no')]
  when 'chunk' then array['d ' || (changed ->> 'doc_no')] || array(
    select distinct 'd ' || c.doc_no
    from (
      select e.child_no as chunk_no from ragdb.edges e
      where e.corpus_id = changed_keys.corpus_id
        and e.parent_no = (changed ->> 'chunk_no')::integer and e.is_added
      union all
      select e.parent_no from ragdb.edges e
      where e.corpus_id = changed_keys.corpus_id
        and e.child_no = (changed ->> 'chunk_no')::integer and e.is_added) n
      join ragdb.chunks c on c.corpus_id = changed_keys.corpus_id and c.chunk_no = n.chunk_no)
  when 'source' then array['d ' || (changed ->> 'doc_no'), 's ' || (changed ->> 'uri')]
  when 'synonym' then '{}'
  else array(
    select distinct 'd ' || c.doc_no from ragdb.chunks c
    where c.corpus_id = changed_keys.corpus_id and c.chunk_no in (
      (changed ->> 'chunk_no')::integer, (changed ->> 'parent_no')::integer,
      (changed ->> 'child_no')::integer))
  end;

-- Notes what changed in a corpus that leaves, of a row before and after it was written.
create or replace function ragdb_internal.note_changes(
  corpus_id integer, kind text, was jsonb, becomes jsonb)
returns void
language sql
begin atomic
  insert into ragdb.move_changes (corpus_id, key, version)
    select distinct c.corpus_id, k.key, c.version
    from ragdb.corpora c
      cross join (values (note_changes.was), (note_changes.becomes)) v (changed)
      cross join lateral pg_catalog.unnest(ragdb_internal.changed_keys(
        c.corpus_id, note_changes.kind, v.changed)) k (key)
    where c.corpus_id = note_changes.corpus_id and c.moving = 'leaving' and k.key is not null
    on conflict on constraint move_changes_are_unique do nothing;
end;
