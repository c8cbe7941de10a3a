"""ragdb.embed against a twin, and what may not happen to any text."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
import random
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragdb.client.calling import Reals
from ragdb.database import Database
from ragdb.errors import (
    AlreadyExists,
    EmbedderMismatch,
    EmbedderNotFound,
    InvalidArgument,
    InvalidEmbedding,
)
from ragdb.models.static import PACKAGE, _folder, read
from ragdb.server import static
from tests.conftest import Connection
from tests.sql.static.conftest import PROSE, ROOT
from tests.static_twin import Twin, train

TEXTS = [
    *PROSE[:60],
    "",
    " ",
    "!!! ---",
    "word " * 300,
    "Straße naïve ﬁle Ⅷ e\u0301te\u0301",
    "检索 データベース 데이터베이스 mixed with English",
    "Поиск по базе данных",
    "😀 emoji 👩‍👩‍👧 and text",
    "♻\ufe0f a so\u00adft hyphen and a w\u2060ord joiner \ufe0f",
    "x" * 5000,
    "first " * 11_000 + "what stands behind the first 65,536 characters does not count",
    "\ufb01rst " * 12_000 + "nor does what NFKC pushes behind them",
    "\x01\x02 control \x7f characters\ttabs\r\nlines",
]


def embedded(db: Connection, text: str, name: str = "small") -> Any:
    row = db.execute("select ragdb.embed(%s, %s)", (text, name)).fetchone()
    assert row is not None
    return np.array(row[0])


def test_without_a_default_a_text_is_refused_as_a_corpus_is(any_db: Connection) -> None:
    any_db.execute("select ragdb.create_corpus('docs')")
    for asked in ("ragdb.embed_corpus('docs')", "ragdb.embed('a text')"):
        nobody = pytest.raises(EmbedderNotFound, match="no embedder is the default")
        with nobody, any_db.transaction():
            any_db.execute(f"select {asked}".encode())


def test_every_kind_of_tokenizer_embeds_as_its_twin_does(any_db: Connection, twin: Twin) -> None:
    static.load(Database(any_db), "small", str(twin.folder))
    numbers = [f"{word}{n}{word}" for word in ("a", "tokens", "") for n in (0, 2024, 193)]
    # more than are looked up one by one
    many = [f"{word[:6]}{n}{word}" for n, word in enumerate(" ".join(PROSE).split()) if n < 2500]
    for text in [*TEXTS, *numbers, " ".join(numbers), " ".join(many)]:
        if twin.kind == "Unigram" and not text.isascii():
            continue  # the library joins unknown letters to one piece, and cuts the rest anew
        if twin.kind == "WordPiece" and any(
            twin.tokenizer.encode(w).tokens == ["[UNK]"] for w in twin.words(text)
        ):
            continue  # the library drops a word of which it does not know a letter
        np.testing.assert_allclose(embedded(any_db, text), twin.embed(text), atol=1e-5)


def test_a_unigram_model_tells_ways_apart_that_are_nearly_as_likely(
    db: Connection, tmp_path: Path
) -> None:
    made = train("unigram", PROSE, tmp_path / "near")
    file = made.folder / "tokenizer.json"
    said = json.loads(file.read_text())
    likely = {"[UNK]": 0.0, "\u2581": -3.0, "r": -2.0003, "est": -4.0003}
    likely |= {"re": -3.0001, "st": -3.0001, "e": -9.0, "s": -9.0, "t": -9.0}
    others = len(said["model"]["vocab"]) - len(likely)
    said["model"]["vocab"] = [*likely.items(), *((f"zz{n}", -50.0) for n in range(others))]
    file.write_text(json.dumps(said))
    twin = Twin(made.folder / "model.safetensors", file, "embeddings")
    assert twin.tokenizer.encode("restrest").tokens == ["\u2581", "re", "st", "re", "st"]
    static.load(Database(db), "small", str(made.folder))
    np.testing.assert_allclose(embedded(db, "restrest"), twin.embed("restrest"), atol=1e-5)


def test_digits_are_split_where_no_longer_piece_has_one(any_db: Connection, twin: Twin) -> None:
    static.load(Database(any_db), "small", str(twin.folder))
    joined = any(len(p) > 1 and re.search("[0-9]", p) for p in twin.number_of)
    row = any_db.execute("select splits_digits from ragdb.static_models").fetchone()
    assert row == (not joined,)
    assert joined == (twin.folder.name != "digits")


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDETäöüßéñ0123456789 .,-_/()'\n檢索数据базаданныхἀρχή"


@settings(max_examples=150)
@given(st.lists(st.text(LETTERS, max_size=120), min_size=1, max_size=4))
def test_made_up_texts_embed_as_the_twin_embeds_them(
    loaded_once: Connection, small_twin: Twin, texts: list[str]
) -> None:
    for text in texts:
        np.testing.assert_allclose(embedded(loaded_once, text), small_twin.embed(text), atol=1e-5)


@pytest.mark.nightly
def test_ten_thousand_texts_of_all_kinds_embed_as_the_twin_embeds_them(db: Connection) -> None:
    static.load(Database(db))
    folder = _folder(PACKAGE)
    twin = Twin(
        folder / "weights/l2_supercat_256.safetensors",
        folder / "tokenizers/l2_supercat_tokenizer_config.json",
        "embedding.weight",
    )
    chance = random.Random(7)
    # what every Unicode since knows: our classes are those of 15.0, Python's differ by its version
    old = unicodedata.ucd_3_2_0
    known = [c for c in map(chr, range(1, 0x2FA1E)) if old.category(c) not in ("Cs", "Cn")]
    common = [c for c in known if ord(c) < 0x3000]
    texts = list(itertools.islice(prose(), 7000))
    while len(texts) < 10_000:
        letters = chance.choice((known, common, [*map(chr, range(32, 127))]))
        texts.append("".join(chance.choices([*letters, " "], k=chance.randrange(1, 300))))
    for at in range(0, len(texts), 200):
        some = texts[at : at + 200]
        found = db.execute(
            "select ragdb.embed(t) from unnest(%s::text[]) with ordinality u (t, n) order by n",
            (some,),
        ).fetchall()
        for text, (numbers,) in zip(some, found, strict=True):
            np.testing.assert_allclose(numbers, twin.embed(text), atol=1e-5, err_msg=ascii(text))


def prose() -> Iterator[str]:
    """Texts of eight collections in four languages, one of each in turn."""
    shared = Path(os.environ.get("RAGDB_SHARED", ROOT.parent / "shared")) / "data"
    files = sorted(f for f in shared.glob("**/corpus.jsonl*") if f.stat().st_size < 50_000_000)
    if not files:
        pytest.skip(f"no collections in {shared}")
    for records in itertools.zip_longest(*map(lines, files)):
        yield from (json.loads(r)["text"].replace("\0", "") for r in records if r)


def lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as rows:
        yield from rows


@settings(max_examples=150)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=400))
def test_whatever_the_text_its_embedding_has_length_one(loaded_once: Connection, text: str) -> None:
    found = embedded(loaded_once, text)
    assert found.shape == (16,)
    assert math.isclose(float(found @ found), 1, abs_tol=2**-10)  # as far as halves go


def test_the_order_of_words_changes_no_digit(loaded: Database) -> None:
    words = " ".join(PROSE).split()[:400]
    row = loaded.connection.execute(
        "select ragdb.embed(%s) = ragdb.embed(%s)", (" ".join(words), " ".join(reversed(words)))
    ).fetchone()
    assert row == (True,)


@pytest.mark.parametrize(
    ("made", "scans"),
    [
        ("sums_of_texts(null, array['a text'])", {"unnest", "word_pieces"}),
        ("found_words(null, 'a text')", {"unnest"}),
        ("with_cut_words(null, null, array['a', 'text'], array[8, 8])", {"m", "word_pieces"}),
    ],
)
def test_a_text_is_embedded_by_statements_that_are_planned_once(
    any_db: Connection, made: str, scans: set[str]
) -> None:
    """What is not a part of them is planned at each call before PostgreSQL 18."""
    plan = any_db.execute(f"explain (costs off) select * from ragdb_internal.{made}").fetchall()
    named = (re.search(r"Function Scan on (\w+)", line) for (line,) in plan)
    assert {scan[1] for scan in named if scan} == scans


def test_words_that_were_kept_embed_as_words_that_were_not(loaded: Database) -> None:
    text = "Reproducibility of unforeseeable internationalizations"
    before = loaded.embed(text)
    loaded.create_corpus("docs")
    loaded.put_text("docs", "a", text)
    kept = loaded.connection.execute("select count(*) from ragdb.static_words").fetchone()
    assert kept is not None
    assert kept[0] > 0
    assert loaded.embed(text) == before


def test_words_are_kept_without_a_look_for_their_embedder_and_go_with_it(loaded: Database) -> None:
    db = loaded.connection
    loaded.create_corpus("docs")
    loaded.put_text("docs", "a", "Reproducibility of unforeseeable internationalizations")
    keys = (
        "select conname from pg_constraint"
        " where conrelid = 'ragdb.static_words'::regclass and contype = 'f'"
    )
    assert db.execute(keys).fetchall() == []
    with pytest.raises(psycopg.errors.ForeignKeyViolation), db.transaction():
        db.execute("delete from ragdb.embedders")
    loaded.drop_corpus("docs")
    assert db.execute("select exists (select from ragdb.static_words)").fetchone() == (True,)
    db.execute("delete from ragdb.embedders")
    assert db.execute("select exists (select from ragdb.static_words)").fetchone() == (False,)


@pytest.mark.parametrize(("word", "is_kept"), [("aaaa", True), ("aaaaa", False), ("zzz", True)])
def test_a_vector_that_half_precision_holds_is_kept(
    db: Connection, word: str, is_kept: bool
) -> None:
    door = Database(db)
    door.create_embedder("small", 2)
    door.put_static_pieces("small", ["", "a", " b"], [0, 1, 2], [1.0, 1.0, 511.0, -510.0, 1.0, 0.0])
    [[digest]] = db.execute(
        "select ragdb_internal.pieces_digest(max(embedder_id)) from ragdb.embedders"
    )
    door.bind_static("small", "bpe", "none", digest)
    door.set_default_embedder("small")
    door.create_corpus("docs")
    letters = word.count("a")
    expected = np.array([511 * letters + 1, -510 * letters])
    for _ in range(2):
        found = embedded(db, f"b {word}")
        np.testing.assert_allclose(found, Twin.unit(expected), atol=1e-7)
        door.put_text("docs", "a", f"b {word}")
        kept = db.execute("select word from ragdb.static_words").fetchall()
        assert kept == ([(word,)] if is_kept else [])


def test_pieces_that_are_only_the_empty_one_make_every_text_alike(db: Connection) -> None:
    door = Database(db)
    door.create_embedder("small", 2)
    door.put_static_pieces("small", [""], [0], [3.0, 4.0])
    [[digest]] = db.execute(
        "select ragdb_internal.pieces_digest(max(embedder_id)) from ragdb.embedders"
    )
    door.bind_static("small", "bpe", "none", digest)
    for text in ("", "a", "two words"):
        np.testing.assert_allclose(door.embed(text, "small"), [0.6, 0.8], atol=1e-3)


def test_no_text_no_model_and_no_static_model_are_errors(db: Connection) -> None:
    door = Database(db)
    for arguments, error in (
        ((None, None), InvalidArgument),
        (("text", None), EmbedderNotFound),
        (("text", "nobody"), EmbedderNotFound),
    ):
        with pytest.raises(error), db.transaction():
            door.embed(*arguments)
    door.create_embedder("other", 3)
    for call in (lambda: door.embed("text", "other"), lambda: door.set_default_embedder("other")):
        with pytest.raises(EmbedderNotFound, match="does not run inside"), db.transaction():
            call()


def test_pieces_that_are_not_those_of_the_digest_are_not_bound(
    db: Connection, bpe_folder: Path
) -> None:
    model = read(str(bpe_folder))
    door = Database(db)
    door.create_embedder("small", model.dims)
    pieces, ranks, numbers = model.pieces, model.ranks, model.vectors
    door.put_static_pieces("small", pieces[:-1], ranks[:-1], Reals(numbers[:-1]))
    with pytest.raises(EmbedderMismatch, match="not those of the digest"), db.transaction():
        door.bind_static("small", model.tokenizer, model.folding, model.digest)
    with pytest.raises(AlreadyExists), db.transaction():
        door.put_static_pieces("small", pieces[:1], ranks[:1], Reals(numbers[:1]))
    door.put_static_pieces("small", pieces[-1:], ranks[-1:], Reals(numbers[-1:]))
    assert door.bind_static("small", model.tokenizer, model.folding, model.digest)
    with pytest.raises(AlreadyExists), db.transaction():
        door.put_static_pieces("small", ["zz"], [1], Reals(numbers[:1]))
    with pytest.raises(AlreadyExists):
        door.bind_embedder("small", "hash", "hash-v1")


@pytest.mark.parametrize(
    ("pieces", "ranks", "numbers"),
    [
        (["a"], [1], [1, 2]),
        (["a"], [1], [math.nan] * 16),
        (["a"], [1], [math.inf] * 16),
        (["a"], [1], [1.0] * 15 + [512.0]),
        (["a"], [1], [-1e9] + [1.0] * 15),
        (["a"], [], [1] * 16),
        ([None], [1], [1] * 16),
        (["a"], [None], [1] * 16),
        (["a"], [1], [None] * 16),
    ],
)
def test_a_piece_that_is_not_one_is_refused(
    db: Connection, pieces: list[Any], ranks: list[Any], numbers: list[Any]
) -> None:
    door = Database(db)
    door.create_embedder("small", 16)
    with pytest.raises(InvalidEmbedding, match="not as they must be"):
        door.put_static_pieces("small", pieces, ranks, numbers)


@pytest.mark.parametrize("number", [0.5, -510.75, 1e-3])
def test_numbers_that_are_not_whole_are_not_bound(db: Connection, number: float) -> None:
    door = Database(db)
    door.create_embedder("small", 16)

    def bind() -> None:
        [[digest]] = db.execute(
            "select ragdb_internal.pieces_digest(max(embedder_id)) from ragdb.embedders"
        )
        door.bind_static("small", "bpe", "none", digest)

    door.put_static_pieces("small", [""], [0], [1.0] * 16)
    door.put_static_pieces("small", ["a"], [1], [511.0, -511.0, 3.0, 0.0] * 4)
    door.put_static_pieces("small", ["b"], [1], [1.0] * 15 + [number])
    with pytest.raises(InvalidEmbedding, match="not as they must be"), db.transaction():
        bind()
    db.execute("delete from ragdb.static_pieces where piece = 'b'")
    bind()


def test_files_that_do_not_fit_are_refused_in_words(tmp_path: Path, bpe_folder: Path) -> None:
    def folder(name: str, weights: bytes | None, tokenizer: str | None) -> str:
        made = tmp_path / name
        made.mkdir()
        if weights is not None:
            (made / "model.safetensors").write_bytes(weights)
        if tokenizer is not None:
            (made / "tokenizer.json").write_text(tokenizer)
        return str(made)

    weights = (bpe_folder / "model.safetensors").read_bytes()
    tokenizer = (bpe_folder / "tokenizer.json").read_text()
    level = json.dumps({**json.loads(tokenizer), "model": {"type": "WordLevel", "vocab": {}}})
    for source, error, words in (
        ("no/such/folder", EmbedderNotFound, "neither a folder nor"),
        (folder("empty", None, None), EmbedderNotFound, "has no model.safetensors"),
        (folder("half", weights, None), EmbedderNotFound, "has no tokenizer.json"),
        (folder("junk", b"junk", tokenizer), EmbedderMismatch, "not a safetensors file"),
        (folder("cut", weights[:300], tokenizer), EmbedderMismatch, "not a safetensors file"),
        (folder("other", weights, "{}"), EmbedderMismatch, "not the description"),
        (folder("level", weights, level), EmbedderMismatch, "type WordLevel"),
    ):
        with pytest.raises(error, match=words):
            read(source)
