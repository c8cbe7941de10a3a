"""The ordinary verbs of a program: add, ask, results as tables, and what is said of mistakes."""

from __future__ import annotations

import asyncio
import builtins
import copy
import inspect
import pickle
import re
import threading
from collections.abc import Iterator
from dataclasses import fields
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from pydantic import TypeAdapter

import ragdb
from ragdb.client._generated import rows
from ragdb.client._generated.rows import Hit
from ragdb.client.results import MOST, Rows
from ragdb.client.rows import dumps, loads
from ragdb.errors import AlreadyExists, InvalidArgument
from ragdb.ingest import reading
from ragdb.ingest.pool import Pool
from ragdb.ingest.reading import Outcome, Task
from tests.waiting import is_waiting

TEXTS = ["The library is closed on Monday.", "Refunds take five days."]


@pytest.fixture(scope="module")
def db(module_clone: str) -> Iterator[ragdb.Database]:
    with ragdb.connect(module_clone) as db:
        db.add(TEXTS, [{"year": 2025}, {"year": 2026}], ["library", "refunds"], corpus="docs")
        yield db


def ids(hits: Any) -> list[str]:
    return [hit.chunk_id for hit in hits]


def test_bytes_are_not_taken_for_a_text(db: ragdb.Database) -> None:
    for listed in (["ladder"], ("ladder",)):  # PostgreSQL would take them for {ladder}, (ladder)
        with pytest.raises(TypeError, match=r"put_text\(\) was given a (list|tuple) for 'text'"):
            db.put_text("docs", "a.md", listed)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"put_text\(\) was given bytes for 'text': decode them"):
        db.put_text("docs", "bytes.txt", b"The ladder is in the shed.")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a text but bytes"):
        db.add([b"The ladder is in the shed."], corpus="docs")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="was given bytes for 'corpora': decode them"):
        db.search(b"docs", "ladder in the shed")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="was given bytes for 'corpora': decode them"):
        db.search([b"docs"], "ladder in the shed")  # type: ignore[list-item]
    assert ids(db.search("docs", "ladder in the shed", mode="lexical")) == []


def test_an_id_is_a_text_and_one_text_is_no_list_of_ids(db: ragdb.Database) -> None:
    for ids_, said in (([5], "ids has one that is not a text but int"), ("x", "ids is a text")):
        with pytest.raises(TypeError, match=said):
            db.add(["The ladder."], ids=ids_, corpus="docs")  # type: ignore[arg-type]


def test_a_text_is_not_taken_for_a_list(db: ragdb.Database) -> None:
    given: tuple[tuple[str, str, Any], ...] = (
        ("delete_sources", "uris", "{refunds}"),
        ("delete_sources", "uris", "refunds"),
        ("list_turns", "chunk_ids", "refunds"),
    )
    for verb, name, value in given:
        said = rf"^{verb}\(\) was given {re.escape(repr(value))} for '{name}': give a list"
        with pytest.raises(TypeError, match=said):
            getattr(db, verb)("docs", value)
    for vector in ("[1, 2]", b"1234"):
        with pytest.raises(TypeError, match="for 'embedding': give a list"):
            db.put_query_embedding("docs", "refunds", vector)  # type: ignore[arg-type]
    assert ids(db.search("docs", "refunds")) == ["refunds"]
    assert db.delete_sources("docs", ("nowhere", "neither")).documents_deleted == 0


@pytest.mark.parametrize(
    ("k", "shown"),
    [(2**31, "2147483648"), (-(2**31) - 1, "-2147483649"), (10**5000, "too large")],
    ids=["over", "under", "far over"],
)
def test_a_number_that_no_integer_holds_is_named(db: ragdb.Database, k: int, shown: str) -> None:
    said = rf"^k is {shown}: search\(\) takes -2147483648 to 2147483647"
    with pytest.raises(InvalidArgument, match=said):
        db.search("docs", "refunds", k=k)
    with pytest.raises(InvalidArgument, match=r"^k is 2147483647\n"):
        db.search("docs", "refunds", k=2**31 - 1)


