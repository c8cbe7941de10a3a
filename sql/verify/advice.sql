-- What is to be done, and the command that does it: for `ragdb doctor` and the page Health.

create type ragdb.advice as (
  subject text, corpus text, is_fault boolean, found text, fix text);
comment on type ragdb.advice is
  'Something to do: of what, whether it is a fault, what was found, and the command or statement '
  'that mends it (null: none does).';

-- Returns what is to be done for the ranking of corpora that the caller may read. The mean of fewer
-- than 100 chunks is chance, and soon another. What a corpus is stemmed by cannot be changed later,
-- so another is worth an ingest of its own; few chunks say little. Stemmers of two major versions
-- differ, and after pg_upgrade or a restore the lexemes are those of the old one.
create or replace function ragdb_internal.advice_on_corpora() returns setof ragdb.advice
language sql stable parallel safe
begin atomic
  select pg_catalog.concat('corpus ', c.name), c.name, false, a.found, a.fix
  from ragdb.list_corpora() c join ragdb.corpora o on o.name = c.name cross join lateral (
    select pg_catalog.format('chunks are %s%% %s on the mean than its ranking counts with',
        pg_catalog.round((100 * pg_catalog.abs(c.drift))::numeric),
        case when c.drift > 0 then 'longer' else 'shorter' end),
      pg_catalog.concat('ragdb corpus optimize ', c.name)
    where c.chunks >= 100 and c.is_drifted
    union all
    select pg_catalog.format('%s of its %s parts were written to since their statistics were '
        'summed', c.stale_parts, c.parts),
      pg_catalog.concat('ragdb corpus sync ', c.name)
    where c.stale_parts > 0
    union all
    select pg_catalog.format('most of its documents are in the language %s, and its words are '
        'stemmed as %s ones', c.language_majority, o.text_config),
      pg_catalog.concat('ragdb ingest PATH --corpus ANOTHER --text-config ', t.config)
    from ragdb_internal.text_configs() t
    where t.language = c.language_majority and c.chunks >= 20 and c.part_of is null
      and o.text_config not in (t.config, 'simple')
    union all
    select pg_catalog.format('its chunks were stemmed by PostgreSQL %s and its queries are by %s, '
        'so a few words may not be found', o.analysed_by, ragdb_internal.server_major()),
      pg_catalog.concat('ragdb repair ', c.name)
    where ragdb_internal.is_stemmed_otherwise(o)
    ) a (found, fix);
end;

-- Returns what is to be done for the embeddings of corpora that the caller may read.
create or replace function ragdb_internal.advice_on_embeddings() returns setof ragdb.advice
language sql stable parallel restricted
begin atomic
  select pg_catalog.format('embeddings of %s by %s', s.corpus, s.embedder), s.corpus, a.is_fault,
    a.found, a.fix
  from ragdb.embedding_status() s cross join lateral (values
    (s.dead > 0, true, pg_catalog.format('%s given up: %s',
      ragdb_internal.counted(s.dead, 'input'), s.last_error),
      pg_catalog.format('select ragdb.retry_failed(%L);', s.corpus)),
    (s.backlog > 0 and s.state <> 'retired', false,
      pg_catalog.concat(ragdb_internal.counted(s.backlog, 'chunk'),
        case when s.backlog = 1 then ' waits' else ' wait' end, ' for an embedding',
        -- a subquery is asked once, not of each space
        case when not (select ragdb.has_worker()) then ', and no worker runs' end),
      case when s.state = 'current' then pg_catalog.concat('ragdb embed ', s.corpus)
        else pg_catalog.format('ragdb reembed %s --model %s', s.corpus, s.embedder) end),
    (s.state = 'current' and s.lacks_index, false,
      ragdb_internal.counted(s.embedded, 'vector') || ' and no index',
      pg_catalog.format('select ragdb.index_space(%L);', s.corpus))
    ) a (applies, is_fault, found, fix)
  where a.applies;
end;

-- Returns what is to be done for the jobs of workers that the caller may see.
create or replace function ragdb_internal.advice_on_jobs(has_worker boolean)
  returns setof ragdb.advice
language sql stable parallel safe
begin atomic
  select pg_catalog.concat('jobs of ', j.capability, ' for ' || j.corpus), j.corpus, a.is_fault,
    a.found, a.fix
  from ragdb.job_status() j cross join lateral (values
    (j.failed > 0, true,
      pg_catalog.format('%s failed in the last day: %s', j.failed, j.last_error), null),
    (j.waiting > 0 and not advice_on_jobs.has_worker, false,
      pg_catalog.concat(j.waiting, case when j.waiting = 1 then ' waits' else ' wait' end,
        ', and no worker runs'), 'ragdb worker')
    ) a (applies, is_fault, found, fix)
  where a.applies;
