"""Keys, notes, proofs and tiles in the formats of C2SP, and what is refused."""

from __future__ import annotations

import hashlib
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdb.ledger import LedgerError, keys, notes, offline, proofs, tiles, tree
from tests import merkle_twin as twin

# the example of Go's package note, which others verify too
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SAYS = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
SIGNED = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6"
    "KE6RyyBwJnAM=\n"
)


def test_a_note_that_go_signed_is_verified() -> None:
    verifier = notes.Verifier.parse(PETER)
    assert str(verifier) == PETER
    (signature,) = notes.parse_signatures(SIGNED)
    assert str(signature) == SIGNED
    assert (signature.name, signature.key_id) == (verifier.name, verifier.key_id)
    assert verifier.accepts(SAYS, signature.signature)
    assert not verifier.accepts(SAYS + "\n", signature.signature)


def test_a_file_of_keys_may_have_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{PETER}\n \n\n")
    trusted = offline.keys([str(tmp_path / "keys")], [], None)
    assert [str(key) for key in trusted.logs] == [PETER]


def test_a_private_key_of_go_signs_as_go_does() -> None:
    skey = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
    signer = keys.from_text(skey)
    assert str(signer.verifier("PeterNeumann")) == PETER
    assert signer.sign(SAYS.encode()) == notes.parse_signatures(SIGNED)[0].signature


@pytest.fixture
def signer(tmp_path: Path) -> keys.Signer:
    file = tmp_path / "key.pem"
    made = keys.make(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert keys.from_text(file.read_text()).public == made.public
    with pytest.raises(LedgerError, match="is there already"):
        keys.make(file)
    return made


TEXT = "example.com/log\n3\n" + "A" * 43 + "=\n"


@pytest.mark.parametrize("command", ["", " ", "/no/such/program", "'"])
def test_a_command_that_is_none_does_not_start(command: str) -> None:
    with pytest.raises(LedgerError, match="the command that signs did not start"):
        keys.from_command(command, bytes(32)).sign(b"x")


def test_a_checkpoint_is_signed_cosigned_and_read_back(signer: keys.Signer) -> None:
    made = signer.checkpoint(TEXT)
    made = made.with_signatures([signer.cosignature("w.example", TEXT, 1700000000)])
    read = notes.Checkpoint.parse(str(made))
    assert read == made
    assert (read.origin, read.size, read.root) == ("example.com/log", 3, bytes(32))
    log, seen = signer.verifier("example.com/log"), signer.verifier("w.example", notes.WITNESS)
    assert read.signers([log, seen]) == [log, seen]
    assert read.signers([signer.verifier("w.example")]) == []  # another kind of signature
    time = read.signatures[1].signature[:8]
    assert int.from_bytes(time, "big") == 1700000000
    # what it signs is of the specification
    assert notes.cosigned(TEXT, 5) == b"cosignature/v1\ntime 5\n" + TEXT.encode()


def test_any_change_of_a_signed_checkpoint_is_seen(signer: keys.Signer) -> None:
    log = signer.verifier("example.com/log")
    note = str(signer.checkpoint(TEXT))
    for old, new in (("\n3\n", "\n4\n"), ("AAAA=", "AAAB="), ("AAAA=\n\n", "AAAA=\nmore\n\n")):
        changed = note.replace(old, new, 1)
        with pytest.raises(LedgerError):
            notes.Checkpoint.parse(changed).signers([log])


@pytest.mark.parametrize(
    "note",
    [
        "",
        "x",
        TEXT,
        TEXT + "\n",
        TEXT + "\n— a b",
        TEXT + "\n— a AAAA\n",
        TEXT + "\n- a AAAAAAAA\n",
        TEXT + "\n— a+b AAAAAAAA\n",
        TEXT.replace("3", "03") + "\n— a AAAAAAAA\n",
        TEXT.replace("3", "-3") + "\n— a AAAAAAAA\n",
        TEXT.replace("AAAA=", "AA=") + "\n— a AAAAAAAA\n",
        TEXT.replace("/log", "/l\tog") + "\n— a AAAAAAAA\n",
        TEXT.replace("example.com/log", "") + "\n— a AAAAAAAA\n",
    ],
)
def test_what_is_not_a_checkpoint_is_refused(note: str) -> None:
    with pytest.raises(LedgerError):
        notes.Checkpoint.parse(note)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "name",
        PETER.replace("c74f20a3", "c74f20a4"),
        PETER[:-4],
        PETER.replace("PeterNeumann", "Peter"),
        "a+b+c",
        "PRIVATE+KEY+a+b+AAAA",
    ],
)
def test_what_is_not_a_key_is_refused(key: str) -> None:
    with pytest.raises(LedgerError):
        notes.Verifier.parse(key)
    with pytest.raises(LedgerError):
        keys.from_text(key)


def test_a_file_of_something_else_is_not_a_key(tmp_path: Path) -> None:
    file = tmp_path / "corpus.gz"
    file.write_bytes(b"\x1f\x8b\x08\xff")
    with pytest.raises(LedgerError, match="not a private key"):
        keys.signer(file, None, None)
    with pytest.raises(LedgerError):
        keys.public_key(keys.text_of(str(file)))


