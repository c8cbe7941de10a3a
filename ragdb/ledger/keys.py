"""Ed25519 keys outside the database: a file, a text such as an environment variable, a command."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragdb import files
from ragdb.ledger import LedgerError
from ragdb.ledger.crypto import library, verify
from ragdb.ledger.notes import (
    LOG,
    WITNESS,
    Checkpoint,
    Signature,
    Verifier,
    checked_name,
    cosigned,
    unbase64,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

VARIABLE = "RAGDB_LEDGER_KEY"
"""Environment variable that holds a private key itself."""

_HINT = "make one with `ragdb ledger key --new FILE` or `openssl genpkey -algorithm ed25519`"


@dataclass(frozen=True)
class Signer:
    """Something that signs, and the public key that it signs for."""

    public: bytes
    sign: Callable[[bytes], bytes]

    def verifier(self, name: str, kind: int = LOG) -> Verifier:
        return Verifier(checked_name(name), kind, self.public)

    def checkpoint(self, text: str) -> Checkpoint:
        """A checkpoint that is signed in the name of its ledger."""
        unsigned = Checkpoint.of(text)
        verifier = self.verifier(unsigned.origin)
        made = Signature(unsigned.origin, verifier.key_id, self._signed(text.encode()))
        return unsigned.with_signatures([made])

    def cosignature(self, name: str, text: str, time: int) -> Signature:
        """A witness's signature of a checkpoint, in seconds since 1970."""
        made = time.to_bytes(8, "big") + self._signed(cosigned(text, time))
        return Signature(name, self.verifier(name, WITNESS).key_id, made)

    def _signed(self, message: bytes) -> bytes:
        signature = self.sign(message)
        if not verify(self.public, message, signature):
            raise LedgerError(
                "what signed does not have the public key that was given",
                hint="a command reads the bytes to sign and writes the 64 bytes of the signature",
            )
        return signature


def from_private(private: Ed25519PrivateKey) -> Signer:
    return Signer(private.public_key().public_bytes_raw(), private.sign)


def from_text(text: str) -> Signer:
    """A private key as PEM, or as Go's notes have it (PRIVATE+KEY+name+id+key)."""
    ed25519 = library()
    if "PRIVATE KEY-----" in text:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            private = load_pem_private_key(text.encode(), None)
        except (ValueError, TypeError):
            private = None
        if isinstance(private, ed25519.Ed25519PrivateKey):
            return from_private(private)
    elif text.startswith("PRIVATE+KEY+") and text.count("+") >= 4:
        seed = unbase64(text.strip().split("+", 4)[4], "the private key")
        if len(seed) == 33 and seed[0] in (LOG, WITNESS):
            return from_private(ed25519.Ed25519PrivateKey.from_private_bytes(seed[1:]))
    raise LedgerError("this is not a private key of Ed25519", hint=_HINT, exit_code=2)


def from_file(file: Path) -> Signer:
    """The private key that a file holds."""
    return from_text(file.read_text(errors="replace"))


def from_command(command: str, public: bytes) -> Signer:
    """A command that reads the bytes to sign and writes the signature, raw or in base64."""

    def sign(message: bytes) -> bytes:
        try:
            words = shlex.split(command) or [command]
            done = subprocess.run(words, input=message, capture_output=True)
        except (OSError, ValueError) as error:
            raise LedgerError(f"the command that signs did not start: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-200:]
            raise LedgerError(f"the command that signs failed ({done.returncode}): {said}")
        if len(done.stdout) == 64:
            return done.stdout
        return unbase64(done.stdout.decode(errors="replace").strip(), "what the command wrote")

    return Signer(public, sign)


def public_key(text: str) -> bytes:
    """The 32 bytes of a public key: a verifier key, or PEM."""
    if "PUBLIC KEY-----" not in text:
        return Verifier.parse(text).public
    ed25519 = library()
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise LedgerError("this is not a public key of Ed25519", exit_code=2)
    found: bytes = key.public_bytes_raw()
    return found


def signer(file: Path | None, command: str | None, public: str | None) -> Signer:
    """What signs: a file, a command with its public key, or RAGDB_LEDGER_KEY."""
    if file is not None and command is not None:
        raise LedgerError("a key file and a command both sign", hint="give one", exit_code=2)
    if command is not None:
        if public is None:
            raise LedgerError(
                "a command that signs has a public key",
                hint="give it with --public-key: a verifier key, or a file of PEM",
                exit_code=2,
            )
        return from_command(command, public_key(text_of(public)))
    if file is not None:
        return from_file(file)
    if VARIABLE in os.environ:
        return from_text(os.environ[VARIABLE])
    raise LedgerError(
        "no key signs",
        hint=f"give --key FILE, --sign-command COMMAND or the variable {VARIABLE}; {_HINT}",
        exit_code=2,
    )


def text_of(given: str) -> str:
    """What an argument says, or the file that it names."""
    path = Path(given)
    return path.read_text(errors="replace") if "+" not in given or path.is_file() else given


def make(file: Path) -> Signer:
    """Write a new private key that only its owner can read."""
    ed25519 = library()
    from cryptography.hazmat.primitives import serialization

    private = ed25519.Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        files.create(file, pem)
    except FileExistsError:
        hint = "leave --new out to print its verifier key, or name another file"
        raise LedgerError(f"{file} is there already", hint=hint, exit_code=2) from None
    return from_private(private)
