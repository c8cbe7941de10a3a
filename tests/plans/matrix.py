"""What every kind of statement reads, whatever the planner believes of the tables.

A database has a large corpus and one that is newer than the statistics, and its tables were
analyzed at some time, or never. Rows are counted as PostgreSQL counts them: those that a scan of a
table returned, and the entries that a scan of an index did.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from tests.conftest import Connection
from tests.documents import document
from tests.sql.conversations import conversation, message

Statement = tuple[str, Iterable[Any]]

# when the tables were analyzed last; dead: while all their rows were of a transaction that was
# rolled back; amid a load: when none was of a transaction that had ended, but for those rolled back
STATISTICS = (
    "never", "empty", "dead", "small", "before the new corpus", "amid a load", "now", "vacuumed",
)  # fmt: skip
CORPORA = ("large", "new")
PLANS = ("auto", "force_generic_plan")


@dataclass(frozen=True)
class Size:
    """Documents of three chunks, and turns of one session and of as many small ones."""

    documents: int
    turns: int


LARGE, NEW, SMALL = Size(700, 400), Size(250, 150), Size(20, 20)


def texts(corpus: str, n: int, edition: int = 0) -> list[str]:
    """Words of one chunk, words of some, and a word of all."""
    return [
        f"common w{corpus}{n % 40} x{corpus}{n}y{chunk} edition{edition} part{chunk}"
        f" z{(n * 3 + chunk) % 17}"
        for chunk in range(3)
    ]


def one(corpus: str, n: int, edition: int = 0, **more: Any) -> dict[str, Any]:
    links = [(1, f"{corpus}/{n - 1}.md")] if n else []
    return document(
        f"{corpus}/{n}.md",
        texts(corpus, n, edition),
        headings=[["A"], ["A", "B"], ["A", "C"]],
        links=links,
        title=f"Title {n}",
        metadata={"n": n, "tenth": n % 10},
        **more,
    )


def number(corpus: str, n: int) -> int:
    """The id of a message, of no other corpus."""
    return 1_000_000 * (1 + sum(map(ord, corpus))) + n


def tree(corpus: str, first: int, count: int) -> list[dict[str, Any]]:
    return [
        message(number(corpus, first + n), [number(corpus, first + (n - 1) // 4)] if n else [])
        for n in range(count)
    ]


def put(db: Connection, corpus: str, documents: Iterable[dict[str, Any]]) -> None:
    db.execute("select from ragdb.put_documents(%s, %s)", (corpus, json.dumps(list(documents))))


def fill(db: Connection, corpus: str, size: Size) -> None:
    db.execute("select ragdb.create_corpus(%s)", (corpus,))
    # in several calls, as a corpus grows
    for first in range(0, size.documents, 250):
        last = min(first + 250, size.documents)
        put(db, corpus, (one(corpus, n) for n in range(first, last)))
    put(db, corpus, [document(f"{corpus}/few.md", ["seldom written words"])])
    sessions = [conversation(tree(corpus, 0, size.turns), session=f"{corpus} long")]
    sessions += [
        conversation(tree(corpus, 10_000 + 10 * n, 4), session=f"{corpus} {n}", uri=f"{corpus}#{n}")
        for n in range(size.turns // 4)
    ]
    db.execute("select ragdb.put_conversations(%s, %s)", (corpus, json.dumps(sessions)))


def fill_both(db: Connection, large: Size, new: Size, is_analyzed_between: bool = False) -> None:
    fill(db, "large", large)
    if is_analyzed_between:
        analyze(db)
    fill(db, "new", new)
    for corpus in CORPORA:
        for n in range(60):
            db.execute(
                "select from ragdb.retrieve(%s, %s, 3, mode => 'lexical')",
                (corpus, f"x{corpus}{n}y1 common"),
            )


def analyze(db: Connection, verb: str = "analyze") -> None:
    """Analyze the tables of ragdb: those of PostgreSQL take five times as long."""
    ((tables,),) = db.execute(
        "select string_agg(oid::regclass::text, ', ') from pg_class where relkind in ('r', 'p')"
        " and relnamespace = 'ragdb'::regnamespace and not relispartition"
    ).fetchall()
    db.execute(f"{verb} {tables}".encode())


def make(db: Connection, statistics: str, large: Size = LARGE, new: Size = NEW) -> None:
    """Fill a database in which nothing is analyzed but when it is said."""
    db.execute("select ragdb.create_signing_key('k1')")
    if statistics == "small":
        fill(db, "other", SMALL)
    if statistics in ("dead", "amid a load"):
        # every row that is counted is of a first load that was rolled back
        with db.transaction(force_rollback=True):
            fill(db, "large", large)
    if statistics in ("empty", "dead", "small"):
        analyze(db)
    if statistics == "amid a load":
        with db.transaction():
            fill_both(db, large, new)
            with psycopg.connect(db.info.dsn, autocommit=True) as other:
                # as autovacuum does, it passes over what the load has locked
                other.execute("vacuum (skip_locked, analyze)")
    else:
        fill_both(db, large, new, statistics == "before the new corpus")
    if statistics in ("now", "vacuumed"):
        analyze(db, "analyze" if statistics == "now" else "vacuum (analyze)")


Make = Callable[[Connection, str], Statement]


def chunk(db: Connection, corpus: str, n: int = 7) -> str:
    ((found,),) = db.execute(
        "select chunk_id from ragdb.document_chunks(%s, %s) order by ordinal limit 1",
        (corpus, f"{corpus}/{n}.md"),
    ).fetchall()
    return str(found)


def turn(corpus: str, n: int) -> str:
    return str(UUID(int=number(corpus, n)))


def trace(db: Connection, corpus: str) -> Any:
    asked = f"x{corpus}77y1 w{corpus}37"
    db.execute("select from ragdb.retrieve(%s, %s, 3, mode => 'lexical')", (corpus, asked))
    return db.execute("select ragdb.last_trace_id()").fetchall()[0][0]


PUT = "select * from ragdb.put_documents(%s, %s)"


def kept(db: Connection, corpus: str) -> str:
    db.execute("select from ragdb.keep_history(%s, '1 year')", (corpus,))
    return corpus


def spoken(db: Connection, corpus: str) -> str:
    said = [
        message(number(corpus, 600_000 + n), text="common words", speaker="kim") for n in range(10)
    ]
    db.execute("select from ragdb.append_turns(%s, 'spoken', %s)", (corpus, json.dumps(said)))
    return corpus


def past(db: Connection, corpus: str) -> int:
    kept(db, corpus)
    ((version,),) = db.execute(
        "select version from ragdb.corpora where name = %s", (corpus,)
    ).fetchall()
    put(db, corpus, [one(corpus, 3, 1), one(corpus, 4, 1)])
    return int(version)


def sliced(db: Connection, corpus: str) -> tuple[Any, str]:
    """Retrieve under a slice of 20 turns, and return the trace and the id of the slice."""
    ((trace_id,),) = db.execute(
        "select trace_id from ragdb.retrieve_slice(%s, 'message number', k => 3,"
        " anchor => %s, policy => '{\"max_nodes\": 20}') limit 1",
        (corpus, turn(corpus, 30)),
    ).fetchall()
    ((slice_id,),) = db.execute(
        "select slice_id from ragdb.list_slices(%s) limit 1", (corpus,)
    ).fetchall()
    return trace_id, str(slice_id)


def promotion(db: Connection, corpus: str) -> Statement:
    trace_id, _ = sliced(db, corpus)
    found = db.execute("select chunk_id from ragdb.trace_hits(%s)", (trace_id,)).fetchall()
    return "select * from ragdb.promote_to_atom(%s, %s, 'message number', 'lenient')", (
        trace_id,
        [chunk_id for (chunk_id,) in found],
    )


def promoted(db: Connection, corpus: str) -> Any:
    """Promote turns, and return the atom."""
    statement, given = promotion(db, corpus)
    ((atom_id, code, _),) = db.execute(statement, tuple(given)).fetchall()
    assert code == "PROMOTED"
    return atom_id


def chunks(db: Connection, corpus: str) -> list[str]:
    """The ids of the first chunks of 20 documents."""
    return [chunk(db, corpus, n) for n in range(20)]


def embedder(db: Connection) -> str:
    """Make the embedder e, before a statement: what is returned begins it."""
    db.execute("select ragdb.create_embedder('e', 3)")
    db.execute("select ragdb.bind_embedder('e', 'hash', 'hash-v1')")
    return ""


def claimed(db: Connection, corpus: str) -> str:
    embedder(db)
    db.execute("select ragdb.embed_corpus(%s, 'e')", (corpus,))
    return ""


def completed(db: Connection, corpus: str) -> Statement:
    claimed(db, corpus)
    rows = db.execute(
        "select space_id, input_hash, attempt from ragdb.claim_embeddings('w', 50, '60 s')"
    ).fetchall()
    return "select ragdb.complete_embeddings(%s, %s, %s, %s::real[])", (
        rows[0][0],
        [row[1] for row in rows],
        [row[2] for row in rows],
        [0.6, 0.8, 0.0] * len(rows),
    )


def edges(corpus: str, db: Connection) -> str:
    return json.dumps(
        [
            {"parent": chunk(db, corpus, n), "child": chunk(db, corpus, n + 20)}
            for n in range(10, 15)
        ]
    )


def added(db: Connection, corpus: str) -> Statement:
    given = edges(corpus, db)
    db.execute("select ragdb.add_edges(%s, %s)", (corpus, given))
    return "select ragdb.remove_edges(%s, %s)", (corpus, given)


CONTRACT = """corpus name={corpus}
retriever name=R corpus={corpus} mode=lexical topK=5
rag name=A retriever=R
  grounding requireCitations=true policy=strict
  ragEval name=V mode=contract
