"""The life of a corpus, and who sees and does what with it, with real roles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection
from tests.sql.documents_twin import document, put

AsRole = Callable[..., Connection]


def error(db: Connection, statement: str, *arguments: Any) -> psycopg.Error:
    with pytest.raises(psycopg.DatabaseError) as raised, db.transaction():
        db.execute(statement, arguments)
    assert raised.value.diag.message_detail
    assert raised.value.diag.message_hint
    return raised.value


def names(db: Connection) -> list[str]:
    return [name for (name,) in db.execute("select name from ragdb.list_corpora()")]


@pytest.mark.parametrize("name", ["", "Docs", "a b", "a_b", "a" * 65, "ä", "a\n", None])
def test_a_name_that_is_no_slug_is_refused(db: Connection, name: str | None) -> None:
    assert error(db, "select ragdb.create_corpus(%s)", name).sqlstate == "RG411"


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
    raised = error(db, f"select ragdb.create_corpus('docs', {argument} => %s)", value)
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
    assert error(db, "select ragdb.create_corpus('docs')").sqlstate == "RG409"


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
        # traces stay, and what says which of their hours the rollups still have to count
        if table in ("retrieval_traces", "retrieval_hits", "trace_marks"):
            assert rows(db, table) == before[table]
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


def test_personal_is_one_corpus_for_each_role_and_nobody_elses(as_role: AsRole) -> None:
    reader, other, admin = (as_role(r, autocommit=True) for r in ("reader", "reader2", "admin"))
    for db in (reader, other):
        db.execute("select ragdb.create_corpus('personal')")
    assert error(reader, "select ragdb.create_corpus('personal')").sqlstate == "RG409"
    put(reader, document("diary.md", ["a secret"]), corpus="personal")
    assert error(other, "select ragdb.get_document('personal', %s)", "x").sqlstate == "RG405"
    assert other.execute("select documents from ragdb.list_corpora()").fetchall() == [(0,)]
    assert names(admin) == []
    assert error(admin, "select ragdb.corpus_info('personal')").sqlstate == "RG404"
    assert error(admin, "select ragdb.drop_corpus('personal')").sqlstate == "RG404"
    assert other.execute("select * from ragdb.events_after()").fetchall() == []
    assert len(reader.execute("select * from ragdb.events_after()").fetchall()) == 1
    raised = error(reader, "select ragdb.grant_corpus('personal', 'reader2', 'read')")
    assert raised.sqlstate == "RG400"
    reader.execute("select ragdb.drop_corpus('personal')")
    assert names(reader) == []
    assert names(other) == ["personal"]


def test_system_is_written_by_the_owner_and_read_by_all(as_role: AsRole) -> None:
    owner, admin, reader = (as_role(r, autocommit=True) for r in ("owner", "admin", "reader"))
    assert error(admin, "select ragdb.create_corpus('system')").sqlstate == "RG401"
    owner.execute("select ragdb.create_corpus('system')")
    put(owner, document("manual.md", ["how to"]), corpus="system")
    with pytest.raises(psycopg.DatabaseError) as raised:
        put(admin, document("x.md", ["no"]), corpus="system")
    assert raised.value.sqlstate == "RG401"
    assert error(admin, "select ragdb.drop_corpus('system')").sqlstate == "RG401"
    assert error(owner, "select ragdb.grant_corpus('system', 'admin', 'write')").sqlstate == "RG400"
    assert names(reader) == ["system"]


def test_a_grant_closes_a_corpus_to_the_others(as_role: AsRole) -> None:
    admin, writer, other, reader, reader2 = (
        as_role(r, autocommit=True) for r in ("admin", "writer", "writer2", "reader", "reader2")
    )
    assert error(reader, "select ragdb.create_corpus('team')").sqlstate == "RG401"
    writer.execute("select ragdb.create_corpus('team')")
    put(other, document("a.md", ["open to writers"]), corpus="team")
    assert error(writer, "select ragdb.grant_corpus('team', 'writer', 'read')").sqlstate == "RG401"
    admin.execute("select ragdb.grant_corpus('team', 'writer', 'read')")
    admin.execute("select ragdb.grant_corpus('team', 'reader', 'write')")
    put(reader, document("b.md", ["a grant is enough to write"]), corpus="team")
    with pytest.raises(psycopg.DatabaseError) as raised:
        put(writer, document("c.md", ["no"]), corpus="team")
    assert raised.value.sqlstate == "RG401"
    assert names(writer) == names(reader) == ["team"]
    assert names(other) == names(reader2) == []
    admin.execute("select ragdb.revoke_corpus('team', 'reader')")
    assert error(admin, "select ragdb.revoke_corpus('team', 'reader')").sqlstate == "RG400"
    admin.execute("select ragdb.revoke_corpus('team', 'writer')")
    assert names(other) == names(reader2) == ["team"]


@pytest.mark.parametrize(
    "call",
    [
        "drop_corpus({0})",
        "corpus_info({0})",
        "grant_corpus({0}, 'reader', 'read')",
        "revoke_corpus({0}, 'reader')",
        "put_text({0}, 'a.md', 'text')",
        "put_documents({0}, '[]')",
        "delete_document({0}, 'sha256:0')",
        "delete_source({0}, 'a.md')",
        "prune_sources({0}, '', '{{}}')",
        "list_documents({0})",
        "get_document({0}, 'sha256:0')",
        "get_chunk({0}, 'x')",
        "document_chunks({0}, 'sha256:0')",
        "check_corpus({0})",
        "repair_corpus({0})",
    ],
)
def test_a_hidden_corpus_answers_as_one_that_does_not_exist(db: Connection, call: str) -> None:
    db.execute(
        "select ragdb.create_corpus('hidden'), ragdb.grant_corpus('hidden', 'writer', 'admin')"
    )
    db.execute("set local role writer2")
    answers = []
    for name in ("hidden", "absent"):
        raised = error(db, f"select ragdb.{call.format('%s::text')}", name)
        said = (raised.diag.message_primary, raised.diag.message_detail, raised.diag.message_hint)
        answers.append([(text or "").replace(name, "it") for text in said])
        assert raised.sqlstate == "RG404"
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("docs", "nobody at all", "read"), "role"),
        (("docs", None, "read"), "role is null"),
        (("docs", "reader", "all"), "privilege"),
        (("docs", "reader", None), "privilege"),
    ],
)
def test_a_grant_needs_a_role_and_a_privilege(
    db: Connection, arguments: tuple[object, ...], problem: str
) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    raised = error(db, "select ragdb.grant_corpus(%s, %s, %s)", *arguments)
    assert raised.sqlstate == "RG400"


def test_a_uuid_of_version_7_carries_its_time_and_sorts_by_it(db: Connection) -> None:
    rows = db.execute(
        "select ragdb_internal.uuid7(t), t"
        " from generate_series('2026-01-02 03:04:05.000001+00'::timestamptz,"
        " '2026-01-02 03:04:05.003+00', '1 microsecond') t"
    ).fetchall()
    assert [one.version for one, _ in rows] == [7] * len(rows)
    assert {one.variant for one, _ in rows} == {"specified in RFC 4122"}
    assert all(one.int >> 80 == int(at.timestamp() * 1000) for one, at in rows)
    assert [one for one, _ in rows] == sorted(one for one, _ in rows)
    assert len({one.int & (1 << 62) - 1 for one, _ in rows}) == len(rows)
