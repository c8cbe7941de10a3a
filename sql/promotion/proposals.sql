-- Proposals: conclusions that rest on atoms of one slice.

-- Says why atoms cannot bear a proposal: one is missing, stale, redacted or tampered, or they come
-- from several slices; null when they can.
create or replace function ragdb_internal.proposal_refusal(
  corpus_id integer, atom_ids uuid[], slice_ids text[])
returns ragdb_internal.refusal
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
  v_bad record;
begin
  select p.id, case when a.atom_id is not null then ragdb_internal.atom_state(a, v_keys) end
      as state
    into v_bad
    from unnest(atom_ids) p (id)
      left join ragdb.semantic_atoms a
        on a.corpus_id = proposal_refusal.corpus_id and a.atom_id = p.id
    where a.atom_id is null or ragdb_internal.atom_state(a, v_keys) <> 'current'
    order by a.atom_id is not null, p.id limit 1;
  if found and v_bad.state is null then
    return row('ATOM_UNKNOWN', 'the corpus has no atom ' || v_bad.id,
      'unverified_evidence_usage', 'high')::ragdb_internal.refusal;
  elsif found then
    return row('ATOM_' || upper(v_bad.state collate "C"),
      format('atom %s is %s', v_bad.id, v_bad.state), 'content_hash_mismatch', 'high')
      ::ragdb_internal.refusal;
  elsif cardinality(slice_ids) > 1 then
    return row('SLICES_MIXED', 'the atoms come from ' || cardinality(slice_ids) || ' slices',
      'slice_boundary_violation', 'high')::ragdb_internal.refusal;
  end if;
  return null;
end $$;

-- Refuses a text that is not 1 to 10000 characters, and atoms that are not a list of 1 to 1000.
-- Raises RG400.
create or replace function ragdb_internal.check_proposal(text text, atom_ids uuid[]) returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_is_list constant boolean := ragdb_internal.is_list(atom_ids::text[]);
begin
  if coalesce(text !~ E'\\S', true) or length(text) > 10000
    or coalesce(cardinality(atom_ids) not between 1 and 1000, true) or not v_is_list
  then
    raise exception 'a proposal is a text of 1 to 10000 characters that rests on 1 to 1000 atoms'
      using errcode = 'RG400',
        detail = 'atom_ids ' || coalesce('has ' || cardinality(atom_ids)
          || case when v_is_list then '' else ', a null or several dimensions' end, 'is null'),
        hint = 'ragdb.promote_to_atom() makes atoms';
  end if;
end $$;

-- Writes a proposal (text, atoms, slice), hashed and signed, and returns its id.
create or replace function ragdb_internal.insert_proposal(
  corpus ragdb.corpora, proposal ragdb.semantic_proposals)
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant ragdb_internal.signer := ragdb_internal.signing_key();
begin
  proposal.corpus_id := corpus.corpus_id;
  proposal.created_at := ragdb_internal.now();
  proposal.proposal_id := ragdb_internal.uuid7(proposal.created_at);
  proposal.text_hash := sha256(ragdb_internal.utf8(proposal.text));
  proposal.created_by := ragdb_internal.caller();
  proposal.lexemes := ragdb_internal.lexemes(proposal.text, corpus.text_config);
  proposal.proposal_hash := ragdb_internal.proposal_hash(proposal);
  proposal.proposal_mac := ragdb_internal.trace_mac(proposal.proposal_hash, v_key.secret);
  insert into ragdb.semantic_proposals values (proposal.*);
  perform ragdb_internal.note('proposal', proposal.corpus_id || '/' || proposal.proposal_id,
    proposal.proposal_hash);
  return proposal.proposal_id;
end $$;

create or replace function ragdb.propose(corpus text, atom_ids uuid[], text text)
returns table (proposal_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(propose.corpus, 'write');
  v_proposal ragdb.semantic_proposals;
  v_slices text[];
  v_refusal ragdb_internal.refusal;
begin
  perform ragdb_internal.check_proposal(propose.text, propose.atom_ids);
  perform ragdb_internal.hold_contents(v_corpus.corpus_id);
  v_slices := array(select distinct a.source_slice_id from ragdb.semantic_atoms a
    where a.corpus_id = v_corpus.corpus_id and a.atom_id = any (propose.atom_ids) order by 1);
  v_refusal := ragdb_internal.proposal_refusal(
    v_corpus.corpus_id, propose.atom_ids, v_slices);
  if v_refusal.code is not null then
    perform ragdb_internal.refuse_promotion(v_corpus.corpus_id, null, v_refusal);
    return query select null::uuid, v_refusal.code, v_refusal.reason;
    return;
  end if;
  v_proposal.text := propose.text;
  v_proposal.source_atoms :=
    array(select distinct p.id from unnest(propose.atom_ids) p (id) order by 1);
  v_proposal.source_slice_id := v_slices[1];
  proposal_id := ragdb_internal.insert_proposal(v_corpus, v_proposal);
  code := 'PROPOSED';
  return next;
end $$;
comment on function ragdb.propose is
  'Stores a conclusion that rests on atoms of one slice and returns its id with code PROPOSED; or '
  'refuses with ATOM_UNKNOWN, ATOM_STALE, ATOM_REDACTED, ATOM_TAMPERED or SLICES_MIXED, the '
  'reason, and an incident. Raises RG400, RG401, RG404.';
