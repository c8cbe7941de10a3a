-- What functions that others run are planned with, whatever the server's settings are.

-- PostgreSQL compiles a statement (JIT) where its planner takes it for an expensive one. Ours take
-- milliseconds, some of them over rows that it cannot count, and to compile takes a second and
-- more. What a public function or a trigger calls is planned as it is itself. A function in SQL
-- with the rights of its caller has no setting: it would be no part of the caller's statement any
-- more. A procedure cannot have one, because it commits.
do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid
    from pg_catalog.pg_proc p
      join pg_catalog.pg_language l on l.oid = p.prolang
    where p.prokind = 'f' and (
      p.pronamespace = 'ragdb'::regnamespace and (p.prosecdef or l.lanname <> 'sql')
      or p.pronamespace = 'ragdb_internal'::regnamespace
        and p.prorettype = 'pg_catalog.trigger'::regtype)
  loop
    execute format('alter function %s set jit = off', v_function);
  end loop;
end $$;
