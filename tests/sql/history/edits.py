"""Random edits of a corpus, and the questions that are asked after each."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import text_document
from tests.embedding import ENCODER, claim, complete, make_embedder
from tests.sql.conversations import conversation, message, put

WORDS = [
    *("refund", "voucher", "gift", "card", "shipping", "parcel", "court", "licence", "database"),
    *("planner", "vector", "slice", "anchor", "policy", "summer", "winter", "music", "bridge"),
    *("copper", "orbit", "e-mail", "user_id", "don't", "café", "naïve"),
]
Found = list[dict[str, Any]] | str


class Edited:
    """A corpus of documents and conversations that `step` edits, each time by another transaction.

    The connection commits each statement. What is random follows from the seed, so two databases
    with the same seed get the same edits.
    """

    def __init__(self, db: Connection, seed: int, corpus: str = "docs") -> None:
        self.db, self.random, self.corpus = db, random.Random(seed), corpus
        self.sources: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, int] = {}
        self.turns = 0
        self.edges: list[dict[str, str]] = []
        self.made = 0

    def create(self) -> None:
        self.db.execute("select ragdb.create_corpus(%s)", (self.corpus,))
        make_embedder(self.db)
        self.db.execute("select ragdb.embed_corpus(%s, 'hash')", (self.corpus,))

    def text(self, words: int = 12) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(3, words)))

    def step(self) -> str:
        edits: list[Callable[[], None]] = [
            self.put, self.put, self.put, self.replace, self.replace, self.retitle, self.rename,
            self.delete, self.talk, self.grow, self.grow, self.rewrite, self.link, self.unlink,
            self.synonyms, self.embed, self.embed, self.optimize,
        ]  # fmt: skip
        edit = self.random.choice(edits)
        edit()
        return edit.__name__

    def store(self, given: dict[str, Any]) -> None:
        self.sources[given["uri"]] = given
        self.db.execute("select count(*) from ragdb.put_documents(%s, %s)",
                        (self.corpus, Jsonb([given])))  # fmt: skip

    def many_chunks(self, uri: str) -> dict[str, Any]:
        texts = [self.text() for _ in range(self.random.randint(1, 4))]
        given = text_document(uri, "\n\n".join(texts), title=self.text(3), metadata={
            "year": self.random.randint(2000, 2009)})  # fmt: skip
        given["chunks"] = [
            {"text": t, "start": i, "end": i + len(t), "tokens": len(t.split())}
            for i, t in enumerate(texts)
        ]
        return given

    def put(self) -> None:
        self.made += 1
        self.store(self.many_chunks(f"d{self.made}.md"))

    def some_source(self) -> str | None:
        return self.random.choice(sorted(self.sources)) if self.sources else None

    def replace(self) -> None:
        if uri := self.some_source():
            old = self.sources[uri]
            new = self.many_chunks(uri)
            # some chunks stay
            new["chunks"] = old["chunks"][:1] + new["chunks"][1:]
            self.store(new)

    def retitle(self) -> None:
        if uri := self.some_source():
            self.store(self.sources[uri] | {"title": self.text(3)})

    def rename(self) -> None:
        if uri := self.some_source():
            given = self.sources.pop(uri)
            self.made += 1
            self.store(given | {"uri": f"d{self.made}.md"})
            self.db.execute("select ragdb.delete_source(%s, %s)", (self.corpus, uri))

    def delete(self) -> None:
        if uri := self.some_source():
            del self.sources[uri]
            self.db.execute("select ragdb.delete_source(%s, %s)", (self.corpus, uri))

    def messages(self, count: int) -> list[dict[str, Any]]:
        first = self.turns + 1
        self.turns += count
        return [
            message(n, [n - 1] if n > first else [], text=self.text())
            for n in range(first, first + count)
        ]

    def talk(self) -> None:
        session = f"s{len(self.sessions) + 1}"
        self.sessions[session] = self.turns + 1
        put(self.db, self.corpus, conversation(self.messages(4), session))

    def grow(self) -> None:
        if not self.sessions:
            return
        session = self.random.choice(sorted(self.sessions))
        self.turns += 1
        turn = message(self.turns, [self.sessions[session]], text=self.text())
        self.db.execute("select count(*) from ragdb.append_turns(%s, %s, %s)",
                        (self.corpus, session, Jsonb([turn])))  # fmt: skip

    def rewrite(self) -> None:
        if self.sessions:
            session = self.random.choice(sorted(self.sessions))
            self.sessions[session] = self.turns + 1
            put(self.db, self.corpus, conversation(self.messages(3), session))

    def chunk_ids(self) -> list[str]:
        return [row[0] for row in self.db.execute(
            "select chunk_id from ragdb.list_chunks(%s) order by chunk_id collate \"C\"",
            (self.corpus,)).fetchall()]  # fmt: skip

    def link(self) -> None:
        ids = self.chunk_ids()
        if len(ids) > 2:
            parent, child = self.random.sample(ids, 2)
            edge = {"parent": parent, "child": child, "edge_type": "reference"}
            self.edges.append(edge)
            self.db.execute("select ragdb.add_edges(%s, %s)", (self.corpus, Jsonb([edge])))

    def unlink(self) -> None:
        ids = self.chunk_ids()
        self.edges = [e for e in self.edges if e["parent"] in ids and e["child"] in ids]
        if self.edges:
            edge = self.edges.pop()
            self.db.execute("select ragdb.remove_edges(%s, %s)", (self.corpus, Jsonb([edge])))

    def synonyms(self) -> None:
        a, b = self.random.sample(WORDS[:20], 2)
        name = self.random.choice(["add_synonyms", "remove_synonyms"])
        self.db.execute(f"select ragdb.{name}(%s, %s)", (self.corpus, [a, b]))

    def embed(self) -> None:
        rows = claim(self.db, count=1000)
        if rows:
            complete(self.db, rows)

    def optimize(self) -> None:
        self.db.execute("select * from ragdb.optimize_corpus(%s)", (self.corpus,))

    def question(self) -> dict[str, Any]:
        """The arguments of a search, other than its corpus."""
        words = self.random.sample(WORDS, self.random.randint(1, 4))
        if self.random.random() < 0.3:
            words[0] = words[0][:-1] + "x"  # misspelt
        asked: dict[str, Any] = {
            "query": " ".join(words),
            "k": self.random.choice([1, 3, 10, 50]),
            "mode": self.random.choice(["lexical", "semantic", "hybrid", "reference", "hybrid"]),
        }
        if asked["mode"] in ("semantic", "hybrid"):
            vector = ENCODER.encode([asked["query"]])[0]
            asked["query_embedding"] = [float(x) for x in vector]
        extras: list[dict[str, Any]] = (
            [{}, {}, {"filter": {"year": {"gte": 2004}}}, {"min_score": 0.2}, {"fusion": "rrf"},
             {"syntax": "web", "query": f"+{words[-1]} {words[0]}"}, {"typos": False},
             {"syntax": "web", "query": f'"{words[-1]}" -{words[0]}'},
             {"per_document": 1}, {"collapse": True}, {"diversity": 0.5, "k": 3},
             {"filter": {"source": {"glob": "d1*"}}}, {"filter": {"uri": {"glob": "*2*"}}},
             {"filter": {"role": "user"}}]
        )  # fmt: skip
        extra = self.random.choice(extras)
        if "filter" in extra:
            extra = {"filter": Jsonb(extra["filter"])}
        return asked | extra

    def ask(self, asked: dict[str, Any], as_of: int | None = None) -> Found:
        """All of the hits, or what was wrong with the question."""
        try:
            return self.call("search", **asked, as_of=as_of)
        except psycopg.Error as error:
            return f"{error.sqlstate}: {error.diag.message_primary}"

    def call(self, function: str, **arguments: Any) -> list[dict[str, Any]]:
        arguments = {"corpus": self.corpus, **arguments}
        named = ", ".join(f"{name} => %({name})s" for name in arguments)
        with self.db.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(f"select * from ragdb.{function}({named})", arguments).fetchall()

    def version(self) -> int:
        row = self.db.execute("select version from ragdb.corpus_info(%s)", (self.corpus,))
        return int(row.fetchone()[0])  # type: ignore[index]
