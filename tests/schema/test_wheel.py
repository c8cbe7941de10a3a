"""The built package carries migrations/, sql/ and extension/, and installs the same schema."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pytest

from ragdb import extension
from ragdb.server import scripts
from tests.conftest import Server

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PARTS = {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]} | {
    folder.split("/")[0] for folder in PROJECT["tool"]["setuptools"]["package-dir"].values()
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the installed wheel."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    # built elsewhere: a build leaves folders behind that the next one picks up
    for part in PARTS - {"extension"}:
        (source / part).symlink_to(ROOT / part)
    leave = shutil.ignore_patterns(extension.path().name)
    shutil.copytree(ROOT / "extension", source / "extension", ignore=leave)
    # what pip calls, which takes twice as long in all
    built = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", built, site], cwd=source, stdout=subprocess.DEVNULL, check=True
    )
    (wheel,) = site.glob("*.whl")
    ZipFile(wheel).extractall(site)
    wheel.unlink()
    return site


def run(site: Path, code: str, *args: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        check=True,
        cwd=site,
        env=os.environ | {"PYTHONPATH": str(site)},
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def test_the_wheel_holds_what_the_source_tree_holds(site: Path) -> None:
    out = run(
        site,
        "from ragdb import extension; from ragdb.server import scripts; print(scripts.__file__, scripts.stamp(), extension.path())",
    )
    script = site / "ragdb/extension" / extension.path().name
    assert out == f"{site / 'ragdb/server/scripts.py'} {scripts.stamp()} {script}\n"
    # made by the build: the source tree may have none
    assert script.read_text() == extension.script()
    assert script.with_name("ragdb.control").is_file()


def test_the_wheel_holds_every_module(site: Path) -> None:
    kept = {path.relative_to(site) for path in (site / "ragdb").rglob("*.py")}
    assert {path.relative_to(ROOT) for path in (ROOT / "ragdb").rglob("*.py")} <= kept


# what it holds to migrate with is compared above
@pytest.mark.nightly
def test_the_wheel_migrates(site: Path, server18: Server) -> None:
    with server18.database(template=None) as empty:
        dsn = server18.dsn(empty.dbname)
        run(site, "import sys; from ragdb.server.migrate import migrate; migrate(sys.argv[1])", dsn)
        with psycopg.connect(dsn) as connection:
            assert scripts.is_current(connection)
