-- Promotion: the only way from what was retrieved to what is known. Every refusal is a row that
-- says why, and an incident.

-- The first thing that is missing, in words that say how much of it; null when the evidence
-- suffices.
create or replace function ragdb_internal.insufficiency(corpus_id integer, chunk_ids text[],
  sufficiency text) returns text
language sql stable parallel safe
begin atomic
  with least_of (name, turns, roles, phases, high, needs_exchange, mean) as (
    values ('default', 3, 2, 1, 1, true, 0.3), ('lenient', 1, 1, 1, 0, false, 0.0),
      ('strict', 5, 2, 2, 2, true, 0.5)
  ), found as (
    select pg_catalog.count(*) as turns, pg_catalog.count(distinct t.role) as roles,
      pg_catalog.count(distinct t.phase) as phases,
        pg_catalog.count(*) filter (where t.salience >= 0.7::real) as high,
        coalesce(pg_catalog.bool_or(t.role = 'user') and pg_catalog.bool_or(t.role = 'assistant'),
          false) as has_exchange,
        coalesce(pg_catalog.avg(t.salience::numeric), 0) as mean
      from ragdb.chunks c join ragdb.turns t using (corpus_id, chunk_no)
      where c.corpus_id = insufficiency.corpus_id and c.chunk_id = any(insufficiency.chunk_ids)
  )
  select case
      when f.turns < l.turns then 'insufficient turns: ' || l.turns || ' required, ' || f.turns
        || ' found'
      when f.roles < l.roles then 'insufficient roles: ' || l.roles || ' required, ' || f.roles
        || ' found'
      when f.phases < l.phases then 'insufficient phases: ' || l.phases || ' required, '
        || f.phases || ' found'
      when f.high < l.high then 'insufficient turns of salience 0.7 or more: ' || l.high
        || ' required, ' || f.high || ' found'
      when l.needs_exchange and not f.has_exchange
        then 'no exchange: a turn of a user and one of an assistant are required'
      when f.mean < l.mean then 'low mean salience: ' || l.mean || ' required, '
        || pg_catalog.round(f.mean, 3) || ' found'
    end
    from least_of l, found f where l.name = insufficiency.sufficiency;
end;
comment on function ragdb_internal.insufficiency(integer, text[], text) is
  'Says what the turns among some chunks lack for a set of requirements (default, lenient, '
  'strict); null when they suffice.';

create or replace function ragdb.promote_to_atom(
  trace_id uuid, chunk_ids text[], text text, sufficiency text default 'default')
returns table (atom_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- atoms and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb_internal.open_trace(promote_to_atom.trace_id);
  v_corpus ragdb.corpora := ragdb_internal.open_corpus(v_trace.corpus, 'write');
  v_kind text;
  v_severity text := 'critical';
  v_found record;
begin
  if coalesce(promote_to_atom.text !~ '\S', true) or length(promote_to_atom.text) > 10000 then
    raise exception 'the text of an atom is 1 to 10000 characters'
      using errcode = 'RG400', detail = 'it has ' || coalesce(length(promote_to_atom.text)::text,
        'null'), hint = 'state one thing';
  end if;
  if coalesce(cardinality(promote_to_atom.chunk_ids) not between 1 and 1000, true)
    or not ragdb_internal.is_list(promote_to_atom.chunk_ids)
  then
    raise exception 'an atom rests on 1 to 1000 chunks'
      using errcode = 'RG400', detail = 'chunk_ids ' || coalesce('has '
        || cardinality(promote_to_atom.chunk_ids)
          || case when ragdb_internal.is_list(promote_to_atom.chunk_ids)
          then '' else ', a null or several dimensions' end, 'is null'),
            hint = 'name hits of the trace';
  end if;
  if coalesce(promote_to_atom.sufficiency not in ('default', 'lenient', 'strict'), true) then
    raise exception 'sufficiency % is unknown', ragdb_internal.quote(promote_to_atom.sufficiency)
      using errcode = 'RG400', detail = 'it names how much evidence is asked for',
        hint = 'default, lenient or strict';
  end if;
  if not v_trace.is_admissible then
    code := 'NOT_ADMISSIBLE'; v_kind := 'unverified_evidence_usage';
    reason := 'the retrieval was not admissible (mode ' || v_trace.retrieval_mode || ')';
  elsif exists (select from ragdb.verify_trace(v_trace.id) v where not v.is_intact) then
    code := 'TRACE_TAMPERED'; v_kind := 'unverified_evidence_usage';
    reason := 'the rows of the trace are not what was recorded';
  elsif exists (select from unnest(promote_to_atom.chunk_ids) p (id)
      where not p.id = any(array(select h.chunk_id from ragdb.trace_hits(v_trace.id) h))) then
    code := 'CHUNK_NOT_RETRIEVED'; v_kind := 'slice_boundary_violation';
    select 'chunk ' || ragdb_internal.quote(p.id) || ' is not among the hits of the trace' into reason
      from unnest(promote_to_atom.chunk_ids) p (id)
      where not p.id = any(array(select h.chunk_id from ragdb.trace_hits(v_trace.id) h))
        order by p.id collate "C" limit 1;
  else
    select * into strict v_found from ragdb.verify_token(v_trace.corpus,
      v_trace.admissibility_token, v_trace.slice_id,
      v_trace.anchor_chunk_id, v_trace.policy_id, v_trace.policy_params_hash,
        v_trace.graph_snapshot_hash, v_trace.schema_version);
    if not v_found.valid then
      code := 'TOKEN_INVALID'; reason := v_found.reason;
      v_kind := case when v_found.reason like 'evidence:%' then 'content_hash_mismatch'
        else 'token_verification_failure' end;
    else
      reason := ragdb_internal.insufficiency(v_corpus.corpus_id, promote_to_atom.chunk_ids,
        promote_to_atom.sufficiency);
      if reason is not null then
        code := 'INSUFFICIENT_EVIDENCE'; v_kind := 'insufficient_evidence'; v_severity := 'low';
      end if;
    end if;
  end if;
  if code is not null then
    perform ragdb_internal.refuse_promotion(v_corpus.corpus_id, v_trace.id, v_kind, v_severity, reason);
    return next; return;
  end if;
  perform ragdb_internal.hold_corpus(v_corpus.corpus_id);
  atom_id := ragdb_internal.uuid7(ragdb_internal.now());
  code := 'PROMOTED';
  insert into ragdb.semantic_atoms values (v_corpus.corpus_id, atom_id, promote_to_atom.text,
    array(select distinct p.id collate "C" from unnest(promote_to_atom.chunk_ids) p (id)
      order by 1), v_trace.slice_id, v_trace.id,
    ragdb_internal.now(), ragdb_internal.caller(), ragdb_internal.lexemes(promote_to_atom.text, v_corpus.text_config));
  return next;
end $$;
comment on function ragdb.promote_to_atom(uuid, text[], text, text) is
  'Makes a statement out of hits of an admissible retrieval, and returns its id with code '
  'PROMOTED; or refuses with NOT_ADMISSIBLE, TRACE_TAMPERED, CHUNK_NOT_RETRIEVED, TOKEN_INVALID or '
  'INSUFFICIENT_EVIDENCE, the reason, and an incident. Raises RG400, RG401, RG404, RG407.';
