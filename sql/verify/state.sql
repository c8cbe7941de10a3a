-- What is quickly seen: keys, versions of corpora, and pgvector.

-- Checks the chain of events of keys, the rows of keys and their secrets.
create or replace function ragdb_internal.verify_keys(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return (
  select row((select count(*) from ragdb.signing_keys) + (select count(*) from ragdb.key_events),
      null, coalesce(pg_catalog.array_agg(
        row(f."check", f.severity, f.place, f.finding, f.advice)::ragdb.finding), '{}'))
      ::ragdb_internal.verified
    from (
      select 'keys', k.severity, 'key ' || k.key_id,
          pg_catalog.concat_ws(': ', k.finding, k.detail),
          'trust nothing that depends on it; restore ragdb.key_events from a backup'
        from ragdb_internal.key_findings() k
      union all
      select 'keys', 'warning', 'key ' || k.key_id, 'its secret is not at hand, and nothing that '
          || 'it signed can be checked'
          || case k.state when 'active' then ', nor any retrieval be recorded' else '' end,
          case when k.is_inside then 'ragdb keys import FILE'
          else 'set RAGDB_SIGNING_KEY_FILE or RAGDB_SIGNING_KEY_COMMAND' end
        from ragdb.signing_keys k where ragdb_internal.secret_at_hand(k) is null
      union all
      select 'keys', 'note', 'key ' || k.key_id, 'it is reported compromised',
          'traces that it signed since then are listed by ragdb verify'
        from ragdb.signing_keys k where k.compromised_since is not null
      union all
      select 'keys', 'note', 'keys', 'no key is active, and nothing new is signed',
          'ragdb keys create'
        where not exists (select from ragdb.signing_keys k where k.state = 'active')
          and exists (select from ragdb.signing_keys)
    ) f ("check", severity, place, finding, advice));

-- Returns the corpora that have another name than in their last event or trace. Nothing renames a
-- corpus, and what is written of one has its name.
create or replace function ragdb_internal.renamed_corpora() returns setof ragdb.finding
language sql stable parallel safe
begin atomic
  select 'corpora', 'error', 'corpus ' || c.name,
      'its name is not ' || w.name || ', by which what is recorded of it calls it',
      'restore ragdb.corpora from a backup; find out who is served what under this name'
    from ragdb.corpora c
      cross join lateral (
        (select e.corpus as name from ragdb.events e where e.corpus_id = c.corpus_id
          order by e.lamport desc limit 1)
        union
        (select t.corpus from ragdb.retrieval_traces t where t.corpus_id = c.corpus_id
          order by t.id desc limit 1)) w
    where w.name <> c.name;
end;

-- Looks for corpora whose version, or whose clock of events, went back, that have another name than
-- they had, and for those with more or fewer documents than they count. Versions only rise, and a
-- trace has the version that it searched. What is deleted around ragdb stays counted.
create or replace function ragdb_internal.verify_corpora(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_findings ragdb.finding[];
  v_looked bigint;
begin
  select count(*), coalesce(array_agg(row('corpora', 'error', 'corpus ' || c.name,
        format('its version is %s, and a trace searched version %s', v.version,
          t.corpus_version), 'restore the corpus from a backup, or ingest it anew')::ragdb.finding
      order by c.name) filter (where t.corpus_version > v.version), '{}')
    into strict v_looked, v_findings
    from ragdb.corpora c
      cross join lateral (select ragdb_internal.version_of(c) as version offset 0) v
      left join lateral (
      select r.corpus_version from ragdb.retrieval_traces r where r.corpus_id = c.corpus_id
        order by r.id desc limit 1) t on true;
  return row(v_looked, null, v_findings || array(
    select row('corpora', 'error', 'corpus ' || c.name,
        'its clock stands before events that have been', 'restore the corpus from a backup'
      )::ragdb.finding
    from ragdb.corpora c
      cross join lateral (select e.lamport from ragdb.events e where e.corpus_id = c.corpus_id
        order by e.lamport desc limit 1) e
    where e.lamport > c.lamport
    union all
    select row('corpora', 'error', 'corpus ' || c.name,
        format('it has %s, and ragdb stored %s',
          ragdb_internal.counted(d.documents, 'document'), c.documents),
        'restore the others from a backup, or ingest them again')::ragdb.finding
    from ragdb.corpora c
      cross join lateral (
        select count(*) as documents from ragdb.documents d where d.corpus_id = c.corpus_id) d
    where d.documents <> c.documents
    union all
    select r from ragdb_internal.renamed_corpora() r
    order by 1))::ragdb_internal.verified;
end $$;

-- Tells whether pgvector has a defect that is known to harm indexes.
create or replace function ragdb_internal.verify_pgvector(after jsonb, most integer)
returns ragdb_internal.verified
language sql stable parallel safe
return (
  select row(1, null, case
    when not ragdb_internal.may_build_in_parallel(v.version) then array[row('pgvector', 'warning',
      'pgvector ' || v.version, 'a parallel build of an HNSW index overflows a buffer, as of '
        || '`reindex` or a restore; ragdb builds in one process',
      'install 0.8.4 or newer, then: alter extension vector update')::ragdb.finding]
    when not ragdb_internal.may_vacuum_hnsw(v.version) then array[row('pgvector', 'warning',
      'pgvector ' || v.version, 'vacuum can corrupt its HNSW indexes',
      'install 0.8.4 or newer, then: alter extension vector update')::ragdb.finding]
    else '{}'::ragdb.finding[] end)::ragdb_internal.verified
  from (select coalesce(ragdb_internal.pgvector_version(), 'missing')) v (version));
