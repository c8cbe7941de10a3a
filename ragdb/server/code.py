"""What sql/ owns in a database: dropped before revisions run, loaded after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from ragdb.server.roles import OWNER, SCHEMAS
from ragdb.server.scripts import chapters, run, stamp

if TYPE_CHECKING:
    from ragdb.server.roles import Connection


class InUse(Exception):
    """Objects of the user, named in `objects`, depend on what an upgrade drops, or are among it."""

    exit_code = 3

    def __init__(self, objects: list[str], why: str) -> None:
        super().__init__(
            f"an upgrade drops and reloads the functions and views of ragdb, and these {why}:\n"
            + "\n".join(f"  {o}" for o in objects)
        )
        self.objects = objects


DEPEND = "depend on them (drop them and create them again afterwards)"
AMONG = "of others are among them (move them to another schema, or `ragdb init --force` drops them)"


def load_code(connection: Connection) -> None:
    """Run every file of sql/ and stamp the schema."""
    # that every body compiles is tested, and takes a sixth of the time
    connection.execute("set local check_function_bodies = off")
    run(connection, "sql", chapters())
    _wrappers(connection, "make")
    connection.execute(sql.SQL("comment on schema ragdb is {}").format(sql.Literal(stamp())))


OURS = f"""select oid from pg_namespace where nspname in ({", ".join(f"'{s}'" for s in SCHEMAS)})"""
# What sql/ owns: functions, views, composite types and triggers. What others put there is taken for
# it: one of their functions could take a call, and a trigger change what is recorded.
# Members of other extensions are not ours, wherever they are.
CODE = f"""
  with ours (oid) as ({OURS}),
  thing (classid, objid, kind) as (
    select 'pg_proc'::regclass, p.oid,
        case p.prokind when 'p' then 'procedure' when 'a' then 'aggregate' else 'function' end
      from pg_proc p where p.pronamespace in (select oid from ours)
    union all
    select 'pg_class', c.oid,
        case c.relkind when 'v' then 'view' when 'm' then 'materialized view' else 'type' end
      from pg_class c where c.relnamespace in (select oid from ours)
        and c.relkind in ('v', 'm', 'c')
    union all
    select 'pg_trigger', t.oid, 'trigger'
      from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace = 'ragdb'::regnamespace and not t.tgisinternal and t.tgparentid = 0
  )
  select * from thing t where not exists (
    select from pg_depend d where d.classid = t.classid and d.objid = t.objid and d.deptype = 'e')
"""
# Those of another owner, by their names; a trigger is of the owner of its function.
OTHERS = f"""
  with thing as ({CODE})
  select o.type || ' ' || o.identity
  from thing t
    left join pg_class c on t.classid = 'pg_class'::regclass and c.oid = t.objid
    left join pg_trigger g on t.classid = 'pg_trigger'::regclass and g.oid = t.objid
    left join pg_proc p on p.oid = case t.classid when 'pg_proc'::regclass then t.objid
      else g.tgfoid end,
    pg_identify_object(t.classid, t.objid, 0) o
  where coalesce(p.proowner, c.relowner) <> '{OWNER}'::regrole
  order by 1
"""

# Locks all tables and views before anything takes long. Whoever reads a view has it first, and any
# other call has corpora first. So calls at work come to their end, and new ones wait with nothing
# that is waited for here. All of it takes as long as one lock may: a call that waits for longer
# would look for a deadlock, which ends it.
# A lock of a view by `lock table` is one of what it reads, too, and of the catalogue; an owner that
# it has already is not written.
LOCKS = f"""
  do $do$ declare
    v_limit constant integer := (select setting from pg_settings where name = 'lock_timeout');
    v_begin constant timestamptz := clock_timestamp();
    v_lock text;
  begin
    for v_lock in
      select format(case c.relkind when 'v' then 'alter view %s owner to {OWNER}'
          else 'lock table %s in access exclusive mode' end, c.oid::regclass)
        from pg_class c
        where c.relnamespace in ({OURS})
          and c.relkind in ('v', 'r', 'p') and c.relowner = '{OWNER}'::regrole
          and not c.relispartition
        order by c.relkind <> 'v', c.oid <> to_regclass('ragdb.corpora'), c.oid
    loop
      if v_limit > 0 then
        perform set_config('lock_timeout', greatest(1, v_limit - (1000 * extract(
          epoch from clock_timestamp() - v_begin))::integer)::text, true);
      end if;
      execute v_lock;
    end loop;
    perform set_config('lock_timeout', v_limit::text, true);
  end $do$
