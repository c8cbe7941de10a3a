-- Atoms verified, and what has become of their evidence. Nothing of it is stored: an atom is stale
-- from the moment at which a text that it rests on is another.

-- Returns the hashes of what some chunks say now, in their order; null for one that is gone.
create or replace function ragdb_internal.evidence_now(corpus_id integer, chunk_ids text[])
returns bytea[]
language sql stable parallel safe
return array(
  select h.hash
    from pg_catalog.unnest(evidence_now.chunk_ids) with ordinality o (chunk_id, n)
    left join lateral (
      select ragdb_internal.content_hash(c.text) as hash from ragdb.chunks c
      where c.corpus_id = evidence_now.corpus_id and c.chunk_id = o.chunk_id offset 0) h on true
    order by o.n);

-- Returns the state of an atom: tampered (its row is not as it was written), redacted, stale (a
-- chunk that it rests on is gone or says something else) or current.
create or replace function ragdb_internal.atom_state(
  atom ragdb.semantic_atoms, keys ragdb_internal.known_keys)
returns text
language sql stable parallel safe
return case
  when not ragdb_internal.is_sealed((atom).atom_hash, ragdb_internal.atom_hash(atom),
      (atom).atom_mac, (atom).created_at, keys)
    or not ragdb_internal.is_own_text('atom', (atom).corpus_id, (atom).atom_id,
      (atom).atom_hash, (atom).text_hash, (atom).text) then 'tampered'
  when (atom).text is null then 'redacted'
  when ragdb_internal.evidence_now((atom).corpus_id, (atom).source_chunk_ids)
    is distinct from (atom).content_hashes then 'stale'
  else 'current' end;

-- Returns the state of a proposal: tampered, redacted, stale (an atom that it rests on is gone or
-- not current) or current.
create or replace function ragdb_internal.proposal_state(
  proposal ragdb.semantic_proposals, keys ragdb_internal.known_keys)
returns text
language sql stable parallel safe
return case
  when not ragdb_internal.is_sealed((proposal).proposal_hash,
      ragdb_internal.proposal_hash(proposal), (proposal).proposal_mac, (proposal).created_at,
      keys)
    or not ragdb_internal.is_own_text('proposal', (proposal).corpus_id, (proposal).proposal_id,
      (proposal).proposal_hash, (proposal).text_hash, (proposal).text) then 'tampered'
  when (proposal).text is null then 'redacted'
  when exists (
    select from pg_catalog.unnest((proposal).source_atoms) o (atom_id)
      left join ragdb.semantic_atoms a
        on a.corpus_id = (proposal).corpus_id and a.atom_id = o.atom_id
      where a.atom_id is null or ragdb_internal.atom_state(a, keys) <> 'current')
    then 'stale'
  else 'current' end;

-- Returns an atom of a corpus that the caller may read. Raises RG407.
create or replace function ragdb_internal.open_atom(atom_id uuid) returns ragdb.semantic_atoms
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_atom ragdb.semantic_atoms;
begin
  select a.* into v_atom
    from ragdb.corpora c join ragdb.semantic_atoms a on a.corpus_id = c.corpus_id
    where a.atom_id = open_atom.atom_id
      and ragdb_internal.privilege(c) > 0;
  if not found then
    raise exception 'atom % does not exist', ragdb_internal.quote(atom_id::text)
      using errcode = 'RG407',
        detail = 'no atom of that id is visible to role '
          || ragdb_internal.quote(ragdb_internal.caller()),
        hint = 'ragdb.list_atoms() lists the latest; ragdb.list_erasures() those that were erased';
  end if;
  return v_atom;
end $$;

create or replace function ragdb.verify_atom(atom_id uuid)
returns table (field text, is_intact boolean, stored text, recomputed text, subject text)
language plpgsql stable parallel safe security definer -- atoms are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_atom constant ragdb.semantic_atoms := ragdb_internal.open_atom(atom_id);
  v_is_kept constant boolean := exists (
    select from ragdb_internal.trace_at(
      v_atom.trace_id, ragdb_internal.uuid_time(v_atom.trace_id)) t
    where t.corpus_id = v_atom.corpus_id);
begin
  return query
    select v.field, v.stored is not distinct from v.recomputed, v.stored, v.recomputed, v.subject
      from (values
        ('atom_hash', encode(v_atom.atom_hash, 'hex'),
          encode(ragdb_internal.atom_hash(v_atom), 'hex'), 'record'),
        ('text_hash', encode(v_atom.text_hash, 'hex'),
          encode(case when v_atom.text is not null then sha256(ragdb_internal.utf8(v_atom.text))
            when ragdb_internal.is_own_text('atom', v_atom.corpus_id, v_atom.atom_id,
              v_atom.atom_hash, v_atom.text_hash, null) then v_atom.text_hash end, 'hex'),
          'record'),
        ('trace_id', v_atom.trace_id::text,
          case when v_is_kept then v_atom.trace_id::text end, 'evidence'),
        ('evidence',
          encode(ragdb_internal.evidence_hash(
            v_atom.source_chunk_ids, v_atom.content_hashes), 'hex'),
          encode(ragdb_internal.evidence_hash(v_atom.source_chunk_ids,
            ragdb_internal.evidence_now(v_atom.corpus_id, v_atom.source_chunk_ids)), 'hex'),
          'evidence')
      ) as v (field, stored, recomputed, subject)
    union all
    select 'atom_mac', s.is_intact, encode(v_atom.atom_mac, 'hex'),
        coalesce(s.problem, 'signed by key ' || s.key_id, 'no key was active then'), 'record'
      from ragdb_internal.signature(v_atom.atom_hash, v_atom.atom_mac, v_atom.created_at,
        ragdb_internal.known_keys()) s;
end $$;
comment on function ragdb.verify_atom is
  'Recomputes the hashes of an atom. Subject record: from its row, atom_hash (every column but the '
  'text), atom_mac and text_hash, which a redacted text cannot break; is_intact false where the '
  'row was edited or its signature is wrong, and null where the key that signed is not at hand. '
  'Subject evidence: trace_id, whether the retrieval is still there, and evidence, from the texts '
  'of its chunks; is_intact false where one is gone or says something else, whoever changed it. '
  'Raises RG407.';

create or replace function ragdb.list_atoms(corpus text, count integer default 100)
returns table (
  atom_id uuid, state text, text text, source_chunk_ids text[], source_slice_id text,
  trace_id uuid, checks jsonb, created_at timestamptz, created_by text)
language plpgsql stable security definer -- atoms are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus constant ragdb.corpora :=
    ragdb_internal.open_corpus(list_atoms.corpus, 'read', false, true);
  v_keys constant ragdb_internal.known_keys := ragdb_internal.known_keys();
begin
  perform ragdb_internal.check_listed(list_atoms.count, 'atoms');
  return query
    select a.atom_id, ragdb_internal.atom_state(a, v_keys), a.text, a.source_chunk_ids,
        a.source_slice_id, a.trace_id, a.checks, a.created_at, a.created_by
      from ragdb.semantic_atoms a where a.corpus_id = v_corpus.corpus_id
      order by a.atom_id desc limit list_atoms.count;
end $$;
comment on function ragdb.list_atoms is
  'Lists the latest 1 to 10000 atoms of a corpus with what supports each claim (checks) and the '
  'state of each now: current, stale (a chunk is gone or says something else), redacted or '
  'tampered. Raises RG400, RG401, RG404.';
