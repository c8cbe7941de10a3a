-- Atoms: statements that rest on hits of an admissible retrieval.

-- Returns the sets of requirements for evidence: least numbers of turns, roles, phases and turns of
-- salience 0.7 or more, whether an exchange is required, and the least mean salience.
create or replace function ragdb_internal.sufficiencies()
returns table (
  name text, turns integer, roles integer, phases integer, high integer, needs_exchange boolean,
  mean numeric)
language sql immutable parallel safe rows 3
begin atomic
  values ('default', 3, 2, 1, 1, true, 0.3),
    ('lenient', 1, 1, 1, 0, false, 0.0),
    ('strict', 5, 2, 2, 2, true, 0.5);
end;

-- Says what the turns among some chunks lack for a set of requirements (default, lenient, strict);
-- null when they suffice. The first thing that is missing, in words that say how much of it.
create or replace function ragdb_internal.insufficiency(
  corpus_id integer, chunk_ids text[], sufficiency text)
returns text
language sql stable parallel safe
begin atomic
  with found as (
    select pg_catalog.count(*) as turns, pg_catalog.count(distinct t.role) as roles,
        pg_catalog.count(distinct t.phase) as phases,
        pg_catalog.count(*) filter (where t.salience >= 0.7::real) as high,
        coalesce(pg_catalog.bool_or(t.role = 'user') and pg_catalog.bool_or(t.role = 'assistant'),
          false) as has_exchange,
        coalesce(pg_catalog.avg(t.salience::numeric), 0) as mean
      from (select distinct pg_catalog.unnest(insufficiency.chunk_ids) as id) i
        cross join lateral (
          select o.chunk_no from ragdb.chunks o
          where o.corpus_id = insufficiency.corpus_id and o.chunk_id = i.id offset 0) c
        cross join lateral (
          select o.role, o.phase, o.salience from ragdb.turns o
          where o.corpus_id = insufficiency.corpus_id and o.chunk_no = c.chunk_no offset 0) t
  )
  select case
      when f.turns < l.turns then
        'insufficient turns: ' || l.turns || ' required, ' || f.turns || ' found'
      when f.roles < l.roles then
        'insufficient roles: ' || l.roles || ' required, ' || f.roles || ' found'
      when f.phases < l.phases then
        'insufficient phases: ' || l.phases || ' required, ' || f.phases || ' found'
      when f.high < l.high then
        'insufficient turns of salience 0.7 or more: ' || l.high || ' required, ' || f.high
          || ' found'
      when l.needs_exchange and not f.has_exchange then
        'no exchange: a turn of a user and one of an assistant are required'
      when f.mean < l.mean then
        'low mean salience: ' || l.mean || ' required, ' || pg_catalog.round(f.mean, 3)
          || ' found'
    end
    from ragdb_internal.sufficiencies() l, found f where l.name = insufficiency.sufficiency;
end;

