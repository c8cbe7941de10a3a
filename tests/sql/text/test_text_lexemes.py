"""Text to lexemes: the same everywhere, names by their wholes and parts, nothing that fails."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import Connection, Server

SQL = Path(__file__).parents[3] / "sql"
# what the analysis of a text needs, which is neither a table nor another folder
FILES = ["core/limits.sql"] + [
    line.split()[0] for line in (SQL / "ORDER").read_text().splitlines() if line.startswith("text/")
]
LOCALES = {
    "C": "locale_provider libc locale 'C'",
    "C.UTF-8": "locale_provider libc locale 'C.UTF-8'",
    "builtin": "locale_provider builtin builtin_locale 'C.UTF-8' locale 'C'",
}
LANGUAGES = {
    "en": "english",
    "de": "german",
    "ru": "russian",
    "tr": "turkish",
    "ar": "arabic",
    "hi": "hindi",
    "th": "simple",
    "zh": "simple",
}
NASTY = [
    "“don’t” ‘stop’ e‑mail re­lease naïve—café №5 ﬁne Ⅷ ① ½ ａｂｃ ™",
    "ΣΊΣΥΦΟΣ Σ ς όδος İstanbul ISPARTA ı ẞ Straße GROẞ ŉ ǅ ﬓ և ᾳ ᾼ Ꭰ ꭰ",
    "हिन्दी क्‍ष १९९० ภาษาไทยน้ำ ก่ำ ພາສາລາວ ភាសាខ្មែរ မြန်မာဘာသာ 한국어 각 ㄱ",
    "日本語ガイド、ﾊﾝｶｸ 東京-大阪 𠮷野家 〇 々 text日本abc 私",
    "٣٫١٤ ١٩٩٠ ۱۲ مُحَمَّد ﷺ ﷺ كـــتاب عربي",
    "𝔘𝔫𝔦 𝟙𝟚 🙂👩‍👩‍👧 ❤️ a⃝ \u0301\u0327 q\u0307\u0323 \ufdfa \U0001ccd6 \U000105c9 \u0897 \U0001e4f0",
    "1e5abc é 1e5abc 0q0 0q0é x\x01y\x02 \x7f a\u00a0b\u2028c\ufeffd İ̇ i̇ ʼn o'ʼclock",
    "tag <b>x</b> &amp; &nbsp; AT&T +5 -5 a<b ~/x ./y 1.5e-3 http://é.example/ä?ö=ü#ß",
]


@pytest.fixture(scope="module")
def everywhere(server18: Server, server16: Server) -> Iterator[dict[tuple[int, str], Connection]]:
    """A connection to a database of each locale of each version."""
    with ExitStack() as stack:
        found = {}
        for server, name in ((s, n) for s in (server16, server18) for n in LOCALES):
            if (server.version, name) == (16, "builtin"):
                continue
            database = f"text_{name.lower().replace('.', '').replace('-', '')}"
            with psycopg.connect(server.uri, autocommit=True) as admin:
                admin.execute(f"drop database if exists {database}")
                admin.execute(f"create database {database} template template0 {LOCALES[name]}")
            connection = psycopg.connect(server.dsn(database))
            stack.callback(connection.close)
            connection.execute("create schema ragdb; create schema ragdb_internal")
            for file in FILES:
                connection.execute((SQL / file).read_text())
            found[server.version, name] = connection
        yield found


def lexemes(db: Connection, text: str, config: str = "simple") -> dict[str, list[int]]:
    rows = db.execute(
        "select lexeme, positions from unnest(ragdb_internal.lexemes(%s, %s))", (text, config)
    ).fetchall()
    return dict(rows)


def words(db: Connection, text: str, config: str = "simple") -> dict[str, list[int]]:
    rows = db.execute(
        "select lexeme, positions from unnest(ragdb_internal.words(%s, %s))", (text, config)
    ).fetchall()
    return dict(rows)


def analysed(db: Connection, texts: list[str], config: str) -> list[str]:
    rows = db.execute(
        "select ragdb_internal.lexemes(u.text, %s)::text"
        " from unnest(%s::text[]) with ordinality u (text, ordinal) order by u.ordinal",
        (config, texts),
    )
    return [text for (text,) in rows]


@pytest.mark.parametrize("config", sorted(set(LANGUAGES.values())))
def test_a_nasty_text_has_the_same_lexemes_under_every_locale(
    everywhere: dict[tuple[int, str], Connection], config: str
) -> None:
    for version in (16, 18):
        found = {n: analysed(c, NASTY, config) for (v, n), c in everywhere.items() if v == version}
        for name, texts in found.items():
            assert texts == found["C"], (version, name)


def test_the_language_of_a_text_is_the_same_everywhere(
    everywhere: dict[tuple[int, str], Connection],
) -> None:
    articles = json.loads((SQL.parent / "tests/data/articles.json").read_text("utf-8"))
    texts = [*NASTY, *articles["told"].values(), *map(str.upper, articles["told"].values())]

    def guessed(db: Connection) -> list[str | None]:
        rows = db.execute(
            "select config from generate_series(1, %s) n"
            " left join ragdb_internal.guessed_languages(%s) using (n) order by n",
            (len(texts), texts),
        )
        return [row[0] for row in rows]

    told = guessed(everywhere[18, "builtin"])
    assert told[len(NASTY) : len(NASTY) + len(articles["told"])] == list(articles["told"])
    for where, db in everywhere.items():
        assert guessed(db) == told, where


def test_the_headings_of_a_text_are_the_same_everywhere(
    everywhere: dict[tuple[int, str], Connection],
) -> None:
    text = "".join(f"# {nasty}\n\n{nasty}\n---\n_{nasty}_\n===\n" for nasty in NASTY)

    def headings(db: Connection) -> tuple[object, ...] | None:
        return db.execute("select ragdb_internal.markdown_headings(%s)::text", [text]).fetchone()

    found = {where: headings(db) for where, db in everywhere.items()}
    assert len(set(found.values())) == 1, found


def test_a_nasty_text_has_the_same_lexemes_on_every_version(
    everywhere: dict[tuple[int, str], Connection],
) -> None:
    # Snowball itself differs (18 stems "added" to "add", 16 to "ad"): what is before it is ours
    assert analysed(everywhere[16, "C"], NASTY, "simple") == analysed(
        everywhere[18, "builtin"], NASTY, "simple"
    )


@pytest.mark.by_day(3)
@pytest.mark.shared
@pytest.mark.parametrize("language", LANGUAGES)
def test_real_texts_have_the_same_lexemes_everywhere(
    everywhere: dict[tuple[int, str], Connection], shared: Path, language: str
) -> None:
    lines = (shared / "data/xquad" / language / "corpus.jsonl").read_text().splitlines()[::8]
    texts = [json.loads(line)["text"] for line in lines]
    plain = [analysed(c, texts, "simple") for c in everywhere.values()]
    assert all(found == plain[0] for found in plain)
    for version in (16, 18):
        stemmed = [
            analysed(c, texts, LANGUAGES[language])
            for (v, _), c in everywhere.items()
            if v == version
        ]
        assert all(found == stemmed[0] for found in stemmed)


def test_every_code_point_gives_the_same_lexemes_everywhere(
    everywhere: dict[tuple[int, str], Connection],
) -> None:
    query = """
      select md5(string_agg(ragdb_internal.lexemes(p.text, 'simple')::text, '' order by p.n))
      from (select i / 512 as n, string_agg(chr(i) || ' x' || chr(i) || 'y', ' ' order by i) as text
        from generate_series(1, 131071) i
        where i not between 13312 and 63743 and i not between 65792 and 119807 group by 1) p"""
    found = {where: c.execute(query).fetchone() for where, c in everywhere.items()}
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize(
    ("function", "last"),
    [("plain", "①"), ("fold", "Ж"), ("evidence_text", "\u0378")],
)
def test_what_a_short_look_takes_for_settled_is_left_by_a_long_one(
    db: Connection, function: str, last: str
) -> None:
    """What is behind has the long way gone, and nothing that is before becomes another by it."""
    found = db.execute(
        f"""
        select string_agg(to_hex(i), ' ') from generate_series(1, 65535) i
        where (i < 13312 or i %% 16 = 0) and i not between 55296 and 57343
          and ragdb_internal.{function}('x' || chr(i) || 'y')
            <> left(ragdb_internal.{function}('x' || chr(i) || 'y' || %s), -1)""",
        [last],
    ).fetchone()
    assert found == (None,)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("the user_id column", ["user_id", "user id", "userId", "USER_ID", "userid", "id"]),
        ("call get_user_id()", ["get_user_id", "user id", "getUserId", "getuserid"]),
        ("a camelCase name", ["camelCase", "camel case", "camelcase", "CamelCase", "camel_case"]),
        ("parseHTTPResponse", ["http response", "parseHTTPResponse", "parsehttpresponse"]),
        ("state-of-the-art", ["state-of-the-art", "state of the art", "art"]),
        ("send an e-mail", ["e-mail", "email", "mail", "e‑mail"]),
        ("un cœur, Œdipe, des ŒUVRES", ["coeur", "CŒUR", "oedipe", "œuvres", "Oeuvres"]),
        ("un coeur", ["cœur"]),
        ("in C++ and C#", ["C++", "c++", "c#", "C#"]),
        ("the .NET runtime", [".NET", ".net", "net", "NET"]),
        ("since v2.0.1", ["v2.0.1", "2.0.1"]),
        ("two GPUs, 2FAs", ["GPU", "gpu", "GPUs", "gpus", "2FA"]),
        ("of miRNAs", ["miRNA", "mirna", "RNA", "miRNAs", "mirnas"]),
        ("one VM", ["VMs"]),
        ("numpy-1.26.4.tar.gz", ["1.26.4", "numpy", "tar.gz"]),
        ("/etc/nginx/nginx.conf", ["/etc/nginx/nginx.conf", "nginx.conf", "nginx", "etc"]),
        ("https://docs.python.org/3/", ["https://docs.python.org/3/", "docs.python.org", "python"]),
        ("std::vec::Vec", ["std::vec::Vec", "vec", "std::vec"]),
        ("covid-19 and UTF-8", ["covid-19", "covid19", "covid 19", "UTF-8", "utf8"]),
        ("größen-Tabelle", ["größen-tabelle", "GRÖSSEN", "tabelle", "grössentabelle"]),
        ("северо-запад", ["северо-запад", "запад", "северозапад"]),
    ],
)
def test_a_name_is_found_by_its_whole_and_by_its_parts(
    db: Connection, text: str, asked: list[str]
) -> None:
    found = lexemes(db, text)
    for query in asked:
        assert found.keys() & lexemes(db, query).keys(), query


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("user_id", "userid"),
        ("camelCase", "camelcase"),
        ("C++", "c++"),
        ("c#", "c#"),
        ("in .NET", ".net"),
        ("v2.0.1", "2.0.1"),
        ("3.14", "3.14"),
        ("docs/a.md", "docsamd"),
        ("mRNAs", "mrna"),
    ],
)
def test_the_whole_of_a_name_is_a_lexeme_of_its_own(db: Connection, text: str, whole: str) -> None:
    assert whole in lexemes(db, text)


@pytest.mark.parametrize(
    ("text", "config", "found"),
    [
        ("GPUs", "english", {"gpus", "gpu"}),
        ("APIs URLs", "english", {"api", "url"}),
        ("APIs", "simple", {"apis", "api"}),
        ("PCs VMs", "german", {"pcs", "pc", "vm", "vms"}),
        ("miRNAs", "english", {"mi", "rnas", "rna", "mirna"}),
        ("gpus GPUsX iOS Ps", "simple", {"gpus", "x", "gpusx", "i", "os", "ios", "ps"}),
    ],
)
def test_a_plural_that_no_stemmer_knows_has_its_singular_too(
    db: Connection, text: str, config: str, found: set[str]
) -> None:
    assert lexemes(db, text, config).keys() == found


def test_a_plural_that_the_stemmer_knows_counts_once(db: Connection) -> None:
    assert lexemes(db, "APIs", "english") == {"api": [1]}


def test_versions_do_not_match_other_numbers(db: Connection) -> None:
    assert "201" not in lexemes(db, "release 2.0.1")


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("the user_id column", "user id column"),
        ("the user id column", "user_id column"),
        ("a state of the art engine", "state-of-the-art engine"),
        ("a camelCase name", "camel case name"),
        ("die größte Stadt im Land", "größte stadt"),
        ("私は日本語ガイドです", "日本語ガイド"),
    ],
)
def test_the_words_of_a_phrase_stand_in_a_row(db: Connection, text: str, phrase: str) -> None:
    """Positions of the words do not depend on how a name is written, and names do not move them."""
    found, asked = lexemes(db, text), words(db, phrase)
    starts = [
        {position - offset for position in found[lexeme]}
        for lexeme, offsets in asked.items()
        for offset in offsets
    ]
    assert set.intersection(*starts)


@pytest.mark.parametrize("config", ["english", "german", "french", "simple"])
def test_ascii_words_are_those_of_the_configuration(db: Connection, config: str) -> None:
    text = "the running dogs don t stop being generously nationalised in 1999 x2 die Kinder"
    expected = db.execute("select to_tsvector(%s::regconfig, %s)::text", (config, text)).fetchone()
    found = db.execute("select ragdb_internal.words(%s, %s)::text", (text, config)).fetchone()
    assert found == expected


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ("german", "größten"),
        ("russian", "северные"),
        ("turkish", "çocuklarımız"),
        ("arabic", "المدرسة"),
        ("hindi", "लड़कियों"),
        ("greek", "ανθρώπους"),
    ],
)
def test_other_words_are_stemmed_by_the_configuration(
    db: Connection, config: str, word: str
) -> None:
    expected = db.execute("select ts_lexize(%s, %s)", (f"{config}_stem", word)).fetchone()
    assert expected is not None
    assert lexemes(db, word.upper(), config) == {expected[0][0]: [1]}


def test_stop_words_take_a_place_and_no_lexeme(db: Connection) -> None:
    assert lexemes(db, "der Käse und die Brücke", "german") == {"kas": [2], "bruck": [5]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("日本語", {"日本": [1], "本語": [2]}),
        ("日", {"日": [1]}),
        ("日。本", {"日": [1], "本": [2]}),
        ("abc日本語def", {"abc": [1], "日本": [2], "本語": [3], "def": [4]}),
        ("กำ", {"กํา"[:2]: None, "กํา": [1]}),
        ("ที่นี่", {"ที่นี่": [1]}),
        ("ខ្មែរ", {"ខ្មែរ": [1]}),
        ("한국어", {"한국": [1], "국어": [2]}),
        ("abc\x01def 日\x01 ghi", {"abc": [1], "def": [2], "日": [3], "ghi": [4]}),
    ],
)
def test_scripts_without_spaces_are_cut_into_pairs(
    db: Connection, text: str, expected: dict[str, list[int] | None]
) -> None:
    assert lexemes(db, text) == {k: v for k, v in expected.items() if v}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "Straße"),
        ("ΌΔΟΣ", "όδος"),
        ("İSTANBUL", "istanbul"),
        ("ﬁne", "FINE"),
        ("ＡＢＣ", "abc"),
        ("e\u0301tude", "Étude"),
        ("H\u0331", "\u1e96"),
        ("١٩٩٠", "1990"),
        ("re\u00adlease", "release"),
        ("ՀԵՎ", "հեվ"),
        ("Ꭰ", "ꭰ"),
    ],
)
def test_ways_to_write_a_word_are_one_lexeme(db: Connection, one: str, other: str) -> None:
    assert lexemes(db, one) == lexemes(db, other) != {}


def test_curly_quotes_and_dashes_are_those_of_ascii(db: Connection) -> None:
    assert lexemes(db, "“don’t” 1990–2000 — e‑mail") == lexemes(db, '"don\'t" 1990-2000 - e-mail')


# made where they are asked of: every process of a run reads this file
LONG = {
    "one word": lambda: "x" * 1_000_000,
    "one word of two bytes a letter": lambda: "ü" * 1_000_000,
    "letters that are words": lambda: "日" * 1_000_000,
    "letters that become long": lambda: "\ufdfa" * 100_000,
    "hyphens": lambda: "a-" * 500_000,
    "numbers": lambda: "1." * 500_000,
    "a word again and again": lambda: "word " * 200_000,
    "another word again and again": lambda: "wörd " * 200_000,
    "words": lambda: " ".join(f"{i:x}" for i in range(200_000)),
    "words of any letters": lambda: " ".join(f"{i:x}é" for i in range(200_000)),
    "joined words": lambda: " ".join(f"u{i:x}_{i}" for i in range(100_000)),
    "all ideographs": lambda: "".join(map(chr, range(0x4E00, 0x9FFF))) * 5,
    "long parts of words": lambda: "a_" + "b" * 3000 + " ä_" + "ö" * 3000,
}


@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_a_text_without_measure_is_cut_and_not_refused(
    db: Connection, make: Callable[[], str]
) -> None:
    text = make()
    row = db.execute(
        "select count(*), max(octet_length(lexeme)), max(cardinality(positions))"
        " from unnest(ragdb_internal.lexemes(%s, 'english'))",
        (text,),
    ).fetchone()
    assert row is not None
    assert 1 <= row[0] <= 16_000
    assert row[1] <= 2_046
    assert row[2] <= 256


def test_a_word_is_cut_alike_in_a_short_text_and_a_long_one(db: Connection) -> None:
    word = "ab" * 1500
    assert lexemes(db, word).keys() <= lexemes(db, f"{word} {'more ' * 600}").keys()
    assert lexemes(db, f"ü {word}").keys() >= lexemes(db, word).keys()


every_text = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
wordy_text = st.lists(
    st.sampled_from([*"aZé日ทิ1_-./:@+#<'’ \n\t", "1e5", "Ab", "ß", "ма", "İ", "\u0301", "0q0", "ﷺ"])
).map("".join)


def test_every_character_stays_as_it_was_when_brought_into_one_form_twice(
    any_db: Connection,
) -> None:
    changed = any_db.execute(
        "select letter from generate_series(1, 195101) n, lateral (select chr(n)) c (letter),"
        " lateral (select ragdb_internal.plain(letter)) p (plain)"
        " where n not between 55296 and 57343 and normalize(letter, nfkc) <> letter"
        " and ragdb_internal.plain(plain) <> plain"
    ).fetchall()
    assert changed == []


relaxed = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


@relaxed
@given(text=every_text | wordy_text, config=st.sampled_from(["english", "russian", "simple"]))
def test_no_text_fails_and_a_text_twice_is_the_same(db: Connection, text: str, config: str) -> None:
    assert lexemes(db, text, config) == lexemes(db, text, config)


@relaxed
@given(text=every_text | wordy_text)
def test_folding_and_plain_text_stay_as_they_are(db: Connection, text: str) -> None:
    row = db.execute(
        "select p.plain, ragdb_internal.plain(p.plain), f.folded, ragdb_internal.fold(f.folded)"
        " from (select ragdb_internal.plain(%s) as plain) p,"
        " lateral (select ragdb_internal.fold(p.plain) as folded) f",
        (text,),
    ).fetchone()
    assert row is not None
    assert row[0] == row[1]
    assert row[2] == row[3]


@pytest.mark.parametrize("between", ["{}", "Ж {} Ä", "ж {0} {0}"])
def test_a_capital_folds_alone_as_beside_others(db: Connection, between: str) -> None:
    # capitals of the oldest Unicode that Python knows: a later one has no other case for them
    letters = [
        c for c in map(chr, range(128, 0x10450)) if unicodedata.ucd_3_2_0.category(c) == "Lu"
    ]
    letters = [c for c in letters if len(c.casefold()) == 1 and c.casefold() == c.lower()]
    letters = [c for c in letters if unicodedata.is_normalized("NFKC", c)]
    texts = [between.format(c) for c in letters]
    row = db.execute(
        "select array_agg(ragdb_internal.fold(t) order by n)"
        " from unnest(%s::text[]) with ordinality x (t, n)",
        (texts,),
    ).fetchone()
    assert len(letters) > 600
    assert row == ([t.casefold() for t in texts],)


@relaxed
@given(
    text=st.text(st.sampled_from("aeXz01 .-_/:@+<&;" * 3 + "".join(map(chr, range(1, 127))))),
    others=st.sampled_from(["é", "é " * 40, "мир " * 40]),
    config=st.sampled_from(["english", "russian", "german"]),
)
def test_ascii_words_are_the_same_beside_other_words(
    db: Connection, text: str, others: str, config: str
) -> None:
    """The parser takes ASCII text; beside words of other letters it is cut in two more ways."""
    alone, beside = words(db, text, config), words(db, f"{text} {others}", config)
    extra = words(db, others, config).keys()
    assert alone == {k: v for k, v in beside.items() if k not in extra}


def test_letters_marks_and_numbers_are_those_of_unicode(db: Connection) -> None:
    # Python may know a later Unicode or an earlier one: what both know as assigned
    (row,) = db.execute(
        "select array_agg(i order by i) from generate_series(128, 1114111) i"
        " where i not between 55296 and 57343 and chr(i) ~ ('[' || ragdb_internal.wordly() || ']')"
        " and chr(i) !~ ('[' || ragdb_internal.unassigned() || ']')"
    ).fetchone() or ([],)
    found = set(row)
    (row,) = db.execute(
        "select array_agg(i order by i) from generate_series(128, 1114111) i"
        " where i not between 55296 and 57343"
        " and chr(i) !~ ('[' || ragdb_internal.unassigned() || ']')"
    ).fetchone() or ([],)
    assigned = {i for i in row if unicodedata.category(chr(i)) != "Cn"}
    assert len(assigned) > 280_000
    assert found & assigned == {i for i in assigned if unicodedata.category(chr(i))[0] in "LMN"}


def test_the_configurations_exist_on_every_version(any_db: Connection) -> None:
    missing = any_db.execute(
        "select c.config from ragdb_internal.text_configs() c where not exists ("
        "  select from pg_ts_config p where p.cfgname = c.config)"
    ).fetchall()
    assert missing == []
    assert any_db.execute("select count(*) from ragdb_internal.text_configs()").fetchone() == (29,)


def test_a_configuration_that_only_some_versions_have_is_refused(db: Connection) -> None:
    with pytest.raises(psycopg.Error) as raised:
        db.execute("select ragdb.create_corpus('docs', text_config => 'estonian')")
    assert raised.value.sqlstate == "RG400"


def test_each_configuration_has_the_dictionaries_of_postgresql(any_db: Connection) -> None:
    different = any_db.execute("""
      select c.config, t.alias, d.dictname
      from ragdb_internal.text_configs() c
        join pg_ts_config p on p.cfgname = c.config
        join pg_ts_config_map m on m.mapcfg = p.oid
        join ts_token_type('default') t on t.tokid = m.maptokentype
        join pg_ts_dict d on d.oid = m.mapdict
      where (t.alias = 'asciiword' and m.mapdict <> ragdb_internal.ascii_dictionary(c.config))
        or (t.alias = 'word' and m.mapdict <> ragdb_internal.word_dictionary(c.config))
        or (t.alias in ('numword', 'int', 'uint', 'float', 'sfloat') and d.dictname <> 'simple')
    """).fetchall()
    assert different == []
