"""Parts on several servers rank as the corpus in one piece, and who asks sees when they cannot.

Two databases stand for two servers: each has the whole and two of its four parts.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

import ragdb
from ragdb import errors
from ragdb.cli.main import app
from ragdb.servers.fanout import PARTS_ELSEWHERE, ServersMissing
from tests.conftest import Login, Server
from tests.embedding import embed, make_embedder, one, put
from tests.pooler import pooler
from tests.sql.corpora.test_parts import Collection, ask, questions, write

SYNONYMS = "select ragdb.add_synonyms('whole', '{brabb,clomp}')"
COUNTED = "select chunks from ragdb.corpora where name = 'whole'"
SHOWN = (
    "rank", "chunk_id", "source", "score", "lexical_score", "semantic_score", "lexical_rank",
    "semantic_rank", "bm25", "coverage", "text", "mode", "is_exact",
)  # fmt: skip


def home(uri: str) -> int:
    return zlib.crc32(uri.encode()) % 4


class Pair:
    """Two databases, a connection and the DSN of each."""

    def __init__(self, dsns: Sequence[str], stack: ExitStack) -> None:
        self.dsns = list(dsns)
        self.dbs = [stack.enter_context(psycopg.connect(dsn, autocommit=True)) for dsn in dsns]
        self.servers = stack.enter_context(ragdb.Servers(self.dsns))

    def write(self, documents: Sequence[dict[str, Any]], gone: Sequence[str]) -> None:
        for part in range(4):
            own = [d for d in documents if home(d["uri"]) == part]
            write(self.dbs[part // 2], f"part-{part}", own, [u for u in gone if home(u) == part])
        for db in self.dbs:
            embed(db)


@pytest.fixture(scope="module")
def pair(server18: Server) -> Iterator[Pair]:
    """Two databases with the embedder; what a test makes in them it takes away."""
    with ExitStack() as stack:
        found = [stack.enter_context(server18.database()) for _ in range(2)]
        pair = Pair([server18.dsn(database.dbname) for database in found], stack)
        for db in pair.dbs:
            make_embedder(db)
        yield pair


@pytest.fixture
def parts(pair: Pair) -> Iterator[Pair]:
    """Four parts of a corpus, two on each."""
    for number, db in enumerate(pair.dbs):
        db.execute("select ragdb.create_corpus('whole')")
        db.execute("select ragdb.embed_corpus('whole', 'hash')")
        for part in (2 * number, 2 * number + 1):
            db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (f"part-{part}",))
    yield pair
    for db in pair.dbs:
        for name in [
            row[0] for row in db.execute("select name from ragdb.list_corpora() order by 1")
        ]:
            if name != "system":
                db.execute("select ragdb.drop_corpus(%s)", (name,))


@pytest.fixture
def filled(parts: Pair) -> Pair:
    """A few documents in each part, counted."""
    texts = {"a": "red apple", "b": "green pear", "c": "red plum", "d": "a green apple tree"}
    for number, (uri, text) in enumerate(texts.items()):
        put(parts.dbs[number // 2], {uri: text}, f"part-{number}", metadata={"size": number % 2})
    for db in parts.dbs:
        embed(db)
    parts.servers.optimize("whole")
    return parts


def asked(servers: ragdb.Servers, how: dict[str, Any]) -> list[Any]:
    given = {key: value.obj if key == "filter" else value for key, value in how.items()}
    return [tuple(getattr(hit, name) for name in SHOWN) for hit in servers.search("whole", **given)]


def goes(how: dict[str, Any]) -> bool:
    """Whether several servers can be asked so."""
    if how.get("collapse") or how.get("diversity"):
        return False
    return not (how.get("per_document") and how["mode"] == "hybrid")


def test_parts_on_two_servers_rank_as_the_corpus_in_one_piece(
    server18: Server, parts: Pair
) -> None:
    how_asked = [how for how in questions(48) if goes(how)]
    counting = [(how["query"], how.get("syntax", "plain")) for how in how_asked[:12]]
    with server18.rolled_back() as alone:
        make_embedder(alone)
        alone.execute("select ragdb.create_corpus('whole')")
        alone.execute("select ragdb.embed_corpus('whole', 'hash')")
        alone.execute(SYNONYMS)
        Collection(alone, 60).write(False, "whole")
        expected = [ask(alone, how) for how in how_asked]
        counted = [
            (
                alone.execute(
                    "select * from ragdb.count_matches('whole', %s, syntax => %s)", how
                ).fetchall(),
                alone.execute(
                    "select * from ragdb.facets('whole', %s, '{half,source}', null, 7, %s)", how
                ).fetchall(),
            )
            for how in counting
        ]
    for db in parts.dbs:
        db.execute(SYNONYMS)
    for batch, (documents, gone) in enumerate(Collection(parts.dbs[0], 60).batches()):
        parts.write(documents, gone)
        if batch == 1:
            parts.servers.optimize("whole")
    parts.servers.sync("whole")
    for how, hits in zip(how_asked, expected, strict=True):
        assert asked(parts.servers, how) == hits, how
    assert sum(len(hits) for hits in expected) > 300
    seen = {hit.server for hit in parts.servers.search("whole", "brabb clabb", 30)}
    assert seen == set(parts.servers.names)
    for (query, syntax), (matches, facets) in zip(counting, counted, strict=True):
        total = parts.servers.count_matches("whole", query, syntax=syntax)
        assert [(total.documents, total.chunks)] == matches
        of_fields = parts.servers.facets("whole", query, ["half", "source"], 7, syntax=syntax)
        assert [(f.field, f.value, f.documents, f.chunks) for f in of_fields] == facets


def test_what_was_written_since_is_stale_where_it_is_and_ranks_as_before(filled: Pair) -> None:
    before = {h.chunk_id: h.score for h in filled.servers.search("whole", "red apple")}
    put(filled.dbs[1], {"e": "red cherry"}, "part-3")
    listed = (
        "select name, is_stale, chunks, chunks_synced, is_elsewhere from ragdb.list_parts('whole')"
    )
    assert filled.dbs[1].execute(listed).fetchall() == [
        ("part-0", None, None, 1, True),
        ("part-1", None, None, 1, True),
        ("part-2", False, 1, 1, False),
        ("part-3", True, 2, 1, False),
    ]
    stale = "select stale_parts from ragdb.corpus_info('whole')"
    assert [one(db, stale) for db in filled.dbs] == [0, 1]
    hits = filled.servers.search("whole", "red apple")
    assert before.items() <= {h.chunk_id: h.score for h in hits}.items()
    assert "e" in {hit.source for hit in hits}
    synced = filled.servers.sync("whole")
    # as each counted before it was told
    assert [synced[name].chunks for name in filled.servers.names] == [4, 5]
    assert [
        one(db, "select chunks from ragdb.corpora where name = 'whole'") for db in filled.dbs
    ] == [5, 5]


def test_servers_that_count_otherwise_are_not_merged(filled: Pair) -> None:
    put(filled.dbs[1], {"e": "red cherry"}, "part-3")
    filled.dbs[1].execute("select ragdb.sync_statistics('whole')")
    with pytest.raises(errors.StatisticsDiffer, match="part-3 of 2 chunks"):
        filled.servers.search("whole", "red")
    with pytest.raises(errors.StatisticsDiffer) as refused:
        filled.dbs[1].execute("select ragdb.search_candidates('whole', 'red', expects => 'x')")
    assert refused.value.diag.sqlstate == "RG439"
    assert refused.value.diag.message_hint
    filled.servers.sync("whole")
    assert filled.servers.search("whole", "red")

    filled.dbs[0].execute("select ragdb.optimize_corpus('whole', 7.5)")
    with pytest.raises(errors.StatisticsDiffer, match=r"pivot: .* has 7\.5"):
        filled.servers.sync("whole")
    filled.servers.optimize("whole")
    filled.dbs[0].execute("select ragdb.add_synonyms('whole', '{red,crimson}')")
    with pytest.raises(errors.StatisticsDiffer, match="synonyms"):
        filled.servers.search("whole", "red")


def test_a_server_that_is_down_is_named_and_left_out_only_where_that_is_asked_for(
    filled: Pair,
) -> None:
    down = make_conninfo(filled.dsns[1], dbname="nobody_made_this", password="secret")
    with ragdb.Servers([filled.dsns[0], down]) as servers:
        missing = servers.names[1]
        for call in (
            lambda: servers.search("whole", "red"),
            lambda: servers.count_matches("whole", "red"),
            lambda: servers.sync("whole"),
        ):
            with pytest.raises(ServersMissing, match="nobody_made_this") as failed:
                call()
            assert list(failed.value.missing) == [missing]
            assert "secret" not in str(failed.value)
        hits = servers.search("whole", "red", partial=True)
        assert list(hits.missing) == [missing]
        assert {hit.corpus for hit in hits} == {"part-0", "part-1"}
    assert filled.servers.search("whole", "red", partial=True).missing == {}


def hang_up(pair: Pair, *numbers: int) -> None:
    """End all connections to some of the databases but those of the test."""
    for number in numbers:
        pair.dbs[number].execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
            " where datname = current_database() and pid <> all (%s)",
            ([db.info.backend_pid for db in pair.dbs],),
        )


def test_a_connection_that_was_lost_is_opened_anew(filled: Pair) -> None:
    expected = filled.servers.search("whole", "red")
    hang_up(filled, 0, 1)
    assert filled.servers.search("whole", "red") == expected


@pytest.mark.parametrize("partial", [False, True])
def test_a_connection_that_is_lost_amid_a_search_is_opened_anew(
    filled: Pair, monkeypatch: pytest.MonkeyPatch, partial: bool
) -> None:
    expected = filled.servers.search("whole", "red")
    find = filled.servers._candidates

    def found(*args: Any, **how: Any) -> Any:
        rows = find(*args, **how)
        hang_up(filled, 0)
        return rows

    monkeypatch.setattr(filled.servers, "_candidates", found)
    assert filled.servers.search("whole", "red", partial=partial) == expected


def test_a_server_behind_a_pooler_that_is_lost_at_the_end_of_a_sync_is_named(
    filled: Pair, server18: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        pooler(server18.folder) as bouncer,
        ragdb.Servers([bouncer.dsn(dsn) for dsn in filled.dsns]) as servers,
    ):
        ask, last, calls = servers._of, 0, []

        def lost(*args: Any) -> Any:
            found = ask(*args)
            calls.append(found)
            if len(calls) == last:
                hang_up(filled, 0)
            return found

        monkeypatch.setattr(servers, "_of", lost)
        servers.sync("whole")
        last = 2 * len(calls)
        with pytest.raises(ServersMissing, match="it ended the connection") as failed:
            servers.sync("whole")
        assert list(failed.value.missing) == servers.names[:1]
        servers.sync("whole")


@pytest.mark.parametrize("number", [0, 1])
def test_a_server_that_is_lost_amid_a_sync_is_named_and_the_others_go_back(
    filled: Pair, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    put(filled.dbs[1 - number], {"e": "red berry"}, f"part-{2 - 2 * number}")
    counted = [db.execute(COUNTED).fetchall() for db in filled.dbs]
    ask = filled.servers._of

    def lost(*args: Any) -> Any:
        hang_up(filled, number)
        return ask(*args)

    with monkeypatch.context() as patch:
        patch.setattr(filled.servers, "_of", lost)
        with pytest.raises(ServersMissing) as failed:
            filled.servers.sync("whole")
    assert list(failed.value.missing) == [filled.servers.names[number]]
    assert [db.execute(COUNTED).fetchall() for db in filled.dbs] == counted
    filled.servers.sync("whole")
    assert [db.execute(COUNTED).fetchall() for db in filled.dbs] != counted


def test_parts_that_go_or_move_are_counted_where_they_are(filled: Pair) -> None:
    first, second = filled.dbs
    with pytest.raises(errors.AlreadyExists):
        first.execute("select ragdb.create_corpus('part-3', part_of => 'whole')")
    second.execute("select ragdb.drop_corpus('part-3')")
    filled.servers.sync("whole")
    assert [one(db, COUNTED) for db in filled.dbs] == [3, 3]
    first.execute("select ragdb.create_corpus('part-3', part_of => 'whole')")
    put(first, {"d": "a green apple tree"}, "part-3")
    filled.servers.sync("whole")
    assert [one(db, COUNTED) for db in filled.dbs] == [4, 4]
    # no server has embeddings of the new chunk yet: all are asked for words
    assert {hit.mode for hit in filled.servers.search("whole", "green apple")} == {"lexical"}
    places = {hit.corpus: hit.server for hit in filled.servers.search("whole", "green apple")}
    assert places["part-3"] == filled.servers.names[0]
    # one name in two places is one too many
    first.execute("select ragdb.drop_part_statistics('whole', 'part-2')")
    first.execute("select ragdb.create_corpus('part-2', part_of => 'whole')")
    with pytest.raises(errors.InvalidArgument, match="part-2"):
        filled.servers.sync("whole")


RANK = '[[{"chunk_id": "a", "score": 1, "lexical_rank": "x"}]]'
WRONG = (
    "1, 5, 9, '{red}', '{6}'",
    "1, 5, 9, '{red}', '{0}'",
    "1, 5, 9, '{red}', '{1,2}'",
    "1, 5, 9, '{red,red}', '{1,2}'",
    "1, 5, 9, '{null}', '{1}'",
    "1, 5, 9, '{\"\"}', '{1}'",
    "1, 5, 1, '{red,blue}', '{1,2}'",
    "1, -5, 9, '{}', '{}'",
    "-1, 5, 9, '{}', '{}'",
    "1, 2147483647, 2147483648, '{}', '{}'",
    "1, 5, 9223372036854775807, '{red}', '{1}'",
    "1, 5, null, '{}', '{}'",
    "1, 5, 9, null, null",
)


@pytest.mark.parametrize("call", ["search", "count_matches", "facets"])
def test_a_server_that_is_given_twice_is_not_two(filled: Pair, call: str) -> None:
    again = make_conninfo(filled.dsns[0], port="0" + str(filled.dbs[0].info.port))
    more = [["size"]] if call == "facets" else []
    with ragdb.Servers([*filled.dsns, again]) as servers:
        for _ in range(2):
            with pytest.raises(errors.InvalidArgument, match=r"part-0 of whole .* host=a,b"):
                getattr(servers, call)("whole", "red", *more)


def test_statistics_that_no_part_has_are_refused(filled: Pair, login: Login) -> None:
    given = "select ragdb.put_part_statistics('whole', 'other', {}, now())"
    db = filled.dbs[0]
    for wrong in WRONG:
        with pytest.raises(errors.InvalidArgument):
            db.execute(given.format(wrong))
    fine = given.format("1, 5, 9, '{red,blue}', '{2,5}'")
    with pytest.raises(errors.AlreadyExists):
        db.execute(fine.replace("other", "part-0"))
    with pytest.raises(errors.CorpusNotFound):
        db.execute("select ragdb.drop_part_statistics('whole', 'other')")
    reads = login(filled.dsns[0], "reader", autocommit=True)
    for refused in (fine, "select * from ragdb.part_statistics('whole')"):
        with pytest.raises(errors.NotAuthorized):
            reads.execute(refused)
    before = db.execute("select ragdb.ranking_digest('whole')").fetchone()
    with login(filled.dsns[0], "writer", autocommit=True) as writes:
        writes.execute(fine)
        # what was made up shows: no server says the same, and the next exchange takes it away
        with pytest.raises(errors.StatisticsDiffer):
            filled.servers.search("whole", "red")
    filled.servers.sync("whole")
    assert db.execute("select ragdb.ranking_digest('whole')").fetchone() == before
    assert filled.servers.search("whole", "red")


def test_what_is_not_candidates_is_not_merged(filled: Pair) -> None:
    loud = tuple(
        f'[[{{"chunk_id": "a", "score": 1, "{name}": {score}}}]]'
        for name in ("score", "lexical_score", "semantic_score")
        for score in (1.1, -1)
    )
    wrong = ("null", "{}", "[1]", "[[1]]", '[[{"score": 1}]]', '[[{"chunk_id": "a"}]]', RANK)
    for shares in wrong + loud:
        with pytest.raises(errors.InvalidArgument):
            filled.dbs[0].execute("select ragdb.merge_candidates('whole', %s)", (shares,))
    for more in ("mode => 'other'", "fusion => 'sum'", "k => 0", "lexical_weight => 2"):
        with pytest.raises(errors.InvalidArgument):
            filled.dbs[0].execute(f"select ragdb.merge_candidates('whole', '[]', {more})")


def test_one_server_says_that_parts_are_elsewhere(filled: Pair) -> None:
    said: list[str] = []

    def note(notice: Any) -> None:
        said.append(notice.message_primary)
        assert notice.sqlstate == PARTS_ELSEWHERE

    filled.dbs[0].add_notice_handler(note)
    filled.dbs[0].execute("select ragdb.search('whole', 'red', mode => 'lexical')")
    filled.dbs[0].execute("select ragdb.search_candidates('whole', 'red', mode => 'lexical')")
    filled.dbs[0].remove_notice_handler(note)
    assert said == ['corpus "whole" has 2 of its parts on other servers']


def test_a_field_is_called_unknown_where_no_server_has_it(filled: Pair) -> None:
    put(filled.dbs[1], {"f": "red berry"}, "part-3", metadata={"vat": 1})
    said: list[str | None] = []
    with ragdb.Servers(filled.dsns, on_notice=lambda d: said.append(d.message_primary)) as servers:
        assert [f.value for f in servers.facets("whole", "red", ["vat", "nosuch"])] == [1]
    assert said == ['no document has "nosuch"']


def test_the_command_line_asks_all_servers(filled: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, arguments)

    all_ = [word for dsn in filled.dsns for word in ("--server", dsn)]
    found = run("search", "red apple", "-c", "whole", "--mode", "lexical", "--json", *all_)
    hits = filled.servers.search("whole", "red apple", mode="lexical")
    assert [hit["chunk_id"] for hit in json.loads(found.stdout)] == [hit.chunk_id for hit in hits]
    assert filled.servers.names[1] in run("search", "plum", "-c", "whole", *all_).stdout
    counted = run("search", "red", "-c", "whole", "--facets", "size", "--json", *all_)
    assert [row["documents"] for row in json.loads(counted.stdout)] == [2]

    put(filled.dbs[1], {"e": "red cherry"}, "part-3")
    synced = json.loads(run("corpus", "sync", "whole", "--json", *all_).stdout)
    assert [row["server"] for row in synced] == sorted(filled.servers.names)
    assert [one(db, COUNTED) for db in filled.dbs] == [5, 5]
    assert run("corpus", "optimize", "whole", *all_).exit_code == 0

    down = ["--server", make_conninfo(filled.dsns[1], dbname="nobody_made_this")]
    refused = run("search", "red", "-c", "whole", *all_[:2], *down)
    assert refused.exit_code == 3
    assert "nobody_made_this did not answer" in refused.stderr
    some = run("search", "red", "-c", "whole", "--partial", *all_[:2], *down)
    assert some.exit_code == 4
    assert "without" in some.stderr
    for flags in (["--trace"], ["--collapse"], ["--dsn", filled.dsns[0]]):
        assert run("search", "red", "-c", "whole", *flags, *all_).exit_code == 2


def test_what_phrases_and_signs_come_to_is_said_once_for_all_servers(filled: Pair) -> None:
    def told(query: str) -> tuple[int, list[str]]:
        done = CliRunner().invoke(
            app,
            ["search", query, "-c", "whole", "--mode", "lexical", "--json"]
            + [f"--server={dsn}" for dsn in filled.dsns],
        )
        assert done.exit_code == 0, done.stderr
        notes = [line for line in done.stderr.splitlines() if "nothing found" not in line]
        return len(json.loads(done.stdout)), notes

    unmet = "nothing meets the phrases and signs of"
    for query in ('"apple red"', "+apple +plum"):
        hits, (note,) = told(query)
        assert hits == 0
        assert unmet in note
    # one server has none, the other has it
    assert told('"green pear"') == (1, [])
    assert told('"zeppelin hovercraft"') == (0, [])
    hits, (note,) = told('"the apple"')
    assert hits == 2
    assert 'the phrase "the apple" is looked for without "the"' in note


def test_that_parts_are_elsewhere_is_said_once_and_to_nobody_who_asks_all_servers(
    filled: Pair,
) -> None:
    def told(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["search", "apple", "-c", "whole", *arguments])
        assert done.exit_code == 0, done.stderr
        return done.stderr

    elsewhere = "of its parts on other servers"
    assert told("-d", filled.dsns[0]).count(elsewhere) == 1
    all_ = [f"--server={dsn}" for dsn in filled.dsns]
    for more in ([], ["--facets", "size"]):
        assert elsewhere not in told(*all_, *more)
