"""Changing the model: interrupted and resumed, compared before the switch, and never mixed."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb import errors
from ragdb.client.calling import Reals
from ragdb.models.encoders import HashEncoder
from ragdb.models.worker import Worker
from tests.conftest import Connection
from tests.embedding import embed, make_corpus, make_embedder, one, put, status
from tests.forked import Forked
from tests.waiting import until

QUERY = "text number 7 of the seventh shelf"
WIDTHS = {"hash": 64, "new": 32}
CONTRACT = """corpus name=docs
retriever name=R corpus=docs mode=lexical topK=5
rag name=A retriever=R
  grounding requireCitations=true policy=strict
  ragEval name=V metric=hitRate threshold=0.5 mode=contract
    ragCase name=declared query="alpha beta" sources=a
"""


def ragdb(clone: str, *arguments: str) -> Forked:
    return Forked(*arguments, env={**os.environ, "RAGDB_DATABASE_URL": clone}, stdout=True)


def finish(process: Forked) -> str:
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    return said


def nearest(db: Connection, model: str) -> list[Any]:
    """Ids and scores of a semantic search by the query's vector of that model."""
    vector = Reals(HashEncoder(WIDTHS[model]).encode([QUERY]))
    return db.execute(
        "select chunk_id, score from ragdb.search('docs', %s, 5, mode => 'semantic',"
        " query_embedding => %s)",
        (QUERY, vector),
    ).fetchall()


def truth(db: Connection, model: str) -> list[Any]:
    """The same, computed here from the texts."""
    encoder = HashEncoder(WIDTHS[model])
    rows = db.execute("select chunk_id, text from ragdb.chunks").fetchall()
    scores = encoder.encode([text for _, text in rows]) @ encoder.encode([QUERY])[0]
    ranked = sorted(
        (-round(max(0.0, float(score)), 6), chunk)
        for (chunk, _), score in zip(rows, scores, strict=True)
    )
    return [(chunk, -score) for score, chunk in ranked[:5]]


@pytest.mark.nightly
def test_a_killed_reembed_goes_on_while_searches_see_one_model_or_the_other(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {str(n): f"text number {n} of shelf {n % 9}" for n in range(400)})
        Worker(clone).run(until="empty")
        make_embedder(db, "new", WIDTHS["new"])
        expected = {model: truth(db, model) for model in WIDTHS}
        seen: list[str] = []
        wrong: list[Any] = []
        stopped = threading.Event()

        def search() -> None:
            with psycopg.connect(clone, autocommit=True) as mine:
                while not stopped.is_set():
                    for model in WIDTHS:
                        try:
                            found = nearest(mine, model)
                        except errors.InvalidEmbedding:
                            continue  # the corpus is searched by the other
                        seen.append(model)
                        if [chunk for chunk, _ in found] != [chunk for chunk, _ in expected[model]]:
                            wrong.append(found)

        searching = threading.Thread(target=search)
        searching.start()
        try:
            until(lambda: seen)
            db.execute("select ragdb.reembed_corpus('docs', 'new')")
            with psycopg.connect(clone) as other:
                # it cannot come to its end before it is killed
                other.execute("select from ragdb.embedding_jobs limit 50 for update")
                started = ragdb(clone, "reembed", "docs", "--model", "new", "--batch", "5")
                filled = "select count(*) from ragdb.chunk_embeddings where space_id = 2"
                until(lambda: one(db, filled) >= 20)
                started.send_signal(signal.SIGKILL)
                started.communicate()
            done = one(db, filled)
            assert 20 <= done < 400
            assert status(db, "embedder") == "hash"
            # what the killed one had in hand waits for the end of its lease
            db.execute("update ragdb.embedding_jobs set due_at = clock_timestamp()")
            said = finish(ragdb(clone, "reembed", "docs", "--model", "new"))
            assert f"embedded {400 - done} chunks" in said
            assert set(seen) == {"hash"}
            finish(ragdb(clone, "reembed", "docs", "--model", "new", "--cutover"))
            until(lambda: seen[-1] == "new")
            for (chunk, score), (wanted, exact) in zip(
                nearest(db, "new"), expected["new"], strict=True
            ):
                assert (chunk, score) == (wanted, pytest.approx(exact, abs=2e-6))
            finish(ragdb(clone, "reembed", "docs", "--rollback"))
            until(lambda: seen[-1] == "hash")
        finally:
            stopped.set()
            searching.join()
        assert wrong == []
        order = [a for a, b in zip(seen, [*seen[1:], ""], strict=True) if a != b]
        assert order == ["hash", "new", "hash"]


