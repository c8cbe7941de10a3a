-- Decisions: a proposal is accepted or rejected once.

-- Refuses what is not a decision about a proposal. Raises RG400.
create or replace function ragdb_internal.check_decision(
  proposal_id uuid, decision text, reason text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(decision not in ('accepted', 'rejected'), true) then
    raise exception '% is not a decision', ragdb_internal.quote(decision)
      using errcode = 'RG400',
        detail = 'a proposal is decided once',
        hint = 'accepted or rejected';
  end if;
  if proposal_id is null or length(reason) > 10000 then
    raise exception 'a decision names a proposal and gives at most 10000 characters of reason'
      using errcode = 'RG400',
        detail = 'the reason has ' || coalesce(length(reason)::text, 'no') || ' characters',
        hint = 'ragdb.list_proposals() lists proposals';
  end if;
end $$;

-- Says why a proposal may not be accepted any more: its slice has changed, or it or an atom of it
-- is not current; null when it may. What is accepted must still be what was proposed: its atoms
-- must be current, and the slice of its atoms is recomputed from the rows. Raises RG435.
create or replace function ragdb_internal.acceptance_problem(
  corpus ragdb.corpora, proposal ragdb.semantic_proposals)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_slice constant ragdb.slices :=
    ragdb_internal.stored_slice(corpus.corpus_id, proposal.source_slice_id);
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
  v_state constant text := ragdb_internal.proposal_state(proposal, v_keys);
begin
  if (ragdb_internal.fingerprinted(corpus, v_slice)).slice_id <> v_slice.slice_id then
    return ragdb_internal.slice_changes(v_slice);
  end if;
  return (
    select 'it is ' || v_state || coalesce('; ' || string_agg(
        format('atom %s is %s', o.atom_id, coalesce(ragdb_internal.atom_state(a, v_keys), 'gone')),
        ', ' order by o.atom_id), '')
      from unnest(proposal.source_atoms) o (atom_id)
        left join ragdb.semantic_atoms a
          on a.corpus_id = corpus.corpus_id and a.atom_id = o.atom_id
      where v_state <> 'current' and (a.atom_id is null
        or ragdb_internal.atom_state(a, v_keys) <> 'current')
      having v_state <> 'current');
end $$;

-- Writes the decision about a proposal, hashed and signed; false where it was decided before.
create or replace function ragdb_internal.insert_decision(
  proposal ragdb.semantic_proposals, decision text, reason text)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant ragdb_internal.signer := ragdb_internal.signing_key();
  v_row ragdb.proposal_decisions;
begin
  v_row.corpus_id := proposal.corpus_id;
  v_row.proposal_id := proposal.proposal_id;
  v_row.decision := decision;
  v_row.reason := reason;
  v_row.reason_hash := sha256(ragdb_internal.utf8(reason));
  v_row.decided_at := ragdb_internal.now();
  v_row.decided_by := ragdb_internal.caller();
  v_row.decision_hash := ragdb_internal.decision_hash(v_row);
  v_row.decision_mac := ragdb_internal.trace_mac(v_row.decision_hash, v_key.secret);
  insert into ragdb.proposal_decisions values (v_row.*)
    on conflict on constraint proposal_decisions_are_made_once do nothing;
  if not found then
    return false;
  end if;
  perform ragdb_internal.note('decision', v_row.corpus_id || '/' || v_row.proposal_id,
    v_row.decision_hash);
  return true;
end $$;

create or replace function ragdb.decide_proposal(
  corpus text, proposal_id uuid, decision text, reason text default null)
returns table (code text, detail text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(decide_proposal.corpus, 'write');
  v_proposal ragdb.semantic_proposals;
begin
  perform ragdb_internal.check_decision(
    decide_proposal.proposal_id, decide_proposal.decision, decide_proposal.reason);
  perform ragdb_internal.hold_contents(v_corpus.corpus_id);
  select p.* into v_proposal from ragdb.semantic_proposals p
    where p.corpus_id = v_corpus.corpus_id and p.proposal_id = decide_proposal.proposal_id;
  if not found then
    code := 'PROPOSAL_UNKNOWN';
    detail := 'the corpus has no proposal ' || decide_proposal.proposal_id;
    return next;
    return;
  end if;
  if decide_proposal.decision = 'accepted' and not exists (
      select from ragdb.proposal_decisions d
      where d.corpus_id = v_corpus.corpus_id and d.proposal_id = v_proposal.proposal_id) then
    detail := ragdb_internal.acceptance_problem(v_corpus, v_proposal);
  end if;
  if detail is not null then
    code := 'EVIDENCE_CHANGED';
    perform ragdb_internal.refuse_promotion(v_corpus.corpus_id, null, row(
      code, format('proposal %s: %s', v_proposal.proposal_id, detail),
      'content_hash_mismatch', 'high')::ragdb_internal.refusal);
  elsif ragdb_internal.insert_decision(
      v_proposal, decide_proposal.decision, decide_proposal.reason) then
    code := upper(decide_proposal.decision collate "C");
  else
    code := 'ALREADY_DECIDED';
    detail := (
      select format('%s by %s', d.decision, d.decided_by) from ragdb.proposal_decisions d
      where d.corpus_id = v_corpus.corpus_id and d.proposal_id = v_proposal.proposal_id);
  end if;
  return next;
end $$;
comment on function ragdb.decide_proposal is
  'Accepts or rejects an open proposal, once, and returns code ACCEPTED or REJECTED; or changes '
  'nothing and returns PROPOSAL_UNKNOWN, ALREADY_DECIDED, or, for an acceptance whose slice or '
  'atoms are not what they were, EVIDENCE_CHANGED with the detail and an incident. Raises RG400, '
  'RG401, RG404, RG435.';

-- Tells whether the reason of a decision is that of its hash, or was taken away by an erasure.
create or replace function ragdb_internal.is_own_reason(decision ragdb.proposal_decisions)
returns boolean
language sql stable parallel safe
return ragdb_internal.is_own_text('decision', (decision).corpus_id, (decision).proposal_id,
  (decision).decision_hash, (decision).reason_hash, (decision).reason);

create or replace function ragdb.list_proposals(
  corpus text, state text default null, count integer default 100)
returns table (
  proposal_id uuid, status text, evidence_state text, text text, source_atoms uuid[],
  source_slice_id text,
  created_at timestamptz, created_by text, decided_at timestamptz, decided_by text,
  decision_reason text)
language plpgsql stable security definer -- proposals are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(list_proposals.corpus, 'read', false, true);
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  perform ragdb_internal.check_listed(list_proposals.count, 'proposals');
  if list_proposals.state not in ('open', 'accepted', 'rejected') then
    raise exception 'state % is unknown', ragdb_internal.quote(list_proposals.state)
      using errcode = 'RG400', detail = 'states are open, accepted and rejected',
        hint = 'leave state out for all of them';
  end if;
  return query
    select p.proposal_id, coalesce(d.decision, 'open'),
        case when d.proposal_id is null or ragdb_internal.is_sealed(d.decision_hash,
            ragdb_internal.decision_hash(d), d.decision_mac, d.decided_at, v_keys)
            and ragdb_internal.is_own_reason(d)
          then ragdb_internal.proposal_state(p, v_keys) else 'tampered' end,
        p.text, p.source_atoms, p.source_slice_id, p.created_at, p.created_by, d.decided_at,
        d.decided_by, d.reason
      from ragdb.semantic_proposals p
        left join lateral (select m.* from ragdb.proposal_decisions m
          where m.corpus_id = p.corpus_id and m.proposal_id = p.proposal_id offset 0) d on true
      where p.corpus_id = v_corpus.corpus_id
        and (list_proposals.state is null
          or coalesce(d.decision, 'open') = list_proposals.state)
      order by p.proposal_id desc limit list_proposals.count;
end $$;
comment on function ragdb.list_proposals is
  'Lists the latest 1 to 10000 proposals of a corpus, of one state (open, accepted, rejected) or '
  'of all; evidence_state says what has become of each: current, stale (an atom that it rests on '
  'is not current), redacted or tampered. Raises RG400, RG401, RG404.';
