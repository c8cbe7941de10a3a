-- What may change on purpose, and is not made anew from documents: the settings of corpora and the
-- rights to them, their synonyms, cases, baselines and floors, which contracts are in force, bearer
-- tokens, quotas, embedders and rerankers. Whoever changes it records what it is then; ragdb.verify
-- compares.

select ragdb_internal.make_append_only('recorded_states');

-- Returns the SHA-256 of what a corpus is searched, opened and recorded by. Times and intervals go
-- in as seconds, because their text follows settings of the session.
create or replace function ragdb_internal.settings_hash(corpus ragdb.corpora) returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array(
    corpus.name, corpus.part_of, corpus.is_restricted, corpus.record_reads, corpus.title,
    corpus.text_config, corpus.record_query_text, extract(epoch from corpus.history),
    corpus.history_from, extract(epoch from corpus.history_since),
    extract(epoch from corpus.created_at))::text)
  || pg_catalog.float8send(corpus.k1) || pg_catalog.float8send(corpus.b)
  || pg_catalog.float8send(corpus.pivot));

-- Returns the SHA-256 of the cases of an eval that were imported or asked, and of their labels;
-- null for none.
create or replace function ragdb_internal.cases_hash(corpus_id integer, rag text, eval text)
returns bytea
language sql stable parallel safe
set enable_seqscan = off
return (
  select pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(
      c.name, c.origin, c.ordinal, c.query, c.tags, c.asserts, extract(epoch from c.asked_at), (
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(l.label_no, l.source,
            l.start_offset, l.end_offset, l.grade, pg_catalog.encode(l.span_hash, 'hex'))
            order by l.label_no)
          from ragdb.eval_labels l
          where (l.corpus_id, l.rag, l.eval, l.name) = (c.corpus_id, c.rag, c.eval, c.name)))
      order by c.name)::text))
    from ragdb.eval_cases c
    where c.corpus_id = cases_hash.corpus_id and c.rag = cases_hash.rag
      and c.eval = cases_hash.eval and c.origin <> 'contract'
    having count(*) > 0);

-- Returns the SHA-256 of the synonyms of a corpus, and whether it is searched by them; null for
-- none.
create or replace function ragdb_internal.synonyms_hash(corpus ragdb.corpora) returns bytea
language sql stable parallel safe
return (
  select pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array(corpus.has_synonyms,
      pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_array(s.word, s.means, s.lexeme) order by s.word, s.means))::text))
    from ragdb.synonyms s where s.corpus_id = corpus.corpus_id
    having count(*) > 0 or corpus.has_synonyms);

-- Returns the SHA-256 of a baseline: the run, and who made it one, when and why.
create or replace function ragdb_internal.baseline_hash(baseline ragdb.eval_baselines)
returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array(baseline.run_id,
  extract(epoch from baseline.blessed_at), baseline.blessed_by, baseline.reason)::text));

-- Returns the SHA-256 of who has a right to a corpus of their own, each by name and oid; null where
-- nobody has.
create or replace function ragdb_internal.rights_hash(corpus ragdb.corpora) returns bytea
language sql stable parallel safe
return (
  select pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array(
      corpus.personal_of, corpus.personal_oid::bigint, pg_catalog.jsonb_agg(
        pg_catalog.jsonb_build_array(g.role, g.role_oid::bigint, g.privilege)
        order by g.role, g.role_oid))::text))
    from ragdb.corpus_grants g where g.corpus_id = corpus.corpus_id
    having count(*) > 0 or corpus.personal_of is not null);

-- Returns the SHA-256 of the floors of a corpus and what they were measured by; null for none.
create or replace function ragdb_internal.floors_hash(corpus_id integer) returns bytea
language sql stable parallel safe
return (
  select pg_catalog.sha256(pg_catalog.string_agg(ragdb_internal.utf8(pg_catalog.concat_ws(' ',
      g.mode, g.embedder_id, g.own_questions, g.other_questions, g.chunks))
      || ragdb_internal.packed(coalesce(pg_catalog.float8send(g.floor), ''))
      || ragdb_internal.packed(coalesce(pg_catalog.float8send(g.lexical_weight), ''))
      || pg_catalog.float8send(g.pivot), '' order by g.mode))
    from ragdb.gate_calibrations g where g.corpus_id = floors_hash.corpus_id);

-- Returns the SHA-256 of what an embedder promises, what runs it, and how it cuts texts and weighs
-- words where it is static.
create or replace function ragdb_internal.embedder_hash(embedder ragdb.embedders) returns bytea
language sql stable parallel safe
return pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array(embedder.embedder_id,
    embedder.model, embedder.revision, embedder.dims, embedder.metric, embedder.max_tokens,
    embedder.query_prefix, embedder.passage_prefix, embedder.weights_sha256, embedder.provider,
    embedder.provider_model, (
      select pg_catalog.jsonb_build_array(m.tokenizer, m.folding, m.digest, m.lexical_weight)
        from ragdb.static_models m where m.embedder_id = embedder.embedder_id))::text));

