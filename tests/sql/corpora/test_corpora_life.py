"""The life of a corpus: made, listed, dropped."""

from __future__ import annotations

import pytest

from tests.conftest import Connection
from tests.documents import document
from tests.embedding import one
from tests.refusal import refused
from tests.sql.documents_twin import put

# rows of the table that the transaction has read
CORPORA_READ = """
    select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c
    where c.oid = 'ragdb.corpora'::regclass
      or c.oid in (select indexrelid from pg_index where indrelid = 'ragdb.corpora'::regclass)
    """


@pytest.mark.parametrize("name", ["", "Docs", "a b", "a_b", "a" * 65, "ä", "a\n", None])
def test_a_name_that_is_no_slug_is_refused(db: Connection, name: str | None) -> None:
    assert refused(db, "select ragdb.create_corpus(%s)", name).sqlstate == "RG411"


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("text_config", "klingon"),
        ("text_config", None),
        ("text_config", "pg_catalog.english"),
        ("k1", -0.1),
        ("k1", 10.1),
        ("k1", float("nan")),
        ("k1", None),
        ("b", 1.1),
        ("b", -0.1),
        ("b", None),
        ("record_query_text", "some"),
        ("record_query_text", None),
    ],
)
def test_a_parameter_out_of_range_is_refused(db: Connection, argument: str, value: object) -> None:
    raised = refused(db, f"select ragdb.create_corpus('docs', {argument} => %s)", value)
    assert raised.sqlstate == "RG400"
    assert argument.replace("_", " ")[:4] in str(raised)


def test_every_configuration_of_snowball_can_be_used(db: Connection) -> None:
    configs = db.execute("select config from ragdb_internal.text_configs()").fetchall()
    for (config,) in configs:
        db.execute("select ragdb.create_corpus(%s, text_config => %s)", (config, config))
        assert put(db, document("a.md", ["one two"]), corpus=config)[0][2] == 1
    languages = db.execute("select name, language_majority from ragdb.list_corpora()").fetchall()
    assert [name for name, language in languages if language is None] == ["simple"]


