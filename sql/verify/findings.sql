-- What a verification returns: findings, each with its severity and what to do about it.

create type ragdb.finding as (
  "check" text, severity text, place text, finding text, advice text);
comment on type ragdb.finding is
  'Something that a verification found: error (evidence is not what it was, or nothing guards it), '
  'warning (it cannot be checked, or will be in danger) or note (what a person should know).';

create type ragdb_internal.verified as (looked bigint, next jsonb, findings ragdb.finding[]);
comment on type ragdb_internal.verified is
  'One step of a check: how many rows it looked at, where the next step begins (null: it is at '
  'its end), and what it found.';

-- The last key of a batch that was full; a batch that was not is the last one.
create or replace function ragdb_internal.verified(
  looked bigint, most integer, last jsonb, findings ragdb.finding[])
returns ragdb_internal.verified
language sql immutable parallel safe
return row(looked, case when looked >= most then last end, coalesce(findings, '{}'))
  ::ragdb_internal.verified;
comment on function ragdb_internal.verified(bigint, integer, jsonb, ragdb.finding[]) is
  'Returns a step that looked at a batch of rows, of which it might take so many, up to a key.';
