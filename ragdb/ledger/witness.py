"""A witness: cosigns a checkpoint only if it follows the one that it cosigned last (tlog-witness).

It keeps that one in a file, and needs neither the database nor trust in it.
"""

from __future__ import annotations

import time
from pathlib import Path

from ragdb.client.counting import counted
from ragdb.files import replace
from ragdb.ledger import LedgerError
from ragdb.ledger.keys import Signer
from ragdb.ledger.notes import Checkpoint, Verifier
from ragdb.ledger.proofs import Request


def last(state: Path) -> Checkpoint | None:
    """The checkpoint that a witness keeps; null before its first."""
    return Checkpoint.parse(state.read_text("utf-8")) if state.exists() else None


def cosign(request: Request, state: Path, log: Verifier, signer: Signer, name: str) -> Checkpoint:
    """The request's checkpoint with the witness's signature, which it then keeps as its last."""
    import fasteners  # type: ignore[import-untyped]

    with fasteners.InterProcessLock(state.with_name(f".{state.name}.lock")):
        _check(request, last(state), log)
        made = signer.cosignature(name, request.checkpoint.text, int(time.time()))
        cosigned = request.checkpoint.with_signatures([made])
        replace(state, str(cosigned).encode())
    return cosigned


def _check(request: Request, kept: Checkpoint | None, log: Verifier) -> None:
    new = request.checkpoint
    if new.origin != log.name:
        raise LedgerError(f"the checkpoint is of {new.origin}, the key of {log.name}")
    if not new.signers([log]):
        raise LedgerError(f"{log.name} did not sign this checkpoint")
    size = kept.size if kept else 0
    if kept and kept.origin != new.origin:
        raise LedgerError(
            f"this witness keeps a checkpoint of {kept.origin}",
            hint="give each ledger a state file of its own",
        )
    if new.size < size:
        raise LedgerError(
            f"the ledger has {counted(new.size, 'entry')}, and had {size}",
            hint="an old backup was restored, or its end was cut off",
        )
    if request.old_size != size:
        raise LedgerError(
            f"the request begins at {request.old_size}, this witness at {size}",
            hint=f"`ragdb ledger request {size}` writes the one to give",
        )
    if kept and not request.follows(kept):
        raise LedgerError(
            f"the ledger of {counted(new.size, 'entry')} does not begin with the"
            f" {size} cosigned before",
            hint="its history was rewritten, or there are two; keep this request as evidence",
        )
    if not kept and request.proof:
        raise LedgerError("a first request has no proof")
