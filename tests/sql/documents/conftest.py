"""A corpus to put documents into."""

from __future__ import annotations

import pytest

from tests.conftest import Connection


@pytest.fixture
def docs(db: Connection) -> Connection:
    db.execute("select ragdb.create_corpus('docs')")
    return db
