"""What a query probably meant is said in words that the texts of the corpus write."""

from __future__ import annotations

import pytest

from tests.conftest import Connection
from tests.documents import text_document
from tests.sql.lexical_twin import put


def meant(db: Connection, query: str, corpus: str = "docs") -> str | None:
    ((words,),) = db.execute("select ragdb.did_you_mean(%s, %s)", (corpus, query)).fetchall()
    return words and str(words)


@pytest.mark.parametrize(
    ("config", "text", "typed", "suggested"),
    [
        # the right word is more than one edit away, or has another ending
        ("english", "regulators of trades", "regulatores", "regulators"),
        ("english", "robots", "roboot", "robots"),
        ("english", "it was happening", "happeninng", "happening"),
        ("english", "the academic year", "academec", "academic"),
        ("english", "Parties", "praty", "parties"),
        # in lower case, with its accents and letters
        ("german", "Eine Behörde", "Behrde", "behörde"),
        ("german", "gemäßigter Wind", "gemäßigrer", "gemäßigter"),
        ("russian", "До Завершения работ", "завршения", "завершения"),
        ("greek", "ο κόσμος", "κόσμςο", "κόσμος"),
        ("greek", "Ο ΚΌΣΜΟΣ", "κόσμςο", "κόσμος"),
        # a part of a name is a word, what is written in two is none
        ("english", "set innerHTML", "innre", "inner"),
        ("english", "set innerHTML", "innerthml", "innerhtml"),
        ("english", "your e-mail", "emial", None),
    ],
)
def test_a_word_is_suggested_as_it_is_written(
    any_db: Connection, config: str, text: str, typed: str, suggested: str | None
) -> None:
    any_db.execute("select ragdb.create_corpus('docs', text_config => %s)", (config,))
    put(any_db, "docs", [text_document("a", text)])
    assert meant(any_db, typed) == suggested


def test_a_word_that_only_a_title_or_a_heading_has_is_suggested(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    titled = text_document("a", "a text") | {"title": "Regulators"}
    titled["chunks"][0]["heading"] = ["Robots"]
    put(any_db, "docs", [titled])
    assert meant(any_db, "regulatores") == "regulators"
    assert meant(any_db, "roboot") == "robots"


def test_of_the_forms_of_a_word_the_one_that_was_typed_but_for_an_error_is_suggested(
    any_db: Connection,
) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    often = [text_document(f"often {n}", "party " * 9) for n in range(30)]
    once = text_document("once", "of several that came to power there were parties too")
    put(any_db, "docs", [*often, once])
    assert meant(any_db, "partise") == "parties"
    assert meant(any_db, "prty") == "party"


@pytest.mark.parametrize(
    ("config", "often", "once", "typed"),
    [
        ("french", "événements", "événement", "événnement"),
        ("russian", "партию", "партия", "паротия"),
        ("german", "Behörden", "Behörde", "Behrde"),
        ("german", "Behörden", "Behörde", "behördde"),
        ("finnish", "Pöydät", "pöydän", "pöydänn"),
    ],
)
def test_so_is_a_form_with_accents_and_the_one_that_was_typed_without_them(
    any_db: Connection, config: str, often: str, once: str, typed: str
) -> None:
    any_db.execute("select ragdb.create_corpus('docs', text_config => %s)", (config,))
    many = [text_document(f"often {n}", f"{often} " * 9) for n in range(30)]
    put(any_db, "docs", [*many, text_document("once", f"wort {once} " + "wort " * 9)])
    assert meant(any_db, typed) == once.lower()


def test_a_few_texts_are_read_for_a_suggestion_and_none_without_one(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", [text_document(f"{n}", f"kettles number{n}") for n in range(500)])

    def read() -> int:
        ((rows,),) = db.execute(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables"
            " where schemaname = 'ragdb' and relname = 'chunks'"
        ).fetchall()
        return int(rows)

    before = read()
    assert meant(db, "kettles") is None
    assert meant(db, "zeppelins") is None
    assert read() == before
    assert meant(db, "ketles") == "kettles"
    assert 0 < read() - before <= 100


def test_a_part_suggests_no_word_that_others_alone_write(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('whole')")
    for part, text in (("one", "a kettle"), ("two", "regulators, kettles")):
        db.execute("select ragdb.create_corpus(%s, part_of => 'whole')", (part,))
        put(db, part, [text_document(part, text)])
    db.execute("select ragdb.sync_statistics('whole')")
    assert meant(db, "the regulatores", "whole") == "the regulators"
    assert meant(db, "the regulatores", "two") == "the regulators"
    assert meant(db, "the regulatores", "one") is None
    assert meant(db, "a kettlse", "one") == "a kettle"
    several = "select ragdb.did_you_mean('{one,two}'::text[], 'regulatores kettlse')"
    assert db.execute(several).fetchone() == ("regulators kettles",)