-- Refuses a text that is not 1 to 10000 characters, chunks that are not a list of 1 to 1000, and an
-- unknown sufficiency. Raises RG400.
create or replace function ragdb_internal.check_atom(
  text text, chunk_ids text[], sufficiency text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(text !~ E'\\S', true) or length(text) > 10000 then
    raise exception 'the text of an atom is 1 to 10000 characters'
      using errcode = 'RG400',
        detail = 'it has ' || coalesce(length(text)::text, 'null'),
        hint = 'state one thing';
  end if;
  if coalesce(cardinality(chunk_ids) not between 1 and 1000, true)
    or not ragdb_internal.is_list(chunk_ids)
  then
    raise exception 'an atom rests on 1 to 1000 chunks'
      using errcode = 'RG400',
        detail = 'chunk_ids ' || coalesce('has ' || cardinality(chunk_ids) || case
          when ragdb_internal.is_list(chunk_ids) then ''
          else ', a null or several dimensions' end, 'is null'),
        hint = 'name hits of the trace';
  end if;
  if not exists (select from ragdb_internal.sufficiencies() s where s.name = sufficiency) then
    raise exception 'sufficiency % is unknown', ragdb_internal.quote(sufficiency)
      using errcode = 'RG400',
        detail = 'it names how much evidence is asked for',
        hint = 'default, lenient or strict';
  end if;
end $$;

-- Says why chunks of a retrieval do not become an atom: NOT_ADMISSIBLE, TRACE_TAMPERED,
-- CHUNK_NOT_RETRIEVED, TOKEN_INVALID or INSUFFICIENT_EVIDENCE; null when they may. Both the rows of
-- the trace and the evidence that its token covers must be as they were signed.
create or replace function ragdb_internal.promotion_refusal(
  trace ragdb.retrieval_traces, chunk_ids text[], sufficiency text)
returns ragdb_internal.refusal
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_foreign text;
  v_token record;
  v_lacks text;
begin
  if not trace.is_admissible then
    return row('NOT_ADMISSIBLE',
      'the retrieval was not admissible (mode ' || trace.retrieval_mode || ')',
      'unverified_evidence_usage', 'critical')::ragdb_internal.refusal;
  elsif exists (select from ragdb.verify_trace(trace.id) v
    where v.subject = 'record' and not v.is_intact)
  then
    return row('TRACE_TAMPERED', 'the rows of the trace are not what was recorded',
      'unverified_evidence_usage', 'critical')::ragdb_internal.refusal;
  end if;
  v_foreign := (select p.id from unnest(chunk_ids) p (id)
    where p.id <> all (array(select h.chunk_id from ragdb.trace_hits(trace.id) h))
    order by p.id collate "C" limit 1);
  if v_foreign is not null then
    return row('CHUNK_NOT_RETRIEVED',
      'chunk ' || ragdb_internal.quote(v_foreign) || ' is not among the hits of the trace',
      'slice_boundary_violation', 'critical')::ragdb_internal.refusal;
  end if;
  select * into strict v_token from ragdb.verify_token(
    trace.corpus, trace.admissibility_token, trace.slice_id, trace.anchor_chunk_id,
    trace.policy_id, trace.policy_params_hash, trace.graph_snapshot_hash, trace.schema_version);
  if not v_token.valid then
    return row('TOKEN_INVALID', v_token.reason, case
      when v_token.reason like 'evidence:%' then 'content_hash_mismatch'
      else 'token_verification_failure' end, 'critical')::ragdb_internal.refusal;
  end if;
  v_lacks := ragdb_internal.insufficiency(trace.corpus_id, chunk_ids, sufficiency);
  if v_lacks is not null then
    return row('INSUFFICIENT_EVIDENCE', v_lacks || case
        when ragdb_internal.insufficiency(trace.corpus_id, chunk_ids, 'lenient') is null
          then '; it is enough for sufficiency lenient' else '' end,
      'insufficient_evidence', 'low')::ragdb_internal.refusal;
  end if;
  return null;
end $$;

-- Keeps a corpus and its documents as they are until the transaction ends. From here on no document
-- of the corpus changes until the transaction ends: an atom cannot rest on one that is being
-- deleted. The row is written as a writer's is: of one that was only locked, a deletion that does
-- not see the atom yet would hear nothing. Raises RG404.
create or replace function ragdb_internal.hold_contents(corpus_id integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  -- first: who had held it otherwise would keep a drop waiting that has the lock
  update ragdb.corpora c set version = c.version where c.corpus_id = hold_contents.corpus_id;
  perform ragdb_internal.hold_corpus(corpus_id);
end $$;

-- Writes an atom (text, chunks, checks) of a retrieval, hashed and signed, and returns its id.
create or replace function ragdb_internal.insert_atom(
  corpus ragdb.corpora, trace ragdb.retrieval_traces, atom ragdb.semantic_atoms)
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key constant ragdb_internal.signer := ragdb_internal.signing_key();
begin
  atom.corpus_id := corpus.corpus_id;
  atom.created_at := ragdb_internal.now();
  atom.atom_id := ragdb_internal.uuid7(atom.created_at);
  atom.text_hash := sha256(ragdb_internal.utf8(atom.text));
  atom.content_hashes :=
    ragdb_internal.evidence_now(corpus.corpus_id, atom.source_chunk_ids);
  atom.source_slice_id := trace.slice_id;
  atom.trace_id := trace.id;
  atom.created_by := ragdb_internal.caller();
  atom.lexemes := ragdb_internal.lexemes(atom.text, corpus.text_config);
  atom.atom_hash := ragdb_internal.atom_hash(atom);
  atom.atom_mac := ragdb_internal.trace_mac(atom.atom_hash, v_key.secret);
  insert into ragdb.semantic_atoms values (atom.*);
  perform ragdb_internal.note('atom', atom.corpus_id || '/' || atom.atom_id, atom.atom_hash);
  return atom.atom_id;
end $$;

create or replace function ragdb.promote_to_atom(
  trace_id uuid, chunk_ids text[], text text, sufficiency text default 'default')
returns table (atom_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- atoms and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace constant ragdb.retrieval_traces := ragdb_internal.open_trace(promote_to_atom.trace_id);
  v_corpus constant ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'write');
  v_refusal ragdb_internal.refusal;
  v_atom ragdb.semantic_atoms;
begin
  perform ragdb_internal.check_atom(promote_to_atom.text, promote_to_atom.chunk_ids,
    promote_to_atom.sufficiency);
  perform ragdb_internal.hold_contents(v_corpus.corpus_id);
  v_refusal := ragdb_internal.promotion_refusal(
    v_trace, promote_to_atom.chunk_ids, promote_to_atom.sufficiency);
  if v_refusal.code is null then
    v_atom.checks := ragdb_internal.claim_checks(
      v_trace, promote_to_atom.chunk_ids, promote_to_atom.text);
    v_refusal := ragdb_internal.unsupported_claim(v_atom.checks);
  end if;
  if v_refusal.code is not null then
    perform ragdb_internal.refuse_promotion(v_corpus.corpus_id, v_trace.id, v_refusal);
    return query select null::uuid, v_refusal.code, v_refusal.reason;
    return;
  end if;
  v_atom.text := promote_to_atom.text;
  v_atom.source_chunk_ids := array(
    select distinct p.id collate "C" from unnest(promote_to_atom.chunk_ids) p (id) order by 1);
  atom_id := ragdb_internal.insert_atom(v_corpus, v_trace, v_atom);
  code := 'PROMOTED';
  return next;
end $$;
comment on function ragdb.promote_to_atom is
  'Makes a statement out of hits of an admissible retrieval (ragdb.retrieve_slice), and returns '
  'its id with code PROMOTED; or refuses with NOT_ADMISSIBLE, TRACE_TAMPERED, CHUNK_NOT_RETRIEVED, '
  'TOKEN_INVALID, INSUFFICIENT_EVIDENCE or CLAIM_UNSUPPORTED (a sentence that none of the chunks '
  'has, case, white space and typography aside), the reason, and an incident. How much evidence is '
  'enough (sufficiency: default, lenient or strict) is counted in turns of conversations: a chunk '
  'of a document is none. Raises RG400, RG401, RG404, RG407.';
