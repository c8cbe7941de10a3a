"""A word that a corpus lacks is replaced by one that is near, and words may stand for others."""

from __future__ import annotations

import itertools
import random
import unicodedata
from collections import Counter
from collections.abc import Iterator
from string import ascii_lowercase
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg.types.json import Jsonb

from ragdb.client.calling import Reals
from tests.conftest import OLDER_BY_NIGHT, Connection, Server
from tests.documents import text_document
from tests.embedding import ENCODER, embed, make_corpus
from tests.processor import spent
from tests.sql.lexical_twin import Collection, put, search
from tests.sql.made_corpus import FewDocuments

TEXTS = {
    "csv": "insert records from a csv file",
    "table": "a table of records with columns",
    "coffee": "the kettle boils water for coffee",
    "car": "an automobile with an engine",
    "motor": "the motor car needs oil",
}


def fill(db: Connection) -> None:
    db.execute("select ragdb.create_corpus('docs')")
    put(db, "docs", [text_document(uri, text) for uri, text in TEXTS.items()])


@pytest.fixture
def docs(any_version: Server, any_filled: str) -> Iterator[Connection]:
    """The superuser there, rolled back after."""
    with any_version.rolled_back(any_filled) as db:
        yield db


def found(db: Connection, query: str, **how: Any) -> list[str]:
    named = "".join(f", {name} => %({name})s" for name in how)
    rows = db.execute(
        f"select source from ragdb.search('docs', %(query)s{named}) order by rank",
        {"query": query, **how},
    )
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("how do I inserrt a cvs", "csv"),
        ("ketle", "coffee"),
        ("kettel", "coffee"),
        ("keetle", "coffee"),
        ("kkettle", "coffee"),
        ("coffe", "coffee"),
        ("columsn", "table"),
        ("recodrs colmns", "table"),
    ],
)
def test_a_word_one_edit_away_is_found(docs: Connection, query: str, first: str) -> None:
    assert found(docs, query)[:1] == [first]
    assert found(docs, query, typos=False) == []


@pytest.mark.parametrize(
    "query",
    [
        "kxttxe",
        "cv",
        "recrods2",
        "zeppelin",
        "the",
        "2019",
        "ab",
        "acr",
        "csvs1",
        "jettle",
        "ettle",
    ],
)
def test_what_is_not_near_stays_not_found(docs: Connection, query: str) -> None:
    assert found(docs, query) == []
    assert docs.execute("select ragdb.did_you_mean('docs', %s)", (query,)).fetchone() == (None,)


def test_words_of_other_scripts_are_near_too(any_db: Connection) -> None:
    for config, text, query in (
        ("russian", "столица России", "стлоица"),
        ("german", "die größte Straße", "grösßte"),
        ("greek", "η πρωτεύουσα", "πρωετύουσα"),
        ("simple", "東京都庁舎", "東京部"),
    ):
        any_db.execute("select ragdb.create_corpus(%s, text_config => %s)", (config, config))
        put(any_db, config, [text_document("a", text)])
        hits = search(any_db, config, query)
        assert len(hits) == 1, config


@pytest.mark.parametrize(
    ("config", "text", "typed", "meant"),
    [
        ("english", "une crème pâtissière", "creme patissiere", "crème pâtissière"),
        ("simple", "une crème pâtissière", "Creme patissiere?", "crème pâtissière?"),
        ("french", "une pâtisserie", "patisserie", "pâtisserie"),
        ("english", "Zurich by the lake", "Zürich", "zurich"),
        ("english", "Zürich by the lake", "zurich lake", "zürich lake"),
        ("english", "crème of the crop", "crême", "crème"),
        ("english", "the city of Łódź", "lodz", "łódź"),
        ("simple", "tiếng Việt", "tieng viet", "tiếng việt"),
        ("turkish", "İstanbul'da ılık bir kış", "ilik kis", "ılık kış"),
        # an accent before an edit that more chunks have
        ("english", "the cote of arms, the coté, coats", "côte", "cote"),
        ("simple", "côté; core; core", "cote", "côté"),
        ("simple", "à la carte", "a la carté", "a la carte"),
    ],
)
def test_a_word_that_differs_in_accents_alone_is_meant(
    any_db: Connection, config: str, text: str, typed: str, meant: str
) -> None:
    any_db.execute("select ragdb.create_corpus('docs', text_config => %s)", (config,))
    put(any_db, "docs", [text_document("a", text), text_document("b", "core coats")])
    assert found(any_db, typed)[:1] == ["a"]
    row = any_db.execute("select ragdb.did_you_mean('docs', %s)", (typed,)).fetchone()
    assert row == (meant,)


