-- The kinds of rows that the ledger enters. A kind is a line here, and a note where its rows are
-- written.

-- Returns the kinds of rows that the ledger enters, and for each as SQL its table, the id, time and
-- hash of a row, how an id finds its row, and which rows count. Each line is SQL over a row `r` of
-- the table and a place `l` in the ledger (its id, and out of that corpus_id and uid). The id of
-- what belongs to a corpus begins with the number of the corpus, so that the key of the table finds
-- it. A copy of a row under another time than its id says has an id of its own, which the ledger
-- lacks.
create or replace function ragdb_internal.ledger_kinds()
returns table (
  kind text, relation text, id text, look_up text, made_at text, hash text, counts text)
language sql immutable parallel safe rows 20
begin atomic
  values
    ('access', 'ragdb.access_events', 'r.id::text',
      'r.id = l.uid and r.created_at = ragdb_internal.uuid_time(l.uid)', 'r.created_at',
      'ragdb_internal.access_event_hash(r)', 'true'),
    ('act', 'ragdb.ledger_acts', 'r.act_id::text', 'r.act_id = l.uid', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('answer', 'ragdb.evidence_answers', 'r.corpus_id || ''/'' || r.id || case when'
      ' r.created_at = ragdb_internal.uuid_time(r.id) then '''' else '' at '' || r.created_at end',
      'r.corpus_id = l.corpus_id and r.id = l.uid'
      ' and r.created_at = ragdb_internal.uuid_time(l.uid)', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('atom', 'ragdb.semantic_atoms', 'r.corpus_id || ''/'' || r.atom_id',
      'r.corpus_id = l.corpus_id and r.atom_id = l.uid', 'r.created_at',
      'ragdb_internal.atom_hash(r)', 'true'),
    -- who applied it follows who has the name of that role now (ragdb.bind_role)
    ('contract', 'ragdb.contracts', 'r.contract || ''@'' || r.version',
      'r.contract = split_part(l.id, ''@'', 1) and r.version::text = split_part(l.id, ''@'', 2)',
      'r.applied_at', 'ragdb_internal.sealed_hash(r)', 'true'),
    ('decision', 'ragdb.proposal_decisions', 'r.corpus_id || ''/'' || r.proposal_id',
      'r.corpus_id = l.corpus_id and r.proposal_id = l.uid', 'r.decided_at',
      'ragdb_internal.decision_hash(r)', 'true'),
    ('erasure', 'ragdb.erasures', 'r.erasure_id::text', 'r.erasure_id = l.uid', 'r.created_at',
      'ragdb_internal.erasure_hash(r)', 'true'),
    ('event', 'ragdb.events', 'r.corpus_id || ''/'' || r.event_id',
      'r.corpus_id = l.corpus_id and r.event_id = l.uid', 'r.created_at',
       'ragdb_internal.sealed_hash(r)', 'true'),
    ('feedback', 'ragdb.evidence_feedback', 'r.corpus_id || ''/'' || r.id || case when'
      ' r.created_at = ragdb_internal.uuid_time(r.id) then '''' else '' at '' || r.created_at end',
      'r.corpus_id = l.corpus_id and r.id = l.uid'
      ' and r.created_at = ragdb_internal.uuid_time(l.uid)', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('gate', 'ragdb.evidence_gates', 'r.corpus_id || ''/'' || r.id || case when'
      ' r.created_at = ragdb_internal.uuid_time(r.id) then '''' else '' at '' || r.created_at end',
      'r.corpus_id = l.corpus_id and r.id = l.uid'
      ' and r.created_at = ragdb_internal.uuid_time(l.uid)', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('incident', 'ragdb.admissibility_incidents', 'r.incident_id::text', 'r.incident_id = l.uid',
      'r.created_at', 'ragdb_internal.incident_hash(r)', 'true'),
    ('key', 'ragdb.key_events', 'r.event_no::text', 'r.event_no::text = l.id', 'r.at',
      'ragdb_internal.key_event_hash(r)', 'true'),
    ('policy', 'ragdb.slice_policies', 'r.policy_id || ''@'' || r.params_hash',
      'r.policy_id || ''@'' || r.params_hash = l.id', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('proposal', 'ragdb.semantic_proposals', 'r.corpus_id || ''/'' || r.proposal_id',
      'r.corpus_id = l.corpus_id and r.proposal_id = l.uid', 'r.created_at',
      'ragdb_internal.proposal_hash(r)', 'true'),
    ('rerank', 'ragdb.retrieval_reranks', 'r.corpus_id || ''/'' || r.trace_id',
      'r.corpus_id = l.corpus_id and r.trace_id = l.uid and r.rank = 1'
      ' and r.created_at = ragdb_internal.uuid_time(l.uid)', 'r.recorded_at',
      'ragdb_internal.sealed_hash(r)', 'r.rank = 1'),
    ('run', 'ragdb.eval_runs', 'r.corpus_id || ''/'' || r.run_id',
      'r.corpus_id = l.corpus_id and r.run_id = l.uid', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('slice', 'ragdb.slices', 'r.corpus_id || ''/'' || r.slice_id',
      'r.corpus_id = l.corpus_id and r.slice_id = split_part(l.id, ''/'', 2)', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('state', 'ragdb.recorded_states', 'r.state_id::text',
      'r.state_id = l.uid and r.created_at = ragdb_internal.uuid_time(l.uid)', 'r.created_at',
      'ragdb_internal.state_hash(r)', 'true'),
    ('trace', 'ragdb.retrieval_traces', 'r.corpus_id || ''/'' || r.id',
      'r.corpus_id = l.corpus_id and r.id = l.uid'
      ' and r.created_at = ragdb_internal.uuid_time(l.uid)', 'r.created_at',
      'ragdb_internal.sealed_hash(r)', 'true'),
    ('version', 'ragdb.corpus_versions', 'r.corpus_id || ''/'' || r.version',
      'r.corpus_id = l.corpus_id and r.version::text = split_part(l.id, ''/'', 2)', 'r.began_at',
      'ragdb_internal.version_hash(r)', 'true');
end;

-- A place of the ledger, or one to come, and the parts of its id by which its row is found. What is
-- not an id of ours finds no row, and raises no error.
create type ragdb_internal.ledger_place as (
  number bigint, id text, hash bytea, sealed_at timestamptz, corpus_id integer, uid uuid);

-- Returns a place of the ledger with the parts of its id.
create or replace function ragdb_internal.ledger_place(
  number bigint, id text, hash bytea, sealed_at timestamptz)
returns ragdb_internal.ledger_place
language sql immutable parallel safe
return row(number, id, hash, sealed_at,
  pg_catalog.substring(ledger_place.id, '^([0-9]{1,9})/')::integer,
  pg_catalog.substring(ledger_place.id,
    '([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$')::uuid
  )::ragdb_internal.ledger_place;

-- A place of the ledger beside its row: row_hash and made_at are null where there is no such row.
create type ragdb_internal.ledger_row as (
  number bigint, id text, hash bytea, sealed_at timestamptz, row_hash bytea, made_at timestamptz);

-- Returns places of a kind, each with the hash and the time of its row as it is now.
create or replace function ragdb_internal.ledger_rows(
  kind text, places ragdb_internal.ledger_place[])
returns setof ragdb_internal.ledger_row
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kind record;
begin
  select k.* into v_kind from ragdb_internal.ledger_kinds() k where k.kind = ledger_rows.kind;
  if not found then
    return query select p.number, p.id, p.hash, p.sealed_at, null::bytea, null::timestamptz
      from unnest(places) p;
    return;
  end if;
  -- the registry's own text, and nothing of a row
  return query execute format(
    'select l.number, l.id, l.hash, l.sealed_at, x.hash, x.made_at from unnest($1) l'
    ' left join lateral (select %s, %s from %s r where %s and %s limit 1) x (hash, made_at)'
    ' on true', v_kind.hash, v_kind.made_at, v_kind.relation, v_kind.look_up, v_kind.counts)
    using places;
end $$;

-- Returns the rows of a kind that are neither in the ledger nor noted for it. Of both directions
-- this is the one that finds what nobody noted.
create or replace function ragdb_internal.unsealed_rows(kind text)
returns table (id text, made_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_kind record;
begin
  select k.* into strict v_kind from ragdb_internal.ledger_kinds() k
    where k.kind = unsealed_rows.kind;
  return query execute format(
    'select %1$s, %2$s from %3$s r where %4$s and not exists (select from ragdb.ledger_leaves l'
    ' where l.kind = %5$L and l.id = %1$s) and not exists (select from ragdb.ledger_pending p'
    ' where p.kind = %5$L and p.id = %1$s)',
    v_kind.id, v_kind.made_at, v_kind.relation, v_kind.counts, v_kind.kind);
end $$;
