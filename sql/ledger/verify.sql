-- Whether the rows are what the ledger entered, and the ledger is whole.

-- Tells whether the ledger was off at a time. Acts of one transaction have one time: of an off and
-- an on then counts the one that excuses nothing.
create or replace function ragdb_internal.was_ledger_off(at timestamptz) returns boolean
language sql stable parallel safe
return coalesce((
  select a.act = 'ledger_off' from ragdb.ledger_acts a
    where a.act in ('ledger_on', 'ledger_off') and a.created_at <= was_ledger_off.at
    order by a.created_at desc, a.act = 'ledger_on' desc, a.act_id desc limit 1), false);

-- Tells whether an act says why a row is missing (by name, with its corpus, or by its age) or
-- changed (by name), or whether it is a version before the history that its corpus keeps.
-- Tombstones: what was taken away on purpose is an act, which is in the ledger itself. A row that
-- was redacted by name is another; one that went by its age, or with what somebody asked, is gone.
create or replace function ragdb_internal.is_excused(
  finding text, kind text, id text, corpus_id integer, uid uuid)
returns boolean
language sql stable parallel safe
begin atomic
  select case when is_excused.finding = 'row_missing' then '' else 'caller_erased' end
      <> any (ragdb_internal.acts_naming(is_excused.kind || ':' || is_excused.id))
    or exists (
      select from ragdb.ledger_acts a
        where is_excused.finding = 'row_missing'
          and a.act in ('retention', 'corpus_dropped', 'traces_erased')
          and is_excused.kind = any (a.kinds)
          and (a.corpus_id is null or a.corpus_id = is_excused.corpus_id
            -- a corpus that is there was not dropped: its number was given again
            and not exists (
              select from ragdb.corpora c where c.corpus_id = is_excused.corpus_id))
          and (a.from_at is null or ragdb_internal.uuid_time(is_excused.uid) >= a.from_at)
          and (a.to_at is null or ragdb_internal.uuid_time(is_excused.uid) < a.to_at))
    -- history goes by its age, and what a corpus keeps since then is recorded with its settings
    or is_excused.kind = 'version' and exists (
      select from ragdb.corpora c
        where c.corpus_id = is_excused.corpus_id and coalesce(c.history_from
          >= pg_catalog.substring(is_excused.id, '/([0-9]{1,18})$')::bigint, c.history is null));
end;

-- Returns the entries of a kind whose row is missing without an act, has another hash, or has a
-- time that its sealing contradicts.
create or replace function ragdb_internal.row_findings(
  kind text, first bigint, last bigint, late interval)
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  with found as (
    select r.*, case
        when r.row_hash is null then 'row_missing'
        when r.row_hash <> r.hash then 'row_changed'
        when r.sealed_at - r.made_at > row_findings.late then 'late'
        when r.made_at - r.sealed_at > interval '1 minute' then 'ahead' end as finding
      from ragdb_internal.ledger_rows(row_findings.kind, array(
        select ragdb_internal.ledger_place(l.number, l.id, l.hash, l.sealed_at)
          from ragdb.ledger_leaves l
          where l.kind = row_findings.kind and l.number between first and last
          order by l.number)) r
  )
  select (f.number, row_findings.kind, f.id, f.finding, case f.finding
      when 'row_missing' then 'the row is gone, and no act says so'
      when 'row_changed' then 'its hash was ' || pg_catalog.encode(f.hash, 'hex') || ' and is '
        || pg_catalog.encode(f.row_hash, 'hex')
      else 'the row says ' || f.made_at || ', and it was sealed at ' || f.sealed_at end)
      ::ragdb_internal.ledger_finding
    from found f
      cross join lateral ragdb_internal.ledger_place(f.number, f.id, null, null) p
    where f.finding is not null and case
      when f.finding like 'row%' then not ragdb_internal.is_excused(
        f.finding, row_findings.kind, f.id, p.corpus_id, p.uid)
      when f.finding = 'late' then not ragdb_internal.was_ledger_off(f.made_at)
      else true end;
end;

