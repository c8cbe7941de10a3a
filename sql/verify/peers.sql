-- What a shared corpus is decided by, against the events that were signed: their rows, what is
-- counted of them, which of them decides each source, and what was not taken. Whether an author
-- signed an event is checked outside: ragdb peer verify.

-- Returns what is wrong with what is counted of the events of a shared corpus; null if nothing is.
create or replace function ragdb_internal.shared_corpus_problem(shared ragdb.shared_corpora)
returns text
language sql stable parallel safe
return (
  select 'its events are not as many, or not of the Lamport time, that its row says'
  from ragdb.shared_events e where e.corpus_id = (shared).corpus_id
  having (count(*), coalesce(pg_catalog.max(e."position"), 0),
      coalesce(pg_catalog.max(e.lamport), 0))
    <> ((shared).last_position, (shared).last_position, (shared).lamport));

-- Whether the row of an event is what its text says, which is what was signed.
create or replace function ragdb_internal.is_as_signed(stored ragdb.shared_events) returns boolean
language sql stable
return (stored).hash = ragdb_internal.event_hash((stored).event) and (
  select ragdb_internal.event_text(s.feed, stored, o.v ->> 'previous', o.v ->> 'at')
  from (select ragdb_internal.json_of((stored).event)) o (v)
    join ragdb.shared_corpora s on s.corpus_id = (stored).corpus_id) = (stored).event;

-- Returns what is wrong with the row of an event; null if nothing is.
create or replace function ragdb_internal.event_problem(stored ragdb.shared_events) returns text
language sql stable
return case
  when ragdb_internal.is_as_signed(stored) is not true then 'its row is not what was signed'
  when (stored)."position" > 1 and not exists (
      select from ragdb.shared_events e
      where e.corpus_id = (stored).corpus_id and e."position" = (stored)."position" - 1)
    then 'the event before it is missing'
  when (stored).seq > 1 and not exists (
      select from ragdb.shared_events e
      where e.corpus_id = (stored).corpus_id and e.author = (stored).author
        and e.seq = (stored).seq - 1
        and pg_catalog.encode(e.hash, 'hex') = (stored).event::jsonb ->> 'previous')
    then 'the event before it of its author is missing'
  when pg_catalog.cardinality((stored).replaces) <> (
      select count(*) from ragdb.shared_events e
      where e.corpus_id = (stored).corpus_id and e.source = (stored).source
        and e.hash = any ((stored).replaces))
    then 'an event that it replaces is missing'
  when (stored).is_head = exists (
      select from ragdb.shared_events e
      where e.corpus_id = (stored).corpus_id and e.source = (stored).source
        and (stored).hash = any (e.replaces))
    then case when (stored).is_head then 'another event replaces it, and its row does not say so'
      else 'no event replaces it, and its row says that one does' end
  when not exists (
      select from ragdb.shared_documents d
      where d.corpus_id = (stored).corpus_id and d.source = (stored).source)
    then 'which event decides its source is not said'
end;

-- Returns what is wrong with what is said of a source; null if nothing is. What was changed here
-- since is compared with nothing: it is not what was signed.
create or replace function ragdb_internal.shared_document_problem(document ragdb.shared_documents)
returns text
language sql stable parallel safe
begin atomic
  with decided as materialized (
    select e.hash, e.body_hash, ragdb_internal.text_hash(ragdb_internal.shared_body(
        (document).corpus_id, (document).source)) as here,
      ragdb_internal.local_event((document).corpus_id, (document).source)
        is distinct from (document).event_id as is_changed
    from ragdb_internal.deciding_event((document).corpus_id, (document).source) e
  )
  select case
    when d.hash is distinct from (document).hash then 'another event decides it'
    when d.body_hash is null and (document).state <> 'erased'
      then 'its event says that it is erased'
    when d.body_hash is not null and (document).state = 'erased'
      then 'its event says that it is not erased'
    when exists (
        select from ragdb.shared_events e
        where e.corpus_id = (document).corpus_id and e.source = (document).source and e.is_head
          and e.hash <> d.hash and e.body_hash <> coalesce(d.body_hash, '') and not exists (
            select from ragdb.shared_conflicts c
            where c.corpus_id = e.corpus_id and c.loser = e.hash))
      then 'a change that was not taken is not kept'
    when d.is_changed then null
    when (document).state = 'waiting' and d.here = d.body_hash
      then 'it waits for a document that is here'
    when (document).state <> 'waiting' and d.here is distinct from d.body_hash
      then 'what is here is not the document that was signed'
    end
  from decided d;
