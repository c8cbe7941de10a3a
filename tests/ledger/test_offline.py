"""Files of a ledger are verified without a database, and any change of them is seen."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from ragdb.cli.main import app
from ragdb.ledger.notes import Checkpoint
from tests import merkle_twin as twin
from tests.conftest import Server

Run = Callable[..., tuple[int, str]]
NOWHERE = "host=/nonexistent port=1"
_ASKED = ("ledger", "witness", "--state", "state", "--log-key", "log.key")
WITNESS = (*_ASKED, "--name", "w.example/1", "--key", "w.pem")
VERIFY = ("ledger", "verify", "--log-key", "log.key", "--json")


@pytest.fixture
def ragdb(clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line on a clone whose ledger has 300 entries, with keys and a checkpoint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGDB_DATABASE_URL", clone)

    def call(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        return done.exit_code, done.output

    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.name_ledger('example.com/evidence')")
        more(db, 1, 300)
    for name, arguments in (("log", ()), ("w", ("--witness", "--name", "w.example/1"))):
        code, key = call("ledger", "key", "--new", f"{name}.pem", *arguments)
        assert code == 0
        Path(f"{name}.key").write_text(key)
    assert call("ledger", "checkpoint", "--key", "log.pem", "--out", "kept")[0] == 0
    return call


@pytest.mark.parametrize(
    "arguments",
    [
        ("ledger", "key", "--new", "new.pem", "--name", "example.com/evidence"),
        ("peer", "key", "new.pem", "--new"),
        ("ledger", "checkpoint", "--sign-command", "true", "--public-key", "key.pem"),
    ],
)
def test_without_the_package_that_signs_a_command_says_what_to_install(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "key.pem").write_text("-----BEGIN PUBLIC KEY-----\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    done = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert done.exit_code == 2, done.output
    assert "hint: pip install 'ragdb-postgres[ledger]'" in done.output


def more(db: psycopg.Connection[object], first: int, last: int) -> None:
    db.execute(
        "insert into ragdb.ledger_pending"
        " select 'x', '1/' || n, sha256(int4send(n)) from generate_series(%s::int, %s::int) n",
        (first, last),
    )
    db.execute("select ragdb.seal_ledger()")


def grow(dsn: str, first: int, last: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        more(db, first, last)


def found(output: str, ok: bool = False) -> list[str]:
    return [row["finding"] for row in json.loads(output) if row["ok"] is ok]


def test_a_proof_stands_alone(ragdb: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ragdb("ledger", "prove", "x:1/77", "--out", "proof") == (0, "wrote proof\n")
    monkeypatch.setenv("RAGDB_DATABASE_URL", NOWHERE)
    code, output = ragdb(*VERIFY, "proof")
    assert (code, found(output, True)) == (0, ["signed", "included"])
    assert "x 1/77" in output
    text = Path("proof").read_text()
    lines = text.split("\n")
    # every line of it counts
    for place, line in enumerate(lines[:-1]):
        if not line:
            continue
        at = len(line) // 2
        changed = line[:at] + ("A" if line[at] != "A" else "B") + line[at + 1 :]
        Path("bad").write_text("\n".join([*lines[:place], changed, *lines[place + 1 :]]))
        code, output = ragdb(*VERIFY, "bad")
        assert code == 1, line
        assert found(output), line
    assert ragdb("ledger", "verify", "proof", "--json")[0] == 1  # no key, no trust


def test_an_entry_that_is_not_there_has_no_proof(ragdb: Run, clone: str) -> None:
    code, output = ragdb("ledger", "prove", "x:1/999")
    assert code != 0
    assert "RG480" in output
    grow(clone, 301, 301)
    code, output = ragdb("ledger", "prove", "x:1/301")
    assert code == 1
    assert "the last checkpoint has 300 entries, and this is number 300" in output


def test_a_folder_is_the_whole_ledger_and_grows(
    ragdb: Run, clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ragdb("ledger", "export", "log", "--json")[0] == 0
    files = {str(f.relative_to("log")) for f in Path("log").rglob("*") if f.is_file()}
    assert files == {
        "checkpoint",
        "tile/0/000",
        "tile/0/001.p/44",
        "tile/1/000.p/1",
        "tile/entries/000",
        "tile/entries/001.p/44",
    }
    hashes = Path("log/tile/0/000").read_bytes() + Path("log/tile/0/001.p/44").read_bytes()
    leaves = [hashes[n : n + 32] for n in range(0, len(hashes), 32)]
    assert Checkpoint.parse(Path("kept").read_text()).root == twin.root(leaves)
    grow(clone, 301, 600)
    assert ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "later")[0] == 0
    assert ragdb("ledger", "export", "log", "--json")[0] == 0
    monkeypatch.setenv("RAGDB_DATABASE_URL", NOWHERE)
    code, output = ragdb(*VERIFY, "log", "kept", "later")
    assert (code, found(output)) == (0, [])
    assert set(found(output, True)) == {"signed", "complete", "same_history"}
    for name in ("tile/entries/001", "tile/0/001", "tile/entries/002.p/88", "checkpoint"):
        shutil.copytree("log", "bad")
        content = bytearray(Path("bad", name).read_bytes())
        content[40] ^= 1
        Path("bad", name).write_bytes(content)
        code, output = ragdb(*VERIFY, "bad", "kept")
        assert code == 1, name
        Path("bad", name).unlink()
        assert ragdb(*VERIFY, "bad")[0] == (2 if name == "checkpoint" else 1) or name
        shutil.rmtree("bad")


def test_a_folder_of_another_history_stays_as_it_is(
    ragdb: Run, clone: str, server18: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = str(psycopg.conninfo.conninfo_to_dict(clone)["dbname"])
    with server18.database(name) as restored:
        grow(clone, 301, 400)
        assert ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "later")[0] == 0
        assert ragdb("ledger", "export", "log")[0] == 0
        kept = files_of("log")
        old = server18.dsn(restored.dbname)
        monkeypatch.setenv("RAGDB_DATABASE_URL", old)
        code, output = ragdb("ledger", "export", "log")
        assert code == 1
        assert "the ledger has 300 entries, and had 400" in output
        assert "an old backup was restored" in output
        grow(old, 401, 600)
        assert ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "fresh")[0] == 0
        code, output = ragdb("ledger", "export", "log")
        assert code == 1
        assert "the ledger of 500 entries does not begin with the 400 signed before" in output
        assert files_of("log") == kept
        assert ragdb("ledger", "export", "new")[0] == 0
        assert ragdb(*VERIFY, "new")[0] == 0


def files_of(folder: str) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in Path(folder).rglob("*") if file.is_file()}


def test_no_file_of_a_folder_has_its_name_before_it_is_on_disk(
    ragdb: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty tile that has a name would be taken for one that was written."""
    synced: set[int] = set()
    named: list[bool] = []
    sync, name = os.fsync, os.replace

    def keep(file: int) -> None:
        sync(file)
        synced.add(os.fstat(file).st_ino)

    def put(source: Path, target: Path) -> None:
        named.append(source.stat().st_ino in synced)
        name(source, target)

    monkeypatch.setattr(os, "fsync", keep)
    monkeypatch.setattr(os, "replace", put)
    assert ragdb("ledger", "export", "log", "--json")[0] == 0
    assert named == [True] * 6


