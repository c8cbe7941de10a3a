-- Whether a signature of a trace is what it must be, by all keys that there are.

-- Whether a signature is right (null: it cannot be checked here), the key that made it, and what is
-- wrong.
create type ragdb_internal.signature as (is_intact boolean, key_id text, problem text);

-- Says what is wrong with the keys themselves; null when nothing is.
create or replace function ragdb_internal.keys_problem() returns text
language sql stable parallel safe
return (
  select pg_catalog.concat_ws(': ', f.finding, f.key_id)
    from ragdb_internal.key_findings() f limit 1);

-- Says why a trace of some time must be signed; null when it need not be. Nothing signed: that is
-- right only where no key was active, and the rows of keys can be believed.
create or replace function ragdb_internal.unsigned_problem(
  at timestamptz, signers ragdb_internal.signer[], keys_problem text)
returns text
language sql stable parallel safe
return coalesce(
  (select 'it is not signed, and key ' || s.key_id || ' was active then'
    from pg_catalog.unnest(signers) s
    where s.created_at <= unsigned_problem.at
      and coalesce(least(s.active_until, s.not_after) > unsigned_problem.at, true)
    limit 1),
  'it is not signed, and the keys are not what they were: ' || keys_problem);

-- Says why the signature of a key is worth nothing under a trace of some time; null when it is
-- right. A day's grace after the end of a key: a transaction may be as old as that when it signs.
create or replace function ragdb_internal.signer_problem(
  signer ragdb_internal.signer, at timestamptz)
returns text
language sql stable parallel safe
return case
  when at < pg_catalog.date_trunc('milliseconds', (signer).created_at)
    then 'key ' || (signer).key_id || ' was made after it'
  when at > (signer).active_until + interval '1 day'
    then 'key ' || (signer).key_id || ' had stopped to sign a day before it'
  when at >= (signer).compromised_since
    then 'not to be trusted: key ' || (signer).key_id || ' is reported compromised'
  end;

-- What signatures are judged by: all keys, and what is wrong with the keys themselves. Who judges
-- many signatures reads them once: that takes a hash for each event of a key.
create type ragdb_internal.known_keys as (signers ragdb_internal.signer[], problem text);

-- Returns what signatures are judged by now.
create or replace function ragdb_internal.known_keys() returns ragdb_internal.known_keys
language sql stable parallel safe
return row(ragdb_internal.signers(), ragdb_internal.keys_problem())::ragdb_internal.known_keys;

-- Judges the signature of a trace by its hash, its time and all keys. A signature that only a key
-- that is not at hand can have made is not judged.
create or replace function ragdb_internal.signature(
  hash bytea, mac bytea, at timestamptz, keys ragdb_internal.known_keys)
returns ragdb_internal.signature
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signer ragdb_internal.signer;
  v_may boolean;
  v_absent text;
  v_problem text;
begin
  if mac is null then
    v_problem := ragdb_internal.unsigned_problem(at, keys.signers, keys.problem);
    return row(v_problem is null, null::text, v_problem);
  end if;
  -- to try a secret takes a hash: those that may have made it come first
  foreach v_may in array array[true, false] loop
    foreach v_signer in array keys.signers loop
      v_problem := ragdb_internal.signer_problem(v_signer, at);
      continue when v_may <> (v_problem is null);
      if v_signer.secret is null then
        v_absent := case when v_may then v_signer.key_id else v_absent end;
      elsif mac = ragdb_internal.trace_mac(hash, v_signer.secret) then
        return row(v_may, v_signer.key_id, v_problem);
      end if;
    end loop;
  end loop;
  if v_absent is not null then
    return row(null::boolean, null::text,
      'not checked: the secret of key ' || v_absent || ' is not at hand');
  end if;
  return row(false, null::text, 'none of the keys of this database made it'::text);
end $$;
