-- Everything at once, step by step. A new check is a function of the same form and a line here.

-- Lists the checks in their order: whether each is quick, and the function that does a step.
create or replace function ragdb_internal.verifications()
returns table (place integer, "check" text, is_quick boolean, step text)
language sql immutable parallel safe
begin atomic
  select * from (values
    (1, 'code', true, 'ragdb_internal.verify_code'),
    (2, 'triggers', true, 'ragdb_internal.verify_triggers'),
    (3, 'rights', true, 'ragdb_internal.verify_rights'),
    (4, 'keys', true, 'ragdb_internal.verify_keys'),
    (5, 'corpora', true, 'ragdb_internal.verify_corpora'),
    (6, 'pgvector', true, 'ragdb_internal.verify_pgvector'),
    (7, 'policies', true, 'ragdb_internal.verify_policies'),
    (8, 'documents', false, 'ragdb_internal.verify_documents'),
    (9, 'chunks', false, 'ragdb_internal.verify_chunks'),
    (10, 'blobs', false, 'ragdb_internal.verify_blobs'),
    (11, 'slices', false, 'ragdb_internal.verify_slices'),
    (12, 'traces', false, 'ragdb_internal.verify_traces'),
    (13, 'hits', false, 'ragdb_internal.verify_hits'),
    (14, 'reranks', false, 'ragdb_internal.verify_reranks'),
    (15, 'atoms', false, 'ragdb_internal.verify_atoms'),
    (16, 'proposals', false, 'ragdb_internal.verify_proposals'),
    (17, 'decisions', false, 'ragdb_internal.verify_decisions'),
    (18, 'incidents', false, 'ragdb_internal.verify_incidents'),
    (19, 'erasures', false, 'ragdb_internal.verify_erasures'),
    (20, 'ledger', false, 'ragdb_internal.verify_ledger_entries'),
    (21, 'history', false, 'ragdb_internal.verify_history'),
    (22, 'embedders', false, 'ragdb_internal.verify_embedders'),
    (23, 'embeddings', false, 'ragdb_internal.verify_embeddings'),
    (24, 'contracts', false, 'ragdb_internal.verify_contracts'),
    (25, 'states', false, 'ragdb_internal.verify_states'),
    (26, 'edges', false, 'ragdb_internal.verify_edges'),
    (27, 'added_edges', false, 'ragdb_internal.verify_added_edges'),
    (28, 'originals', false, 'ragdb_internal.verify_originals'),
    (29, 'turns', false, 'ragdb_internal.verify_turns'),
    (30, 'peers', false, 'ragdb_internal.verify_peers')
  ) c (place, "check", is_quick, step);
end;

create or replace function ragdb.verification_checks()
returns table ("check" text, is_quick boolean)
language sql stable parallel safe security definer
set search_path = pg_catalog, pg_temp
begin atomic
  select v."check", v.is_quick from ragdb_internal.verifications() v order by v.place;
end;
comment on function ragdb.verification_checks is
  'Lists the checks of ragdb.verify in their order, and which of them are quick.';

-- Refuses checks that there are not, and steps of no or too many rows. Raises RG400.
create or replace function ragdb_internal.check_verification(
  "check" text, most integer, checks text[])
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known constant text[] := array(select v."check"
    from ragdb_internal.verifications() v order by v.place);
  v_wrong constant text := (select u from unnest(array[check_verification."check"] || case
      when ragdb_internal.is_list(checks) then checks end) u
    where u <> all (v_known) limit 1);
begin
  if not ragdb_internal.is_list(checks) then
    raise exception 'checks has a null or more than one dimension'
      using errcode = 'RG400', detail = 'the checks are ' || array_to_string(v_known, ', '),
        hint = 'give a plain list of some of them, or null for all';
  end if;
  if v_wrong is not null then
    raise exception 'there is no check %', ragdb_internal.quote(v_wrong)
      using errcode = 'RG400', detail = 'the checks are ' || array_to_string(v_known, ', '),
        hint = 'give some of them, or null for all';
  end if;
  if most is null or most not between 1 and 100000 then
    raise exception 'most is %', coalesce(most::text, 'null')
      using errcode = 'RG400', detail = 'it is how many rows a step looks at',
        hint = 'give 1 to 100000';
  end if;
