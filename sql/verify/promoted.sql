-- Atoms and proposals against what they rest on, decisions, incidents and erasures against their
-- signatures, and the rows of all evidence against the ledger.

-- Tells whether an atom or a proposal of a corpus is found by other lexemes than those of its text.
-- Where another major version of PostgreSQL stemmed the corpus nobody can tell: ragdb.advice() asks
-- for its repair.
create or replace function ragdb_internal.is_found_otherwise(
  corpus ragdb.corpora, text text, lexemes tsvector)
returns boolean
language sql stable parallel safe
return (corpus).analysed_by = ragdb_internal.server_major()
  and is_found_otherwise.lexemes
    <> ragdb_internal.lexemes(is_found_otherwise.text, (corpus).text_config);

-- Compares a batch of atoms with the traces and hits that they rest on, and with their lexemes.
create or replace function ragdb_internal.verify_atoms(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  return ragdb_internal.verified_rows('atoms', array(
    select row(jsonb_build_array(a.corpus_id, a.atom_id), 'atom ' || a.atom_id, case
        when t.id is null and ragdb_internal.uuid_time(a.trace_id) >= k.kept_from
            and not ragdb_internal.is_row_erased('trace', a.corpus_id, a.trace_id)
          then 'the trace that it rests on is gone'
        when t.slice_id <> a.source_slice_id then 'its slice is not that of its trace'
        when t.id is not null and exists (
            select from unnest(a.source_chunk_ids) u (id) where not exists (
              select from ragdb.retrieval_hits h where h.corpus_id = t.corpus_id
                and h.trace_id = t.id and h.created_at = t.created_at and h.chunk_id = u.id))
          then 'it rests on chunks that its trace did not find'
        when ragdb_internal.atom_state(a, v_keys) = 'tampered'
          then 'its row is not what was recorded'
        when ragdb_internal.is_found_otherwise(c, a.text, a.lexemes)
          then 'it is found by another text than its own' end)::ragdb_internal.checked_row
      from ragdb.semantic_atoms a
        join ragdb.corpora c on c.corpus_id = a.corpus_id
        left join ragdb.retrieval_traces t on t.corpus_id = a.corpus_id and t.id = a.trace_id
          and t.created_at = ragdb_internal.uuid_time(a.trace_id)
        cross join lateral (select coalesce((select (s.value #>> '{}')::timestamptz
          from ragdb.settings s where s.key = 'traces_kept_from'), '-infinity') as kept_from) k
      where (a.corpus_id, a.atom_id) > (coalesce((after ->> 0)::integer, -1),
        coalesce(after ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
      order by a.corpus_id, a.atom_id limit most), most, 'restore it from a backup');
end $$;

-- Compares a batch of proposals with the atoms that they rest on, and with their lexemes.
create or replace function ragdb_internal.verify_proposals(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  return ragdb_internal.verified_rows('proposals', array(
    select row(jsonb_build_array(p.corpus_id, p.proposal_id), 'proposal ' || p.proposal_id, case
        when exists (select from unnest(p.source_atoms) u (id) where not exists (
            select from ragdb.semantic_atoms a
              where a.corpus_id = p.corpus_id and a.atom_id = u.id))
          then 'an atom that it rests on is gone'
        when ragdb_internal.proposal_state(p, v_keys) = 'tampered'
          then 'its row is not what was recorded'
        when ragdb_internal.is_found_otherwise(c, p.text, p.lexemes)
          then 'it is found by another text than its own' end)::ragdb_internal.checked_row
      from ragdb.semantic_proposals p join ragdb.corpora c on c.corpus_id = p.corpus_id
      where (p.corpus_id, p.proposal_id) > (coalesce((after ->> 0)::integer, -1),
        coalesce(after ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
      order by p.corpus_id, p.proposal_id limit most), most, 'restore it from a backup');
end $$;

-- A row that is hashed and signed: the place of a batch that it ends, its name, and whether its
-- hash is of what it says.
create type ragdb_internal.signed_row as (
  place jsonb, name text, is_own boolean, hash bytea, mac bytea, at timestamptz);

-- Verifies the hashes and signatures of a batch of rows. A signature whose key is not at hand is
-- not judged: the check of keys says so.
create or replace function ragdb_internal.verify_signed(
  "check" text, rows ragdb_internal.signed_row[], most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  return ragdb_internal.verified(cardinality(rows), most, rows[cardinality(rows)].place, array(
    select row("check", 'error', r.name, 'its row is not what was recorded',
        'restore it from a backup')::ragdb.finding
      from unnest(rows) with ordinality r (place, name, is_own, hash, mac, at, n)
        cross join lateral ragdb_internal.signature(r.hash, r.mac, r.at, v_keys) s
      where r.is_own is not true or s.is_intact is false order by r.n));
end $$;

-- Verifies a batch of decisions, and their reasons.
create or replace function ragdb_internal.verify_decisions(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return ragdb_internal.verify_signed('decisions', array(
  select row(jsonb_build_array(d.corpus_id, d.proposal_id), 'decision on ' || d.proposal_id,
      d.decision_hash = ragdb_internal.decision_hash(d) and ragdb_internal.is_own_reason(d),
      d.decision_hash, d.decision_mac, d.decided_at)::ragdb_internal.signed_row
    from ragdb.proposal_decisions d
    where (d.corpus_id, d.proposal_id) > (coalesce((after ->> 0)::integer, -1),
      coalesce(after ->> 1, '00000000-0000-0000-0000-000000000000')::uuid)
    order by d.corpus_id, d.proposal_id limit most), most);

-- Verifies a batch of incidents. Any id comes after the place before the first.
create or replace function ragdb_internal.verify_incidents(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return ragdb_internal.verify_signed('incidents', array(
  select row(jsonb_build_array(i.incident_id), 'incident ' || i.incident_id,
      i.incident_hash = ragdb_internal.incident_hash(i),
      i.incident_hash, i.incident_mac, i.created_at)::ragdb_internal.signed_row
    from ragdb.admissibility_incidents i
    where (i.incident_id, 1) > (
      coalesce(after ->> 0, '00000000-0000-0000-0000-000000000000')::uuid,
      (after is not null)::integer)
    order by i.incident_id limit most), most);

-- Verifies a batch of erasures.
create or replace function ragdb_internal.verify_erasures(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return ragdb_internal.verify_signed('erasures', array(
  select row(jsonb_build_array(e.erasure_id), 'erasure ' || e.erasure_id,
      e.erasure_hash = ragdb_internal.erasure_hash(e),
      e.erasure_hash, e.erasure_mac, e.created_at)::ragdb_internal.signed_row
    from ragdb.erasures e
    where (e.erasure_id, 1) > (
      coalesce(after ->> 0, '00000000-0000-0000-0000-000000000000')::uuid,
      (after is not null)::integer)
    order by e.erasure_id limit most), most);

-- Returns what ragdb.verify_ledger finds from an entry on: the first 4,000, and how many more. A
-- step returns its findings as one value, which has a limit; a ledger that nobody used while a
-- million rows were written would be beyond it. All of a step of the default size are named.
create or replace function ragdb_internal.ledger_findings(first bigint, most integer)
returns ragdb.finding[]
language sql stable parallel safe
begin atomic
  with found as materialized (
    select f.*, pg_catalog.row_number() over () as n, pg_catalog.count(*) over () as total,
        l.named
      from ragdb.verify_ledger(ledger_findings.first, ledger_findings.most) f
        cross join (select 4000 as named) l
  )
  select coalesce(pg_catalog.array_agg(row('ledger', 'error', case when f.n <= f.named
        then pg_catalog.concat_ws(' ', f.kind, f.id, 'entry ' || f.number) else 'the ledger' end,
      case when f.n <= f.named then f.finding || ': ' || f.detail
        else pg_catalog.format('%s more findings', f.total - f.named) end,
      case when f.n <= f.named
        then 'compare it with a backup and with the checkpoints kept outside: ragdb ledger verify'
        else 'ragdb.verify_ledger() lists them' end)::ragdb.finding order by f.n), '{}')
    from found f where f.n <= f.named + 1;
end;

-- Compares a batch of entries of the ledger with the rows, and at its end looks for rows that it
-- lacks.
create or replace function ragdb_internal.verify_ledger_entries(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first constant bigint := coalesce((after ->> 0)::bigint, 0);
  -- by the entries and not by the size that the ledger says it has, which can be edited
  v_next constant bigint := (select min(l.number) from ragdb.ledger_leaves l
    where l.number >= v_first + most);
begin
  return row((select count(*) from ragdb.ledger_leaves l
      where l.number >= v_first and l.number < v_first + most),
    case when v_next is not null then jsonb_build_array(v_next) end,
    ragdb_internal.ledger_findings(v_first, most))::ragdb_internal.verified;
end $$;
