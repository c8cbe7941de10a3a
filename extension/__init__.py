"""Writes ragdb--X.sql out of migrations/ and sql/: `make extension`."""

import re
from pathlib import Path

from ragdb.server import roles, scripts
from ragdb.version import __version__

HEAD = """\
-- Made from migrations/ and sql/ by `make extension`; edit those.
\\echo use "create extension ragdb cascade" to load this file \\quit

-- Roles are the whole server's; making them takes createrole, having them takes nothing. Whoever
-- may not make them gets all that a DBA has to run, at once.
do $$
declare
  v_me constant text := quote_ident(current_user);
  v_super constant bool := (select rolsuper from pg_catalog.pg_roles
    where rolname = current_user);
  v_is_dba constant bool := v_super or (select rolcreaterole from pg_catalog.pg_roles
    where rolname = current_user);
  v_vector constant regnamespace := '@extschema:vector@';
  v_roles text[] := '{{}}';
  v_todo text[] := '{{}}';
  v_do text;
  v_may bool := true;
begin
  if pg_catalog.to_regnamespace('ragdb_internal') is not null then
    raise exception 'database % has ragdb already, without the extension',
      pg_catalog.quote_ident(pg_catalog.current_database()) using
      errcode = 'duplicate_schema',
      hint = '`ragdb init` brings it to a newer version; for the extension instead export each '
        'corpus, drop schema ragdb, ragdb_internal, bi cascade, create it and import';
  end if;
{roles}
  v_may := v_is_dba or v_roles = '{{}}';
  if not v_super and not exists (select from pg_catalog.pg_roles
      where rolname = 'ragdb_owner' and pg_catalog.pg_has_role(oid, 'set')) then
    -- a role that makes another may give it away and not be it, until it gives it to itself
    v_todo := v_todo || format('grant ragdb_owner to %s with inherit false, set true', v_me);
    v_may := v_may and ('create role ragdb_owner nologin' = any (v_roles) or exists (
      select from pg_catalog.pg_roles
      where rolname = 'ragdb_owner' and pg_catalog.pg_has_role(oid, 'member with admin option')));
  end if;
  if not coalesce(
      (select pg_catalog.has_schema_privilege(oid, v_vector, 'usage')
        from pg_catalog.pg_roles where rolname = 'ragdb_owner'),
      (select exists (select from pg_catalog.aclexplode(nspacl)
          where grantee = 0 and privilege_type = 'USAGE')
        from pg_catalog.pg_namespace where oid = v_vector)) then
    v_todo := v_todo || format('grant usage on schema %s to ragdb_owner', v_vector);
    v_may := v_may and (pg_catalog.has_schema_privilege(v_vector, 'usage with grant option')
      or (select pg_catalog.pg_has_role(nspowner, 'usage')
        from pg_catalog.pg_namespace where oid = v_vector));
  end if;
  if not v_super and not exists (select from pg_catalog.pg_roles
      where rolname = any ('{groups}')
        and pg_catalog.pg_has_role(oid, 'usage')) then
    v_do := format('grant {admitted} to %s with inherit true', v_me);
    if not v_may or 'create role {admitted} nologin' = any (v_roles) or exists (
        select from pg_catalog.pg_roles where rolname = '{admitted}'
          and pg_catalog.pg_has_role(oid, 'member with admin option')) then
      v_todo := v_todo || v_do;
    else
      raise notice 'role % may use nothing of ragdb yet', v_me
        using hint = format('a DBA must run: %s;', v_do);
    end if;
  end if;
  if not v_may then
    raise exception 'role % may not make all that ragdb needs', v_me using
      errcode = 'insufficient_privilege',
      detail = E'A DBA must run:\\n'
        || pg_catalog.array_to_string(v_roles || v_todo, E';\\n') || ';',
      hint = 'then create the extension again';
  end if;
  foreach v_do in array v_roles || v_todo loop
    begin
      execute v_do;
    exception when duplicate_object or unique_violation then
      null;  -- whoever installs in another database of the server has made it meanwhile
    end;
  end loop;
end $$;

-- All belongs to ragdb_owner, whoever installs.
alter schema ragdb owner to ragdb_owner;
create schema ragdb_internal authorization ragdb_owner;
create schema bi authorization ragdb_owner;
-- a role that a script sets stays until the transaction ends
select pg_catalog.set_config('ragdb.installer_role', pg_catalog.current_setting('role'), true);
set local role ragdb_owner;
set local search_path = pg_catalog, @extschema:vector@;
"""

TAIL = """
-- A dump holds the rows, and the extension at restore makes the tables. Partitions are made at run
-- time: they are not members and are dumped whole. The secrets that sign never go into a dump.
do $$
declare
  v_table regclass;
begin
  for v_table in
    select c.oid from pg_catalog.pg_class c
    where c.relnamespace = 'ragdb'::regnamespace and c.relkind = 'r'
      and c.relname not in ('signing_secrets', 'installed_code') order by c.relname
  loop
    perform pg_catalog.pg_extension_config_dump(v_table, '');
  end loop;
end $$;

select pg_catalog.set_config('role', pg_catalog.current_setting('ragdb.installer_role'), true);
"""

# What a script is made of, as far as a backslash may stand in it. A constant may go on in the next
# line, and is then of the kind that its first part is.
PARTS = re.compile(
    r"""--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$|"[^"]*"
    |\b[eE](?:(?:\s*\n\s*)?'(?:[^'\\]|\\.)*')+
    |(?P<unicode>\b[uU]&)?(?P<constant>'[^']*'(?:(?:\s*\n\s*)?'[^']*')*)""",
    re.S | re.X,
)


def portable(text: str) -> str:
    """A script whose constants are the same without standard_conforming_strings.

    `create extension` reads all of it before a line of it could switch that on.
    """

    def escaped(found: re.Match[str]) -> str:
        constant = found["constant"]
        if constant is None or "\\" not in constant:
            return found[0]
        if not found["unicode"]:
            return "E" + constant.replace("\\", "\\\\")
        wide = re.sub(r"\\\+(?=[0-9A-Fa-f]{6})", r"\\U00", constant)
        return "E" + re.sub(r"\\(?=[0-9A-Fa-f]{4})", r"\\u", wide)

    return PARTS.sub(escaped, text)


def script() -> str:
    """The text of the extension's script."""
    made = []
    for role, lower in roles.ROLES.items():
        todo = [roles.role_statement(role)] + ([f"grant {lower} to {role}"] if lower else [])
        quoted = ",\n      ".join("'" + s.replace("'", "''") + "'" for s in todo)
        made.append(
            f"  if not exists (select from pg_catalog.pg_roles where rolname = '{role}') then\n"
            f"    v_roles := v_roles || array[\n      {quoted}];\n  end if;"
        )
    head = HEAD.format(
        roles="\n".join(made),
        groups="{" + ",".join(roles.GROUPS) + "}",
        admitted=roles.ADMITTED,
    )
    parts = [head]
    for folder, texts in scripts.folders().items():
        parts += [f"\n---- {folder}/{name}\n\n{text}" for name, text in texts.items()]
    parts += [f"\ncomment on schema ragdb is '{scripts.stamp()}';\n", TAIL]
    return portable("".join(parts))


def path() -> Path:
    """Where the script of this version lies in the source tree."""
    return Path(__file__).with_name(f"ragdb--{__version__}.sql")
