"""A search by document is the search by chunk, grouped."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from ragdb import errors
from tests.conftest import Connection, Server
from tests.sql.evidence.test_gate_floors import PROSE

QUERIES = ("ledger checkpoint", "backup of a corpus", "roles and rights of the database", "zebra")


@pytest.fixture(scope="module")
def pages() -> dict[str, list[str]]:
    """Documents of one to seven paragraphs."""
    found: dict[str, list[str]] = {}
    for n, part in enumerate(PROSE):
        found.setdefault(f"{n * n % 31}.md", []).append(part)
    return found


@pytest.fixture(scope="module")
def filled(module_clone: str, pages: dict[str, list[str]]) -> str:
    """A database with the pages in the corpus `docs`, for tests that roll back."""
    with psycopg.connect(module_clone) as db:
        db.execute("select ragdb.create_corpus('docs')")
        for source, parts in pages.items():
            db.execute(
                "select from ragdb.put_text('docs', %s, %s, max_tokens => 60)",
                (source, "\n\n".join(parts)),
            )
    return module_clone


@pytest.fixture
def docs(server18: Server, filled: str) -> Iterator[Connection]:
    with server18.rolled_back(filled) as db:
        yield db


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("k", "most"), [(3, 2), (10, 3), (100, 10)])
def test_documents_come_by_their_best_chunk(
    docs: Connection, query: str, k: int, most: int
) -> None:
    wanted: dict[str, list[tuple[str, float]]] = {}
    for source, chunk, score in docs.execute(
        "select source, chunk_id, score from ragdb.search('docs', %s, 1000)", (query,)
    ):
        wanted.setdefault(source, []).append((chunk, score))
    found = docs.execute(
        "select rank, source, score, chunks from ragdb.search_documents('docs', %s, %s, %s)",
        (query, k, most),
    ).fetchall()
    assert [
        (source, [(c["chunk_id"], c["score"]) for c in chunks]) for _, source, _, chunks in found
    ] == [(source, chunks[:most]) for source, chunks in list(wanted.items())[:k]]
    assert [row[0] for row in found] == list(range(1, len(found) + 1))
    assert all(row[2] == row[3][0]["score"] for row in found)


def test_a_filter_and_a_floor_hold_for_documents_and_their_chunks(docs: Connection) -> None:
    (cid,) = docs.execute("select doc_cid from ragdb.documents order by chunks desc").fetchone()  # type: ignore[misc]
    rows = docs.execute(
        "select doc_cid, chunks from ragdb.search_documents('docs', 'the ledger of a corpus', 5, 9,"
        " min_score => 0.01, filter => jsonb_build_object('doc_cid', %s::text))",
        (cid,),
    ).fetchall()
    assert [row[0] for row in rows] == [cid]
    assert all(c["score"] >= 0.01 for c in rows[0][1])


@pytest.mark.parametrize(("k", "most"), [(10, 0), (10, 101), (200, 6), (10, None), (0, 1)])
def test_how_many_chunks_is_checked(docs: Connection, k: int, most: int | None) -> None:
    with pytest.raises(errors.InvalidArgument):
        docs.execute("select ragdb.search_documents('docs', 'x', %s, %s)", (k, most))


def test_the_same_bytes_under_two_names_are_two_documents(docs: Connection) -> None:
    text = "An okapi rests. The okapi eats leaves."
    for name in ("one", "two"):
        docs.execute("select ragdb.put_text('docs', %s, %s)", (name, text))
    found = docs.execute(
        "select source, chunks from ragdb.search_documents('docs', 'okapi', 5)"
    ).fetchall()
    assert sorted(source for source, _ in found) == ["one", "two"]
    for source, chunks in found:
        assert [c["chunk_id"].partition(":")[0] for c in chunks] == [source]


@pytest.mark.parametrize("parts", [False, True])
def test_a_file_in_two_corpora_has_all_of_its_chunks(docs: Connection, parts: bool) -> None:
    """The other corpus has the same chunks with the same scores, one of them first."""
    if parts:
        docs.execute("select ragdb.create_corpus('all')")
    for corpus in ("one", "two"):
        docs.execute(
            "select ragdb.create_corpus(%s, part_of => %s)", (corpus, "all" if parts else None)
        )
        docs.execute(
            "select from ragdb.put_text(%s, 'a', 'okapi: a\n\nokapi: b\n\nokapi: c',"
            " strategy => 'paragraph', max_tokens => 2, overlap => 0)",
            (corpus,),
        )
    searched = "all" if parts else None
    ((corpus, chunks),) = docs.execute(
        "select corpus, chunks from ragdb.search_documents(%s, 'okapi', 1, 3)", (searched,)
    ).fetchall()
    alone = "select array_agg(chunk_id) from ragdb.search(%s, 'okapi')"
    ((wanted,),) = docs.execute(alone, (corpus,)).fetchall()
    assert len(wanted) == 3
    assert [chunk["chunk_id"] for chunk in chunks] == wanted