"""


def contracted(db: Connection, corpus: str) -> str:
    """Apply a contract with an eval of a few cases, before a statement."""
    text = CONTRACT.format(corpus=corpus)
    for n in range(5):
        text += f'    ragCase name=q{n} query="x{corpus}{n}y1" topK=2 sources={corpus}/{n}.md\n'
    db.execute("select from ragdb.apply_contract(%s, 'c')", (text,))
    return ""


def evaluated(db: Connection, corpus: str) -> Any:
    contracted(db, corpus)
    ((run_id,),) = db.execute("select run_id from ragdb.run_eval('A')").fetchall()
    return run_id


def answered(db: Connection, corpus: str) -> Any:
    db.execute("select ragdb.ask(%s, %s)", (corpus, f"x{corpus}7y1 x{corpus}8y2"))
    ((answer_id,),) = db.execute("select answer_id from ragdb.list_answers() limit 1").fetchall()
    return answer_id


def proposed(db: Connection, corpus: str) -> str:
    """Make a proposal, before a statement."""
    db.execute(
        "select ragdb.propose(%s, array[%s], 'message number')", (corpus, promoted(db, corpus))
    )
    return ""


def gated(db: Connection, corpus: str) -> str:
    """Find the evidence of a trace too little, before a statement."""
    db.execute(
        "select ragdb.record_gate('common', ragdb.build_evidence_pack(%s), 1000)",
        (trace(db, corpus),),
    )
    return ""


def queued(db: Connection, corpus: str) -> str:
    """Have 20 texts wait to be read, before a statement."""
    db.execute(
        "select ragdb.rag_ingest(jsonb_build_object('params', jsonb_build_object('corpus',"
        " %s::text), 'input', jsonb_build_object('doc_cid', ragdb.put_blob(convert_to('text ' || n,"
        " 'UTF8'), 'text/plain')))) from generate_series(1, 20) n",
        (corpus,),
    )
    return ""


def sealed(db: Connection) -> str:
    db.execute("select ragdb.seal_ledger()")
    return ""


def event(db: Connection, corpus: str) -> str:
    """Seal the ledger, and return what it calls an event."""
    sealed(db)
    ((found,),) = db.execute(
        "select c.corpus_id || '/' || d.event_id from ragdb.documents d"
        " join ragdb.corpora c using (corpus_id) where c.name = %s and d.source = %s",
        (corpus, f"{corpus}/7.md"),
    ).fetchall()
    return str(found)


def parted(db: Connection, corpus: str) -> str:
    """Make the corpus `whole` of one part, of a few documents, and sync it, before a statement."""
    db.execute("select ragdb.create_corpus('whole')")
    db.execute("select ragdb.create_corpus('part', part_of => 'whole')")
    put(db, "part", (one(corpus, n) for n in range(60)))
    db.execute("select ragdb.sync_statistics('whole')")
    return ""


def written(db: Connection, corpus: str) -> str:
    """That, and write to the part again."""
    parted(db, corpus)
    put(db, "part", [one(corpus, 70)])
    return ""


def static(db: Connection, corpus: str, embeds: bool = True) -> str:
    """Load a small static model and embed a corpus by it, before a statement."""
    dims = 8
    pieces = ["", " ", *string.ascii_lowercase, *string.digits, " common", "edition"]
    # of few pieces all may be read for each word, and a model has many
    pieces += [f" other{n}" for n in range(6000)]
    vectors = [
        float((7 * n * n + 3 * d * n + d) % 101 - 50)
        for n in range(len(pieces))
        for d in range(dims)
    ]
    db.execute("select ragdb.create_embedder('s', %s)", (dims,))
    db.execute(
        "select ragdb.put_static_pieces('s', %s, %s, %s::real[])",
        (pieces, list(range(len(pieces))), vectors),
    )
    db.execute(
        "select ragdb.bind_static('s', 'bpe', 'case', ragdb_internal.pieces_digest("
        "(select e.embedder_id from ragdb.embedders e where e.name = 's')))"
    )
    if embeds:
        db.execute("select ragdb.embed_corpus(%s, 's')", (corpus,))
    return ""


def many(corpus: str, first: int, count: int, edition: int = 0) -> str:
    return json.dumps([one(corpus, first + n, edition) for n in range(count)])


# writers, each of a few rows
WRITERS: dict[str, Make] = {
    "put_documents, 100 new": lambda db, c: (PUT, (c, many(c, 5000, 100))),
    "put_documents, one new": lambda db, c: (PUT, (c, many(c, 5000, 1))),
    "put_documents, one changed": lambda db, c: (PUT, (c, many(c, 5, 1, 1))),
    "put_documents, 50 changed": lambda db, c: (PUT, (c, many(c, 5, 50, 1))),
    "put_documents, 50 as they are": lambda db, c: (PUT, (c, many(c, 5, 50))),
    "put_documents, 20 renamed": lambda db, c: (
        PUT,
        (c, json.dumps([one(c, n) | {"uri": f"moved/{n}.md"} for n in range(20)])),
    ),
    "put_documents, 20 written again": lambda db, c: (
        "select * from ragdb.put_documents(%s, %s, true)",
        (c, many(c, 5, 20)),
    ),
    "put_text": lambda db, c: ("select from ragdb.put_text(%s, 'a.md', 'common words')", (c,)),
    "put_texts, 2": lambda db, c: (
        "select * from ragdb.put_texts(%s, array['common words', 'more of them'])",
        (c,),
    ),
    "put_embeddings, 20": lambda db, c: (
        claimed(db, c) + "select ragdb.put_embeddings(%s, %s, %s::float8[])",
        (c, chunks(db, c), [0.6, 0.8, 0.0] * 20),
    ),
    "put_blob": lambda db, c: ("select ragdb.put_blob('common', 'text/plain', %s)", (c,)),
    "delete_source": lambda db, c: ("select ragdb.delete_source(%s, %s)", (c, f"{c}/9.md")),
    "delete_sources, 20": lambda db, c: (
        "select ragdb.delete_sources(%s, %s)",
        (c, [f"{c}/{n}.md" for n in range(20)]),
    ),
    "delete_document": lambda db, c: ("select ragdb.delete_document(%s, %s)", (c, f"{c}/9.md")),
    "erase_source": lambda db, c: ("select ragdb.erase_source(%s, %s)", (c, f"{c}/9.md")),
    "erase_source, of a history": lambda db, c: (
        "select ragdb.erase_source(%s, %s)",
        (kept(db, c), f"{c}/9.md"),
    ),
    "erase_speaker": lambda db, c: (
        "select ragdb.erase_speaker(%s, %s)",
        (spoken(db, c), "kim"),
    ),
    "put_documents, one changed, of a history": lambda db, c: (
        PUT,
        (kept(db, c), many(c, 5, 1, 1)),
    ),
    "put_conversations, one of 100 turns": lambda db, c: (
        "select ragdb.put_conversations(%s, %s)",
        (c, json.dumps([conversation(tree(c, 500_000, 100), session="s", uri="chat#s")])),
    ),
    "append_turns, 10": lambda db, c: (
        "select from ragdb.append_turns(%s, %s, %s)",
        (
            c,
            f"{c} long",
            json.dumps([message(number(c, 600_000 + n), [number(c, n + 20)]) for n in range(10)]),
        ),
    ),
    "append_turns, a new session": lambda db, c: (
        "select from ragdb.append_turns(%s, 'newer', %s)",
        (c, json.dumps(tree(c, 700_000, 10))),
    ),
    "add_edges, 5": lambda db, c: ("select ragdb.add_edges(%s, %s)", (c, edges(c, db))),
    "remove_edges, 5": added,
    "retrieve": lambda db, c: (
        "select from ragdb.retrieve(%s, %s, 5)",
        (c, f"x{c}77y1 w{c}37"),
    ),
    "retrieve_slice": lambda db, c: (
        "select from ragdb.retrieve_slice(%s, %s, k => 5, anchor => %s)",
        (c, f"x{c}7y1", chunk(db, c)),
    ),
    "promote_to_atom": promotion,
    "propose": lambda db, c: (
        "select * from ragdb.propose(%s, array[%s], 'message number')",
        (c, promoted(db, c)),
    ),
    "record_feedback": lambda db, c: (
        "select ragdb.record_feedback('good', %s)",
        (trace(db, c),),
    ),
    "claim_embeddings, 50": lambda db, c: (
        claimed(db, c) + "select from ragdb.claim_embeddings('w', 50, '60 s')",
        (),
    ),
    "complete_embeddings, 50": completed,
    "apply_contract, of 5 cases": lambda db, c: (
        "select from ragdb.apply_contract(%s, 'c')",
        (CONTRACT.format(corpus=c),),
    ),
    "add_eval_case": lambda db, c: (
        contracted(db, c) + "select ragdb.add_eval_case('A', 'V', %s, %s)",
        (f"x{c}9y1", f"{c}/9.md"),
    ),
    "ask": lambda db, c: ("select ragdb.ask(%s, %s)", (c, f"x{c}7y1 x{c}8y2")),
    "sync_statistics, of 61 documents": lambda db, c: (
        written(db, c) + "select ragdb.sync_statistics('whole')",
        (),
    ),
    "put_part_statistics": lambda db, c: (
        parted(db, c)
        + "select ragdb.put_part_statistics('whole', 'other', 1, 5, 9, %s, %s, now())",
        (["common", f"x{c}7y1"], [5, 4]),
    ),
    "put_documents, one new of a part": lambda db, c: (
        parted(db, c) + "select from ragdb.put_documents('part', %s)",
        (many(c, 80, 1),),
    ),
    "put_documents, 20 new embedded inside": lambda db, c: (
        static(db, c) + "select from ragdb.put_documents(%s, %s)",
        (c, many(c, 5000, 20)),
    ),
    "put_documents, one changed embedded inside": lambda db, c: (
        static(db, c) + "select from ragdb.put_documents(%s, %s)",
        (c, many(c, 5, 1, 1)),
    ),
    "claim_ingest_jobs, 2": lambda db, c: (
        queued(db, c) + "select * from ragdb.claim_ingest_jobs('w', 2)",
        (),
    ),
    "record_gate": lambda db, c: (
        "select ragdb.record_gate('common', ragdb.build_evidence_pack(%s))",
        (trace(db, c),),
    ),
    "record_failure": lambda db, c: ("select ragdb.record_failure(%s, 'q', '57014', 3)", (c,)),
    "retrieve_with": lambda db, c: (
        contracted(db, c) + "select * from ragdb.retrieve_with('R', %s)",
        (f"x{c}77y1",),
    ),
    "seal_ledger": lambda db, c: ("select ragdb.seal_ledger()", ()),
    "refresh_rollups": lambda db, c: ("select ragdb.refresh_rollups()", ()),
}
# what reads a few rows
READERS: dict[str, Make] = {
    "search": lambda db, c: ("select * from ragdb.search(%s, %s, 5)", (c, f"x{c}77y1 part9")),
    "search, as it was, by a rare word": lambda db, c: (
        "select * from ragdb.search(%s, %s, 5, as_of => %s)",
        (c, f"x{c}77y1 part9", past(db, c)),
    ),
    "search, phrase": lambda db, c: (
        "select * from ragdb.search(%s, %s, 5)",
        (c, f'"w{c}37 x{c}77y1"'),
    ),
    "search, few by a filter": lambda db, c: (
        "select * from ragdb.search(%s, 'common', 5, filter => '{\"n\": 17}')",
        (c,),
    ),
    "search, chunks by id": lambda db, c: (
        "select * from ragdb.search(%s, 'common', 5, chunk_ids => array[%s])",
        (c, chunk(db, c)),
    ),
    "search, context": lambda db, c: (
        "select * from ragdb.search(%s, %s, 5, context => 1)",
        (c, f"x{c}77y1"),
    ),
    "did_you_mean": lambda db, c: (
        "select ragdb.did_you_mean(%s, 'seldmo wirtten words of ttile and nowhere else')",
        (c,),
    ),
    "explain_search": lambda db, c: (
        "select * from ragdb.explain_search(%s, %s, %s)",
        (c, f"x{c}7y0 part0", chunk(db, c)),
    ),
    "explain_missing": lambda db, c: (
        "select * from ragdb.explain_missing(%s, %s, %s)",
        (c, f"x{c}77y1", chunk(db, c)),
    ),
    "get_chunk": lambda db, c: ("select * from ragdb.get_chunk(%s, %s)", (c, chunk(db, c))),
    "get_document": lambda db, c: (
        "select * from ragdb.get_document(%s, %s)",
        (c, f"{c}/9.md"),
    ),
    "get_source": lambda db, c: ("select * from ragdb.get_source(%s, %s)", (c, f"{c}/9.md")),
    "document_chunks": lambda db, c: (
        "select * from ragdb.document_chunks(%s, %s)",
        (c, f"{c}/9.md"),
    ),
    "document_text": lambda db, c: ("select ragdb.document_text(%s, %s)", (c, f"{c}/9.md")),
    "document_versions": lambda db, c: (
        "select * from ragdb.document_versions(%s, %s)",
        (c, f"{c}/9.md"),
    ),
    "known_sources, 20": lambda db, c: (
        "select * from ragdb.known_sources(%s, %s)",
        (c, [f"{c}/{n}.md" for n in range(20)]),
    ),
    "list_documents, 10": lambda db, c: (
        "select * from ragdb.list_documents(%s, count => 10)",
        (c,),
    ),
    "list_chunks, by id": lambda db, c: (
        "select * from ragdb.list_chunks(%s, chunk_ids => array[%s])",
        (c, chunk(db, c)),
    ),
    "get_turn": lambda db, c: ("select * from ragdb.get_turn(%s, %s)", (c, turn(c, 50))),
    "list_turns": lambda db, c: (
        "select * from ragdb.list_turns(%s, array[%s, %s])",
        (c, turn(c, 50), turn(c, 5)),
    ),
    "get_children": lambda db, c: (
        "select * from ragdb.get_children(%s, %s)",
        (c, turn(c, 5)),
    ),
    "get_parents": lambda db, c: ("select * from ragdb.get_parents(%s, %s)", (c, turn(c, 50))),
    "get_edges": lambda db, c: (
        "select * from ragdb.get_edges(%s, array[%s, %s])",
        (c, turn(c, 5), turn(c, 21)),
    ),
    "build_slice, of turns": lambda db, c: (
        "select * from ragdb.build_slice(%s, %s, '{\"max_nodes\": 20}')",
        (c, turn(c, 30)),
    ),
    "build_slice, of a document": lambda db, c: (
        "select * from ragdb.build_slice(%s, %s, '{\"max_nodes\": 20}')",
        (c, chunk(db, c)),
    ),
    "resolve_from_session": lambda db, c: (
        "select * from ragdb.resolve_from_session(%s, %s)",
        (c, f"{c} 3"),
    ),
    "turn_id": lambda db, c: (
        "select ragdb.turn_id(%s, %s, %s)",
        (c, f"{c} long", turn(c, 20)),
    ),
    "resolve_temporal": lambda db, c: ("select * from ragdb.resolve_temporal(%s)", (c,)),
    "get_slice": lambda db, c: ("select * from ragdb.get_slice(%s, %s)", (c, sliced(db, c)[1])),
    "slice_members": lambda db, c: (
        "select * from ragdb.slice_members(%s, %s)",
        (c, sliced(db, c)[1]),
    ),
    "list_slices, 10": lambda db, c: (
        f"select * from ragdb.list_slices(%s, count => 10) where slice_id = '{sliced(db, c)[1]}'",
        (c,),
    ),
    "filter_admissible, 20": lambda db, c: (
        "select ragdb.filter_admissible(%s, %s, %s)",
        (c, sliced(db, c)[1], chunks(db, c)),
    ),
    "search_slice": lambda db, c: (
        "select * from ragdb.search_slice(%s, %s, anchor => %s)",
        (c, f"x{c}7y1", chunk(db, c)),
    ),
    "replay, of a slice": lambda db, c: (
        "select * from ragdb.replay(%s)",
        (sliced(db, c)[0],),
    ),
    "verify_atom": lambda db, c: ("select * from ragdb.verify_atom(%s)", (promoted(db, c),)),
    "list_atoms": lambda db, c: (
        f"select * from ragdb.list_atoms(%s) where atom_id = '{promoted(db, c)}'",
        (c,),
    ),
    "build_evidence_pack": lambda db, c: (
        "select ragdb.build_evidence_pack(%s)",
        (trace(db, c),),
    ),
    "highlight_chunks, 20": lambda db, c: (
        "select * from ragdb.highlight_chunks(%s, %s, 'common')",
        (c, chunks(db, c)),
    ),
    "corpora_with_chunks, 20": lambda db, c: (
        "select * from ragdb.corpora_with_chunks(%s)",
        (chunks(db, c),),
    ),
    "explain_scores, 20": lambda db, c: (
        "select * from ragdb.explain_scores(%s, %s, %s)",
        (c, f"x{c}7y0 part0", chunks(db, c)),
    ),
    "count_matches": lambda db, c: ("select * from ragdb.count_matches(%s, %s)", (c, f"x{c}7y0")),
    "corpus_events, 10": lambda db, c: (
        "select * from ragdb.corpus_events(%s, count => 10)",
        (c,),
    ),
    "get_trace": lambda db, c: ("select * from ragdb.get_trace(%s)", (trace(db, c),)),
    "trace_hits": lambda db, c: ("select * from ragdb.trace_hits(%s)", (trace(db, c),)),
    "verify_trace": lambda db, c: ("select * from ragdb.verify_trace(%s)", (trace(db, c),)),
    "replay": lambda db, c: ("select * from ragdb.replay(%s)", (trace(db, c),)),
    "provenance": lambda db, c: ("select ragdb.provenance(%s)", (trace(db, c),)),
    "list_traces, 10": lambda db, c: ("select * from ragdb.list_traces(count => 10)", ()),
    "list_eval_cases": lambda db, c: (
        contracted(db, c) + "select * from ragdb.list_eval_cases('A')",
        (),
    ),
    "eval_queries": lambda db, c: (contracted(db, c) + "select * from ragdb.eval_queries('A')", ()),
    "eval_case_results": lambda db, c: (
        "select * from ragdb.eval_case_results(%s)",
        (evaluated(db, c),),
    ),
    "eval_report": lambda db, c: ("select ragdb.eval_report(%s)", (evaluated(db, c),)),
    "list_eval_runs": lambda db, c: (
        f"select * from ragdb.list_eval_runs() where run_id = '{evaluated(db, c)}'",
        (),
    ),
    "eval_metrics": lambda db, c: ("select * from ragdb.eval_metrics(%s)", (evaluated(db, c),)),
    "list_evals": lambda db, c: (contracted(db, c) + "select * from ragdb.list_evals()", ()),
    "list_proposals": lambda db, c: (
        proposed(db, c) + "select * from ragdb.list_proposals(%s)",
        (c,),
    ),
    "list_gates, 10": lambda db, c: (
        gated(db, c) + "select * from ragdb.list_gates(count => 10)",
        (),
    ),
    "list_unanswered, 10": lambda db, c: (
        gated(db, c) + "select * from ragdb.list_unanswered(count => 10)",
        (),
    ),
    "list_citations": lambda db, c: ("select * from ragdb.list_citations(%s)", (answered(db, c),)),
    "feedback_cases": lambda db, c: ("select ragdb.feedback_cases(%s)", (c,)),
    "trace_stages": lambda db, c: ("select * from ragdb.trace_stages(%s)", (trace(db, c),)),
    "replay_hits": lambda db, c: ("select * from ragdb.replay_hits(%s)", (trace(db, c),)),
    "why_not": lambda db, c: (
        "select * from ragdb.why_not(%s, %s)",
        (trace(db, c), chunk(db, c)),
    ),
    "why_not, of a slice": lambda db, c: (
        "select * from ragdb.why_not(%s, %s)",
        (sliced(db, c)[0], turn(c, 5)),
    ),
    "slice_graph": lambda db, c: (
        "select * from ragdb.slice_graph(%s, slice_id => %s)",
        (c, sliced(db, c)[1]),
    ),
    "build_slices, 2": lambda db, c: (
        "select * from ragdb.build_slices(%s, array[%s, %s], '{\"max_nodes\": 20}')",
        (c, turn(c, 30), turn(c, 5)),
    ),
    "resolve_anchor": lambda db, c: (
        "select * from ragdb.resolve_anchor(%s, session => %s)",
        (c, f"{c} 3"),
    ),
    "explain_score": lambda db, c: (
        "select * from ragdb.explain_score(%s, %s, %s)",
        (c, f"x{c}7y0", chunk(db, c)),
    ),
    "corpus_info": lambda db, c: ("select * from ragdb.corpus_info(%s)", (c,)),
    "job_status": lambda db, c: (queued(db, c) + "select * from ragdb.job_status()", ()),
    "get_answer": lambda db, c: ("select ragdb.get_answer(%s)", (answered(db, c),)),
    "list_answers, 10": lambda db, c: ("select * from ragdb.list_answers(count => 10)", ()),
    "list_feedback, 10": lambda db, c: (
        "select * from ragdb.list_feedback(%s, count => 10)",
        (c,),
    ),
    "list_incidents": lambda db, c: ("select * from ragdb.list_incidents(%s)", (c,)),
    "locate_quote": lambda db, c: (
        "select * from ragdb.locate_quote(%s, %s, 'common words')",
        (c, chunk(db, c)),
    ),
    "find_trace": lambda db, c: ("select ragdb.find_trace(%s)", (str(trace(db, c)),)),
    "ledger_status": lambda db, c: (sealed(db) + "select * from ragdb.ledger_status()", ()),
    "ledger_entries, 10": lambda db, c: (
        sealed(db) + "select * from ragdb.ledger_entries(700, 10)",
        (),
    ),
    "ledger_entry": lambda db, c: (
        "select * from ragdb.ledger_entry('event', %s)",
        (event(db, c),),
    ),
    "ledger_inclusion_proof": lambda db, c: (
        sealed(db) + "select ragdb.ledger_inclusion_proof(700)",
        (),
    ),
    "ledger_consistency_proof": lambda db, c: (
        sealed(db) + "select ragdb.ledger_consistency_proof(700)",
        (),
    ),
    "list_parts": lambda db, c: (parted(db, c) + "select * from ragdb.list_parts('whole')", ()),
    "search, of a whole": lambda db, c: (
        parted(db, c) + "select * from ragdb.search('whole', %s, 5)",
        (f"x{c}7y1",),
    ),
    "part_statistics": lambda db, c: (
        parted(db, c) + "select * from ragdb.part_statistics('whole')",
        (),
    ),
    "ranking_digest, of a whole": lambda db, c: (
        parted(db, c) + "select ragdb.ranking_digest('whole')",
        (),
    ),
    "embed": lambda db, c: (
        static(db, c, embeds=False) + "select ragdb.embed('common edition of words', 's')",
        (),
    ),
    "embedding_status": lambda db, c: (
        claimed(db, c) + "select * from ragdb.embedding_status(%s)",
        (c,),
    ),
}
# what looks at a whole corpus, by its nature or where the planner takes it to be small
WHOLE: dict[str, Make] = {
    "events_after, 10": lambda db, c: ("select * from ragdb.events_after(count => 10)", ()),
    "search_documents": lambda db, c: (
        "select * from ragdb.search_documents(%s, %s, 5)",
        (c, f"x{c}77y1"),
    ),
    "did_you_mean, of words of all": lambda db, c: (
        "select ragdb.did_you_mean(%s, 'comomn words of ttile and nowhere else')",
        (c,),
    ),
    "similar": lambda db, c: ("select * from ragdb.similar(%s, %s, 3)", (c, chunk(db, c))),
    "optimize_corpus": lambda db, c: ("select ragdb.optimize_corpus(%s)", (c,)),
    "check_corpus": lambda db, c: ("select * from ragdb.check_corpus(%s)", (c,)),
    "repair_corpus": lambda db, c: ("select ragdb.repair_corpus(%s)", (c,)),
    "drop_corpus": lambda db, c: ("select ragdb.drop_corpus(%s)", (c,)),
    "calibrate_gate": lambda db, c: ("select from ragdb.calibrate_gate(%s)", (c,)),
    "embed_corpus": lambda db, c: (
        embedder(db) + "select ragdb.embed_corpus(%s, 'e')",
        (c,),
    ),
    "embed_corpus, inside": lambda db, c: (
        static(db, c, embeds=False) + "select ragdb.embed_corpus(%s, 's')",
        (c,),
    ),
    "search, hybrid": lambda db, c: (
        static(db, c) + "select * from ragdb.search(%s, %s, 5, mode => 'hybrid')",
        (c, f"x{c}7y1 common"),
    ),
    # it says by a hash of all documents what it was a run of
    "run_eval, 5 cases": lambda db, c: (contracted(db, c) + "select ragdb.run_eval('A')", ()),
    "verify_ledger, 1,000": lambda db, c: (
        sealed(db) + "select * from ragdb.verify_ledger(0, 1000)",
        (),
    ),
    "challenge_eval": lambda db, c: (
        contracted(db, c) + "select from ragdb.challenge_eval('A', 'V')",
        (),
    ),
    "export_documents": lambda db, c: ("select * from ragdb.export_documents(%s)", (c,)),
    "prune_sources": lambda db, c: (
        "select ragdb.prune_sources(%s, %s, %s)",
        (c, f"{c}/", [f"{c}/{n}.md" for n in range(0, 2000, 2)]),
    ),
    "verify, documents and chunks": lambda db, c: (
        "select * from ragdb.verify(checks => array['documents', 'chunks', 'traces', 'hits'])",
        (),
    ),
    "facets": lambda db, c: ("select * from ragdb.facets(%s, 'common', array['tenth'])", (c,)),
    "search, a tenth by a filter": lambda db, c: (
        "select * from ragdb.search(%s, 'common', 5, filter => '{\"tenth\": 3}')",
        (c,),
    ),
    "search, of all": lambda db, c: ("select * from ragdb.search(%s, 'common', 5)", (c,)),
    "diff_corpus": lambda db, c: (
        "select * from ragdb.diff_corpus(%s, %s, null)",
        (c, past(db, c)),
    ),
    "search, as it was": lambda db, c: (
        "select * from ragdb.search(%s, 'common', 5, as_of => %s)",
        (c, past(db, c)),
    ),
}
# readers first: what a writer analyzes stays so, and what it writes makes tables larger, though it
# is rolled back
KINDS = {"reader": READERS, "writer": WRITERS, "whole corpus": WHOLE}


@dataclass(frozen=True)
class Read:
    """What a statement read and wrote."""

    rows: int
    buffers: int
    written: int
    returned: int
    by: dict[str, int]

    @property
    def each(self) -> float:
        """Rows read by row written or returned."""
        return self.rows / (self.written + self.returned + 1)

    def excess(self, besides: int = 1000) -> str:
        """What it read too much; empty for nothing.

        A statement may read 20 rows for each that it writes or returns, and some besides. Of the
        dictionary it may read all where that is small: 4,000 lexemes take 20 buffers.
        """
        units = self.written + self.returned
        rows = self.rows - sum(n for name, n in self.by.items() if name.startswith("ragdb.lexemes"))
        wrong = []
        if rows > besides + 20 * units:
            wrong.append(f"{rows} rows for {units}: {dict(list(self.by.items())[:4])}")
        if self.buffers > 6000 + 40 * units:
            wrong.append(f"{self.buffers} buffers for {units}")
        return "; ".join(wrong)


COUNTS = """
  select c.oid::regclass::text, pg_stat_get_xact_tuples_returned(c.oid),
    pg_stat_get_xact_tuples_inserted(c.oid) + pg_stat_get_xact_tuples_updated(c.oid)
      + pg_stat_get_xact_tuples_deleted(c.oid)
  from pg_class c where c.relkind in ('r', 'i') and c.relnamespace = 'ragdb'::regnamespace
