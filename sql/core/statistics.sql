-- What the planner believes of tables that were analyzed when they were all but empty.
--
-- A table analyzed while its rows are dead (a first load that was rolled back) or those of a load
-- that goes on has pages and no rows. To the planner all its indexes then cost one page, and
-- look-ups by key scan a corpus each, until autovacuum comes. So a writer that has put ten times as
-- many rows into a table as the planner knows of has it analyzed, before it looks up what it wrote.
-- So has who writes the first 400: sessions that kept their plans since the table was empty make
-- them anew then. Not sooner: the planner takes a corpus for a two-hundredth of its table, and of
-- 200 rows that is one. Any index that begins with corpus_id then looks as good as the key.
-- Where another has it analyzed already, it goes on; where the owner may not read the counters, a
-- DBA took them away from all, it does not know.
--
-- A vacuum amid a load counts no row of it: to the planner the tables then have what others had
-- committed, or nothing, until one is analyzed again, and readers cannot have that done. So a load
-- of ten times as many rows keeps vacuum from a table until it ends, as analyze does where it runs.
--
-- At the end of a load as many rows are enough as were analyzed. Until autovacuum came, PostgreSQL
-- 16 read a corpus for each list of its chunks.

-- Keeps vacuum, and whoever else analyzes, from a table until the transaction ends, unless one of
-- them is there already.
create or replace function ragdb_internal.keep_from_vacuum(a_table regclass)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('lock table %s in share update exclusive mode nowait', a_table);
exception
  when lock_not_available then null;
end $$;

-- Analyzes those of some tables into which ten times as many rows were written since they were
-- analyzed as the planner knows of, at the end of a load as many as were analyzed; none with less
-- than 400. Keeps vacuum from those in which ten times as many are of this transaction as of all
-- that have ended.
create or replace function ragdb_internal.renew_statistics(
  tables regclass[], ends_load boolean default false)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
-- that another analyzes the table is nothing to warn the caller of
set client_min_messages = error
as $$
declare
  v_table regclass;
  v_is_outgrown boolean;
begin
  if not (has_function_privilege('pg_stat_get_mod_since_analyze(oid)', 'execute')
    and has_function_privilege('pg_stat_get_live_tuples(oid)', 'execute')
    and has_function_privilege('pg_stat_get_xact_tuples_inserted(oid)', 'execute'))
  then
    return;
  end if;
  for v_table, v_is_outgrown in
    select c.oid, o.is_outgrown from pg_class c
      cross join lateral (
        select pg_stat_get_xact_tuples_inserted(c.oid) as own,
          pg_stat_get_mod_since_analyze(c.oid) + pg_stat_get_xact_tuples_inserted(c.oid)
            as written,
          greatest(c.reltuples, 0) as analyzed,
          greatest(c.reltuples, 0) / greatest(c.relpages, 1)
            * (pg_relation_size(c.oid) / current_setting('block_size')::integer) as known) m
      cross join lateral (
        select m.written > case when ends_load then m.analyzed else 10 * m.known end
          as is_outgrown) o
    where c.oid = any (tables) and m.written >= 400
      and (o.is_outgrown or m.own >= 400 and m.own >= 10 * pg_stat_get_live_tuples(c.oid))
  loop
    if v_is_outgrown then
      execute format('analyze (skip_locked) %s', v_table);
    else
      perform ragdb_internal.keep_from_vacuum(v_table);
    end if;
  end loop;
end $$;
