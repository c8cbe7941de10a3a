"""Shared by the benches: data, documents, a separate server, a section of results.md."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import itertools
import json
import os
import platform
import random
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

import ragdb
from ragdb.server import embedded, migrate

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RAGDB_SHARED", ROOT.parent / "shared")) / "data"
PEERS = ROOT / "bench/.venv/bin/python"
CHUNKING = {"chunker": "given", "strategy": "none", "max_tokens": 0, "overlap": 0, "unit": "token"}
LOAD = os.getloadavg()[0]  # before the bench itself is at work
Connection = psycopg.Connection[Any]


def parser(about: str | None) -> argparse.ArgumentParser:
    """The flags of every bench."""
    flags = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    results = ROOT / "bench/results.md"
    flags.add_argument("--results", type=Path, default=results, help="/dev/null for a trial")
    return flags


def records(name: str, file: str = "corpus.jsonl") -> Iterator[dict[str, Any]]:
    """The records of a file of a collection, gzipped or not."""
    path = DATA / name / file
    zipped = path.with_name(f"{file}.gz")
    with gzip.open(zipped, "rt") if zipped.exists() else path.open() as lines:
        yield from map(json.loads, lines)


def texts(name: str) -> Iterator[dict[str, Any]]:
    """Those of a collection's documents that have a text."""
    return (record for record in records(name) if record["text"].strip())


def manuals() -> Iterator[dict[str, Any]]:
    """scale_tech_docs, and behind its end its paragraphs recombined, without end, by a fixed seed.

    A chunk that is made up has as many paragraphs as one of the collection, and its file as many
    chunks; each paragraph and each title is drawn from all of them, so words are as frequent there
    as in the collection.
    """
    known = list(texts("scale_tech_docs"))
    yield from known
    split = (part for record in known for part in record["text"].split("\n\n"))
    paragraphs = [part for part in split if part.strip()]
    draw = random.Random(17)
    for lap in itertools.count(1):
        for record in known:
            count = record["text"].count("\n\n") + 1
            yield {
                "_id": f"{lap}/{record['_id']}",
                "title": draw.choice(known)["title"],
                "text": "\n\n".join(draw.choice(paragraphs) for _ in range(count)),
            }


def corpus_of(name: str) -> str:
    """The name of the corpus that a collection becomes."""
    return name.replace("_", "-").replace("/", "-")


def document(uri: str, *texts: str, **more: Any) -> dict[str, Any]:
    """A document as put_documents takes it; its chunks are these texts, one behind the other."""
    ends = list(itertools.accumulate(map(len, texts)))
    return {
        "doc_cid": f"sha256:{hashlib.sha256(chr(0).join((uri, *texts)).encode()).hexdigest()}",
        "uri": uri,
        "media_type": "text/plain",
        "size_bytes": sum(len(text.encode()) for text in texts),
        "chunking": CHUNKING,
        "chunks": [
            {"text": text, "start": end - len(text), "end": end, "tokens": -(-len(text) // 4)}
            for text, end in zip(texts, ends, strict=True)
        ],
        **more,
    }


def fill(
    db: Connection,
    corpus: str,
    documents: Iterable[dict[str, Any]],
    *,
    text_config: str = "english",
) -> None:
    """Make a corpus of these documents, put in batches of 2,000 chunks, and optimize it."""
    db.execute("select ragdb.create_corpus(%s, text_config => %s)", (corpus, text_config))

    def put(batch: list[dict[str, Any]]) -> None:
        db.execute("select from ragdb.put_documents(%s, %s)", (corpus, json.dumps(batch)))

    batch, chunks = [], 0
    for made in documents:
        batch.append(made)
        chunks += len(made["chunks"])
        if chunks >= 2000:
            put(batch)
            batch, chunks = [], 0
    put(batch)
    db.execute("select ragdb.optimize_corpus(%s)", (corpus,))


@dataclass(frozen=True)
class Server:
    """A server; `uri` is the superuser's."""

    uri: str
    version: str

    @classmethod
    def at(cls, uri: str) -> Server:
        """The one that runs there."""
        with psycopg.connect(uri) as connection:
            return cls(uri, connection.info.parameter_status("server_version") or "")

    def database(self, name: str = "bench") -> str:
        """DSN of the superuser on a fresh migrated database."""
        with psycopg.connect(self.uri, autocommit=True) as admin:
            admin.execute(f"drop database if exists {name} with (force)")
            admin.execute(f"create database {name} template template0")
        dsn = make_conninfo(self.uri, dbname=name)
        migrate.migrate(dsn)
        return dsn


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder that the server's user can enter, gone afterwards."""
    base = Path("/var/lib/ragdb-bench" if os.geteuid() == 0 else tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    home = Path(tempfile.mkdtemp(dir=base, prefix="bench-"))
    home.chmod(0o711)
    try:
        yield home
    finally:
        shutil.rmtree(home)


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """An embedded server of the bench's own, gone with its data afterwards."""
    with folder() as home:
        uri = embedded.start(home / "pg18")
        try:
            yield Server.at(uri)
        finally:
            embedded.stop(home / "pg18")


def processor(db: Connection) -> float:
    """Milliseconds that the process of a connection has had of the processor, as Linux counts."""
    told = Path(f"/proc/{db.info.backend_pid}/schedstat")
    return int(told.read_text().split()[0]) / 1e6 if told.exists() else float("nan")


def resident(pid: int) -> float:
    """Private memory of a process in MB; its recorded peak would count shared buffers too."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    return 0.0


def publish(results: Path, title: str, about: str, lines: Sequence[str], version: str) -> None:
    """Write a section: the command, the machine, `about` and the lines.

    It takes the place of what the same command printed. What stands below `###` there stays.
    """
    given = sys.argv[1:]
    # of this machine alone, and an address may hold a password
    for own in {"--results", "--at"}.intersection(given):
        at = given.index(own)
        del given[at : at + 2]
    module = sys.modules["__main__"].__spec__
    command = shlex.join(["python", "-m", module.name if module else sys.argv[0], *given])
    machine = (
        f"PostgreSQL {version}, ragdb {ragdb.__version__}, Python {platform.python_version()},"
        f" {os.cpu_count()} cores, {platform.machine()}, load {LOAD:.1f},"
        f" {time.strftime('%Y-%m-%d')}"
    )
    text = "\n".join([f"## {title}: `{command}`", f"{machine}; {about}", "", *lines, "", ""])
    print(text)
    before = results.read_text() if results.is_file() else ""
    results.write_text(placed(before, text))


def placed(results: str, section: str) -> str:
    """The results with this section: where the one of its heading stands, or at the end."""
    heading, _, _ = section.partition("\n")
    printed = re.compile(rf"^{re.escape(heading)}\n.*?(?=^#|\Z)", re.M | re.S)
    if printed.search(results):
        results = printed.sub(lambda _: section, results)
    else:
        results += f"\n{section}"
    return results.strip("\n") + "\n"