def test_a_command_signs_and_a_wrong_one_is_noticed(
    signer: keys.Signer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "sign.py"
    script.write_text(
        "import sys\nfrom ragdb.ledger import keys\n"
        f"signer = keys.from_text(open({str(tmp_path / 'key.pem')!r}).read())\n"
        "sys.stdout.buffer.write(signer.sign(sys.stdin.buffer.read()))\n"
    )
    command = shlex.join([sys.executable, str(script)])
    public = str(signer.verifier("example.com/log"))
    asked = keys.signer(None, command, public)
    assert asked.checkpoint(TEXT) == signer.checkpoint(TEXT)
    for wrong in ("true", "false", "/no/such/command", "printf short"):
        with pytest.raises(LedgerError):
            keys.signer(None, wrong, public).checkpoint(TEXT)
    other = keys.make(tmp_path / "other.pem")
    with pytest.raises(LedgerError, match="does not have the public key"):
        keys.signer(None, command, str(other.verifier("x"))).checkpoint(TEXT)
    with pytest.raises(LedgerError, match="has a public key"):
        keys.signer(None, command, None)
    monkeypatch.setenv(keys.VARIABLE, (tmp_path / "key.pem").read_text())
    assert keys.signer(None, None, None).public == signer.public
    monkeypatch.delenv(keys.VARIABLE)
    with pytest.raises(LedgerError, match="no key signs"):
        keys.signer(None, None, None)


leaves = st.lists(st.binary(max_size=3), max_size=70).map(lambda es: [twin.leaf(e) for e in es])


@given(leaves, st.data())
def test_the_tree_of_the_package_is_the_twin_s(hashes: list[bytes], data: st.DataObject) -> None:
    top = twin.root(hashes)
    assert tree.root(hashes) == top
    old = data.draw(st.integers(0, len(hashes)))
    proof, before = twin.proof(old, hashes), twin.root(hashes[:old])
    assert tree.is_consistent(old, before, len(hashes), top, proof)
    assert not tree.is_consistent(old, before, len(hashes), top, [*proof, top])
    assert not tree.is_consistent(old, b"x" * 32, len(hashes), top, proof)
    if hashes:
        number = data.draw(st.integers(0, len(hashes) - 1))
        path = twin.path(number, hashes)
        assert tree.is_included(hashes[number], number, len(hashes), path, top)
        assert not tree.is_included(twin.leaf(b"else"), number, len(hashes), path, top)
        assert not tree.is_included(hashes[number], number, len(hashes), [*path, top], top)


def test_a_proof_of_anything_else_does_not_hold() -> None:
    hashes = [twin.leaf(str(n).encode()) for n in range(300)]
    top, before = twin.root(hashes), twin.root(hashes[:99])
    path, proof = twin.path(77, hashes), twin.proof(99, hashes)
    assert tree.is_included(hashes[77], 77, 300, path, top)
    assert tree.is_consistent(99, before, 300, top, proof)
    for leaf, number, size, by, root in (
        (hashes[78], 77, 300, path, top),
        (hashes[77], 76, 300, path, top),
        (hashes[77], 77, 77, path, top),
        (hashes[77], -1, 300, path, top),
        (hashes[77], 77, -(2**63), path, top),
        (hashes[77], 77, 300, path[:-1], top),
        (hashes[77], 77, 300, [*path[:-1], b"short"], top),
        (hashes[77], 77, 300, path[::-1], top),
        (hashes[77], 77, 300, path, before),
    ):
        assert not tree.is_included(leaf, number, size, by, root), (number, size)
    for old, was, size, root, by in (
        (98, before, 300, top, proof),
        (99, top, 300, top, proof),
        (99, before, 301, top, proof[:-1]),
        (99, before, 300, before, proof),
        (99, before, 300, top, proof[:-1]),
        (99, before, 300, top, []),
        (99, before, 300, top, [*proof[:-1], b"short"]),
        (300, top, 300, top, proof),
        (300, before, 300, top, []),
        (0, before, 300, top, []),
        (-1, before, 300, top, proof),
        (300, top, 99, before, []),
    ):
        assert not tree.is_consistent(old, was, size, root, by), (old, size)


def test_paths_of_tiles_are_those_of_the_specification() -> None:
    assert tiles.tile_path(0, 1234067) == "tile/0/x001/x234/067"
    assert tiles.tile_path("entries", 0, 5) == "tile/entries/000.p/5"
    found = list(tiles.tiles_of(70_000))
    assert len(found) == 274 + 2 + 1
    assert {t for t in found if t[2] != 256} == {(0, 273, 112), (1, 1, 17), (2, 0, 1)}
    assert list(tiles.tiles_of(256)) == [(0, 0, 256), (1, 0, 1)]


def test_an_entry_says_what_it_says_and_nothing_else() -> None:
    from datetime import UTC, datetime

    at = datetime(2026, 11, 22, 21, 0, 0, 123456, tzinfo=UTC)
    made = twin.entry("trace", "1/ü", hashlib.sha256(b"").digest(), at)
    read = proofs.Entry.parse(made)
    assert (read.kind, read.id, read.hash, read.sealed_at) == (
        "trace",
        "1/ü",
        hashlib.sha256(b"").digest(),
        at,
    )
    for wrong in (made[:-1], made + b"\0", b"", b"\0" * 40, made.replace(b"ledger/1", b"ledger/2")):
        with pytest.raises(LedgerError):
            proofs.Entry.parse(wrong)


@given(st.text(max_size=200) | st.binary(max_size=200).map(lambda b: b.decode("latin1")))
def test_anything_else_is_refused_and_raises_nothing_else(text: str) -> None:
    for parse in (
        notes.Checkpoint.parse,
        notes.Verifier.parse,
        proofs.Proof.parse,
        proofs.Request.parse,
        keys.from_text,
        notes.parse_signatures,
    ):
        for given_text in (text, f"{proofs.HEADER}\n{text}", f"old {text}", f"{TEXT}\n{text}\n"):
            with pytest.raises(LedgerError):
                parse(given_text)