"""
VACUUMED = f"""
  select distinct c.oid::regclass::text
    from pg_locks l join pg_class c on c.oid = l.relation
    where l.database = (select oid from pg_database where datname = current_database())
      and l.mode = 'ShareUpdateExclusiveLock' and l.granted and c.relnamespace in ({OURS})
      and c.relkind in ('r', 'p') and c.relowner = '{OWNER}'::regrole
"""


def wait_for_vacuums(connection: Connection, at_most: str | None) -> None:
    """Wait until no table of ragdb is vacuumed, for each as long as a lock_timeout if one is given.

    Nobody else waits meanwhile. An automatic vacuum is ended by PostgreSQL where somebody waits for
    it for a second, which the locks of an upgrade do not.
    """
    for (table,) in connection.execute(VACUUMED).fetchall():
        with connection.transaction(force_rollback=True):
            if at_most:
                connection.execute("select set_config('lock_timeout', %s, true)", (at_most,))
            connection.execute(f"lock table {table} in share update exclusive mode".encode())


def _wrappers(connection: Connection, verb: str) -> None:
    """Drop or make the wrappers of a router, which are its own: its nodes have none."""
    if connection.execute(
        "select from pg_class where oid = to_regclass('ragdb_at.members')"
    ).rowcount:
        connection.execute("set local citus.enable_ddl_propagation = off")
        connection.execute(f"select ragdb_internal.{verb}_wrappers()")


def drop_code(connection: Connection, *, takes_others: bool) -> None:
    """Drop what sql/ owns: bound bodies would block changes of columns. Raises InUse.

    `takes_others` drops also what others made in its schemas.
    """
    _wrappers(connection, "drop")
    users = connection.execute(f"""
      with code as materialized ({CODE}),
      part (classid, objid) as (
        select classid, objid from code
        -- and what PostgreSQL made for them
        union select 'pg_rewrite'::regclass, r.oid
          from pg_rewrite r join code on code.kind like '%view' and code.objid = r.ev_class
        union select 'pg_type'::regclass, unnest(array[t.oid, t.typarray])
          from pg_type t join code on code.kind in ('view', 'materialized view', 'type')
            and code.objid = t.typrelid
        union select 'pg_constraint'::regclass, t.tgconstraint
          from pg_trigger t join code on code.kind = 'trigger' and code.objid = t.oid
        union select 'pg_trigger'::regclass, t.oid
          from pg_trigger t join code on code.kind = 'trigger' and code.objid = t.tgparentid
      )
      select distinct o.type || ' ' || o.identity
      from pg_depend d join part p on p.classid = d.refclassid and p.objid = d.refobjid
        left join pg_rewrite r on d.classid = 'pg_rewrite'::regclass and r.oid = d.objid,
        -- a view depends through its rule
        pg_identify_object(case when r.oid is null then d.classid else 'pg_class'::regclass end,
          coalesce(r.ev_class, d.objid), case when r.oid is null then d.objsubid else 0 end) o
      where (d.classid, d.objid) not in (select classid, objid from part)
        and d.classid <> 'pg_init_privs'::regclass
      order by 1""").fetchall()  # fmt: skip
    if users:
        raise InUse([name for (name,) in users], DEPEND)
    if not takes_others and (others := connection.execute(OTHERS).fetchall()):
        raise InUse([name for (name,) in others], AMONG)
    connection.execute(LOCKS)
    connection.execute(f"""
      do $do$ declare v_code record; begin
        for v_code in {CODE} order by kind = 'trigger' desc loop
          -- one before may have taken it along
          if v_code.classid = 'pg_proc'::regclass then
            continue when not exists (select from pg_proc where oid = v_code.objid);
            execute format('drop %s %s cascade', v_code.kind, v_code.objid::regprocedure);
          elsif v_code.classid = 'pg_class'::regclass then
            continue when not exists (select from pg_class where oid = v_code.objid);
            execute format('drop %s %s cascade', v_code.kind, v_code.objid::regclass);
          else
            execute (select format('drop trigger %I on %s', tgname, tgrelid::regclass)
              from pg_trigger where oid = v_code.objid);
          end if;
        end loop;
      end $do$""")  # fmt: skip
