"""A physical standby embeds the question itself, also words that nobody has cut before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from ragdb.database import Database
from ragdb.server import static
from tests.conftest import OLDER_BY_NIGHT
from tests.server.test_standby import answers, catch_up, running_standby
from tests.static_twin import train

PROSE = (Path(__file__).parents[2] / "docs/guide.md").read_text().split("\n\n")


@OLDER_BY_NIGHT
def test_a_standby_searches_by_meaning_with_the_same_bytes(
    any_version: Any, tmp_path: Path
) -> None:
    train("bpe", PROSE, tmp_path / "small")
    with any_version.database() as database, running_standby(any_version) as uri:
        primary = any_version.dsn(database.dbname)
        standby = make_conninfo(uri, dbname=database.dbname)
        with Database(psycopg.connect(primary, autocommit=True)) as db:
            static.load(db, "small", str(tmp_path / "small"))
            db.create_corpus("docs")
            for n, text in enumerate(PROSE[:20]):
                db.put_text("docs", f"guide#{n}", text)
            catch_up(primary, standby)
            asked = (
                "select mode, chunk_id, score, semantic_score"
                " from ragdb.search('docs',"
                "   'how is the text of a document in a corpus searched, unforeseeably: ' || %s)"
            )
            found = answers(standby, asked)
            assert found == answers(primary, asked)
            assert all(set(values[::4]) == {b"hybrid"} for values in found)
