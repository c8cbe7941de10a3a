"""Which versions are kept, for whom, what changed between them, and what is erased from them."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unicodedata import normalize

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.server import postgres
from tests.conftest import Connection, Login, Server
from tests.documents import text_document
from tests.embedding import (
    ENCODER,
    claim,
    complete,
    embed,
    make_corpus,
    make_embedder,
    one,
    put,
)
from tests.sql.conversations import conversation, message, uuid
from tests.sql.conversations import put as put_conversations


def store(db: Connection, corpus: str, uri: str, text: str, **more: Any) -> int:
    db.execute(
        "select count(*) from ragdb.put_documents(%s, %s)",
        (corpus, Jsonb([text_document(uri, text, **more)])),
    )
    return version(db, corpus)


def version(db: Connection, corpus: str) -> int:
    found: int = one(db, "select version from ragdb.corpus_info(%s)", corpus)
    return found


def found(db: Connection, corpus: str, query: str, as_of: int | None = None) -> list[str]:
    rows = db.execute(
        "select source from ragdb.search(%s, %s, as_of => %s)", (corpus, query, as_of)
    )
    return [row[0] for row in rows.fetchall()]


def refused(db: Connection, query: str, *values: Any) -> str:
    with pytest.raises(psycopg.Error) as caught:
        db.execute(query, values)
    assert caught.value.diag.message_detail
    assert caught.value.diag.message_hint
    return f"{caught.value.sqlstate} {caught.value.diag.message_primary}"


@pytest.fixture(scope="module")
def books(committed: Connection) -> dict[str, int]:
    """What changed in the corpus books, and the version that it made."""
    db = committed
    db.execute("select ragdb.create_corpus('books', history => '30 days')")
    return {
        "first": store(db, "books", "a.md", "A bridge of copper.", title="Bridges"),
        "second": store(db, "books", "b.md", "Winter music."),
        "replaced": store(db, "books", "a.md", "A bridge of steel.", title="Bridges"),
        "retitled": store(db, "books", "b.md", "Winter music.", title="Seasons")
        and store(db, "books", "c.md", "An orbit."),
        "deleted": one(db, "select 1 from ragdb.delete_source('books', 'a.md')")
        and version(db, "books"),
    }


def test_a_version_is_searched_as_it_was(committed: Connection, books: dict[str, int]) -> None:
    assert found(committed, "books", "copper") == []
    assert found(committed, "books", "copper", books["second"]) == ["a.md"]
    assert found(committed, "books", "copper", books["replaced"]) == []
    assert found(committed, "books", "steel", books["replaced"]) == ["a.md"]
    assert found(committed, "books", "seasons", books["second"]) == []


def test_a_version_that_was_not_embedded_to_its_end_is_searched_by_words(clone: str) -> None:
    near = [float(x) for x in ENCODER.encode(["bridge"])[0]]
    modes = (
        "select array_agg(distinct mode) from ragdb.search('docs', 'bridge',"
        " query_embedding => %s::float8[], as_of => %s)"
    )
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "A bridge of copper.", "b": "A bridge of steel."})
        db.execute("select ragdb.keep_history('docs', '1 day')")
        first = claim(db, count=1)
        complete(db, first)
        before = version(db, "docs")
        (second,) = claim(db, count=1)
        for attempt in range(5):
            assert one(db, modes, near, None) == ["lexical"]
            db.execute(
                "select ragdb.fail_embeddings(%s, array[%s::bytea], array[%s], 'of no use')",
                (second[0], second[1], attempt + 1),
            )
            db.execute("update ragdb.embedding_jobs set due_at = now() - interval '1 day'")
            claim(db)
        assert one(db, modes, near, None) == ["hybrid"]
        assert one(db, modes, near, before) == ["lexical"]
        assert version(db, "docs") == before + 1
        assert one(db, modes, near, before + 1) == ["hybrid"]


def test_the_space_of_another_model_is_not_taken_for_one_that_was_dropped(clone: str) -> None:
    near = [float(x) for x in ENCODER.encode(["bridge"])[0]]
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {})
        make_embedder(db, "other")
        db.execute("select ragdb.keep_history('docs', '1 day')")
        store(db, "docs", "a.md", "A bridge.")
        then = version(db, "docs")
        db.execute("select ragdb.delete_source('docs', 'a.md')")
        db.execute("select ragdb.embed_corpus('docs', 'other')")
        store(db, "docs", "a.md", "A bridge.")
        ask = "select * from ragdb.search('docs', 'a', 5, 'hybrid', query_embedding => %s,"
        assert "RG415" in refused(db, f"{ask} as_of => %s)", near, then)


def test_a_version_whose_space_was_dropped_is_searched_by_words_and_says_so(clone: str) -> None:
    """A space made anew by the same model has no vector of what went while there was none."""
    near = [float(x) for x in ENCODER.encode(["bridge"])[0]]
    ask = "select array_agg(distinct mode) from ragdb.search('docs', %s, query_embedding => %s,"
    told: list[str | None] = []
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {"a": "A bridge of copper.", "b": "A bridge of steel."})
        db.execute("select ragdb.keep_history('docs', '1 day')")
        embed(db)
        then = version(db, "docs")
        assert one(db, f"{ask} as_of => %s)", "bridge", near, then) == ["hybrid"]
        db.execute("select ragdb.drop_space('docs', 'hash')")
        db.execute("select ragdb.delete_source('docs', 'a')")
        db.execute("select ragdb.reembed_corpus('docs', 'hash')")
        embed(db)
        db.execute("select ragdb.cutover_corpus('docs', 'hash')")
        assert one(db, f"{ask} as_of => %s)", "bridge", near, None) == ["hybrid"]
        db.add_notice_handler(lambda notice: told.append(notice.message_primary))
        assert one(db, f"{ask} as_of => %s)", "bridge", near, then) == ["lexical"]
        assert one(db, f"{ask} syntax => 'web', as_of => %s)", '"silver"', near, then) is None
        assert one(db, f"{ask} mode => 'lexical', as_of => %s)", "bridge", near, then)
        assert one(db, f"{ask} mode => 'lexical', as_of => %s)", "?!", near, then) is None
        hybrid = f"{ask} mode => 'hybrid', as_of => %s)"
        assert "RG415" in refused(db, hybrid, "bridge", near, then)
    gone = f'searching by words only: the embeddings of version {then} of corpus "docs" are gone'
    assert told == [gone, gone, 'the query "?!" has no word to search for']


def test_accents_that_a_word_lacked_then_are_those_that_a_version_was_searched_with(
    clone: str,
) -> None:
    draw = random.Random(5)
    letters = "aàäeéêạnñtйи"
    words = ["".join(draw.choices(letters, k=draw.randint(3, 5))) for _ in range(160)]
    asked = sorted({normalize("NFD", w).translate({0x300: None, 0x301: None}) for w in words[::3]})
    ask = (
        "select q, array_agg((s.source, s.score) order by s.rank) from unnest(%s::text[]) q"
        " cross join lateral ragdb.search('docs', q, as_of => %s) s group by q"
    )
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute(
            "select ragdb.create_corpus('docs', text_config => 'simple', history => '1 day')"
        )
        for n in range(0, 160, 20):
            store(db, "docs", f"{n}.md", " ".join(words[n : n + 20]))
        then = version(db, "docs")
        before: dict[str, Any] = dict(db.execute(ask, (asked, None)).fetchall())
        # all of them are in the corpus now, and half of what there was is gone
        store(db, "docs", "asked.md", " ".join(asked))
        db.execute("select ragdb.prune_sources('docs', '1', '{}')")
        assert dict(db.execute(ask, (asked, None)).fetchall()) != before
        assert dict(db.execute(ask, (asked, then)).fetchall()) == before
    assert len(before) > 30


def test_synonyms_weigh_of_a_version_what_they_weighed_then(committed: Connection) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('alike', history => '30 days')")
    for n in range(6):
        store(db, "alike", f"p{n}.md", f"The password of shed {n}.")
    store(db, "alike", "rare.md", "The passcode of shed 9.")
    db.execute("select ragdb.add_synonyms('alike', '{password,passcode,\"key phrase\"}')")
    ask = "select source, score from ragdb.search('alike', 'password shed', as_of => %s)"
    then = version(db, "alike")
    before = db.execute(ask, (None,)).fetchall()
    for n in range(3):
        store(db, "alike", f"k{n}.md", "A passcode is a key phrase.")
    assert db.execute(ask, (None,)).fetchall()[:7] != before
    assert db.execute(ask, (then,)).fetchall() == before


def test_what_changed_is_named_by_source(committed: Connection, books: dict[str, int]) -> None:
    def changes(since: str, until: str | None = None) -> dict[str, str]:
        return dict(committed.execute(
            "select source, change from ragdb.diff_corpus('books', %s, %s)",
            (books[since], until and books[until])).fetchall())  # fmt: skip

    assert changes("first", "second") == {"b.md": "added"}
    assert changes("second", "replaced") == {"a.md": "replaced"}
    assert changes("replaced", "retitled")["c.md"] == "added"
    assert changes("retitled") == {"a.md": "deleted"}
    assert changes("second")["a.md"] == "deleted"
    assert changes("deleted") == {}
    assert refused(
        committed, "select * from ragdb.diff_corpus('books', %s, %s)",
        books["deleted"], books["first"]).startswith("RG400 since is")  # fmt: skip


def test_what_changed_is_named_by_pages(committed: Connection, books: dict[str, int]) -> None:
    def changes(arguments: str) -> list[tuple[str, str]]:
        asked = f"select source, change from ragdb.diff_corpus('books', %s, null, {arguments})"
        return committed.execute(asked.encode(), (books["first"],)).fetchall()

    everyone = changes("''")
    assert [source for source, _ in everyone] == ["a.md", "b.md", "c.md"]
    assert changes("count => 2") == everyone[:2]
    assert changes("after => 'a.md', count => 1") == everyone[1:2]
    assert changes("prefix => 'c', after => 'b.md'") == everyone[2:]
    assert changes("after => 'c.md'") == []
    for arguments, said in (("count => 0", "count is 0"), ("after => null", "after is null")):
        asked = f"select * from ragdb.diff_corpus('books', %s, null, {arguments})"
        assert refused(committed, asked, books["first"]).startswith(f"RG400 {said}")


# rows of documents and of their sources that the transaction has read
READ = """
    select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c
    where c.oid in ('ragdb.documents'::regclass, 'ragdb.document_sources'::regclass)
      or c.oid in (select indexrelid from pg_index
        where indrelid in ('ragdb.documents'::regclass, 'ragdb.document_sources'::regclass))
    """


def test_what_changed_is_found_without_reading_the_corpus(clone: str) -> None:
    with psycopg.connect(clone, autocommit=True) as db:
        db.execute("select ragdb.create_corpus('large', history => '1 day')")
        texts = [text_document(f"{n}.md", f"text {n}") for n in range(2000)]
        db.execute("select count(*) from ragdb.put_documents('large', %s)", (Jsonb(texts),))
        first = store(db, "large", "old.md", "An orbit.")
        store(db, "large", "7.md", "A bridge.")
        retitled = [{**text_document("9.md", "text 9"), "title": "Nine"}]
        db.execute("select count(*) from ragdb.put_documents('large', %s)", (Jsonb(retitled),))
        store(db, "large", "new.md", "Winter music.")
        db.execute("select ragdb.delete_source('large', 'old.md')")
        db.execute("analyze ragdb.documents, ragdb.document_sources, ragdb.past_rows")
        changes = "select source, change from ragdb.diff_corpus('large', %s)"
        for _ in range(8):  # also by a plan that is kept
            with db.transaction():
                before = one(db, READ)
                assert db.execute(changes, (first,)).fetchall() == [
                    ("7.md", "replaced"), ("9.md", "changed"), ("new.md", "added"),
                    ("old.md", "deleted"),
                ]  # fmt: skip
                assert one(db, READ) - before < 100
        # once all documents of then, by an index; whether one has another title, of what changed
        with db.transaction():
            before = one(db, READ)
            assert found(db, "large", "orbit", first) == ["old.md"]
            assert one(db, READ) - before < 2 * 2500


def test_what_changed_since_a_version_is_read_a_few_times(clone: str) -> None:
    """Not for each chunk of then, though nobody has counted the past rows of the corpus."""
    texts = {f"{n}.md": f"text number {n}" for n in range(300)}
    near = [float(x) for x in ENCODER.encode(["text number 7"])[0]]
    read = "select idx_tup_fetch from pg_stat_xact_user_tables where relname = 'past_rows'"
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, texts)
        embed(db)
        db.execute("select ragdb.keep_history('docs', '1 day')")
        first = version(db, "docs")
        put(db, {uri: f"{text}, again" for uri, text in texts.items()})
        embed(db)
        for statement, given, rows in (
            ("search('docs', 'number 7', as_of => %s, query_embedding => %s)", (first, near), 10),
            ("diff_corpus('docs', %s)", (first,), 300),
            ("diff_corpus('docs', %s, prefix => '11')", (first,), 11),
        ):
            with db.transaction():
                found = db.execute(f"select from ragdb.{statement}".encode(), given)
                assert found.rowcount == rows
                # documents, sources, chunks and embeddings
                assert one(db, read) < 10 * 4 * 300


def test_a_version_is_listed_and_found_by_its_time(
    committed: Connection, books: dict[str, int]
) -> None:
    listed = committed.execute(
        "select version, began_at, documents from ragdb.list_versions('books')"
    ).fetchall()
    assert [row[0] for row in listed] == list(range(version(committed, "books"), -1, -1))
    documents = {row[0]: row[2] for row in listed}
    assert (documents[0], documents[books["first"]], documents[books["second"]]) == (0, 1, 2)
    for number, began_at, _ in listed:
        assert one(committed, "select ragdb.version_at('books', %s)", began_at) == number
    before = listed[-1][1] - timedelta(microseconds=1)
    assert "before the kept history" in refused(
        committed, "select ragdb.version_at('books', %s)", before
    )
    future = one(committed, "select now() + interval '1 minute'")
    assert "future" in refused(committed, "select ragdb.version_at('books', %s)", future)


def test_a_phrase_that_no_chunk_had_is_said(committed: Connection, books: dict[str, int]) -> None:
    ask = "select * from ragdb.search('books', '\"copper bridge\"', syntax => %s, as_of => %s)"
    told: list[str | None] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        told.append(notice.message_primary)

    committed.add_notice_handler(hear)
    assert committed.execute(ask, ("plain", books["first"])).fetchall()
    assert told == []
    assert committed.execute(ask, ("web", books["first"])).fetchall() == []
    committed.remove_notice_handler(hear)
    assert "nothing meets" in str(told[0])


def test_a_version_that_is_not_kept_is_refused_and_why(
    committed: Connection, books: dict[str, int]
) -> None:
    db = committed
    ask = "select * from ragdb.search(%s, 'bridge', as_of => %s)"
    assert refused(db, ask, "books", 10_000).startswith("RG437 version 10000 of corpus")
    assert "future" in refused(db, ask, "books", 10_000)
    assert "before its kept history" in refused(db, ask, "books", -1)
    db.execute("select ragdb.create_corpus('plain')")
    store(db, "plain", "a.md", "A bridge.")
    assert refused(db, ask, "plain", 0) == 'RG437 corpus "plain" keeps no history'
    late = one(db, "select from_version from ragdb.keep_history('plain', '1 day')")
    assert "before its kept history" in refused(db, ask, "plain", late - 1)
    assert found(db, "plain", "bridge", late) == ["a.md"]
    several = "select * from ragdb.search(array['books', 'plain'], 'bridge', as_of => 1)"
    assert refused(db, several).startswith("RG400 as_of takes one corpus")
    assert "context" in refused(
        db, "select * from ragdb.search('books', 'bridge', as_of => 1, context => 2)"
    )
    for history in ("0", "-1 day", "101 years", None):
        assert refused(db, "select * from ragdb.keep_history('plain', %s)", history).startswith(
            "RG400 history is"
        )


def test_a_corpus_without_history_keeps_nothing(committed: Connection) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('off')")
    for text in ("One.", "Two.", "Three."):
        store(db, "off", "a.md", text)
    kept = (
        "select (select count(*) from ragdb.past_rows p where p.corpus_id = c.corpus_id)"
        " + (select count(*) from ragdb.corpus_versions v where v.corpus_id = c.corpus_id)"
        " from ragdb.corpora c where name = 'off'"
    )
    assert one(db, kept) == 0
    # nor where the same transaction writes to one with history
    with db.transaction():
        db.execute("select ragdb.create_corpus('on', history => '1 day')")
        store(db, "on", "a.md", "One.")
        store(db, "off", "a.md", "Four.")
    assert one(db, kept) == 0


def test_what_was_erased_is_in_no_version_and_is_named(committed: Connection) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('people', history => '1 day')")
    first = store(db, "people", "kim.md", "Kim lives in Zanzibar.", title="Kimberley")
    store(db, "people", "lee.md", "Lee lives in Oslo.")
    trace = one(db, "select trace_id from ragdb.retrieve('people', 'lives') limit 1")
    store(db, "people", "kim.md", "Kim moved to Timbuktu.")
    store(db, "people", "kim.md", "Kim has gone.")
    assert found(db, "people", "Zanzibar", first) == ["kim.md"]
    assert one(db, "select verdict from ragdb.replay(%s)", trace) == "exact"
    gone = db.execute("select * from ragdb.erase_source('people', 'kim.md', 'asked to')").fetchone()
    assert gone is not None
    assert gone[:2] == (1, 1)
    assert gone[2] >= 4
    for query in ("Zanzibar", "Timbuktu", "gone"):
        for number in range(first, version(db, "people") + 1):
            assert "kim.md" not in found(db, "people", query, number)
    texts = "select string_agg(p::text, '') from ragdb.past_rows p"
    assert not any(word in one(db, texts) for word in ("Zanzibar", "Timbuktu", "Kimberley"))
    assert db.execute(
        "select source, change, title_before from ragdb.diff_corpus('people', %s)", (first,)
    ).fetchall() == [("kim.md", "erased", None), ("lee.md", "added", None)]
    replayed = db.execute("select verdict, cause from ragdb.replay(%s)", (trace,)).fetchone()
    assert replayed == ("drifted", "erased")
    assert db.execute("select * from ragdb.verify(checks => '{history}')").fetchall() == []
    assert "has and had no source" in refused(
        db, "select * from ragdb.erase_source('people', 'nobody.md')"
    )


def test_the_history_of_a_source_is_erased_without_reading_that_of_others(clone: str) -> None:
    texts = {f"{n}.md": f"text number {n}" for n in range(300)}
    read = "select idx_tup_fetch from pg_stat_xact_user_tables where relname = 'past_rows'"
    kinds = (
        "select p.kind, count(*) from ragdb.past_rows p where p.was is null"
        " and p.erased_hash is not null group by 1 order by 1"
    )
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, texts)
        embed(db)
        db.execute("select ragdb.keep_history('docs', '1 day')")
        for again in ("again", "and again"):
            put(db, {uri: f"{text}, {again}" for uri, text in texts.items()})
            embed(db)
        with db.transaction():
            db.execute("select from ragdb.erase_source('docs', '7.md')")
            assert one(db, read) < 100
        assert db.execute(kinds).fetchall() == [
            ("chunk", 3),
            ("document", 3),
            ("embedding", 3),
            ("source", 3),
        ]


def test_with_a_conversation_its_edges_and_all_its_embeddings_go_out_of_the_history(
    clone: str,
) -> None:
    joined = [{"parent": uuid(p), "child": uuid(c)} for p, c in ((1, 4), (5, 2), (1, 3), (4, 6))]
    with psycopg.connect(clone, autocommit=True) as db:
        make_corpus(db, {})
        for session, said in (("gone", (1, 2, 3)), ("kept", (4, 5, 6))):
            turns = [message(n, [n - 1] if n != said[0] else []) for n in said]
            put_conversations(db, "docs", conversation(turns, session))
        embed(db)
        make_embedder(db, "other")
        db.execute("select ragdb.reembed_corpus('docs', 'other')")
        embed(db)
        db.execute("select ragdb.keep_history('docs', '1 day')")
        db.execute("select ragdb.add_edges('docs', %s)", (Jsonb(joined),))
        doc = one(db, "select doc_no from ragdb.document_sources where uri like '%%#gone'")
        of = "select array_agg(chunk_no order by chunk_no) from ragdb.chunks where doc_no = %s"
        chunks = one(db, of, doc)
        for session in ("kept", "gone"):
            db.execute("select ragdb.delete_source('docs', %s)", (f"chat.jsonl#{session}",))
        past = db.execute("select kind, key, until, was from ragdb.past_rows where was is not null")
        expected = {
            (kind, key, until)
            for kind, key, until, was in past.fetchall()
            if was.get("doc_no") == doc
            or {was.get("chunk_no"), was.get("parent_no"), was.get("child_no")} & {*chunks}
        }
        db.execute("select from ragdb.erase_source('docs', 'chat.jsonl#gone')")
        erased = db.execute("select kind, key, until from ragdb.past_rows where erased_hash <> ''")
        assert {*erased.fetchall()} == expected
        counts = Counter(kind for kind, _ in {(kind, key) for kind, key, _ in expected})
        # two replies and the three of what was added that join a turn of it; two spaces
        assert counts == {
            "document": 1,
            "source": 1,
            "chunk": 3,
            "turn": 3,
            "edge": 2 + 3,
            "embedding": 2 * 3,
        }


def test_the_spaces_of_a_history_are_found_by_the_first_key_of_each(db: Connection) -> None:
    keys = ["1 4", "1 15", "10 4", "12 1", "2 3", "2 30"]
    for corpus, some in (("docs", keys), ("others", ["11 1"])):
        db.execute("select ragdb.create_corpus(%s)", (corpus,))
        db.execute(
            "insert into ragdb.past_rows (corpus_id, kind, key, until)"
            " select c.corpus_id, k, u, 1 from ragdb.corpora c, unnest(%s::text[]) u,"
            " unnest('{edge,embedding,turn}'::text[]) k where c.name = %s",
            (some, corpus),
        )
    spaces = db.execute(
        "select s from ragdb.corpora c, ragdb_internal.past_spaces(c.corpus_id) s"
        " where c.name = 'docs' order by s::integer"
    ).fetchall()
    assert spaces == [("1",), ("2",), ("10",), ("12",)]


def test_a_text_of_before_that_was_edited_is_found(committed: Connection) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('proved', history => '1 day')")
    store(db, "proved", "a.md", "A bridge.")
    store(db, "proved", "a.md", "Another bridge.")
    check = "select to_jsonb(v) from ragdb.verify(checks => array['history']) v"
    assert db.execute(check).fetchall() == []
    for edit, problem in (
        ('was = was || \'{"text": "A tunnel."}\'', "its text is not the text that was there"),
        ("was = was - 'content_hash'", "its text is not the text that was there"),
        ("was = was - array['content_hash', 'text']", "its text is not the text that was there"),
        ("was = null, erased_hash = sha256('')", "it is said to be erased, and no act says so"),
    ):
        with db.transaction(force_rollback=True):
            db.execute(
                f"update ragdb.past_rows set {edit}"
                " where kind = 'chunk' and was ->> 'text' = 'A bridge.'"
                " and corpus_id = (select corpus_id from ragdb.corpora where name = 'proved')"
            )
            ((finding,),) = db.execute(check).fetchall()
            assert "of corpus proved until version 2" in finding["place"]
            assert finding["finding"] == problem


def test_what_is_gone_already_can_be_erased(committed: Connection) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('gone', history => '1 day')")
    first = store(db, "gone", "kim.md", "Kim lives in Zanzibar.")
    store(db, "gone", "lee.md", "Lee lives in Oslo.")
    db.execute("select * from ragdb.delete_source('gone', 'kim.md')")
    assert found(db, "gone", "Zanzibar", first) == ["kim.md"]
    db.execute("select * from ragdb.erase_source('gone', 'kim.md')")
    assert found(db, "gone", "Zanzibar", first) == []
    assert found(db, "gone", "Oslo", first + 1) == ["lee.md"]
    assert one(db, "select change from ragdb.diff_corpus('gone', %s)"
               " where source = 'kim.md'", first) == "erased"  # fmt: skip


def test_history_obeys_the_rights_of_its_corpus(
    committed: Connection, login: Login, books: dict[str, int]
) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('closed', history => '1 day')")
    first = store(db, "closed", "a.md", "A bridge.")
    store(db, "closed", "a.md", "Another bridge.")
    reader = login(db.info.dsn, "reader", autocommit=True)
    writer = login(db.info.dsn, "writer", autocommit=True)
    assert found(reader, "closed", "bridge", first) == ["a.md"]
    for query in (
        "select * from ragdb.keep_history('closed', '1 day')",
        "select ragdb.drop_history('closed')",
        "select * from ragdb.erase_source('closed', 'a.md')",
    ):
        assert refused(writer, query).startswith("RG401")
    db.execute("select ragdb.restrict_corpus('closed')")
    for query in (
        f"select * from ragdb.search('closed', 'bridge', as_of => {first})",
        f"select * from ragdb.diff_corpus('closed', {first})",
        "select * from ragdb.list_versions('closed')",
        "select ragdb.version_at('closed', now())",
        f"select * from ragdb.build_slice('closed', 'x', as_of => {first})",
    ):
        assert refused(reader, query).startswith("RG404")
    for table in ("past_rows", "corpus_versions"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(f"select * from ragdb.{table}")


def test_a_dropped_corpus_leaves_no_history(committed: Connection) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('dropped', history => '1 day')")
    store(db, "dropped", "a.md", "A bridge.")
    store(db, "dropped", "a.md", "Another bridge.")
    number = one(db, "select corpus_id from ragdb.corpora where name = 'dropped'")
    db.execute("select ragdb.drop_corpus('dropped')")
    for table in ("past_rows", "corpus_versions"):
        assert one(db, f"select count(*) from ragdb.{table} where corpus_id = %s", number) == 0


def test_why_a_chunk_was_no_hit_is_told_of_the_version_of_the_trace(committed: Connection) -> None:
    db = committed
    why = "select step, reason from ragdb.why_not(%s, %s)"
    for corpus, history in (("kept", "1 day"), ("unkept", None)):
        db.execute("select ragdb.create_corpus(%s, history => %s)", (corpus, history))
        store(db, corpus, "a.md", "Anna rows.")
        then = store(db, corpus, "b.md", "Berta swims.")
        trace = one(db, "select trace_id from ragdb.retrieve(%s, 'anna')", corpus)
        chunk = "select chunk_id from ragdb.document_chunks(%s, %s)"
        before = one(db, chunk, corpus, "b.md")
        store(db, corpus, "b.md", "Berta swims with Anna.")
        now = store(db, corpus, "c.md", "Anna and Anna.")
        told = {
            source: db.execute(why, (trace, of)).fetchall()[0]
            for source, of in (("b", before), ("c", one(db, chunk, corpus, "c.md")))
        }
        if history is None:
            assert (told["b"][0], told["c"][0]) == ("corpus", "limit")
        else:
            assert (told["b"][0], told["c"][0]) == ("ranking", "corpus")
            assert told["c"][1].startswith("the corpus had no chunk")
            for _, reason in told.values():
                assert reason.endswith(f"; as of version {then}, where the corpus is at {now}")


def test_a_citation_replays_its_retrieval(committed: Connection) -> None:
    db = committed
    db.execute("select ragdb.create_corpus('cited', history => '1 day')")
    store(db, "cited", "a.md", "A bridge.")
    anchor = one(db, "select chunk_id from ragdb.search('cited', 'bridge')")
    trace = one(db, "select trace_id from ragdb.retrieve_slice('cited', 'bridge', anchor => %s)",
                anchor)  # fmt: skip
    store(db, "cited", "a.md", "Something else.")
    cited = db.execute(
        "select slice_id, query_hash, policy_params_hash from ragdb.get_trace(%s)", (trace,)
    ).fetchone()
    assert cited is not None
    replay = "select trace_id, verdict from ragdb.replay_cited('cited', %s, %s, %s)"
    assert db.execute(replay, cited).fetchall() == [(trace, "exact")]
    assert refused(db, replay, cited[0], "0" * 64, cited[2]).startswith("RG407")


@pytest.mark.nightly
def test_a_dump_keeps_the_history(
    committed: Connection, server18: Server, books: dict[str, int], tmp_path: Path
) -> None:
    dump = str(tmp_path / "dump")
    program = postgres.binary("pg_dump")
    subprocess.run([program, "-Fc", "-f", dump, "-d", committed.info.dsn], check=True)
    with server18.database(None) as database:
        dsn = server18.dsn(database.dbname)
        restore = postgres.binary("pg_restore")
        subprocess.run([restore, "--exit-on-error", "-d", dsn, dump], check=True)
        with psycopg.connect(dsn, autocommit=True) as db:
            rows = "select count(*), sum(hashtext(p::text)) from ragdb.past_rows p"
            assert db.execute(rows).fetchone() == committed.execute(rows).fetchone()
            assert found(db, "books", "copper", books["second"]) == ["a.md"]
            store(db, "books", "d.md", "A bridge of glass.")
            assert found(db, "books", "glass", books["second"]) == []


def test_old_history_is_swept_and_the_rest_answers_as_before(
    fresh: Callable[[], Connection],
) -> None:
    # it moves the clock past what the corpora of the other tests keep
    db = fresh()
    day = timedelta(days=1)
    start = datetime.fromisoformat("2026-01-01T00:00:00+00:00")

    def at(when: datetime) -> None:
        db.execute("select set_config('ragdb.now', %s, false)", (str(when),))

    at(start)
    db.execute("select ragdb.create_corpus('old', history => '10 days')")
    made = []
    for n in range(6):
        at(start + n * 4 * day)
        made.append(store(db, "old", "a.md", f"Number {n} of the bridge."))
    texts = {v: db.execute(
        "select text from ragdb.search('old', 'bridge', as_of => %s)", (v,)).fetchall()
        for v in made}  # fmt: skip
    assert len({str(text) for text in texts.values()}) == 6
    at(start + 21 * day)  # what ended before the 11th day goes
    db.execute("select ragdb.maintain()")
    kept = made[2:]
    for v in kept:
        found_now = db.execute(
            "select text from ragdb.search('old', 'bridge', as_of => %s)", (v,)
        ).fetchall()
        assert found_now == texts[v]
    assert "before its kept history" in refused(
        db, "select * from ragdb.search('old', 'bridge', as_of => %s)", made[1]
    )
    assert one(db, "select min(until) from ragdb.past_rows p join ragdb.corpora c"
               " using (corpus_id) where c.name = 'old'") == made[3]  # fmt: skip
    assert one(db, "select ragdb.version_at('old', %s)", start + 11 * day) == made[2]
    at(start + 400 * day)
    while one(db, "select ragdb_internal.sweep_history(2)"):
        pass
    assert one(db, "select count(*) from ragdb.past_rows p join ragdb.corpora c"
               " using (corpus_id) where c.name = 'old'") == 0  # fmt: skip
    assert found(db, "old", "bridge", made[-1]) == ["a.md"]


def test_a_sweep_waits_for_nobody_who_writes(clone: str) -> None:
    sweep = "select ragdb_internal.sweep_history()"
    with psycopg.connect(clone) as writer, psycopg.connect(clone) as sweeper:
        one(writer, "select ragdb.create_corpus('old', history => '1 day')")
        for text in ("first", "second", "third"):
            one(writer, "select ragdb.put_text('old', 'a.md', %s)", text)
            writer.commit()
        # nobody waits a minute here, and who waits fails
        sweeper.execute("set lock_timeout = '60s'")
        sweeper.execute("select set_config('ragdb.now', (now() + interval '3 days')::text, false)")
        one(writer, "select (ragdb_internal.lock_corpus('old', 'write')).corpus_id")
        assert one(sweeper, sweep) == 0
        sweeper.commit()
        writer.commit()
        assert one(sweeper, sweep) > 0
