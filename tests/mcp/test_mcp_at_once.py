"""Tools that change a corpus while another writes to it wait for that, and then change it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.mcp.server import _shown
from ragdb.mcp.tools import Tools
from tests.sql.conversations import conversation, message, uuid
from tests.waiting import until

PUT = "select ragdb.put_text('docs', 'b.md', 'shipping is free')"


@pytest.fixture
def tools(clone: str) -> Iterator[Tools]:
    """Those of a server that may change corpora."""
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        talk = conversation([message(n, text=f"turn {n}") for n in (1, 2, 3)])
        db.execute("select ragdb.put_conversations('docs', %s)", (Jsonb([talk]),))
    made = Tools(clone, write=True)
    made.pool.open()
    yield made
    made.pool.close()


def meanwhile(clone: str, tools: Tools, tool: str, arguments: dict[str, Any]) -> list[Any]:
    """What a tool comes to that is called while another writes to its corpus."""
    ended: list[Any] = []

    def call() -> None:
        try:
            ended.append(tools.call(tool, arguments))
        except psycopg.Error as error:
            ended.append(error)

    with psycopg.connect(clone) as other:
        other.execute(PUT)
        thread = threading.Thread(target=call)
        thread.start()
        waits = (
            "select exists (select from pg_locks"
            " where pg_backend_pid() = any (pg_blocking_pids(pid)))"
        )
        until(lambda: ended or other.execute(waits).fetchone() == (True,))
        assert not ended, f"it does not wait: {ended}"
        other.commit()
        thread.join(120)
    return ended


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("add_synonyms", {"corpus": "docs", "words": ["fee", "charge"]}, {"added": 2}),
        (
            "add_edges",
            {"corpus": "docs", "edges": [{"parent": uuid(1), "child": uuid(3)}]},
            {"added": 1},
        ),
        ("drop_corpus", {"corpus": "docs"}, {"dropped": "docs"}),
    ],
)
def test_a_tool_waits_for_another_writer_and_goes_on(
    clone: str, tools: Tools, tool: str, arguments: dict[str, Any], found: dict[str, Any]
) -> None:
    assert meanwhile(clone, tools, tool, arguments) == [found]


def test_a_deletion_that_looked_before_another_wrote_is_to_be_called_again(
    clone: str, tools: Tools
) -> None:
    ((document, *_),) = [tools.call("list_documents", {"corpus": "docs"})["documents"]]
    arguments = {"id": document["id"]}
    (error,) = meanwhile(clone, tools, "delete_document", arguments)
    assert _shown(error) == "another transaction changed the same meanwhile: call it again"
    assert tools.call("delete_document", arguments)["documents_deleted"] == 1