def test_a_witness_cosigns_what_follows_and_nothing_else(ragdb: Run, clone: str) -> None:
    assert ragdb("ledger", "request", "0", "--out", "first")[0] == 0
    code, line = ragdb(*WITNESS, "first")
    assert code == 0
    assert line.startswith("— w.example/1 ")
    # what it returned is stored, and whoever trusts the witness sees it
    Path("line").write_text(line)
    assert ragdb("ledger", "checkpoint", "--add", "line", "--out", "cosigned")[0] == 0
    witnessed = (*VERIFY, "--witness-key", "w.key")
    assert ragdb(*witnessed, "cosigned")[0] == 0
    code, output = ragdb(*witnessed, "kept")
    assert (code, found(output)) == (1, ["too_few_witnesses"])
    # given twice, or in two files, it is one witness
    twice = (*witnessed, "--witness-key", "w.key")
    assert ragdb(*twice, "cosigned")[0] == 0
    code, output = ragdb(*twice, "--quorum", "2", "cosigned")
    assert (code, found(output)) == (1, ["too_few_witnesses"])
    grow(clone, 301, 420)
    assert ragdb("ledger", "checkpoint", "--key", "log.pem", "--out", "kept2")[0] == 0
    # a request from another size, without a proof, or with one that is false
    assert ragdb("ledger", "request", "0", "--out", "again")[0] == 0
    assert ragdb(*WITNESS, "again")[0] == 1
    assert ragdb("ledger", "request", "300", "--out", "next")[0] == 0
    text = Path("next").read_text()
    lines = text.split("\n")
    Path("bad").write_text("\n".join([lines[0], "A" * 43 + "=", *lines[2:]]))
    code, output = ragdb(*WITNESS, "bad")
    assert code == 1
    assert "does not begin with" in output
    assert Checkpoint.parse(Path("state").read_text()).size == 300
    assert ragdb(*WITNESS, "next")[0] == 0
    assert Checkpoint.parse(Path("state").read_text()).size == 420
    # the proof of a request also compares two checkpoints
    code, output = ragdb(*VERIFY, "cosigned", "next")
    assert (code, found(output)) == (0, [])
    code, output = ragdb(*VERIFY, "cosigned", "kept2")
    assert (code, found(output)) == (1, ["not_compared"])
    # an unknown ledger, an unsigned checkpoint
    code, output = ragdb(*WITNESS[:-6], "--log-key", "w.key", *WITNESS[-4:], "next")
    assert code == 1
    Path("unsigned").write_text(text.split("\n— ")[0] + "\n" + line)
    code, output = ragdb(*WITNESS, "unsigned")
    assert code == 1


def test_doctor_says_how_much_waits(ragdb: Run, clone: str) -> None:
    code, output = ragdb("doctor")
    assert "ok    ledger: 300 entries, 0 rows wait to be sealed" in output
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute(
            "insert into ragdb.ledger_pending"
            " values ('x', '1/' || ragdb_internal.uuid7(now() - interval '2 days'), sha256(''))"
        )
    code, output = ragdb("doctor")
    assert code != 0
    assert "FAIL  ledger: waiting to be sealed: 1, the oldest since " in output
    assert "ragdb ledger seal" in output
    assert json.loads(ragdb("ledger", "seal", "--json")[1])["sealed"] == 1
    assert ragdb("ledger", "status", "--json")[0] == 0
