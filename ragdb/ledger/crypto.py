"""Ed25519 by the package cryptography, which only signing and verifying need."""

from __future__ import annotations

from typing import Any

from ragdb.ledger import LedgerError


def library() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise LedgerError(
            "the package cryptography is not installed",
            hint="pip install 'ragdb-postgres[ledger]'",
            exit_code=2,
        ) from None
    return ed25519


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a key signed a message."""
    ed25519 = library()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
