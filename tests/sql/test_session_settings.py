"""Whoever connects may have any settings: what is stored and found is that of the default ones."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from ragdb.client.client import Client
from tests.conftest import Server
from tests.documents import text_document
from tests.sql.lexical_twin import put

pytestmark = pytest.mark.long
SETTINGS = {
    "plain strings off": {"standard_conforming_strings": "off"},
    "15 digits": {"extra_float_digits": "0"},
    "one digit": {"extra_float_digits": "-15"},
    "names in quotes": {"quote_all_identifiers": "on"},
    "other forms": {
        "bytea_output": "escape",
        "datestyle": "German",
        "intervalstyle": "iso_8601",
        "timezone": "Asia/Kathmandu",
        "transform_null_equals": "on",
        "array_nulls": "off",
    },
    "parallel everywhere": {"debug_parallel_query": "on"},
    "other plans": {
        "enable_seqscan": "off",
        "enable_hashjoin": "off",
        "from_collapse_limit": "1",
        "join_collapse_limit": "1",
        "geqo_threshold": "2",
        "work_mem": "64kB",
    },
}
# by day all at once, by night each by itself
ALONE = list(SETTINGS)
# by day the one who asks: to write takes several times as long so
PARALLEL = "parallel everywhere"
SETTINGS["all at once"] = {
    name: value
    for one in ALONE
    if one not in ("15 digits", PARALLEL)
    for name, value in SETTINGS[one].items()
}
DOCUMENTS = [
    text_document(
        f"{n}.txt",
        f"common w{n % 5} x{n % 11} y{n % 70} C++ v1.{n % 3} naïve\\path"
        f" {'gamma ' * (n % 4)}{'delta ' * (n % 13)}",
        metadata={"half": n / 2},
    )
    for n in range(60)
]
FOUND = "select chunk_id, score, bm25, coverage from ragdb."
CHUNK = "(select d.chunk_id from ragdb.document_chunks('docs', '7.txt') d)"
ASKED = [
    FOUND + "search('docs', 'gamma w3 x7', 20)",
    FOUND + "search('docs', '\"common w1\" +gamma -x4 C++ v1.2', 20, syntax => 'web')",
    FOUND + "search('docs', 'comon gama', 20)",
    FOUND + "search('docs', 'gamma', 20, filter => '{\"half\": {\"lt\": 9.5}}')",
    FOUND + "search('docs', 'w3 gamma', 9, diversity => 0.2, as_of => 1)",
    FOUND + "search('whole', 'gamma w3 x7', 20, diversity => 0.3)",
    FOUND + f"similar('docs', {CHUNK}, 5)",
    FOUND
    + "retrieve('docs', 'delta w2', 5, mode => 'hybrid', query_embedding => '{0.1, 0.2, 0.3}',"
    " lexical_weight => 0.12345678901234568)",
    f"select lexeme, impact from ragdb.explain_search('docs', 'gamma w2', {CHUNK})",
    f"select ragdb.build_evidence_pack(chunk_ids => array[{CHUNK}], corpus => 'docs')",
    "select ragdb.record_gate('gamma w3 omega', p, min_score => 0.12345678901234568,"
    " min_coverage => 0.51234567890123456) - 'gate_id'"
    f" from ragdb.build_evidence_pack(chunk_ids => array[{CHUNK}], corpus => 'docs') p",
    "select a.status, a.gate - 'gate_id' from ragdb.ask('docs', 'gamma w3 omega?',"
    " min_score => 0.012345678901234568, min_coverage => 0.01234567890123456) a",
    "select is_enough, best_score, min_score, coverage, min_coverage from ragdb.evidence_gates"
    " order by created_at, id",
    "select ranking, result_hash from ragdb.list_traces()",
    "select ragdb.export_corpus('docs') ->> 'digest'",
    "select gate - 'gate_id' from ragdb.ask('docs', 'What of gamma w3 x7 and y31 delta?')",
    'select ragdb.rag_query(\'{"params": {"corpus": "docs"}, "input": {"query": "gamma w3"}}\')'
    " #>> '{output}'",
    "select ragdb.answer_from_evidence('What of gamma w3 x7 and y31 delta?',"
    f" ragdb.build_evidence_pack(chunk_ids => array[{CHUNK}], corpus => 'docs'))::text",
    'select "gen_ai.retrieval.documents", "retrieval.documents" from bi.traces_otel'
    " where \"gen_ai.retrieval.documents\" <> '' order by start_at limit 2",
    "select * from ragdb.check_corpus('docs')",
    "select * from ragdb.verify() where severity <> 'note'",
]
# what it says by settings of its own; sessions that set others did not change the code
CHECKED = [
    "select * from ragdb.check_corpus('docs')",
    ASKED[-1].replace(
        "verify()",
        'verify(checks => array(select "check" from ragdb.verification_checks()'
        " where \"check\" <> 'code'))",
    ),
]


def answers(server: Server, given: dict[str, str], asking: dict[str, str]) -> list[Any]:
    """Fill a database and ask it, as who has some settings, and let another look at it."""
    options = " ".join(f"-c {name}={value}" for name, value in given.items())
    with server.database() as database:
        dsn = server.dsn(database.dbname)
        with psycopg.connect(dsn, options=options, autocommit=True) as db:
            db.execute("select ragdb.create_embedder('three', 3)")
            db.execute("select ragdb.create_corpus('docs', history => '1 year')")
            db.execute("select ragdb.create_corpus('whole')")
            for part in ("p1", "p2"):
                db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))
                put(db, part, DOCUMENTS[int(part[1]) :: 2])
            put(db, "docs", DOCUMENTS)
            db.execute("select ragdb.embed_corpus('docs', 'three')")
            client = Client(db)
            claimed = client.claim_embeddings("w", 1000)
            client.complete_embeddings(
                claimed[0].space_id,
                [row.input_hash for row in claimed],
                [row.attempt for row in claimed],
                [x for n in range(len(claimed)) for x in (0.1 * n, 0.8, 0.3)],
            )
            put(db, "docs", [text_document(d["uri"], "gamma w3") for d in DOCUMENTS[20:29]])
            db.execute("select ragdb.delete_sources('docs', array['50.txt', '51.txt'])")
            db.execute("select ragdb.optimize_corpus('docs')")
            db.execute("select ragdb.sync_statistics('whole')")
            for name, value in asking.items():
                db.execute(f"set {name} = {value}".encode())
            found = [db.cursor(binary=True).execute(asked).fetchall() for asked in ASKED]
        with psycopg.connect(dsn) as db:
            return [*found, *(db.execute(asked).fetchall() for asked in CHECKED)]


@pytest.fixture(scope="module")
def usual(server18: Server) -> list[Any]:
    return answers(server18, {}, {})


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.nightly] if n in ALONE else []) for n in SETTINGS]
)
def test_no_setting_of_a_session_changes_what_is_stored_and_found(
    server18: Server, usual: list[Any], name: str
) -> None:
    found = answers(server18, SETTINGS[name], {} if name in ALONE else SETTINGS[PARALLEL])
    for asked, rows, expected in zip([*ASKED, *CHECKED], found, usual, strict=True):
        assert rows == expected, asked
    assert all(expected for expected in usual[:-4])
