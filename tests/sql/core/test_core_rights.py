"""Who sees and does what with a corpus, with real roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import Connection, Login, Server
from tests.documents import document
from tests.embedding import one
from tests.refusal import refused
from tests.sql.documents_twin import put
from tests.waiting import until_it_waits

AsRole = Callable[..., Connection]
# how often the transaction has asked for a right
ASKED = """
    select coalesce(sum(calls), 0) from pg_stat_xact_user_functions
    where schemaname = 'ragdb_internal' and funcname = 'privilege'
    """


def names(db: Connection) -> list[str]:
    return [name for (name,) in db.execute("select name from ragdb.list_corpora()")]


def test_personal_is_one_corpus_for_each_role_and_nobody_elses(as_role: AsRole) -> None:
    reader, other, admin = (as_role(r, autocommit=True) for r in ("reader", "reader2", "admin"))
    for db in (reader, other):
        db.execute("select ragdb.create_corpus('personal')")
    assert refused(reader, "select ragdb.create_corpus('personal')").sqlstate == "RG409"
    put(reader, document("diary.md", ["a secret"]), corpus="personal")
    assert refused(other, "select ragdb.get_document('personal', %s)", "x").sqlstate == "RG405"
    assert other.execute("select documents from ragdb.list_corpora()").fetchall() == [(0,)]
    assert names(admin) == []
    assert refused(admin, "select ragdb.corpus_info('personal')").sqlstate == "RG404"
    assert refused(admin, "select ragdb.drop_corpus('personal')").sqlstate == "RG404"
    assert other.execute("select * from ragdb.events_after()").fetchall() == []
    assert len(reader.execute("select * from ragdb.events_after()").fetchall()) == 1
    raised = refused(reader, "select ragdb.grant_corpus('personal', 'reader2', 'read')")
    assert raised.sqlstate == "RG400"
    reader.execute("select ragdb.drop_corpus('personal')")
    assert names(reader) == []
    assert names(other) == ["personal"]


def test_system_is_written_by_the_owner_and_read_by_all(as_role: AsRole) -> None:
    owner, admin, reader = (as_role(r, autocommit=True) for r in ("owner", "admin", "reader"))
    assert refused(admin, "select ragdb.create_corpus('system')").sqlstate == "RG401"
    owner.execute("select ragdb.create_corpus('system')")
    put(owner, document("manual.md", ["how to"]), corpus="system")
    with pytest.raises(psycopg.DatabaseError) as raised:
        put(admin, document("x.md", ["no"]), corpus="system")
    assert raised.value.sqlstate == "RG401"
    assert refused(admin, "select ragdb.drop_corpus('system')").sqlstate == "RG401"
    assert (
        refused(owner, "select ragdb.grant_corpus('system', 'admin', 'write')").sqlstate == "RG400"
    )
    assert names(reader) == ["system"]


def test_a_grant_to_who_may_call_nothing_says_so(as_role: AsRole) -> None:
    admin, stranger = as_role("admin", autocommit=True), as_role("stranger", autocommit=True)
    said: list[str] = []
    admin.add_notice_handler(lambda n: said.append(f"{n.message_primary}; {n.message_hint}"))
    admin.execute("select ragdb.create_corpus('team')")
    admin.execute("select ragdb.grant_corpus('team', 'reader', 'read')")
    assert said == []
    admin.execute("select ragdb.grant_corpus('team', 'stranger', 'read')")
    assert said == ['role "stranger" may call nothing of ragdb yet; grant ragdb_reader to stranger']
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        stranger.execute("select ragdb.search('team', 'a')")


def test_a_grant_closes_a_corpus_to_the_others(as_role: AsRole) -> None:
    admin, writer, other, reader, reader2 = (
        as_role(r, autocommit=True) for r in ("admin", "writer", "writer2", "reader", "reader2")
    )
    assert refused(reader, "select ragdb.create_corpus('team')").sqlstate == "RG401"
    writer.execute("select ragdb.create_corpus('team')")
    put(other, document("a.md", ["open to writers"]), corpus="team")
    assert (
        refused(writer, "select ragdb.grant_corpus('team', 'writer', 'read')").sqlstate == "RG401"
    )
    admin.execute("select ragdb.grant_corpus('team', 'writer', 'read')")
    admin.execute("select ragdb.grant_corpus('team', 'reader', 'write')")
    put(reader, document("b.md", ["a grant is enough to write"]), corpus="team")
    with pytest.raises(psycopg.DatabaseError) as raised:
        put(writer, document("c.md", ["no"]), corpus="team")
    assert raised.value.sqlstate == "RG401"
    assert names(writer) == names(reader) == ["team"]
    assert names(other) == names(reader2) == []
    admin.execute("select ragdb.revoke_corpus('team', 'reader')")
    assert refused(admin, "select ragdb.revoke_corpus('team', 'reader')").sqlstate == "RG400"
    admin.execute("select ragdb.revoke_corpus('team', 'writer')")
    assert names(other) == names(reader2) == []
    admin.execute("select ragdb.unrestrict_corpus('team')")
    assert names(other) == names(reader2) == ["team"]


def held(as_role: AsRole, privilege: str) -> tuple[Connection, Connection, Connection]:
    """An admin, one who holds corpus team by a put, and a writer with a grant on it."""
    admin, holder = as_role("admin"), as_role("admin")
    admin.execute("select ragdb.create_corpus('team')")
    admin.execute("select ragdb.grant_corpus('team', 'writer', %s)", (privilege,))
    admin.commit()
    put(holder, document("a.md", ["first"]), corpus="team")
    return admin, holder, as_role("writer", autocommit=True)


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ("select ragdb.revoke_corpus('team', 'writer')", "RG404"),
        ("select ragdb.grant_corpus('team', 'writer', 'read')", "RG401"),
        ("select ragdb.grant_corpus('team', 'writer', 'admin')", None),
    ],
)
@pytest.mark.parametrize("is_of_the_holder", [True, False])
def test_a_right_that_is_taken_from_a_writer_who_waits_is_gone_when_its_turn_comes(
    as_role: AsRole, change: str, refusal: str | None, is_of_the_holder: bool
) -> None:
    admin, holder, writer = held(as_role, "write")
    with ThreadPoolExecutor(1) as puts:
        later = puts.submit(put, writer, document("b.md", ["second"]), corpus="team")
        until_it_waits(admin, writer)
        changes = holder if is_of_the_holder else admin
        changes.execute(change)
        changes.commit()
        holder.commit()
        error = later.exception(60)
    assert (error.sqlstate if isinstance(error, psycopg.Error) else error) == refusal
    documents = "select documents from ragdb.list_corpora()"
    assert admin.execute(documents).fetchall() == [(1 + (refusal is None),)]


@pytest.mark.parametrize(
    "lost", ["select ragdb.revoke_corpus('team', 'writer')", "select ragdb.drop_corpus('team')"]
)
def test_who_loses_a_corpus_while_they_wait_to_open_it_does_not_open_it(
    as_role: AsRole, lost: str
) -> None:
    admin, holder, writer = held(as_role, "admin")
    with ThreadPoolExecutor(1) as aside:
        opened = aside.submit(refused, writer, "select ragdb.unrestrict_corpus('team')")
        until_it_waits(admin, writer)
        holder.execute(lost)
        holder.commit()
        assert opened.result(120).sqlstate == "RG404"
    assert names(writer) == []


@pytest.mark.parametrize(
    "call",
    [
        "drop_corpus({0})",
        "corpus_info({0})",
        "grant_corpus({0}, 'reader', 'read')",
        "revoke_corpus({0}, 'reader')",
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
        "restrict_corpus({0})",
        "unrestrict_corpus({0})",
        "list_grants({0})",
        "record_reads({0}, 'on')",
        "search({0}, 'text')",
        "retrieve({0}, 'text')",
        "list_traces({0})",
        "record_failure({0}, 'text', 'RG400', 1)",
        "export_corpus({0})",
        "export_documents({0})",
        "space_questions({0})",
    ],
)
def test_a_hidden_corpus_answers_as_one_that_does_not_exist(db: Connection, call: str) -> None:
    db.execute(
        "select ragdb.create_corpus('hidden'), ragdb.grant_corpus('hidden', 'writer', 'admin')"
    )
    db.execute("set local role writer2")
    answers = []
    for name in ("hidden", "absent"):
        raised = refused(db, f"select ragdb.{call.format('%s::text')}", name)
        said = (raised.diag.message_primary, raised.diag.message_detail, raised.diag.message_hint)
        answers.append([(text or "").replace(name, "it") for text in said])
        assert raised.sqlstate == "RG404"
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "call", ["put_text({0}, 'a.md', 'tulips')", "put_texts({0}, array['tulips'])"]
)
def test_whoever_may_create_no_corpus_does_not_learn_by_putting_texts_which_there_are(
    db: Connection, call: str
) -> None:
    db.execute("select ragdb.create_corpus('hidden', is_restricted => true)")
    db.execute("set local role reader")
    for name in ("hidden", "absent"):
        raised = refused(db, f"select ragdb.{call.format('%s::text')}", name)
        assert str(raised).startswith('role "reader" may not create corpora')


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
    raised = refused(db, "select ragdb.grant_corpus(%s, %s, %s)", *arguments)
    assert raised.sqlstate == "RG400"


COUNTERS = (
    "select coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0), coalesce(idx_scan, 0)"
    " from pg_stat_xact_user_tables where relid = 'ragdb.corpus_grants'::regclass"
)
OTHERS = (
    "select idx_scan from pg_stat_user_indexes where relname = 'corpora'",
    "select heap_blks_read from pg_statio_user_tables where relname = 'corpora'",
    "select pg_stat_get_xact_blocks_fetched('ragdb.corpora'::regclass)",
    "select n_live_tup from pg_stat_user_tables where relname = 'corpora'",
)


def test_the_counters_that_tell_of_a_hidden_corpus_can_be_taken_away(
    any_clone: str, login: Login
) -> None:
    """As docs/operations.md says; what it takes them from is the control."""
    page = (Path(__file__).parents[3] / "docs/operations.md").read_text()
    (statement,) = re.findall(r"```sql\n(select format\('revoke.*?)\\gexec\n```", page, re.S)
    with psycopg.connect(any_clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('hidden', is_restricted => true)")
        db.execute("select ragdb.grant_corpus('hidden', 'writer', 'read')")

    def read(corpus: str) -> Any:
        reader = login(any_clone, "reader", autocommit=True)
        with reader.transaction():
            with pytest.raises(psycopg.Error, match="does not exist"), reader.transaction():
                reader.execute("select * from ragdb.search(%s, 'tulips')", (corpus,))
            return reader.execute(COUNTERS).fetchone()

    assert read("hidden") != read("absent")
    with psycopg.connect(any_clone, autocommit=True) as db:
        for (line,) in db.execute(statement).fetchall():
            db.execute(line)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        read("hidden")
    reader = login(any_clone, "reader", autocommit=True)
    for other in OTHERS:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(other)
    # nothing of ragdb needs them, and whoever may read all statistics does
    writer = login(any_clone, "writer", autocommit=True)
    writer.execute("select ragdb.create_corpus('docs')")
    writer.execute("select ragdb.put_text('docs', 'a', 'tulips')")
    assert reader.execute("select * from ragdb.search('docs', 'tulips')").fetchall()
    with psycopg.connect(any_clone, autocommit=True) as db:
        db.execute("set role pg_monitor")
        assert db.execute(OTHERS[0]).fetchall()


def test_a_corpus_of_almost_that_name_is_hinted_at_to_those_who_may_see_it(db: Connection) -> None:
    db.execute("set role admin")
    db.execute("select ragdb.create_corpus('handbook')")
    db.execute("select ragdb.create_corpus('contracts', is_restricted => true)")
    db.execute("select ragdb.create_corpus('q')")
    db.execute("select ragdb.create_corpus('de')")

    def hint(role: str, corpus: str) -> str:
        db.execute(f"set role {role}")
        with pytest.raises(psycopg.Error, match="does not exist") as raised, db.transaction():
            db.execute("select * from ragdb.search(%s, 'tulips')", (corpus,))
        return raised.value.diag.message_hint or ""

    assert hint("reader", "handbok").startswith("did you mean handbook? ragdb.list_corpora() lists")
    assert hint("admin", "Contract").startswith("did you mean contracts? ")
    assert hint("reader", "deu").startswith("did you mean de? ")
    assert hint("reader", "{de,q}").endswith(" an array: corpora => '{one,two}'")
    for corpus in ("contract", "poems", "book", "p", "web", "x" * 300000, ""):
        assert hint("reader", corpus).startswith("ragdb.list_corpora() lists the names")


KERN = """
corpus name=c{0}
  source name=s uri=./docs
