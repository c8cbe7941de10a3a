"""`ragdb import` restores exactly what `ragdb export` wrote, or nothing."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest
from typer.testing import CliRunner

import ragdb
from ragdb.cli.main import app
from ragdb.errors import RagdbError
from ragdb.models import encoders
from ragdb.models.worker import Worker
from ragdb.portable import exporter, format, importer
from ragdb.portable.format import ExportError
from tests.conftest import Login, Server
from tests.sql.conversations import conversation, message, put, uuid

SAMPLES = Path(__file__).parents[2] / "examples/tool-library"
QUESTIONS = (
    "when is a deposit refunded",
    "angle grinder sparks",
    '"riving knife"',
    "who pays for wear",
)
MODES = ("lexical", "semantic", "hybrid", "reference")
Lines = list[dict[str, Any]]


def fill(dsn: str) -> None:
    """The samples and a conversation with all kinds of edges, embedded, under odd settings."""
    with ragdb.connect(dsn) as db:
        db.create_corpus("house", "The house", k1=1.5, b=0.3, record_query_text="hash")
        db.ingest([SAMPLES / "handbook", SAMPLES / "desk"], corpus="house")
        db.put_text(
            "house", "notes/ä.txt", "Grinders spark — ünïcode 🛠.", metadata={"n": 1.50, "é": ["x"]}
        )
        db.put_text("house", "also/ä.txt", "Grinders spark — ünïcode 🛠.", title="Second place")
        db.put_text("house", "named.txt", "Its own id.", external_id="named")
        db.put_text("house", "nothing.txt", "")
        messages = [
            message(1, text="The grinder sparks?", created_at="2026-03-01T10:00:00.123456Z"),
            message(2, [1], text="Ten metres.", feedback=1, phase="planning", speaker="Ada"),
            message(3, [1], text="Or less.", salience=0.9),
            message(4, parents=[], text="See above."),
        ]
        messages[3]["parents"] = [
            {"id": uuid(2), "edge_type": "branch"},
            {"id": uuid(1), "edge_type": "reference"},
        ]
        put(db.connection, "house", conversation(messages, metadata={"project": "x"}))
        db.append_turns("house", "s1", [message(5, [2], text="And gloves?")])
        db.append_turns("house", "s2", [message(6, text="Of another day.")], {"title": "s2"})
        named = {"parent": "named", "child": uuid(6)}
        db.add_edges("house", [named, {"parent": uuid(6), "child": uuid(1), "edge_type": "reply"}])
        db.put_documents(
            "house",
            [
                document(
                    "links.md",
                    "A link to the talk.",
                    links=[{"chunk": 0, "target": "chat.jsonl#s1"}],
                )
            ],
        )
        db.create_embedder("words", 48, passage_prefix="passage: ")
        db.bind_embedder("words", "hash", "hash-v1")
        db.embed_corpus("house", "words", 12, 60)
        Worker(dsn, corpus="house").run(until="empty")
        db.optimize_corpus("house")
        # searched by the pivot of then
        db.put_text("house", "late.txt", "A late word about deposits and grinders. " * 9)
        Worker(dsn, corpus="house").run(until="empty")


def document(uri: str, text: str, **fields: Any) -> dict[str, Any]:
    place = {"start": 0, "end": len(text), "page": 2, "heading": ["H"]}
    chunk = {"text": text, "tokens": 5, "citation": {"locator": "§ 7"}} | place
    return {
        "doc_cid": "sha256:" + hashlib.sha256(text.encode()).hexdigest(),
        "uri": uri,
        "media_type": "text/plain",
        "size_bytes": len(text),
        "chunking": {"chunker": "given"},
        "chunks": [chunk],
    } | fields


def chunked(uri: str, texts: list[str]) -> dict[str, Any]:
    """A document with a chunk for each text."""
    whole = "\n\n".join(texts)
    starts = [len("\n\n".join([*texts[:n], ""])) for n in range(len(texts))]
    chunks = [
        {"text": text, "tokens": 1, "start": start, "end": start + len(text), "heading": []}
        for text, start in zip(texts, starts, strict=True)
    ]
    return document(uri, whole, chunks=chunks)


class Original:
    """A filled database and its export."""

    def __init__(self, dsn: str, file: Path) -> None:
        fill(dsn)
        self.dsn, self.file = dsn, file
        with ragdb.connect(dsn) as db:
            db.create_signing_key("key-of-the-original")
            self.exported = db.export_file("house", file)

    @property
    def raw_lines(self) -> list[bytes]:
        return gzip.decompress(self.file.read_bytes()).splitlines(keepends=True)

    @property
    def file_lines(self) -> Lines:
        return [json.loads(line) for line in self.raw_lines]


@pytest.fixture(scope="module")
def original18(server18: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    with server18.database() as database:
        yield Original(server18.dsn(database.dbname), tmp_path_factory.mktemp("x") / "house.gz")


@pytest.fixture(scope="module")
def original16(server16: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    with server16.database() as database:
        yield Original(server16.dsn(database.dbname), tmp_path_factory.mktemp("x") / "house.gz")


@pytest.fixture
def empty(clone: str) -> Iterator[ragdb.Database]:
    with ragdb.connect(clone) as db:
        yield db


def said(db: ragdb.Database, corpus: str = "house") -> dict[str, Any]:
    """What a database answers about a corpus."""
    encoder = encoders.HashEncoder(48)
    hits = {
        (question, mode): [
            (hit.rank, hit.chunk_id, hit.score, hit.text, hit.source, hit.page, hit.heading)
            for hit in db.search(
                corpus,
                question,
                k=20,
                mode=mode,
                query_embedding=encoder.encode([question])[0].tolist(),
            )
        ]
        for question in QUESTIONS
        for mode in MODES
    }
    documents = db.list_documents(corpus)
    odd = ("event_id", "created_at", "updated_at")
    turns = [
        chunk.chunk_id
        for found in documents
        if found.chunking == {"chunker": "turns/1"}
        for chunk in db.document_chunks(corpus, found.source)
    ]
    assert len(turns) == 15
    return {
        "hits": hits,
        "documents": [
            {name: getattr(row, name) for name in row.__slots__ if name not in odd}
            for row in documents
        ],
        "chunks": [db.document_chunks(corpus, row.source) for row in documents],
        "turns": [db.get_turn(corpus, turn) for turn in turns],
        "said": list(db.list_turns(corpus, turns)),
        "slices": [db.build_slice(corpus, turn, sign=False) for turn in [*turns, "named"]],
        "header": db.export_corpus(corpus),
        "graph": db.connection.execute(
            "select p.chunk_id, c.chunk_id, e.edge_type, e.child_salience from ragdb.edges e"
            " join ragdb.corpora o using (corpus_id)"
            " join ragdb.chunks p on (p.corpus_id, p.chunk_no) = (e.corpus_id, e.parent_no)"
            " join ragdb.chunks c on (c.corpus_id, c.chunk_no) = (e.corpus_id, e.child_no)"
            " where o.name = %s order by 1, 2, 3",
            (corpus,),
        ).fetchall(),
        "originals": [
            row.doc_cid
            for row in documents
            if row.source.startswith("handbook/") and db.get_blob(row.doc_cid).bytes
        ],
        "wrong": db.check_corpus(corpus),
    }


def nothing_in(db: ragdb.Database) -> bool:
    counted = db.connection.execute(
        "select (select count(*) from ragdb.corpora), (select count(*) from ragdb.chunks),"
        " (select count(*) from ragdb.blobs), (select count(*) from ragdb.embedders),"
        " (select count(*) from ragdb.embedding_spaces), (select count(*) from ragdb.events),"
        " (select count(*) from ragdb.chunk_lexemes)"
    ).fetchone()
    return counted == (0,) * 7


@pytest.mark.by_day(1)
@pytest.mark.parametrize(("before", "after"), [(18, 18), (16, 18), (18, 16)])
def test_a_corpus_comes_back_the_same(
    request: pytest.FixtureRequest, before: int, after: int
) -> None:
    original: Original = request.getfixturevalue(f"original{before}")
    server: Server = request.getfixturevalue(f"server{after}")
    with server.database() as database, ragdb.connect(server.dsn(database.dbname)) as db:
        found = db.import_file(original.file)
        copy = said(db)
        events = db.events_after()
    with ragdb.connect(original.dsn) as db:
        assert copy == said(db)
    assert copy["wrong"] == []
    assert len(copy["originals"]) == 6
    assert all(copy["hits"].values())
    assert found == original.exported
    assert found.turns == 15
    assert found.embeddings == found.chunks > 25
    assert len({event.event_id for event in events}) == found.documents == len(events)


def test_an_export_of_a_copy_has_the_same_digest(
    original18: Original, empty: ragdb.Database, tmp_path: Path
) -> None:
    empty.import_file(original18.file)
    again = empty.export_file("house", tmp_path / "again.gz")
    assert again.digest == original18.exported.digest
    empty.put_text("house", "one-more.txt", "One more.")
    assert empty.export_corpus("house")["digest"] != again.digest


def test_a_token_of_another_database_is_refused_though_the_key_has_come_too(
    original18: Original, empty: ragdb.Database
) -> None:
    with ragdb.connect(original18.dsn) as db:
        made = db.build_slice("house", uuid(2))
        (key,) = db.export_signing_keys()

    def fields(made: Any) -> list[Any]:
        return [
            made.admissibility_token, made.slice_id, made.anchor_chunk_id, made.policy_id,
            made.params_hash, made.graph_snapshot_hash, made.schema_version,
        ]  # fmt: skip

    empty.import_file(original18.file)
    assert str(empty.verify_token("house", *fields(made)).reason).startswith("key_unknown")
    empty.import_signing_key(key.key_id, key.secret, "verify_only", key.created_at)
    assert str(empty.verify_token("house", *fields(made)).reason).startswith("signature")
    empty.create_signing_key("own")
    own = empty.build_slice("house", uuid(2))
    # the evidence is the same, and so is its fingerprint
    assert own.slice_id == made.slice_id
    assert empty.verify_token("house", *fields(own)).valid


def test_under_another_name_it_is_as_ingested_under_that_name(
    original18: Original, empty: ragdb.Database
) -> None:
    assert empty.import_file(original18.file, corpus="elsewhere").corpus == "elsewhere"
    assert empty.check_corpus("elsewhere") == []
    empty.import_file(original18.file)
    vector = encoders.HashEncoder(48).encode(["deposit grinder"])[0].tolist()
    for mode in MODES:
        here, there = (
            [
                (hit.score, hit.text)
                for hit in empty.search(
                    corpus, "deposit grinder", k=50, mode=mode,
                    query_embedding=vector,
                )
            ]
            for corpus in ("house", "elsewhere")
        )  # fmt: skip
        # ids differ, and with them the order of equal scores
        assert sorted(here) == sorted(there)
    empty.create_corpus("fresh")
    empty.ingest([SAMPLES / "handbook"], corpus="fresh")
    fresh = {hit.chunk_id for hit in empty.search("fresh", "deposit", k=50)}
    empty.drop_corpus("fresh")
    empty.import_file(original18.file, corpus="fresh")
    assert fresh <= {hit.chunk_id for hit in empty.search("fresh", "deposit", k=50, mode="lexical")}


def test_bytes_of_two_names_come_back_under_both_and_are_in_the_file_once(
    empty: ragdb.Database, tmp_path: Path
) -> None:
    empty.create_corpus("two")
    empty.put_blob(b"alpha", "text/plain", "two")
    empty.put_text("two", "a.md", "alpha", title="First")
    empty.put_text("two", "b.md", "alpha", title="Second")
    empty.export_file("two", tmp_path / "two.gz")
    lines = [
        json.loads(x) for x in gzip.decompress((tmp_path / "two.gz").read_bytes()).split(b"\n") if x
    ]
    assert sum("blob" in line for line in lines) == 1
    empty.import_file(tmp_path / "two.gz", corpus="again")
    rows = empty.list_documents("again")
    assert [(row.source, row.title) for row in rows] == [("a.md", "First"), ("b.md", "Second")]
    assert empty.export_corpus("again")["digest"] == empty.export_corpus("two")["digest"]
    empty.drop_corpus("two")
    assert [blob.bytes for blob in [empty.get_blob(rows[0].doc_cid)]] == [b"alpha"]


def test_synonyms_come_back(empty: ragdb.Database, tmp_path: Path) -> None:
    empty.create_corpus("words", text_config="english")
    empty.put_text("words", "a.md", "The automobile stood outside.")
    empty.put_text("words", "b.md", "A motor car is heavy.")
    plain = empty.export_corpus("words")["digest"]
    empty.add_synonyms("words", ["car", "automobile", "motor car"])
    assert empty.export_corpus("words")["digest"] != plain
    empty.export_file("words", tmp_path / "words.gz")
    empty.import_file(tmp_path / "words.gz", corpus="again")
    assert empty.list_synonyms("again") == empty.list_synonyms("words") != []
    found = [
        [(hit.source, hit.score) for hit in empty.search(corpus, "cars")]
        for corpus in ("words", "again")
    ]
    assert found[0] == found[1]
    assert {source for source, _ in found[0]} == {"a.md", "b.md"}
    empty.remove_synonyms("again", "automobile")
    assert empty.export_corpus("again")["digest"] not in (
        plain,
        empty.export_corpus("words")["digest"],
    )
    true = [{"word": row.word, "synonyms": row.synonyms} for row in empty.list_synonyms("words")]
    import_by_hand(empty, "words", true)
    for false in ([], [{"word": "car", "synonyms": ["tram"]}], [{"word": 7}], 7):
        with pytest.raises(RagdbError) as caught:
            import_by_hand(empty, "words", false)
        assert caught.value.sqlstate == "RG455"


def import_by_hand(db: ragdb.Database, corpus: str, synonyms: Any) -> None:
    with db.connection.transaction(force_rollback=True):
        header = db.export_corpus(corpus)
        db.import_corpus(header, "changed")
        db.import_synonyms("changed", synonyms)
        rows = db.export_documents(corpus)
        db.import_documents("changed", [json.loads(row.document) for row in rows])
        db.finish_import("changed", header)


def test_a_dash_is_stdout_of_an_export_and_stdin_of_an_import(
    original18: Original, clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = CliRunner().invoke(app, ["export", "house", "-", "--dsn", original18.dsn])
    assert out.exit_code == 0, out.output
    documents = original18.exported.documents
    assert f"wrote {documents} documents of house to stdout" in out.stderr
    (tmp_path / "out.gz").write_bytes(out.stdout_bytes)
    assert format.check("out.gz").digest == original18.exported.digest
    back = CliRunner().invoke(
        app, ["import", "-", "-c", "back", "--dsn", clone, "--json"], input=out.stdout_bytes
    )
    assert back.exit_code == 0, back.output
    assert json.loads(back.stdout)["digest"] == original18.exported.digest
    cut = CliRunner().invoke(app, ["import", "-", "--dsn", clone], input=out.stdout_bytes[:-9])
    assert cut.exit_code == 2
    assert "stdin was cut off or altered" in cut.stderr
    assert os.listdir(tmp_path) == ["out.gz"]


def test_an_import_of_stdin_says_where_there_is_no_room(
    clone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "copyfileobj", Mock(side_effect=OSError(28, "No space left")))
    full = CliRunner().invoke(app, ["import", "-", "--dsn", clone], input=b"x")
    assert full.exit_code == 2
    assert "cannot be written to: No space left" in full.stderr
    assert "TMPDIR" in full.stderr


@pytest.mark.parametrize("arguments", [("export", "house", "-"), ("import", "-")], ids=" ".join)
def test_an_export_does_not_go_to_a_terminal_or_come_from_one(
    original18: Original, arguments: tuple[str, ...]
) -> None:
    begin = [sys.executable, "-c", "from ragdb.__main__ import main; main()", *arguments]
    ours, theirs = os.openpty()
    try:
        refused = subprocess.run(
            [*begin, "--dsn", original18.dsn],
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert refused.returncode == 2
    assert "is a terminal, and an export is not a text" in refused.stderr


def test_a_kept_export_is_taken_so_the_number_of_the_format_goes_up_with_its_digest(
    original18: Original, empty: ragdb.Database, write_snapshots: bool
) -> None:
    """Where it is refused, the format has another number from now on, and another file is kept."""
    kept = Path(__file__).with_name(f"export-{format.VERSION}.gz")
    if write_snapshots and not kept.exists():
        with ragdb.connect(original18.dsn) as db, db.connection.transaction(force_rollback=True):
            db.connection.execute("set transaction isolation level repeatable read")
            db.add_synonyms("house", ["grinder", "sander"])
            db.export_file("house", kept)
    found = empty.import_file(kept)
    assert found.turns > 0 < found.embeddings
    assert len(empty.list_synonyms("house")) > 0
    assert empty.export_corpus("house")["digest"] == found.digest


def test_the_digest_is_what_the_lines_of_the_file_hash_to(original18: Original) -> None:
    """A twin: texts of documents in order of their sources, each with the hashes of its vectors."""

    def packed(data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + data

    header, *lines, _ = original18.file_lines
    width = 4 * header["embedder"]["dims"]
    vectors: dict[str, dict[int, bytes]] = {}
    texts: dict[str, bytes] = {}
    for raw, line in zip(original18.raw_lines[1:-1], lines, strict=True):
        if "embeddings" in line:
            data = base64.b64decode(line["embeddings"])
            for n, (uri, ordinal) in enumerate(zip(*line["of"], strict=True)):
                vectors.setdefault(uri, {})[ordinal] = data[n * width : (n + 1) * width]
        elif "documents" in line:
            decoder, text = json.JSONDecoder(), raw.decode()
            at = len('{"documents": [')
            for document in line["documents"]:
                _, end = decoder.raw_decode(text, at)
                texts[document["sources"][0]["uri"]] = text[at:end].encode()
                at = end + 1
    parts = b"".join(
        hashlib.sha256(
            texts[uri]
            + b"".join(
                struct.pack(">I", ordinal) + hashlib.sha256(data).digest()
                for ordinal, data in sorted(vectors.get(uri, {}).items())
            )
        ).digest()
        for uri in sorted(texts, key=str.encode)
    )

    def canonical(value: dict[str, Any], *without: str) -> bytes:
        """As PostgreSQL writes jsonb: shorter keys first, then by bytes."""
        kept = {k: value[k] for k in sorted(value, key=lambda k: (len(k), k)) if k not in without}
        return json.dumps(kept, ensure_ascii=False).encode()

    settings = canonical(header["corpus"], "name", "is_restricted")
    embedder = canonical(header["embedder"], "provider", "provider_model")
    whole = packed(b"ragdb-corpus/2") + packed(settings) + packed(embedder) + parts
    assert header["digest"] == hashlib.sha256(whole).hexdigest()


def test_a_file_has_no_key_no_role_and_no_address(original18: Original) -> None:
    content = gzip.decompress(original18.file.read_bytes()).lower()
    with ragdb.connect(original18.dsn) as db:
        (key,) = db.export_signing_keys()
        user = db.connection.info.user
    secret = bytes.fromhex(key.secret)
    assert key.secret.encode() not in content
    assert base64.b64encode(secret).lower() not in content
    assert key.key_id.encode() not in content
    assert user.encode() not in content
    assert b"/var/" not in content
    assert original18.file.stat().st_mode & 0o077 == 0


# ── files that are cut off, altered, or made to harm ────────────────────────────────────────────


def test_a_file_cut_off_anywhere_is_refused(
    original18: Original, empty: ragdb.Database, tmp_path: Path
) -> None:
    whole = original18.file.read_bytes()
    cut = tmp_path / "cut.gz"
    for size in {0, 1, 9, 10, 11, *range(20, len(whole), len(whole) // 60), len(whole) - 1}:
        cut.write_bytes(whole[:size])
        with pytest.raises(ExportError):
            format.check(cut)
    with pytest.raises(ExportError, match="cut off"):
        empty.import_file(cut)
    assert nothing_in(empty)


def test_a_file_altered_anywhere_is_refused(
    original18: Original, empty: ragdb.Database, tmp_path: Path
) -> None:
    whole = bytearray(original18.file.read_bytes())
    altered = tmp_path / "altered.gz"
    lines = gzip.decompress(whole)
    # the ten bytes before the data name a time and a system, and are nobody's business
    for at in (0, 1, 2, 3, *range(10, len(whole), len(whole) // 150), *range(-12, 0)):
        whole[at] ^= 1 << at % 8
        altered.write_bytes(whole)
        if says_the_same(whole, lines):  # the last bits before the sum fill a byte: no data
            assert format.check(altered) == original18.exported
        else:
            with pytest.raises(ExportError):
                format.check(altered)
        whole[at] ^= 1 << at % 8
    altered.write_bytes(whole)
    assert format.check(altered) == original18.exported


def says_the_same(file: bytearray, lines: bytes) -> bool:
    try:
        return gzip.decompress(file) == lines
    except (OSError, EOFError, zlib.error):
        return False


def test_a_file_that_changes_while_it_is_read_leaves_nothing(
    original18: Original, empty: ragdb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "moving.gz"
    file.write_bytes(original18.file.read_bytes())
    check = format.check

    def and_then(path: Any) -> Any:
        found = check(path)
        lines = original18.file_lines
        lines[0]["made_by"] = "another"
        write(file, lines, end=lines.pop())
        return found

    monkeypatch.setattr(importer, "check", and_then)
    with pytest.raises(ExportError, match="altered"):
        empty.import_file(file)
    assert nothing_in(empty)


def write(file: Path, lines: Lines, end: dict[str, Any] | None = None) -> Path:
    """A file of these lines; with an end that fits unless one is given."""
    raw = [json.dumps(line).encode() + b"\n" for line in lines]
    if end is None:
        blobs = sum("blob" in line for line in lines)
        end = {"end": hashlib.sha256(b"".join(raw)).hexdigest(), "originals": blobs}
    file.write_bytes(gzip.compress(b"".join(raw) + json.dumps(end).encode() + b"\n"))
    return file


def first(lines: Lines, kind: str) -> dict[str, Any]:
    return next(line for line in lines if kind in line)


def plain(lines: Lines) -> dict[str, Any]:
    found: dict[str, Any] = next(
        d for d in first(lines, "documents")["documents"] if d["sources"][0]["uri"] == "named.txt"
    )
    return found


def talk(lines: Lines) -> dict[str, Any]:
    found: dict[str, Any] = next(
        d for d in first(lines, "documents")["documents"] if d.get("session") == "s1"
    )
    return found


def numbers(lines: Lines, change: Callable[[list[float]], list[float]]) -> None:
    line = first(lines, "embeddings")
    data = base64.b64decode(line["embeddings"])
    values = change(list(struct.unpack(f">{len(data) // 4}f", data)))
    line["embeddings"] = base64.b64encode(struct.pack(f">{len(values)}f", *values)).decode()


HARM: dict[str, tuple[Callable[[Lines], Any], str]] = {
    "another word": (lambda x: plain(x)["chunks"][0].update(text="Its old id."), "RG455"),
    "a longer text": (lambda x: plain(x)["chunks"][0].update(text="Its own new id."), "RG412"),
    "another page": (lambda x: plain(x)["chunks"][0].update(page=7), "RG455"),
    "another title": (lambda x: plain(x).update(title="Mine"), "RG455"),
    "another uri": (lambda x: plain(x)["sources"][0].update(uri="mine.txt"), "RG455"),
    "no source": (lambda x: plain(x).update(sources=[]), "RG455"),
    "a source that is none": (lambda x: plain(x).update(sources=["x"]), "RG412"),
    "a field too many": (lambda x: plain(x).update(event_id=1), "RG412"),
    "a document less": (lambda x: first(x, "documents")["documents"].pop(), "RG455"),
    "a document twice": (
        lambda x: first(x, "documents")["documents"].append(plain(x)),
        "RG409",
    ),
    "a NUL": (lambda x: plain(x).update(title="a\0b"), "Unicode"),
    "half a character": (lambda x: plain(x).update(title="a\ud800b"), "invalid input syntax"),
    "a deep tree": (
        lambda x: plain(x).update(metadata=json.loads('{"a":' * 900 + "1" + "}" * 900)),
        "",
    ),
    "another author": (lambda x: talk(x)["messages"][0].update(role="system"), "RG455"),
    "a message less": (lambda x: talk(x)["messages"].pop(), "RG455"),
    "a cycle": (
        lambda x: talk(x)["messages"][0].update(parents=[{"id": uuid(4), "edge_type": "reply"}]),
        "RG412",
    ),
    "another number": (lambda x: numbers(x, lambda v: [v[0] + 0.5, *v[1:]]), "RG455"),
    "not a number": (lambda x: numbers(x, lambda v: [float("nan"), *v[1:]]), "RG418"),
    "numbers too few": (lambda x: numbers(x, lambda v: v[1:]), "RG418"),
    "no embeddings": (lambda x: x.remove(first(x, "embeddings")), "RG455"),
    "a chunk that is not there": (
        lambda x: first(x, "embeddings")["of"][1].__setitem__(0, 99),
        "RG455",
    ),
    "an ordinal that is none": (
        lambda x: first(x, "embeddings")["of"][1].__setitem__(0, 1 << 40),
        "out of range",
    ),
    "a chunk that is no text": (
        lambda x: first(x, "embeddings")["of"][0].__setitem__(0, {}),
        "do not belong to chunks",
    ),
    "an original of no type": (lambda x: first(x, "blob").pop("media_type"), "match its hash"),
    "a root": (lambda x: plain(x)["sources"][0].update(root="/etc"), "RG455"),
    "another original": (
        lambda x: first(x, "blob").update(bytes=base64.b64encode(b"x").decode()),
        "match its hash",
    ),
    "an original of nothing": (
        lambda x: x.append(
            {
                "blob": "sha256:" + hashlib.sha256(b"x").hexdigest(),
                "media_type": "text/plain",
                "bytes": "eA==",
            }
        ),
        "not belong to a document",
    ),
    "bytes that are none": (lambda x: first(x, "blob").update(bytes="*"), "base64"),
    "a line of no kind": (lambda x: x.append({"grant": "all"}), "of an unknown kind"),
    "another pivot": (lambda x: x[0]["corpus"].update(pivot=x[0]["corpus"]["pivot"] + 1), "RG455"),
    "no pivot": (lambda x: x[0]["corpus"].update(pivot=0), "RG455"),
    "a pivot without end": (lambda x: x[0]["corpus"].update(pivot=10**400), "no right"),
    "a setting of another type": (lambda x: x[0]["corpus"].update(k1="1"), "RG455"),
    "an odd name": (lambda x: x[0]["corpus"].update(name="A B"), "RG411"),
    "the manual": (lambda x: x[0]["corpus"].update(name="system"), "RG401"),
    "a wide model": (lambda x: x[0]["embedder"].update(dims=4001), "RG400"),
    "an index that cannot be": (lambda x: x[0]["embedder"].update(m=1), "RG400"),
    "no embedder": (lambda x: x[0].update(embedder=None), "RG455"),
    "other counts": (lambda x: x[0]["counts"].update(chunks=1), "RG455"),
    "no counts": (lambda x: x[0].pop("counts"), "is incomplete"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_forged_file_is_refused_and_leaves_nothing(
    original18: Original, harm: str, tmp_path: Path, harmed: ragdb.Database
) -> None:
    change, problem = HARM[harm]
    lines = original18.file_lines[:-1]
    change(lines)
    with pytest.raises((ExportError, RagdbError)) as refused:
        harmed.import_file(write(tmp_path / "forged.gz", lines))
    error = refused.value
    assert problem in f"{getattr(error, 'sqlstate', '')} {error}"
    assert nothing_in(harmed)


@pytest.fixture(scope="module")
def harmed(server18: Server) -> Iterator[ragdb.Database]:
    """As a writer in a database in which no import may leave anything."""
    with (
        server18.database() as database,
        psycopg.connect(server18.dsn(database.dbname), autocommit=True) as connection,
    ):
        connection.execute("grant select on all tables in schema ragdb to writer")
        with ragdb.connect(server18.dsn(database.dbname, user="writer")) as db:
            yield db


def test_the_forger_can_make_a_file_that_is_taken(
    original18: Original, empty: ragdb.Database, tmp_path: Path
) -> None:
    empty.import_file(write(tmp_path / "same.gz", original18.file_lines[:-1]))
    assert empty.export_corpus("house")["digest"] == original18.exported.digest


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not JSON"),
        (b"PK\3\4 something else", "not compressed by gzip"),
        (gzip.compress(b"", mtime=0), "not JSON"),
        (gzip.compress(b"hello\n", mtime=0), "not JSON"),
        (gzip.compress(b"[1]\n", mtime=0), "not a JSON object"),
        (gzip.compress(b'{"format": "tar"}\n', mtime=0), "does not begin like one"),
        (gzip.compress(b'{"format": "ragdb-corpus/3"}\n', mtime=0), "reads ragdb-corpus/2"),
        (
            gzip.compress(b'{"format": "ragdb-corpus/1", "made_by": "ragdb 0.1.0"}\n', mtime=0),
            "format ragdb-corpus/1, made by ragdb 0.1.0, and this ragdb reads ragdb-corpus/2",
        ),
        (gzip.compress(b'{"format": "ragdb-corpus/2"}\n', mtime=0), "is incomplete"),
        (gzip.compress(b"[" * 100_000, mtime=0), "not JSON"),
        (gzip.compress(b"0" * (1 << 20), mtime=0) * 100, "unpacks to"),
    ],
)
def test_a_file_of_something_else_is_refused(content: bytes, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "other.gz"
    file.write_bytes(content)
    with pytest.raises(ExportError, match=problem) as refused:
        format.check(file)
    assert refused.value.hint


def test_many_lines_that_unpack_to_too_much_are_refused(
    original18: Original, tmp_path: Path
) -> None:
    header = original18.raw_lines[0]
    file = tmp_path / "bomb.gz"
    with gzip.open(file, "wb") as lines:
        lines.write(header)
        for _ in range(110):
            lines.write(b'{"a": "' + b"0" * (1 << 20) + b'"}\n')
    with pytest.raises(ExportError, match="unpacks to"):
        format.check(file)


# ── whose, and where ────────────────────────────────────────────────────────────────────────────


def test_who_may_not_read_a_corpus_cannot_export_it(
    clone: str, login: Login, tmp_path: Path
) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("closed")
        db.put_text("closed", "a.txt", "Only for some.")
        db.grant_corpus("closed", "reader", "read")
    stranger, reader = (
        ragdb.Database(login(clone, name, autocommit=True)) for name in ("reader2", "reader")
    )
    with pytest.raises(ragdb.errors.CorpusNotFound):
        stranger.export_file("closed", tmp_path / "no.gz")
    assert list(tmp_path.iterdir()) == []
    assert reader.export_file("closed", tmp_path / "yes.gz").documents == 1
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ragdb.Database(login(clone, "stranger", autocommit=True)).export_corpus("closed")
    with pytest.raises(ragdb.errors.NotAuthorized):
        reader.import_file(tmp_path / "yes.gz", corpus="mine")


def test_what_was_restricted_stays_so(clone: str, login: Login, tmp_path: Path) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("closed")
        db.put_text("closed", "a.txt", "Only for some.")
        db.grant_corpus("closed", "reader", "read")
        db.export_file("closed", tmp_path / "closed.gz")
    writer = ragdb.Database(login(clone, "writer", autocommit=True))
    writer.import_file(tmp_path / "closed.gz", corpus="moved")
    assert writer.corpus_info("moved").privilege == "admin"
    for name in ("reader", "writer2"):
        other = ragdb.Database(login(clone, name, autocommit=True))
        with pytest.raises(ragdb.errors.CorpusNotFound):
            other.search("moved", "some")


def test_a_personal_corpus_goes_where_its_owner_takes_it(
    clone: str, login: Login, tmp_path: Path
) -> None:
    reader, other = (
        ragdb.Database(login(clone, name, autocommit=True)) for name in ("reader", "reader2")
    )
    reader.create_corpus("personal")
    reader.put_text("personal", "diary.txt", "Dear diary.")
    with pytest.raises(ragdb.errors.CorpusNotFound):
        other.export_file("personal", tmp_path / "theirs.gz")
    with ragdb.connect(clone) as owner, pytest.raises(ragdb.errors.CorpusNotFound):
        owner.export_file("personal", tmp_path / "theirs.gz")
    reader.export_file("personal", tmp_path / "mine.gz")
    assert other.import_file(tmp_path / "mine.gz").corpus == "personal"
    assert [hit.text for hit in other.search("personal", "diary")] == ["Dear diary."]
    writer = ragdb.Database(login(clone, "writer", autocommit=True))
    writer.import_file(tmp_path / "mine.gz", corpus="shared-diary")
    with pytest.raises(ragdb.errors.CorpusNotFound):
        other.search("shared-diary", "diary")


def test_a_reader_brings_no_embedder_along(original18: Original, clone: str, login: Login) -> None:
    reader = ragdb.Database(login(clone, "reader", autocommit=True))
    with pytest.raises(ragdb.errors.NotAuthorized, match="may not create embedder"):
        reader.import_file(original18.file, corpus="personal")


def test_another_model_of_that_name_is_refused(original18: Original, empty: ragdb.Database) -> None:
    empty.create_embedder("words", 48, passage_prefix="passage: ")
    empty.bind_embedder("words", "openai", "words-large")
    with pytest.raises(ragdb.errors.EmbedderMismatch, match="run by openai here"):
        empty.import_file(original18.file)
    assert [corpus.name for corpus in empty.list_corpora()] == []


def test_the_digest_of_its_weights_tells_that_a_model_is_one(
    empty: ragdb.Database, tmp_path: Path
) -> None:
    empty.create_embedder("known", 4, weights_sha256="ab" * 32)
    empty.bind_embedder("known", "sentence-transformers", "/srv/models/known")
    empty.create_corpus("docs")
    empty.embed_corpus("docs", "known")
    empty.export_file("docs", tmp_path / "docs.gz")
    empty.drop_corpus("docs")
    empty.bind_embedder("known", "openai", "known-large")
    assert empty.import_file(tmp_path / "docs.gz").embedder == "known"


def test_an_embedder_of_that_name_with_other_promises_is_refused(
    original18: Original, empty: ragdb.Database
) -> None:
    empty.create_embedder("words", 47)
    with pytest.raises(ragdb.errors.AlreadyExists, match="promises something else"):
        empty.import_file(original18.file)
    assert empty.list_corpora() == []


def test_a_path_of_this_machine_is_not_exported(clone: str) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        db.create_embedder("local", 4)
        db.bind_embedder("local", "sentence-transformers", "/srv/models/secret")
        db.embed_corpus("docs", "local")
        embedder = db.export_corpus("docs")["embedder"]
    assert (embedder["provider"], embedder["provider_model"]) == ("sentence-transformers", None)


def test_a_corpus_that_is_there_is_left_alone(original18: Original, empty: ragdb.Database) -> None:
    empty.create_corpus("house")
    with pytest.raises(ExportError, match="exists already") as refused:
        empty.import_file(original18.file)
    assert "--corpus NAME" in refused.value.hint
    assert empty.corpus_info("house").documents == 0


def test_an_export_is_of_one_moment(original18: Original, tmp_path: Path) -> None:
    def meanwhile(done: int, total: int) -> None:
        with ragdb.connect(original18.dsn) as other:
            other.put_text("house", f"new-{done}.txt", f"Meanwhile {done}.")

    with ragdb.connect(original18.dsn) as db:
        try:
            made = exporter.write(db, "house", tmp_path / "x.gz", progress=meanwhile)
        finally:
            for row in db.list_documents("house", "new-"):
                db.delete_document("house", row.source)
    assert made == format.check(tmp_path / "x.gz")
    assert made.digest == original18.exported.digest
    assert b"Meanwhile" not in gzip.decompress((tmp_path / "x.gz").read_bytes())


def test_an_export_inside_a_transaction_wants_its_snapshot(clone: str, tmp_path: Path) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        with pytest.raises(ExportError, match="read committed"), db.connection.transaction():
            db.export_file("docs", tmp_path / "x.gz")
        with db.connection.transaction():
            db.connection.execute("set transaction isolation level repeatable read")
            assert db.export_file("docs", tmp_path / "x.gz").documents == 0


def test_what_is_no_file_is_not_said_to_be_replaced_by_force(clone: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ragdb.connect(clone) as db:
        for place in (tmp_path, tmp_path / "pipe"):
            with pytest.raises(ExportError, match="is there, and is not a file") as refused:
                db.export_file("docs", place)
            assert refused.value.hint == "give another name; - is stdout for `ragdb export`"


def test_a_file_that_is_there_is_kept_unless_forced(clone: str, tmp_path: Path) -> None:
    file = tmp_path / "x.gz"
    file.write_text("mine")
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        with pytest.raises(ExportError, match="exists already"):
            db.export_file("docs", file)
        with pytest.raises(ragdb.errors.CorpusNotFound):
            db.export_file("no", file, force=True)
        assert file.read_text() == "mine"
        db.export_file("docs", file, force=True)
    assert format.check(file).chunks == 0
    assert list(tmp_path.iterdir()) == [file]


def test_an_export_that_fails_midway_leaves_no_file(original18: Original, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with ragdb.connect(original18.dsn) as db, pytest.raises(KeyboardInterrupt):
        exporter.write(db, "house", tmp_path / "x.gz", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_an_export_removes_what_a_killed_one_left_and_no_other_file(
    original18: Original, tmp_path: Path
) -> None:
    old, at_work, other = (
        tmp_path / name for name in (".x.gz.abcd1234", ".x.gz.wxyz5678", ".y.gz.abcd1234")
    )
    for file in (old, at_work, other):
        file.touch()
    for file in (old, other):
        os.utime(file, (0, 0))
    with ragdb.connect(original18.dsn) as db:
        exporter.write(db, "house", tmp_path / "x.gz")
    assert {*tmp_path.iterdir()} == {at_work, other, tmp_path / "x.gz"}


def test_an_export_to_a_full_disk_names_the_place_and_leaves_nothing(
    original18: Original, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    said = f"{tmp_path} cannot be written to: No space left"
    with ragdb.connect(original18.dsn) as db, pytest.raises(ExportError, match=said):
        exporter.write(db, "house", tmp_path / "x.gz")
    assert not [*tmp_path.iterdir()]


def test_originals_may_stay_behind(
    original18: Original, empty: ragdb.Database, tmp_path: Path
) -> None:
    with ragdb.connect(original18.dsn) as db:
        made = db.export_file("house", tmp_path / "x.gz", blobs=False)
    assert made.originals == 0
    assert made.size < original18.exported.size
    empty.import_file(tmp_path / "x.gz")
    (safety,) = [row for row in empty.list_documents("house") if row.source.endswith("safety.pdf")]
    with pytest.raises(ragdb.errors.BlobNotFound):
        empty.get_blob(safety.doc_cid)


# ── in SQL ──────────────────────────────────────────────────────────────────────────────────────


def test_while_a_corpus_is_imported_others_are_written(
    original18: Original, clone: str, login: Login
) -> None:
    header, first_page, *_ = original18.file_lines
    with ragdb.connect(clone) as setup:
        setup.create_corpus("other")
    with psycopg.connect(clone) as connection:
        db = ragdb.Database(connection)
        db.import_corpus(header)
        db.import_documents("house", first_page["documents"])
        other = ragdb.Database(login(clone, "writer", autocommit=True))
        other.connection.execute("set lock_timeout = '2s'")
        other.put_text("other", "a.txt", "Not kept waiting.")
        assert len(other.events_after()) == 1
        connection.rollback()


def test_only_the_transaction_that_began_an_import_goes_on_with_it(
    original18: Original, empty: ragdb.Database
) -> None:
    header, page, *_ = original18.file_lines
    empty.create_corpus("house")
    for call in (
        lambda: empty.import_documents("house", page["documents"]),
        lambda: empty.import_embeddings("house", ["x"], [0], [0.0] * 48),
        lambda: empty.finish_import("house", header),
    ):
        with pytest.raises(ragdb.errors.InvalidImport, match="is not being imported"):
            call()


def test_an_import_that_is_not_finished_is_not_kept(
    original18: Original, empty: ragdb.Database
) -> None:
    header, page, *_ = original18.file_lines
    empty.connection.autocommit = False
    empty.import_corpus(header)
    empty.import_documents("house", page["documents"])
    with pytest.raises(ragdb.errors.InvalidImport, match=r"finish_import\(\) was not called"):
        empty.connection.commit()
    assert nothing_in(empty)


@pytest.mark.parametrize(("after", "count"), [(None, 1), (0, 0), (0, 1001), (0, None)])
def test_pages_out_of_range_are_refused(clone: str, after: Any, count: Any) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("docs")
        for call in (db.export_documents, db.export_embeddings):
            with pytest.raises(ragdb.errors.InvalidArgument):
                call("docs", after, count)


def test_a_page_has_one_document_or_four_million_bytes(clone: str, tmp_path: Path) -> None:
    with ragdb.connect(clone) as db:
        db.create_corpus("long")
        for n in range(3):
            db.put_documents("long", [document(f"{n}.txt", f"{n} " + "word " * 300_000)])
        db.put_documents("long", [document("3.txt", "3 " + "word " * 810_000)])
        sizes, at = [], 0
        while page := db.export_documents("long", at):
            sizes.append([len(row.document) for row in page])
            at = page[-1].position
        assert [len(size) for size in sizes] == [2, 1, 1]
        assert all(sum(size) <= 4_000_000 for size in sizes if len(size) > 1)
        db.export_file("long", tmp_path / "long.gz")
        db.import_file(tmp_path / "long.gz", corpus="again")
        assert db.export_corpus("again")["digest"] == db.export_corpus("long")["digest"]


def test_what_repeats_itself_comes_back(
    clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (exporter, format):
        monkeypatch.setattr(module, "SLACK", 1 << 16)
    with ragdb.connect(clone) as db:
        db.create_corpus("logs")
        for n in range(4):
            db.put_documents("logs", [document(f"{n}.txt", "the same again\n" * 60_000)])
        file = tmp_path / "logs.gz"
        db.export_file("logs", file)
        db.import_file(file, corpus="again")
        assert db.export_corpus("again")["digest"] == db.export_corpus("logs")["digest"]


def test_pages_join_to_the_whole(original18: Original) -> None:
    with ragdb.connect(original18.dsn) as db:
        whole = [row.document for row in db.export_documents("house")]
        joined: list[str] = []
        at = 0
        while page := db.export_documents("house", at, 3):
            assert len(page) == 1 or sum(row.chunks for row in page[:-1]) < 3
            joined += [row.document for row in page]
            at = page[-1].position
        assert joined == whole
        ((everything,), some, at) = (db.export_embeddings("house"), b"", 0)
        while found := db.export_embeddings("house", at, 7):
            some += found[0].embeddings or b""
            at = found[0].position
        assert some == everything.embeddings


def test_a_link_to_a_conversation_survives_the_conversation_being_put_again(
    original18: Original,
) -> None:
    edges = (
        "select count(*) from ragdb.edges e join ragdb.chunks p"
        " on (p.corpus_id, p.chunk_no) = (e.corpus_id, e.parent_no)"
        " where p.source = 'links.md' and e.edge_type = 'reference'"
    )
    with ragdb.connect(original18.dsn) as db, db.connection.transaction(force_rollback=True):
        talk = conversation([message(1, text="Another beginning.")])
        put(db.connection, "house", talk)
        assert db.connection.execute(edges).fetchone() == (1,)


def test_an_added_edge_that_a_document_says_too_comes_back_as_an_added_one(
    any_clone: str, tmp_path: Path
) -> None:
    with ragdb.connect(any_clone) as db:
        db.create_corpus("fruit")
        db.put_documents("fruit", [chunked("a.txt", ["apple", "pear", "plum"])])
        apple, _, plum = (row.chunk_id for row in db.document_chunks("fruit", "a.txt"))
        db.add_edges("fruit", [{"parent": apple, "child": plum, "edge_type": "default"}])
        db.put_documents("fruit", [chunked("a.txt", ["apple", "plum"])])  # which says the edge
        db.export_file("fruit", tmp_path / "fruit.gz")
        db.import_file(tmp_path / "fruit.gz", corpus="copy")
        apple, plum = (row.chunk_id for row in db.document_chunks("copy", "a.txt"))

        def from_apple() -> set[tuple[str, bool]]:
            return {(row.child_id, row.is_added) for row in db.get_children("copy", apple)}

        assert from_apple() == {(plum, True)}
        # and stays where the document no longer says it
        db.put_documents("copy", [chunked("a.txt", ["apple", "fig", "plum"])])
        assert from_apple() > {(plum, True)}
        assert db.check_corpus("copy") == []
        assert db.verify(checks=["edges"]) == []


# ── on the command line ─────────────────────────────────────────────────────────────────────────


def test_the_verbs_export_and_import(
    original18: Original, clone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(dsn: str, *arguments: str) -> Any:
        return CliRunner().invoke(app, [*arguments, "-d", dsn])

    file = str(tmp_path / "house.gz")
    made = run(original18.dsn, "export", "house", file, "--json")
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["digest"] == original18.exported.digest
    assert run(original18.dsn, "export", "house", file).exit_code == 2
    came = run(clone, "import", file, "-c", "mine", "--json")
    assert came.exit_code == 0, came.output
    assert json.loads(came.stdout)["corpus"] == "mine"
    again = run(clone, "import", file, "-c", "mine")
    assert again.exit_code == 2
    assert "hint: import it under another name (--corpus NAME)" in again.stderr
    missing = run(clone, "import", str(tmp_path / "no.gz"))
    assert missing.exit_code == 2
    assert "No such file" in missing.stderr
    Path(file).write_bytes(Path(file).read_bytes()[:-1])
    cut = run(clone, "import", file, "--corpus", "other")
    assert (cut.exit_code, "cut off or altered" in cut.stderr) == (2, True)