def accentless(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def test_of_all_words_that_differ_in_accents_alone_the_most_frequent_is_meant(
    db: Connection,
) -> None:
    draw = random.Random(5)
    letters = ["a", "à", "ä", "e", "é", "ê", "ạ", "n", "ñ", "t"]
    texts = [
        " ".join("".join(draw.choices(letters, k=draw.randint(3, 5))) for _ in range(40))
        for _ in range(12)
    ]
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(db, "docs", [text_document(str(n), text) for n, text in enumerate(texts)])
    frequency = Counter(word for text in texts for word in set(text.split()))
    lacked = 0
    for word in sorted({accentless(word) for word in frequency} - set(frequency)):
        alike = [(-df, other) for other, df in frequency.items() if accentless(other) == word]
        row = db.execute("select ragdb.did_you_mean('docs', %s)", (word,)).fetchone()
        assert row == (min(alike)[1],)
        lacked += 1
    assert lacked > 100


def test_every_letter_that_has_an_accent_is_found_without_it(db: Connection) -> None:
    letters = [c for c in map(chr, range(0xE0, 0x1F00)) if c.islower() and c.isalpha()]
    kept = [c for c in letters if c == unicodedata.normalize("NFKC", c) != accentless(c)]
    plain = {c: accentless(c) for c in kept if accentless(c) in [*ascii_lowercase]}
    plain |= dict(zip("đħıłøŧ", "dhilot", strict=True))
    pairs = itertools.product(ascii_lowercase, repeat=2)
    words = {
        f"{c}{''.join(pair)}{c}qq": f"{letter}{''.join(pair)}{letter}qq"
        for (c, letter), pair in zip(plain.items(), pairs, strict=False)
    }
    assert len(words) > 250
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(db, "docs", [text_document("a", " ".join(words))])
    for word, typed in words.items():
        row = db.execute("select ragdb.did_you_mean('docs', %s)", (typed,)).fetchone()
        assert row == (word,)


# what the planner was told of the dictionary last: nothing, that it is empty (it was vacuumed when
# its rows were not committed yet), or all
TOLD = (
    "select",
    "update pg_class set reltuples = 0, relpages = 50 where oid = 'ragdb.lexemes'::regclass",
    "analyze ragdb.lexemes",
)


@pytest.mark.parametrize("told", TOLD, ids=["nothing", "none", "all"])
def test_words_with_accents_are_looked_up_by_key(any_db: Connection, told: LiteralString) -> None:
    texts = [" ".join(f"é{w}{n}" for w in ascii_lowercase) for n in range(400)]
    any_db.execute("select ragdb.create_corpus('docs')")
    put(any_db, "docs", [text_document(f"{n}", text) for n, text in enumerate(texts)])
    any_db.execute(told)
    any_db.execute("set enable_seqscan = off")
    any_db.execute("set plan_cache_mode = force_generic_plan")
    any_db.execute(
        "prepare look (integer, text) as"
        " select a.lexeme from ragdb_internal.accented_lexeme($1, $2, 'english') a"
    )
    plan = "\n".join(
        row[0] for row in any_db.execute("explain execute look(1, 'detail')").fetchall()
    )
    assert "lexemes_by_unaccented" in plan, plan
    # by itself or in a bitmap
    key = plan.split("lexemes_by_unaccented")[1].split("Index Cond: ")[1].splitlines()[0]
    assert "translate" in key, plan
    assert "corpus_id" in key, plan


def test_a_word_that_differs_in_accents_is_found_behind_hundreds_that_begin_alike(
    db: Connection,
) -> None:
    words = ["dé" + "".join(rest) for rest in itertools.product(ascii_lowercase, repeat=2)]
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(db, "docs", [text_document("a", " ".join(words)), text_document("b", "dëtail")])
    row = db.execute("select ragdb.did_you_mean('docs', 'detail')").fetchone()
    assert row == ("dëtail",)


def test_a_dictionary_of_every_accent_is_not_walked_to_its_end(db: Connection) -> None:
    words = ["".join(word) for word in itertools.product("aàáâãäåā", repeat=4)]
    db.execute("select ragdb.create_corpus('docs', text_config => 'simple')")
    put(db, "docs", [text_document("a", " ".join(words))])
    plan = db.execute(
        "explain (analyze, buffers, format json)"
        " select ragdb.did_you_mean('docs', 'aaaaaaaaaaaaaaaa')"
    ).fetchone()
    assert plan is not None
    read = plan[0][0]["Plan"]
    assert read["Shared Hit Blocks"] + read["Shared Read Blocks"] < 5_000


def nearest(db: Connection, dictionary: dict[str, int], typo: str) -> str | None:
    """By brute force: chunks, times two for each letter, times 32 for an error of few ways."""
    splits = [(typo[:n], typo[n:]) for n in range(len(typo) + 1)]
    likely = {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1 and (a or len(typo) > 3)}
    inner = [(a, b) for a, b in splits if a and len(typo) > 3]
    likely |= {a + c + b for a, b in inner for c in ascii_lowercase}
    likely |= {a + b[1:] for a, b in inner if b and a[-1] == b[0]}
    others = {a + b[1:] for a, b in inner if b}
    others |= {a + c + b[1:] for a, b in inner if b for c in ascii_lowercase}
    known: dict[str, float] = {}
    for times, edited in ((1, others), (32, likely)):
        stems = {
            row[0]
            for row in db.execute(
                "select tsvector_to_array(to_tsvector('english', e))::text"
                " from unnest(%s::text[]) e",
                (sorted(edited),),
            )
        }
        for lexeme, df in dictionary.items():
            if f"{{{lexeme}}}" in stems:
                known[lexeme] = times * df * 2 ** len(lexeme)
    return min(known, key=lambda lexeme: (-known[lexeme], lexeme), default=None)


@pytest.mark.parametrize(
    ("texts", "typed", "meant"),
    [
        # no chunk has artes, fulle or highes
        (["arts", "an art", "arches"], "arhes", "arches"),
        (["full", "fully", "fumble"], "fumle", "fumble"),
        (["rang", "rang it", "a rag"], "ragg", "rag"),
        (["plank", "plank it", "planet"], "plnaet", "planet"),
        (["high", "so high", "the highest"], "highesj", "highest"),
        # what most chunks have, of what is as likely
        (["a cable", "the table", "tables"], "xtable", None),
        (["a bale", "the bake", "bakes"], "bahe", "bake"),
        (["cart", "cat", "cats", "a cat"], "catt", "cat"),
    ],
)
def test_of_words_one_edit_away_the_likeliest_is_meant(
    docs: Connection, texts: list[str], typed: str, meant: str | None
) -> None:
    put(docs, "docs", [text_document(f"more {n}", text) for n, text in enumerate(texts)])
    row = docs.execute("select ragdb.did_you_mean('docs', %s)", (typed,)).fetchone()
    assert row == (meant,)


@OLDER_BY_NIGHT
def test_the_nearest_word_is_that_of_brute_force(docs: Connection) -> None:
    texts = [
        *TEXTS.values(),
        "cartons of coffees",
        "tables, cables and cabled cars",
        "running runs",
        "generalizations of organizational configurations, happily notified",
    ]
    put(docs, "docs", [text_document(f"more {n}", text) for n, text in enumerate(texts)])
    rows = docs.execute("select lexeme, df from ragdb.lexemes where df > 0").fetchall()
    dictionary: dict[str, int] = dict(rows)
    words = sorted({word for text in texts for word in text.replace(",", "").split()})
    draw = random.Random(11)
    replaced = missed = 0
    for _ in range(400):
        word, letter = draw.choice(words), draw.choice(ascii_lowercase)
        at = draw.randrange(len(word))
        typo = draw.choice(
            [
                word[:at] + letter + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1 :],
                word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :],
            ]
        )
        ((stems,),) = docs.execute(
            "select tsvector_to_array(to_tsvector('english', %s))", (typo,)
        ).fetchall()
        if len(typo) < 3 or not stems or dictionary.get(stems[0]):
            continue
        rows = docs.execute(
            "select m.lexeme from ragdb.corpora c, ragdb_internal.meant_words(c, %s, %s) m",
            (typo, stems),
        ).fetchall()
        meant = nearest(docs, dictionary, typo)
        is_it = rows == ([(meant,)] if meant else [])
        # what is edited inside of a long ending (generalizaeions) may be missed
        assert is_it or len(typo) > 10, typo
        missed += not is_it
        replaced += meant is not None
    assert replaced > 150
    assert missed < replaced / 50


