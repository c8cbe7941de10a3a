-- Proposals: conclusions that rest on atoms of one slice, and are accepted or rejected once.

create or replace function ragdb_internal.proposal_refusal(
  missing_atom uuid, slice_ids text[])
returns ragdb_internal.refusal
language sql immutable parallel safe
return case
  when missing_atom is not null then row('ATOM_UNKNOWN',
    'the corpus has no atom ' || missing_atom,
    'unverified_evidence_usage', 'high')::ragdb_internal.refusal
  when pg_catalog.cardinality(slice_ids) > 1 then row('SLICES_MIXED',
    'the atoms come from ' || pg_catalog.cardinality(slice_ids) || ' slices',
    'slice_boundary_violation', 'high')::ragdb_internal.refusal end;
comment on function ragdb_internal.proposal_refusal(uuid, text[]) is
  'Says why atoms cannot bear a proposal: one is missing, or they come from several slices; null '
  'when they can.';

create or replace function ragdb.propose(corpus text, atom_ids uuid[], text text)
returns table (proposal_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(propose.corpus, 'write');
  v_is_list constant boolean := ragdb_internal.is_list(propose.atom_ids::text[]);
  v_slices text[];
  v_refusal ragdb_internal.refusal;
begin
  if coalesce(propose.text !~ '\S', true) or length(propose.text) > 10000
    or coalesce(cardinality(propose.atom_ids) not between 1 and 1000, true) or not v_is_list
  then
    raise exception 'a proposal is a text of 1 to 10000 characters that rests on 1 to 1000 atoms'
      using errcode = 'RG400',
        detail = 'atom_ids ' || coalesce('has ' || cardinality(propose.atom_ids)
          || case when v_is_list then '' else ', a null or several dimensions' end, 'is null'),
        hint = 'ragdb.promote_to_atom() makes atoms';
  end if;
  v_slices := array(select distinct a.source_slice_id from ragdb.semantic_atoms a
    where a.corpus_id = v_corpus.corpus_id and a.atom_id = any (propose.atom_ids) order by 1);
  v_refusal := ragdb_internal.proposal_refusal((
    select p.id from unnest(propose.atom_ids) p (id)
      where not exists (select from ragdb.semantic_atoms a
        where a.corpus_id = v_corpus.corpus_id and a.atom_id = p.id) limit 1), v_slices);
  if v_refusal.code is not null then
    perform ragdb_internal.refuse_promotion(v_corpus.corpus_id, null, v_refusal);
    return query select null::uuid, v_refusal.code, v_refusal.reason;
    return;
  end if;
  perform ragdb_internal.hold_corpus(v_corpus.corpus_id);
  proposal_id := ragdb_internal.uuid7(ragdb_internal.now());
  code := 'PROPOSED';
  insert into ragdb.semantic_proposals values (
    v_corpus.corpus_id, proposal_id, propose.text,
    array(select distinct p.id from unnest(propose.atom_ids) p (id) order by 1), v_slices[1],
    'open', ragdb_internal.now(), ragdb_internal.caller(),
    ragdb_internal.lexemes(propose.text, v_corpus.text_config));
  perform ragdb_internal.note('proposal', v_corpus.corpus_id || '/' || proposal_id);
  return next;
end $$;
comment on function ragdb.propose(text, uuid[], text) is
  'Stores a conclusion that rests on atoms of one slice and returns its id with code PROPOSED; or '
  'refuses with ATOM_UNKNOWN or SLICES_MIXED, the reason, and an incident. Raises RG400, RG401, '
  'RG404.';

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
comment on function ragdb_internal.check_decision(uuid, text, text) is
  'Refuses what is not a decision about a proposal. Raises RG400.';

-- What is accepted must still be what was proposed: the slice of its atoms is recomputed from the
-- rows.
create or replace function ragdb.decide_proposal(
  corpus text, proposal_id uuid, decision text, reason text default null)
returns table (code text, detail text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(decide_proposal.corpus, 'write');
  v_proposal ragdb.semantic_proposals;
  v_slice ragdb.slices;
begin
  perform ragdb_internal.check_decision(
    decide_proposal.proposal_id, decide_proposal.decision, decide_proposal.reason);
  select p.* into v_proposal from ragdb.semantic_proposals p
    where p.corpus_id = v_corpus.corpus_id and p.proposal_id = decide_proposal.proposal_id
    for update;
  if not found then
    code := 'PROPOSAL_UNKNOWN';
    detail := 'the corpus has no proposal ' || decide_proposal.proposal_id;
  elsif v_proposal.status <> 'open' then
    code := 'ALREADY_DECIDED';
    detail := format('%s by %s', v_proposal.status, v_proposal.decided_by);
  elsif decide_proposal.decision = 'accepted' then
    v_slice := ragdb_internal.stored_slice(v_corpus.corpus_id, v_proposal.source_slice_id);
    if (ragdb_internal.fingerprinted(v_corpus, v_slice)).slice_id <> v_slice.slice_id then
      code := 'EVIDENCE_CHANGED';
      detail := ragdb_internal.slice_changes(v_slice);
      perform ragdb_internal.refuse_promotion(v_corpus.corpus_id, null, row(
        code, format('proposal %s: %s', v_proposal.proposal_id, detail),
        'content_hash_mismatch', 'high')::ragdb_internal.refusal);
    end if;
  end if;
  if code is null then
    update ragdb.semantic_proposals p
      set status = decide_proposal.decision, decided_at = ragdb_internal.now(),
          decided_by = ragdb_internal.caller(), decision_reason = decide_proposal.reason
      where p.corpus_id = v_corpus.corpus_id and p.proposal_id = v_proposal.proposal_id;
    perform ragdb_internal.note(
      'decision', v_corpus.corpus_id || '/' || v_proposal.proposal_id);
    code := upper(decide_proposal.decision);
  end if;
  return next;
end $$;
comment on function ragdb.decide_proposal(text, uuid, text, text) is
  'Accepts or rejects an open proposal, once, and returns code ACCEPTED or REJECTED; or changes '
  'nothing and returns PROPOSAL_UNKNOWN, ALREADY_DECIDED, or, for an acceptance whose evidence is '
  'not what it was, EVIDENCE_CHANGED with the detail and an incident. Raises RG400, RG401, RG404, '
  'RG435.';

create or replace function ragdb.list_proposals(
  corpus text, state text default null, count integer default 100)
returns table (
  proposal_id uuid, status text, text text, source_atoms uuid[], source_slice_id text,
  created_at timestamptz, created_by text, decided_at timestamptz, decided_by text,
  decision_reason text)
language plpgsql stable parallel safe security definer -- proposals are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(list_proposals.corpus, 'read');
begin
  if coalesce(list_proposals.count not between 1 and 10000, true)
    or list_proposals.state not in ('open', 'accepted', 'rejected')
  then
    raise exception 'count is not 1 to 10000, or state is not one of a proposal'
      using errcode = 'RG400',
        detail = format('count is %s, state %s',
          coalesce(list_proposals.count::text, 'null'),
          ragdb_internal.quote(list_proposals.state)),
        hint = 'open, accepted, rejected, or null for all';
  end if;
  return query
    select p.proposal_id, p.status, p.text, p.source_atoms, p.source_slice_id, p.created_at,
        p.created_by, p.decided_at, p.decided_by, p.decision_reason
      from ragdb.semantic_proposals p
      where p.corpus_id = v_corpus.corpus_id
        and (list_proposals.state is null or p.status = list_proposals.state)
      order by p.created_at desc, p.proposal_id limit list_proposals.count;
end $$;
comment on function ragdb.list_proposals(text, text, integer) is
  'Lists the latest 1 to 10000 proposals of a corpus, of one state (open, accepted, rejected) or '
  'of all. Raises RG400, RG401, RG404.';
