"""The code of docs/python.md does what the page says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

import ragdb
from ragdb.adapters.langchain import RagdbVectorStore
from tests.conftest import Connection

PAGE = (Path(__file__).parents[2] / "docs/python.md").read_text()


def block(kind: str, having: str) -> str:
    """The one block of a language that has some words."""
    (found,) = [b for b in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S) if having in b]
    return str(found)


def fill(connection: Connection) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGDB_DATABASE_URL", connection.info.dsn)
        exec(block("python", "db.add("), {})


@pytest.fixture
def dsn(filled: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The database that `ragdb.connect()` means, in a folder that has docs/."""
    monkeypatch.setenv("RAGDB_DATABASE_URL", filled)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Refunds are paid on Fridays.")
    monkeypatch.chdir(tmp_path)
    return filled


def test_the_first_example_prints_its_hit_and_its_answer(
    dsn: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    exec(block("python", "db.add("), {})
    assert capsys.readouterr().out == (
        "1 refunds Refunds take five days.\nThe library is closed on Monday.\n"
    )


def test_the_statement_puts_the_same_text(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        (row,) = connection.execute(block("sql", "put_texts")).fetchall()
    assert row == ("refunds", 1, True)


def test_the_asynchronous_example_answers(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    exec(block("python", "aconnect"), {})
    assert "Refunds are paid on Fridays." in capsys.readouterr().out


def test_the_pool_answers_after_the_server_ended_its_connections(dsn: str) -> None:
    page: dict[str, Any] = {}
    exec(block("python", "def open_pool"), page)
    with page["open_pool"](dsn) as pool, psycopg.connect(dsn) as other:
        for _ in range(2):
            assert page["answer"](pool, "When is the library closed?") == (
                "The library is closed on Monday."
            )
            (ended,) = other.execute(
                "select count(pg_terminate_backend(pid, 60000)) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            ).fetchone() or (0,)
            assert ended > 0


def test_an_upload_is_stored_under_its_name(dsn: str) -> None:
    page: dict[str, Any] = {}
    exec(block("python", "def store_upload"), page)
    with ragdb.connect(dsn) as db:
        for text in (b"Refunds take a week.", b"Refunds take a day."):
            page["store_upload"](db, "docs", "faq.md", text)
        assert db.document_text("docs", "uploads/faq.md") == "Refunds take a day."
        with pytest.raises(ValueError, match=r"faq.pdf: it is not a readable PDF; export"):
            page["store_upload"](db, "docs", "faq.pdf", b"%PDF-")


def test_a_connection_acts_as_one_user_after_the_other(clone: str) -> None:
    page: dict[str, Any] = {}
    exec(block("python", "def open_pool"), page)
    exec(block("python", "def acting"), page)
    roles = ("support_app", "acme_ben", "acme_anna", "acme")
    with psycopg.connect(clone, autocommit=True) as db:
        try:
            db.execute(block("sql", "create role acme_anna"))
            db.execute("create role acme_ben in role acme; grant acme_ben to support_app")
            db.execute("select ragdb.put_text('acme', 'a.md', 'Refunds take five days.')")
            login = psycopg.conninfo.make_conninfo(clone, user="support_app")
            with page["open_pool"](login) as pool:
                asked = ["How long do refunds take?"]
                assert page["own_questions"](pool, "acme_anna", "acme") == asked
                with page["acting"](pool, "acme_ben") as ben:
                    assert list(ben.list_traces("acme")) == []
                with pool.connection() as connection:
                    assert connection.execute("select current_user").fetchone() == roles[:1]
        finally:
            for role in roles:
                db.execute(f"drop role if exists {role}")


def test_the_tables_have_the_rows(dsn: str) -> None:
    with ragdb.connect(dsn) as db:
        page: dict[str, Any] = {"db": db}
        exec(block("py", "to_pandas"), page)
        assert len(page["hits"]) > 0


def test_the_store_finds_what_it_was_given(dsn: str) -> None:
    page: dict[str, Any] = {"ragdb": ragdb}
    exec(block("py", "import RagdbVectorStore"), page)
    store = page["store"]
    assert isinstance(store, RagdbVectorStore)
    (found,) = store.similarity_search("refunds", k=4, filter={"year": {"gte": 2025}})
    assert found.page_content == "Refunds take five days."
    store.db.close()


def test_the_views_are_joined_by_bi_reader(dsn: str) -> None:
    with ragdb.connect(dsn) as db:
        db.create_corpus("closed", is_restricted=True)
        db.add(["Refunds of the closed."], ids=["secret"], corpus="closed")
        db.retrieve("docs", "refunds take", 1)
        db.retrieve("closed", "refunds", 1)
        traces = db.list_traces("docs", count=1000)
        source = {chunk.chunk_id: chunk.source for chunk in db.list_chunks("docs")}
        hits = [hit for trace in traces for hit in db.trace_hits(trace.id)]
        expected = Counter(source[hit.chunk_id] for hit in hits)
    page: dict[str, Any] = {}
    exec(block("python", "sqlalchemy"), page)
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool
    )
    with engine.connect() as connection:
        connection.exec_driver_sql("set role bi_reader")
        found = [tuple(row) for row in page["most_found"](connection)]
        # what bi_reader may not read is in no view
    assert sorted(found) == sorted(("docs", source, n) for source, n in expected.items())
    assert expected["refunds"] > 0
    assert [row[2] for row in found] == sorted(expected.values(), reverse=True)