def test_a_word_is_edited_as_far_as_lexemes_begin_like_it(docs: Connection) -> None:
    near = """
        select e.last, cardinality(n.near) from ragdb.corpora c
          cross join lateral ragdb_internal.lacking_words(
            c, ragdb_internal.ascii_dictionary(c.text_config), %s, %s) w
          cross join lateral ragdb_internal.last_edited(c.corpus_id, w.word, w.lexeme) e
          cross join lateral ragdb_internal.near_lexemes(
            w.word, ragdb_internal.ascii_dictionary(c.text_config), c.text_config, e.last) n
        where c.name = 'docs'"""
    # none begins with more than "co"
    last, looked_up = docs.execute(near, ("counterintuitively", ["counterintuit"])).fetchone() or (
        0,
        0,
    )
    assert (last, looked_up) == (2, len("counterintuitively") - 1 + 2 * 53)
    put(docs, "docs", [text_document("counter", "counterintuitive")])
    last, looked_up = docs.execute(
        near, ("counterintuitqvely", ["counterintuitqv"])
    ).fetchone() or (0, 0)
    assert last == len("counterintuitqvely")  # only the ending is wrong
    assert found(docs, "counterintuitqvely") == ["counter"]


@pytest.mark.parametrize(
    "word", ["grösßte", "Österreich", "ÉCOLE", "Ελλάς", "Москва", "Ǆep", "i\u0307stanbul", "kettel"]
)
def test_edits_are_folded_as_each_of_them_would_be(any_db: Connection, word: str) -> None:
    ((edits, folded),) = any_db.execute(
        "select e.edits, ragdb_internal.folded_edits(e.edits, %(word)s)"
        " from ragdb_internal.edits(%(word)s, 1, length(%(word)s)) e",
        {"word": word},
    ).fetchall()
    twins = [unicodedata.normalize("NFKC", edit.casefold()) for edit in edits]
    assert len(edits) > 100
    assert folded in (twins, edits)
    assert (folded == edits) == (word in ("kettel", "i\u0307stanbul"))


