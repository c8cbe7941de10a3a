"""Whether all that is stored is sound, for tests that change no code.

To compare the code takes longer than all else of a verification, and the tests of that do.
"""

from __future__ import annotations

from typing import Any

from tests.conftest import Connection


def errors(db: Connection) -> list[Any]:
    """The place and the finding of each error."""
    return db.execute(
        "select place, finding from ragdb.verify(checks => array("
        'select "check" from ragdb.verification_checks() where "check" <> \'code\'))'
        " where severity = 'error'"
    ).fetchall()
