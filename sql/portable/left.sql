-- Moves listed, and given up.

create or replace function ragdb.leave_move(move_id uuid, reopen boolean default false)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_direction constant text := coalesce((
    select m.direction from ragdb.moves m where m.move_id = leave_move.move_id
    order by m.direction limit 1), 'out');
  v_move constant ragdb.moves := ragdb_internal.take_move(leave_move.move_id, v_direction);
  v_id constant integer := v_move.corpus_id;
  v_is_here constant boolean := (ragdb_internal.corpus_row(v_id)).corpus_id is not null;
begin
  if v_move.state = 'left' or v_direction = 'in' and not v_is_here then
    return false;
  elsif v_move.state = 'done' and not (v_direction = 'out' and coalesce(reopen, false)) then
    perform ragdb_internal.refuse_move(
      format('corpus %s has moved', ragdb_internal.quote(v_move.corpus)),
      case v_direction when 'in' then 'it is open here' else 'it may be open at '
        || ragdb_internal.quote(v_move.peer) end,
      case v_direction when 'in' then 'ragdb.drop_corpus() removes it'
        else 'where it is sure that it is not there, pass reopen => true' end);
  elsif not v_is_here then
    perform ragdb_internal.refuse_move(
      format('corpus %s was dropped here', ragdb_internal.quote(v_move.corpus)),
      'what is open, or can be opened, is at ' || ragdb_internal.quote(v_move.peer),
      'ragdb corpus move carries the move on');
  end if;
  if v_direction = 'in' then
    perform ragdb_internal.enter_arrival(leave_move.move_id),
      ragdb_internal.hold_corpus_alone(v_id), ragdb_internal.remove_corpus(v_id);
  else
    perform ragdb_internal.hold_writers(ragdb_internal.corpus_row(v_id), '10 seconds');
    update ragdb.corpora c set moving = null where c.corpus_id = v_id;
    delete from ragdb.move_changes c where c.corpus_id = v_id;
    delete from ragdb.move_documents m where m.corpus_id = v_id;
  end if;
  update ragdb.moves m set state = 'left', ended_at = ragdb_internal.now()
    where m.move_id = v_move.move_id and m.direction = v_direction;
  return true;
end $$;
comment on function ragdb.leave_move is
  'Gives a move up, on the side where it is called, and returns whether it was not yet: what had '
  'arrived is removed, and what was leaving stays as it is. First the side that arrives, then the '
  'other. A corpus that was closed opens again only with reopen, for when the other side is lost. '
  'Raises RG401, RG404, RG457.';

create or replace function ragdb.list_moves(corpus text default null)
returns table (
  move_id uuid, direction text, corpus text, peer text, state text, begun_at timestamptz,
  begun_by text, held_at timestamptz, ended_at timestamptz, left_to_send bigint, header jsonb,
  digest jsonb)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select m.move_id, m.direction, m.corpus, m.peer, m.state, m.begun_at, m.begun_by, m.held_at,
    m.ended_at,
    case when m.direction = 'out' and m.state = 'copying' then (
      select count(distinct c.key) from ragdb.move_changes c where c.corpus_id = m.corpus_id)
      + case when m.is_walked then 0 else (
        select count(*) from ragdb.documents d
        where d.corpus_id = m.corpus_id and d.doc_no > m.walked_to) end end,
    m.header, m.digest
  from ragdb.moves m
  where m.corpus = coalesce(list_moves.corpus, m.corpus)
    and (m.begun_by = ragdb_internal.caller()
      or pg_has_role(ragdb_internal.caller_oid(), 'ragdb_admin', 'usage')
      or pg_has_role(ragdb_internal.caller_oid(), 'ragdb_owner', 'usage')
      or ragdb_internal.is_auditor())
  order by m.begun_at, m.move_id;
end;
comment on function ragdb.list_moves is
  'Lists the moves of corpora, or of one, that the caller began, or all for admins and auditors: '
  'out of this database and into it, their states (copying, ready, done, left), since when the '
  'writers were held at the end, and how many documents and sources are left to send.';
