-- What a verification returns: findings, each with its severity and what to do about it.

create type ragdb.finding as (
  "check" text, severity text, place text, finding text, advice text);
comment on type ragdb.finding is
  'Something that a verification found: error (evidence is not what it was, or nothing guards it), '
  'warning (it cannot be checked, or will be in danger) or note (what a person should know).';

-- One step of a check: how many rows it looked at, where the next step begins (null: it is at its
-- end), and what it found.
create type ragdb_internal.verified as (looked bigint, next jsonb, findings ragdb.finding[]);

-- Returns a step that looked at a batch of rows, of which it might take so many, up to a key. The
-- last key of a batch that was full; a batch that was not is the last one.
create or replace function ragdb_internal.verified(
  looked bigint, most integer, last jsonb, findings ragdb.finding[])
returns ragdb_internal.verified
language sql immutable parallel safe
return row(looked, case when looked >= most then last end, coalesce(findings, '{}'))
  ::ragdb_internal.verified;

-- A row that was checked: the place of a batch that it ends, its name, and what is wrong with it
-- (null: nothing).
create type ragdb_internal.checked_row as (place jsonb, name text, problem text);

-- Returns a step that checked these rows, and one advice for whatever is wrong with them.
create or replace function ragdb_internal.verified_rows(
  "check" text, rows ragdb_internal.checked_row[], most integer, advice text)
returns ragdb_internal.verified
language sql immutable parallel safe
return ragdb_internal.verified(
  pg_catalog.cardinality(rows), most, rows[pg_catalog.cardinality(rows)].place, array(
    select row("check", 'error', r.name, r.problem, advice)::ragdb.finding
      from pg_catalog.unnest(rows) with ordinality r (place, name, problem, n)
      where r.problem is not null order by r.n));

-- Returns a batch of what was recorded last of the things of one kind, in their order.
create or replace function ragdb_internal.recorded_last(kind text, after jsonb, most integer)
returns setof ragdb.recorded_states
language sql stable parallel safe
begin atomic
  select distinct on (r.corpus_id, r.key) r.* from ragdb.recorded_states r
    where r.kind = recorded_last.kind and (r.corpus_id, r.key)
      > (coalesce((after ->> 0)::integer, -1), coalesce(after ->> 1, '') collate "C")
    order by r.corpus_id, r.key, r.nth desc limit most;
end;

-- Returns what a finding or an advice says of a time: its minute, in UTC.
create or replace function ragdb_internal.minute_of(at timestamptz) returns text
language sql stable parallel safe
return pg_catalog.to_char(minute_of.at at time zone 'UTC', 'YYYY-MM-DD HH24:MI');
