-- The pages of a corpus that leaves, the hold of its writers, and its end here.

-- Refuses to go on where this transaction has held writers for too long. Raises RG458.
create or replace function ragdb_internal.check_hold(move ragdb.moves) returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if move.held_xid = pg_current_xact_id_if_assigned() and clock_timestamp() > move.held_until then
    raise exception 'the writers of corpus % were held for as long as they may',
        ragdb_internal.quote(move.corpus)
      using errcode = 'RG458', detail = 'the rest took longer than the time given to hold_move',
        hint = 'roll back, carry on with pages, and hold them again, for longer if you can';
  end if;
end $$;

create or replace function ragdb.move_page(
  move_id uuid, applied integer default null, count integer default 1000)
returns table (page integer, number integer, source text, hash bytea, document text, uris text[],
  ordinals integer[], embeddings bytea)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_move ragdb.moves := ragdb_internal.take_move(move_page.move_id, 'out');
begin
  perform ragdb_internal.check_move_state(v_move, '{copying}'),
    ragdb_internal.check_hold(v_move), ragdb_internal.check_page(0, move_page.count);
  if move_page.applied = v_move.page_no then
    perform ragdb_internal.acknowledge_page(v_move);
    v_move := ragdb_internal.take_move(move_page.move_id, 'out');
  end if;
  v_move := ragdb_internal.make_page(v_move, move_page.count);
  return query
    select v_move.page_no, r.* from ragdb_internal.page_rows(v_move) r;
end $$;
comment on function ragdb.move_page is
  'Returns the next documents of a corpus that leaves, of together about count chunks (1 to 1000): '
  'all once, then those that have changed, with their embeddings in big-endian float4; without a '
  'source those that are gone, and in a row without a number the sources that are gone. applied is '
  'the number of the last page, once the other side has it; a page that is not applied comes '
  'again. No row when there is nothing. Raises RG400, RG401, RG404, RG457, RG458.';

create or replace function ragdb.move_originals(
  move_id uuid, after text default '', count integer default 1000)
returns setof text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.take_move(move_originals.move_id, 'out');
begin
  perform ragdb_internal.check_move_state(v_move, '{copying}'),
    ragdb_internal.check_page(0, move_originals.count);
  return query
    select b.cid from ragdb.corpus_blobs b
    where b.corpus_id = v_move.corpus_id and b.cid > move_originals.after
    order by b.cid limit move_originals.count;
end $$;
comment on function ragdb.move_originals is
  'Returns the cids of the next count (1 to 1000) originals of a corpus that leaves, after one; '
  'ragdb.get_blob has their bytes. Raises RG400, RG401, RG404, RG457.';

create or replace function ragdb.hold_move(move_id uuid, longest interval default '10 seconds')
returns timestamptz
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move ragdb.moves := ragdb_internal.take_move(hold_move.move_id, 'out');
begin
  perform ragdb_internal.check_move_state(v_move, '{copying}'),
    ragdb_internal.hold_writers(ragdb_internal.corpus_row(v_move.corpus_id), longest);
  update ragdb.moves m
    set held_xid = pg_current_xact_id(), held_at = clock_timestamp(),
      held_until = clock_timestamp() + longest, digest = null
    where m.move_id = v_move.move_id and m.direction = 'out'
    returning m.* into v_move;
  return v_move.held_until;
end $$;
comment on function ragdb.hold_move is
  'Holds the writers of a corpus that leaves until this transaction ends, for at most longest (10 '
  'ms to 1 hour), and returns until when; a courier that is silent for that long loses its '
  'session. Searches go on. Raises RG400, RG401, RG404, RG457, RG458.';

-- Refuses to end a move whose writers this transaction does not hold, or of which pages are left,
-- and has whoever changes the rights to the corpus wait. Rights go along: whoever would change them
-- waits, and is told that the corpus has moved. Raises RG401, RG404, RG457, RG458.
create or replace function ragdb_internal.check_held(move ragdb.moves) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform ragdb_internal.check_move_state(move, '{copying}'), ragdb_internal.check_hold(move);
  if move.held_xid is distinct from pg_current_xact_id_if_assigned() or not move.is_walked
    or exists (select from ragdb.move_changes c where c.corpus_id = move.corpus_id)
  then
    perform ragdb_internal.refuse_move(
      format('corpus %s is not all there yet', ragdb_internal.quote(move.corpus)),
      'it is written to, or has pages that the other side has not',
      'call ragdb.hold_move(), and then ragdb.move_page() until it returns nothing');
  end if;
  perform ragdb_internal.lock_rights(ragdb_internal.corpus_row(move.corpus_id));
end $$;

create or replace function ragdb.move_digest(move_id uuid) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set extra_float_digits = 1
as $$
declare
  v_move ragdb.moves := ragdb_internal.take_move(move_digest.move_id, 'out');
begin
  perform ragdb_internal.check_held(v_move);
  update ragdb.moves m
    set digest = ragdb_internal.corpus_digest(ragdb_internal.corpus_row(v_move.corpus_id))
    where m.move_id = v_move.move_id and m.direction = 'out'
    returning m.* into v_move;
  return v_move.digest;
end $$;
comment on function ragdb.move_digest is
  'Returns what both sides of a move must agree on, while the writers are held and all pages have '
  'arrived: settings, rights, synonyms, counts, and the hashes of documents and originals. Raises '
  'RG401, RG404, RG457, RG458.';

-- The receipt is not told here: it opens the other side, and this one is not closed before the
-- commit.
create or replace function ragdb.finish_move(move_id uuid) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.take_move(finish_move.move_id, 'out');
begin
  perform ragdb_internal.check_held(v_move);
  update ragdb.moves m
    set state = 'done', ended_at = ragdb_internal.now(),
      -- writers need not wait for the same twice
      digest = coalesce(v_move.digest,
        ragdb_internal.corpus_digest(ragdb_internal.corpus_row(v_move.corpus_id)))
    where m.move_id = v_move.move_id and m.direction = 'out';
  update ragdb.corpora c set moving = 'moved' where c.corpus_id = v_move.corpus_id;
  delete from ragdb.move_documents m where m.corpus_id = v_move.corpus_id;
end $$;
comment on function ragdb.finish_move is
  'Closes a corpus whose writers this transaction holds and that has arrived in all: who asks for '
  'it is told where it went. What was recorded of it can be read here until ragdb.drop_corpus. '
  'Raises RG401, RG404, RG457, RG458.';

create or replace function ragdb.move_receipt(move_id uuid) returns bytea
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_move constant ragdb.moves := ragdb_internal.take_move(move_receipt.move_id, 'out');
begin
  perform ragdb_internal.check_move_state(v_move, '{done}');
  if v_move.held_xid = pg_current_xact_id_if_assigned() then
    perform ragdb_internal.refuse_move(
      format('corpus %s is not closed yet', ragdb_internal.quote(v_move.corpus)),
      'the transaction that closes it has not ended', 'commit, and ask then');
  end if;
  return v_move.receipt;
end $$;
comment on function ragdb.move_receipt is
  'Returns the proof that a corpus is closed here, 32 bytes, with which ragdb.open_move opens it '
  'there. Raises RG401, RG404, RG457.';
