"""Two tenants of one database, with rows of every kind, each marked by a word of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.conversations import conversation, message, uuid

CONTRACT = """
corpus name={corpus} title="{word} title"
  source name={word}-source uri=./{word}
retriever name={word}-retriever corpus={corpus} mode=lexical topK=2
rag name={word}-rag retriever={word}-retriever
ragEval name={word}-eval rag={word}-rag mode=contract
  ragCase name={word}-case query="who keeps the {word}"
    ragAssert kind=contains value="{word}" required=true
tool name={word}-tool
  param name=q
  retrieve rag={word}-rag queryParam=q
"""


@dataclass
class Tenant:
    """A role with a grant, its corpora, and the ids of what it has."""

    role: str
    corpus: str
    word: str
    first: int  # of its turns
    ids: dict[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """Its embedder; every role knows those that there are."""
        return f"model-{self.first}"

    def share(self, admin: Connection) -> None:
        """What an admin does for it."""
        call(admin, "create_corpus", self.corpus, is_restricted=True, history="30 days")
        call(admin, "grant_corpus", self.corpus, self.role, "admin")
        call(admin, "create_corpus", f"{self.corpus}-whole", is_restricted=True)
        call(admin, "grant_corpus", f"{self.corpus}-whole", self.role, "admin")
        call(admin, "create_corpus", f"{self.corpus}-part", part_of=f"{self.corpus}-whole")
        call(admin, "share_corpus", self.corpus, bytes([self.first % 200]) * 32)

    def fill(self, db: Connection) -> None:
        """Rows of every kind, by the functions that the role calls itself."""
        self._documents(db)
        self._embeddings(db)
        self._retrievals(db)
        self._evaluation(db)
        self._jobs(db)

    def _documents(self, db: Connection) -> None:
        word, corpus = self.word, self.corpus
        kept = f"The {word} is kept behind the wainscot. Refunds of {word} are paid."
        documents = [
            text_document(f"{word}.md", kept, title=f"{word} book", metadata={f"{word} key": word}),
            text_document(f"{word}2.md", f"Another {word} with refunds.", external_id=f"{word}-id"),
            text_document(f"{word}3.md", f"A third {word}."),
        ]
        call(db, "put_documents", corpus, Jsonb(documents))
        turns = [
            message(self.first, text=f"How are {word} refunds paid?", salience=0.9),
            message(
                self.first + 1,
                [self.first],
                text=f"Refunds of {word} are paid by card.",
                salience=0.9,
            ),
            message(self.first + 2, [self.first + 1], text=f"And {word} gifts?"),
        ]
        talk = conversation(turns, session=f"{word}-session", uri=f"{word}.jsonl")
        call(db, "put_conversations", corpus, Jsonb([talk]))
        call(db, "add_synonyms", corpus, [word, f"{word}ium"])
        call(db, "erase_source", corpus, f"{word}3.md", f"{word} asked")
        said = [message(self.first + 7, text=f"{word} farewell", speaker=f"{word} guest")]
        call(db, "append_turns", corpus, f"{word}-visit", Jsonb(said))
        call(db, "erase_speaker", corpus, f"{word} guest", None, f"{word} asked")
        call(db, "record_reading", corpus, f"{word}-source", 3, 1)
        call(db, "put_text", f"{corpus}-part", f"{word}-part.md", f"A part of {word}.")
        call(db, "sync_statistics", f"{corpus}-whole")
        call(db, "create_corpus", "personal")
        call(db, "put_text", "personal", f"{word}-diary.md", f"My own {word}.")
        call(db, "retrieve", "personal", word, mode="lexical")
        self.ids["document"] = documents[0]["doc_cid"]
        self.ids["chunk_id"] = one(db, "document_chunks", corpus, documents[0]["doc_cid"]).chunk_id
        self.ids["turn"] = uuid(self.first)

    def _embeddings(self, db: Connection) -> None:
        call(db, "embed_corpus", self.corpus, self.model)
        claimed = call(db, "claim_embeddings", f"{self.word}-worker", only_corpus=self.corpus)
        space, done, failed = claimed[0].space_id, claimed[0], claimed[1]
        vector = "{0.6,0.8,0}"
        ended = [([row.input_hash], f"{{{row.attempt}}}") for row in (done, failed)]
        call(db, "complete_embeddings", space, *ended[0], vector)
        call(db, "fail_embeddings", space, *ended[1], f"{self.word} failed")
        call(db, "put_query_embedding", self.corpus, f"{self.word} question", vector)
        call(db, "request_query_embedding", self.corpus, f"{self.word} waits")
        self.ids |= {"space_id": space, "input_hash": done.input_hash}

    def _retrievals(self, db: Connection) -> None:
        word, corpus, ids = self.word, self.corpus, self.ids
        ids["trace_id"] = one(db, "retrieve", corpus, f"{word} refunds", mode="lexical").trace_id
        hits = call(
            db, "retrieve_slice", corpus, f"{word} refunds", anchor=ids["turn"], mode="lexical"
        )
        ids["slice_id"] = one(db, "list_slices", corpus).slice_id
        says = (hits[0].trace_id, [hit.chunk_id for hit in hits], f"Refunds of {word} are paid.")
        ids["atom_id"] = one(db, "promote_to_atom", *says).atom_id
        call(db, "promote_to_atom", ids["trace_id"], [ids["chunk_id"]], says[2])  # an incident
        made = one(db, "propose", corpus, [ids["atom_id"]], f"{word} works.")
        ids["proposal_id"] = made.proposal_id
        pack = value(db, "build_evidence_pack", ids["trace_id"])
        output = value(db, "answer_from_evidence", f"{word} refunds", Jsonb(pack))
        call(db, "record_gate", f"who {word}", Jsonb(pack))
        answer = one(db, "record_answer", Jsonb(output), Jsonb(pack), model=f"{word}-llm")
        call(db, "record_feedback", "good", ids["trace_id"], comment=f"{word} comment")
        call(db, "record_failure", corpus, f"{word} failed", "RG400", 1)
        ids |= {"pack": pack, "output": output, "answer_id": answer.answer_id}

    def _evaluation(self, db: Connection) -> None:
        word = self.word
        call(db, "apply_contract", self.contract(), f"{word}-contract")
        self.ids["run_id"] = one(db, "run_eval", f"{word}-rag", f"{word}-eval").run_id
        call(db, "bless_run", self.ids["run_id"])
        call(db, "add_eval_case", f"{word}-rag", f"{word}-eval", f"{word} asked")

    def _jobs(self, db: Connection) -> None:
        call(db, "put_blob", f"# {self.word} kept".encode(), "text/x-kept", self.corpus)
        blob = value(db, "put_blob", self.waiting(), "text/markdown")
        given = {"params": {"corpus": self.corpus}, "input": {"doc_cid": blob}}
        self.ids["job_id"] = value(db, "rag_ingest", Jsonb(given))["job_id"]
        texts = {"params": {"model": self.model}, "input": {"texts": [self.word]}}
        call(db, "embed_text", Jsonb(texts))
        call(db, "record_reads", self.corpus, "on")
        self.ids["blob"] = blob

    def waiting(self) -> bytes:
        """What waits to be read."""
        return f"# {self.word} waits".encode()

    def contract(self) -> str:
        return CONTRACT.format(corpus=self.corpus, word=self.word)

    def arguments(self) -> dict[str, Any]:
        """What is said of it to a function, by the names of arguments."""
        word, corpus, ids = self.word, self.corpus, self.ids
        mine = text_document(f"{word}.md", "Mine now.")
        turn = {"id": uuid(self.first + 9), "text": "mine", "parents": [ids["turn"]]}
        return {name: ids[name] for name in ids if name not in ("pack", "output", "blob")} | {
            "corpus": corpus,
            "corpora": [corpus],
            "only_corpus": corpus,
            "part_of": f"{corpus}-whole",
            "part": f"{corpus}-part",
            "parts": [f"{corpus}-part"],
            "name": self.model,
            "embedder": self.model,
            "only_embedder": self.model,
            "except_embedders": [self.model],
            "contract_name": f"{word}-contract",
            "contract": f"{word}-contract",
            "rag": f"{word}-rag",
            "eval": f"{word}-eval",
            "retriever": f"{word}-retriever",
            "tool": f"{word}-tool",
            "source_name": f"{word}-source",
            "uri": f"{word}.md",
            "source": f"{word}.md",
            "uris": [f"{word}.md"],
            "ids": [f"{word}.md"],
            "external_id": f"{word}-id",
            "session": f"{word}-session",
            "query": f"{word} refunds",
            "queries": [word],
            "question": f"who keeps the {word}",
            "text": f"the {word}",
            "words": [word, f"{word}s"],
            "word": word,
            "prefix": ids["chunk_id"][:8],
            "chunk_ids": [ids["chunk_id"], ids["turn"]],
            "anchor": ids["turn"],
            "anchors": [ids["turn"], "nosuch"],
            "input_hashes": [ids["input_hash"]],
            "atom_ids": [ids["atom_id"]],
            "baseline": ids["run_id"],
            "cid": ids["blob"],
            "doc_cid": ids["document"],
            "bytes": self.waiting(),
            "media_type": "text/guess",
            "documents": Jsonb([mine]),
            "chunks": Jsonb(mine["chunks"]),
            "chunking": Jsonb(mine["chunking"]),
            "edges": Jsonb([{"parent": ids["turn"], "child": ids["chunk_id"]}]),
            "turns": Jsonb([turn]),
            "evidence": Jsonb(ids["pack"]),
            "pack": Jsonb(ids["pack"]),
            "retrieval": Jsonb(ids["pack"]),
            "output": Jsonb(ids["output"]),
            "arguments": Jsonb({"q": word}),
            "filter": Jsonb({"source": f"{word}.md"}),
            "request": Jsonb(
                {
                    "params": {"corpus": corpus},
                    "input": {"query": word, "doc_cid": ids["blob"]},
                }
            ),
        }

    def said(self) -> list[tuple[str, dict[str, Any]]]:
        """Calls whose arguments say of it what no name of an argument tells."""
        word, corpus, ids = self.word, self.corpus, self.ids
        talk = conversation([message(5, [self.first], text="mine")], session=f"{word}-session")
        texts = {"params": {"model": self.model}, "input": {"texts": [word]}}
        copy = {"corpus": {"name": corpus}, "embedder": {"name": self.model, "dims": 3}}
        return [
            ("apply_contract", {"contract": self.contract(), "contract_name": "mine"}),
            ("validate_contract", {"contract": self.contract(), "contract_name": "mine"}),
            ("embed_text", {"request": Jsonb(texts)}),
            ("rag_list_corpora", {"request": Jsonb({"params": {"corpus": corpus}})}),
            ("put_conversations", {"corpus": corpus, "conversations": Jsonb([talk])}),
            ("put_conversations", {"corpus": "garden", "conversations": Jsonb([talk])}),
            ("import_corpus", {"header": Jsonb(copy), "corpus": "copy"}),
            ("accept_move", {"header": Jsonb(copy), "origin": "x"}),
            *(("events_after", {"after": Jsonb({str(n): 0})}) for n in range(1, 9)),
            *(("find_trace", {"prefix": str(ids[name])[:20]}) for name in ("trace_id", "run_id")),
            ("find_run", {"prefix": str(ids["run_id"])[:20]}),
            ("find_slice", {"corpus": "garden", "prefix": ids["slice_id"][:8]}),
            *(
                (name, {"corpora": [corpus, "garden"], "query": f"{word[:-1]}z", "syntax": "web"})
                for name in ("search", "did_you_mean", "count_matches")
            ),
            ("did_you_mean", {"corpus": "garden", "query": f"{word[:-1]}z"}),
            ("build_evidence_pack", {"corpus": "garden", "chunk_ids": [ids["chunk_id"]]}),
            ("record_feedback", {"verdict": "bad", "trace_id": ids["trace_id"]}),
        ]


def ask(db: Connection, tenant: Tenant, word: str) -> dict[str, Any]:
    """Questions with a word, to the corpus of a tenant; returns arguments that say of them."""
    corpus, query = tenant.corpus, f"refunds {word}"
    trace = one(db, "retrieve", corpus, query, mode="lexical").trace_id
    turn = tenant.ids["turn"]
    call(db, "retrieve_slice", corpus, query, anchor=turn, mode="lexical")
    pack = value(db, "build_evidence_pack", trace)
    output = value(db, "answer_from_evidence", f"{tenant.word} refunds", Jsonb(pack))
    call(db, "record_gate", f"who {word}", Jsonb(pack))
    answer = one(db, "record_answer", Jsonb(output), Jsonb(pack)).answer_id
    call(db, "record_feedback", "bad", trace, comment=word)
    call(db, "record_failure", corpus, f"{word} failed", "RG400", 1)
    call(db, "ask", corpus, f"is the {word} paid refunds")
    call(db, "retrieve_tool", f"{tenant.word}-tool", Jsonb({"q": word}))
    call(db, "request_query_embedding", corpus, word)
    return tenant.arguments() | {
        "trace_id": trace,
        "answer_id": answer,
        "prefix": str(trace)[:20],
        "evidence": Jsonb(pack),
        "pack": Jsonb(pack),
        "output": Jsonb(output),
    }


class Row:
    """A row by the names of its columns."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.__dict__.update(columns)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def call(db: Connection, function: str, *given: Any, **named: Any) -> list[Any]:
    """The rows of a public function."""
    places = ["%s"] * len(given) + [f"{name} => %s" for name in named]
    with db.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        statement = f"select * from ragdb.{function}({', '.join(places)})"
        return [Row(row) for row in cursor.execute(statement, [*given, *named.values()])]


def one(db: Connection, function: str, *given: Any, **named: Any) -> Any:
    return call(db, function, *given, **named)[0]


def value(db: Connection, function: str, *given: Any) -> Any:
    (found,) = one(db, function, *given).__dict__.values()
    return found


def text_of(given: dict[str, Any]) -> str:
    """Arguments as they can be read."""
    return json.dumps({k: getattr(v, "obj", v) for k, v in given.items()}, default=str)
