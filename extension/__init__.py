"""Writes ragdb--X.sql out of migrations/ and sql/: `make extension`."""

from pathlib import Path

from ragdb.server import roles, scripts
from ragdb.version import __version__

HEAD = """\
-- Made from migrations/ and sql/ by `make extension`; edit those.
\\echo use "create extension ragdb cascade" to load this file \\quit

-- Roles are the whole server's; making them takes createrole, having them takes nothing.
do $$
begin
{roles}
end $$;

-- All belongs to ragdb_owner, whoever installs.
alter schema ragdb owner to ragdb_owner;
create schema ragdb_internal authorization ragdb_owner;
create schema bi authorization ragdb_owner;
set local role ragdb_owner;
set local search_path = pg_catalog, @extschema:vector@;
"""

TAIL = """
-- A dump holds the rows, and the extension at restore makes the tables. Partitions are made at run
-- time: they are no members and are dumped whole. The secrets that sign never go into a dump.
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
"""


def script() -> str:
    """The text of the extension's script."""
    made = [
        f"  if not exists (select from pg_catalog.pg_roles where rolname = '{role}') then\n"
        + "".join(f"    {statement};\n" for statement in roles.role_statements(role))
        + (f"    grant {lower} to {role};\n" if lower else "")
        + "  end if;"
        for role, lower in roles.ROLES.items()
    ]
    # a role that makes another may give it away and not be it, until it gives it to itself
    made.append(
        "  if not pg_catalog.pg_has_role('ragdb_owner', 'set') then\n"
        "    execute format('grant ragdb_owner to %I with inherit false, set true',"
        " current_user);\n"
        "  end if;"
    )
    parts = [HEAD.format(roles="\n".join(made))]
    for folder, texts in scripts.folders().items():
        parts += [f"\n---- {folder}/{name}\n\n{text}" for name, text in texts.items()]
    parts += [f"\ncomment on schema ragdb is '{scripts.stamp()}';\n", TAIL]
    return "".join(parts)


def path() -> Path:
    """Where the script of this version lies in the source tree."""
    return Path(__file__).with_name(f"ragdb--{__version__}.sql")
