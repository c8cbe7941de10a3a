"""After random puts and deletes the documents are those that Python computes."""

from __future__ import annotations

from typing import Any

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
from tests.sql.documents_twin import Document, document, expected, faults, put, stored

URIS = ["a.md", "b.md", "Z.md", "sub/a.md", "ü.md"]
TEXTS = ["alpha", "beta beta", "gamma", " alpha\r\n", "delta", "alpha"]
PATHS = [(), ("A",), ("A", "B"), ("A", "B", "C"), ("D", "B")]


@st.composite
def contents(draw: st.DrawFn) -> dict[str, Any]:
    """A document without its uri: all of it follows from its bytes, as with files."""
    n = draw(st.integers(0, 5))
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=n, max_size=n))
    headings = draw(st.lists(st.sampled_from(PATHS), min_size=n, max_size=n))
    links = draw(
        st.sets(st.tuples(st.integers(0, n - 1), st.sampled_from([*URIS, "http://x"])), max_size=3)
        if n
        else st.just(set())
    )
    title = draw(st.sampled_from([None, "Title", "Other"]))
    return {"texts": texts, "headings": headings, "links": sorted(links), "title": title}


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
            st.tuples(st.sampled_from(URIS), st.integers(0, 1)),
            min_size=1,
            max_size=4,
            unique_by=lambda pair: pair[0],
        ),
        force=st.booleans(),
    )
    def put(
        self, contents: list[dict[str, Any]], where: list[tuple[str, int]], force: bool
    ) -> None:
        documents = [document(uri, **contents[n % len(contents)]) for uri, n in where]
        put(self.db, *documents, force=force)
        self.sources.update({one["uri"]: one for one in documents})
        results = put(self.db, *documents)
        assert all(row[5] for row in results), "what was just put is there already"

    @rule(uri=st.sampled_from(URIS), other=st.sampled_from(URIS))
    def copy(self, uri: str, other: str) -> None:
        if uri in self.sources:
            self.sources[other] = {**self.sources[uri], "uri": other}
            put(self.db, self.sources[other])

    @precondition(lambda self: self.sources)
    @rule(data=st.data())
    def delete_source(self, data: st.DataObject) -> None:
        uri = data.draw(st.sampled_from(sorted(self.sources)))
        self.db.execute("select ragdb.delete_source('docs', %s)", (uri,))
        del self.sources[uri]

    @precondition(lambda self: self.sources)
    @rule(data=st.data())
    def delete_document(self, data: st.DataObject) -> None:
        cid = data.draw(st.sampled_from(sorted(one["doc_cid"] for one in self.sources.values())))
        self.db.execute("select ragdb.delete_document('docs', %s)", (cid,))
        self.sources = {u: one for u, one in self.sources.items() if one["doc_cid"] != cid}

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
        assert edges == expected_edges
        assert faults(self.db) == []


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_documents_are_what_their_sources_make_them(db: Connection) -> None:
    machine = type("Machine", (Corpus,), {"db": db})
    run_state_machine_as_test(machine, settings=settings(max_examples=60, stateful_step_count=12))