@pytest.mark.parametrize("step", ["cutover_corpus('docs', 'new')", "rollback_corpus('docs')"])
def test_a_switch_is_one_transaction(clone: str, step: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db, psycopg.connect(clone) as other:
        make_corpus(db, {str(n): f"text {n}" for n in range(9)})
        make_embedder(db, "new", WIDTHS["new"])
        db.execute("select ragdb.reembed_corpus('docs', 'new')")
        Worker(clone).run(until="empty")
        if step.startswith("rollback"):
            db.execute("select ragdb.cutover_corpus('docs', 'new')")
        before = status(db, "embedder")
        other.execute(f"select ragdb.{step}")
        assert nearest(other, "new" if before == "hash" else "hash")
        assert nearest(db, before)
        other.rollback()
        assert status(db, "embedder") == before
        with other.transaction():
            other.execute(f"select ragdb.{step}")
        assert status(db, "embedder") != before


def test_what_a_new_model_would_change_is_said_before_the_switch(clone: str) -> None:
    texts = {"a": "alpha beta", "b": "gamma delta", "c": "beta and more", "d": "epsilon"}
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, texts)
        make_embedder(db, "new", WIDTHS["new"])
        Worker(clone).run(until="empty")
        said = finish(ragdb(clone, "reembed", "docs", "--model", "new"))
        assert "4 headings" in said
        db.execute("update ragdb.corpora set record_query_text = 'full'")
        for query in ("gamma", "delta", "gamma"):
            db.execute("select ragdb.retrieve('docs', %s)", (query,))
        rows = db.execute("select origin, query from ragdb.space_questions('docs')").fetchall()
        assert rows == [("trace", "gamma"), ("trace", "delta")]
        db.execute("select * from ragdb.apply_contract(%s, %s)", (CONTRACT, "c"))
        cases = [{"name": "wrong", "query": "epsilon", "labels": [{"source": "b"}]}]
        db.execute("select ragdb.import_eval('A', 'V', %s)", (Jsonb(cases),))
        said = finish(ragdb(clone, "reembed", "docs", "--model", "new"))
        assert "2 questions of its evals" in said
        assert "nDCG@10 of the 2 labelled ones" in said
        assert "ragdb reembed docs --model new --cutover" in said


def test_a_switch_that_is_asked_for_again_is_done_already(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {str(n): f"text {n}" for n in range(3)})
        make_embedder(db, "new", WIDTHS["new"])
        Worker(clone).run(until="empty")
        switch = ("reembed", "docs", "--model", "new", "--cutover", "--questions", "0")
        assert "docs is searched by new now" in finish(ragdb(clone, *switch))
        assert "docs is searched by new already" in finish(ragdb(clone, *switch))
        assert status(db, "embedder") == "new"


def test_a_drop_that_is_asked_for_again_is_done_already(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {str(n): f"text {n}" for n in range(3)})
    drop = ("reembed", "docs", "--yes", "--drop")
    assert "dropped the embeddings of docs by hash" in finish(ragdb(clone, *drop, "hash"))
    assert "docs has no embeddings by hash" in finish(ragdb(clone, *drop, "hash"))
    # a name that is mistyped was never dropped
    mistyped = ragdb(clone, *drop, "hush")
    assert "RG416" in mistyped.communicate(timeout=120)[1]
    assert mistyped.returncode not in (0, None)


def test_the_comparison_is_that_of_the_two_rankings(db: Connection) -> None:
    make_corpus(db, {str(n): f"word{n % 7} word{n % 5} tale {n}" for n in range(40)})
    make_embedder(db, "new", 8)
    embed(db)
    db.execute("select ragdb.reembed_corpus('docs', 'new')")
    embed(db, HashEncoder(8).encode)
    queries = ["word3 word2", "tale 9 word4"]
    vectors = {64: HashEncoder(64).encode(queries), 8: HashEncoder(8).encode(queries)}

    def found(width: int, n: int, mode: str) -> set[str]:
        rows = db.execute(
            "select chunk_id from ragdb.search('docs', %s, 5, mode => %s, query_embedding => %s)",
            (queries[n], mode, Reals(vectors[width][n : n + 1])),
        ).fetchall()
        return {chunk for (chunk,) in rows}

    for mode in ("semantic", "hybrid"):
        before = [found(64, n, mode) for n in range(2)]
        rows = db.execute(
            "select overlap, current_ndcg, ndcg from ragdb.compare_spaces("
            "'docs', 'new', %s, %s, %s, 5, %s)",
            (queries, Reals(vectors[64]), Reals(vectors[8]), mode),
        ).fetchall()
        db.execute("savepoint compared")
        db.execute("select ragdb.cutover_corpus('docs', 'new')")
        after = [found(8, n, mode) for n in range(2)]
        db.execute("rollback to savepoint compared")
        assert rows == [(len(b & a) / 5, None, None) for b, a in zip(before, after, strict=True)]
        assert any(overlap < 1 for overlap, _, _ in rows)