def test_a_word_that_the_corpus_has_is_left_alone(docs: Connection) -> None:
    put(docs, "docs", [text_document("kettel", "kettel")])
    assert found(docs, "kettel") == ["kettel"]
    docs.execute("select ragdb.delete_source('docs', 'kettel')")
    assert found(docs, "kettel") == ["coffee"]


def test_a_replacement_is_discounted_and_the_scale_stays(docs: Connection) -> None:
    twin = Collection.read(docs, "docs")
    ((chunk, score, bm25),) = search(docs, "docs", "kettel coffee", 1)
    direct = twin.idf("coffe") * twin.impact(chunk, "coffe")
    near = 0.7 * twin.idf("kettl") * twin.impact(chunk, "kettl")
    assert bm25 == pytest.approx(direct + near, rel=1e-9)
    asked = (twin.idf("coffe") + twin.idf("kettel")) * 2.2
    assert score == pytest.approx((direct + near) / asked, rel=1e-9)
    rows = docs.execute(
        "select lexeme, stands_for, contribution"
        " from ragdb.explain_search('docs', 'kettel coffee', %s)",
        (chunk,),
    ).fetchall()
    assert {(lexeme, stands_for) for lexeme, stands_for, _ in rows} == {
        ("coffe", None),
        ("kettel", None),
        ("kettl", "kettel"),
    }
    assert sum(row[2] for row in rows) == pytest.approx(bm25, rel=1e-12)


