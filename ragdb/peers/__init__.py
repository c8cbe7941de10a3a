"""Other databases: corpora exchanged by signed events, and questions that they are asked.

The database checks the order, the hashes and the authors of events; signatures are made and checked
here, with the package `cryptography` (the extra `ragdb-postgres[ledger]`).
"""

from __future__ import annotations


class PeerError(Exception):
    """A peer cannot be reached, or what it says is not taken."""

    def __init__(self, message: str, *, hint: str | None = None, exit_code: int = 1) -> None:
        super().__init__(message)
        self.hint, self.exit_code = hint, exit_code
