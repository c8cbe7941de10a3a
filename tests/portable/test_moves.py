"""`ragdb corpus move`: what is written meanwhile moves too, and there is one corpus at the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.client.corpora import searched
from ragdb.errors import (
    AlreadyExists,
    CorpusMoved,
    CorpusNotFound,
    EmbedderNotFound,
    InvalidImport,
    MoveDelayed,
    MoveFailed,
    NotAuthorized,
    SliceNotFound,
)
from ragdb.models import encoders
from ragdb.models.worker import Worker
from ragdb.portable import mover
from tests.conftest import Server
from tests.portable.test_portable import chunked, document, fill, said
from tests.sql.conversations import message

WORDS = ("pump", "valve", "grinder", "filter", "pressure", "deposit", "tank", "oil", "seal")


@pytest.fixture(scope="module")
def pair(server18: Server) -> Iterator[tuple[str, str]]:
    """DSNs of two databases; each test moves corpora of names of its own."""
    with server18.database() as one, server18.database() as two:
        dsns = server18.dsn(one.dbname), server18.dsn(two.dbname)
        for dsn in dsns:
            with ragdb.connect(dsn) as db:
                db.create_embedder("small", 16)
                db.bind_embedder("small", "hash", "hash-v1")
        yield dsns


def small(dsn: str, name: str, count: int = 6) -> None:
    """Documents of two words each."""
    texts = [f"{WORDS[n]} {WORDS[n + 1]}" for n in range(count)]
    with ragdb.connect(dsn) as db:
        db.create_corpus(name)
        db.put_texts(name, texts, ids=[f"{n}.txt" for n in range(count)])


def hits(db: ragdb.Database, name: str, vectors: bool = True) -> list[Any]:
    encoder = encoders.HashEncoder(16)
    return [
        (mode, question, hit.rank, hit.chunk_id, hit.score, hit.source)
        for question in WORDS
        for mode in (("lexical", "semantic", "hybrid") if vectors else ("lexical",))
        for hit in db.search(
            name,
            question,
            k=20,
            mode=mode,
            query_embedding=encoder.encode([question])[0].tolist() if mode != "lexical" else None,
        )
    ]


def lives(dsn: str, name: str) -> bool:
    """Whether a database answers for a corpus."""
    with ragdb.connect(dsn) as db:
        try:
            db.search(name, "pump")
        except (CorpusMoved, CorpusNotFound):
            return False
        return True


class Between(ragdb.Database):
    """A connection that calls back around each function."""

    def around(self, call: Callable[[str, str], None]) -> Between:
        self._around = call
        return self

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in STEPS:
            return found

        def called(*args: Any, **how: Any) -> Any:
            self._around("before", name)
            result = found(*args, **how)
            self._around("after", name)
            return result

        return called


STEPS = {
    *("begin_move", "accept_move", "move_page", "receive_move", "import_documents", "put_blob"),
    *("import_embeddings", "check_move", "hold_move", "move_digest", "ready_move", "finish_move"),
    *("move_receipt", "open_move", "announce_move"),
}


def between(dsn: str, call: Callable[[str, str], None]) -> Between:
    return Between(ragdb.connect(dsn).connection).around(call)


@dataclass
class Writer:
    """Random writes by another connection, some in a transaction that stays open over pages."""

    dsn: str
    name: str
    seed: int
    at_the_hold: dict[str, Any] = field(default_factory=dict)
    writes: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.db = ragdb.connect(self.dsn)
        self.open = False

    def around(self, when: str, step: str) -> None:
        if (when, step) == ("after", "move_page") and not self.at_the_hold.get("held"):
            for _ in range(self.random.randrange(1, 5)):
                self.write()
        elif (when, step) == ("before", "hold_move"):
            self.write()
            self.end()
            Worker(self.dsn, corpus=self.name).run(until="empty")
            self.at_the_hold["held"] = True
        elif (when, step) == ("before", "finish_move"):
            self.at_the_hold |= self.said(self.db)

    def said(self, db: ragdb.Database) -> dict[str, Any]:
        return {
            "header": db.export_corpus(self.name),
            "hits": hits(db, self.name),
            "synonyms": db.list_synonyms(self.name),
            "roots": db.connection.execute(
                "select s.uri, s.root from ragdb.document_sources s join ragdb.corpora c"
                " using (corpus_id) where c.name = %s order by 1",
                (self.name,),
            ).fetchall(),
            "wrong": db.check_corpus(self.name),
        }

    def end(self) -> None:
        if self.open:
            self.db.connection.execute("commit")
            self.open = False

    def write(self) -> None:
        self.writes += 1
        if not self.open and self.random.random() < 0.3:
            self.db.connection.execute("begin")
            self.open = True
        n = self.random.randrange(12)
        text = " ".join(self.random.choices(WORDS, k=self.random.randrange(2, 9)))
        match self.random.randrange(9):
            case 0 | 1:
                self.db.put_documents(
                    self.name, [document(f"{n}.txt", text, root=f"/{n}", adopt=True)]
                )
            case 2:
                self.db.delete_sources(self.name, [f"{n}.txt"])
            case 3:
                self.db.put_text(self.name, f"{n}.txt", text, title=text[:9], metadata={"n": n})
            case 4:
                number = 100 * self.seed + self.writes
                self.db.append_turns(self.name, f"s{n % 2}", [message(number, text=text)])
            case 5:
                self.db.put_text(self.name, f"also/{n}.txt", text, external_id=f"id{n}")
            case 6:
                ids = [hit.chunk_id for hit in self.db.search(self.name, text, k=2)]
                if len(ids) == 2:
                    self.db.add_edges(self.name, [{"parent": ids[0], "child": ids[1]}])
            case 7:
                self.db.add_synonyms(self.name, self.random.sample(WORDS, 2))
            case 8:
                cid = self.db.put_blob(text.encode(), "text/plain", self.name)
                assert cid
        if self.open and self.random.random() < 0.5:
            self.end()


NIGHTS = [pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 9)]


@pytest.mark.parametrize("seed", [1, *NIGHTS])
def test_a_corpus_that_is_written_to_arrives_as_it_was_when_it_was_closed(
    pair: tuple[str, str], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"written-{seed}"
    small(pair[0], name, 8)
    with ragdb.connect(pair[0]) as db:
        db.embed_corpus(name, "small")
        # its clock is ahead of that of the other machine
        ahead = "update ragdb.corpora set lamport = lamport + 10 ^ 12 where name = %s"
        db.connection.execute(ahead, (name,))
    Worker(pair[0], corpus=name).run(until="empty")
    writer = Writer(pair[0], name, seed)
    monkeypatch.setattr(mover, "SMALL", 6)
    monkeypatch.setattr(mover, "PATIENCE", 3)
    whole = Between.move_page

    def few(self: Any, move_id: Any, applied: int | None = None, count: int = 5) -> Any:
        return whole(self, move_id, applied, count)

    monkeypatch.setattr(Between, "move_page", few)
    source = between(pair[0], writer.around)
    with ragdb.connect(pair[1]) as target:
        moved = mover.move(source, target, name)
        assert writer.writes > 5
        assert moved.pages > 3
        assert moved.pause_ms
        print(
            f"{writer.writes} writes, {moved.pages} pages, writers waited {moved.pause_ms:.0f} ms"
        )
        assert writer.at_the_hold.pop("held")
        assert writer.said(target) == writer.at_the_hold
        assert writer.at_the_hold["wrong"] == []
        with pytest.raises(CorpusMoved, match=target.connection.info.dbname):
            writer.db.put_text(name, "late.txt", "too late")
        target.put_text(name, "late.txt", "a late rotor")
        assert target.search(name, "late")[0].source == "late.txt"
        # who has read there to the end reads all of them here, though this clock is behind
        with psycopg.connect(pair[0]) as there:
            read = there.execute("select lamport from ragdb.corpora where name = %s", (name,))
            told = {e.source for e in target.corpus_events(name, read.fetchall()[0][0], 1000)}
        assert told == {row.source for row in target.list_documents(name)}
    writer.db.connection.close()
    source.connection.close()


def test_a_corpus_moves_between_two_asynchronous_connections(pair: tuple[str, str]) -> None:
    small(pair[0], "awaited")

    async def move() -> tuple[int, list[str]]:
        async with await ragdb.aconnect(pair[0]) as source, await ragdb.aconnect(pair[1]) as target:
            moved = await source.move_corpus("awaited", target, longest=20)
            assert (await source.corpus_info("awaited")).moved_to == moved.destination
            return moved.documents, [d.source for d in await target.list_documents("awaited")]

    assert asyncio.run(move()) == (6, [f"{n}.txt" for n in range(6)])


def test_the_same_bytes_under_two_names_move_in_two_pages(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Between.move_page

    def single(self: Any, move_id: Any, applied: int | None = None, count: int = 1) -> Any:
        return whole(self, move_id, applied, count)

    monkeypatch.setattr(Between, "move_page", single)
    with ragdb.connect(pair[0]) as db:
        db.create_corpus("copied")
        db.embed_corpus("copied", "small")
        for name in ("a.txt", "b.txt"):
            db.put_text("copied", name, "pump valve")
    Worker(pair[0], corpus="copied").run(until="empty")
    source = between(pair[0], lambda when, step: None)
    with ragdb.connect(pair[1]) as target:
        before = hits(source, "copied")
        assert mover.move(source, target, "copied").pages == 2
        assert hits(target, "copied") == before
    source.connection.close()


def test_a_document_moves_again_where_what_it_was_joined_to_has_moved_within_its_own(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mover, "SMALL", 1)
    texts = ["pump", "valve"]

    def rewrite(when: str, step: str) -> None:
        if (when, step) == ("after", "move_page") and len(texts) == 2:
            texts.insert(0, "oil")
            with ragdb.connect(pair[0]) as writer:
                writer.put_documents("joined", [chunked("b.txt", texts)])

    with ragdb.connect(pair[0]) as db:
        db.create_corpus("joined")
        db.put_documents("joined", [chunked("a.txt", ["seal"]), chunked("b.txt", texts)])
        (seal,) = db.document_chunks("joined", "a.txt")
        _, valve = db.document_chunks("joined", "b.txt")
        db.add_edges("joined", [{"parent": seal.chunk_id, "child": valve.chunk_id}])
    source = between(pair[0], rewrite)
    with ragdb.connect(pair[1]) as target:
        mover.move(source, target, "joined")
        assert [e.child_id for e in target.get_children("joined", seal.chunk_id)] == [
            valve.chunk_id
        ]
        assert [c.text for c in target.document_chunks("joined", "b.txt")] == texts
    source.connection.close()


def test_everything_that_an_export_has_moves(clone: str, pair: tuple[str, str]) -> None:
    fill(clone)
    with ragdb.connect(clone) as source, ragdb.connect(pair[1]) as target:
        source.grant_corpus("house", "writer", "write")
        source.record_reads("house", "on")
        source.keep_history("house", timedelta(days=9))
        before = said(source)
        mover.move(source, target, "house")
        assert said(target) == before
        grants = [(row.role, row.privilege) for row in target.list_grants("house")]
        assert grants == [("writer", "write")]
        assert target.corpus_info("house").history == timedelta(days=9)


def test_what_was_recorded_stays_and_can_be_proven(pair: tuple[str, str]) -> None:
    small(pair[0], "kept")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        trace = source.retrieve("kept", "grinder", k=3)[0].trace_id
        mover.move(source, target, "kept")
        assert all(row.is_intact for row in source.verify_trace(trace))
        assert source.replay(trace).verdict == "exact"
        assert trace in {row.id for row in source.list_traces("kept")}
        assert [*source.list_slices("kept"), *source.list_atoms("kept")] == []
        assert [*source.list_proposals("kept"), *source.list_incidents("kept")] == []
        for read in (source.get_slice, source.slice_members, source.slice_graph):
            with pytest.raises(SliceNotFound):
                read("kept", "0" * 64)
        # where another has gone later is not where this one is
        small(pair[0], "later")
        mover.move(source, target, "later")
        source.connection.execute("update ragdb.moves set peer = 'far' where corpus = 'later'")
        for asked in (
            lambda: source.search("kept", "grinder"),
            lambda: source.retrieve("kept", "grinder"),
            lambda: source.list_documents("kept"),
            lambda: source.optimize_corpus("kept"),
        ):
            with pytest.raises(CorpusMoved) as moved:
                asked()
            assert '"far"' not in str(moved.value)
        source.drop_corpus("kept")
        with pytest.raises(CorpusNotFound):
            source.search("kept", "grinder")


class Killed(Exception):
    pass


def killed_at(pair: tuple[str, str], name: str, when: str, step: str) -> None:
    """A move whose courier is gone at a step, with both of its connections."""

    def around(at: str, called: str) -> None:
        if (at, called) == (when, step):
            for db in (source, target):
                db.connection.close()
            raise Killed

    source, target = (between(dsn, around) for dsn in pair)
    try:
        mover.move(source, target, name)
    except (Killed, psycopg.OperationalError):
        pass
    else:
        raise AssertionError(f"{step} was not called")
    finally:
        source.connection.close()
        target.connection.close()


KILLS = (
    ("after", "begin_move"),
    ("after", "accept_move"),
    ("after", "move_page"),
    ("after", "receive_move"),
    ("after", "import_documents"),
    ("before", "check_move"),
    ("after", "hold_move"),
    ("after", "ready_move"),
    ("after", "finish_move"),
    ("before", "move_receipt"),
    ("before", "open_move"),
    ("before", "announce_move"),
)
BY_DAY = {
    ("accept_move", True),
    ("import_documents", False),
    ("ready_move", False),
    ("finish_move", True),
    ("move_receipt", False),
    ("open_move", True),
}


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("when", "step", "abandons"),
    [
        pytest.param(
            when,
            step,
            abandons,
            marks=[] if (step, abandons) in BY_DAY else pytest.mark.nightly,
        )
        for when, step in KILLS
        for abandons in (False, True)
    ],
)
def test_a_courier_that_is_killed_can_go_on_or_give_up(
    pair: tuple[str, str], when: str, step: str, abandons: bool
) -> None:
    closed = step in ("move_receipt", "open_move", "announce_move")
    name = f"killed-{step}-{abandons}".lower().replace("_", "-")
    small(pair[0], name)
    killed_at(pair, name, when, step)
    # never both, and the source for as long as it is not closed
    assert lives(pair[0], name) is not closed
    assert lives(pair[1], name) is (step == "announce_move")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        if not closed:
            source.put_text(name, "meanwhile.txt", "written while nobody moves it")
            source.delete_sources(name, ["0.txt"])
            before = source.export_corpus(name)["digest"], hits(source, name, vectors=False)
        if abandons and step == "announce_move":
            with pytest.raises(MoveFailed, match="has moved"):
                mover.abandon(source, target, name)
        elif abandons:
            assert mover.abandon(source, target, name)
            assert not mover.abandon(source, target, name)
            assert lives(pair[0], name)
            assert not lives(pair[1], name)
            target.create_corpus(name)  # the name is free again
            source.put_text(name, "after.txt", "as before")
            return
        mover.move(source, target, name)
        assert (lives(pair[0], name), lives(pair[1], name)) == (False, True)
        if not closed:
            after = target.export_corpus(name)["digest"], hits(target, name, vectors=False)
            assert after == before


SILENT = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout)


def test_writers_are_held_for_a_bounded_time(pair: tuple[str, str]) -> None:
    small(pair[0], "held")
    with (
        ragdb.connect(pair[0]) as source,
        ragdb.connect(pair[1]) as target,
        ragdb.connect(pair[0]) as writer,
    ):
        with writer.connection.transaction():
            writer.put_text("held", "slow.txt", "a writer that takes its time")
            with pytest.raises(MoveDelayed, match="could not be held"):
                mover.move(source, target, "held", longest=0.02)
        assert source.list_moves("held") == []
        source.begin_move("held", "there")
        with writer.connection.transaction():
            writer.put_text("held", "slow.txt", "a writer that takes its time again")
            with pytest.raises(MoveDelayed, match="could not be held"):
                mover.move(source, target, "held", longest=0.02)
        (row,) = source.list_moves("held")
        # a courier that falls silent loses its session, and the writers go on
        source.connection.execute("begin")
        source.hold_move(row.move_id, timedelta(milliseconds=50))
        writer.put_text("held", "waited.txt", "waited for the hold to end")
        with pytest.raises(SILENT):
            source.search("held", "pump")
    with (
        ragdb.connect(pair[0]) as source,
        ragdb.connect(pair[1]) as target,
        ragdb.connect(pair[0]) as reader,
    ):
        with source.connection.transaction():
            source.hold_move(row.move_id, timedelta(minutes=10))
            assert reader.retrieve("held", "pump")
        # one that is slow is refused, and what it did is undone
        source.connection.execute("begin")
        source.hold_move(row.move_id, timedelta(minutes=10))
        source.connection.execute(
            "update ragdb.moves set held_until = clock_timestamp() - interval '1 second'"
            " where move_id = %s",
            (row.move_id,),
        )
        with pytest.raises(MoveDelayed, match="as long as they may"):
            source.move_page(row.move_id)
        source.connection.execute("rollback")
        mover.move(source, target, "held")
        assert {"slow.txt", "waited.txt"} <= {d.source for d in target.list_documents("held")}


def test_the_side_that_arrives_opens_only_once_the_other_is_closed(pair: tuple[str, str]) -> None:
    small(pair[0], "proof")
    killed_at(pair, "proof", "before", "finish_move")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        (row,) = source.list_moves("proof")
        for receipt in (b"", b"x" * 32, target.list_moves("proof")[0].header["receipt"].encode()):
            with pytest.raises(MoveFailed, match="not proven"):
                target.open_move(row.move_id, receipt)
        with pytest.raises(MoveFailed, match="is copying"):
            source.move_receipt(row.move_id)
        with pytest.raises(MoveFailed, match="not all there"):
            source.finish_move(row.move_id)
        source.connection.execute("begin")
        source.hold_move(row.move_id)
        courier = mover._Courier(source, target, "proof", row.move_id, None)
        courier._send(0)
        courier._compare()
        target.ready_move(row.move_id, source.move_digest(row.move_id))
        source.finish_move(row.move_id)
        with pytest.raises(MoveFailed, match="not closed yet"):
            source.move_receipt(row.move_id)
        source.connection.execute("rollback")
        assert lives(pair[0], "proof")
        mover.abandon(source, target, "proof")


def test_a_corpus_that_arrives_is_not_opened_by_the_end_of_an_import(
    pair: tuple[str, str],
) -> None:
    small(pair[0], "arriving")
    killed_at(pair, "arriving", "after", "check_move")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        (row,) = target.list_moves("arriving")
        with target.connection.transaction():
            target.receive_move(row.move_id)
            header = target.export_corpus("arriving")
        with target.connection.transaction():
            target.receive_move(row.move_id)
            with pytest.raises(InvalidImport, match="by a move"):
                target.finish_import("arriving", header)
            raise psycopg.Rollback
        assert not lives(pair[1], "arriving")
        # nor by a row that no import has ever named
        target.connection.execute(
            "update ragdb.corpora set import_xid = null where name = 'arriving'"
        )
        assert not lives(pair[1], "arriving")
        mover.abandon(source, target, "arriving")


HEADERS: list[dict[str, Any]] = [
    {"move": None},
    {"move": "x"},
    {"receipt": "zz"},
    {"rights": {"grants": ["x"]}},
    {"version": "another"},
]
DIGESTS: list[dict[str, Any]] = [
    {"rights": None},
    {"rights": {"grants": [], "is_restricted": False, "record_reads": "off"}},
    {"rights": {"grants": {"reader": "own"}, "is_restricted": True, "record_reads": "off"}},
    {"rights": {"grants": {}, "is_restricted": "x", "record_reads": "off"}},
    {"rights": {"grants": {}, "is_restricted": False, "record_reads": "x"}},
    {"settings": None},
    {"synonyms": "x"},
    {"synonyms": [[None, None]]},
    {"lamport": None},
    {"lamport": "x"},
    {"lamport": -1},
    {"lamport": 2**63 - 1},
    {"history": "x"},
    {"history": "-5 days"},
    {"more": 1},
]


def test_what_no_other_side_says_is_refused_before_the_source_is_closed(
    pair: tuple[str, str],
) -> None:
    small(pair[0], "said")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        begun = source.begin_move("said", "there")
        for harm in HEADERS:
            with pytest.raises(MoveFailed):
                target.accept_move(begun.header | harm, "here")
        target.accept_move(begun.header, "here")
        with pytest.raises(AlreadyExists):
            target.accept_move(begun.header, "here")
        with pytest.raises(MoveFailed, match="what came is not"):
            target.receive_move(begun.move_id, [1, 1], ["a", "b"], [b"x", b"y"])
        courier = mover._Courier(source, target, "said", begun.move_id, None)
        with source.connection.transaction():
            source.hold_move(begun.move_id)
            courier._send(0)
            courier._compare()
            digest = source.move_digest(begun.move_id)
            for harm in DIGESTS:
                with pytest.raises(MoveFailed):
                    target.ready_move(begun.move_id, digest | harm)
            for left_out in digest.keys() - {"history"}:
                with pytest.raises(MoveFailed):
                    target.ready_move(
                        begun.move_id, {k: v for k, v in digest.items() if k != left_out}
                    )
            target.ready_move(begun.move_id, digest)
        mover.move(source, target, "said")
        assert (lives(pair[0], "said"), lives(pair[1], "said")) == (False, True)


def test_who_drops_a_corpus_that_leaves_gives_its_move_up(pair: tuple[str, str]) -> None:
    small(pair[0], "dropped")
    killed_at(pair, "dropped", "after", "check_move")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        source.drop_corpus("dropped")
        assert [row.state for row in source.list_moves("dropped")] == ["left"]
        assert mover.abandon(source, target, "dropped")
        assert not mover.abandon(source, target, "dropped")
        small(pair[0], "dropped")
        moved = mover.move(source, target, "dropped")
        assert moved.documents == 6
        # and where it arrives
        small(pair[0], "dropped-there")
    killed_at(pair, "dropped-there", "after", "check_move")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        (row,) = target.list_moves("dropped-there")
        with target.connection.transaction():
            target.receive_move(row.move_id)
            target.drop_corpus("dropped-there")
        assert [row.state for row in target.list_moves("dropped-there")] == ["left"]
        assert mover.abandon(source, target, "dropped-there")
        assert mover.move(source, target, "dropped-there").documents == 6


def test_what_is_damaged_on_the_way_does_not_open(pair: tuple[str, str]) -> None:
    for name, damage in (
        ("bent", "update ragdb.documents d set title = 'another' from ragdb.corpora c"),
        ("lost", "delete from ragdb.documents d using ragdb.corpora c"),
    ):
        small(pair[0], name)

        def around(when: str, step: str, name: str = name, damage: str = damage) -> None:
            if (when, step) == ("before", "check_move"):
                with psycopg.connect(pair[1]) as other:
                    other.execute(
                        f"{damage} where c.corpus_id = d.corpus_id and c.name = %s"
                        " and d.source = '1.txt'",
                        (name,),
                    )

        target = between(pair[1], around)
        with ragdb.connect(pair[0]) as source:
            with pytest.raises(MoveFailed, match="is not what left") as caught:
                mover.move(source, target, name)
            assert "1.txt" in str(caught.value.diag.message_detail)
            assert lives(pair[0], name)
            assert not lives(pair[1], name)
            mover.abandon(source, target, name)
        target.connection.close()


def test_a_corpus_that_cannot_arrive_stays_as_it_is(pair: tuple[str, str]) -> None:
    small(pair[0], "stays")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:

        def refused(error: type[Exception], match: str) -> None:
            with pytest.raises(error, match=match):
                mover.move(source, target, "stays")
            source.put_text("stays", "still.txt", "still written")
            assert source.list_moves("stays")[-1].state == "left"

        target.create_corpus("stays")
        refused(AlreadyExists, "exists already")
        target.drop_corpus("stays")

        stamp = target.connection.execute(
            "select obj_description('ragdb'::regnamespace, 'pg_namespace')"
        ).fetchone()
        assert stamp
        other = f"{stamp[0][:-4]}beef"
        target.connection.execute(
            psycopg.sql.SQL("comment on schema ragdb is {}").format(psycopg.sql.Literal(other))
        )
        # psycopg shows the detail with the message
        refused(MoveFailed, f'(?s)another version.*"ragdb .*{stamp[0][-16:]}".*"ragdb .*beef"')
        target.connection.execute(
            psycopg.sql.SQL("comment on schema ragdb is {}").format(psycopg.sql.Literal(stamp[0]))
        )

        source.create_embedder("far", 8, model="far")
        source.bind_embedder("far", "sentence-transformers", "far/model")
        source.create_corpus("far-away")
        source.embed_corpus("far-away", "far")
        with pytest.raises(EmbedderNotFound, match='"far" is not bound here'):
            mover.move(source, target, "far-away")

        source.connection.execute("create role only_there")
        source.grant_corpus("stays", "only_there", "read")
        # both databases are of one server here: the role is gone before it is looked for
        source.begin_move("stays", "elsewhere")
        header = source.list_moves("stays")[-1].header
        header["rights"]["grants"]["nobody"] = "read"
        with pytest.raises(MoveFailed, match="do not exist here"):
            target.accept_move(header, "here")
        source.leave_move(source.list_moves("stays")[-1].move_id)
        source.revoke_corpus("stays", "only_there")
        source.connection.execute("drop role only_there")

        source.begin_move("stays", "elsewhere")
        with pytest.raises(MoveFailed, match="moves to another database"):
            source.share_corpus("stays")
        source.leave_move(source.list_moves("stays")[-1].move_id)
        source.share_corpus("stays")
        with pytest.raises(MoveFailed, match="cannot move"):
            source.begin_move("stays", "elsewhere")

        source.create_corpus("whole")
        source.create_corpus("part", part_of="whole")
        with pytest.raises(MoveFailed, match="cannot move"):
            source.begin_move("part", "elsewhere")


def test_who_may_move_a_corpus_and_who_sees_it_on_the_way(pair: tuple[str, str]) -> None:
    small(pair[0], "ours")

    def connect(dsn: str, role: str) -> ragdb.Database:
        return ragdb.connect(make_conninfo(dsn, user=role))

    with (
        connect(pair[0], "writer") as writer,
        connect(pair[0], "admin") as admin,
        connect(pair[1], "reader") as reader,
        connect(pair[1], "writer2") as writer2,
        connect(pair[1], "writer") as target,
    ):
        with pytest.raises(NotAuthorized):
            writer.begin_move("ours", "elsewhere")
        with pytest.raises(NotAuthorized):
            mover.move(admin, reader, "ours")
        begun = admin.begin_move("ours", "elsewhere")
        target.accept_move(begun.header, "here")
        for call in (
            lambda: writer2.receive_move(begun.move_id),
            lambda: writer2.open_move(begun.move_id, b""),
            lambda: writer2.leave_move(begun.move_id),
        ):
            with pytest.raises(MoveFailed, match="no move"):
                call()
        with pytest.raises(NotAuthorized):
            writer.move_page(begun.move_id)
        assert writer.list_moves() == []
        for other in (reader, writer2, target):
            with pytest.raises(CorpusNotFound):
                other.search("ours", "pump")
            assert "ours" not in {row.name for row in other.list_corpora()}
        with pytest.raises(CorpusNotFound):
            writer2.put_text("ours", "x", "x")
        with pytest.raises(AlreadyExists):
            writer2.create_corpus("ours")
        mover.move(admin, target, "ours")
        assert reader.search("ours", "pump")
        with pytest.raises(CorpusMoved, match="elsewhere"):
            writer.put_text("ours", "x", "x")
        with pytest.raises(MoveFailed, match="may be open"):
            admin.leave_move(begun.move_id)
        # for when the other side is lost
        assert admin.leave_move(begun.move_id, True)
        writer.put_text("ours", "x", "x")


def test_a_corpus_comes_back_and_moves_again(pair: tuple[str, str]) -> None:
    small(pair[0], "to-and-fro")
    with ragdb.connect(pair[0]) as here, ragdb.connect(pair[1]) as there:
        for source, target in ((here, there), (there, here), (here, there)):
            assert mover.move(source, target, "to-and-fro").documents == 6
            assert mover.move(source, target, "to-and-fro").pages == 0  # it has moved
            source.drop_corpus("to-and-fro")
        assert lives(pair[1], "to-and-fro")
        with pytest.raises(CorpusNotFound, match="to-and-fro"):
            mover.move(there, here, "to-and-fro-not")
        there.drop_corpus("to-and-fro")
        with pytest.raises(CorpusNotFound, match='"to-and-fro"'):
            mover.move(here, there, "to-and-fro")


def test_another_corpus_of_the_name_of_one_that_moved_has_not_moved(
    pair: tuple[str, str],
) -> None:
    small(pair[0], "name")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        mover.move(source, target, "name")
        source.drop_corpus("name")
        small(pair[0], "name", 3)
        assert not mover.abandon(source, target, "name")
        with pytest.raises(AlreadyExists):
            mover.move(source, target, "name")
        assert lives(pair[0], "name")
        target.drop_corpus("name")
        assert mover.move(source, target, "name").documents == 3


def test_what_is_dropped_once_it_is_closed_opens_where_it_arrived(pair: tuple[str, str]) -> None:
    """Else the only copy would be one that nobody can open."""
    small(pair[0], "dropped-closed")
    killed_at(pair, "dropped-closed", "before", "open_move")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        source.drop_corpus("dropped-closed")
        (row,) = source.list_moves("dropped-closed")
        with pytest.raises(MoveFailed, match="dropped here"):
            source.leave_move(row.move_id, reopen=True)
        source.connection.execute("set role ragdb_writer")
        with pytest.raises(MoveFailed, match="no move"):
            source.move_receipt(row.move_id)
        source.connection.execute("reset role")
        assert mover.move(source, target, "dropped-closed").documents == 6
    assert lives(pair[1], "dropped-closed")


def test_what_was_dropped_where_it_arrived_can_be_opened_again(pair: tuple[str, str]) -> None:
    small(pair[0], "dropped-arrived")
    with ragdb.connect(pair[0]) as source, ragdb.connect(pair[1]) as target:
        mover.move(source, target, "dropped-arrived")
        target.drop_corpus("dropped-arrived")
        with pytest.raises(MoveFailed, match="was dropped since"):
            mover.move(source, target, "dropped-arrived")
        assert mover.abandon(source, target, "dropped-arrived")
        assert mover.move(source, target, "dropped-arrived").documents == 6


def test_the_command_moves_and_gives_up(pair: tuple[str, str]) -> None:
    small(pair[0], "by-hand")
    run = CliRunner()
    move = ["corpus", "move", "by-hand", "-d", pair[0], "--to", pair[1]]
    killed_at(pair, "by-hand", "after", "accept_move")
    assert "stays here" in run.invoke(app, [*move, "--abandon"]).output
    assert "no move" in run.invoke(app, [*move, "--abandon"]).output
    done = run.invoke(app, [*move, "--destination", "db2", "--json"])
    assert done.exit_code == 0, done.output
    assert '"destination": "db2"' in done.output
    assert lives(pair[1], "by-hand")
    assert "moved to" in run.invoke(app, ["corpus", "optimize", "by-hand", "-d", pair[0]]).output


def test_python_moves_a_corpus_from_one_database_to_another(pair: tuple[str, str]) -> None:
    small(pair[0], "by-python")
    with ragdb.connect(pair[0]) as db, ragdb.connect(pair[1]) as target:
        before = hits(db, "by-python", vectors=False)
        moved = db.move_corpus("by-python", target, destination="db2")
        assert (moved.corpus, moved.destination, moved.documents) == ("by-python", "db2", 6)
        assert hits(target, "by-python", vectors=False) == before
        with pytest.raises(CorpusMoved, match="db2"):
            db.search("by-python", "pump")


def test_long_documents_are_stored_some_at_a_time(
    pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small(pair[0], "long")
    calls: list[str] = []
    monkeypatch.setattr(mover, "PORTION", 800)
    target = between(pair[1], lambda when, step: calls.append(step) if when == "after" else None)
    with ragdb.connect(pair[0]) as source:
        longest = max(len(row.document) for row in source.export_documents("long"))
        assert 400 < longest < 800
        assert mover.move(source, target, "long").documents == 6
    assert calls.count("import_documents") == 6
    target.connection.close()


def test_writers_wait_for_one_digest_of_what_leaves(pair: tuple[str, str]) -> None:
    small(pair[0], "digested")
    calls = (
        "select coalesce(max(calls), 0) from pg_stat_user_functions"
        " where funcname = 'corpus_digest' and schemaname = 'ragdb_internal'"
    )
    counted = ragdb.connect(f"{pair[0]} options='-c track_functions=pl'")
    with counted as source, ragdb.connect(pair[1]) as target:
        mover.move(source, target, "digested")
        source.connection.execute("select pg_stat_force_next_flush()")
        assert source.connection.execute(calls).fetchall() == [(1,)]
        (out,), (arrived,) = source.list_moves("digested"), target.list_moves("digested")
        assert out.digest == arrived.digest
        assert (out.held_at is None, arrived.held_at is None) == (False, True)


def test_a_right_is_not_taken_between_what_both_sides_agree_on_and_the_end(
    pair: tuple[str, str],
) -> None:
    small(pair[0], "granted", 1)
    with ragdb.connect(pair[0]) as admin, psycopg.connect(pair[0], autocommit=True) as other:
        admin.grant_corpus("granted", "reader", "read")
        other.execute("set lock_timeout = '200 ms'")
        take = "select ragdb.revoke_corpus('granted', 'reader')"

        def around(when: str, step: str) -> None:
            if (when, step) == ("before", "finish_move"):
                with pytest.raises(psycopg.errors.LockNotAvailable):
                    other.execute(take)

        with between(pair[0], around) as source, ragdb.connect(pair[1]) as target:
            mover.move(source, target, "granted", destination="the other")
        with pytest.raises(CorpusMoved):
            other.execute(take)


@pytest.mark.parametrize("change", ["another reads", "nobody reads", "everybody reads"])
def test_events_tell_of_all_rights_of_a_corpus_that_arrived(
    pair: tuple[str, str], change: str
) -> None:
    name = change.replace(" ", "-")
    small(pair[0], name, 1)

    def around(when: str, step: str) -> None:
        if (when, step) == ("before", "hold_move"):
            with ragdb.connect(pair[0]) as admin:
                if change == "another reads":
                    admin.grant_corpus(name, "reader2", "read")
                elif change == "everybody reads":
                    admin.unrestrict_corpus(name)
                if change != "everybody reads":
                    admin.revoke_corpus(name, "reader")

    with ragdb.connect(pair[1]) as target, between(pair[0], around) as source:
        source.grant_corpus(name, "reader", "read")
        mover.move(source, target, name)
        found = {f.place for f in target.verify(checks=["rights"])}
        assert f"corpus {name}" not in found


def test_what_is_asked_of_all_corpora_passes_over_one_that_moved(pair: tuple[str, str]) -> None:
    small(pair[0], "that-went")
    small(pair[0], "that-stayed")
    with ragdb.connect(pair[0]) as db, ragdb.connect(pair[1]) as there:
        mover.move(db, there, "that-went", destination="db2")
        found = {hit.corpus for hit in db.search(None, "pump")}
        assert "that-stayed" in found
        assert "that-went" not in found
        listed = {row.name: row for row in db.list_corpora()}
        assert (listed["that-went"].moved_to, listed["that-stayed"].moved_to) == ("db2", None)
        assert db.corpus_info("that-went").moved_to == "db2"
        assert "that-went" not in searched(list(listed.values()))
        assert "that-went" not in {row.corpus for row in db.advice()}
    run = CliRunner()
    assert "db2" in run.invoke(app, ["corpus", "ls", "-d", pair[0]]).output
    assert run.invoke(app, ["search", "pump", "-d", pair[0]]).exit_code == 0


@pytest.mark.nightly
@pytest.mark.parametrize(("before", "after"), [(16, 18), (18, 16)])
def test_a_corpus_moves_to_another_version_of_postgresql(
    request: pytest.FixtureRequest, before: int, after: int
) -> None:
    one, two = (request.getfixturevalue(f"server{version}") for version in (before, after))
    with one.database() as here, two.database() as there:
        small(one.dsn(here.dbname), "over")
        with (
            ragdb.connect(one.dsn(here.dbname)) as source,
            ragdb.connect(two.dsn(there.dbname)) as target,
        ):
            expected = source.export_corpus("over")["digest"], hits(source, "over", vectors=False)
            mover.move(source, target, "over")
            found = target.export_corpus("over")["digest"], hits(target, "over", vectors=False)
            assert found == expected