def test_did_you_mean_shows_the_words_that_were_meant(docs: Connection) -> None:
    meant = "select ragdb.did_you_mean('docs', %s, %s)"
    assert docs.execute(meant, ("How do I Inserrt a cvs?", "plain")).fetchone() == (
        "How do I insert a csv?",
    )
    assert docs.execute(meant, ("insert a csv", "plain")).fetchone() == (None,)
    assert docs.execute(meant, ("coffee -kettel", "web")).fetchone() == (None,)
    # the longest three of four
    assert docs.execute(meant, ("wter recodrs ketle colmns", "plain")).fetchone() == (
        "wter records kettle columns",
    )


@pytest.mark.parametrize(
    "asked",
    [
        "ragdb.did_you_mean('docs', %(query)s)",
        "ragdb.did_you_mean(array['docs', 'more'], %(query)s)",
        "count(*) from ragdb.search('docs', %(query)s)",
        "count(*) from ragdb.search('docs', %(query)s, as_of =>"
        " (select version from ragdb.corpora where name = 'docs'))",
    ],
)
def test_a_question_is_read_as_often_whether_it_is_long_or_short(
    docs: Connection, asked: str
) -> None:
    docs.execute("select ragdb.create_corpus('more')")
    docs.execute("select ragdb.keep_history('docs', '1 day')")
    docs.execute("set local track_functions = 'all'")

    def readings(words: int) -> int:
        count = (
            "select coalesce(sum(calls), 0) from pg_stat_xact_user_functions"
            " where schemaname = 'ragdb_internal' and funcname = 'lexemes'"
        )
        [[before]] = docs.execute(count).fetchall()
        docs.execute(f"select {asked}".encode(), {"query": "kettel of coffe " * words})
        [[after]] = docs.execute(count).fetchall()
        return int(after - before)

    assert readings(100) == readings(1) > 0


def test_a_query_that_lacks_four_times_as_many_words_takes_about_four_times_as_long(
    docs: Connection,
) -> None:
    words = ["".join(word) for word in itertools.product("bcdfghjklm", repeat=4)]

    def took(lacking: int) -> float:
        before = spent(docs)
        for _ in range(5):
            docs.execute("select from ragdb.search('docs', %s)", (" ".join(words[:lacking]),))
        return spent(docs) - before

    took(100)
    # each was once looked for among all of them: sixteen times as long
    assert took(6000) < 8 * took(1500)


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        # lacking and near to a word of the corpus, of all words that are not stop words
        ("Kettel Coffe", "kettle coffee"),  # 2 and 2 of 2
        ("Welche Kettel", "Welche kettle"),  # 2 and 1 of 2
        ("Welche Kettel Coffe", "Welche kettle coffee"),  # 3 and 2 of 3
        ("Welche Kettel bringt Kaffee?", None),  # 4 and 1 of 4
        ("columns records csv file: welche Kettel bringt Kaffee", None),  # 4 and 1 of 8
        ("columns records csv file water: welche Kettel bringt Kaffee",) * 2,  # 4 and 1 of 9
    ],
)
def test_a_question_of_which_most_is_lacking_and_near_to_nothing_is_not_corrected(
    docs: Connection, query: str, meant: str | None
) -> None:
    row = docs.execute("select ragdb.did_you_mean('docs', %s)", (query,)).fetchone()
    assert row == (meant and meant.replace("Kettel", "kettle"),)


def test_what_one_of_several_corpora_knows_is_not_misspelt(docs: Connection) -> None:
    docs.execute("select ragdb.create_corpus('more')")
    put(
        docs,
        "more",
        [text_document("kettel", "a kettel of fish"), text_document("csv", "comma separated")],
    )
    meant = "select ragdb.did_you_mean(%s::text[], %s, 'web')"
    for query, several in (('"the kettel"', None), ("kettel cofee", "kettel coffee")):
        assert docs.execute(meant, (["docs", "more"], query)).fetchone() == (several,)
        assert docs.execute(meant, (["more", "docs"], query)).fetchone() == (several,)
    assert docs.execute(meant, (["docs"], '"the kettel"')).fetchone() == ('"the kettle"',)


