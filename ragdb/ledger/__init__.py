"""The sealed ledger outside the database: signing, formats of C2SP, offline verification, witness.

Nothing here needs a database but `export`. Signatures need the package `cryptography` (the extra
`ragdb-postgres[ledger]`).
"""

from __future__ import annotations


class LedgerError(Exception):
    """Something of the ledger is not what it should be, or cannot be read."""

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int = 1) -> None:
        super().__init__(message)
        self.hint, self.exit_code = hint, exit_code
