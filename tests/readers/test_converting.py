"""Programs and packages of others read what ragdb does not, within limits."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from ragdb.readers import converting, plugs
from ragdb.readers.document import ReadError
from ragdb.readers.read import read
from tests.waiting import until

PYTHON = shlex.quote(sys.executable)


def command(code: str, rest: str = "{in} {out.md}") -> str:
    return f"{PYTHON} -c {shlex.quote(code)} {rest}"


COPY = "import sys; open(sys.argv[2], 'w').write('# ' + open(sys.argv[1]).read().upper())"


def test_a_command_makes_a_file_of_another_type() -> None:
    assert converting.convert(command(COPY), b"hello", "a.dwg") == (b"# HELLO", "converted.md")


def test_without_an_output_what_it_prints_is_the_text() -> None:
    made = converting.convert(command("print(open(__import__('sys').argv[1]).read())", "{in}"),
                              b"hello", "a.dwg")  # fmt: skip
    assert made == (b"hello\n", "converted.txt")


@pytest.mark.parametrize(
    ("out", "name"),
    [("{out}", "converted"), ("{out.bar}", "converted"), ("{out.rst}", "converted.rst")],
)
def test_only_an_ending_that_is_read_names_the_type_of_what_was_made(out: str, name: str) -> None:
    assert converting.convert(command(COPY, f"{{in}} {out}"), b"hello", "a.dwg")[1] == name


def test_a_command_sees_no_secret_and_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", "postgresql://u:secret@h/d")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    code = "import os; print(sorted(os.environ), os.getcwd() == os.environ['HOME'])"
    made, _ = converting.convert(command(code, "{in}"), b"x", "a.dwg")
    assert b"RAGDB" not in made
    assert b"'PATH'" in made
    assert b"'LD_LIBRARY_PATH'" in made
    assert b"True" in made


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        ("import sys; sys.exit('no such page')", "not_converted", "failed (1): no such page"),
        ("import sys; sys.exit(3)", "not_converted", "failed (3), and did not say why"),
        ("pass", "not_converted", "made nothing"),
        ("x = bytearray(10 * 2**30)", "not_converted", "MemoryError"),
        ("import os; os.symlink('/etc/passwd', 'out.md')", "limits", "bytes"),
    ],
)
def test_a_command_that_fails_says_why(code: str, error: str, said: str) -> None:
    with pytest.raises(ReadError) as raised:
        converting.convert(command(code), b"x", "a.dwg")
    assert raised.value.code == error
    assert said in raised.value.reason
    assert raised.value.hint


def test_a_full_folder_of_temporary_files_is_not_called_a_bad_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "write_bytes", Mock(side_effect=OSError(28, "No space left")))
    with pytest.raises(ReadError, match="cannot be written to: No space left") as failed:
        converting.convert("cat {in}", b"text", "x.txt")
    assert "TMPDIR" in str(failed.value.hint)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ReadError, match="no-such-program is not installed"):
        converting.convert("no-such-program {in}", b"x", "a.dwg")


def test_a_command_that_runs_on_is_ended_with_what_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"

    class Begun(subprocess.Popen[bytes]):
        """A process whose time begins once it has started another."""

        def wait(self, timeout: float | None = None) -> int:
            until(lambda: pid.exists() and pid.read_text())
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Begun)
    monkeypatch.setattr(converting, "_SECONDS", 1)
    code = (
        "import subprocess, sys, time; p = subprocess.Popen(['sleep', '600']);"
        f"open({str(pid)!r}, 'w').write(str(p.pid)); time.sleep(600)"
    )
    with pytest.raises(ReadError) as raised:
        converting.convert(command(code), b"x", "a.dwg")
    assert raised.value.code == "limits"
    started = int(pid.read_text())

    def is_gone() -> bool:
        try:
            return psutil.Process(started).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    until(is_gone, 30)


@pytest.mark.parametrize("rule", ["pdf=x {in}", ".pdf", ".pdf=x", ".pdf=x '{in}", "=x {in}", ""])
def test_a_rule_that_says_no_command_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="--convert"):
        converting.rules([rule])


READER = """
import os
from ragdb.readers.document import Content

def read(data):
    if data == b"environment":
        return str(sorted(os.environ))
    if data == b"open":
        return open("/etc/passwd").read()
    if data == b"memory":
        return len(bytearray(10 * 2**30))
    if data == b"print":
        print("not an answer")
    return Content(text=data.decode().upper(), title="A drawing", pages=((0, 1),))
"""


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that reads .dwg, and would like to read .md."""
    (tmp_path / "drawings.py").write_text(READER)
    about = tmp_path / "drawings-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: drawings\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[ragdb.readers]\n.dwg = drawings:read\n.md = drawings:read\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    plugs.endings.cache_clear()
    yield
    plugs.endings.cache_clear()


@pytest.mark.usefixtures("plugged")
def test_a_package_may_read_an_ending_of_its_own() -> None:
    [document] = read(b"a line", "plan.DWG")
    assert (document.text, document.title, document.pages) == ("A LINE", "A drawing", ((0, 1),))
    assert read(b"print", "plan.dwg")[0].text == "PRINT"
    # what ragdb reads itself stays as it is
    assert read(b"a line", "a.md")[0].text == "a line"


@pytest.mark.usefixtures("plugged")
def test_a_reader_of_a_package_runs_within_the_limits_of_our_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAGDB_DATABASE_URL", "postgresql://u:secret@h/d")
    assert "RAGDB" not in read(b"environment", "plan.dwg")[0].text
    with pytest.raises(ReadError, match="OSError"):
        read(b"open", "plan.dwg")
    with pytest.raises(ReadError) as raised:
        read(b"memory", "plan.dwg")
    assert raised.value.code == "limits"
    assert os.path.exists("/etc/passwd")