end $$;

-- Does one step of a check; where a row makes it raise, that is what it found. A row that cannot be
-- read at all would keep all others from being looked at.
create or replace function ragdb_internal.verified_step(
  "check" text, step text, after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_made ragdb_internal.verified;
begin
  execute format('select (s).* from %s($1, $2) s', step) into strict v_made using after, most;
  return v_made;
exception when others then
  -- it still runs after an upgrade has dropped it, and what it calls
  if sqlerrm ~ '^(cache lookup failed for|could not open relation with OID) ' then
    raise exception 'the functions of ragdb were replaced while they were verified'
      using errcode = '40001', detail = sqlerrm,
        hint = 'verify again; where that does not help, the catalogue is damaged';
  end if;
  -- the server is at fault: locks, resources, an interruption
  if sqlstate ~ '^(25|40|53|54|55|57|58|XX)' then
    raise;
  end if;
  return row(0, null, array[row("check", 'error', 'the check',
    format('it stopped at a row that cannot be read: %s (%s)', sqlerrm, sqlstate),
    'restore what it names from a backup, and verify again')::ragdb.finding])
    ::ragdb_internal.verified;
end $$;

-- So many rows because to share what a static embedder made among workers pays from there on: their
-- start takes a third of 1,000 embeddings.
create or replace function ragdb.verify_step(
  state jsonb default null, most integer default 4000, quick boolean default false,
  checks text[] default null)
returns table ("check" text, looked bigint, findings jsonb, next_state jsonb)
-- definer: all that it reads is granted to nobody
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_place integer;
  v_step text;
  v_made ragdb_internal.verified;
begin
  perform ragdb_internal.check_verification(
    verify_step.state ->> 'check', verify_step.most, verify_step.checks);
  select v.place, v."check", v.step into v_place, "check", v_step
    from ragdb_internal.verifications() v
    where (v.is_quick or quick is not true)
      and (verify_step.checks is null or v."check" = any (verify_step.checks))
      and (verify_step.state is null or v."check" = verify_step.state ->> 'check')
    order by v.place limit 1;
  if not found then
    raise exception '%', case when verify_step.state is null then 'none of these checks is quick'
        else 'state is of no step of this verification' end
      using errcode = 'RG400', detail = 'a quick verification leaves out what reads all rows',
        hint = case when verify_step.state is null then 'leave out quick'
          else 'pass what the step before returned, with the checks and quick that it had' end;
  end if;
  v_made := ragdb_internal.verified_step(
    "check", v_step, nullif(verify_step.state -> 'after', 'null'), verify_step.most);
  looked := v_made.looked;
  findings := to_jsonb(v_made.findings);
  if v_made.next is not null then
    next_state := jsonb_build_object('check', "check", 'after', v_made.next);
  else
    select jsonb_build_object('check', v."check") into next_state
      from ragdb_internal.verifications() v
      where v.place > v_place and (v.is_quick or quick is not true)
        and (verify_step.checks is null or v."check" = any (verify_step.checks))
      order by v.place limit 1;
  end if;
  return next;
end $$;
comment on function ragdb.verify_step is
  'Does one step of ragdb.verify, of most rows (1 to 100000), and returns what it found and the '
  'state that the next step is given; null after the last. Raises RG400.';

create or replace function ragdb.verify(quick boolean default false, checks text[] default null)
returns setof ragdb.finding
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_state jsonb;
  v_findings jsonb;
begin
  loop
    select s.next_state, s.findings into v_state, v_findings
      from ragdb.verify_step(v_state, quick => verify.quick, checks => verify.checks) s;
    return query select f.* from jsonb_populate_recordset(null::ragdb.finding, v_findings) f;
    exit when v_state is null;
  end loop;
end $$;
comment on function ragdb.verify is
  'Verifies all evidence and what guards it: code, triggers, rights, keys, corpora, pgvector, '
  'policies, documents, chunks, blobs, slices, traces, hits, reranks, atoms, proposals, decisions, '
  'incidents, erasures, the ledger, history, static embedders, their embeddings, contracts, '
  'recorded states, edges, which originals there are, turns and what peers signed, or some of '
  'them; quick leaves out those that read all rows. No row means that nothing is wrong. Raises '
  'RG400.';
