"""The ledger of a database: its checkpoints signed, its entries proved, its history compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragdb.client.counting import counted
from ragdb.ledger import LedgerError, offline, tiles, witness
from ragdb.ledger.keys import Signer
from ragdb.ledger.notes import Checkpoint, Verifier, parse_signatures
from ragdb.ledger.proofs import Proof, Request

if TYPE_CHECKING:
    from ragdb.client.client import Client

PAGE = 100_000


def seal(db: Client) -> tuple[int, Any]:
    """Seal all that waits, each page in a transaction; returns how many, and the last page."""
    sealed = 0
    while True:
        done = db.seal_ledger(PAGE)
        sealed += done.sealed or 0
        if done.is_done:
            return sealed, done


def last(db: Client) -> Checkpoint:
    """The last stored checkpoint. Raises LedgerError."""
    stored = db.list_checkpoints(1)
    if not stored:
        raise LedgerError(
            "the ledger has no checkpoint", hint="`ragdb ledger checkpoint --key FILE` makes one"
        )
    return Checkpoint.parse(str(stored[0].note))


def sign(db: Client, signer: Signer, kept: Path | None) -> Checkpoint:
    """Sign how the ledger stands, if it follows the checkpoint in a file, and store that."""
    new = Checkpoint.of(db.ledger_checkpoint())
    old = witness.last(kept) if kept else None
    if old is not None:
        if not old.signers([signer.verifier(old.origin)]):
            raise LedgerError(f"{kept} is not signed by this key")
        follow(db, old, new)
    signed = signer.checkpoint(new.text)
    db.store_checkpoint(str(signed))
    return signed


def follow(db: Client, old: Checkpoint, new: Checkpoint) -> None:
    """Refuse a ledger that does not begin with an older one. Raises LedgerError."""
    if old.origin != new.origin:
        raise LedgerError(f"the checkpoint is of {old.origin}, the database is {new.origin}")
    if new.size < old.size:
        raise LedgerError(
            f"the ledger has {counted(new.size, 'entry')}, and had {old.size}",
            hint="an old backup was restored, or its end was cut off",
        )
    proof = tuple(db.ledger_consistency_proof(old.size, new.size))
    if not Request(old.size, proof, new).follows(old):
        raise LedgerError(
            f"the ledger of {counted(new.size, 'entry')} does not begin with the"
            f" {old.size} signed before",
            hint="its history was rewritten, or there are two",
        )


def add_signatures(db: Client, text: str) -> Checkpoint:
    """Store a note with its signatures, or lines of signatures of the last checkpoint."""
    if text.startswith("— "):
        signed = last(db).with_signatures(parse_signatures(text))
    else:
        signed = Checkpoint.parse(text)
    db.store_checkpoint(str(signed))
    return signed


def prove(db: Client, kind: str, id: str) -> Proof:
    """The proof that a row is in the ledger, as of the last checkpoint."""
    leaf: Any = db.ledger_entry(kind, id)
    signed = last(db)
    if signed.size <= leaf.number:
        raise LedgerError(
            f"the last checkpoint has {counted(signed.size, 'entry')}, and this is number"
            f" {leaf.number}",
            hint="`ragdb ledger checkpoint --key FILE` signs it too",
        )
    path = db.ledger_inclusion_proof(leaf.number, signed.size)
    return Proof(bytes(leaf.entry), leaf.number, tuple(path), signed)


def export(db: Client, folder: Path) -> tuple[Checkpoint, int]:
    """Write the ledger as of its last checkpoint; returns it and how many files are new."""
    signed = last(db)
    # tiles are not written again, so those of two histories would mix
    if (folder / tiles.CHECKPOINT).exists():
        follow(db, tiles.checkpoint(folder), signed)
    return signed, tiles.export(db, folder, signed)


def request(db: Client, old: int) -> Request:
    """What a witness is asked to cosign that cosigned a tree of the old size."""
    signed = last(db)
    if not 0 <= old <= signed.size:
        raise LedgerError(
            f"the last checkpoint has {counted(signed.size, 'entry')}, not {old} or more"
        )
    return Request(old, tuple(db.ledger_consistency_proof(old, signed.size)), signed)


def cosign(db: Client, state: Path, log: Verifier, signer: Signer, name: str) -> Checkpoint:
    """Cosign the last checkpoint, and store it with the signature."""
    kept = witness.last(state)
    # a ledger that is shorter than it was is for the witness to refuse
    size = min(kept.size if kept else 0, last(db).size)
    cosigned = witness.cosign(request(db, size), state, log, signer, name)
    db.store_checkpoint(str(cosigned))
    return cosigned


def compare(db: Client, files: Sequence[Path]) -> Iterator[offline.Finding]:
    """Whether the ledger follows checkpoints that were kept outside the database."""
    for file in files:
        try:
            kept = offline.checkpoint_of(file)
            follow(db, kept, Checkpoint.of(db.ledger_checkpoint()))
        except (LedgerError, UnicodeDecodeError) as error:
            hint = getattr(error, "hint", None)
            detail = f"{error}: {hint}" if hint else str(error)
            yield offline.Finding(str(file), False, "database_differs", detail)
        else:
            detail = f"the database follows its {counted(kept.size, 'entry')}"
            yield offline.Finding(str(file), True, "same_as_database", detail)


def verify(db: Client) -> Iterator[Any]:
    """What `ragdb.verify_ledger` finds, page by page."""
    first = 0
    while True:
        yield from db.verify_ledger(first, PAGE)
        rest = db.ledger_entries(first + PAGE, 1)
        if not rest:
            return
        first = int(rest[0].number or 0)
