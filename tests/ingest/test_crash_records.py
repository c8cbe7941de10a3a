"""Eight writers of all that is recorded, and a server or a session of it that is killed with -9.

Told and appended turns, edges, originals, corpora with atoms and embeddings, erasures, synonyms and
moves: each writer has its own, and knows what it was acknowledged last.
"""

from __future__ import annotations

import json
import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.server import embedded
from tests.documents import document
from tests.ingest import test_crash_writers as writers
from tests.ingest.test_crash import kill
from tests.sql.conversations import conversation, message, uuid
from tests.waiting import until

TURNS = 4
HELD = """
  select case when s.uri like 'session:%%' then 'appended' else s.uri end,
    array_agg(c.text order by c.ordinal)
  from ragdb.document_sources s join ragdb.chunks c using (corpus_id, doc_no)
    join ragdb.corpora o using (corpus_id)
  where o.name = 'docs' and s.uri = any (%(uris)s) or o.name = 'past' and s.uri = %(past)s
  group by s.uri
  union all
  select 'edge ' || p.chunk_id || ' ' || k.chunk_id, '{}'
  from ragdb.edges e join ragdb.corpora o using (corpus_id)
    join ragdb.chunks p on p.corpus_id = e.corpus_id and p.chunk_no = e.parent_no
    join ragdb.chunks k on k.corpus_id = e.corpus_id and k.chunk_no = e.child_no
  where o.name = 'docs' and e.is_added and p.chunk_id = any (%(turns)s)
  union all
  select 'original ' || b.cid, '{}' from ragdb.corpus_blobs b where b.cid = %(cid)s
  union all
  select 'corpus', array[(
      select count(*) from ragdb.semantic_atoms a where a.corpus_id = c.corpus_id)::text]
  from ragdb.corpora c where c.name = %(own)s
  union all
  select 'synonym', array[s.means] from ragdb.synonyms s where s.word = %(word)s
"""


