"""The text configuration that is chosen by the language of a text.

The texts are article 1 of the Universal Declaration of Human Rights in its official translations.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from ragdb.readers.language import NAMES, normalise
from tests.conftest import Connection

ARTICLES = json.loads((Path(__file__).parents[2] / "data/articles.json").read_text("utf-8"))
# by their configuration, and those of languages that have none
TOLD: dict[str, str] = ARTICLES["told"]
OTHERS: dict[str, str] = ARTICLES["without"]


def guessed(db: Connection, text: str) -> str | None:
    row = db.execute(
        "select config from ragdb_internal.guessed_languages(array[%s])", [text]
    ).fetchone()
    return row[0] if row else None


def test_a_text_tells_its_language(any_db: Connection) -> None:
    for config, text in TOLD.items():
        assert guessed(any_db, text) == config


def test_letters_in_another_form_or_case_tell_the_same(db: Connection) -> None:
    for config, text in TOLD.items():
        assert guessed(db, unicodedata.normalize("NFD", text)) == config
        # a capital I of Turkish loses its dot
        assert config == "turkish" or guessed(db, text.upper()) == config


def test_a_language_without_a_configuration_has_that_of_english(any_db: Connection) -> None:
    for name, text in OTHERS.items():
        assert guessed(any_db, text) == "english", name


def test_each_of_some_texts_has_the_code_of_its_language(any_db: Connection) -> None:
    codes: dict[str, str | None] = {
        **{config: NAMES[config] for config in TOLD},
        "Bulgarian": "bg", "Chinese": "zh", "Czech": None, "Japanese": "ja", "Persian": "fa",
        "Polish": "pl", "Thai": "th", "Ukrainian": "uk",
    }  # fmt: skip
    articles = TOLD | OTHERS
    texts = ["42", *articles.values(), ""]
    rows = any_db.execute(
        "select n, language from ragdb_internal.guessed_languages(%s) order by n", [texts]
    ).fetchall()
    assert rows == [(n, codes[name]) for n, name in enumerate(articles, 2)]


@pytest.mark.parametrize(
    "text",
    ["", "   ", "Berlin", "Привет мир", "x = foo(bar); y = baz[i + 1] * 0x7f", "2026-11-29 12:00",
     "error: ENOENT /usr/lib/x86_64-linux-gnu/libpq.so.5"],
)  # fmt: skip
def test_too_little_tells_nothing(db: Connection, text: str) -> None:
    assert guessed(db, text) is None


def test_signs_and_units_are_not_a_language(db: Connection) -> None:
    units = "The mesh has pores of 10 μm × 20 μm, α = 0.1, β = 0.2 and γ = 0.3. " * 5
    assert guessed(db, units) == "english"
    assert guessed(db, "α β γ δ ε ζ μm μl μs") is None


def test_a_language_that_is_not_listed_is_not_taken_for_its_neighbour(db: Connection) -> None:
    azerbaijani = "Bütün insanlar ləyaqət və hüquqlarına görə azad və bərabər doğulurlar."
    assert guessed(db, azerbaijani) is None


def test_a_language_is_given_by_its_code_or_its_name(db: Connection) -> None:
    given = {
        "de": "german", "DE-at": "german", "pt_BR": "portuguese", " English ": "english",
        "nb": "norwegian", "sr-Cyrl": "serbian", "zh-Hans": "english", "tlh": "english",
        "": None, "42": None, "a language": None, "simple": None,
    }  # fmt: skip
    found = {
        language: db.execute("select ragdb_internal.language_config(%s)", [language]).fetchone()
        for language in given
    }
    assert {language: row and row[0] for language, row in found.items()} == given


def test_a_code_is_what_ingest_makes_of_it(any_db: Connection) -> None:
    given = [
        *NAMES,
        *NAMES.values(),
        "EN-us",
        "Deutsch",
        "nn",
        "iw",
        "in-ID",
        " de ",
        "e n",
        "-",
        "",
    ]
    found = any_db.execute(
        "select ragdb_internal.language_code(g) from unnest(%s::text[]) g", [given]
    )
    assert [code for (code,) in found] == [normalise(one) for one in given]


def test_over_half_of_the_texts_whose_language_is_known_decide(db: Connection) -> None:
    def decided(*texts: str) -> object:
        row = db.execute("select ragdb_internal.config_for(%s)", [list(texts)]).fetchone()
        return row and row[0]

    german, french, chinese = TOLD["german"], TOLD["french"], OTHERS["Chinese"]
    assert decided(german, french, german) == "german"
    assert decided(german, "x", "y", "z") == "german"
    assert decided(german, french) == "english"
    assert decided(german, chinese, chinese) == "english"
    assert decided(german, chinese, german) == "german"
    assert decided() == "english"
    # of many some are looked at, from the first to the last
    assert decided(*[german] * 400, *[french] * 1100) == "french"
    assert decided(*[german] * 1100, *[french] * 400) == "german"