def test_times_and_uuids_of_python_are_taken_in_json(db: ragdb.Database) -> None:
    said = datetime(2026, 3, 2, 23, 30, tzinfo=timezone(-timedelta(hours=5)))  # the third in UTC
    turn = {"id": "1", "role": "user", "text": "Is the ladder lent?", "created_at": said}
    document = {"metadata": {"ticket": UUID(int=7)}}
    (row,) = db.append_turns("docs", "times", [turn], document)
    later = {"said_at": {"gte": date(2026, 3, 3)}, "ticket": UUID(int=7)}
    assert ids(db.search("docs", "ladder lent", filter=later)) == [row.turn_id]
    assert not db.search("docs", "ladder lent", filter={"said_at": {"gt": said}})
    assert [turn.said_at for turn in db.list_turns("docs", [row.turn_id])] == [said]
    with pytest.raises(TypeError, match="JSON has no set: give a list"):
        db.search("docs", "ladder lent", filter={"year": {"in": {2025, 2026}}})


@pytest.mark.parametrize(
    "given",
    [
        timedelta(0),
        timedelta(days=90),
        timedelta(days=1, seconds=3661, microseconds=1500),
        timedelta(seconds=10),
        timedelta(hours=10),
        -timedelta(days=2, minutes=20),
    ],
)
def test_a_duration_is_one_of_iso_8601(given: timedelta) -> None:
    (written,) = loads(dumps([given]))
    assert written.lstrip("-").startswith("P")
    assert TypeAdapter(timedelta).validate_python(written) == given


def test_one_mapping_is_not_taken_for_a_list_of_them(db: ragdb.Database) -> None:
    with pytest.raises(TypeError, match="metadatas is a mapping, not a list"):
        db.add(["The ladder."], {"year": 2025}, corpus="docs")  # type: ignore[dict-item]


def test_adding_makes_the_corpus_and_an_id_names_the_chunk(db: ragdb.Database) -> None:
    assert "docs" in {corpus.name for corpus in db.list_corpora()}
    (hit,) = db.search("docs", "refunds")
    assert (hit.chunk_id, hit.source, hit.metadata) == ("refunds", "refunds", {"year": 2026})
    assert ids(db.search("docs", "refunds", filter={"year": 2025})) == []


def test_an_id_given_again_takes_the_place_of_the_earlier(db: ragdb.Database) -> None:
    for text in ("old words", "new words"):
        assert db.add([text], None, ["x"], corpus="again") == ["x"]
    (chunk,) = db.list_chunks("again")
    assert (chunk.text, db.corpus_info("again").documents) == ("new words", 1)


def test_a_text_without_an_id_has_one_of_its_own(db: ragdb.Database) -> None:
    first = db.add(["some words", "other words", "some words"], corpus="named")
    assert first == db.add(["some words", "other words"], corpus="named")
    assert len(set(first)) == db.corpus_info("named").documents == 2
    assert db.add(["some words"], [{"year": 1}], corpus="named")[0] not in first


def test_lists_of_unequal_lengths_are_refused_before_anything_is_put(db: ragdb.Database) -> None:
    for given, said in (
        ({"ids": ["1"]}, "texts are 2 and ids 1"),
        ({"metadatas": [{}, {}, {}]}, "texts are 2 and metadatas 3"),
        ({"ids": ["1", "1"]}, "the id '1' is given twice"),
    ):
        with pytest.raises(ValueError, match=said):
            db.add(["a", "b"], corpus="unequal", **given)
    with pytest.raises(TypeError, match="not a list"):
        db.add("a text", corpus="unequal")
    assert "unequal" not in {corpus.name for corpus in db.list_corpora()}


def test_a_long_text_is_cut_and_a_whole_one_is_not(db: ragdb.Database) -> None:
    long = "\n\n".join(f"Paragraph {n} says something of its own." * 8 for n in range(9))
    db.add([long], ids=["long"], corpus="cut")
    chunks = db.list_chunks("cut")
    assert len(chunks) > 2
    assert chunks[0].chunk_id == "long#1"
    db.add([long], ids=["long"], corpus="cut", cut=False)
    (chunk,) = db.list_chunks("cut")
    assert (chunk.chunk_id, chunk.text) == ("long", long)


