"""What pages name is there: flags of verbs, what queries call, arguments of functions and tools."""

from __future__ import annotations

import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from ragdb.cli.main import app
from ragdb.mcp.catalogue import BUILTIN
from tests.conftest import Connection
from tests.docs.test_documentation import NAMING, PAGES, ROOT, blocks

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
# the schema stands in the page of dbt as dbt names it
DBT = re.compile(r"\{\{ source\('ragdb', '(\w+)'\) \}\}")


def flags() -> dict[str, set[str]]:
    """The flags of each verb, also of one that stands below another."""
    every = {"--help", "-h"}
    found = {}
    for name, command in typer.main.get_group(app).commands.items():
        below = getattr(command, "commands", {})
        verbs = {f"{name} {word}": verb for word, verb in below.items()} or {name: command}
        for words, verb in verbs.items():
            given = (o for p in verb.params for o in (*p.opts, *p.secondary_opts))
            found[words] = every | set(given)
    return found


def commands(page: Path) -> Iterator[str]:
    """Each command of ragdb on a page: in a block that a shell reads, and in ticks."""
    text = page.read_text()
    for kind, block in BLOCK.findall(text):
        if kind in ("console", "sh", "bash", ""):
            yield from re.findall(r"^(?:\$ )?(?:\w+=\S+ )?(ragdb .*)", block, re.M)
    yield from re.findall(r"`(ragdb [^`]+)`", BLOCK.sub("", text))


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_every_flag_that_a_page_gives_a_verb_exists(page: Path) -> None:
    known = flags()
    for command in commands(page):
        # what is quoted is an argument; psql has what is behind --, and all that `ragdb psql` takes
        own = re.split(r" -- |[|;&]| #", re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", command))[0]
        words = [word for word in own.split() if word not in ("-v", "-q")]
        verb = " ".join(words[1:3])
        if (verb if verb in known else words[1]) in known and words[1] != "psql":
            given = {w.split("=")[0] for w in words[2:] if re.match(r"--?[a-zA-Z]", w)}
            assert given <= known.get(verb, known.get(words[1], set())), command


def test_every_function_that_a_page_calls_takes_the_arguments_that_it_names(
    db: Connection,
) -> None:
    takes: dict[str, set[str]] = defaultdict(set)
    for name, arguments in db.execute(
        "select proname, coalesce(proargnames, '{}') from pg_proc"
        " where pronamespace = 'ragdb'::regnamespace"
    ):
        takes[name] |= set(arguments)
    for page in NAMING:
        for name, given in re.findall(r"\bragdb\.(\w+)\(([^()]*)\)", page.read_text()):
            named = set(re.findall(r"(\w+) =>", given))
            if named:
                assert named <= takes[name], f"{page.name}: {name}({given})"


def is_there(name: str) -> bool:
    """Whether Python has it."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


# fields of a filter in a store, a setting of the session, a file
NEITHER = {"source", "title", "signing_key", "control"}


def test_every_name_of_ragdb_that_stands_in_ticks_on_a_page_is_in_sql_or_in_python(
    db: Connection,
) -> None:
    found = db.execute(
        "select proname from pg_proc where pronamespace = 'ragdb'::regnamespace"
        " union all select relname from pg_class where relnamespace = 'ragdb'::regnamespace"
    )
    known = NEITHER | {name for (name,) in found}
    for page in NAMING:
        for name in re.findall(r"`(?:\w+ )*ragdb\.(\w+(?:\.\w+)*)[`(]", page.read_text()):
            assert name.split(".")[0] in known or is_there(f"ragdb.{name}"), (page.name, name)


def queries(page: Path) -> Iterator[str]:
    """Each query of the blocks of SQL of a page, as a server reads it."""
    for block in blocks(page, "sql"):
        plain = re.sub(r"^\\.*|\\g\w+", ";", re.sub(r"--.*$", "", block, flags=re.M), flags=re.M)
        # what psql puts in place of its variables is of no type yet, as a null is
        server = re.sub(r":'\w+'", "null", DBT.sub(r"bi.\1", plain))
        for statement in re.split(r";[ \t]*$", server, flags=re.M):
            if re.match(r"\s*select\b", statement):
                yield statement


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_database_understands_every_query_of_a_page(db: Connection, page: Path) -> None:
    for query in queries(page):
        db.execute(f"prepare of_a_page as {query}")
        db.execute("deallocate of_a_page")


def test_queries_of_pages_are_found() -> None:
    found = [query for page in PAGES for query in queries(page)]
    assert len(found) > 40


def test_the_page_of_mcp_names_every_argument_of_every_tool() -> None:
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", (ROOT / "docs/mcp.md").read_text(), re.M)
    for name, tool in BUILTIN.items():
        (takes,) = [takes for tools, takes in rows if f"`{name}`" in tools]
        assert set(tool.properties) <= set(re.findall(r"`(\w+)`", takes)), name