retriever name=R{0} corpus=c{0} mode=lexical topK=2
rag name=A{0} retriever=R{0}
ragEval name=V rag=A{0} mode=contract
  ragCase name=c query="x"
    ragAssert kind=contains value="x" required=true
"""


@pytest.fixture(scope="module")
def closed(server18: Server) -> Iterator[str]:
    """A database of sixty restricted corpora, one of them shared with `reader`."""

    def fill(db: Connection) -> None:
        db.execute(
            "select ragdb.create_corpus('c' || n, is_restricted => true)"
            " from generate_series(1, 60) n"
        )
        db.execute("select ragdb.grant_corpus('c7', 'reader', 'read')")
        db.execute(
            "select ragdb.create_embedder('hash', 8), ragdb.bind_embedder('hash', 'hash', 'h')"
        )
        for n in (7, *range(20, 60)):
            text = KERN.format(n)
            db.execute("select ragdb.apply_contract(%s, %s)", (text, f"k{n}"))
            db.execute("select ragdb.embed_corpus(%s, 'hash')", (f"c{n}",))
        for corpus in ("c7", "c8"):
            put(db, document("a.md", ["one"]), corpus=corpus)

    with server18.filled(fill) as dsn:
        yield dsn


@pytest.mark.parametrize(
    "call",
    [
        "list_corpora()",
        "list_traces()",
        "list_answers()",
        "list_unanswered()",
        "events_after()",
        "search(null::text[], 'one')",
        "capabilities()",
        "embedding_status()",
        "list_evals()",
        "list_sources()",
        "bi.readable_corpora()",
    ],
)
def test_a_list_asks_no_right_to_corpora_that_nobody_shared_with_the_role(
    server18: Server, closed: str, call: str
) -> None:
    with server18.rolled_back(closed) as db:
        db.execute("set local track_functions = 'all'")
        db.execute("set role reader")
        before = one(db, ASKED)
        db.execute(f"select * from {call if call.startswith('bi.') else f'ragdb.{call}'}")
        assert 0 < one(db, ASKED) - before < 12


def test_each_way_to_a_right_leads_into_the_lists(db: Connection) -> None:
    db.execute(
        "select ragdb.create_corpus(n, is_restricted => true) from unnest(%s::text[]) n",
        (["own", "team", "closed", "whole"],),
    )
    db.execute(
        "select ragdb.create_corpus('open'), ragdb.create_corpus('part', part_of => 'whole')"
    )
    db.execute("set role owner")
    db.execute("select ragdb.create_corpus('system')")
    db.execute("reset role")
    db.execute("create role team; grant team to reader; create role gone; grant gone to reader")
    grants = {"own": "reader", "team": "team", "whole": "team", "closed": "gone"}
    for corpus, role in grants.items():
        db.execute("select ragdb.grant_corpus(%s, %s, 'read')", (corpus, role))
    db.execute("drop role gone")
    db.execute("set role reader")
    db.execute("select ragdb.create_corpus('personal')")
    expected = ["open", "own", "part", "personal", "system", "team", "whole"]
    assert names(db) == expected
    for role in ("admin", "owner"):
        db.execute(f"reset role; set role {role}")
        assert names(db) == ["closed", *(n for n in expected if n != "personal")]
    db.execute("reset role; set role reader2")
    assert names(db) == ["open", "system"]
