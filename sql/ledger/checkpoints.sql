-- Checkpoints: the text that is signed outside the database, and the signed notes that came back.

-- The log stays as it was written, for its owner too.
select ragdb_internal.make_append_only('ledger_leaves'),
  ragdb_internal.make_append_only('ledger_acts');

-- Returns what a checkpoint of a size says: origin, size and root in base64, a line each. Raises
-- RG482.
create or replace function ragdb_internal.checkpoint_body(size bigint) returns text
language sql stable parallel safe
return ragdb_internal.ledger_origin() || E'\n' || checkpoint_body.size || E'\n'
  || pg_catalog.encode(ragdb_internal.sound_root(0, checkpoint_body.size), 'base64') || E'\n';

create or replace function ragdb.ledger_checkpoint(size bigint default null) returns text
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  if ragdb_internal.ledger_origin() is null then
    raise exception 'the ledger has no name'
      using errcode = 'RG481', detail = 'nothing was sealed yet',
        hint = 'ragdb.seal_ledger() seals; ragdb.name_ledger() names';
  end if;
  return ragdb_internal.checkpoint_body(ragdb_internal.check_ledger_size(size));
end $$;
comment on function ragdb.ledger_checkpoint is
  'Returns the text of a checkpoint of a size, by default of the whole ledger, to be signed '
  'outside the database (C2SP tlog-checkpoint). Raises RG400, RG481, RG482.';

-- The signatures are for those who have the keys; the database checks that the text is its own.
create or replace function ragdb.store_checkpoint(note text) returns bigint
language plpgsql security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_body constant text := split_part(note, E'\n\n', 1) || E'\n';
  v_lines constant text[] := string_to_array(v_body, E'\n');
  v_size bigint;
begin
  if note is null or length(note) > 65536 or v_lines[2] is null
    or v_lines[2] !~ '^(0|[1-9][0-9]{0,17})$' or note !~ E'\n\n(— [^ \n]+ [A-Za-z0-9+/=]+\n)+$'
  then
    raise exception 'this is not a signed checkpoint'
      using errcode = 'RG400',
        detail = 'it is the text of ragdb.ledger_checkpoint(), an empty line, and lines of '
          'signatures',
        hint = '`ragdb ledger checkpoint` signs and stores one';
  end if;
  v_size := ragdb_internal.check_ledger_size(v_lines[2]::bigint);
  if v_body is distinct from ragdb_internal.checkpoint_body(v_size) then
    raise exception 'this checkpoint is not of this ledger'
      using errcode = 'RG481',
        detail = format('at size %s the ledger %s has another root or name', v_size,
          ragdb_internal.quote(ragdb_internal.ledger_origin())),
        hint = 'where it was signed for this database, the ledger was changed since: run '
          'ragdb ledger verify on both';
  end if;
  insert into ragdb.ledger_checkpoints as c (size, root, note, created_at)
    values (v_size, ragdb_internal.sound_root(0, v_size), note, ragdb_internal.now())
    on conflict on constraint ledger_checkpoints_size_is_unique do update
      set note = c.note || (
        select coalesce(string_agg(n.line || E'\n', '' order by n.nth), '')
        from string_to_table(rtrim(split_part(excluded.note, E'\n\n', 2), E'\n'), E'\n')
          with ordinality n (line, nth)
        where strpos(c.note, E'\n' || n.line || E'\n') = 0);
  return v_size;
end $$;
comment on function ragdb.store_checkpoint is
  'Stores a signed checkpoint of this ledger, adds the signatures that the stored one of its size '
  'lacks, and returns its size. Raises RG400, RG481, RG482.';

create or replace function ragdb.list_checkpoints(count integer default 100)
returns table (size bigint, root bytea, note text, created_at timestamptz)
language plpgsql stable parallel safe security definer -- the ledger is granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  perform ragdb_internal.check_listed(list_checkpoints.count, 'checkpoints');
  return query select c.size, c.root, c.note, c.created_at from ragdb.ledger_checkpoints c
    order by c.size desc limit list_checkpoints.count;
end $$;
comment on function ragdb.list_checkpoints is
  'Lists the last 1 to 10000 stored checkpoints, the largest first. Raises RG400.';
