"""The stored tree is that of RFC 6962, and so are its proofs, whatever is appended when."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import merkle_twin as twin
from tests.conftest import Connection

# the vectors of the first implementation of RFC 6962 (Certificate Transparency)
VECTORS = {
    "": "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "00": "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "10": "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "2021": "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "3031": "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "40414243": "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "5051525354555657": "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "606162636465666768696a6b6c6d6e6f": (
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    ),
}


def grow(db: Connection, leaves: list[bytes], first: int = 0) -> None:
    """Append hashes of leaves to the tree, from a number on."""
    db.execute("select ragdb_internal.append_hashes(%s, %s)", (first, b"".join(leaves)))
    db.execute(
        "insert into ragdb.ledger_head values (true, %s, now())"
        " on conflict on constraint ledger_head_has_one_row do update set size = excluded.size",
        (first + len(leaves),),
    )


def value(db: Connection, query: str, *values: object) -> object:
    ((found,),) = db.execute(query, values).fetchall()
    return found


def test_the_vectors_of_rfc_6962_hold(any_db: Connection) -> None:
    leaves = [twin.leaf(bytes.fromhex(entry)) for entry in VECTORS]
    assert value(any_db, "select ragdb.ledger_root()") == hashlib.sha256(b"").digest()
    for number, expected in enumerate(VECTORS.values()):
        grow(any_db, leaves[number : number + 1], number)
        assert value(any_db, "select ragdb.ledger_root()") == bytes.fromhex(expected)
        assert twin.root(leaves[: number + 1]) == bytes.fromhex(expected)


def made(count: int) -> list[bytes]:
    return [twin.leaf(str(n).encode()) for n in range(count)]


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 512, 513, 1000])
def test_roots_and_proofs_are_those_of_the_twin_at_the_edges_of_tiles(
    db: Connection, size: int
) -> None:
    leaves = made(size)
    grow(db, leaves)
    for old in {0, 1, size // 2, size - 1, size}:
        assert value(db, "select ragdb.ledger_root(%s)", old) == twin.root(leaves[:old])
        found = value(db, "select ragdb.ledger_consistency_proof(%s, %s)", old, size)
        assert found == twin.proof(old, leaves)
    for number in {0, size // 3, size - 1}:
        assert value(db, "select ragdb.ledger_inclusion_proof(%s)", number) == twin.path(
            number, leaves
        )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), parts=st.lists(st.integers(1, 400), min_size=1, max_size=5))
def test_any_growth_gives_the_tree_and_the_proofs_of_the_twin(
    db: Connection, data: st.DataObject, parts: list[int]
) -> None:
    leaves = made(sum(parts))
    with db.transaction(force_rollback=True):
        first = 0
        for part in parts:
            grow(db, leaves[first : first + part], first)
            first += part
        size = data.draw(st.integers(1, first))
        number = data.draw(st.integers(0, size - 1))
        old = data.draw(st.integers(0, size))
        top = twin.root(leaves[:size])
        assert value(db, "select ragdb.ledger_root(%s)", size) == top
        path = value(db, "select ragdb.ledger_inclusion_proof(%s, %s)", number, size)
        assert path == twin.path(number, leaves[:size])
        proof = value(db, "select ragdb.ledger_consistency_proof(%s, %s)", old, size)
        assert proof == twin.proof(old, leaves[:size])


def test_tiles_are_those_of_c2sp(db: Connection) -> None:
    leaves = made(70_000)
    grow(db, leaves)
    ((levels,),) = db.execute(
        "select array_agg(row(level, n, w)::text order by level) from (select level, count(*) n,"
        " min(length(hashes)) / 32 w from ragdb.ledger_tiles group by level) t"
    ).fetchall()
    # the example of the specification
    assert levels == ["(0,274,112)", "(1,2,17)", "(2,1,1)"]
    assert value(db, "select ragdb.ledger_tile(0, 1)") == b"".join(leaves[256:512])
    assert value(db, "select ragdb.ledger_tile(0, 273, 5)") == b"".join(leaves[69888:69893])
    assert value(db, "select ragdb.ledger_tile(1, 1, 17)") == b"".join(
        twin.root(leaves[256 * n : 256 * n + 256]) for n in range(256, 273)
    )
    assert value(db, "select ragdb.ledger_root()") == twin.root(leaves)


def test_a_proof_reads_few_rows_of_a_large_tree(db: Connection) -> None:
    """As many as a path has hashes, and no leaf."""
    grow(db, made(20_000))
    db.execute("analyze ragdb.ledger_tiles")
    # the tiles of this tree fill one page, which PostgreSQL's own costs have read whole
    db.execute("set local enable_seqscan = off")
    read = (
        "select pg_stat_get_xact_tuples_fetched('ragdb.ledger_tiles'::regclass)"
        " + pg_stat_get_xact_tuples_returned('ragdb.ledger_tiles'::regclass)"
    )
    before = int(str(value(db, read)))
    value(db, "select ragdb.ledger_inclusion_proof(12345)")
    assert int(str(value(db, read))) - before < 100