def test_a_name_is_taken_once(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    assert refused(db, "select ragdb.create_corpus('docs')").sqlstate == "RG409"


def test_a_corpus_id_is_never_given_out_again(db: Connection) -> None:
    def number() -> int:
        row = db.execute("select corpus_id from ragdb.corpora where name = 'docs'").fetchone()
        assert row
        return int(row[0])

    db.execute("select ragdb.create_corpus('docs')")
    first = number()
    db.execute("select ragdb.drop_corpus('docs')")
    db.execute("select ragdb.create_corpus('docs')")
    assert number() > first


def test_a_dropped_corpus_leaves_nothing_but_its_traces(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs'), ragdb.create_corpus('other')")
    for corpus in ("docs", "other"):
        put(
            db,
            document("a.md", ["one", "two"], links=[(0, "b.md")]),
            document("b.md", ["three"], headings=[["A"]]),
            corpus=corpus,
        )
        db.execute("select ragdb.retrieve(corpus => %s, query => 'one')", (corpus,))
    db.execute("select ragdb.grant_corpus('docs', 'reader', 'read')")
    tables = [
        table
        for (table,) in db.execute(
            "select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid"
            " where c.relnamespace = 'ragdb'::regnamespace and c.relkind in ('r', 'p')"
            " and not c.relispartition and a.attname = 'corpus_id' order by 1"
        )
    ]
    before = {table: rows(db, table) for table in tables}
    ids = [n for n, name in before["corpora"].items()]
    assert len(ids) == 2
    db.execute("select ragdb.drop_corpus('docs')")
    for table in tables:
        # traces stay, who did what, and which hours of traces the rollups still have to count
        if table in ("access_events", "retrieval_traces", "retrieval_hits", "trace_marks"):
            assert rows(db, table) == before[table]
        elif table == "ledger_acts":
            assert rows(db, table) == {min(ids): 1}  # that it was dropped
        elif table == "recorded_states":
            assert rows(db, table)[max(ids)] == before[table][max(ids)]
            # that it is gone, and that nobody has a right to it
            assert rows(db, table)[min(ids)] == before[table][min(ids)] + 2
        else:
            kept = {n: count for n, count in before[table].items() if n == max(ids)}
            assert rows(db, table) == kept, table


def rows(db: Connection, table: str) -> dict[int, int]:
    return dict(db.execute(f"select corpus_id, count(*) from ragdb.{table} group by 1").fetchall())


def test_the_list_counts_and_names_the_language_of_most_documents(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs', 'Documents')")
    put(
        db,
        document("a.md", ["ein Satz"], language="de"),
        document("b.md", ["noch ein Satz", "und einer"], language="de"),
        document("c.md", ["a sentence"]),
        document("d.md", []),
        document("e.md", ["une phrase"], language="fr"),
    )
    sizes = db.execute("select sum(size_bytes) from ragdb.documents").fetchone()
    assert sizes
    listed = db.execute(
        "select name, title, documents, chunks, tokens, size_bytes, language_majority, version"
        " from ragdb.list_corpora()"
    ).fetchall()
    assert listed == [("docs", "Documents", 5, 5, 2 + 4 + 3 + 3 + 3, sizes[0], "de", 1)]
    info = db.execute(
        "select name, text_config, k1, b, privilege, drift = lexemes / 5.0 / pivot - 1"
        " from ragdb.corpus_info('docs')"
    ).fetchone()
    assert info == ("docs", "english", 1.2, 0.75, "admin", True)


def test_information_on_a_corpus_reads_no_other(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('c' || n) from generate_series(1, 300) n")
    db.execute("analyze ragdb.corpora")
    before = one(db, CORPORA_READ)
    assert one(db, "select name from ragdb.corpus_info('c7')") == "c7"
    assert one(db, CORPORA_READ) - before < 30


def test_corpora_are_listed_by_pages(db: Connection) -> None:
    for corpus in ("ab", "a-c", "b", "a", "abc"):
        db.execute("select ragdb.create_corpus(%s)", (corpus,))

    def page(arguments: str) -> list[str]:
        found = db.execute(f"select name from ragdb.list_corpora({arguments})").fetchall()
        return [name for (name,) in found]

    everyone = ["a", "a-c", "ab", "abc", "b"]
    assert page("") == everyone
    seen: list[str] = []
    while found := page(f"after => '{seen[-1] if seen else ''}', count => 2"):
        assert len(found) == min(2, len(everyone) - len(seen))
        seen += found
    assert seen == everyone
    assert page("'ab'") == ["ab", "abc"]
    assert page("'a', 'ab', 1") == ["abc"]
    # a corpus is the first of those that begin with its name
    assert page("'a', count => 1") == ["a"]
    assert page("'%'") == page("'b', 'c'") == []


def test_those_that_changed_last_are_listed_first(db: Connection) -> None:
    for n in range(6):
        db.execute("select ragdb.create_corpus(%s)", (f"c{n}",))
    changed = "update ragdb.corpora set updated_at = now() + %s * interval '1 s' where name = %s"
    for seconds, corpus in enumerate(("c4", "c1", "c3", "c0", "c5", "c2")):
        db.execute(changed, (seconds, corpus))
    page = "select name from ragdb.list_corpora(count => 4, by_change => true)"
    assert [name for (name,) in db.execute(page)] == ["c2", "c5", "c0", "c3"]
    page = "select name from ragdb.list_corpora('c', 'c2', 2, true)"
    assert [name for (name,) in db.execute(page)] == ["c5", "c3"]


def test_corpora_are_counted_as_they_are_listed(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('whole')")
    for part in ("one", "two"):
        db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))
        put(db, document("a.md", ["red apple", "plum"]), document("b.md", ["fig"]), corpus=part)
    db.execute("select ragdb.sync_statistics('whole')")
    db.execute("select ragdb.create_corpus('closed', is_restricted => true)")
    put(db, document("c.md", ["pear"]), corpus="closed")
    counted = "select corpora, documents, chunks, tokens, size_bytes, spaces from ragdb."
    listed = """select count(*), sum(documents), sum(chunks), sum(tokens), sum(size_bytes), 0
        from ragdb.list_corpora() where parts is null"""
    pieces = db.execute(listed).fetchone()
    assert pieces
    # what is in the parts is in the whole, and counts once
    assert pieces[:3] == (3, 5, 7)
    assert db.execute(counted + "count_corpora()").fetchone() == (4, *pieces[1:])
    db.execute("set role reader")
    assert db.execute(counted + "count_corpora()").fetchone()[:3] == (3, 4, 6)  # type: ignore[index]
    db.execute("set role writer")
    db.execute("select ragdb.create_corpus('personal')")
    put(db, document("d.md", ["my kiwi"]), corpus="personal")
    assert db.execute(counted + "count_corpora()").fetchone()[:3] == (4, 5, 7)  # type: ignore[index]
    found = db.execute(counted + "count_corpora(with_personal => false)").fetchone()
    assert found
    assert found[:3] == (3, 4, 6)


@pytest.mark.parametrize("arguments", ["null", "after => null", "count => 0", "count => 10001"])
def test_a_page_of_corpora_without_an_end_or_a_beginning_is_refused(
    db: Connection, arguments: str
) -> None:
    said = refused(db, f"select ragdb.list_corpora({arguments})")
    assert said.sqlstate == "RG400"
    assert arguments.partition(" ")[0].replace("null", "prefix") in str(said)


def test_a_page_of_corpora_is_of_what_the_role_may_read(db: Connection) -> None:
    for n in range(6):
        db.execute("select ragdb.create_corpus(%s, is_restricted => %s)", (f"c{n}", n % 2 == 0))
    db.execute("set role reader")
    page = "select name from ragdb.list_corpora(after => 'c0', count => 2)"
    assert db.execute(page).fetchall() == [("c1",), ("c3",)]


def test_a_page_of_corpora_reads_no_other(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('c' || n) from generate_series(1, 300) n")
    db.execute("analyze ragdb.corpora")
    before = one(db, CORPORA_READ)
    for _ in range(8):  # also by a plan that is kept
        assert one(db, "select count(*) from ragdb.list_corpora(after => 'c2', count => 3)") == 3
    assert one(db, CORPORA_READ) - before < 8 * 30
