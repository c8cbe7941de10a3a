"""A connection leaves nothing behind, and keeps what the operator of a server has set."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from ragdb.client import connecting


@pytest.mark.parametrize(("own", "looked"), [("0", "2s"), ("500ms", "500ms"), ("1min", "1min")])
def test_a_program_looks_for_its_client_as_often_as_its_role_says(
    module_clone: str, own: str, looked: str
) -> None:
    dsn = psycopg.conninfo.make_conninfo(
        module_clone, options=f"-c client_connection_check_interval={own}"
    )
    with connecting.in_turns(connecting.connect(dsn, autocommit=True)) as db:
        assert db.execute("show client_connection_check_interval").fetchall() == [(looked,)]


def test_a_connection_that_is_given_up_while_it_is_made_is_closed(
    module_clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    async def is_cancelled(connection: psycopg.AsyncConnection[Any]) -> None:
        made.append(connection)
        raise asyncio.CancelledError

    monkeypatch.setattr(connecting, "ahave_forms", is_cancelled)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(connecting.aconnect(module_clone))
    assert [connection.closed for connection in made] == [True]
