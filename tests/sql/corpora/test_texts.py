"""Texts put by id in SQL, with vectors that a client made; chunks listed and sources deleted."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import psycopg
import pytest

from ragdb.errors import (
    AlreadyExists,
    ChunkNotFound,
    EmbedderMismatch,
    InvalidArgument,
    InvalidEmbedding,
    InvalidName,
    NotAuthorized,
)
from tests import refusal
from tests.conftest import Connection


def put(db: Connection, *args: Any, corpus: str = "c", **named: Any) -> list[tuple[Any, ...]]:
    given = {name: value for name, value in named.items() if value is not None}
    more = "".join(f", {name} => %({name})s" for name in given)
    return db.execute(
        f"select * from ragdb.put_texts(%(corpus)s, %(texts)s{more})",
        {"corpus": corpus, "texts": args[0], **given},
    ).fetchall()


def stored(db: Connection, corpus: str = "c") -> list[tuple[Any, ...]]:
    return db.execute(
        "select chunk_id, text, metadata from ragdb.list_chunks(%s)", [corpus]
    ).fetchall()


def refused(db: Connection, error: type[Exception], *args: Any, **named: Any) -> str:
    with pytest.raises(error) as caught, db.transaction():
        put(db, *args, **named)
    return str(caught.value).partition("\n")[0]


def test_whoever_puts_the_first_text_makes_the_corpus(any_db: Connection) -> None:
    any_db.execute("set local role writer")
    any_db.execute("select from ragdb.put_text('fresh', 'a.txt', 'some words')")
    put(any_db, ["some words"], corpus="fresh-too")
    names = any_db.execute("select name from ragdb.list_corpora() order by 1").fetchall()
    assert {("fresh",), ("fresh-too",)} <= set(names)


def config(db: Connection, corpus: str) -> object:
    row = db.execute("select text_config from ragdb.corpus_info(%s)", [corpus]).fetchone()
    return row and row[0]


GERMAN = "Die Kündigungsfristen stehen in dem Vertrag, den Sie mit uns geschlossen haben."
FRENCH = "Les délais de résiliation sont dans le contrat que vous avez conclu avec nous."


def test_the_corpus_that_a_text_makes_is_analysed_in_its_language(any_db: Connection) -> None:
    any_db.execute("select from ragdb.put_text('neu', 'a.txt', %s)", [GERMAN])
    assert config(any_db, "neu") == "german"
    found = any_db.execute("select source from ragdb.search('neu', 'Kündigungsfrist')").fetchall()
    assert found == [("a.txt",)]
    any_db.execute("select from ragdb.put_text('new', 'a.txt', 'Berlin')")
    assert config(any_db, "new") == "english"


def test_the_language_that_is_given_decides(db: Connection) -> None:
    for corpus, text, language, expected in (
        ("a", GERMAN, "fr", "french"), ("b", GERMAN, "zh", "english"), ("c", "Mut", "de", "german"),
        ("d", GERMAN, "German", "german"),
    ):  # fmt: skip
        db.execute(
            "select from ragdb.put_text(%s, 'a.txt', %s, language => %s)", (corpus, text, language)
        )
        assert config(db, corpus) == expected


def test_the_corpus_that_texts_make_is_analysed_in_the_language_of_most(any_db: Connection) -> None:
    put(any_db, [GERMAN, FRENCH, GERMAN, "x"], ids=["a", "b", "c", "d"], corpus="most")
    put(any_db, [GERMAN, FRENCH], ids=["a", "b"], corpus="half")
    assert [config(any_db, corpus) for corpus in ("most", "half")] == ["german", "english"]


def languages(db: Connection, corpus: str) -> list[tuple[str, str]]:
    return db.execute(
        "select source, language from ragdb.list_documents(%s) order by 1", [corpus]
    ).fetchall()


def test_a_text_has_the_language_that_it_is_in(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('mixed')")
    chinese = "图书馆星期一不开放。"
    texts = {"a": GERMAN, "b": FRENCH, "c": "42", "d": chinese}
    for source, text in texts.items():
        any_db.execute("select from ragdb.put_text('mixed', %s, %s)", (source, text))
    any_db.execute("select from ragdb.put_text('mixed', 'e', %s, language => 'nl')", [GERMAN])
    # one that cannot be told has that of the corpus
    known = [("a", "de"), ("b", "fr"), ("c", "en"), ("d", "zh")]
    assert languages(any_db, "mixed") == [*known, ("e", "nl")]
    put(any_db, list(texts.values()), ids=list(texts), corpus="several")
    assert languages(any_db, "several") == known
    found = any_db.execute(
        """select source from ragdb.search('mixed', 'Vertrag', filter => '{"language": "de"}')"""
    ).fetchall()
    assert found == [("a",)]


def test_a_language_is_stored_as_its_code_and_what_is_none_is_refused(any_db: Connection) -> None:
    given = {"a": "German", "b": "pt_BR", "c": "nb", "d": "tlh"}
    for source, language in given.items():
        any_db.execute(
            "select from ragdb.put_text('docs', %s, 'x', language => %s)", (source, language)
        )
    stored = [("a", "de"), ("b", "pt"), ("c", "no"), ("d", "tlh")]
    assert languages(any_db, "docs") == stored
    for call in ("put_text('docs', 'a', 'x', language => 'not a lang')",
                 "put_text('new', 'a', 'x', language => '?')",
                 "put_document('docs', 'sha256:' || repeat('0', 64), 'a', '[]', '{}',"
                 " language => 'klingon')"):  # fmt: skip
        error = refusal.refused(any_db, f"select from ragdb.{call}")
        assert error.sqlstate == "RG412"
        assert "which is not a language" in str(error.diag.message_primary)
    assert languages(any_db, "docs") == stored
    again = any_db.execute(
        "select was_duplicate from ragdb.put_text('docs', 'a', 'x', language => 'de')"
    )
    assert again.fetchall() == [(True,)]


def test_a_corpus_that_is_there_keeps_its_configuration(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('there', text_config => 'simple')")
    db.execute("select from ragdb.put_text('there', 'a.txt', %s, language => 'de')", [GERMAN])
    put(db, [GERMAN], corpus="there")
    assert config(db, "there") == "simple"


def test_who_may_not_create_corpora_is_told_so_and_a_wrong_name_is_refused(db: Connection) -> None:
    db.execute("set local role reader")
    for call in ("put_text('fresh', 'a.txt', 'x')", "put_texts('fresh', '{x}')"):
        with pytest.raises(NotAuthorized, match="may not create corpora"), db.transaction():
            db.execute(f"select from ragdb.{call}")
    db.execute("select from ragdb.put_text('personal', 'a.txt', 'x')")
    with pytest.raises(InvalidName), db.transaction():
        db.execute("select from ragdb.put_text('No Name', 'a.txt', 'x')")


@pytest.mark.parametrize(
    ("given", "says"),
    [("null, 'x'", "source is null"), ("'', 'x'", "source is null"), ("'a.txt', null", "text is")],
)
def test_a_text_without_its_source_and_a_source_without_its_text_are_refused(
    db: Connection, given: str, says: str
) -> None:
    with pytest.raises(InvalidArgument, match=says):
        db.execute(f"select from ragdb.put_text('c', {given})")


def test_a_text_takes_milliseconds_to_the_microsecond(db: Connection) -> None:
    rows = [db.execute("select ms from ragdb.put_text('c', %s, 'x')", [f"{n}.txt"]).fetchone()
            for n in range(9)]  # fmt: skip
    assert all(row is not None and row[0] == round(row[0], 3) for row in rows)


def test_a_corpus_that_is_closed_to_the_caller_stays_closed(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('closed', is_restricted => true)")
    db.execute("set local role writer")
    for call in ("put_text('closed', 'a.txt', 'x')", "put_texts('closed', '{x}')"):
        with pytest.raises(psycopg.Error, match="does not exist"), db.transaction():
            db.execute(f"select from ragdb.{call}")


def test_an_id_is_that_of_the_chunk_and_a_text_put_again_takes_its_place(
    any_db: Connection,
) -> None:
    assert put(any_db, ["one", "two"], ids=["a", "b"], cut=False) == [
        ("a", 1, False), ("b", 1, False),
    ]  # fmt: skip
    put(any_db, ["three", "two"], metadatas='[{"n": 3}, null]', ids=["a", "b"], cut=False)
    assert stored(any_db) == [("a", "three", {"n": 3}), ("b", "two", {})]


def test_equal_texts_under_two_ids_are_two_documents(db: Connection) -> None:
    put(db, ["equal", "equal"], ids=["a", "b"])
    assert [row[0] for row in stored(db)] == ["a", "b"]
    db.execute("select ragdb.delete_sources('c', '{a,zzz}')")
    assert [row[0] for row in stored(db)] == ["b"]
    hits = db.execute("select chunk_id from ragdb.search('c', 'equal')").fetchall()
    assert hits == [("b",)]


def test_an_id_that_is_made_is_the_hash_of_text_and_metadata(db: Connection) -> None:
    (row,) = put(db, ["same", "same"], metadatas=json.dumps([{"n": 1}, {"n": 1}]))
    # as PostgreSQL writes jsonb: shorter keys first, a space after colon and comma
    record = '{"text": "same", "metadata": {"n": 1}}'
    assert row[0] == hashlib.sha256(record.encode()).hexdigest()[:32]
    assert db.execute("select documents from ragdb.corpus_info('c')").fetchone() == (1,)


def test_what_does_not_fit_is_refused_and_nothing_is_stored(db: Connection) -> None:
    for named, said in (
        ({"ids": ["a"]}, "texts are 2 and ids 1"),
        ({"ids": ["a", None]}, "ids has a null"),
        ({"metadatas": "[{}]"}, "texts are 2 and metadatas 1"),
        ({"metadatas": "{}"}, "metadatas is not an array"),
        ({"embedder": "e"}, "one of embedder and embeddings"),
        ({"embedder": "e", "embeddings": [1.0, 2.0]}, "cut is true"),
    ):
        assert said in refused(db, InvalidArgument, ["x", "y"], **named)
    assert "texts is null" in refused(db, InvalidArgument, ["x", None])
    refused(db, AlreadyExists, ["x", "y"], ids=["a", "a"])
    assert db.execute("select from ragdb.list_corpora() where name = 'c'").fetchall() == []


def test_vectors_are_stored_with_their_texts(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_embedder('e', 2)")
    rows = put(
        any_db, ["one", " ", "two"], ids=["a", "b", "c"], cut=False, embedder="e",
        embeddings=[1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    )  # fmt: skip
    # a text of white space has no chunk, so its vector is not looked at
    assert [row[1] for row in rows] == [1, 0, 1]
    found = any_db.execute(
        "select id, similarity from ragdb.match_documents('{0,2}', corpus => 'c')"
    ).fetchall()
    assert found == [("c", 1), ("a", 0)]
    status = any_db.execute("select backlog, chunks from ragdb.embedding_status('c')").fetchall()
    assert status == [(0, 2)]
    put(any_db, ["one"], ids=["a"], cut=False, embedder="e", embeddings=[0.0, 3.0])
    found = any_db.execute(
        "select id from ragdb.match_documents('{0,2}', corpus => 'c')"
    ).fetchall()
    assert found == [("a",), ("c",)]


def test_vectors_of_another_width_or_model_are_refused_with_their_texts(db: Connection) -> None:
    for name, dims in (("e", 2), ("f", 2)):
        db.execute("select ragdb.create_embedder(%s, %s)", (name, dims))
    whole: dict[str, Any] = {"ids": ["a"], "cut": False}
    refused(db, InvalidEmbedding, ["x"], embedder="e", embeddings=[1.0, 2.0, 3.0], **whole)
    refused(db, InvalidEmbedding, ["x"], embedder="e", embeddings=[0.0, 0.0], **whole)
    put(db, ["x"], embedder="e", embeddings=[1.0, 2.0], **whole)
    refused(db, EmbedderMismatch, ["y"], embedder="f", embeddings=[1.0, 2.0], **whole)
    assert [row[1] for row in stored(db)] == ["x"]


def test_a_client_may_send_what_a_worker_would_have_made(db: Connection) -> None:
    db.execute("select ragdb.create_embedder('e', 2)")
    put(db, ["one", "two", "one"], ids=["a", "b", "c"])
    db.execute("select ragdb.embed_corpus('c', 'e')")
    claimed = db.execute("select space_id from ragdb.claim_embeddings('w')").fetchall()
    assert len(claimed) == 2  # two equal inputs are one job
    given = db.execute("select ragdb.put_embeddings('c', '{a,b}', '{1,0,0,1}')").fetchone()
    assert given == (2,)
    assert db.execute("select chunk_nos from ragdb.embedding_jobs").fetchall() == [([3],)]
    assert db.execute("select backlog from ragdb.embedding_status('c')").fetchall() == [(1,)]
    with pytest.raises(ChunkNotFound), db.transaction():
        db.execute("select ragdb.put_embeddings('c', '{a,zzz}', '{1,0,0,1}')")
    with pytest.raises(InvalidEmbedding), db.transaction():
        db.execute("select ragdb.put_embeddings('c', '{a}', '{1,0,0,1}')")
    # the vector of a text that changes is dropped
    put(db, ["changed"], ids=["a"])
    found = db.execute("select id from ragdb.match_documents('{1,1}', corpus => 'c')").fetchall()
    assert found == [("b",)]


def test_arrays_that_begin_elsewhere_than_at_one_are_read_from_their_beginning(
    db: Connection,
) -> None:
    db.execute("select ragdb.create_embedder('e', 2)")
    stored_vectors = (
        "select c.chunk_id, e.embedding::text from ragdb.chunk_embeddings e"
        " join ragdb.chunks c using (corpus_id, chunk_no) order by 1"
    )
    given = db.execute(
        "select id from ragdb.put_texts('c', '[3:5]={one,\"\",two}', ids => '[0:2]={a,b,c}',"
        " cut => false, embedder => 'e', embeddings => '[0:5]={1,2,3,4,5,6}')"
    )
    assert given.fetchall() == [("a",), ("b",), ("c",)]
    assert db.execute(stored_vectors).fetchall() == [("a", "[1,2]"), ("c", "[5,6]")]
    db.execute("select ragdb.put_embeddings('c', '[7:8]={c,a}', '[-1:2]={1,0,0,1}')")
    assert db.execute(stored_vectors).fetchall() == [("a", "[0,1]"), ("c", "[1,0]")]
    put(db, ["three", "four"], ids=["d", "e"])
    done = db.execute(
        "select ragdb.complete_embeddings(max(space_id), array_agg(input_hash order by input),"
        " '[5:6]={1,1}', '[0:3]={4,5,6,7}') from ragdb.claim_embeddings('w')"
    ).fetchone()
    assert done == (2,)
    assert db.execute(stored_vectors).fetchall()[2:] == [("d", "[6,7]"), ("e", "[4,5]")]
    with pytest.raises(InvalidEmbedding, match='"c"'):
        db.execute("select ragdb.put_embeddings('c', '{c,a}', '[2:5]={0,0,1,1}')")


def test_of_several_embeddings_of_a_chunk_the_last_is_stored(db: Connection) -> None:
    db.execute("select ragdb.create_embedder('e', 2)")
    ids = [f"t{n:02}" for n in range(20)]
    vectors = [number for n in range(5) for number in [1.0, float(n)] * 20]
    put(db, ids, ids=ids, cut=False, embedder="e", embeddings=vectors[:40])
    db.execute("select ragdb.put_embeddings('c', %s, %s)", (ids * 5, vectors))
    found = db.execute("select distinct embedding::text from ragdb.chunk_embeddings").fetchall()
    assert found == [("[1,4]",)]


def test_chunks_are_listed_by_filter_by_ids_and_in_pages(any_db: Connection) -> None:
    names = [f"t{n}" for n in range(7)]
    put(any_db, names, ids=names, metadatas=json.dumps([{"n": n, "title": "T"} for n in range(7)]))

    def listed(arguments: str) -> list[str]:
        rows = any_db.execute(f"select chunk_id from ragdb.list_chunks('c', {arguments})")
        return [row[0] for row in rows]

    assert listed("count => 3") == ["t0", "t1", "t2"]
    assert listed("""'{"n": {"gte": 2}}', after => 't2', count => 2""") == ["t3", "t4"]
    assert listed("chunk_ids => '{t5,zzz,t1}'") == ["t1", "t5"]
    assert listed("""'{"n": {"lt": 3}}', '{t5,t1}'""") == ["t1"]
    assert listed("chunk_ids => '{}'") == []
    # a key of the metadata that has the name of a field of ragdb
    assert listed("""'{"title": "T"}'""") == []
    assert listed("""'{"metadata.title": "T", "metadata.n": 6}'""") == ["t6"]
    for wrong in ("count => 0", "after => null", "chunk_ids => '{a,null}'"):
        with pytest.raises(InvalidArgument), any_db.transaction():
            listed(wrong)


@pytest.mark.nightly
def test_in_a_new_corpus_few_rows_are_read_whatever_the_statistics_say(db: Connection) -> None:
    put(db, [f"text {n}" for n in range(3000)], corpus="big")
    db.execute("analyze")
    db.execute("select ragdb.create_embedder('e', 2)")

    def read() -> int:
        row = db.execute(
            "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint"
            " from pg_stat_xact_user_tables where schemaname = 'ragdb'"
            " and relname in ('chunks', 'documents', 'document_sources', 'embedding_jobs')"
        ).fetchone()
        assert row is not None
        return int(row[0])

    names = [f"n{n}" for n in range(20)]
    for statement, most in (
        ("select ragdb.put_texts('new', %(names)s, ids => %(names)s, cut => false,"
         " embedder => 'e', embeddings => %(vectors)s)", 2000),
        ("select ragdb.put_embeddings('new', %(names)s, %(vectors)s)", 400),
        ("select ragdb.list_chunks('new', chunk_ids => %(names)s)", 400),
        ("select ragdb.list_chunks('new', count => 10)", 200),
        ("select ragdb.delete_sources('new', %(names)s)", 1000),
    ):  # fmt: skip
        before = read()
        db.execute(statement, {"names": names, "vectors": [1.0, 2.0] * 20})
        assert read() - before <= most, statement


def test_all_documents_and_all_chunks_are_listed_without_a_count(any_db: Connection) -> None:
    names = [f"t{n:03}" for n in range(120)]
    put(any_db, names, ids=names)
    for listed in ("list_documents('c'", "list_chunks('c'"):
        for count, expected in (("", 100), (", count => 110", 110), (", count => null", 120)):
            found = any_db.execute(f"select source from ragdb.{listed}{count})").fetchall()
            assert found == [(name,) for name in names[:expected]]
