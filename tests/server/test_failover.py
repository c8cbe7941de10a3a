"""A primary is lost: its standby is promoted, written and read, and followed by one of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from ragdb import errors
from ragdb.server.postgres import run
from tests.conftest import running_server
from tests.http.conftest import Api, serve
from tests.pooler import pooler
from tests.server.test_http_standby import Pair, by, comes_back, found
from tests.server.test_standby import running_standby
from tests.waiting import until

pytestmark = pytest.mark.nightly


def put(api: Api, source: str, text: str) -> str:
    """Store a text over HTTP, and return the position that the answer says."""
    with psycopg.connect(api.dsn, autocommit=True) as db:
        db.execute("select ragdb.put_text('docs', %s, %s)", (source, text))
    made = api("POST", "/api/corpora", {"corpus": f"of-{source}"}, role="admin")
    assert made.status == 201, made.body
    position: str = made.headers["X-Ragdb-Position"]
    return position


def answered(api: Api, asked: dict[str, Any], **headers: Any) -> tuple[str, list[str]]:
    """Who answers in the end, and the sources: connections to what is gone end first."""

    def search() -> tuple[str, list[str]] | None:
        where, answer = by(api, "/api/search", asked, **headers)
        return (where, found(answer)) if answer.status == 200 else None

    return until(search)


def test_stale_reads_are_refused_own_writes_read_and_a_promoted_standby_takes_over() -> None:
    asked = {"query": "platypus", "corpora": ["docs"]}
    with running_server(18) as lost, running_standby(lost, "heir") as uri:
        with psycopg.connect(lost.uri, autocommit=True) as db:
            db.execute(f"create database d template {lost.template}")
        heir = SimpleNamespace(
            folder=lost.folder.with_name("heir18"), version=18, uri=uri, template=lost.template
        )
        pair = Pair(lost.dsn("d"), make_conninfo(uri, dbname="d"))
        both = make_conninfo(
            lost.dsn("d"), host=f"{lost.folder},{heir.folder}", target_session_attrs="read-write"
        )
        api = serve(both, pair.tokens, "--read-dsn", pair.standby, "--max-lag", "60")
        try:
            comes_back(api, {"query": "refund", "corpora": ["docs"]})
            with pair.held_back():
                position = put(api, "platypus", "The platypus lays eggs.")
                # within the bound, and behind its writer
                assert answered(api, asked) == ("standby", [])
                own = {"X_Ragdb_Position": position}
                assert answered(api, asked, **own) == ("primary", ["platypus"])
            comes_back(api, asked, **own)

            run(lost.folder, 18, "pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(lost.folder))
            assert pair.ask(pair.standby, "select pg_promote(true, 600)") is True
            # what stood before stands, and who read its own writes still does
            assert answered(api, asked) == ("primary", ["platypus"])
            assert answered(api, asked, **own) == ("primary", ["platypus"])
            written = put(api, "echidna", "The platypus has a cousin, the echidna.")
            assert set(answered(api, asked, X_Ragdb_Position=written)[1]) == {"platypus", "echidna"}
            assert answered(api, asked)[0] == "primary"  # it is a standby no more
        finally:
            api.process.terminate()
            api.process.wait(120)

        with running_standby(heir, "next") as following:
            after = make_conninfo(following, dbname="d")
            api = serve(pair.standby, pair.tokens, "--read-dsn", after, "--max-lag", "60")
            try:
                comes_back(api, asked, X_Ragdb_Position=written)
                # a position of the timeline that ended is reached by the primary alone
                assert answered(api, asked, **own)[0] == "primary"
            finally:
                api.process.terminate()
                api.process.wait(120)


def test_a_standby_ranks_parts_as_its_primary_or_refuses() -> None:
    candidates = (
        "select chunk_id, score from ragdb.search_candidates('whole', 'red', expects => %s)"
    )
    digest = "select ragdb.ranking_digest('whole')"
    with running_server(18) as server, running_standby(server, "late") as uri:
        with psycopg.connect(server.uri, autocommit=True) as admin:
            admin.execute(f"create database d template {server.template}")
        pair = Pair(server.dsn("d"), make_conninfo(uri, dbname="d"))
        with psycopg.connect(pair.primary, autocommit=True) as db:
            db.execute("select ragdb.create_corpus('whole')")
            db.execute("select ragdb.create_corpus('part', part_of => 'whole')")
            db.execute("select ragdb.put_text('part', 'a', 'red apple')")
            with pair.held_back():
                pass  # it is created there too
            with pair.held_back():
                db.execute("select ragdb.sync_statistics('whole')")
                expects = db.execute(digest).fetchall()[0]
                with (
                    psycopg.connect(pair.standby) as behind,
                    pytest.raises(errors.StatisticsDiffer),
                ):
                    behind.execute(candidates, expects)
            with psycopg.connect(pair.standby) as again:
                found = again.execute(candidates, expects).fetchall()
            assert found == db.execute(candidates, expects).fetchall()
            assert len(found) == 1


def test_a_standby_behind_a_pooler_is_asked_like_any() -> None:
    asked = {"query": "platypus", "corpora": ["docs"]}
    with running_server(18) as server, running_standby(server, "pooled") as uri:
        with psycopg.connect(server.uri, autocommit=True) as admin:
            admin.execute(f"create database d template {server.template}")
        pair = Pair(server.dsn("d"), make_conninfo(uri, dbname="d"))
        with pooler(server.folder.with_name("pooled18"), size=2) as bouncer:
            reads = bouncer.dsn(pair.standby)
            api = serve(pair.primary, pair.tokens, "--read-dsn", reads, "--max-lag", "60")
            try:
                comes_back(api, {"query": "refund", "corpora": ["docs"]})
                with pair.held_back():
                    position = put(api, "platypus", "The platypus lays eggs.")
                    assert answered(api, asked) == ("standby", [])
                    own = {"X_Ragdb_Position": position}
                    assert answered(api, asked, **own) == ("primary", ["platypus"])
                comes_back(api, asked, **own)
                assert answered(api, asked, **own)[1] == ["platypus"]
            finally:
                api.process.terminate()
                api.process.wait(120)