-- Returns hits, rerankings, citations and past rows whose trace, answer or version is not there.
create or replace function ragdb_internal.orphan_findings()
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  with orphans (kind, owner, corpus_id, id) as (
    select distinct 'hit', 'trace', h.corpus_id, h.trace_id::text
      from ragdb.retrieval_hits h
      where not exists (select from ragdb.retrieval_traces t
        where t.corpus_id = h.corpus_id and t.id = h.trace_id and t.created_at = h.created_at)
    union all
    select distinct 'rerank', 'trace', r.corpus_id, r.trace_id::text
      from ragdb.retrieval_reranks r
      where not exists (select from ragdb.retrieval_traces t
        where t.corpus_id = r.corpus_id and t.id = r.trace_id and t.created_at = r.created_at)
    union all
    select distinct 'citation', 'answer', c.corpus_id, c.answer_id::text
      from ragdb.answer_citations c
      where not exists (select from ragdb.evidence_answers a
        where a.corpus_id = c.corpus_id and a.id = c.answer_id and a.created_at = c.created_at)
    union all
    select distinct 'past row', 'version', p.corpus_id, p.until::text
      from ragdb.past_rows p
      where not exists (select from ragdb.corpus_versions v
        where v.corpus_id = p.corpus_id and v.version = p.until)
  )
  select (null, o.kind, o.corpus_id || '/' || o.id, 'orphan', 'there is no such ' || o.owner)
      ::ragdb_internal.ledger_finding
    from orphans o;
end;

-- Returns what is wrong beside the entries: rows that nobody noted, orphans, end and checkpoints,
-- and that nothing is noted any more.
create or replace function ragdb_internal.rest_findings()
returns setof ragdb_internal.ledger_finding
language sql stable parallel safe
begin atomic
  select null::bigint, k.kind, u.id, 'unsealed',
      'a row of ' || u.made_at || ' is neither in the ledger nor noted for it'
    from ragdb_internal.ledger_kinds() k
      cross join lateral ragdb_internal.unsealed_rows(k.kind) u
    where not ragdb_internal.was_ledger_off(u.made_at)
  union all
  select o.* from ragdb_internal.orphan_findings() o
  union all
  select h.* from ragdb_internal.head_findings() h
  union all
  select t.* from ragdb_internal.rest_of_tree_findings() t
  union all
  select null, 'act', '', 'switched_off', 'the ledger is off, and no act says so'
    from ragdb.settings s
    where s.key = 'ledger_is_on' and s.value = 'false'::jsonb
      and not ragdb_internal.was_ledger_off('infinity');
end;

-- In pages of 10,000 entries: memory does not grow with the ledger.
create or replace function ragdb.verify_ledger(
  from_number bigint default 0, most bigint default null, late interval default '1 day')
returns table (number bigint, kind text, id text, finding text, detail text)
language plpgsql stable parallel safe security definer -- rows and ledger are granted to nobody
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_first bigint := from_number;
  v_page record;
  v_kind text;
begin
  if from_number is null or from_number < 0 or most < 1 or late is null then
    raise exception 'from_number is %, most %, late %', coalesce(from_number::text, 'null'),
        coalesce(most::text, 'null'), coalesce(late::text, 'null')
      using errcode = 'RG400', detail = 'entries are numbered from 0',
        hint = 'give null for most to verify all, and an interval for late';
  end if;
  loop
    select max(p.number) as last, array_agg(distinct p.kind) as kinds into v_page
      from (select l.number, l.kind from ragdb.ledger_leaves l
        where l.number >= v_first and (most is null or l.number - from_number < most)
        order by l.number limit 10000) p;
    exit when v_page.last is null;
    return query select f.* from ragdb_internal.number_findings(v_first, v_page.last) f;
    return query select f.* from ragdb_internal.tile_findings(v_first, v_page.last) f;
    return query select f.* from ragdb_internal.level_findings(v_first, v_page.last) f;
    foreach v_kind in array v_page.kinds loop
      return query select f.* from ragdb_internal.row_findings(v_kind, v_first, v_page.last,
        late) f;
    end loop;
    v_first := v_page.last + 1;
  end loop;
  if not exists (select from ragdb.ledger_leaves l where l.number >= v_first) then
    return query select f.* from ragdb_internal.rest_findings() f;
  end if;
end $$;
comment on function ragdb.verify_ledger is
  'Compares the entries of the ledger from a number on, most of them or all, with the tree and '
  'with the rows of evidence as they are now, and returns what is wrong, nothing where all is '
  'right; the call that reaches the end also looks for rows that are not in the ledger, hits '
  'without a trace, and stored checkpoints that differ. A row older than late when it was sealed '
  'counts as back-dated. Raises RG400.';
