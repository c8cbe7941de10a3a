"""After random puts, copies, renames and deletes the documents are those that Python computes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.conftest import Connection
from tests.documents import Document, document
from tests.sql.documents_twin import chunk_ids, expected, faults, name_of, put, stored

URIS = ["a.md", "b.md", "Z.md", "sub/a.md", "ü.md"]
TEXTS = ["alpha", "beta beta", "gamma", " alpha\r\n", "delta", "alpha"]
PATHS = [(), ("A",), ("A", "B"), ("A", "B", "C"), ("D", "B")]


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    """Bytes, and what follows from them."""
    n = draw(st.integers(0, 5))
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=n, max_size=n))
    headings = draw(st.lists(st.sampled_from(PATHS), min_size=n, max_size=n))
    links = draw(
        st.sets(st.tuples(st.integers(0, n - 1), st.sampled_from([*URIS, "http://x"])), max_size=3)
        if n
        else st.just(set())
    )
    data = json.dumps([texts, headings, sorted(links)]).encode()
    return {"texts": texts, "headings": headings, "links": sorted(links), "data": data}


@st.composite
def labels(draw: st.DrawFn) -> dict[str, Any]:
    """What is said of bytes at one place and need not be at another."""
    said = {
        "title": st.sampled_from([None, "Title", "Other"]),
        "external_id": st.sampled_from([None, None, None, "x", "y"]),
        "source_name": st.sampled_from(["", "", "handbook"]),
    }
    return {name: draw(values) for name, values in said.items()}


def documents_of(sources: dict[str, Document]) -> dict[tuple[str, tuple[str, str]], list[str]]:
    found: dict[tuple[str, tuple[str, str]], list[str]] = {}
    for uri, one in sources.items():
        found.setdefault((one["doc_cid"], name_of(one, uri)), []).append(uri)
    return found


def is_refused(sources: dict[str, Document]) -> bool:
    """Whether two documents want one external id, for themselves or for their chunks."""
    found = documents_of(sources)
    external = Counter(name for _, name in found if name[0] == "id")
    ids: Counter[str] = Counter()
    for uris in found.values():
        first = min(uris, key=str.encode)
        ids.update(chunk_ids("docs", first, sources[first]))
    return max([*external.values(), *ids.values()], default=0) > 1


class Corpus(RuleBasedStateMachine):
    db: Connection

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, Document] = {}

    @initialize()
    def empty(self) -> None:
        self.db.execute("rollback")
        self.db.execute("begin")
        self.db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")

    @rule(
        contents=st.lists(contents(), min_size=1, max_size=2),
        where=st.lists(
            st.tuples(st.sampled_from(URIS), st.integers(0, 1), labels()),
            min_size=1,
            max_size=4,
            unique_by=lambda place: place[0],
        ),
        force=st.booleans(),
    )
    def put(
        self,
        contents: list[dict[str, Any]],
        where: list[tuple[str, int, dict[str, Any]]],
        force: bool,
    ) -> None:
        documents = [document(uri, **contents[n % len(contents)], **said) for uri, n, said in where]
        if self.given(documents, force):
            results = put(self.db, *documents)
            assert [row[1] for row in results] == [one["doc_cid"] for one in documents]
            assert all(row[5] for row in results), "what was just put is there already"

    def given(self, documents: Iterable[Document], force: bool = False) -> bool:
        sources = self.sources | {one["uri"]: one for one in documents}
        if is_refused(sources):
            with pytest.raises(psycopg.Error) as caught, self.db.transaction():
                put(self.db, *documents, force=force)
            assert caught.value.sqlstate == "RG409"
            return False
        put(self.db, *documents, force=force)
        self.sources = sources
        return True

    @rule(uri=st.sampled_from(URIS), other=st.sampled_from(URIS))
    def copy(self, uri: str, other: str) -> None:
        if uri in self.sources:
            self.given([{**self.sources[uri], "uri": other}])

    @rule(uri=st.sampled_from(URIS), other=st.sampled_from(URIS))
    def rename(self, uri: str, other: str) -> None:
        """As `ragdb ingest --prune` does: the new name comes, then the old one goes."""
        if uri in self.sources and uri != other:
            self.given([{**self.sources[uri], "uri": other}])
            keep = set(self.sources) - {uri}
            self.db.execute("select ragdb.prune_sources('docs', '', %s)", (list(keep),))
            del self.sources[uri]

    @precondition(lambda self: self.sources)
    @rule(data=st.data())
    def delete_source(self, data: st.DataObject) -> None:
        uri = data.draw(st.sampled_from(sorted(self.sources)))
        self.db.execute("select ragdb.delete_source('docs', %s)", (uri,))
        del self.sources[uri]

    @precondition(lambda self: self.sources)
    @rule(data=st.data())
    def delete_document(self, data: st.DataObject) -> None:
        found = documents_of(self.sources)
        key = data.draw(st.sampled_from(sorted(found)))
        called = data.draw(st.sampled_from([*found[key], key[0]]))
        delete = "select ragdb.delete_document('docs', %s)"
        if called == key[0] and sum(cid == called for cid, _ in found) > 1:
            with pytest.raises(psycopg.Error) as caught, self.db.transaction():
                self.db.execute(delete, (called,))
            assert caught.value.sqlstate == "RG425"
            return
        self.db.execute(delete, (called,))
        self.sources = {u: one for u, one in self.sources.items() if u not in found[key]}

    @rule(keep=st.sets(st.sampled_from(URIS)), prefix=st.sampled_from(["", "a", "sub/"]))
    def prune(self, keep: set[str], prefix: str) -> None:
        self.db.execute("select ragdb.prune_sources('docs', %s, %s)", (prefix, list(keep)))
        self.sources = {
            uri: one
            for uri, one in self.sources.items()
            if uri in keep or not uri.startswith(prefix)
        }

    @rule()
    def repair(self) -> None:
        self.db.execute("select ragdb.repair_corpus('docs')")

    @invariant()
    def everything_is_as_worked_out(self) -> None:
        if self.db.info.transaction_status == 0:
            return
        chunks, edges = stored(self.db, "docs")
        expected_chunks, expected_edges = expected("docs", self.sources)
        assert chunks == expected_chunks
        listed = self.db.execute("select doc_cid, sources from ragdb.list_documents('docs')")
        assert sorted(listed) == sorted(
            (cid, sorted(uris, key=str.encode))
            for (cid, _), uris in documents_of(self.sources).items()
        )
        assert edges == expected_edges
        assert faults(self.db) == []


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
@pytest.mark.parametrize("examples", [7, pytest.param(200, marks=pytest.mark.nightly)])
def test_documents_are_what_their_sources_make_them(db: Connection, examples: int) -> None:
    machine = type("Machine", (Corpus,), {"db": db})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=12)
    )
