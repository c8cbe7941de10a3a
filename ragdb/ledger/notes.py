"""Signed notes and checkpoints (C2SP signed-note, tlog-checkpoint, tlog-cosignature)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ragdb.ledger import LedgerError
from ragdb.ledger.crypto import verify

LOG, WITNESS = 1, 4
"""Types of signatures: Ed25519 over the note, and over the note with a time."""

MOST_CHARACTERS = 1_000_000
_LINE = re.compile(r"— ([^ \n+]+) ([A-Za-z0-9+/]+={0,2})")


def key_id(name: str, kind: int, public: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public).digest()[:4]


def unbase64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise LedgerError(f"{what} is not base64") from None


def checked_name(name: str) -> str:
    if not name or re.search(r"[\s+]|[^\x21-\x7e]", name):
        raise LedgerError(
            f"{name[:80]!r} is not the name of a key",
            hint="give ASCII without spaces or +, such as witness.example.com/w1",
            exit_code=2,
        )
    return name


@dataclass(frozen=True)
class Verifier:
    """A public key with its name; `str` is the verifier key of C2SP."""

    name: str
    kind: int
    public: bytes

    @property
    def key_id(self) -> bytes:
        return key_id(self.name, self.kind, self.public)

    def __str__(self) -> str:
        material = base64.b64encode(bytes([self.kind]) + self.public).decode()
        return f"{self.name}+{self.key_id.hex()}+{material}"

    @classmethod
    def parse(cls, text: str) -> Verifier:
        parts = text.strip().split("+", 2)
        if len(parts) == 3:
            material = unbase64(parts[2], "the public key")
            found = cls(parts[0], material[0] if material else 0, material[1:])
            if (
                found.kind in (LOG, WITNESS)
                and len(found.public) == 32
                and found.key_id.hex() == parts[1]
            ):
                return found
        raise LedgerError(
            f"{text.strip()[:80]!r} is not a verifier key of Ed25519",
            hint="it has the form name+id+key; `ragdb ledger key` prints one",
            exit_code=2,
        )

    def accepts(self, text: str, signature: bytes) -> bool:
        """Whether it signed a note's text."""
        if self.kind == LOG:
            return verify(self.public, text.encode(), signature)
        time = int.from_bytes(signature[:8], "big")
        return (
            len(signature) == 72
            and time < 1 << 63
            and verify(self.public, cosigned(text, time), signature[8:])
        )


def cosigned(text: str, time: int) -> bytes:
    """What a witness signs: the time, in seconds since 1970, and the note's text."""
    return f"cosignature/v1\ntime {time}\n{text}".encode()


@dataclass(frozen=True)
class Signature:
    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"— {self.name} {base64.b64encode(self.key_id + self.signature).decode()}\n"


def parse_signatures(text: str) -> tuple[Signature, ...]:
    """Signature lines, each ended by a newline. Raises LedgerError."""
    found = []
    for line in text.removesuffix("\n").split("\n"):
        match = _LINE.fullmatch(line)
        made = unbase64(match[2], "a signature") if match else b""
        if match is None or len(made) < 5:
            raise LedgerError(f"{line[:80]!r} is not a line of a signature")
        found.append(Signature(match[1], made[:4], made[4:]))
    return tuple(found)


@dataclass(frozen=True)
class Checkpoint:
    """A signed note that says how many entries a ledger has, and their root."""

    text: str
    signatures: tuple[Signature, ...]
    origin: str
    size: int
    root: bytes

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.signatures))

    @classmethod
    def parse(cls, note: str) -> Checkpoint:
        """Read a checkpoint; its signatures are not verified. Raises LedgerError."""
        text, found, signed = note.rpartition("\n\n")
        if len(note) > MOST_CHARACTERS or not found or not signed.endswith("\n"):
            raise LedgerError("this is not a signed note")
        if re.search(r"[\x00-\x09\x0b-\x1f]", note):
            raise LedgerError("a signed note has no control characters")
        return cls.of(text + "\n", parse_signatures(signed))

    @classmethod
    def of(cls, text: str, signatures: tuple[Signature, ...] = ()) -> Checkpoint:
        lines = text.split("\n")
        if len(lines) < 4 or not all(lines[:-1]) or not re.fullmatch(r"0|[1-9]\d{0,18}", lines[1]):
            raise LedgerError("this is not a checkpoint")
        top = unbase64(lines[2], "the root of a checkpoint")
        if len(top) != 32:
            raise LedgerError("the root of a checkpoint is not 32 bytes")
        return cls(text, signatures, lines[0], int(lines[1]), top)

    def with_signatures(self, more: Iterable[Signature]) -> Checkpoint:
        known = dict.fromkeys((*self.signatures, *more))
        return Checkpoint(self.text, tuple(known), self.origin, self.size, self.root)

    def signers(self, verifiers: Iterable[Verifier]) -> list[Verifier]:
        """The keys, of those given, that signed it. Raises LedgerError for a false signature."""
        signed = []
        for verifier in verifiers:
            for made in self.signatures:
                if (made.name, made.key_id) != (verifier.name, verifier.key_id):
                    continue
                if not verifier.accepts(self.text, made.signature):
                    raise LedgerError(f"the signature of {verifier.name} is false")
                signed.append(verifier)
                break
        return signed
