"""What tests of several folders begin with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Connection
from tests.sql import embedded_chat, signed_slices
from tests.sql.conversations import conversation, put
from tests.sql.lexical_twin import make_docs


@pytest.fixture(scope="session")
def golden(shared: Path) -> Any:
    """What the reference runtime of KERN makes of texts."""
    return json.loads((shared / "golden/reference_runtime.json").read_text())


@pytest.fixture
def docs(db: Connection) -> Connection:
    """A corpus `docs` of a few texts that questions of words can be asked of."""
    make_docs(db)
    return db


@pytest.fixture
def signed(db: Connection) -> Connection:
    """A conversation and a signing key."""
    return signed_slices.sign(db)


@pytest.fixture
def queued(db: Connection) -> Connection:
    """A conversation in a corpus with an embedder, a signing key, and no embedding yet."""
    db.execute("select ragdb.create_corpus('chat')")
    put(db, "chat", conversation(embedded_chat.messages()))
    db.execute("select ragdb.create_embedder('three', 3)")
    db.execute("select ragdb.embed_corpus('chat', 'three')")
    db.execute("select ragdb.create_signing_key('k1')")
    return db


@pytest.fixture
def embedded(queued: Connection) -> Connection:
    embedded_chat.embed(queued)
    return queued
