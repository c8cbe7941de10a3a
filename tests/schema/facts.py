"""The catalogue of a schema as sorted lines: two schemas are the same when their lines are."""

from __future__ import annotations

from difflib import unified_diff
from typing import Any

import psycopg

# Every branch gives (kind, name, fact). Names resolve in pg_catalog only, so that all else is qualified.
FACTS = """
with o as (  -- the relations
  select c.* from pg_class c
  where c.relnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and c.relname not like 'alembic\\_version%'
)
select 'schema', nspname::text, concat_ws(' | ', nspowner::regrole,
    (select string_agg(a.grantee::regrole || '=' || a.privilege_type, ',' order by a.grantee::regrole::text, a.privilege_type)
      from aclexplode(coalesce(nspacl, acldefault('n', nspowner))) a), obj_description(oid, 'pg_namespace'))
  from pg_namespace where nspname in ('ragdb', 'ragdb_internal', 'bi')
union all
select 'relation', oid::regclass::text, concat_ws(' | ', relkind, relowner::regrole, relpersistence, relrowsecurity,
    reloptions::text, pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid),
    (select string_agg(a.grantee::regrole || '=' || a.privilege_type, ',' order by a.grantee::regrole::text, a.privilege_type)
      from aclexplode(coalesce(relacl, acldefault('r', relowner))) a), obj_description(oid, 'pg_class'))
  from o where relkind <> 'i'
union all
select 'type', t.typname::text, concat_ws(' | ', t.typtype, t.typowner::regrole,
    (select string_agg(a.grantee::regrole || '=' || a.privilege_type, ',' order by a.grantee::regrole::text, a.privilege_type)
      from aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) a), obj_description(t.oid, 'pg_type'),
    pg_get_expr(t.typdefaultbin, 0))
  from pg_type t join o on o.oid = t.typrelid where o.relkind = 'c'
union all
select 'type', t.typname::text, concat_ws(' | ', t.typtype, t.typowner::regrole, obj_description(t.oid, 'pg_type'))
  from pg_type t where t.typnamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace) and t.typtype in ('d', 'e', 'r')
union all
select 'column', o.oid::regclass || '.' || a.attname, concat_ws(' | ', a.attnum, format_type(a.atttypid, a.atttypmod),
    a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated, a.attstorage,
    a.attcollation::regcollation, a.attacl::text, col_description(o.oid, a.attnum))
  from o join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = o.oid and d.adnum = a.attnum
  where o.relkind <> 'i'
union all
select 'constraint', o.oid::regclass || '.' || k.conname, concat_ws(' | ', pg_get_constraintdef(k.oid), k.convalidated,
    obj_description(k.oid, 'pg_constraint'))
  from pg_constraint k join o on o.oid = k.conrelid
union all
select 'index', o.oid::regclass::text, concat_ws(' | ', pg_get_indexdef(o.oid), i.indisvalid, o.reloptions::text)
  from o join pg_index i on i.indexrelid = o.oid
union all
select 'view', o.oid::regclass::text, pg_get_viewdef(o.oid) from o where o.relkind in ('v', 'm')
union all
select 'trigger', o.oid::regclass || '.' || t.tgname, concat_ws(' | ', pg_get_triggerdef(t.oid), t.tgenabled)
  from pg_trigger t join o on o.oid = t.tgrelid where not t.tgisinternal
union all
select 'policy', o.relname || '.' || p.polname, concat_ws(' | ', p.polcmd, pg_get_expr(p.polqual, p.polrelid),
    pg_get_expr(p.polwithcheck, p.polrelid), p.polroles::regrole[]::text)
  from pg_policy p join o on o.oid = p.polrelid
union all
select 'function', p.oid::regprocedure::text, concat_ws(' | ', p.proowner::regrole,
    (select string_agg(a.grantee::regrole || '=' || a.privilege_type, ',' order by a.grantee::regrole::text, a.privilege_type)
      from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a), obj_description(p.oid, 'pg_proc'),
    case when p.prokind <> 'a' then pg_get_functiondef(p.oid) end)
  from pg_proc p where p.pronamespace in ('ragdb'::regnamespace, 'ragdb_internal'::regnamespace, 'bi'::regnamespace)
union all
select 'default right', d.defaclrole::regrole::text, d.defaclacl::text from pg_default_acl d
union all
select 'membership', m.member::regrole::text, m.roleid::regrole::text
  from pg_auth_members m where m.member::regrole::text like 'ragdb\\_%'
union all
select 'login', r.rolname::text, concat_ws(' | ', r.rolcanlogin, r.rolsuper, r.rolconfig::text) from pg_roles r where r.rolname = 'bi_reader'
"""


def facts(connection: psycopg.Connection[Any]) -> list[str]:
    """All that defines schema ragdb, one line a fact, sorted bytewise."""
    with connection.transaction(force_rollback=True):
        connection.execute("set local search_path = pg_catalog")
        rows = connection.execute(FACTS).fetchall()
    return sorted(f"{kind} {name}: {fact}" for kind, name, fact in rows)


def difference(one: list[str], other: list[str]) -> str:
    """The lines that only one has; empty when both are the same."""
    return "\n".join(unified_diff(one, other, lineterm="", n=0))