end;

-- Returns what is to be done for the ledger. What waits for a day counts as back-dated.
create or replace function ragdb_internal.advice_on_ledger() returns setof ragdb.advice
language sql stable parallel safe
begin atomic
  select 'ledger', null, l.is_on,
    case when l.is_on
      then pg_catalog.format('waiting to be sealed: %s, the oldest since %s', l.pending,
        ragdb_internal.minute_of(l.oldest_pending))
      else pg_catalog.format('off, so nothing is sealed; waiting: %s', l.pending) end,
    case when l.is_on then 'ragdb ledger seal' else 'ragdb ledger switch on' end
  from ragdb.ledger_status() l
  where not l.is_on or l.oldest_pending < pg_catalog.clock_timestamp() - interval '1 day';
end;

-- Returns what is to be done for roles that are gone.
create or replace function ragdb_internal.advice_on_roles() returns setof ragdb.advice
language sql stable parallel safe
begin atomic
  select pg_catalog.concat('role ', d.role), null, false,
    pg_catalog.format(case when d.name_is_taken then 'is not yet the one that holds %2$s (oid %1$s)'
      else 'is gone (oid %1$s) and still holds %2$s' end, d.role_oid,
      pg_catalog.array_to_string(d.holds, ', ')),
    pg_catalog.format('set role ragdb_owner; select ragdb.bind_role('
      || case when d.name_is_taken then '%L), where it is the same'
        else '%L, <the role that it is now>)' end || '; or revoke what it holds', d.role)
  from ragdb.dead_roles() d;
end;

-- Returns which transaction, session or slot keeps old versions of rows, and since how many
-- transactions, where that is so many that whoever changes a row again and again feels it.
create or replace function ragdb_internal.advice_on_transactions() returns setof ragdb.advice
language sql stable parallel restricted
begin atomic
  select 'transactions', null, false,
    pg_catalog.format('%s keeps the old versions of rows for %s transactions; writes get slower '
      'until it ends', h.holder, h.age),
    h.fix
  from (
    select 'process ' || a.pid, pg_catalog.age(a.backend_xmin),
        pg_catalog.format('let it end, as a backup does, or: select pg_terminate_backend(%s);',
          a.pid)
      from pg_catalog.pg_stat_activity a
      where a.datname = pg_catalog.current_database() and a.pid <> pg_catalog.pg_backend_pid()
        -- a vacuum keeps none
        and not exists (select from pg_catalog.pg_stat_progress_vacuum v where v.pid = a.pid)
    union all
    select 'prepared transaction ' || ragdb_internal.quote(p.gid),
        pg_catalog.age(p.transaction), pg_catalog.format('rollback prepared %L;', p.gid)
      from pg_catalog.pg_prepared_xacts p where p.database = pg_catalog.current_database()
    union all
    select 'replication slot ' || ragdb_internal.quote(r.slot_name), pg_catalog.age(r.xmin),
        pg_catalog.format('see that its standby runs, or: select pg_drop_replication_slot(%L);',
          r.slot_name)
      from pg_catalog.pg_replication_slots r
    ) h (holder, age, fix)
  where h.age > 10000
  order by h.age desc limit 1;
end;

create or replace function ragdb.advice() returns setof ragdb.advice
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller constant oid := ragdb_internal.caller_oid();
  v_found ragdb.advice[] := array(
    select a from ragdb_internal.advice_on_embeddings() a
    union all select a from ragdb_internal.advice_on_jobs(ragdb.has_worker()) a
    union all select a from ragdb_internal.advice_on_corpora() a);
begin
  if has_function_privilege(v_caller, 'ragdb.ledger_status()', 'execute') then
    v_found := v_found || array(select a from ragdb_internal.advice_on_ledger() a);
  end if;
  if has_function_privilege(v_caller, 'ragdb.dead_roles()', 'execute') then
    v_found := v_found || array(
      select a from ragdb_internal.advice_on_roles() a
      union all select a from ragdb_internal.advice_on_transactions() a);
  end if;
  -- who shows some of many shows the faults
  return query select a.subject, a.corpus, a.is_fault, a.found, a.fix
    from unnest(v_found) with ordinality a (subject, corpus, is_fault, found, fix, n)
    order by a.is_fault desc, a.n;
end $$;
comment on function ragdb.advice is
  'Lists what is to be done in the corpora that the caller may read, for the workers, and (where '
  'the caller may ask for those) for the ledger, for roles that are gone and for transactions that '
  'stay open: each with the command or the statement that does it, and whether it is a fault; '
  'faults first.';
