"""ragdb.verify says what does more than ragdb: what runs beside it, and who may switch it off."""

from __future__ import annotations

import pytest

from tests.conftest import Connection

RUNS = (
    "create function public.more() returns event_trigger language plpgsql as 'begin end';"
    "create event trigger more on ddl_command_end execute function public.more()"
)
SAID = {
    # what may do more: (edit, place, severity, finding)
    "an event trigger": (
        RUNS, "event trigger more", "note", "it runs public.more() at ddl_command_end",
    ),
    "a library that sessions load": (
        "alter role all set session_preload_libraries = 'auto_explain'",
        "all databases", "note", "sessions load what session_preload_libraries names",
    ),
    "a publication": (
        "create publication more for table ragdb.signing_secrets",
        "publication more", "note", "it sends the secrets of keys to who subscribes",
    ),
    "a publication of a schema": (
        "create publication more for tables in schema ragdb",
        "publication more", "note", "it sends the secrets of keys to who subscribes",
    ),
    "a subscription": (
        "create subscription more connection 'dbname=none' publication none"
        " with (connect = false, slot_name = none); insert into pg_subscription_rel (srsubid,"
        " srrelid, srsubstate) select oid, 'ragdb.events'::regclass, 'r' from pg_subscription",
        "ragdb.events", "note",
        "subscription more writes to it, for which ordinary triggers do not fire",
    ),
    "a role that may switch triggers off": (
        "grant set on parameter session_replication_role to reader",
        "role reader", "note",
        "it may set session_replication_role, which switches ordinary triggers off",
    ),
    "a group that can be the owner": (
        "grant ragdb_owner to ragdb_reader",
        "role ragdb_reader", "warning", "it can be ragdb_owner, and can change every row",
    ),
    "everybody, who may edit the catalogue": (
        "set local allow_system_table_mods = on;"
        " grant update (prosrc) on pg_catalog.pg_proc to public",
        "role public", "warning", "it may edit pg_proc, and so what ragdb does",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SAID)
def test_what_does_more_than_ragdb_is_said(any_db: Connection, what: str) -> None:
    edit, place, severity, finding = SAID[what]
    said = "select v.severity, v.finding from ragdb.verify(true, '{rights}') v where v.place = %s"
    assert any_db.execute(said, (place,)).fetchall() == []
    any_db.execute(edit.encode())
    assert any_db.execute(said, (place,)).fetchall() == [(severity, finding)]
