"""The Python client on a real database."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import ragdb
from ragdb.errors import CorpusNotFound, InvalidArgument
from ragdb.portable import exporter, importer
from tests.waiting import is_waiting, until, until_it_waits

TEXT = "The deposit is refunded when the drill comes back clean."


@pytest.fixture
def database(clone: str) -> Any:
    with ragdb.connect(clone) as database:
        database.create_corpus("docs")
        database.put_text("docs", "docs/refunds.txt", TEXT)
        yield database


def test_a_call_is_a_transaction_of_its_own(database: ragdb.Database, clone: str) -> None:
    with ragdb.connect(clone) as other:
        assert [corpus.name for corpus in other.list_corpora()] == ["docs"]
        assert other.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_connection_of_the_caller_is_not_committed(clone: str) -> None:
    with psycopg.connect(clone) as connection:
        ragdb.Database(connection).create_corpus("docs")
        connection.rollback()
        assert ragdb.Database(connection).list_corpora() == []


def test_what_is_said_beside_the_hits_is_logged_unless_somebody_hears_it(
    database: ragdb.Database, clone: str, caplog: pytest.LogCaptureFixture
) -> None:
    said = "no document meets the filter"
    assert database.search("docs", "deposit", filter={"created_at": 1}) == []
    (logged,) = caplog.records
    assert (logged.name, logged.levelname) == ("ragdb", "WARNING")
    assert said in logged.message
    assert "ragdb.facets()" in logged.message  # its hint

    async def asked() -> None:
        async with await ragdb.aconnect(clone) as db:
            await db.search("docs", "deposit", filter={"created_at": 1})

    asyncio.run(asked())
    assert len(caplog.records) == 2
    heard: list[str | None] = []
    with ragdb.connect(clone, on_notice=lambda notice: heard.append(notice.message_primary)) as db:
        db.search("docs", "deposit", filter={"created_at": 1})
    assert len(caplog.records) == 2
    assert [said in (message or "") for message in heard].count(True) == 1


def test_rows_have_types_and_names(database: ragdb.Database) -> None:
    (hit,) = database.search("docs", "refunded deposit", k=3)
    assert (hit.rank, hit.corpus, hit.source, hit.page) == (1, "docs", "docs/refunds.txt", None)
    assert hit.text == TEXT
    assert hit.content_hash == hashlib.sha256(TEXT.encode()).hexdigest()
    assert 0 < hit.score <= 1
    with pytest.raises(AttributeError):
        hit.rank = 2  # type: ignore[misc]


def test_an_overload_is_chosen_by_what_is_passed(database: ragdb.Database) -> None:
    by_name = database.search(corpora=["docs"], query="deposit")
    assert by_name == database.search(["docs"], "deposit") == database.search("docs", "deposit")
    with pytest.raises(TypeError, match="search"):
        database.search("docs")


def test_a_dict_is_passed_as_json(database: ragdb.Database) -> None:
    database.put_text("docs", "docs/b.txt", "deposit of the saw", metadata={"year": 2026})
    (hit,) = database.search("docs", "deposit", filter={"year": 2026})
    assert hit.metadata == {"year": 2026}


def test_json_that_is_left_out_is_the_default_of_the_function(database: ragdb.Database) -> None:
    doc_cid = "sha256:" + hashlib.sha256(b"saw").hexdigest()
    chunk = {"text": "saw", "start": 0, "end": 3, "tokens": 1}
    put = database.put_document("docs", doc_cid, "docs/c.txt", [chunk], {"method": "whole"})
    assert put.doc_cid == doc_cid
    assert database.get_document("docs", doc_cid).metadata == {}


def test_a_nul_is_refused_before_it_is_sent(database: ragdb.Database) -> None:
    with pytest.raises(psycopg.DataError, match="NUL"):
        database.search("docs", "depo\0sit")


@pytest.mark.parametrize("k", [float("inf"), 1e300, Decimal("1e40"), Decimal("inf")])
def test_a_number_that_nothing_holds_is_too_large(database: ragdb.Database, k: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"k is too large: search\(\) takes -2147483648 to"):
        database.search("docs", "deposit", k=k)


def test_true_is_not_taken_for_a_number(database: ragdb.Database) -> None:
    with pytest.raises(TypeError, match=r"search\(\) was given True for 'k': give a number"):
        database.search("docs", "deposit", k=True)


@pytest.mark.parametrize("k", [3.5, float("nan"), Decimal("3.5"), Decimal("nan")])
def test_a_number_that_is_not_whole_is_not_rounded(database: ragdb.Database, k: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"k is .*: search\(\) takes a whole number"):
        database.search("docs", "deposit", k=k)
    whole: Any = 3.0
    assert len(database.search("docs", "deposit", k=whole)) == 1


@pytest.mark.parametrize("dsn", [5, 0, b"postgresql://host/db", ["a"]])
def test_a_dsn_that_is_no_text_is_told_so(dsn: Any) -> None:
    kind = type(dsn).__name__
    with pytest.raises(TypeError, match=f"a DSN is a text, such as .*, not of type {kind}"):
        ragdb.connect(dsn)


def test_the_asynchronous_client_gives_the_same(database: ragdb.Database, clone: str) -> None:
    async def search() -> tuple[list[Any], str]:
        async with await ragdb.aconnect(clone) as other:
            hits = await other.search("docs", "deposit")
            with pytest.raises(CorpusNotFound) as caught:
                await other.corpus_info("nowhere")
            return hits, str(caught.value.sqlstate)

    hits, sqlstate = asyncio.run(search())
    assert hits == database.search("docs", "deposit")
    assert sqlstate == "RG404"


def test_a_coroutine_that_nobody_waits_for_ends_in_the_server(
    database: ragdb.Database, clone: str
) -> None:
    async def leave() -> list[str]:
        async with await ragdb.aconnect(clone) as other:
            with psycopg.connect(clone) as db:
                db.execute("lock table ragdb.documents in access exclusive mode")
                adding = asyncio.create_task(other.add(["A text."], corpus="docs"))
                await asyncio.to_thread(until_it_waits, db, other.connection)
                adding.cancel()
                await asyncio.to_thread(until, lambda: not is_waiting(db, other.connection))
            return [row.source for row in await other.list_documents("docs")]

    assert asyncio.run(leave()) == ["docs/refunds.txt"]


def test_importing_ragdb_imports_no_driver() -> None:
    heavy = "{'psycopg', 'rich', 'alembic', 'sqlalchemy'} & sys.modules.keys()"
    code = f"import sys, ragdb, ragdb.cli.main; assert not {heavy}, {heavy}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("encoding", ["LATIN1", "SJIS", "SQL_ASCII"])
def test_a_text_is_unicode_whatever_the_terminal_and_the_dsn_say(
    database: ragdb.Database,
    clone: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    encoding: str,
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    text = "Größe — 漢字 — مرحبا"
    with ragdb.connect(make_conninfo(clone, client_encoding=encoding)) as other:
        other.put_text("docs", "größe.txt", text)
        assert [hit.text for hit in other.search("docs", "漢字", k=1)] == [text]
        exported = exporter.write(other, "docs", tmp_path / "docs")
        assert importer.read(other, tmp_path / "docs", corpus="copy").digest == exported.digest