def test_a_file_is_not_replaced_by_a_text_with_the_name_of_its_source(
    db: ragdb.Database, tmp_path: Any
) -> None:
    (tmp_path / "a.md").write_text("A file.")
    db.ingest(tmp_path / "a.md", corpus="files")
    with pytest.raises(AlreadyExists, match="not from"):
        db.add(["A text."], ids=["a.md"], corpus="files")


def test_more_texts_than_a_call_takes_are_put_in_several(db: ragdb.Database) -> None:
    texts = [f"word{n}" for n in range(2500)]
    assert db.add(texts, ids=map(str, range(2500)), corpus="many") == [*map(str, range(2500))]
    assert db.corpus_info("many").documents == 2500
    assert ids(db.search("many", "word1999")) == ["1999"]


def test_a_text_that_postgresql_cannot_hold_is_mended(db: ragdb.Database) -> None:
    db.add(["a\0b \ud800"], [{"when": datetime(2026, 1, 2), "n": float("nan")}], corpus="odd")
    (chunk,) = db.list_chunks("odd")
    assert chunk.text == "a\ufffdb \ufffd"
    assert chunk.metadata == {"when": "2026-01-02T00:00:00", "n": "nan"}


def test_an_answer_cites_the_corpus_and_is_recorded(db: ragdb.Database) -> None:
    answer = db.ask("docs", "When is the library closed?")
    assert answer.is_answered
    assert str(answer) == answer.text == TEXTS[0]
    assert [c["chunk_id"] for c in answer.citations] == ["library"]
    assert db.list_traces("docs")[0].id == answer.trace_id  # not a text beside a UUID
    assert db.get_trace(str(answer.trace_id)).client == "ragdb.ask"
    assert repr(answer) == f"Answer({TEXTS[0]!r}, 1 citation)"


def test_what_the_corpus_does_not_say_is_no_answer(db: ragdb.Database) -> None:
    answer = db.ask("docs", "Who painted the ceiling?")
    assert (answer.is_answered, answer.text, answer.citations) == (False, "", [])
    assert "does not say" in repr(answer)


def test_a_callable_may_write_the_answer_and_its_quotes_are_checked(db: ragdb.Database) -> None:
    def model(quote: str) -> Any:
        cited = {"source_id": "library", "chunk_id": "library", "quote": quote}
        return lambda given: {"answer": "On Monday.", "citations": [cited]}

    asked = "When is the library closed?"
    assert db.ask("docs", asked, model=model(TEXTS[0]), k=1).text == "On Monday."
    assert not db.ask("docs", asked, model=model("The library is closed on Friday.")).is_answered
    with pytest.raises(TypeError, match="no argument 'modell'; did you mean model\\? there"):
        db.ask("docs", asked, modell="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no argument 'top'; there are k, max_context, "):
        db.ask("docs", asked, top=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="endpoint"):
        db.ask("docs", asked, endpoint="http://127.0.0.1:1")


def test_the_asynchronous_database_has_the_same_verbs(
    db: ragdb.Database, module_clone: str
) -> None:
    for name, of_sync in inspect.getmembers(ragdb.Database, inspect.isfunction):
        if not name.startswith("_"):
            of_async = getattr(ragdb.AsyncDatabase, name)
            assert inspect.iscoroutinefunction(of_async), name
            as_sync = str(inspect.signature(of_async)).replace("AsyncDatabase", "Database")
            assert as_sync == str(inspect.signature(of_sync)), name

    async def run() -> tuple[Any, ...]:
        async with await ragdb.aconnect(module_clone) as other:
            added = await other.add(["An asynchronous text."], ids=["t"], corpus="async")
            assert [row.mode for row in await other.calibrate("docs")] == ["lexical"]
            answer = await other.ask("docs", "When is the library closed?")
            return added, answer.text, ids(await other.search("async", "asynchronous"))

    assert asyncio.run(run()) == (["t"], TEXTS[0], ["t"])


