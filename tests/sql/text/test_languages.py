"""The text configuration that is chosen by the language of a text.

The texts are article 1 of the Universal Declaration of Human Rights in its official translations.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import psycopg
import pytest

from ragdb.readers.language import NAMES, normalise
from tests.conftest import Connection

ARTICLES = json.loads((Path(__file__).parents[2] / "data/articles.json").read_text("utf-8"))
# by their configuration, and those of languages that have none
TOLD: dict[str, str] = ARTICLES["told"]
OTHERS: dict[str, str] = ARTICLES["without"]
XQUAD = ("ar", "de", "en", "hi", "ru", "th", "tr", "zh")


def guessed(db: Connection, text: str) -> str | None:
    row = db.execute(
        "select config from ragdb_internal.guessed_languages(array[%s])", [text]
    ).fetchone()
    return row[0] if row else None


def language_of(db: Connection, text: str) -> str | None:
    row = db.execute("select language from ragdb.guess_languages(array[%s])", [text]).fetchone()
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
    ("language", "text"),
    [
        # with few function words: some letters are of one language alone
        ("tr", "Katılanlar: Işıl Öztürk, İlker Çağlayan. Anahtarları İlker Bey saklıyor."),
        ("ar", "محضر اجتماع. الحاضرون: أحمد وفاطمة الزهراء. ميزانية التدفئة والصيانة."),
        ("ru", "Присутствовали: Мария Крылова, Эдуард Рыжов. Ключи выданы сторожу."),
        ("uk", "Присутні: Олексій Їжак, Євген Гриців. Ключі зберігає Андрій."),
        ("kk", "Қатысушылар: Әсел Қуанышева. Кілттер күзетшіде сақталады. Бюджет ұсынылды."),
        ("ur", "اجلاس کی روداد: تمام ارکان موجود تھے۔ چابیاں چوکیدار رکھتا ہے، کمرے بند ہوں گے۔"),
        # a name is not a language
        ("en", "President Erdoğan met the ministers in the capital, and they spoke of the treaty."),
        (None, "Erdoğan, Ankara, 12.04.2024, 8.400 TL, fax, telex, modem, radio, hotel, taxi, bar"),
        # nor is one word that is written twice
        (None, "name: ada, display name: Ada"),
        ("fa", "این قرارداد در تاریخ پنجم مارس به پایان می رسد و کلیدها را نگهبان دارد."),
        ("bg", "Договорът изтича на пети март и ключовете са при пазача, който е тук."),
    ],
)
def test_a_short_text_is_told_by_its_words_and_letters(
    any_db: Connection, language: str | None, text: str
) -> None:
    assert language_of(any_db, text) == language


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "What does the museum in the old harbour show?"),
        ("de", "Wann wurde die alte Brücke gebaut?"),
        ("fi", "Missä kaupungissa hän asui ja mitä hän teki?"),
        ("lt", "Jis gyveno mieste, bet dirbo kaip ir kiti už jo sienų."),
        ("et", "See raamat on laual ja ma ei tea, kelle oma see on."),
        ("ca", "Aquest llibre és de la meva germana, però també el llegim nosaltres."),
        ("da", "Jeg ved ikke, hvad der står i bogen, for jeg har kun læst noget af den."),
        ("ne", "यो पुस्तक मेरो बहिनीको हो र उनले पढेको छ।"),
        ("mr", "हे पुस्तक माझ्या बहिणीचे आहे आणि ते टेबलावर आहे."),
        ("ja", "この本は姉のものです。机の上にあります。"),
        ("zh", "这本书是我姐姐的，放在桌子上。"),
        ("ko", "이 책은 누나의 것이고 책상 위에 있다."),
        ("he", "הספר הזה של אחותי והוא על השולחן."),
        ("ka", "ეს წიგნი ჩემი დისაა და მაგიდაზე დევს."),
        ("be", "Гэта кніга маёй сястры, і яна ляжыць на стале ў пакоі."),
        ("mk", "Книгата е на сестра ми и таа е на масата, а ќе ја прочитам утре."),
    ],
)
def test_a_sentence_tells_its_language(any_db: Connection, language: str, text: str) -> None:
    assert language_of(any_db, text) == language


@pytest.mark.shared
@pytest.mark.by_day(4)
@pytest.mark.parametrize("name", ["beir_scifact", *(f"xquad/{code}" for code in XQUAD)])
def test_most_paragraphs_of_a_collection_tell_its_language(
    any_db: Connection, shared: Path, name: str
) -> None:
    language = name.partition("/")[2] or "en"
    lines = (shared / "data" / name / "corpus.jsonl").read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    told = any_db.execute("select language from ragdb.guess_languages(%s)", [texts]).fetchall()
    assert told.count((language,)) > 0.98 * len(texts)
    assert len(told) - told.count((language,)) < 0.01 * len(texts)


def test_languages_come_with_the_positions_of_their_texts(db: Connection) -> None:
    texts = ["", TOLD["german"], "Berlin", OTHERS["Czech"], OTHERS["Polish"]]
    rows = db.execute("select * from ragdb.guess_languages(%s)", [texts]).fetchall()
    assert rows == [(1, "de", "german"), (3, None, "english"), (4, "pl", "english")]
    assert db.execute("select * from ragdb.guess_languages('{}')").fetchall() == []


@pytest.mark.parametrize("texts", ["null", "array['a', null]", "array[array['a'], array['b']]"])
def test_what_is_no_list_of_texts_is_refused(db: Connection, texts: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        db.execute(f"select * from ragdb.guess_languages({texts})")
    assert raised.value.sqlstate == "RG400"


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
