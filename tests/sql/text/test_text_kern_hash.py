"""KERN's hash of a chunk: golden vectors and a Python twin."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Connection


def chunk_hash(text: str) -> str:
    lanes = [0xCBF29CE484222325, 0x84222325CBF29CE4]
    for byte in text.encode():
        lanes = [
            (lane ^ (byte + added)) * 0x100000001B3 % 2**64
            for lane, added in zip(lanes, (0, 0x9E), strict=True)
        ]
    return "".join(f"{lane:016x}" for lane in lanes)


@pytest.mark.shared
def test_hashes_are_those_of_the_golden_vectors(any_db: Connection, golden: Any) -> None:
    for text, expected in golden["chunkHash"]:
        assert any_db.execute("select ragdb.kern_chunk_hash(%s)", (text,)).fetchone() == (expected,)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])))
def test_a_chunk_hash_is_two_lanes_of_fnv(db: Connection, text: str) -> None:
    assert db.execute("select ragdb.kern_chunk_hash(%s)", (text,)).fetchone() == (chunk_hash(text),)


def test_a_chunk_hash_of_nothing_is_an_error(db: Connection) -> None:
    with pytest.raises(psycopg.Error) as raised:
        db.execute("select ragdb.kern_chunk_hash(null)")
    assert raised.value.sqlstate == "RG400"
