"""The files of deploy/ name commands, settings and files that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from ragdb.cli.main import app

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
UNITS = sorted(DEPLOY.glob("*.service"))


def units() -> list[list[str]]:
    found = [
        shlex.split(line.partition("=")[2])
        for unit in UNITS
        for line in unit.read_text(encoding="utf-8").splitlines()
        if line.startswith("ExecStart=")
    ]
    assert len(found) == len(UNITS) > 0
    return [words[1:] for words in found]


def containers() -> list[list[str]]:
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    (default,) = re.findall(r"^CMD \[(.*)\]$", image, re.MULTILINE)
    return [
        [word.strip(' "') for word in default.split(",")],
        *(s["command"] for s in COMPOSE["services"].values() if "command" in s),
    ]


@pytest.mark.parametrize("words", [*units(), *containers()], ids=" ".join)
def test_the_command_line_takes_what_they_run(words: list[str]) -> None:
    group: Any = typer.main.get_command(app)
    verb, *rest = words
    context = group.commands[verb].make_context(verb, rest, parent=typer.Context(group))
    assert context.command.name == verb


def test_no_password_has_a_default() -> None:
    named = re.findall(r"\$\{(\w+)(:\?)?", str(COMPOSE))
    assert len(named) > 5
    assert all(required for _, required in named)
    for service in COMPOSE["services"].values():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")


def test_the_image_has_what_the_package_is_built_from() -> None:
    """The list of what is copied into the build leaves nothing out."""
    root = DEPLOY.parent
    listed = set((root / ".dockerignore").read_text(encoding="utf-8").splitlines())
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    folders = re.findall(r'^"ragdb[.\w]*" = "(\w+)"$', text, re.MULTILINE)
    assert len(folders) > 5
    for name in (*folders, "pyproject.toml", "README.md", "LICENSE", "deploy/logins.sql"):
        assert f"!{name}" in listed, name
