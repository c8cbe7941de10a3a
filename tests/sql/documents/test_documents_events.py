"""An event for each document that is written, in the order of a clock that each corpus has."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Login
from tests.documents import document
from tests.sql.documents_twin import put


def write(db: Connection, corpus: str, *uris: str) -> None:
    put(db, *(document(uri, [f"text of {uri}"]) for uri in uris), corpus=corpus)


def sources(db: Connection, after: Any = None, count: int = 100) -> tuple[list[str], Any]:
    """The sources of the next events of all corpora, and where to go on."""
    page = db.execute(
        "select source, next from ragdb.events_after(%s::jsonb, %s)", (after, count)
    ).fetchall()
    assert [n for _, n in page[:-1] if n is not None] == []
    return [s for s, _ in page], psycopg.types.json.Jsonb(page[-1][1]) if page else after


def of(db: Connection, corpus: str, after: int = 0) -> tuple[list[str], int]:
    """The same of one corpus."""
    page = db.execute(
        "select source, lamport from ragdb.corpus_events(%s, %s, 1000)", (corpus, after)
    ).fetchall()
    return [s for s, _ in page], page[-1][1] if page else after


def test_an_event_says_what_was_ingested_and_duplicates_say_nothing(docs: Connection) -> None:
    docs.execute("set local role writer; set local ragdb.now = '2030-01-01 00:00:00+00'")
    one, two = document("a.md", ["one"], title="A"), document("b.md", [], language="de")
    put(docs, one, two)
    put(docs, one)
    columns = "lamport, kind, author, source, doc_cid, title, language, chunks, event_id"
    events = docs.execute(f"select {columns} from ragdb.corpus_events('docs')").fetchall()
    began = 1893456000 * 10**6
    assert [row[:-1] for row in events] == [
        (began + 1, "rag.document.ingested", "writer", "a.md", one["doc_cid"], "A", "en", 1),
        (began + 2, "rag.document.ingested", "writer", "b.md", two["doc_cid"], None, "de", 0),
    ]
    assert events[0][-1] < events[1][-1]
    everything = docs.execute(f"select corpus, {columns} from ragdb.events_after()").fetchall()
    assert everything == [("docs", *row) for row in events]
    assert of(docs, "docs", began + 1)[0] == ["b.md"]


def test_a_new_document_is_written_once_with_the_id_of_its_event(docs: Connection) -> None:
    counts = "select n_tup_ins, n_tup_upd from pg_stat_xact_user_tables where relname = 'documents'"
    before = docs.execute(counts).fetchone()
    write(docs, "docs", "a.md", "b.md", "c.md")
    after = docs.execute(counts).fetchone()
    assert before is not None
    assert after is not None
    assert (after[0] - before[0], after[1] - before[1]) == (3, 0)
    # one that is written again gets the id of its next event, and a new one beside it its own
    put(docs, document("b.md", ["another text"]), document("d.md", ["text of d"]))
    told = docs.execute(
        "select d.source from ragdb.documents d join ragdb.events e"
        " on (e.corpus_id, e.event_id, e.source) = (d.corpus_id, d.event_id, d.source)"
        " order by d.source"
    ).fetchall()
    assert told == [("a.md",), ("b.md",), ("c.md",), ("d.md",)]
    assert len(of(docs, "docs")[0]) == 5


def test_a_page_of_all_corpora_takes_a_prefix_of_each_and_says_once_where_to_go_on(
    db: Connection,
) -> None:
    db.execute(
        "select ragdb.create_corpus('a'), ragdb.create_corpus('b'), ragdb.create_corpus('c')"
    )
    for n, corpus in enumerate("abcabcabc"):
        write(db, corpus, *(f"{corpus}{n}-{i}" for i in range(3)))
    expected = {c: of(db, c)[0] for c in "abc"}
    assert [len(known) for known in expected.values()] == [9, 9, 9]
    for count in (1, 2, 5, 100):
        read: list[str] = []
        after = None
        while (page := sources(db, after, count))[0]:
            assert len(page[0]) <= count
            read += page[0]
            after = page[1]
        assert {c: [s for s in read if s.startswith(c)] for c in "abc"} == expected
        assert len(read) == 27


def test_an_event_that_commits_later_than_a_younger_one_is_not_skipped(clone: str) -> None:
    with (
        psycopg.connect(clone, autocommit=True) as reader,
        psycopg.connect(clone) as slow,
        psycopg.connect(clone) as fast,
    ):
        reader.execute("select ragdb.create_corpus('one'), ragdb.create_corpus('two')")
        write(reader, "one", "first")
        write(reader, "two", "second")
        seen, after = sources(reader)
        assert seen == ["first", "second"]
        write(slow, "one", "older")
        write(fast, "two", "younger")
        fast.commit()
        seen, after = sources(reader, after)
        assert seen == ["younger"]
        write(fast, "two", "youngest")
        fast.commit()
        slow.commit()
        assert sources(reader, after)[0] == ["older", "youngest"]
        assert sources(reader, after, 1)[0] == ["older"]


def test_a_writer_that_rolls_back_leaves_no_event_and_blocks_none(clone: str) -> None:
    with psycopg.connect(clone) as one, psycopg.connect(clone, autocommit=True) as two:
        two.execute("select ragdb.create_corpus('docs')")
        write(two, "docs", "first")
        _, after = of(two, "docs")
        write(one, "docs", "gone")
        one.rollback()
        write(two, "docs", "second")
        assert of(two, "docs", after)[0] == ["second"]


def test_ticks_and_ids_do_not_go_back_with_the_clock(docs: Connection) -> None:
    ids, after = [], 0
    for n, now in enumerate(["2030-01-01", "2029-01-01", "2029-01-01"]):
        docs.execute(f"set local ragdb.now = '{now}'")
        ids.append(put(docs, document(f"{n}.md", [f"text {n}"]))[0][4])
        seen, after = of(docs, "docs", after)
        assert seen == [f"{n}.md"]
    assert ids == sorted(ids)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("made_anew", ["2031-01-01", "2029-01-01"])
def test_a_corpus_made_anew_under_its_old_name_goes_on(docs: Connection, made_anew: str) -> None:
    docs.execute("select ragdb.create_corpus('other'); set local ragdb.now = '2030-01-01'")
    write(docs, "docs", "a", "b")
    write(docs, "other", "c")
    (_, one), (_, after) = of(docs, "docs"), sources(docs)
    docs.execute(f"select ragdb.drop_corpus('docs'); set local ragdb.now = '{made_anew}'")
    assert sources(docs, after) == ([], after)
    docs.execute("select ragdb.create_corpus('docs')")
    write(docs, "docs", "d")
    assert of(docs, "docs", one)[0] == ["d"]
    seen, after = sources(docs, after)
    assert seen == ["d"]
    numbers = docs.execute(
        "select array_agg(corpus_id::text order by name) from ragdb.corpora"
        " where name in ('docs', 'other')"
    ).fetchone()
    assert numbers is not None
    assert sorted(after.obj) == sorted(numbers[0]), "what was dropped is forgotten"


def test_an_older_copy_of_the_database_goes_on_for_who_has_read_further(docs: Connection) -> None:
    write(docs, "docs", "a")
    with docs.transaction() as younger:
        write(docs, "docs", *(f"b{n}" for n in range(500)))
        (_, one), (_, after) = of(docs, "docs"), sources(docs, count=1000)
        raise psycopg.Rollback(younger)
    # as a restored dump, or a standby that had not yet got the last of it
    write(docs, "docs", "c")
    assert of(docs, "docs", one)[0] == ["c"]
    assert sources(docs, after)[0] == ["c"]


def test_who_loses_a_right_or_asks_where_a_corpus_is_not_yet_misses_nothing(
    clone: str, login: Login
) -> None:
    writer, reader = (login(clone, role, autocommit=True) for role in ("writer", "reader"))
    writer.execute(
        "select ragdb.create_corpus('hidden', is_restricted => true), ragdb.create_corpus('open')"
    )
    writer.execute("select ragdb.grant_corpus('hidden', 'reader', 'read')")
    write(writer, "hidden", "a")
    write(writer, "open", "b")
    seen, after = sources(reader)
    assert sorted(seen) == ["a", "b"]
    writer.execute("select ragdb.revoke_corpus('hidden', 'reader')")
    write(writer, "hidden", "c")
    write(writer, "open", "d")
    seen, after = sources(reader, after)
    assert (seen, len(after.obj)) == (["d"], 1)
    # a corpus of another server that this one has not yet
    ahead = psycopg.types.json.Jsonb(after.obj | {"1000": 7})
    write(writer, "open", "e")
    seen, after = sources(reader, ahead)
    assert (seen, after.obj["1000"]) == (["e"], 7)
    writer.execute("select ragdb.grant_corpus('hidden', 'reader', 'read')")
    assert sources(reader, after)[0] == ["a", "c"]


@pytest.mark.parametrize(
    "call",
    [
        "ragdb.events_after(null, 0)",
        "ragdb.events_after(null, 10001)",
        "ragdb.events_after('[]')",
        "ragdb.events_after('null')",
        "ragdb.events_after('7')",
        "ragdb.events_after('{\"a\": 7}')",
        'ragdb.events_after(\'{"1": "7"}\')',
        "ragdb.events_after('{\"1\": 1e30}')",
        "ragdb.events_after('{\"1\": -1}')",
        "ragdb.events_after('{\"1\": 1.5}')",
        "ragdb.events_after('{\"01\": 1}')",
        "ragdb.event_envelopes('{\"1\": null}')",
        "ragdb.corpus_events('docs', 0, null)",
        "ragdb.corpus_event_envelopes('docs', 0, 0)",
    ],
)
def test_what_no_page_said_is_refused(docs: Connection, call: str) -> None:
    with pytest.raises(psycopg.DatabaseError) as raised, docs.transaction():
        docs.execute(f"select {call}")
    assert raised.value.sqlstate == "RG400"