-- Returns what is recorded of the whole database, as ragdb_internal.present_states() does: the
-- contracts in force by their versions, bearer tokens, the quotas of roles, embedders, rerankers.
create or replace function ragdb_internal.present_states_of_all()
returns table (kind text, key text, hash bytea)
language sql stable parallel safe
begin atomic
  select 'contract', k.contract, pg_catalog.sha256(pg_catalog.int4send(k.version))
    from ragdb.contracts k where k.is_current
  union all
  select 'token', t.name, pg_catalog.sha256(t.token_hash || ragdb_internal.utf8(
      pg_catalog.jsonb_build_array(t.role, t.role_oid::bigint, extract(epoch from t.expires_at))
      ::text))
    from ragdb.http_tokens t
  union all
  select 'quota', q.role, pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_agg(
      pg_catalog.jsonb_build_array(q.role_oid::bigint, q.blob_bytes, q.hourly_failures,
        q.concurrent_calls, q.corpus_chunks) order by q.role_oid)::text))
    from ragdb.role_quotas q group by q.role
  union all
  select 'embedder', e.name, ragdb_internal.embedder_hash(e) from ragdb.embedders e
  union all
  select 'reranker', r.name, pg_catalog.sha256(ragdb_internal.utf8(pg_catalog.jsonb_build_array(
      r.max_tokens, r.weights_sha256, r.source, r.revision)::text))
    from ragdb.rerankers r;
end;

-- Returns what is recorded whenever it changes, as it is now, each with its hash. A kind is one
-- branch here or above, and a record where it changes.
create or replace function ragdb_internal.present_states()
returns table (corpus_id integer, kind text, key text, hash bytea)
language sql stable parallel safe
begin atomic
  select c.corpus_id, 'settings', '', ragdb_internal.settings_hash(c) from ragdb.corpora c
  union all
  select c.corpus_id, 'synonyms', '', s.hash
    from ragdb.corpora c
      cross join lateral (select ragdb_internal.synonyms_hash(c) as hash offset 0) s
    where s.hash is not null
  union all
  select c.corpus_id, 'cases', jsonb_build_array(c.rag, c.eval)::text,
      ragdb_internal.cases_hash(c.corpus_id, c.rag, c.eval)
    from (select distinct o.corpus_id, o.rag, o.eval from ragdb.eval_cases o
      where o.origin <> 'contract') c
  union all
  select b.corpus_id, 'baseline', jsonb_build_array(b.rag, b.eval, b.name)::text,
      ragdb_internal.baseline_hash(b)
    from ragdb.eval_baselines b
  union all
  select c.corpus_id, 'rights', '', r.hash
    from ragdb.corpora c
      cross join lateral (select ragdb_internal.rights_hash(c) as hash offset 0) r
    where r.hash is not null
  union all
  select c.corpus_id, 'floors', '', f.hash
    from ragdb.corpora c
      cross join lateral (select ragdb_internal.floors_hash(c.corpus_id) as hash offset 0) f
    where f.hash is not null
  union all
  select null, a.kind, a.key, a.hash from ragdb_internal.present_states_of_all() a;
end;

-- Records the hashes of some things of one kind after a change on purpose (null: it is gone); its
-- caller holds what keeps others from changing them. A contract has no corpus, and a comparison
-- that takes null for equal reads no index. Who gives a number that another has given, which it
-- does not see, begins again. Raises 40001.
create or replace function ragdb_internal.record_states(
  corpus_id integer, kind text, keys text[], hashes bytea[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_now constant timestamptz := ragdb_internal.now();
  v_caller constant text := ragdb_internal.caller();
  v_ids text[];
begin
  with state as materialized (
    select ragdb_internal.uuid7(v_now) as id, k.key, k.hash from unnest(keys, hashes) k (key, hash)
  ), recorded as (
    insert into ragdb.recorded_states (
        state_id, created_at, corpus_id, kind, key, nth, hash, caller)
      select n.id, ragdb_internal.uuid_time(n.id), record_states.corpus_id, record_states.kind,
          n.key, 1 + coalesce(l.nth, 0), n.hash, v_caller
        from state n
        cross join lateral (
          select greatest(
            (select max(s.nth) from ragdb.recorded_states s
              where s.corpus_id = record_states.corpus_id and s.kind = record_states.kind
                and s.key = n.key),
            (select max(s.nth) from ragdb.recorded_states s
              where record_states.corpus_id is null and s.corpus_id is null
                and s.kind = record_states.kind and s.key = n.key)) as nth) l
      on conflict on constraint recorded_states_are_numbered do nothing
      returning state_id::text
  )
  select array_agg(r.state_id) into v_ids from recorded r;
  if coalesce(cardinality(v_ids), 0) <> cardinality(keys) then
    raise exception 'another has recorded a change of the same thing meanwhile'
      using errcode = '40001', detail = 'kind ' || record_states.kind,
        hint = 'repeat the transaction';
  end if;
  perform ragdb_internal.note_all('state', v_ids) where v_ids is not null;
end $$;

-- Tells whether things of a kind are so many that they are recorded and verified in batches: added
-- edges, and the originals of a corpus.
create or replace function ragdb_internal.is_one_of_many(kind text) returns boolean
language sql immutable parallel safe
return is_one_of_many.kind in ('edge', 'original');

-- Records what something is after a change on purpose; its caller holds what keeps others from
-- changing it.
create or replace function ragdb_internal.record_state(
  kind text, corpus_id integer, key text default '')
returns void
language sql
return ragdb_internal.record_states(record_state.corpus_id, record_state.kind,
  array[record_state.key], array[(
    select p.hash from ragdb_internal.present_states() p
      where p.kind = record_state.kind and p.key = record_state.key
        and p.corpus_id is not distinct from record_state.corpus_id)]);

-- Returns what was recorded last of something of a corpus; null where nothing was, and where it is
-- gone since.
create or replace function ragdb_internal.last_state(corpus_id integer, kind text, key text)
returns bytea
language sql stable parallel safe
return (
  select s.hash from ragdb.recorded_states s
    where s.corpus_id = last_state.corpus_id and s.kind = last_state.kind
      and s.key = last_state.key
    order by s.nth desc limit 1);
