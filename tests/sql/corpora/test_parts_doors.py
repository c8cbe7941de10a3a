"""Each function of a corpus takes one that is made of parts, or says to name a part."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from ragdb.client.corpora import searched
from ragdb.database import Database
from ragdb.mcp import builtin, explaining
from ragdb.mcp.served import Served, ToolError
from tests.conftest import Connection
from tests.embedding import ENCODER, embed, make_embedder, one, put
from tests.sql.corpora.test_parts import make_parts
from tests.sql.evaluation.test_evaluation_runs import apply, contract

NEAR = "array_fill(0.1::float8, array[64])"
REFUSAL = 'RG438 True corpus "whole" is made of parts'

# a call of each function that takes the whole, and how many rows it returns
WHOLE = {
    "add_synonym_lists": ("'whole', '[[\"red\", \"crimson\"]]'", 1),
    "add_synonyms": ("'whole', '{red,crimson}'", 1),
    "ask": ("'whole', 'red apple', 'on'", 1),
    "ask_retriever": ("'whole'", 1),
    "build_evidence_pack": ("chunk_ids => array[:chunk], corpus => 'whole'", 1),
    "calibrate_gate": ("'whole'", 1),
    "check_corpus": ("'whole'", 0),
    "claim_embeddings": ("'w', only_corpus => 'whole'", 0),
    "corpus_embedder": ("'whole'", 1),
    "corpus_info": ("'whole'", 1),
    "count_matches": ("'whole', 'red'", 1),
    "create_corpus": ("'more', part_of => 'whole'", 1),
    "did_you_mean": ("'whole', 'aple'", 1),
    "document_chunks": ("'whole', 'c'", 1),
    "document_text": ("'whole', 'c'", 1),
    "document_versions": ("'whole', 'c'", 1),
    "drop_part_statistics": ("'whole', 'elsewhere'", "RG404"),
    "embedding_status": ("'whole'", 3),
    "list_evals": ("'whole'", 0),
    "erase_caller": ("'postgres', 'whole'", 1),
    "erase_traces": ("'whole'", 1),
    "explain_missing": ("'whole', 'apple', :chunk", 1),
    "explain_score": ("'whole', 'red apple', :chunk", 2),
    "explain_scores": ("'whole', 'red apple', array[:chunk]", 2),
    "explain_search": ("'whole', 'red apple', :chunk", 2),
    "facets": ("'whole', 'red', '{source}'", 3),
    "fail_query": ("'whole', 'hash', '\\x00', 1, 'e'", 1),
    "feedback_cases": ("'whole'", 1),
    "find_chunk": ("'whole', :chunk", 1),
    "gate_questions": ("'whole'", 72),
    "get_children": ("'whole', :chunk", 0),
    "get_chunk": ("'whole', :chunk", 1),
    "get_document": ("'whole', 'c'", 1),
    "get_parents": ("'whole', :chunk", 0),
    "get_turn": ("'whole', :chunk", "RG406"),
    "get_source": ("'whole', 'c'", 1),
    "grant_corpus": ("'whole', 'reader', 'read'", 1),
    "highlight": ("'whole', :chunk, 'red'", 1),
    "highlight_chunks": ("'whole', array[:chunk], 'red'", 1),
    "import_corpus": ("ragdb.export_corpus('part-0'), 'whole'", "RG409"),
    "known_sources": ("'whole', '{a,c,e,f}'", 3),
    "list_access_events": ("'whole'", 0),
    "list_answers": ("'whole'", 0),
    "list_chunks": ("'whole'", 5),
    "list_documents": ("'whole'", 5),
    "list_failed_embeddings": ("'whole'", 0),
    "list_feedback": ("'whole'", 0),
    "list_gates": ("'whole'", 0),
    "list_grants": ("'whole'", 0),
    "list_moves": ("'whole'", 0),
    "list_parts": ("'whole'", 3),
    "list_peer_corpora": ("'whole'", 0),
    "list_synonyms": ("'whole'", 0),
    "list_turns": ("'whole', array[:chunk]", 0),
    "list_traces": ("'whole'", 0),
    "list_unanswered": ("'whole'", 0),
    "locate_quote": ("'whole', :chunk, 'plum'", 1),
    "match_documents": (f"{NEAR}, corpus => 'whole'", 5),
    "merge_candidates": ('\'whole\', \'[[{"chunk_id": "c", "score": 1}]]\'', 1),
    "optimize_corpus": ("'whole'", 1),
    "part_statistics": ("'whole'", 3),
    "prepare_query": ("'whole', 'red'", 1),
    "put_part_statistics": (
        "'whole', 'elsewhere', 1, 5, 9, '{red}', '{5}', now()",
        1,
    ),
    "put_query_embedding": (f"'whole', 'red', {NEAR}", 1),
    "query_embedding_state": ("'whole', 'red'", 1),
    "ranking_digest": ("'whole'", 1),
    "record_failure": ("'whole', 'red', 'RG400', 1", 1),
    "record_reads": ("'whole', 'on'", 1),
    "record_refusal": ("'whole', 'RG401'", 1),
    "remove_synonyms": ("'whole', 'red'", 1),
    "repair_corpus": ("'whole'", 1),
    "request_query_embedding": ("'whole', 'red'", 1),
    "requeue_embeddings": ("'whole'", 1),
    "resolve_from_query": ("'whole', 'red'", 1),
    "restrict_corpus": ("'whole'", 1),
    "query_embedder": ("'{whole}', 'hybrid'", 1),
    "retrieve": ("'whole', 'red'", 3),
    "retrieve_global": ("'whole', 'red'", 3),
    "retry_failed": ("'whole'", 1),
    "revoke_corpus": ("'whole', 'reader'", "RG400"),
    "search": ("'whole', 'red'", 3),
    "search_candidates": ("'whole', 'red'", 3),
    "search_documents": ("'whole', 'red'", 3),
    "search_global": ("'whole', 'red'", 3),
    "similar": ("'whole', :chunk", 4),
    "sync_statistics": ("'whole'", 1),
    "traffic": ("now() - interval '1 day', corpus => 'whole'", 25),
    "turn_id": ("'whole', 's', 'i'", 1),
    "unrestrict_corpus": ("'whole'", 1),
}
# a call of each function that takes a part, and refuses the whole
PART = {
    "corpus_events": "'whole'",
    "corpus_event_envelopes": "'whole'",
    "begin_move": "'whole', 'elsewhere'",
    "add_edges": "'whole', '[]'",
    "append_turns": "'whole', 's', '[]'",
    "apply_events": "'p', 'whole', '{}'",
    "build_slice": "'whole', :chunk",
    "build_slices": "'whole', array[:chunk]",
    "claim_ingest_jobs": "'w', only_corpus => 'whole'",
    "compare_spaces": f"'whole', 'hash', '{{red}}', {NEAR}::real[], {NEAR}::real[]",
    "cutover_corpus": "'whole', 'hash'",
    "decide_proposal": "'whole', gen_random_uuid(), 'approved'",
    "delete_document": "'whole', 'c'",
    "delete_source": "'whole', 'c'",
    "delete_sources": "'whole', '{c}'",
    "diff_corpus": "'whole', 1",
    "draft_events": "'whole'",
    "drop_corpus": "'whole'",
    "drop_history": "'whole'",
    "drop_space": "'whole', 'hash'",
    "embed_corpus": "'whole', 'hash'",
    "erase_source": "'whole', 'c'",
    "erase_speaker": "'whole', 'c'",
    "export_corpus": "'whole'",
    "export_documents": "'whole'",
    "export_embeddings": "'whole'",
    "export_slice": "'whole', :chunk",
    "filter_admissible": "'whole', 's', '{c}'",
    "find_slice": "'whole', 's'",
    "finish_import": "'whole', '{}'",
    "follow_peer": "'whole', 'p'",
    "get_edges": "'whole', '{c}'",
    "get_slice": "'whole', 's'",
    "import_documents": "'whole', '[]'",
    "import_embeddings": f"'whole', '{{c}}', '{{0}}', {NEAR}::real[]",
    "import_synonyms": "'whole', '[]'",
    "index_space": "'whole'",
    "is_admissible": "'whole', 's', 'c'",
    "keep_history": "'whole', '1 day'",
    "list_atoms": "'whole'",
    "list_conflicts": "'whole'",
    "list_erasures": "'whole'",
    "list_incidents": "'whole'",
    "list_proposals": "'whole'",
    "list_shared_documents": "'whole'",
    "list_shared_events": "'whole'",
    "list_slices": "'whole'",
    "list_versions": "'whole'",
    "map_corpus": "'whole'",
    "merge_peer_answers": "'whole', '{}', '[]'",
    "propose": "'whole', array[gen_random_uuid()], 't'",
    "note_readings": "'whole', '[]'",
    "prune_sources": "'whole', '', '{a}'",
    "publish_events": "'whole', '{}', '{}'",
    "put_blob": "'\\x00', 'text/plain', 'whole'",
    "put_conversations": "'whole', '[]'",
    "put_document": "'whole', 'sha256:', 'a', '[]', '{}'",
    "put_documents": "'whole', '[]'",
    "put_embeddings": f"'whole', '{{c}}', {NEAR}",
    "put_text": "'whole', 'a', 'text'",
    "put_texts": "'whole', '{text}'",
    "record_reading": "'whole', 's', 1",
    "reembed_corpus": "'whole', 'hash'",
    "remove_edges": "'whole', '[]'",
    "replay_cited": "'whole', 's', 'q', 'p'",
    "resolve_anchor": "'whole', :chunk",
    "resolve_explicit": "'whole', :chunk",
    "resolve_from_session": "'whole', 's'",
    "resolve_temporal": "'whole'",
    "retrieve_slice": "'whole', 'red', anchor => :chunk",
    "rollback_corpus": "'whole'",
    "search_dual": "'whole', 'red'",
    "search_slice": "'whole', 'red', anchor => :chunk",
    "share_corpus": "'whole'",
    "shared_feed": "'whole'",
    "slice_graph": "'whole', anchor => :chunk",
    "slice_members": "'whole', 's'",
    "space_questions": "'whole'",
    "unchanged_sources": "'whole', '[]'",
    "unshare_corpus": "'whole'",
    "verify_token": "'whole', 't', 's', 'a', 'p', 'h', 'g', 'v'",
    "version_at": "'whole', now()",
}


@pytest.fixture
def parts(db: Connection) -> Connection:
    make_embedder(db)
    make_parts(db)
    put(db, {"a": "red apple", "b": "green pear"}, "part-0")
    put(db, {"c": "red plum", "d": "yellow wine"}, "part-1")
    put(db, {"e": "a red apple tree"}, "part-2")
    embed(db)
    db.execute("select ragdb.optimize_corpus('whole')")
    return db


def called(db: Connection, name: str, arguments: str) -> int | str:
    """How many rows a call returns, or what it raises."""
    if ":chunk" in arguments:
        chunk = one(db, "select chunk_id from ragdb.list_chunks('part-1', '{\"source\": \"c\"}')")
        arguments = arguments.replace(":chunk", f"'{chunk}'")
    try:
        with db.transaction(force_rollback=True):
            return len(db.execute(f"select * from ragdb.{name}({arguments})").fetchall())
    except psycopg.Error as error:
        hint = error.diag.message_hint or ""
        return f"{error.sqlstate} {'list_parts' in hint} {error.diag.message_primary}"


def test_each_function_takes_a_corpus_of_parts_or_says_to_name_one(parts: Connection) -> None:
    takers = parts.execute("""
        select distinct p.proname from pg_proc p
        where p.pronamespace = 'ragdb'::regnamespace and p.prokind = 'f'
          and p.proargnames[1:p.pronargs] && '{corpus,corpora,only_corpus}'
          -- a router, which reads no corpus itself
          and p.proname <> 'cluster_place'
        """)
    assert {name for (name,) in takers} == WHOLE.keys() | PART.keys()
    wrong = {}
    for name, (arguments, rows) in WHOLE.items():
        found = called(parts, name, arguments)
        if rows not in (found, str(found)[:5]):
            wrong[name] = found
    for name, arguments in PART.items():
        if (found := called(parts, name, arguments)) != REFUSAL:
            wrong[name] = found
    assert wrong == {}, "\n".join(f"{n}: {w}" for n, w in wrong.items())


# a join may find nothing before it comes to what opens the corpus
def test_no_plan_passes_over_a_corpus_that_is_not_there(clone: str) -> None:
    with psycopg.connect(clone) as db:
        db.execute("select ragdb.create_corpus('there')")
        db.commit()
        db.execute("set enable_nestloop = off")
        opening = db.execute("""
            select distinct p.proname from pg_proc p join pg_language l on l.oid = p.prolang
            where p.pronamespace = 'ragdb'::regnamespace and l.lanname = 'sql'
              and pg_get_functiondef(p.oid) ~ 'open_corpus|open_corpora'
            """).fetchall()
        calls = {name: arguments for name, (arguments, _) in WHOLE.items()} | PART
        found = {
            name: called(
                db, name, calls[name].replace("whole", "there not").replace(":chunk", "'c'")
            )
            for (name,) in opening
        }
        assert found
        assert {name: said for name, said in found.items() if "RG404" not in str(said)} == {}


def test_an_eval_of_parts_measures_what_one_of_the_corpus_in_one_piece_does(db: Connection) -> None:
    chance = random.Random(7)
    words = [f"w{n}" for n in range(12)]
    texts = {f"d{n}": " ".join(chance.choices(words, k=4)) for n in range(40)}
    cases = []
    for number in range(8):
        asked = " ".join(chance.sample(words, 2))
        labels = [{"source": uri, "start": 1, "end": 6} for uri in chance.sample(sorted(texts), 3)]
        labels += [{"source": uri} for uri in ["gone", *chance.sample(sorted(texts), 3)]]
        cases.append({"name": f"q{number}", "query": asked, "labels": labels})

    def measured(corpora: list[str]) -> list[Any]:
        apply(db, contract("", "lexical"))
        for corpus in corpora if corpora != ["docs"] else ():
            db.execute("select ragdb.create_corpus(%s, part_of => 'docs')", (corpus,))
        for number, corpus in enumerate(corpora):
            part = {u: t for u, t in texts.items() if int(u[1:]) % len(corpora) == number}
            put(db, part, corpus)
        db.execute("select ragdb.optimize_corpus('docs')")
        imported = db.execute("select * from ragdb.import_eval('A', 'V', %s)", (Jsonb(cases),))
        run = one(db, "select run_id from ragdb.run_eval('A')")
        found: list[Any] = imported.fetchall()
        for columns in (
            "case_no, metric, value from ragdb.eval_metrics",
            "case_no, kind, code, message from ragdb.eval_assert_results",
            "case_no, name, status from ragdb.eval_case_results",
        ):
            found.append(sorted(db.execute(f"select {columns}(%s)", (run,)).fetchall()))
        challenged = db.execute("select * from ragdb.challenge_eval('A')").fetchall()
        return [*found, challenged]

    expected = measured(["docs"])
    db.execute("select ragdb.drop_corpus('docs')")
    assert measured(["p0", "p1", "p2"]) == expected
    assert any("STALE_LABEL" in map(str, row) for row in expected[2])


def test_models_and_clients_mean_the_whole(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        for corpus in ("whole", "other"):
            db.execute("select ragdb.create_corpus(%s)", (corpus,))
        for part in ("part-0", "part-1"):
            db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))
        put(db, {"a": "red apple"}, "part-0")
        put(db, {"b": "red pear"}, "part-1")
        listed = Database(db).list_corpora()
        assert searched(listed) == ["other", "whole"]
        # without one of them the others are searched one by one
        seen = [corpus for corpus in listed if corpus.name != "part-0"]
        assert searched(seen) == ["other", "part-1"]
    served = Served(clone, corpora=["whole"])
    served.pool.open()
    try:
        found = builtin.search(served, {"query": "red pear"})["results"]
        assert [hit["text"] for hit in found] == ["red pear", "red apple"]
        fetched = builtin.fetch(served, {"id": found[0]["id"]})
        assert fetched["text"] == "red pear"
        passage = {
            "corpus": "whole",
            "query": "red apple",
            "chunk_id": found[0]["id"].split("/")[1],
        }
        explained = explaining.explain_passage(served, passage)
        assert (explained["step"], explained["rank"]) == ("hit", 2)
        with pytest.raises(ToolError):
            served.check("other")
    finally:
        served.pool.close()


def test_a_query_is_embedded_once_for_all_parts(parts: Connection) -> None:
    query = "red apple"
    vector = Reals(ENCODER.encode([query]))
    ask = "select chunk_id, score from ragdb.search(%s, %s, mode => 'hybrid'{}) order by rank"
    expected = parts.execute(ask.format(", query_embedding => %s"), ("whole", query, vector))
    assert one(parts, "select ragdb.request_query_embedding('whole', %s)", query) is False
    claimed = parts.execute("select corpus, query from ragdb.claim_queries('w')").fetchall()
    assert claimed == [("whole", query)]
    parts.execute("select ragdb.put_query_embedding('whole', %s, %s)", (query, vector))
    assert parts.execute(ask.format(""), ("whole", query)).fetchall() == expected.fetchall()
    # and a part alone has it too, where what a writer of one part gives is not for all
    assert parts.execute(ask.format(""), ("part-1", query)).fetchall()
    parts.execute("select ragdb.put_query_embedding('part-1', 'plum', %s)", (vector,))
    assert one(parts, "select ragdb.request_query_embedding('whole', 'plum')") is False


def test_the_gate_of_parts_has_the_floors_of_the_corpus_in_one_piece(db: Connection) -> None:
    chance = random.Random(5)
    words = ["pump", "valve", "hose", "boat", "sail", "oar", "mast", "keel", "rope", "deck"]
    texts = {f"{n:02}": " ".join(chance.choices(words, k=12)) for n in range(60)}
    shown = "mode, floor, own_score, other_score, own_questions"
    floors = f"select {shown} from ragdb.calibrate_gate(%s)"
    found = []
    for parts in ([], ["docs-0", "docs-1"]):
        db.execute("select ragdb.create_corpus('docs')")
        for number, corpus in enumerate(parts or ["docs"]):
            if parts:
                db.execute("select ragdb.create_corpus(%s, part_of => 'docs')", (corpus,))
            own = [n for n in texts if not parts or int(n) // 40 == number]
            put(db, {n: texts[n] for n in own}, corpus)
        db.execute("select ragdb.optimize_corpus('docs')")
        # as at a commit, by which a corpus of 50 chunks has its floors
        db.execute("set constraints all immediate")
        db.execute("set constraints all deferred")
        assert one(db, "select count(*) from ragdb.gate_calibrations g join ragdb.corpora c"
                   " using (corpus_id) where c.name = 'docs'") == 1  # fmt: skip
        found.append(db.execute(floors, ("docs",)).fetchall())
        if not parts:
            db.execute("select ragdb.drop_corpus('docs')")
    assert found[0] == found[1]
    assert found[0][0][-1] == 36
