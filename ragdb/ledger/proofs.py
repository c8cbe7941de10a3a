"""Files that stand alone: proofs (C2SP tlog-proof), entries, and requests to witnesses."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ragdb.ledger import LedgerError, tree
from ragdb.ledger.notes import Checkpoint, unbase64

HEADER = "c2sp.org/tlog-proof@v1"
_FORMAT = b"ragdb.ledger/1"
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Entry:
    """What an entry of the ledger says."""

    kind: str
    id: str
    hash: bytes
    sealed_at: datetime

    @classmethod
    def parse(cls, entry: bytes) -> Entry:
        fields, at = [], 0
        while at < len(entry):
            end = at + 4 + int.from_bytes(entry[at : at + 4], "big")
            fields.append(entry[at + 4 : end])
            at = end
        if at != len(entry) or len(fields) != 5 or fields[0] != _FORMAT or len(fields[4]) != 8:
            raise LedgerError("this is not an entry of a ledger of ragdb")
        try:
            kind, id = fields[1].decode(), fields[2].decode()
            passed = timedelta(microseconds=int.from_bytes(fields[4], "big", signed=True))
            return cls(kind, id, fields[3], _EPOCH + passed)
        except (UnicodeDecodeError, OverflowError):
            raise LedgerError("an entry is not text and a time") from None


@dataclass(frozen=True)
class Proof:
    """That a ledger has an entry, with all that it takes to see it."""

    entry: bytes
    number: int
    path: tuple[bytes, ...]
    checkpoint: Checkpoint

    def __str__(self) -> str:
        return (
            f"{HEADER}\nextra {_line(self.entry)}\nindex {self.number}\n"
            + "".join(f"{_line(h)}\n" for h in self.path)
            + f"\n{self.checkpoint}"
        )

    @property
    def is_sound(self) -> bool:
        """Whether the checkpoint's root has the entry; its signatures are not looked at."""
        top = self.checkpoint
        leaf = tree.leaf_hash(self.entry)
        return tree.is_included(leaf, self.number, top.size, self.path, top.root)

    @classmethod
    def parse(cls, text: str) -> Proof:
        head, found, note = text.partition("\n\n")
        lines = head.split("\n")
        if not found or lines[0] != HEADER or len(lines) < 3:
            raise LedgerError("this is not a proof")
        if not lines[1].startswith("extra "):
            raise LedgerError("this proof lacks its entry")
        if not re.fullmatch(r"index (0|[1-9]\d{0,18})", lines[2]):
            raise LedgerError("this proof lacks the number of its entry")
        return cls(
            unbase64(lines[1].removeprefix("extra "), "the entry"),
            int(lines[2].removeprefix("index ")),
            tuple(unbase64(line, "a hash") for line in lines[3:]),
            Checkpoint.parse(note),
        )


@dataclass(frozen=True)
class Request:
    """What a witness is asked to cosign: a checkpoint, and that it follows an older one."""

    old_size: int
    proof: tuple[bytes, ...]
    checkpoint: Checkpoint

    def __str__(self) -> str:
        hashes = "".join(f"{_line(h)}\n" for h in self.proof)
        return f"old {self.old_size}\n{hashes}\n{self.checkpoint}"

    def follows(self, old: Checkpoint) -> bool:
        """Whether its checkpoint has all entries of an old one of that size."""
        new = self.checkpoint
        return old.size == self.old_size and tree.is_consistent(
            old.size, old.root, new.size, new.root, self.proof
        )

    @classmethod
    def parse(cls, text: str) -> Request:
        head, found, note = text.partition("\n\n")
        lines = head.split("\n")
        if not found or not re.fullmatch(r"old (0|[1-9]\d{0,18})", lines[0]) or len(lines) > 64:
            raise LedgerError("this is not a request to a witness")
        proof = tuple(unbase64(line, "a hash") for line in lines[1:])
        return cls(int(lines[0].removeprefix("old ")), proof, Checkpoint.parse(note))


def _line(hashed: bytes | Sequence[int]) -> str:
    return base64.b64encode(bytes(hashed)).decode()
