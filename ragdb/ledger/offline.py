"""Verifying files of a ledger without a database and without trust in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ragdb.client.counting import counted
from ragdb.ledger import LedgerError, tiles
from ragdb.ledger.notes import WITNESS, Checkpoint, Verifier
from ragdb.ledger.proofs import HEADER, Entry, Proof, Request


@dataclass(frozen=True)
class Finding:
    """What was found of a file: `ok` is false where it proves nothing, or proves a fault."""

    file: str
    ok: bool
    finding: str
    detail: str


def checkpoint_of(file: Path) -> Checkpoint:
    """The checkpoint that a file has or is. Raises LedgerError."""
    if file.is_dir():
        return tiles.checkpoint(file)
    text = file.read_text("utf-8")
    if text.startswith(HEADER):
        return Proof.parse(text).checkpoint
    return Request.parse(text).checkpoint if text.startswith("old ") else Checkpoint.parse(text)


@dataclass(frozen=True)
class Keys:
    """Whom the reader trusts: the keys of ledgers, those of witnesses, and how many must sign."""

    logs: Sequence[Verifier]
    witnesses: Sequence[Verifier] = ()
    quorum: int = 0

    def judge(self, file: str, checkpoint: Checkpoint) -> Iterator[Finding]:
        """Who signed a checkpoint, and whether that is enough."""
        own = [key for key in self.logs if key.name == checkpoint.origin]
        about = f"{checkpoint.origin}, {counted(checkpoint.size, 'entry')}"
        if not own:
            yield Finding(file, False, "unknown_key", f"no key of {checkpoint.origin} is given")
            return
        try:
            signed = checkpoint.signers(own)
            seen = checkpoint.signers(self.witnesses)
        except LedgerError as error:
            yield Finding(file, False, "false_signature", str(error))
            return
        if not signed:
            yield Finding(file, False, "unsigned", f"{about}: the key of the ledger did not sign")
        elif (count := _witnesses(seen, own)) < self.quorum:
            yield Finding(file, False, "too_few_witnesses", f"{about}: {count} of {self.quorum}")
        else:
            names = "".join(f", witness {key.name}" for key in seen)
            yield Finding(file, True, "signed", f"{about}; signed by {signed[0].name}{names}")


def _witnesses(seen: Sequence[Verifier], logs: Sequence[Verifier]) -> int:
    """How many: one key is one witness, whatever its names, and the ledger is not its own."""
    return len({key.public for key in seen} - {key.public for key in logs})


def keys(logs: Sequence[str], witnesses: Sequence[str], quorum: int | None) -> Keys:
    """Keys as they are given: verifier keys, or files of them; by default every witness signs."""
    from ragdb.ledger.keys import text_of

    def parsed(given: Sequence[str]) -> list[Verifier]:
        lines = [line for one in given for line in text_of(one).splitlines()]
        return [Verifier.parse(line) for line in lines if line.strip()]

    seen = parsed(witnesses)
    if any(key.kind != WITNESS for key in seen):
        raise LedgerError("this is the key of a ledger, not of a witness", exit_code=2)
    return Keys(parsed(logs), seen, len({key.public for key in seen}) if quorum is None else quorum)


class Verification:
    """Files that are verified one by one, and then against each other."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self._checkpoints: list[tuple[str, Checkpoint]] = []
        self._requests: list[tuple[str, Request]] = []
        self._folders: list[Path] = []

    def file(self, path: Path) -> Iterator[Finding]:
        """What one file or folder proves."""
        name = str(path)
        try:
            if path.is_dir():
                yield from self._folder(path)
                return
            text = path.read_bytes().decode()
            if text.startswith(HEADER):
                yield from self._proof(name, Proof.parse(text))
            elif text.startswith("old "):
                request = Request.parse(text)
                self._requests.append((name, request))
                yield from self._checkpoint(name, request.checkpoint)
            else:
                yield from self._checkpoint(name, Checkpoint.parse(text))
        except (LedgerError, UnicodeDecodeError) as error:
            yield Finding(name, False, "unreadable", str(error))

    def _checkpoint(self, name: str, checkpoint: Checkpoint) -> Iterator[Finding]:
        self._checkpoints.append((name, checkpoint))
        yield from self.keys.judge(name, checkpoint)

    def _proof(self, name: str, proof: Proof) -> Iterator[Finding]:
        yield from self._checkpoint(name, proof.checkpoint)
        entry = Entry.parse(proof.entry)
        about = f"{entry.kind} {entry.id}, hash {entry.hash.hex()}"
        if proof.is_sound:
            sealed = f"number {proof.number}, sealed {entry.sealed_at.isoformat()}"
            yield Finding(name, True, "included", f"{about}; {sealed}")
        else:
            yield Finding(name, False, "not_included", f"{about}: the path does not lead to it")

    def _folder(self, path: Path) -> Iterator[Finding]:
        whole = tiles.checkpoint(path)
        yield from self._checkpoint(str(path), whole)
        self._folders.append(path)
        root = tiles.roots(path, {whole.size})[whole.size]
        detail = counted(whole.size, "entry", "lead")
        if root == whole.root:
            yield Finding(str(path), True, "complete", f"{detail} to the checkpoint's root")
        else:
            yield Finding(str(path), False, "root_differs", f"{detail} to another root")

    def together(self) -> Iterator[Finding]:
        """Whether the checkpoints of each ledger are one history."""
        origins = dict.fromkeys(c.origin for _, c in self._checkpoints)
        for origin in origins:
            of_origin = sorted(
                ((n, c) for n, c in self._checkpoints if c.origin == origin),
                key=lambda found: found[1].size,
            )
            for (_, old), (name, new) in pairwise(of_origin):
                yield from self._pair(name, old, new)

    def _pair(self, name: str, old: Checkpoint, new: Checkpoint) -> Iterator[Finding]:
        about = f"{old.size} and {counted(new.size, 'entry')}"
        if old.size == new.size:
            if old.root != new.root:
                yield Finding(name, False, "two_histories", f"{about} with different roots")
            return
        verdicts = [
            request.follows(old)
            for _, request in self._requests
            if request.old_size == old.size and request.checkpoint.text == new.text
        ]
        for folder in self._folders:
            whole = tiles.checkpoint(folder)
            if whole.origin == new.origin and whole.size >= new.size:
                found = tiles.roots(folder, {old.size, new.size})
                verdicts.append(found == {old.size: old.root, new.size: new.root})
        if not verdicts:
            yield Finding(
                name,
                False,
                "not_compared",
                f"{about}: give the proof of `ragdb ledger request {old.size}`, or the folder of "
                "`ragdb ledger export`",
            )
        elif all(verdicts):
            yield Finding(name, True, "same_history", about)
        else:
            yield Finding(name, False, "two_histories", f"{about}: the old one is not in the new")


def verify(files: Sequence[Path], keys: Keys) -> Iterator[Finding]:
    """What files prove, each by itself and all together."""
    verification = Verification(keys)
    for file in files:
        yield from verification.file(file)
    yield from verification.together()