class Recorder(writers.Writer):
    """One that writes what leaves records beside documents."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.own, self.past, self.word = f"own{number}", f"p{number}.md", f"word{number}"
        self.joined, self.told = f"joined{number}", f"told{number}"
        self.turns = [uuid(1000 * (number + 1) + n) for n in range(2 * TURNS)]
        self.original = document(f"o{number}.bin", [f"bytes of {number}"], data=b"%d" % number)

    def messages(self, first: int, edition: int = 0) -> list[dict[str, Any]]:
        start = 1000 * (self.number + 1) + first
        return [message(start + n, text=f"common turn {n} e{edition}") for n in range(TURNS)]

    def prepare(self, db: psycopg.Connection[Any]) -> None:
        if self.number == 0:
            db.execute("select ragdb.create_corpus('past', history => '90 years')")
            db.execute("select ragdb.create_embedder('e', 2), ragdb.create_embedder('f', 2)")
            db.execute("select ragdb.create_signing_key('k1')")
        self.tell(db, "docs", self.joined, self.messages(0))
        self.acknowledged[f"chat.jsonl#{self.joined}"] = [m["text"] for m in self.messages(0)]

    def tell(
        self, db: psycopg.Connection[Any], corpus: str, session: str, said: list[dict[str, Any]]
    ) -> None:
        given = json.dumps([conversation(said, session)])
        db.execute("select ragdb.put_conversations(%s, %s)", (corpus, given))

    def held(self, db: psycopg.Connection[Any]) -> dict[str, list[str]]:
        uris = [f"chat.jsonl#{s}" for s in (self.joined, self.told)]
        uris += [f"session:a{self.number}", self.original["uri"]]
        sought = {
            "uris": uris, "past": self.past, "turns": self.turns, "own": self.own,
            "cid": self.original["doc_cid"], "word": self.word,
        }  # fmt: skip
        if self.number == 0:
            wrong = "select place, finding from ragdb.verify() where severity = 'error'"
            db.execute("reset role")
            assert db.execute(wrong).fetchall() == []
            db.execute("set role ragdb_owner")
        return dict(db.execute(HELD, sought).fetchall())

    def step(self, db: psycopg.Connection[Any]) -> None:
        self.edition += 1
        kinds = (
            self.append, self.tell_again, self.join, self.bring, self.forget, self.make, self.stand,
            self.upkeep,
        )  # fmt: skip
        with db.transaction():
            self.random.choice(kinds)(db)
        self.acknowledged |= self.asked
        self.asked = {}
        self.commits += 1

    def append(self, db: psycopg.Connection[Any]) -> None:
        text = f"common appended {self.edition}"
        self.asked = {"appended": [*(self.acknowledged.get("appended") or []), text]}
        turn = json.dumps([{"id": f"{self.number}-{self.edition}", "text": text}])
        db.execute("select ragdb.append_turns('docs', %s, %s)", (f"a{self.number}", turn))

    def tell_again(self, db: psycopg.Connection[Any]) -> None:
        said = self.messages(TURNS, self.edition)[: self.random.randint(1, TURNS)]
        self.asked = {f"chat.jsonl#{self.told}": [m["text"] for m in said]}
        self.tell(db, "docs", self.told, said)

    def join(self, db: psycopg.Connection[Any]) -> None:
        parent, child = sorted(self.random.sample(self.turns[:TURNS], 2))
        name, edge = f"edge {parent} {child}", json.dumps([{"parent": parent, "child": child}])
        is_there = self.acknowledged.get(name) is not None
        self.asked = {name: None if is_there else []}
        verb = "remove_edges" if is_there else "add_edges"
        db.execute(f"select ragdb.{verb}('docs', %s)", (edge,))

    def bring(self, db: psycopg.Connection[Any]) -> None:
        uri, name = self.original["uri"], f"original {self.original['doc_cid']}"
        if self.acknowledged.get(name) is None:
            self.asked = {name: [], uri: [f"bytes of {self.number}"]}
            db.execute("select ragdb.put_blob(%s, 'x/y')", (b"%d" % self.number,))
            db.execute("select ragdb.put_documents('docs', %s)", (json.dumps([self.original]),))
        else:
            self.asked = {name: None, uri: None}
            db.execute("select ragdb.delete_source('docs', %s)", (uri,))

    def forget(self, db: psycopg.Connection[Any]) -> None:
        is_there = self.acknowledged.get(self.past) is not None
        text = f"past {self.edition}"
        self.asked = {self.past: None if is_there and self.edition % 2 else [text]}
        if self.asked[self.past] is None:
            db.execute("select ragdb.erase_source('past', %s, 'on request')", (self.past,))
        else:
            db.execute("select ragdb.put_text('past', %s, %s)", (self.past, text))

    def make(self, db: psycopg.Connection[Any]) -> None:
        """A corpus with an atom and embeddings, which goes by an erasure, a move or at once."""
        if self.acknowledged.get("corpus") is None:
            self.asked = {"corpus": ["1"]}
            db.execute("select ragdb.create_corpus(%s)", (self.own,))
            self.tell(db, self.own, "s", [message(1, text="How are refunds paid?")])
            db.execute(
                "select ragdb.promote_to_atom((array_agg(r.trace_id))[1], array_agg(r.chunk_id),"
                " 'How are refunds paid?', 'lenient')"
                " from ragdb.retrieve_slice(%s, 'refunds', anchor => %s) r",
                (self.own, uuid(1)),
            )
            db.execute("select ragdb.embed_corpus(%s, 'e')", (self.own,))
        elif self.acknowledged["corpus"] == ["1"]:
            self.asked = {"corpus": ["0"]}
            db.execute("select ragdb.delete_source(%s, 'chat.jsonl#s', 'erase')", (self.own,))
        else:
            self.asked = {"corpus": None}
            db.execute("select ragdb.drop_corpus(%s, 'it is done')", (self.own,))

    def stand(self, db: psycopg.Connection[Any]) -> None:
        is_there = self.acknowledged.get("synonym") is not None
        self.asked = {"synonym": None if is_there else [f"common{self.number}"]}
        if is_there:
            db.execute("select ragdb.remove_synonyms('docs', %s)", (self.word,))
        else:
            words = [self.word, f"common{self.number}"]
            db.execute("select ragdb.add_synonyms('docs', %s)", (words,))

    def upkeep(self, db: psycopg.Connection[Any]) -> None:
        """What changes nothing that anybody asked for."""
        self.asked = {}
        calls = ["ragdb.optimize_corpus('docs')", "ragdb.seal_ledger()", "ragdb.refresh_rollups()"]
        if self.acknowledged.get("corpus") is not None:
            own = f"'{self.own}'"
            calls.append(f"ragdb.begin_move({own}, 'there') b, ragdb.leave_move(b.move_id)")
            first = "select from ragdb.corpus_embedder(%s) where name = 'e'"
            if db.execute(first, (self.own,)).rowcount:
                switch = f"ragdb.cutover_corpus({own}, 'f', true)"
                calls.append(f"ragdb.reembed_corpus({own}, 'f'), {switch}")
        db.execute(f"select from {self.random.choice(calls)}")


def end_a_session(folder: Path) -> None:
    """Kill one session that writes: the server ends all others, and recovers by itself."""
    dsn = embedded.dsn(folder)
    with suppress(psycopg.OperationalError), psycopg.connect(dsn) as db:
        writing = "select pid from pg_stat_activity where backend_xid is not null"
        pids = until(lambda: db.execute(writing).fetchall())
        os.kill(random.Random(len(pids)).choice(pids)[0], signal.SIGKILL)


@pytest.mark.nightly
def test_eight_writers_of_all_that_is_recorded_lose_nothing(killable: Path) -> None:
    writers.survive(killable, 200, Recorder, (kill, end_a_session))
