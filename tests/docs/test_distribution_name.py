"""The distribution is ragdb-postgres: the name ragdb belongs to another project."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import ragdb

ROOT = Path(__file__).parents[2]
ROOMS = ("ragdb", "sql", "migrations", "docs", "examples", "dashboards", "reports", "bench")
TEXTS = {".py", ".sql", ".md", ".toml", ".txt", ".json", ".yml", ".yaml", ".sh", ".control"}

# a command that installs ragdb, or one of its extras, by the name of the other project
OTHER_PROJECT = re.compile(
    r"""\b(?:(?:pip|uv) (?:install|add)|uvx|pipx run)\b[^`&;\n]*?[\s'"=]ragdb(?![\w.-])"""
    r"""|\bragdb\[[a-z]"""
)


def advice() -> list[str]:
    found = []
    for path in (*ROOT.glob("*.*"), ROOT / "Makefile", *(f for r in ROOMS for f in _files(r))):
        if path.is_file() and (path.suffix in TEXTS or not path.suffix):
            lines = path.read_text("utf-8").splitlines()
            found += [
                f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
                for number, line in enumerate(lines, 1)
                if OTHER_PROJECT.search(line)
            ]
    return found


def _files(room: str) -> list[Path]:
    others = {"__pycache__", ".venv"}  # nobody wrote these here
    return [path for path in (ROOT / room).rglob("*") if others.isdisjoint(path.parts)]


@pytest.mark.parametrize(
    "line",
    [
        "$ pip install ragdb",
        "hint: pip install --upgrade ragdb",
        "pip install torch 'ragdb[embed]'",
        "uvx ragdb search refunds",
        "the extra `ragdb[remote]`",
    ],
)
def test_advice_to_install_the_other_project_is_recognised(line: str) -> None:
    assert OTHER_PROJECT.search(line)


@pytest.mark.parametrize(
    "line", ["pip install 'ragdb-postgres[embed]'", "pip install . && ragdb init", "`ragdb up`"]
)
def test_other_advice_is_let_through(line: str) -> None:
    assert not OTHER_PROJECT.search(line)


def test_no_text_says_to_install_the_other_project() -> None:
    assert advice() == []


def test_the_distribution_has_its_own_name_and_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "ragdb-postgres"
    assert version("ragdb-postgres") == ragdb.__version__
