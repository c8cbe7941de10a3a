"""Eight parts of real manuals on three servers rank as these in one piece, after edits too."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

import ragdb
from tests.conftest import Server, running_server
from tests.embedding import make_embedder
from tests.servers.test_servers import asked
from tests.sql.corpora.test_parts import ask
from tests.sql.corpora.test_parts_scale import (
    OPTIMIZE,
    PARTS,
    PIVOT,
    QUESTIONS,
    manuals,
    questions,
    write,
)

pytestmark = [pytest.mark.nightly, pytest.mark.shared]


def test_parts_of_manuals_on_three_servers_rank_as_the_manuals_in_one_piece(
    server18: Server, shared: Path
) -> None:
    folder = shared / "data/scale_tech_docs"
    documents, how_asked = list(manuals(folder)), list(questions(folder))
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as alone,
    ):
        make_embedder(alone)
        alone.execute("select ragdb.create_corpus('whole')")
        alone.execute("select ragdb.embed_corpus('whole', 'hash')")
        write({"whole": alone}, documents, lambda: alone.execute(OPTIMIZE, (None,)))
        ((pivot,),) = alone.execute(PIVOT).fetchall()
        expected = [ask(alone, how) for how in how_asked]
    with ExitStack() as stack:
        several = [stack.enter_context(running_server(18)) for _ in range(3)]
        dsns = []
        for server in several:
            database = stack.enter_context(server.database())
            dsns.append(server.dsn(database.dbname))
        dbs = [stack.enter_context(psycopg.connect(dsn, autocommit=True)) for dsn in dsns]
        homes = {part: dbs[number % 3] for number, part in enumerate(PARTS)}
        for db in dbs:
            make_embedder(db)
            db.execute("select ragdb.create_corpus('whole')")
            db.execute("select ragdb.embed_corpus('whole', 'hash')")
        for part, db in homes.items():
            db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))
        servers = stack.enter_context(ragdb.Servers(dsns))
        write(homes, documents, lambda: servers.optimize("whole", pivot))
        servers.sync("whole")
        for how, hits in zip(how_asked, expected, strict=True):
            assert asked(servers, how) == hits, how["query"]
    assert sum(len(hits) for hits in expected) > 10 * QUESTIONS
