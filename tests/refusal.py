"""How tests see a statement refused."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.conftest import Connection


def refused(db: Connection, statement: str, *arguments: Any) -> psycopg.Error:
    """What a statement raises, which says what is wrong and what to do; it leaves nothing."""
    with pytest.raises(psycopg.DatabaseError) as raised, db.transaction():
        db.execute(statement, arguments)
    assert raised.value.diag.message_detail
    assert raised.value.diag.message_hint
    return raised.value