def test_asynchronous_verbs_run_in_the_callers_role_and_transaction(
    db: ragdb.Database, module_clone: str, tmp_path: Any
) -> None:
    (tmp_path / "a.md").write_text("A file.")

    async def run() -> None:
        async with await ragdb.aconnect(module_clone) as other:
            async with other.connection.transaction(force_rollback=True):
                await other.add(["never"], corpus="undone")
                report = await other.ingest(tmp_path / "a.md", corpus="undone")
                assert report.written == 1
                assert (await other.corpus_info("undone")).documents == 2
            assert "undone" not in {corpus.name for corpus in await other.list_corpora()}
            await other.connection.execute("set role reader")
            with pytest.raises(psycopg.Error, match='"reader" may not create corpora'):
                await other.add(["a text"], corpus="denied")
            assert (await other.connection.execute("select 1")).rowcount == 1

    asyncio.run(run())


def test_a_cancelled_verb_leaves_the_connection_usable(
    db: ragdb.Database, module_clone: str, tmp_path: Any
) -> None:
    (tmp_path / "some.md").write_text("A file.")

    async def run() -> int:
        with psycopg.connect(module_clone) as holder:
            async with await ragdb.aconnect(module_clone) as other:
                holder.execute("lock table ragdb.documents in share mode")  # its writer waits there
                work = asyncio.create_task(other.ingest(tmp_path, corpus="cancelled"))
                while not (work.done() or is_waiting(db.connection, other.connection)):
                    await asyncio.sleep(0.02)
                work.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await work
                holder.rollback()
                async with asyncio.timeout(120):
                    while other.connection.info.transaction_status != TransactionStatus.IDLE:
                        await asyncio.sleep(0.02)
                return len(await other.list_corpora())

    assert asyncio.run(run()) > 0


