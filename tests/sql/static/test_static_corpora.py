"""A corpus whose embedder is static: every chunk has its vector, and every search meaning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from ragdb.database import Database
from ragdb.errors import EmbedderMismatch, EmbedderNotFound, ModeNotAvailable
from ragdb.server import static
from tests.conftest import Connection
from tests.documents import document
from tests.sql.conversations import conversation, message
from tests.sql.documents_twin import put as put_documents
from tests.static_twin import Twin

TEXTS = {
    "fusion": "Both legs of a hybrid search run once, and their scores are joined by a weight.",
    "chunker": "The chunker cuts a text into paragraphs and sentences, and packs the words.",
    "http": "A request of HTTP carries a bearer token, which names a role of the database.",
}


def fill(db: Database, corpus: str = "docs") -> None:
    db.create_corpus(corpus)
    for source, text in TEXTS.items():
        db.put_text(corpus, source, text, title=source)


def wrong(db: Database, twin: Twin, corpus: str = "docs") -> list[str]:
    """Chunks without a vector, or with another than that of their title and text now."""
    rows = db.connection.execute(
        "select c.chunk_id, coalesce(d.title, ''), c.text, e.half::real[]"
        " from ragdb.corpora o join ragdb.chunks c using (corpus_id)"
        " join ragdb.documents d using (corpus_id, doc_no)"
        " join ragdb.embedding_spaces s on s.corpus_id = o.corpus_id and s.state <> 'retired'"
        " join ragdb.embedders m on m.embedder_id = s.embedder_id and m.provider = 'static'"
        " left join ragdb.chunk_embeddings e on e.space_id = s.space_id"
        "   and e.corpus_id = c.corpus_id and e.chunk_no = c.chunk_no"
        " where o.name = %s",
        (corpus,),
    ).fetchall()
    return [
        chunk_id
        for chunk_id, title, text, half in rows
        if half is None or not np.allclose(half, twin.chunk(title, text), atol=1e-5)
    ]


def test_a_chunk_has_its_vector_in_the_transaction_that_writes_it(
    loaded: Database, small_twin: Twin
) -> None:
    fill(loaded)
    assert wrong(loaded, small_twin) == []
    (space,) = loaded.embedding_status("docs")
    assert (space.embedder, space.coverage, space.backlog) == ("small", 1, 0)
    assert loaded.claim_embeddings("worker") == []
    told = {"queue": "embedding", "state": "waiting"}
    assert [s.value for s in loaded.metrics() if s.labels == told] == [0]


def test_where_no_embedder_is_named_the_default_one_embeds(
    loaded: Database, small_twin: Twin
) -> None:
    loaded.set_default_embedder(None)
    fill(loaded)
    nobody = pytest.raises(EmbedderNotFound, match="no embedder is the default")
    with nobody, loaded.connection.transaction():
        loaded.embed_corpus("docs")
    loaded.set_default_embedder("small")
    loaded.embed_corpus("docs")
    assert [row.embedder for row in loaded.embedding_status("docs")] == ["small"]
    assert wrong(loaded, small_twin) == []


def test_a_chunk_that_changes_changes_its_vector(loaded: Database, small_twin: Twin) -> None:
    fill(loaded)
    loaded.put_text("docs", "fusion", TEXTS["fusion"], title="Another title")
    loaded.put_text("docs", "http", "Now it says something else.", title="http")
    loaded.delete_source("docs", "chunker")
    assert wrong(loaded, small_twin) == []
    assert loaded.embedding_status("docs")[0].embedded == 2


def test_a_search_is_hybrid_without_being_asked(loaded: Database) -> None:
    fill(loaded)
    hits = loaded.search("docs", "joining the scores of both legs")
    assert [hit.mode for hit in hits] == ["hybrid"] * len(hits)
    assert hits[0].source == "fusion"
    assert all(hit.semantic_score is not None for hit in hits)
    weighed = [
        round(0.75 * (hit.lexical_score or 0) + 0.25 * (hit.semantic_score or 0), 6) for hit in hits
    ]
    assert [hit.score for hit in hits] == pytest.approx(weighed, abs=2e-6)


def test_a_search_writes_nothing_and_runs_on_a_standby(loaded: Database) -> None:
    fill(loaded)
    loaded.connection.execute("set transaction_read_only = on")
    (hit, *_) = loaded.search("docs", "unforeseeable joinings of scores", mode="hybrid")
    assert hit.mode == "hybrid"


@pytest.mark.parametrize("length", [1e-9, 30.0, 1e9])
def test_a_vector_counts_the_same_at_any_length(loaded: Database, length: float) -> None:
    """A half holds no number over 65504, and takes what is under 3e-8 for zero."""
    fill(loaded)
    asked = loaded.embed("joining the scores of both legs")
    wanted = loaded.search("docs", "x", mode="semantic", query_embedding=asked)
    stored = {hit.chunk_id: hit.semantic_score for hit in wanted}
    longer = [length * number for number in asked]
    found = loaded.search("docs", "x", mode="semantic", query_embedding=longer)
    assert {hit.chunk_id: hit.semantic_score for hit in found} == pytest.approx(stored, abs=1e-3)
    last = wanted[-1].chunk_id
    assert loaded.put_embeddings("docs", [last], longer) == 1
    (best, *others) = loaded.search("docs", "x", mode="semantic", query_embedding=asked)
    assert best.chunk_id == last
    assert best.score == pytest.approx(1, abs=1e-3)
    assert {hit.chunk_id: hit.semantic_score for hit in others} == {
        chunk: score for chunk, score in stored.items() if chunk != last
    }


def test_a_question_of_unknown_words_is_searched_by_words_and_says_so(loaded: Database) -> None:
    fill(loaded)
    loaded.put_text("docs", "zh", "检索 模型 数据")
    said: list[Any] = []
    loaded.connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    (hit, *_) = loaded.search("docs", "检索 模型")
    assert (hit.source, hit.mode) == ("zh", "lexical")
    assert any("knows too few words" in text for text in said)
    with pytest.raises(ModeNotAvailable, match="needs the embedding"):
        loaded.search("docs", "检索 模型", mode="semantic")


def test_unknown_words_are_not_blamed_on_another_embedder(loaded: Database) -> None:
    """One embedder for all corpora would know them no better."""
    fill(loaded)
    loaded.create_embedder("other", 2)
    loaded.create_corpus("more")
    loaded.embed_corpus("more", "other")
    loaded.put_text("more", "zh", "检索 模型 数据")
    (chunk,) = loaded.document_chunks("more", "zh")
    assert loaded.put_embeddings("more", [chunk.chunk_id], [0.6, 0.8]) == 1
    loaded.put_query_embedding("more", "检索 模型", [0.6, 0.8], "other")
    said: list[Any] = []
    loaded.connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    (hit, *_) = loaded.search(["docs", "more"], "检索 模型")
    assert (hit.source, hit.mode) == ("zh", "lexical")
    assert [text for text in said if 'of corpus "docs" knows too few words' in text] == said
    with pytest.raises(ModeNotAvailable) as refused:
        loaded.search(["docs", "more"], "检索 模型", mode="semantic")
    assert 'of corpus "docs" knows too few' in (refused.value.diag.message_detail or "")


def test_a_query_without_a_word_is_called_that(loaded: Database) -> None:
    """Not an embedder that knows too few words."""
    fill(loaded)
    said: list[Any] = []
    loaded.connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    assert loaded.search("docs", "?!") == []
    assert said == ['the query "?!" has no word to search for']
    with pytest.raises(ModeNotAvailable, match="needs a query with a word"):
        loaded.search("docs", "?!", mode="semantic")


def test_a_corpus_that_keeps_others_from_being_searched_by_meaning_is_named(
    loaded: Database,
) -> None:
    fill(loaded)
    loaded.set_default_embedder(None)
    for name in ("bare", "none"):
        loaded.create_corpus(name)
    loaded.put_text("bare", "b", "Fusion of words.")
    said: list[Any] = []
    loaded.connection.add_notice_handler(lambda n: said.append((n.message_primary, n.message_hint)))

    def asked(*corpora: str, mode: str | None = None) -> set[str]:
        return {hit.mode for hit in loaded.search(list(corpora), "hybrid fusion", mode=mode)}

    assert asked("bare") == asked("docs", "bare", mode="lexical") == {"lexical"}
    assert asked("docs", "none") == {"hybrid"}
    assert said == []
    assert asked("docs", "bare") == {"lexical"}
    ((message, hint),) = said
    assert message.startswith('searching by words only: corpus "bare" is not embedded to its end')
    assert hint == "ragdb embed bare embeds it; or search the others without it"
    loaded.put_text("none", "n", "Fusion of words.")
    assert asked("docs", "bare", "none") == {"lexical"}
    assert said[1][1] == (
        "ragdb embed bare embeds it, which none need too; or search the others without them"
    )


@pytest.mark.parametrize("question", ["interfusion", "interfusion chunkery unforeseeables"])
def test_a_question_of_few_words_may_have_to_be_cut(loaded: Database, question: str) -> None:
    fill(loaded)
    said: list[Any] = []
    loaded.connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    ((known,),) = loaded.connection.execute(
        "select f.known > 0 from ragdb_internal.found_words("
        " ragdb_internal.static_model(ragdb_internal.default_embedder()), %s) f",
        (question,),
    ).fetchall()
    assert not known
    assert {hit.mode for hit in loaded.search("docs", question)} == {"hybrid"}
    assert said == []


def test_a_search_that_lacks_the_embedding_of_a_model_outside_says_so(db: Connection) -> None:
    door = Database(db)
    said: list[Any] = []
    db.add_notice_handler(lambda n: said.append((n.message_primary, n.message_hint)))
    door.create_embedder("hashed", 16)
    door.bind_embedder("hashed", "hash", "hash-v1")
    door.create_corpus("docs")
    door.embed_corpus("docs", "hashed")
    door.put_text("docs", "a", TEXTS["fusion"])
    (chunk,) = door.list_chunks("docs")
    door.put_embeddings("docs", [chunk.chunk_id], [1.0] * 16)
    search = "select mode from ragdb.search('docs', 'hybrid search', mode => {})"
    assert db.execute(search.format("'lexical'").encode()).fetchall() == [("lexical",)]
    assert said == []
    assert db.execute(search.format("null").encode()).fetchall() == [("lexical",)]
    ((message, hint),) = said
    assert "has kept no embedding of the query" in message
    assert "call ragdb.embed_query" in hint


def test_a_chunk_without_known_words_is_near_to_nothing(loaded: Database, small_twin: Twin) -> None:
    fill(loaded)
    loaded.put_text("docs", "signs", "检索 模型")
    assert wrong(loaded, small_twin) == []
    # to a piece of a model of so few dimensions it can be near by chance, to all of them it is not
    ((likeness,),) = loaded.connection.execute(
        "select avg(-(e.half::vector <#> p.embedding::vector)) from ragdb.static_pieces p"
        " join ragdb.embedding_spaces s using (embedder_id)"
        " join ragdb.chunk_embeddings e on e.space_id = s.space_id"
        " join ragdb.chunks c on c.corpus_id = e.corpus_id and c.chunk_no = e.chunk_no"
        " where p.piece <> '' and c.text = '检索 模型'"
    ).fetchall()
    assert likeness < 0


def test_an_index_is_measured_by_words_of_the_texts(loaded: Database) -> None:
    fill(loaded)
    db = loaded.connection
    of = "from ragdb.embedding_spaces s join ragdb.embedders e using (embedder_id)"
    ((points, corpus),) = db.execute(
        f"select ragdb_internal.asked_points(s, e), s.corpus_id {of}".encode()
    ).fetchall()
    for parameter, value in (
        ("$1", "array(select c.chunk_no from ragdb.chunks c)"),
        ("$3", str(corpus)),
        ("$4", "(select s from ragdb.embedding_spaces s)"),
    ):
        points = points.replace(parameter, value)
    found = db.execute(f"select between::real[] from {points} p".encode()).fetchall()
    pieces = [text[len(text) // 3 :][:64] for text in TEXTS.values()]
    assert {tuple(numbers) for (numbers,) in found} == {tuple(loaded.embed(p)) for p in pieces}
    for n in range(10):
        loaded.put_text("docs", str(n), f"The text of number {n}.")
    db.execute(
        "create index on ragdb.chunk_embeddings_1"
        " using hnsw ((half::halfvec(16)) halfvec_cosine_ops)"
    )
    measured = f"select ragdb_internal.measure_ef_search(s, e) {of}"
    assert db.execute(measured.encode()).fetchall() == [(50,)]


def test_a_recorded_retrieval_is_replayed(loaded: Database) -> None:
    fill(loaded)
    hits = loaded.retrieve("docs", "joining the scores of both legs")
    trace = loaded.get_trace(str(hits[0].trace_id))
    assert trace.embedding_model == "small"
    assert trace.ranking["lexical_weight"] == 0.75
    assert loaded.replay(trace.id).verdict == "exact"


def test_conversations_have_homogeneity_at_once(loaded: Database) -> None:
    loaded.create_corpus("chat")
    asked = message(1, text="How are the scores of both legs of a search joined?")
    answered = message(2, [1], text="The scores of both legs are joined by a weight.")
    loaded.put_conversations("chat", [conversation([asked, answered])])
    row = loaded.connection.execute(
        "select array_agg(homogeneity order by depth) from ragdb.turns"
    ).fetchone()
    assert row is not None
    assert row[0][1] not in (0, 0.5, 1)


def test_a_corpus_made_before_is_filled_when_it_is_bound(
    db: Connection, bpe_folder: Path, small_twin: Twin
) -> None:
    door = Database(db)
    fill(door)
    assert door.search("docs", "the scores of both legs")[0].mode == "lexical"
    static.load(door, "small", str(bpe_folder))
    door.embed_corpus("docs", "small")
    assert wrong(door, small_twin) == []
    assert door.search("docs", "the scores of both legs")[0].mode == "hybrid"


def test_another_embedder_takes_an_empty_corpus_and_is_compared_before_a_full_one(
    loaded: Database, small_twin: Twin
) -> None:
    loaded.create_embedder("hashed", 16)
    loaded.bind_embedder("hashed", "hash", "hash-v1")
    loaded.create_corpus("empty")
    loaded.embed_corpus("empty", "hashed")
    assert [s.embedder for s in loaded.embedding_status("empty")] == ["hashed"]
    fill(loaded)
    with pytest.raises(EmbedderMismatch), loaded.connection.transaction():
        loaded.embed_corpus("docs", "hashed")
    loaded.reembed_corpus("docs", "hashed")
    with (
        pytest.raises(psycopg.DatabaseError, match="lacks 3 of 3"),
        loaded.connection.transaction(),
    ):
        loaded.cutover_corpus("docs", "hashed")
    loaded.cutover_corpus("docs", "hashed", force=True)
    loaded.put_text("docs", "new", "A text that came while another model was current.")
    loaded.rollback_corpus("docs")
    assert wrong(loaded, small_twin) == []
    assert loaded.embedding_status("docs")[0].embedder == "small"


def test_who_comes_second_keeps_no_words_and_waits_for_nobody(clone: str, bpe_folder: Path) -> None:
    with (
        psycopg.connect(clone, autocommit=True) as one,
        psycopg.connect(clone, autocommit=True) as two,
    ):
        first, second = Database(one), Database(two)
        static.load(first, "small", str(bpe_folder))
        first.create_corpus("one")
        first.create_corpus("two")
        two.execute("set statement_timeout = '20s'")
        kept = "select word from ragdb.static_words"
        with one.transaction():
            first.put_text("one", "a", "incomprehensibilities")
            second.put_text("two", "a", "incomprehensibilities")
            assert two.execute(kept).fetchall() == []
        assert two.execute(kept).fetchall() == [("incomprehensibilities",)]


def test_words_are_not_kept_for_ever(loaded: Database, small_twin: Twin) -> None:
    db = loaded.connection
    loaded.create_corpus("docs")
    loaded.put_text("docs", "a", "Reproducibility of unforeseeable internationalizations")
    loaded.maintain()
    kept = "select count(*) from ragdb.static_words"
    ((few,),) = db.execute(kept).fetchall()
    assert few > 0
    # as years of texts leave them, each with a name or a number that no other has
    db.execute(
        "insert into ragdb.static_words select w.embedder_id, 'id' || n, w.embedding"
        " from (select * from ragdb.static_words limit 1) w, generate_series(1, 100000) n"
    )
    assert loaded.maintain() == ["static_words"]
    assert db.execute(kept).fetchall() == [(0,)]
    assert loaded.maintain() == []
    loaded.put_text("docs", "b", "Reproducibility of internationalizations")
    assert wrong(loaded, small_twin) == []


def test_the_words_of_what_is_erased_are_found_once_after_a_vacuum_amid_a_load(
    clone: str, bpe_folder: Path
) -> None:
    """Its statistics say that no word is kept, and each text was read again for each that is."""
    chunks = [" ".join(f"word{n}q{letter}x" for letter in "abc") for n in range(30)]
    found = (
        "select coalesce(sum(calls), 0)::integer from pg_stat_xact_user_functions"
        " where funcname = 'spaced_words'"
    )
    with psycopg.connect(clone, autocommit=True) as admin, psycopg.connect(clone) as db:
        static.load(Database(admin), "small", str(bpe_folder))
        admin.execute("select ragdb.create_corpus('docs')")
        put_documents(db, document("a.md", chunks))
        admin.execute("vacuum (truncate off) ragdb.static_words")
        db.execute("set local track_functions = 'all'")
        ((before,),) = db.execute(found).fetchall()
        db.execute("select ragdb.erase_source('docs', 'a.md')")
        ((after,),) = db.execute(found).fetchall()
        assert db.execute("select from ragdb.static_words").fetchall() == []
    assert 0 < after - before <= 4 * len(chunks)


def test_an_export_brings_its_vectors_along(
    clone: str, bpe_folder: Path, tmp_path: Path, small_twin: Twin
) -> None:
    with Database(psycopg.connect(clone, autocommit=True)) as db:
        static.load(db, "small", str(bpe_folder))
        fill(db)
        before = [(h.chunk_id, h.score) for h in db.search("docs", "scores of legs")]
        db.export_file("docs", tmp_path / "docs.ragdb")
        db.drop_corpus("docs")
        db.import_file(tmp_path / "docs.ragdb")
        assert wrong(db, small_twin) == []
        assert [(h.chunk_id, h.score) for h in db.search("docs", "scores of legs")] == before


def test_an_import_without_vectors_gets_them(
    clone: str, bpe_folder: Path, tmp_path: Path, small_twin: Twin
) -> None:
    with Database(psycopg.connect(clone, autocommit=True)) as db:
        fill(db)
        db.export_file("docs", tmp_path / "docs.ragdb")
        db.drop_corpus("docs")
        static.load(db, "small", str(bpe_folder))
        db.import_file(tmp_path / "docs.ragdb")
        assert wrong(db, small_twin) == []
        assert db.search("docs", "scores of legs")[0].mode == "hybrid"


def test_what_is_listed_of_an_embedder_tells_of_no_word_that_a_corpus_has(loaded: Database) -> None:
    """A word that has to be cut is kept once for all corpora: a count of them would tell of it."""
    before = loaded.list_static_models()
    fill(loaded)
    kept = loaded.connection.execute("select count(*) > 0 from ragdb.static_words").fetchone()
    assert kept == (True,)
    assert loaded.list_static_models() == before


def test_the_sql_file_loads_what_the_command_loads(
    clone: str, bpe_folder: Path, as_role: Callable[..., Connection]
) -> None:
    lines = list(static.script("small", str(bpe_folder)))
    with as_role("admin", autocommit=True) as admin:
        for line in lines:
            if not line.startswith(("--", "\\")):
                admin.execute(line.encode())
        (row,) = Database(admin).list_static_models()
        assert (row.embedder, row.is_default) == ("small", True)
    with as_role("writer", autocommit=True) as writer:
        fill(Database(writer))
        assert Database(writer).search("docs", "scores of legs")[0].mode == "hybrid"


@pytest.mark.parametrize(
    "asked",
    [
        "select from ragdb.search('docs', %s)",
        "select from ragdb.search(array['docs'], %s)",
        "select from ragdb.retrieve('docs', %s)",
        "select from ragdb.retrieve_global('docs', %s)",
        "select from ragdb.retrieve_slice('docs', %s, anchor => (select chunk_id from ragdb.search("
        "'docs', 'chunker', mode => 'lexical', k => 1)))",
    ],
)
def test_a_question_is_embedded_once(loaded: Database, asked: str) -> None:
    fill(loaded)
    made = (
        "select coalesce(pg_stat_get_xact_function_calls(p.oid), 0) from pg_proc p"
        " where p.oid = 'ragdb_internal.known_embedding'::regproc"
    )
    connection = loaded.connection
    loaded.create_signing_key()
    connection.execute("set local track_functions = 'all'")
    [[before]] = connection.execute(made)
    question = "how does the chunker cut a text into sentences?"
    found = connection.execute(asked, (question,)).rowcount
    [[after]] = connection.execute(made)
    assert found >= 1
    assert after - before == 1


@pytest.mark.parametrize("question", ["how is a text cut?", "这是什么"])
def test_nobody_waits_for_a_worker_under_a_static_embedder(
    clone: str, bpe_folder: Path, question: str
) -> None:
    with Database(psycopg.connect(clone, autocommit=True)) as db:
        static.load(db, "small", str(bpe_folder))
        fill(db)
        db.embed_query(question, "docs", 0)
        assert db.prepare_query("docs", question)
        assert db.request_query_embedding("docs", question)
        assert db.claim_queries("worker") == []
        answer = db.embed_text(
            {"params": {"model": "small"}, "input": {"texts": [question, "text"]}}
        )
        numbers = np.array(db.embed("text"))
        unit = (numbers / np.linalg.norm(numbers)).tolist()  # as far as halves go it was one
        assert answer["output"]["embeddings"][1] == pytest.approx(unit, abs=1e-6)
        assert len(answer["output"]["embeddings"]) == 2


def test_chunks_that_tie_beyond_the_last_hit_are_ordered_by_their_ids(loaded: Database) -> None:
    loaded.create_corpus("docs")
    for n in reversed(range(60)):
        loaded.put_text("docs", f"n{n:02}", TEXTS["fusion"], title="one")
    hits = loaded.search("docs", "joining the scores of both legs", k=3, mode="semantic")
    assert [hit.source for hit in hits] == ["n00", "n01", "n02"]
    assert len({hit.score for hit in hits}) == 1


def test_a_retrieval_is_recorded_where_every_plan_is_run_as_a_parallel_one(
    loaded: Database,
) -> None:
    fill(loaded)
    loaded.connection.execute("set debug_parallel_query = on")
    assert loaded.retrieve("docs", "joining the scores of both legs")


def test_a_word_that_was_erased_is_in_no_table(loaded_once: Connection) -> None:
    db = loaded_once
    tables = db.execute(
        "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = 'ragdb'"
    ).fetchall()

    def having(part: str) -> set[str]:
        count = "select count(*) from {} t where t::text ilike %s"
        return {
            t for (t,) in tables if db.execute(count.format(t), (f"%{part}%",)).fetchone() != (0,)
        }

    for corpus, history in (("erased-kept", "1 day"), ("erased-plain", None)):
        db.execute("select ragdb.create_corpus(%s, history => %s::interval)", (corpus, history))
        for source, text in (
            ("kim.md", "Kim lives in Zanzibarville."),
            ("kim.md", "Kim moved to Timbuktuville."),
            ("lee.md", "Lee lives in Osloburgh."),
        ):
            db.execute("select * from ragdb.put_text(%s, %s, %s)", (corpus, source, text))
        assert {"ragdb.lexemes", "ragdb.static_words"} <= having("zanzibarvil")
        db.execute("select * from ragdb.erase_source(%s, 'kim.md')", (corpus,))
        assert having("timbuktuvil") == set()
        assert "ragdb.static_words" in having("osloburgh")
        # of what had been replaced without history nothing is left to read the words of
        assert having("zanzibarvil") == (set() if history else {"ragdb.static_words"})
        found = db.execute("select source from ragdb.search(%s, 'osloburgh')", (corpus,))
        assert found.fetchall() == [("lee.md",)]
        assert db.execute("select * from ragdb.check_corpus(%s)", (corpus,)).fetchall() == []
        db.execute("select ragdb.drop_corpus(%s)", (corpus,))
        db.execute("select ragdb.erase_traces(%s, 'the tenant left')", (corpus,))
        assert having("osloburgh") == having("zanzibarvil") == set()
