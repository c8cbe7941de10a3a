-- Promotion: the only way from what was retrieved to what is known. Every refusal is a row that
-- says why, and an incident.

-- The first thing that is missing, in words that say how much of it; null when the evidence
-- suffices.
create or replace function ragdb._insufficiency(corpus_id integer, chunk_ids text[],
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
      where c.corpus_id = _insufficiency.corpus_id and c.chunk_id = any(_insufficiency.chunk_ids)
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
    from least_of l, found f where l.name = _insufficiency.sufficiency;
end;
comment on function ragdb._insufficiency(integer, text[], text) is
  'Says what the turns among some chunks lack for a set of requirements (default, lenient, '
  'strict); null when they suffice.';

create or replace function ragdb._refuse_promotion(corpus_id integer, trace_id uuid, kind text,
  severity text, reason text)
returns void
language sql
begin atomic
  insert into ragdb.admissibility_incidents
    select ragdb._uuid7(n.now), n.now, _refuse_promotion.corpus_id, kind, severity, trace_id,
      ragdb._caller(), reason
      from (select ragdb._now() as now) n;
end;
comment on function ragdb._refuse_promotion(integer, uuid, text, text, text) is
  'Writes the incident of a refused promotion.';

create or replace function ragdb.promote_to_atom(
  trace_id uuid, chunk_ids text[], text text, sufficiency text default 'default')
returns table (atom_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- atoms and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_trace ragdb.retrieval_traces := ragdb._open_trace(promote_to_atom.trace_id);
  v_corpus ragdb.corpora := ragdb._open_corpus(v_trace.corpus, 'write');
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
    or not ragdb._is_list(promote_to_atom.chunk_ids)
  then
    raise exception 'an atom rests on 1 to 1000 chunks'
      using errcode = 'RG400', detail = 'chunk_ids ' || coalesce('has '
        || cardinality(promote_to_atom.chunk_ids)
          || case when ragdb._is_list(promote_to_atom.chunk_ids)
          then '' else ', a null or several dimensions' end, 'is null'),
            hint = 'name hits of the trace';
  end if;
  if coalesce(promote_to_atom.sufficiency not in ('default', 'lenient', 'strict'), true) then
    raise exception 'sufficiency % is unknown', ragdb._quote(promote_to_atom.sufficiency)
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
    select 'chunk ' || ragdb._quote(p.id) || ' is not among the hits of the trace' into reason
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
      reason := ragdb._insufficiency(v_corpus.corpus_id, promote_to_atom.chunk_ids,
        promote_to_atom.sufficiency);
      if reason is not null then
        code := 'INSUFFICIENT_EVIDENCE'; v_kind := 'insufficient_evidence'; v_severity := 'low';
      end if;
    end if;
  end if;
  if code is not null then
    perform ragdb._refuse_promotion(v_corpus.corpus_id, v_trace.id, v_kind, v_severity, reason);
    return next; return;
  end if;
  perform ragdb._hold_corpus(v_corpus.corpus_id);
  atom_id := ragdb._uuid7(ragdb._now());
  code := 'PROMOTED';
  insert into ragdb.semantic_atoms values (v_corpus.corpus_id, atom_id, promote_to_atom.text,
    array(select distinct p.id collate "C" from unnest(promote_to_atom.chunk_ids) p (id)
      order by 1), v_trace.slice_id, v_trace.id,
    ragdb._now(), ragdb._caller(), ragdb._lexemes(promote_to_atom.text, v_corpus.text_config));
  return next;
end $$;
comment on function ragdb.promote_to_atom(uuid, text[], text, text) is
  'Makes a statement out of hits of an admissible retrieval, and returns its id with code '
  'PROMOTED; or refuses with NOT_ADMISSIBLE, TRACE_TAMPERED, CHUNK_NOT_RETRIEVED, TOKEN_INVALID or '
  'INSUFFICIENT_EVIDENCE, the reason, and an incident. Raises RG400, RG401, RG404, RG407.';

create or replace function ragdb.propose(corpus text, atom_ids uuid[], text text)
returns table (proposal_id uuid, code text, reason text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(propose.corpus, 'write');
  v_slices text[];
  v_missing uuid;
begin
  if coalesce(propose.text !~ '\S', true) or length(propose.text) > 10000
      or coalesce(cardinality(propose.atom_ids) not between 1 and 1000, true)
      or not ragdb._is_list(propose.atom_ids::text[]) then
    raise exception 'a proposal is a text of 1 to 10000 characters that rests on 1 to 1000 atoms'
      using errcode = 'RG400', detail = 'atom_ids '
        || coalesce('has ' || cardinality(propose.atom_ids)
          || case when ragdb._is_list(propose.atom_ids::text[]) then ''
          else ', a null or several dimensions' end, 'is null'),
            hint = 'ragdb.promote_to_atom() makes atoms';
  end if;
  select p.id into v_missing from unnest(propose.atom_ids) p (id)
    where not exists (select from ragdb.semantic_atoms a where a.corpus_id = v_corpus.corpus_id
      and a.atom_id = p.id) limit 1;
  select array_agg(distinct a.source_slice_id) into v_slices from ragdb.semantic_atoms a
    where a.corpus_id = v_corpus.corpus_id and a.atom_id = any(propose.atom_ids);
  if v_missing is not null then
    code := 'ATOM_UNKNOWN'; reason := 'the corpus has no atom ' || v_missing;
    perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'unverified_evidence_usage', 'high',
      reason);
  elsif cardinality(v_slices) > 1 then
    code := 'SLICES_MIXED'; reason := 'the atoms come from ' || cardinality(v_slices) || ' slices';
    perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'slice_boundary_violation', 'high',
      reason);
  else
    perform ragdb._hold_corpus(v_corpus.corpus_id);
    proposal_id := ragdb._uuid7(ragdb._now());
    code := 'PROPOSED';
    insert into ragdb.semantic_proposals values (v_corpus.corpus_id, proposal_id, propose.text,
      array(select distinct p.id from unnest(propose.atom_ids) p (id) order by 1), v_slices[1],
        'open', ragdb._now(),
      ragdb._caller(), ragdb._lexemes(propose.text, v_corpus.text_config));
  end if;
  return next;
end $$;
comment on function ragdb.propose(text, uuid[], text) is
  'Stores a conclusion that rests on atoms of one slice and returns its id with code PROPOSED; or '
  'refuses with ATOM_UNKNOWN or SLICES_MIXED, the reason, and an incident. Raises RG400, RG401, '
  'RG404.';

-- What is accepted must still be what was proposed: the slice of its atoms is recomputed from the
-- rows.
create or replace function ragdb.decide_proposal(
  corpus text, proposal_id uuid, decision text, reason text default null)
returns table (code text, detail text)
language plpgsql security definer rows 1 -- proposals and incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(decide_proposal.corpus, 'write');
  v_proposal ragdb.semantic_proposals;
  v_slice ragdb.slices;
begin
  if coalesce(decide_proposal.decision not in ('accepted', 'rejected'), true) then
    raise exception '% is no decision', ragdb._quote(decide_proposal.decision)
      using errcode = 'RG400', detail = 'a proposal is decided once',
            hint = 'accepted or rejected';
  end if;
  if proposal_id is null or length(decide_proposal.reason) > 10000 then
    raise exception 'a decision names a proposal and gives at most 10000 characters of reason'
      using errcode = 'RG400', detail = 'the reason has '
        || coalesce(length(decide_proposal.reason)::text, 'no') || ' characters',
            hint = 'ragdb.list_proposals() lists proposals';
  end if;
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
    v_slice := ragdb._stored_slice(v_corpus.corpus_id, v_proposal.source_slice_id);
    if (ragdb._fingerprinted(v_corpus, v_slice)).slice_id <> v_slice.slice_id then
      code := 'EVIDENCE_CHANGED';
      detail := ragdb._slice_changes(v_slice);
      perform ragdb._refuse_promotion(v_corpus.corpus_id, null, 'content_hash_mismatch', 'high',
        format('proposal %s: %s', v_proposal.proposal_id, detail));
    end if;
  end if;
  if code is null then
    update ragdb.semantic_proposals p
      set status = decide_proposal.decision, decided_at = ragdb._now(),
          decided_by = ragdb._caller(), decision_reason = decide_proposal.reason
      where p.corpus_id = v_corpus.corpus_id and p.proposal_id = v_proposal.proposal_id;
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
  v_corpus ragdb.corpora := ragdb._open_corpus(list_proposals.corpus, 'read');
begin
  if coalesce(list_proposals.count not between 1 and 10000, true)
    or list_proposals.state not in ('open', 'accepted', 'rejected')
  then
    raise exception 'count is not 1 to 10000, or state is none of a proposal'
      using errcode = 'RG400', detail = format('count is %s, state %s',
        coalesce(list_proposals.count::text, 'null'), ragdb._quote(list_proposals.state)),
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

create or replace function ragdb.list_incidents(corpus text, count integer default 100)
returns table (incident_id uuid, created_at timestamptz, kind text, severity text, trace_id uuid,
  caller text, reason text)
language plpgsql stable parallel safe security definer -- incidents are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(list_incidents.corpus, 'write');
begin
  if coalesce(list_incidents.count not between 1 and 10000, true) then
    raise exception 'count is not 1 to 10000' using errcode = 'RG400',
      detail = 'it is ' || coalesce(list_incidents.count::text, 'null'), hint = 'ask for fewer';
  end if;
  return query
    select i.incident_id, i.created_at, i.kind, i.severity, i.trace_id, i.caller, i.reason
      from ragdb.admissibility_incidents i where i.corpus_id = v_corpus.corpus_id
      order by i.created_at desc, i.incident_id limit list_incidents.count;
end $$;
comment on function ragdb.list_incidents(text, integer) is
  'Lists the latest 1 to 10000 refused promotions of a corpus. Raises RG400, RG401, RG404.';

-- Statements are ranked by the formula and the statistics of the corpus's chunks, so that both
-- planes share one scale.
create or replace function ragdb._rank_statements(corpus ragdb.corpora, query text)
returns table (plane text, id uuid, text text, score float8, source_ids text[], slice_id text)
language sql stable parallel safe
begin atomic
  with asked as materialized (
    select w.lexeme, pg_catalog.cardinality(w.positions) * pg_catalog.ln(
        1 + ((corpus).chunks - coalesce(l.df, 0) + 0.5::float8) / (coalesce(l.df, 0) + 0.5::float8))
        as weight
      from (select pg_catalog.string_agg(c.text, ' ') as text
        from ragdb._query_clauses(_rank_statements.query) c where c.kind <> 'not') q
      cross join pg_catalog.unnest(
        ragdb._lexemes(coalesce(q.text, ''), (corpus).text_config)) w
      left join ragdb.lexemes l on l.corpus_id = (corpus).corpus_id and l.lexeme = w.lexeme
  ), statements as (
    select 'atom' as plane, a.atom_id as id, a.text, a.lexemes, a.source_chunk_ids as source_ids,
        a.source_slice_id as slice_id
      from ragdb.semantic_atoms a where a.corpus_id = (corpus).corpus_id
    union all
    select 'proposal', p.proposal_id, p.text, p.lexemes, p.source_atoms::text[], p.source_slice_id
      from ragdb.semantic_proposals p
      where p.corpus_id = (corpus).corpus_id and p.status <> 'rejected'
  )
  select s.plane, s.id, s.text, r.score, s.source_ids, s.slice_id
    from statements s
    cross join lateral (
      select (corpus).k1 * (1 - (corpus).b + (corpus).b
          * pg_catalog.sum(pg_catalog.cardinality(w.positions))::float8 / (corpus).pivot) as norm
        from pg_catalog.unnest(s.lexemes) w) d
    cross join lateral (
      select pg_catalog.sum(q.weight * pg_catalog.cardinality(w.positions)
            / (pg_catalog.cardinality(w.positions) + d.norm) order by q.lexeme collate "C")
          / (select pg_catalog.sum(a.weight order by a.lexeme collate "C") from asked a) as score
        from asked q join pg_catalog.unnest(s.lexemes) w on w.lexeme = q.lexeme) r
    where r.score > 0;
end;
comment on function ragdb._rank_statements(ragdb.corpora, text) is
  'Returns atoms and proposals that are not rejected with the BM25 of their text over the most the '
  'query could reach, by the statistics of the corpus.';

create or replace function ragdb.search_dual(
  corpus text, query text, k integer default 10, mode text default null,
  min_score float8 default 0, filter jsonb default null, query_embedding float8[] default null,
  fusion text default 'convex', lexical_weight float8 default 0.5)
returns table (
  rank integer, plane text, id text, text text, score float8, source_ids text[],
  source_slice_id text)
language plpgsql stable parallel restricted security definer -- statements are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_corpus ragdb.corpora := ragdb._open_corpus(search_dual.corpus, 'read');
begin
  if coalesce(search_dual.k not between 1 and 1000, true) then
    raise exception 'k is %', coalesce(search_dual.k::text, 'null')
      using errcode = 'RG400', detail = 'k is the number of results',
        hint = 'pass k from 1 to 1000';
  end if;
  return query
    with found as (
      select 'raw' as plane, h.chunk_id as id, h.text, h.score, array[h.source] as source_ids,
          null::text as slice_id
        from ragdb.search(corpus => search_dual.corpus, query => search_dual.query,
          k => search_dual.k, mode => search_dual.mode, min_score => search_dual.min_score,
          filter => search_dual.filter, query_embedding => search_dual.query_embedding,
          fusion => search_dual.fusion, lexical_weight => search_dual.lexical_weight) h
      union all
      select s.plane, s.id::text, s.text, s.score, s.source_ids, s.slice_id
        from ragdb._rank_statements(v_corpus, search_dual.query) s
        where s.score >= search_dual.min_score
    )
    select f.rank::integer, f.plane, f.id, f.text, f.score, f.source_ids, f.slice_id
      from (select f.*, row_number() over (
        order by f.score desc, f.plane collate "C", f.id collate "C") as rank from found f) f
      where f.rank <= search_dual.k order by f.rank;
end $$;
comment on function ragdb.search_dual(text, text, integer, text, float8, jsonb, float8[], text,
  float8) is
  'Searches both planes, the raw chunks (with the arguments of ragdb.search) and what was promoted '
  'from them (atoms and proposals, by their words), and returns the k best with their plane and '
  'what they rest on. Raises what ragdb.search raises.';