end;

-- Returns what is wrong with what is kept of a conflict; null if nothing is.
create or replace function ragdb_internal.conflict_problem(conflict ragdb.shared_conflicts)
returns text
language sql stable parallel safe
return case
  when (
      select count(*) from ragdb.shared_events e
      where e.corpus_id = (conflict).corpus_id and e.source = (conflict).source
        and e.hash in ((conflict).loser, (conflict).winner)) <> 2
    then 'it is of no event of its source'
  when ragdb_internal.text_hash((conflict).body) <> (
      select e.body_hash from ragdb.shared_events e
      where e.corpus_id = (conflict).corpus_id and e.hash = (conflict).loser)
    then 'it does not keep the document that was signed'
end;

-- Returns a batch of rows of one of four tables: the key of each, its name, and what is wrong with
-- it. A key is read by the branch of its table alone: to the others it may be no number.
create or replace function ragdb_internal.problems_of_peers(
  of_table text, after jsonb, most integer)
returns table (corpus_id integer, key text, nth bigint, name text, problem text)
language sql stable
begin atomic
  select s.corpus_id, null, pg_catalog.row_number() over (order by s.corpus_id), 'its feed',
    ragdb_internal.shared_corpus_problem(s)
  from (select c.* from ragdb.shared_corpora c
    where of_table = 'corpora' and c.corpus_id > coalesce((after ->> 1)::integer, -1)
    order by c.corpus_id limit most) s
  union all
  select e.corpus_id, e."position"::text,
    pg_catalog.row_number() over (order by e.corpus_id, e."position"),
    pg_catalog.concat('event ', e."position"), ragdb_internal.event_problem(e)
  from (select h.* from ragdb.shared_events h
    where of_table = 'events' and (h.corpus_id, h."position")
      > (coalesce((after ->> 1)::integer, -1),
        coalesce(case of_table when 'events' then (after ->> 2)::bigint end, 0))
    order by h.corpus_id, h."position" limit most) e
  union all
  select d.corpus_id, d.source, pg_catalog.row_number() over (order by d.corpus_id, d.source),
    pg_catalog.concat('source ', ragdb_internal.quote(d.source)),
    ragdb_internal.shared_document_problem(d)
  from (select h.* from ragdb.shared_documents h
    where of_table = 'documents' and (h.corpus_id, h.source)
      > (coalesce((after ->> 1)::integer, -1), coalesce(after ->> 2, '') collate "C")
    order by h.corpus_id, h.source limit most) d
  union all
  select c.corpus_id, pg_catalog.encode(c.loser, 'hex'),
    pg_catalog.row_number() over (order by c.corpus_id, c.loser),
    pg_catalog.concat('conflict of source ', ragdb_internal.quote(c.source)),
    ragdb_internal.conflict_problem(c)
  from (select h.* from ragdb.shared_conflicts h
    where of_table = 'conflicts' and (h.corpus_id, h.loser)
      > (coalesce((after ->> 1)::integer, -1), pg_catalog.decode(
        coalesce(case of_table when 'conflicts' then after ->> 2 end, ''), 'hex'))
    order by h.corpus_id, h.loser limit most) c;
end;

-- Compares a batch of rows of shared corpora with what was signed: one table after the other.
create or replace function ragdb_internal.verify_peers(after jsonb, most integer)
returns ragdb_internal.verified
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tables constant text[] := '{corpora,events,documents,conflicts}';
  v_begin constant integer := coalesce(array_position(v_tables, after ->> 0), 1);
  v_rows ragdb_internal.checked_row[] := '{}';
begin
  for i in v_begin .. cardinality(v_tables) loop
    v_rows := v_rows || array(
      select row(jsonb_build_array(v_tables[i], p.corpus_id, p.key),
        format('%s of shared corpus %s', p.name, (
          select c.name from ragdb.corpora c where c.corpus_id = p.corpus_id)),
        p.problem)::ragdb_internal.checked_row
      from ragdb_internal.problems_of_peers(v_tables[i], case when i = v_begin then after end,
        most - cardinality(v_rows)) p order by p.nth);
    exit when cardinality(v_rows) = most;
  end loop;
  return ragdb_internal.verified_rows('peers', v_rows, most,
    'restore it from a backup, or drop the corpus (ragdb corpus drop) and pull it anew');
end $$;