def test_clauses_stay_strict(docs: Connection) -> None:
    assert found(docs, "+kettel", syntax="web") == []
    assert found(docs, "coffee -kettel", syntax="web") == ["coffee"]


def test_typos_change_the_lexical_leg_of_a_hybrid_search(db: Connection) -> None:
    make_corpus(db, TEXTS)
    embed(db)
    vector = Reals(ENCODER.encode(["kettel"]))
    how = {"mode": "hybrid", "query_embedding": vector, "lexical_weight": 1.0, "k": 1}
    assert found(db, "kettel", **how) == ["coffee"]


def test_a_search_with_typos_is_exact_by_every_strategy(db: Connection) -> None:
    made = FewDocuments(db, vocabulary=3_000)
    made.add(2_100)
    near = [w for w in made.words if len(w) == 4][5]
    typo = near[0] + near[1] + "x" + near[2:]  # nothing of the vocabulary
    for optimized in (False, True):
        if optimized:
            db.execute("select ragdb.optimize_corpus('made')")
        for more in ([], made.words[:2], made.words[:40:3]):
            rows = db.execute(
                "select chunk_id, score from ragdb.search('made', %s, k => 30)",
                (" ".join([typo, *more]),),
            ).fetchall()
            every = db.execute(
                "select chunk_id, score from ragdb.search('made', %s, k => 30, chunk_ids => %s)",
                (" ".join([typo, *more]), made.ids),
            ).fetchall()
            assert rows == every
            assert rows


def test_a_trace_keeps_that_typos_were_off(docs: Connection) -> None:
    docs.execute("select from ragdb.retrieve('docs', 'kettel coffee', typos => false)")
    assert docs.execute(
        "select t.ranking, r.verdict from ragdb.last_trace_id() i, ragdb.get_trace(i) t,"
        " ragdb.replay(i) r"
    ).fetchone() == ({"typos": False}, "exact")


def test_synonyms_find_each_other(docs: Connection) -> None:
    assert found(docs, "cars") == ["motor"]
    (added,) = docs.execute(
        "select ragdb.add_synonyms('docs', '{car,automobile,\"boiling water\"}')"
    ).fetchone() or (0,)
    assert added == 4
    assert found(docs, "cars") == ["motor", "car", "coffee"]
    assert found(docs, "automobiles")[0] == "car"
    assert found(docs, "boiling") == ["coffee"]
    scores = docs.execute("select score from ragdb.search('docs', 'car automobile')").fetchall()
    assert all(0 < score <= 1 for (score,) in scores)
    rows = "select word, synonyms from ragdb.list_synonyms('docs')"
    assert docs.execute(rows).fetchall() == [
        ("automobile", ["boiling water", "car"]),
        ("car", ["automobile", "boiling water"]),
    ]
    docs.execute("select ragdb.remove_synonyms('docs', 'car')")
    assert found(docs, "cars") == ["motor"]
    docs.execute("select ragdb.remove_synonyms('docs', 'automobile')")
    assert docs.execute("select has_synonyms from ragdb.corpora").fetchone() == (False,)


def test_a_word_that_is_taken_out_stands_for_no_other(docs: Connection) -> None:
    docs.execute("select ragdb.add_synonyms('docs', '{car,auto,vehicle}')")
    assert docs.execute("select ragdb.remove_synonyms('docs', 'car')").fetchone() == (4,)
    assert docs.execute("select * from ragdb.list_synonyms('docs') order by 1").fetchall() == [
        ("auto", ["vehicle"]),
        ("vehicle", ["auto"]),
    ]


