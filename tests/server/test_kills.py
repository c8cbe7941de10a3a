"""A server killed with -9 during an import or an eval leaves all of it or nothing."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.server import embedded
from tests.forked import Forked
from tests.ingest.made_documents import document
from tests.ingest.test_crash import kill

DOCUMENTS, CASES = 300, 150
CONTRACT = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK=5
rag name=A retriever=R
  grounding requireCitations=true policy=strict
  ragEval name=V metric=hitRate threshold=0.9 mode=contract
"""
WRONG = "select * from ragdb.verify() where severity = 'error'"
ONCE = [2, pytest.param(20, marks=pytest.mark.nightly)]
IDS = ["two-kills", "twenty-kills"]


@pytest.fixture(scope="module")
def filled(killable: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Path]:
    """A server that may be killed, its database with a corpus and an eval, and an export of it."""
    home, dsn = tmp_path_factory.mktemp("kills"), embedded.dsn(killable)
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('docs')")
        given = [document(number, 1) for number in range(DOCUMENTS)]
        db.execute("select ragdb.put_documents('docs', %s)", (Jsonb(given),))
    (home / "contract").write_text(CONTRACT + "".join(map(case, range(CASES))))
    assert done(dsn, "apply", str(home / "contract")) == (0, "")
    assert done(dsn, "export", "docs", str(home / "docs.ragdb")) == (0, "")
    return killable, dsn, home / "docs.ragdb"


def case(number: int) -> str:
    return (
        f'    ragCase name=c{number} query="w{number} w{number + 7} common"\n'
        "      ragAssert kind=contains value=common required=true\n"
    )


def start(dsn: str, *arguments: str) -> Forked:
    return Forked(*arguments, env={**os.environ, "RAGDB_DATABASE_URL": dsn})


def done(dsn: str, *arguments: str) -> tuple[int, str]:
    process = start(dsn, *arguments)
    _, said = process.communicate(timeout=120)
    code = process.wait()
    return code, "" if code == 0 else said


def interrupt(folder: Path, dsn: str, chance: random.Random, *arguments: str) -> bool:
    """Run a command and kill the server while it writes; whether it came to its end."""
    process = start(dsn, *arguments)
    until = time.monotonic() + 60
    with psycopg.connect(dsn, autocommit=True) as db:
        writing = (
            "select from pg_stat_activity where application_name ~ '^ragdb/'"
            " and backend_xid is not null"
        )
        while not db.execute(writing).fetchall() and process.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.005)
    time.sleep(chance.uniform(0, 0.6))
    kill(folder)
    _, said = process.communicate(timeout=120)
    assert process.returncode in (0, 3), said
    assert "Traceback" not in said
    embedded.start(folder)
    return process.returncode != 3


def rows(dsn: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as db:
        db.execute("set role ragdb_owner")
        return db.execute(statement).fetchall()


@pytest.mark.nightly
@pytest.mark.parametrize("kills", ONCE, ids=IDS)
def test_a_killed_import_is_whole_or_is_not(filled: tuple[Path, str, Path], kills: int) -> None:
    folder, dsn, file = filled
    chance, broken = random.Random(3), 0
    held = "select documents, chunks, lexeme_count, token_count from ragdb.corpora where name = %s"
    ((whole),) = rows(dsn, held.replace("%s", "'docs'"))
    for _ in range(kills):
        said_done = interrupt(folder, dsn, chance, "import", str(file), "--corpus", "copy")
        found = rows(dsn, held.replace("%s", "'copy'"))
        if said_done:
            assert found == [whole]
        if found:
            assert found == [whole]
            assert rows(dsn, "select * from ragdb.check_corpus('copy')") == []
            assert done(dsn, "corpus", "drop", "copy", "--yes") == (0, "")
        else:
            broken += 1
        assert rows(dsn, WRONG) == []
    assert broken, "every import was done before the kill"
    assert done(dsn, "import", str(file), "--corpus", "copy") == (0, "")
    assert rows(dsn, held.replace("%s", "'copy'")) == [whole]
    assert done(dsn, "corpus", "drop", "copy", "--yes") == (0, "")


@pytest.mark.nightly
@pytest.mark.parametrize("kills", ONCE, ids=IDS)
def test_a_killed_eval_leaves_its_whole_run_or_none(
    filled: tuple[Path, str, Path], kills: int
) -> None:
    folder, dsn, _ = filled
    chance, broken = random.Random(3), 0
    for _ in range(kills):
        before = len(rows(dsn, "select from ragdb.eval_runs"))
        said_done = interrupt(folder, dsn, chance, "eval", "run", "A")
        runs = rows(dsn, "select run_id, cases, status from ragdb.eval_runs")
        assert len(runs) - before in ((1,) if said_done else (0, 1))
        broken += len(runs) == before
        assert {(cases, status) for _, cases, status in runs} <= {(CASES, "passed")}
        # every case of a run is there with its trace, and there is no trace of another
        assert rows(
            dsn,
            "select count(*), count(distinct trace_id) from ragdb.eval_case_results",
        ) == [(CASES * len(runs), CASES * len(runs))]
        assert rows(dsn, "select count(*) from ragdb.retrieval_traces where corpus = 'docs'") == [
            (CASES * len(runs),)
        ]
        assert (
            rows(
                dsn,
                "select from ragdb.eval_case_results r"
                " where not (select bool_and(v.is_intact) from ragdb.verify_trace(r.trace_id) v)",
            )
            == []
        )
        assert rows(dsn, WRONG) == []
    assert broken, "every eval was done before the kill"
    assert done(dsn, "eval", "run", "A") == (0, "")
