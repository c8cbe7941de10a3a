"""The documentation is true: its commands, Python, links, verbs and file names."""

from __future__ import annotations

import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import ragdb
from bench.search import scale
from ragdb.cli.main import app
from ragdb.server import static
from tests.forked import run_forked

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# what is held to the code; the change log explains nothing, so it is not a page
NAMING = [*PAGES, ROOT / "CHANGELOG.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text()) if kind == language]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each `$ command` of a block with the output shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def shows(shown: str, printed: str) -> bool:
    """Whether the output is what is shown; `…` stands for anything, trailing blanks for nothing.

    How far columns lie apart depends on their values.
    """

    def lines(text: str) -> str:
        return "\n".join(re.sub("(?<=\\S) {2,}", "  ", line.rstrip()) for line in text.splitlines())

    expected, actual = lines(shown.strip()), lines(printed.strip())
    return bool(re.fullmatch(re.escape(expected).replace("…", ".*?") + "\n?", actual + "\n", re.S))


LARGE = re.compile(r"^## By a larger model$.*?(?=^## )", re.M | re.S)


@pytest.mark.usefixtures("packaged")
def test_the_tutorial_prints_what_it_shows(clone: str, tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorial.md").read_text()
    assert LARGE.search(page)
    follow(LARGE.sub("", page), clone, tmp_path)


@pytest.mark.nightly
@pytest.mark.usefixtures("packaged")
def test_the_tutorial_goes_on_to_a_larger_model(clone: str, tmp_path: Path) -> None:
    follow((ROOT / "docs/tutorial.md").read_text(), clone, tmp_path)


def follow(page: str, clone: str, tmp_path: Path) -> None:
    """Run every command of a page in a shell, where its output is what is shown."""
    environment = {
        **os.environ,
        "RAGDB_DATABASE_URL": clone,
        "COLUMNS": "100",
        "PAGER": "cat",
    }
    for kind, text in BLOCK.findall(page):
        if kind == "python":
            subprocess.run([sys.executable, "-c", text], check=True, cwd=tmp_path, env=environment)
            continue
        for command, shown in commands(text):
            code, printed = typed(command, tmp_path, environment)
            assert code == 0, (command, printed)
            assert shows(shown, printed), f"$ {command}\n{printed}"


def typed(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """How a command of a shell ended, and what it wrote."""
    words = shlex.split(command)
    if words[0] == "ragdb" and not re.search(r"[$*?|<>&;`]", command):
        # of these a shell makes nothing else
        done = run_forked(*words[1:], env=environment, cwd=folder, timeout=300, is_joined=True)
    else:
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    return done.returncode, done.stdout


@pytest.mark.by_day(1)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_the_first_question_of_readme_is_answered_by_the_first_documents(
    clone: str, mode: str
) -> None:
    (question,) = set(re.findall(r'ragdb (?:search|ask) "(.+?)"', (ROOT / "README.md").read_text()))
    with ragdb.connect(clone) as db:
        if mode == "hybrid":  # as `make demo` leaves it
            static.load(db)
        assert db.ingest(ROOT / "docs", corpus="docs").failed == 0
        answer = db.ask("docs", question)
        assert "`RAGDB_HOME`" in answer.text
        assert answer.citations[0]["source_id"] == "docs/operations.md"
        (hit,) = db.search("docs", question, k=1)
        assert (hit.mode, "`RAGDB_HOME`" in hit.text) == (mode, True)


def parts(page: Path) -> set[str]:
    """What links call the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in headings}


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, part in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        if "://" not in target:
            linked = page.parent / target if target else page
            assert linked.exists(), target
            assert not part or part in parts(linked), f"{target}#{part}"


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_every_file_of_the_source_that_a_page_names_exists(page: Path) -> None:
    rooms = "sql|ragdb|migrations|extension|tools|tests|bench|reports|examples"
    for name in re.findall(rf"`((?:{rooms})/[\w./-]*)`", page.read_text()):
        assert (ROOT / name).exists(), name


def test_the_page_of_the_architecture_names_every_folder_of_sql_and_python() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    folders = {
        f"{room}/{folder.name}/"
        for room in ("sql", "ragdb")
        for folder in (ROOT / room).iterdir()
        if folder.is_dir() and any(folder.glob("*.sql")) | any(folder.glob("[a-z]*.py"))
    }
    assert len(folders) > 30
    assert {folder for folder in folders if f"`{folder}" not in page} == set()


def named_in_the_source(pattern: str, *suffixes: str) -> set[tuple[str, str]]:
    """What the source names, each with the file that names it."""
    rooms = ("sql", "ragdb", "migrations", "extension", "tools", "bench")
    files = [file for room in rooms for file in (ROOT / room).rglob("*") if file.suffix in suffixes]
    own = [file.relative_to(ROOT) for file in files]
    found = {
        (str(file), name)
        for file in own
        if ".venv" not in file.parts  # that of the benches has the peers
        for name in re.findall(pattern, (ROOT / file).read_text("utf-8"))
    }
    assert found
    return found


def test_every_file_of_the_source_that_the_source_names_exists() -> None:
    file = r"(?<![\w./-])(?:sql|ragdb|migrations|tools|bench)/[a-z0-9_/-]+\.(?:sql|py)\b"
    named = named_in_the_source(file, ".sql", ".py")
    assert {(by, name) for by, name in named if not (ROOT / name).exists()} == set()


def test_every_private_function_that_python_names_exists() -> None:
    named = named_in_the_source(r"`(ragdb(?:_internal\.|\._)\w+)", ".py")
    defined = {
        name
        for file in (ROOT / "sql").glob("*/*.sql")
        for name in re.findall(r"^create .*?\b(ragdb\w*\.\w+)", file.read_text("utf-8"), re.M)
    }
    assert len(defined) > 1000
    assert {(by, name) for by, name in named if name not in defined} == set()


def test_every_class_of_python_that_sql_names_exists() -> None:
    for _, name in named_in_the_source(r"\bragdb(?:\.[a-z_]+)*\.[A-Z]\w+", ".sql"):
        assert pkgutil.resolve_name(name), name


def verbs() -> set[str]:
    found = set()
    for name, command in typer.main.get_group(app).commands.items():
        found |= {f"{name} {below}" for below in getattr(command, "commands", [])} or {name}
    return found


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    known = verbs()
    for block in blocks(page, "console"):
        for command, _ in commands(block):
            words = command.replace("-v ", "").split()
            if words[0] == "ragdb" and words[1] != "VERB":
                assert words[1] in known or " ".join(words[1:3]) in known, command


def test_python_blocks_compile() -> None:
    found = [(page, block) for page in PAGES for block in blocks(page, "python")]
    assert len({page for page, _ in found}) >= 3
    for page, block in found:
        compile(block, page.name, "exec")


def test_every_error_code_is_on_the_page_of_errors() -> None:
    from ragdb import errors

    page = (ROOT / "docs/errors.md").read_text()
    for name, value in vars(errors).items():
        if isinstance(value, type) and value is not errors.RagdbError:
            assert f"| `{value.sqlstate}` | `{name}` |" in page  # type: ignore[attr-defined]


def test_every_variable_that_the_package_reads_is_on_a_page() -> None:
    code = "\n".join(file.read_text() for file in (ROOT / "ragdb").rglob("*.py"))
    pages = "\n".join(page.read_text() for page in PAGES)
    read = set(re.findall(r"\b(?:RAGDB|GRAPH_KERNEL)_[A-Z_]+", code))
    assert {name for name in read if name not in pages} == set()


def test_every_extra_of_the_package_is_on_a_page() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    pages = "\n".join(page.read_text() for page in PAGES)
    named = re.findall(r"(?:postgres|\.)\[([a-z,]+)\]", pages)
    assert set(extras) - set(",".join(named).split(",")) == set()


def test_the_change_log_speaks_of_this_version() -> None:
    import ragdb

    assert f"## {ragdb.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_what_scale_takes_is_what_is_calculated() -> None:
    table = "\n".join(scale.lines(scale.Figures()))
    assert table in (ROOT / "docs/scale.md").read_text()