def test_a_cancelled_ingest_reads_no_more_files(
    module_clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("The first.")
    (tmp_path / "b.md").write_text("The second.")
    begun, left = threading.Event(), threading.Event()
    read: list[str] = []

    def slow(task: Task, look: Any = None) -> Outcome:
        read.append(task.source.below)
        begun.set()
        assert left.wait(60)
        return reading.read(task, look)

    monkeypatch.setattr(Pool, "work", staticmethod(slow))

    async def run() -> None:
        async with await ragdb.aconnect(module_clone) as db:
            work = asyncio.create_task(db.ingest(tmp_path, corpus="unread"))
            assert await asyncio.to_thread(begun.wait, 60)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            left.set()

    asyncio.run(run())  # and wait for its threads
    assert read == ["a.md"]


def test_results_are_lists_that_become_tables(db: ragdb.Database) -> None:
    hits = db.search("docs", "refunds library")
    assert isinstance(hits, list)
    assert hits == list(hits)
    assert pickle.loads(pickle.dumps(hits)) == copy.copy(hits) == hits
    frame = hits.to_pandas()
    assert list(frame["chunk_id"]) == ids(hits)
    assert frame["score"].dtype == float
    table = hits.to_arrow()
    assert sorted(table.column("metadata").to_pylist()) == ['{"year": 2025}', '{"year": 2026}']
    assert table.num_rows == 2
    assert hits[:1].to_pandas().shape == (1, len(frame.columns))
    assert db.list_traces("docs").to_arrow().column("id").to_pylist() == [
        str(trace.id) for trace in db.list_traces("docs")
    ]
    recorded = db.retrieve("docs", "nothing of the kind")
    assert recorded.to_pandas().empty
    assert isinstance(recorded.trace_id, UUID)


def test_a_table_without_rows_has_the_types_of_one_with_rows(db: ragdb.Database) -> None:
    full, empty = db.search("docs", "refunds"), db.search("docs", "zebra")
    assert empty == []
    assert empty.to_arrow().schema == full.to_arrow().schema
    assert list(empty.to_pandas().columns) == list(full.to_pandas().columns)


@pytest.mark.parametrize(("module", "extra"), [("pandas", "pandas"), ("pyarrow", "arrow")])
def test_a_missing_library_says_what_to_install(
    db: ragdb.Database, monkeypatch: pytest.MonkeyPatch, module: str, extra: str
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == module:
            raise ImportError(name)
        return real(name, *rest)

    hits = db.search("docs", "refunds")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=rf"ragdb-postgres\[{extra}\]"):
        hits.to_pandas() if module == "pandas" else hits.to_arrow()


def test_what_is_printed_is_short(db: ragdb.Database, module_clone: str) -> None:
    (hit,) = db.search("docs", "refunds")
    assert repr(hit) == (
        f"Hit(rank=1, score={hit.score:.4g}, corpus='docs', mode='{hit.mode}',"
        " source='refunds', text='Refunds take five days.')"
    )
    trace = db.get_trace(db.retrieve("docs", "refunds").trace_id)
    assert len(repr(trace)) < 250
    assert str(trace.id) in repr(trace)
    assert "trace_hash" not in repr(trace)
    many: Rows[Hit] = Rows([hit] * (MOST + 5), Hit)
    assert repr(many).count("Hit(") == MOST
    assert "… 5 more" in repr(many)
    name = db.connection.info.dbname
    assert repr(db).startswith(f"<ragdb.Database '{name}' at ")
    with ragdb.connect(module_clone, password="not to be shown") as other:
        assert "not to be shown" not in repr(other)
    assert repr(other) == "<ragdb.Database closed>"


def test_a_row_shows_what_matters_and_no_secret() -> None:
    def shown(name: str, **values: Any) -> str:
        row = getattr(rows, name)
        return repr(row(**{field.name: values.get(field.name, 7) for field in fields(row)}))

    assert "query='lent?'" in shown("UnansweredQuestion", query="lent?")
    assert "status='failed'" in shown("EvalRuns", status="failed")
    assert "change='added'" in shown("DiffCorpusRow", change="added")
    assert "value=0.5" in shown("MetricSample", value=0.5)
    assert "role='reader'" in shown("ListHttpTokensRow", role="reader")
    assert "key_id='k1'" in shown("ExportSigningKeysRow", key_id="k1")
    secret = dict.fromkeys(("secret", "signature", "admissibility_token", "mac"), "hidden")
    for name in rows.ROOMS:
        assert "hidden" not in shown(name, **secret), name
        assert "hidden" not in shown(name, bytes=b"hidden", hash=b"hidden"), name


def test_dir_shows_the_ordinary_verbs_and_the_rest_is_there(db: ragdb.Database) -> None:
    shown = dir(db)
    assert {"search", "ask", "add", "ingest", "retrieve", "rerank"} <= set(shown)
    assert len(shown) <= 45
    assert all(hasattr(db, name) for name in shown)
    assert "claim_ingest_jobs" not in shown
    assert callable(db.claim_ingest_jobs)


def test_a_wrong_argument_is_named(db: ragdb.Database) -> None:
    for args, kwargs, said in (
        (("docs", "x"), {"kk": 3}, "search() has no argument 'kk'; did you mean k? there are"),
        (("docs", "x"), {"filters": {}}, "has no argument 'filters'; did you mean filter? there"),
        (("docs", "x"), {"zzz": 3}, "search() has no argument 'zzz'; there are corpora, query,"),
        (("docs",), {}, "search() needs 'query': write search(corpus, query)"),
        (
            ("x",),
            {"corpus": "docs"},
            "search() was given 'corpus' twice: by name, and as argument 1; write search(corpus, q",
        ),
        (("docs", "x"), {"query": "y"}, "given 'query' twice: by name, and as argument 2; write"),
        (("docs", "x", *range(30)), {}, "search() takes 21 arguments, not 32"),
    ):
        with pytest.raises(TypeError) as caught:
            db.search(*args, **kwargs)
        assert said in str(caught.value)
    with pytest.raises(TypeError, match="'kk'"):
        db.retrieve("docs", "x", kk=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("prepare_threshold", [None, 0])
def test_a_client_reads_the_rows_of_a_newer_schema(
    clone: str, prepare_threshold: int | None
) -> None:
    """They have more columns; an upgrade need not wait until every client is gone."""
    with ragdb.connect(clone, prepare_threshold=prepare_threshold) as db:
        db.add(TEXTS, ids=["library", "refunds"], corpus="docs")
        trace = db.retrieve("docs", "refunds").trace_id
        before = db.get_trace(trace)
        with psycopg.connect(clone) as newer:
            newer.execute("alter table ragdb.retrieval_traces add column shelf text")
        assert db.get_trace(trace) == before
        assert db.list_traces()[0] == before


def test_the_package_shows_what_a_program_begins_with() -> None:
    assert {"connect", "aconnect", "Database"} <= set(dir(ragdb))
    assert not {"Path", "TYPE_CHECKING"} & set(dir(ragdb))