def test_of_two_cases_that_ask_the_same_the_first_of_the_contract_counts(db: Connection) -> None:
    evals = "".join(
        f"  ragEval name={name} mode=contract metric=ndcg threshold=0.1\n"
        f'    ragCase name=c query="word3" topK=5 sources={source}\n'
        for name, source in (("V", "a"), ("U", "b"))
    )
    make_corpus(db, {"a": "word3 tale", "b": "nothing of it", "c": "nor here"})
    make_embedder(db, "new", 8)
    embed(db)
    db.execute("select ragdb.reembed_corpus('docs', 'new')")
    embed(db, HashEncoder(8).encode)
    head = "corpus name=docs\nretriever name=R corpus=docs topK=5\nrag name=A retriever=R\n"
    head += "  grounding requireCitations=true policy=strict\n"
    db.execute("select ragdb.apply_contract(%s, 'c')", (head + evals,))
    for moved in ("V", "U"):
        # the row of one is behind that of the other now
        db.execute("update ragdb.contract_nodes set line = line + 1 where name = %s", (moved,))
        ((ndcg,),) = db.execute(
            "select current_ndcg from ragdb.compare_spaces("
            "'docs', 'new', '{word3}', %s, %s, 1, 'hybrid')",
            (Reals(HashEncoder(64).encode(["word3"])), Reals(HashEncoder(8).encode(["word3"]))),
        ).fetchall()
        assert ndcg == 1, moved


def test_spaces_are_compared_by_admins_with_vectors_that_fit(db: Connection) -> None:
    make_corpus(db, {"a": "alpha"})
    make_embedder(db, "new", 8)
    embed(db)
    call = "select * from ragdb.compare_spaces('docs', 'new', %s, %s, %s, %s)"
    good = Reals(HashEncoder(64).encode(["x"])), Reals(HashEncoder(8).encode(["x"]))
    with pytest.raises(errors.EmbedderNotFound), db.transaction():
        db.execute(call, (["x"], *good, 10))
    db.execute("select ragdb.reembed_corpus('docs', 'new')")
    with pytest.raises(errors.InvalidEmbedding), db.transaction():
        db.execute(call, (["x"], *good[::-1], 10))
    for k, queries in ((0, ["x"]), (10, ["x", None])):
        with pytest.raises(errors.InvalidArgument), db.transaction():
            db.execute(call, (queries, *good, k))
    with pytest.raises(errors.InvalidArgument), db.transaction():
        db.execute("select ragdb.space_questions('docs', 0)")
    assert db.execute(call, ([], [], [], 10)).fetchall() == []
    db.execute("set role writer")
    for refused in (call, "select ragdb.space_questions('docs')"):
        with pytest.raises(errors.NotAuthorized), db.transaction():
            db.execute(refused, (["x"], *good, 10) if refused == call else ())


def test_both_versions_of_postgresql_rank_alike(server16: Any, server18: Any) -> None:
    """In exact mode, chunk by chunk and digit by digit."""
    found = []
    for server in (server16, server18):
        with psycopg.connect(server.shared) as db:
            make_corpus(
                db, {str(n): f"text {n} of shelf {n % 13} on floor {n % 5}" for n in range(300)}
            )
            put(db, {"extra": "floor 3 is above shelf 12"})
            embed(db)
            rows = []
            for query in ("shelf 7 on floor 2", "text 250", "floor above the shelf"):
                vector = Reals(HashEncoder(64).encode([query]))
                for mode in ("lexical", "semantic", "hybrid"):
                    rows += db.execute(
                        "select chunk_id, score, lexical_score, semantic_score, is_exact"
                        " from ragdb.search('docs', %s, 20, mode => %s, query_embedding => %s)",
                        (query, mode, vector),
                    ).fetchall()
            assert all(is_exact for *_, is_exact in rows)
            found.append(rows)
            db.rollback()
    assert found[0] == found[1]
