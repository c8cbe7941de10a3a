"""The modes of a search stand in one list, which a table cannot read."""

from __future__ import annotations

import itertools
import re

from tests.conftest import Connection
from tests.embedding import put


def test_a_trace_takes_every_mode_and_no_other(db: Connection) -> None:
    ((modes,),) = db.execute("select ragdb_internal.search_modes()").fetchall()
    ((check,),) = db.execute(
        "select pg_get_constraintdef(oid) from pg_constraint"
        " where conrelid = 'ragdb.retrieval_traces'::regclass"
        " and pg_get_constraintdef(oid) like '%rank_mode = ANY%'"
    ).fetchall()
    assert set(re.findall(r"'(\w+)'", check)) == set(modes)


def test_a_mode_uses_embeddings_or_does_not(db: Connection) -> None:
    rows = db.execute(
        "select m, ragdb_internal.uses_embeddings(m) from unnest(ragdb_internal.search_modes()) m"
    ).fetchall()
    assert dict(rows) == {"lexical": False, "semantic": True, "hybrid": True, "reference": False}


def test_what_has_nothing_in_common_with_the_query_is_not_a_hit(db: Connection) -> None:
    texts = {"near.txt": "rain", "across.txt": "snow", "away.txt": "wind", "word.txt": "refund"}
    db.execute("select ragdb.create_corpus('docs', history => '1 day')")
    db.execute("select ragdb.create_embedder('three', 3)")
    put(db, texts)
    vectors = {"near.txt": [1, 0, 0], "across.txt": [0, 1, 0], "away.txt": [-1, 0, 0]}
    db.execute("select ragdb.embed_corpus('docs', 'three')")
    for source, vector in (vectors | {"word.txt": [0, 0, 1]}).items():
        db.execute(
            "select ragdb.put_embeddings('docs', array(select l.chunk_id from"
            " ragdb.list_chunks('docs') l where l.source = %s), %s)",
            (source, vector),
        )
    ((version,),) = db.execute("select version from ragdb.corpus_info('docs')").fetchall()
    put(db, {"late.txt": "late"})
    for as_of, (mode, found) in itertools.product(
        (None, version),
        {
            "semantic": ["near.txt"],
            "hybrid": ["near.txt", "word.txt"],
            "lexical": ["word.txt"],
        }.items(),
    ):
        rows = db.execute(
            "select source from ragdb.search('docs', 'refund', mode => %s, query_embedding =>"
            " '{1,0,0}', lexical_weight => 0.4, as_of => %s) order by rank",
            (mode, as_of),
        )
        assert [source for (source,) in rows] == found, (mode, as_of)
    chunk = "(select l.chunk_id from ragdb.list_chunks('docs') l where l.source = %s)"
    like = f"select source from ragdb.similar('docs', {chunk})"
    assert db.execute(like, ("near.txt",)).fetchall() == []
    missing = (
        "select step, reason, score from ragdb.explain_missing('docs', 'refund', "
        f"{chunk}, mode => %s, query_embedding => '{{1,0,0}}')"
    )
    for mode in ("semantic", "hybrid"):
        assert db.execute(missing, ("away.txt", mode)).fetchall() == [
            ("min_score", "its score is 0, and that of a hit is above 0", 0)
        ]
