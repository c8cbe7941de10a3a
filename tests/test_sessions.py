"""A session that verbs of a test have one after the other is reset between them."""

from __future__ import annotations

import ragdb
from tests.sessions import kept


def test_a_kept_session_has_nothing_of_who_had_it(clone: str) -> None:
    pids, notices = list[int](), list[object]()
    with kept():
        for name in ("one", "two"):
            with ragdb.connect(clone, application_name=name, on_notice=notices.append) as db:
                had = db.connection.execute(
                    "select current_user::text, current_setting('application_name'),"
                    " current_setting('work_mem'), to_regclass('mine')::text,"
                    " (select count(*) from pg_locks where locktype = 'advisory'),"
                    " array(select pg_listening_channels())"
                ).fetchone()
                assert had == ("postgres", name, "32MB", None, 0, [])
                for left in (
                    "set role reader",
                    "set work_mem = '1MB'",
                    "create temp table mine (x int)",
                    "select pg_advisory_lock(1)",
                    "listen loud",
                    "do 'begin raise notice $$heard$$; end'",
                ):
                    db.connection.execute(left)
                pids.append(db.connection.info.backend_pid)
            assert db.connection.closed
    assert pids[0] == pids[1]
    assert len(notices) == 2