def test_a_synonym_weighs_less_than_the_word_however_rare_it_is(docs: Connection) -> None:
    same = [text_document(f"p{n}", f"the password of shed {n}") for n in range(20)]
    put(docs, "docs", [*same, text_document("rare", "the passcode of shed 5")])
    docs.execute("select ragdb.add_synonyms('docs', '{password,passcode}')")
    assert found(docs, "password", k=21)[-1] == "rare"
    scores = dict(
        docs.execute("select source, score from ragdb.search('docs', 'password', 21)").fetchall()
    )
    assert scores["rare"] == pytest.approx(0.7 * scores["p5"])
    # the other way the common word has 0.7 of what it weighs by itself
    assert found(docs, "passcode", k=21)[0] == "rare"


def test_a_synonym_that_no_chunk_has_changes_no_score(docs: Connection) -> None:
    ask = "select source, score from ragdb.search('docs', 'records car', 10) order by rank"
    before = docs.execute(ask).fetchall()
    docs.execute("select ragdb.add_synonyms('docs', '{car,saloon,\"estate wagon\"}')")
    assert docs.execute(ask).fetchall() == before
    # a word that was asked for counts, whether a chunk has it or not
    (both,) = docs.execute("select max(score) from ragdb.search('docs', 'car zeppelin')")
    (alone,) = docs.execute("select max(score) from ragdb.search('docs', 'car')")
    assert both < alone


def test_a_synonym_lowers_no_score(docs: Connection) -> None:
    """The floors of a corpus would refuse what they let pass before it had synonyms."""
    ask = "select source, score, coverage from ragdb.search('docs', 'car records oil', 10)"
    before = {source: (score, coverage) for source, score, coverage in docs.execute(ask)}
    docs.execute("select ragdb.add_synonyms('docs', '{car,automobile,motor}')")
    after = {source: (score, coverage) for source, score, coverage in docs.execute(ask)}
    assert before.keys() < after.keys()
    assert all(after[source][0] >= before[source][0] for source in before)
    assert all(after[source][1] >= before[source][1] for source in before)


def test_a_score_with_synonyms_is_a_share_of_what_the_words_can_reach(docs: Connection) -> None:
    words = ["lens", "objective", "optic", "glass", "eyepiece"]
    docs.execute("select ragdb.create_corpus('short')")
    texts = [" ".join(words[:n] * times) for n in range(1, 6) for times in (1, 3, 9)]
    put(docs, "short", [text_document(f"{n}", text) for n, text in enumerate(texts)])
    docs.execute("select ragdb.add_synonyms('short', %s)", (words,))
    hits = docs.execute(
        "select score, bm25, coverage from ragdb.search('short', 'lens', 20)"
    ).fetchall()
    assert len(hits) == len(texts)
    assert hits == sorted(hits, key=lambda hit: hit[1], reverse=True)
    [[idf]] = docs.execute(
        "select max(e.idf) from ragdb.search('short', 'lens', 1) h cross join lateral"
        " ragdb.explain_search('short', 'lens', h.chunk_id) e where e.lexeme = 'len'"
    ).fetchall()
    assert [score for score, _, _ in hits] == pytest.approx([b / 2.2 / idf for _, b, _ in hits])
    assert all(0 < score < 1 and 0 < coverage <= 1 for score, _, coverage in hits)
    docs.execute("select ragdb.keep_history('short', '1 day')")
    then = docs.execute(
        "select h.score, h.bm25, h.coverage from ragdb.corpora c cross join lateral"
        " ragdb.search('short', 'lens', 20, as_of => c.version) h where c.name = 'short'"
    ).fetchall()
    assert then == hits


def test_a_synonym_that_no_chunk_has_could_have_given_nothing(docs: Connection) -> None:
    docs.execute("select ragdb.add_synonyms('docs', '{car,saloon,automobile}')")
    parts = docs.execute(
        "select p.lexeme, p.stands_for, p.points, p.most"
        " from ragdb.search('docs', 'car car oil', 1) h"
        " cross join lateral ragdb.explain_score('docs', 'car car oil', h.chunk_id) p"
    ).fetchall()
    most = {(lexeme, stands_for): most for lexeme, stands_for, _, most in parts if most > 0}
    assert most.keys() == {("car", None), ("automobil", "car"), ("oil", None)}
    assert most["car", None] + most["oil", None] == pytest.approx(1)
    assert most["automobil", "car"] == pytest.approx(0.7 * most["car", None])
    assert all(points <= most for _, _, points, most in parts)


