-- Switches the ledger on and off, names it, and notes what nobody noted.

-- Notes every row of evidence that is neither sealed nor noted, and returns how many.
create or replace function ragdb_internal.note_unsealed() returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kind text;
  v_rows bigint;
  v_all bigint := 0;
begin
  for v_kind in select k.kind from ragdb_internal.ledger_kinds() k order by k.kind loop
    insert into ragdb.ledger_pending
      select v_kind, u.id, null from ragdb_internal.unsealed_rows(v_kind) u order by u.made_at;
    get diagnostics v_rows = row_count;
    v_all := v_all + v_rows;
  end loop;
  return v_all;
end $$;

-- Both ways are acts: the ledger says for which times it says nothing.
create or replace function ragdb.set_ledger(is_on boolean) returns bigint
language plpgsql security definer -- the settings are the owner's
set search_path = pg_catalog, pg_temp
as $$
declare
  v_was constant boolean := (select s.is_on from ragdb.ledger_status() s);
begin
  if is_on is null then
    raise exception 'is_on is null'
      using errcode = 'RG400', detail = 'the ledger is on or off',
        hint = 'give true or false';
  end if;
  if is_on <> v_was then
    insert into ragdb.settings as s (key, value) values ('ledger_is_on', to_jsonb(is_on))
      on conflict on constraint settings_key_is_unique do update set value = excluded.value;
    perform ragdb_internal.record_act(row(null, null,
      case when is_on then 'ledger_on' else 'ledger_off' end, null, null, null, null, null, null,
      'set_ledger')::ragdb.ledger_acts);
  end if;
  return case when is_on then ragdb_internal.note_unsealed() else 0 end;
end $$;
comment on function ragdb.set_ledger is
  'Switches the ledger on (as it is at first) or off, which is an act in the ledger; when it is '
  'on, also notes every row of evidence that nobody noted, and returns how many. What another '
  'transaction wrote while it was off and commits later, the next call notes. Raises RG400.';

create or replace function ragdb.name_ledger(origin text default null) returns text
language plpgsql security definer -- the settings are the owner's
set search_path = pg_catalog, pg_temp
as $$
begin
  if origin is null then
    return ragdb_internal.name_ledger();
  elsif origin !~ '^[!-*,-~]{1,200}$' then
    raise exception '% is not the name of a ledger', ragdb_internal.quote(origin)
      using errcode = 'RG400', detail = 'it is a line of every checkpoint',
        hint = 'give 1 to 200 characters of ASCII without a space or +, such as '
          'example.com/evidence';
  end if;
  -- waits for who names it, and for who seals under the name that it has
  insert into ragdb.settings as s (key, value) values ('ledger_origin', to_jsonb(origin))
    on conflict on constraint settings_key_is_unique do update set value = s.value;
  if origin is distinct from ragdb_internal.ledger_origin()
    and exists (select from ragdb.ledger_leaves)
  then
    raise exception 'the ledger is named %', ragdb_internal.quote(ragdb_internal.ledger_origin())
      using errcode = 'RG481', detail = 'entries were sealed under that name',
        hint = 'name a ledger before its first sealing';
  end if;
  update ragdb.settings s set value = to_jsonb(origin) where s.key = 'ledger_origin';
  return origin;
end $$;
comment on function ragdb.name_ledger is
  'Names this database in the checkpoints of its ledger, such as example.com/evidence, before the '
  'first sealing; for null makes a name where there is none; returns the name. Raises RG400, '
  'RG481.';

create or replace function ragdb.record_erasure(entries text[], reason text) returns void
language plpgsql security definer -- acts are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(cardinality(entries) not between 1 and 10000, true)
    or not ragdb_internal.is_list(entries)
    or exists (select from unnest(entries) e (entry)
      where e.entry !~ '^[a-z_]{1,64}:.' or length(e.entry) > 1065)
    or coalesce(length(reason) not between 1 and 10000, true)
  then
    raise exception 'an erasure names 1 to 10000 rows, and a reason'
      using errcode = 'RG400',
        detail = 'a row is named by its kind and its id in the ledger, such as trace:1/0199…',
        hint = 'ragdb.ledger_entries() lists both';
  end if;
  perform ragdb_internal.record_erased(entries, reason);
end $$;
comment on function ragdb.record_erasure is
  'Records, as an act in the ledger, that 1 to 10000 rows, each named kind:id, were erased or '
  'redacted on purpose, and why (1 to 10000 characters); ragdb.verify_ledger then misses them no '
  'more. Raises RG400.';