"""


def counts(db: Connection) -> dict[str, tuple[int, int]]:
    return {name: (read, wrote) for name, read, wrote in db.execute(COUNTS).fetchall()}


def measure(db: Connection, made: Make, corpus: str, plans: str = "auto") -> Read:
    """Run a statement in a transaction that is rolled back, with plans of its own."""
    with db.transaction(force_rollback=True):
        db.execute("discard plans")
        statement, arguments = made(db, corpus)
        db.execute("discard plans")
        db.execute(f"set local plan_cache_mode = {plans}")
        before = counts(db)
        ((found,),) = db.execute(
            f"explain (analyze, buffers, timing off, format json) {statement}", tuple(arguments)
        ).fetchall()
        after = counts(db)
    top = found[0]["Plan"]
    by = {name: after[name][0] - before.get(name, (0, 0))[0] for name in after}
    return Read(
        sum(by.values()),
        top["Shared Hit Blocks"] + top["Shared Read Blocks"],
        sum(after[name][1] - before.get(name, (0, 0))[1] for name in after),
        int(top["Actual Rows"]),
        {name: rows for name, rows in sorted(by.items(), key=lambda x: -x[1]) if rows},
    )


def measured(
    db: Connection, kinds: Iterable[str] = KINDS
) -> Iterator[tuple[str, str, str, str, Read]]:
    """Kind, name, corpus, plans and what was read, of every statement."""
    for kind in kinds:
        for name, made in KINDS[kind].items():
            for corpus in CORPORA:
                for plans in PLANS:
                    yield kind, name, corpus, plans, measure(db, made, corpus, plans)