def test_new_synonyms_are_a_change_of_the_configuration(docs: Connection) -> None:
    docs.execute("select from ragdb.retrieve('docs', 'cars')")
    docs.execute("select ragdb.add_synonyms('docs', '{car,automobile}')")
    assert docs.execute(
        "select verdict, cause from ragdb.replay(ragdb.last_trace_id())"
    ).fetchone() == ("drifted", "config_changed")


def test_a_recorded_search_reads_the_synonyms_of_its_words_alone(docs: Connection) -> None:
    docs.execute("select ragdb.add_synonyms('docs', '{car,automobile}')")
    add = "select ragdb.add_synonyms('docs', array['word' || n, 'term' || n])"
    docs.execute(f"{add} from generate_series(1, 100) n".encode())

    def read() -> int:
        [[rows]] = docs.execute(
            "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables"
            " where schemaname = 'ragdb' and relname = 'synonyms'"
        ).fetchall()
        return int(rows)

    before = read()
    docs.execute("select from ragdb.retrieve('docs', 'cars')")
    assert 0 < read() - before <= 4


def test_synonyms_that_somebody_edited_are_a_change_of_the_configuration(docs: Connection) -> None:
    docs.execute("select ragdb.add_synonyms('docs', '{car,automobile}')")
    docs.execute("select from ragdb.retrieve('docs', 'cars')")
    docs.execute("update ragdb.synonyms set means = 'oil' where word = 'car'")
    assert docs.execute(
        "select verdict, cause from ragdb.replay(ragdb.last_trace_id())"
    ).fetchone() == ("drifted", "config_changed")


@pytest.mark.parametrize("words", [None, "{}", "{car}", "{car,null}", '{car," "}'])
def test_synonyms_that_are_no_list_of_words_are_refused(
    docs: Connection, words: str | None
) -> None:
    with pytest.raises(psycopg.DatabaseError) as caught:
        docs.execute("select ragdb.add_synonyms('docs', %s)", (words,))
    assert caught.value.sqlstate == "RG400"


def test_many_lists_of_synonyms_are_those_of_as_many_calls_and_hashed_once(
    docs: Connection,
) -> None:
    lists = [["car", "automobile", "motor car"], ["fee", "charge"], ["charge", "fee"]]
    added = docs.execute("select ragdb.add_synonym_lists('docs', %s)", [Jsonb(lists)]).fetchone()
    assert added == (6,)  # a query finds nothing by an expression of several words
    words = "select word, synonyms from ragdb.list_synonyms('docs')"
    together = docs.execute(words).fetchall()
    recorded = docs.execute(
        "select count(*) from ragdb.recorded_states where kind = 'synonyms'"
    ).fetchone()
    assert recorded == (1,)
    docs.execute("select ragdb.remove_synonyms('docs', word) from ragdb.list_synonyms('docs')")
    for given in lists:
        docs.execute("select ragdb.add_synonyms('docs', %s)", [given])
    assert docs.execute(words).fetchall() == together
    assert docs.execute("select ragdb.add_synonym_lists('docs', '[]')").fetchone() == (0,)


@pytest.mark.parametrize(
    ("lists", "says"),
    [(None, "lists is not an array"), ({"car": "auto"}, "lists is not an array"),
     ([["a", "b"], ["c"]], "list 1 is not"), ([["a", "b"], "c"], "list 1 is not"),
     ([["a", 1]], "list 0 is not"), ([["a", None]], "list 0 is not")],
)  # fmt: skip
def test_one_that_is_no_list_of_words_is_named_by_its_place(
    docs: Connection, lists: object, says: str
) -> None:
    given = None if lists is None else Jsonb(lists)
    with pytest.raises(psycopg.DatabaseError, match=says) as caught:
        docs.execute("select ragdb.add_synonym_lists('docs', %s)", [given])
    assert caught.value.sqlstate == "RG400"
