"""Each format is read from a small file in tests/data with known contents."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
from pathlib import Path

import pytest

from ragdb.ingest.payload import to_payload
from ragdb.readers import markdown
from ragdb.readers.document import Document, ReadError
from ragdb.readers.read import read, read_jsonl
from tests.readers.made_files import docx
from tools.make_examples import pdf

DATA = Path(__file__).parent.parent / "data"


def sample(name: str) -> Document:
    [document] = read((DATA / name).read_bytes(), name)
    return document


def after(document: Document, offset: int, length: int) -> str:
    return document.text[offset : offset + length]


def test_markdown_keeps_its_text_and_marks_headings_and_links_in_it() -> None:
    document = sample("sample.md")

    assert document.text.startswith("# Refunds {#refunds}\n\nA refund is paid within *five* days.")
    assert [(after(document, o, 6), path) for o, path in document.headings] == [
        ("# Refu", ("Refunds",)),
        ("## Lat", ("Refunds", "Late orders")),
        ("Setext", ("Refunds", "Setext heading")),
    ]
    assert [(after(document, o, 7), target) for o, target in document.links] == [
        ("[order]", "../orders/index.md#late"),
        ("<https:", "https://example.org/help?x=1"),
        ("[refund", "policy.md"),
        ("[terms]", "/terms.html"),
        ("<a href", "faq.md"),
    ]


def test_front_matter_describes_a_document_and_is_no_part_of_it() -> None:
    document = sample("sample.md")

    assert "owner" not in document.text
    assert (document.title, document.language, document.external_id) == (
        "Refund policy",
        "en",
        "refunds",
    )
    assert document.metadata == {"tags": ["billing", "refunds"], "owner": "finance"}


def test_the_first_h1_is_the_title_of_markdown_without_front_matter() -> None:
    [document] = read(b"intro\n\n## Two\n\n# One `x` *y*\n\n# Three\n", "a.md")

    assert document.title == "One x y"


def heading_of(document: Document, word: str) -> tuple[str, ...]:
    start = document.text.index(word)
    return document.heading_of(start, start + len(word))


def test_a_word_has_the_heading_path_above_it() -> None:
    document = sample("sample.md")

    assert heading_of(document, "terms") == ("Refunds", "Late orders")
    assert heading_of(document, "faq") == ("Refunds", "Setext heading")


def test_a_passage_has_the_deepest_heading_that_three_quarters_of_it_stand_under() -> None:
    [document] = read(
        b"before\n\n# All\n\nsome words\n\n## One\n\nshort\n\n## Two\n\na longer text\n", "a.md"
    )
    text = document.text
    one, two = text.index("## One"), text.index("## Two")

    assert document.heading_of(one, two) == ("All", "One")
    assert document.heading_of(two - 7, len(text)) == ("All", "Two")  # it begins with words of One
    assert document.heading_of(one, len(text)) == ("All",)
    assert document.heading_of(text.index("# All"), len(text)) == ("All",)
    assert document.heading_of(0, 7) == ()


@pytest.mark.parametrize(
    "front",
    ["---\n\nplain text after a rule\n\n---\n", "---\n- a\n- list\n---\n", "---\nno end: here\n"],
    ids=["text", "list", "open"],
)
def test_a_thematic_break_is_no_front_matter(front: str) -> None:
    [document] = read(f"{front}text\n".encode(), "a.md")

    assert document.text == f"{front}text\n"


def test_norwegian_is_no_boolean_and_a_date_is_text() -> None:
    [document] = read(b"---\nlanguage: no\ndate: 2026-02-01\ndraft: true\n---\nx\n", "a.md")

    assert document.language == "no"
    assert document.metadata == {"date": "2026-02-01", "draft": True}


def test_html_gives_what_a_reader_sees() -> None:
    document = sample("sample.html")

    assert document.title == "Rückgabe & Umtausch"
    assert document.language == "de"
    assert "**neu**" in document.text
    assert [path for _, path in document.headings] == [("Rückgabe",), ("Rückgabe", "Fristen")]
    assert [(after(document, o, 9), target) for o, target in document.links] == [
        ("[Fristen]", "fristen.html")
    ]
    for unseen in ("alert", "color", "unsichtbar", "base64"):
        assert unseen not in document.text


MARKS = [
    *"[]()!*_`\\<>&|\t\n ", "](u)", "](<u>)", "[a]", "![", "**", "``", "a", "b c", "[r][]",
    "[x][r]", '<a href="x">', "</a>", "<http://e.x>", "<b>", "  \n", "&lt;", '"t"', "<!--", "-->",
    "<a href=",
]  # fmt: skip


def test_links_are_those_that_the_whole_of_commonmark_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Marks that can neither be in a link nor keep one from being read are passed over."""
    draw = random.Random(7)
    texts = [
        "".join(draw.choices(MARKS, k=draw.randint(1, 40))) + "\n\n[r]: /ref 't'\n"
        for _ in range(2000)
    ]
    found = [markdown.parse(text).links for text in texts]
    monkeypatch.setattr(markdown, "_finder", markdown._parser)
    assert found == [markdown.parse(text).links for text in texts]
    assert sum(map(len, found)) > 2000


def test_html_keeps_what_a_form_and_a_header_enclose() -> None:
    """Some pages are one form; and what is above the first section may say what it is about."""
    page = (
        "<body><nav>Home</nav><header role=banner>Shop</header><div><header><h1>Saws</h1>"
        "<p>By Ann.</p></header><form><p>Sharp.</p><select><option>EUR</select></form></div>"
    )
    [document] = read(page.encode(), "a.html")
    assert document.text.split() == ["#", "Saws", "By", "Ann.", "Sharp."]
    assert document.headings == ((0, ("Saws",)),)


def test_html_leaves_out_the_menu_of_a_header() -> None:
    """As of the manual of Node.js, whose pages have a hundred links there."""
    links = "<li><a href=/a>A</a><ul><li><a href=/b>B</a></ul><li><a href=/c>C</a>"
    page = (
        f"<body><!-- <header> --><script>'<header>'</script><header><h1>Saws</h1><ul>{links}</ul>"
        f"<ol><li>By <a href=/ann>Ann</a></ol></header><ul>{links}</ul><article><header><ul>"
        f"{links.replace('A<', 'X<')}</ul></header><input list=a><datalist id=a><option>Red"
        "</datalist></article>"
    )
    [document] = read(page.encode(), "a.html")
    body = "- [A](/a)\n  * [B](/b)\n- [C](/c)"
    said = f"# Saws\n\n1. By [Ann](/ann)\n\n{body}\n\n{body.replace('[A]', '[X]')}"
    assert document.text.strip() == said


@pytest.mark.parametrize("sign", "¶#§\u200b")
def test_a_heading_is_read_without_the_link_to_itself(sign: str) -> None:
    link = f'<a class="headerlink" href="#saws-()" title="Link to this">{sign}</a>'
    page = f"<body><h1>Saws{link}</h1><p>See <a href='#x'>#</a> there.</p>"
    [document] = read(page.encode(), "a.html")
    assert document.text.strip() == "# Saws\n\nSee [#](#x) there."
    assert document.headings == ((0, ("Saws",)),)


def test_links_of_html_start_at_its_base() -> None:
    [document] = read(
        b'<html><head><base href="https://e.org/d/"></head><body><a href="a#b">x</a></body></html>',
        "a.html",
    )

    assert document.links == ((0, "https://e.org/d/a#b"),)


def test_a_base_that_is_no_address_leaves_links_as_they_are() -> None:
    [document] = read(b'<base href="http://["><body><a href="a">x</a></body>', "a.html")

    assert document.links == ((0, "a"),)


def test_docx_gives_headings_links_and_properties() -> None:
    document = sample("sample.docx")

    assert (document.title, document.language) == ("Employee & guest handbook", "en")
    assert heading_of(document, "Thirty") == ("Handbook", "Holidays")
    assert [target for _, target in document.links] == ["rules.md"]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ('<w:fldSimple w:instr="REF a"><w:r><w:t>Field</w:t></w:r></w:fldSimple>', "Field"),
        ('<w:bdo w:val="rtl"><w:r><w:t>שלום</w:t></w:r></w:bdo>', "שלום"),
        ('<w:dir w:val="rtl"><w:r><w:t>سلام</w:t></w:r></w:dir>', "سلام"),
        (
            "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>かん</w:t></w:r></w:rt>"
            "<w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r>",
            "漢",
        ),
        ("<w:r><w:t>a</w:t><w:cr/><w:t>b</w:t></w:r>", "a  \nb"),
        (
            "<m:oMathPara><m:oMath><m:r><m:t>p=</m:t></m:r><m:f><m:fPr><m:ctrlPr/></m:fPr><m:num>"
            "<m:r><m:rPr/><m:t>n</m:t></m:r></m:num><m:den><m:r><m:t>N</m:t></m:r></m:den></m:f>"
            "</m:oMath></m:oMathPara>",
            "p=n/N",
        ),
    ],
)
def test_docx_keeps_fields_formulas_and_what_has_a_direction(written: str, text: str) -> None:
    [document] = read(docx(f"<w:p>{written}</w:p>"), "a.docx")
    assert document.text.strip() == text


def test_pdf_text_knows_its_pages() -> None:
    document = sample("sample.pdf")

    assert document.title == "Shipping guide"
    assert document.page_at(document.text.index("arrive")) == 1
    assert document.page_at(document.text.index("Returns")) == 3
    (first, last) = document.text.split("\n\n\n\n")
    assert document.pages == ((0, 1), (len(first) + 2, 2), (len(first) + 4, 3))
    assert last.startswith("Returns")
    assert document.pages_without_text == 1


def test_a_hyphen_at_a_line_end_stays_where_it_is_part_of_the_word() -> None:
    """By how the document writes the word elsewhere; else by the letters around it."""
    words = (
        "non-existing ASN encapsulates up-to-date it, and non- existing, in CMAC- 64, and --no- "
        "blobs, ChaCha- Poly, EU- Rat, encap- sulates, gen- erates, SE- QUENCE, up- to-date."
    )
    pages = [("Words", words.replace("- ", "-\n\n")), ("More", "To re-\n\nturn")]
    [document] = read(pdf(pages, "Hyphens"), "a.pdf")
    said = " ".join(document.text.split())
    assert said == (
        "Words non-existing ASN encapsulates up-to-date it, and non-existing, in CMAC-64, and "
        "--no-blobs, ChaCha-Poly, EU-Rat, encapsulates, generates, SEQUENCE, up-to-date. More To "
        "return"
    )
    assert [page for _, page in document.pages] == [1, 2]
    assert document.text[document.pages[1][0] :].startswith("More")


def test_rst_titles_are_known_by_their_lines() -> None:
    document = sample("sample.rst")

    assert document.title == "Manual"
    assert [path for _, path in document.headings] == [
        ("Manual",),
        ("Manual", "Install"),
        ("Manual", "Install", "Windows"),
        ("Manual", "Use"),
    ]
    assert [target for _, target in document.links] == ["https://example.org/a"]


def test_a_document_is_named_by_the_hash_of_its_bytes() -> None:
    data = (DATA / "sample.md").read_bytes()

    assert sample("sample.md").cid == "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", ["readme", "README.md", "-", "a.txt"])
def test_line_ends_of_another_system_change_no_offset(name: str) -> None:
    unix = b"# A\n\none\ntwo [x](y)\n"

    [a] = read(unix, name)
    [b] = read(unix.replace(b"\n", b"\r\n"), name)

    assert (a.text, a.headings, a.links) == (b.text, b.headings, b.links)
    assert a.cid != b.cid


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252"],
)
def test_text_is_decoded_whatever_its_encoding(encoding: str) -> None:
    text = "Der Käufer prüft die Ware und zahlt später – größere Beträge auch früher.\n" * 20
    if encoding == "latin-1":
        text = text.replace("–", "-")

    [document] = read(text.encode(encoding), "a.txt")

    assert (document.text, document.replaced) == (text, 0)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "El niño comió piñas en la montaña."),
        ("cp1252", "Ça va déjà très bien à l’hôtel, répondit-il."),
        ("cp1252", "The naïve café serves crème brûlée."),
        ("cp1252", "Não há informações sobre a instalação."),
        ("cp1252", "De coördinator heeft geen ideeën."),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy."),
        ("iso8859_2", "Zażółć gęślą jaźń, a w Łodzi też."),
        ("cp1254", "Dağın eteğinde küçük bir köy vardı, İstanbul uzaktı."),
        ("cp1257", "Šiandien ąžuolas žaliuoja, rytoj šaknys džius."),
        ("iso8859_2", "Všetci ľudia sa rodia slobodní a sebe rovní, čo sa týka dôstojnosti."),
        ("iso8859_4", "Visi cilvēki piedzimst brīvi un vienlīdzīgi savā pašcieņā un tiesībās."),
        ("koi8_r", "Привет мир, это письмо о кошках."),
        ("cp850", "Der Käufer prüft die Ware; größere Beträge zahlt er früher."),
        ("cp850", "El niño comió piñas en la montaña, según él."),
        ("cp850", "Ça va déjà très bien à l'hôtel, répondit-elle."),
        ("mac_roman", "Der Käufer prüft die Ware – größere Beträge zahlt er früher."),
        ("mac_roman", "Ça va déjà très bien à l’hôtel, répondit-il."),
        ("mac_roman", "Não há informações sobre a instalação."),
    ],
)
def test_a_short_text_of_before_utf8_is_read_in_its_letters(encoding: str, text: str) -> None:
    [document] = read(text.encode(encoding), "a.txt")

    assert (document.text, document.replaced) == (text, 0)


def test_html_may_declare_its_encoding() -> None:
    html = '<html><head><meta charset="koi8-r"></head><body>Привет, мир</body></html>'

    [document] = read(html.encode("koi8-r"), "a.html")

    assert document.text.strip() == "Привет, мир"


def test_what_the_caller_says_wins() -> None:
    [document] = read(
        (DATA / "sample.md").read_bytes(),
        "sample.md",
        title="Mine",
        language="fr-CA",
        metadata={"owner": "me", "new": 1},
    )

    assert (document.title, document.language) == ("Mine", "fr")
    assert document.metadata == {"tags": ["billing", "refunds"], "owner": "me", "new": 1}


@pytest.mark.parametrize(
    ("name", "media_type", "read_as"),
    [
        ("a.html", None, "text/html"),
        ("page", "text/html; charset=utf-8", "text/html"),
        ("a.md", "text/plain", "text/markdown"),
        ("a.md", "application/octet-stream", "text/markdown"),
        ("index.php", "text/html", "text/html"),
    ],
)
def test_the_type_is_that_of_the_server_then_of_the_name(
    name: str, media_type: str | None, read_as: str
) -> None:
    [document] = read(b"<html><body>text</body></html>", name, media_type)

    assert document.media_type == read_as


# ── JSONL ───────────────────────────────────────────────────────────────────────────────────────


def lines(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_a_line_of_jsonl_is_a_document() -> None:
    data = lines(
        {"_id": "d1", "title": "One", "text": "first", "url": "u", "metadata": {"k": 1}},
        {"id": 7, "text": "second"},
        {"text": "third"},
    )

    documents = read(data, "corpus.jsonl")

    assert [(d.external_id, d.fragment, d.title, d.text) for d in documents] == [
        ("d1", "d1", "One", "first"),
        ("7", "7", None, "second"),
        (None, "line-3", None, "third"),
    ]
    assert documents[0].metadata == {"url": "u", "k": 1}
    first = data.split(b"\n")[0]
    assert documents[0].cid == "sha256:" + hashlib.sha256(first).hexdigest()


def test_jsonl_may_be_gzipped_and_have_a_mark_returns_and_blank_lines() -> None:
    data = b"\xef\xbb\xbf" + lines({"_id": "a", "text": "x"}).replace(b"\n", b"\r\n\n")
    joined = gzip.compress(data) + gzip.compress(lines({"_id": "b", "text": "y"}))

    documents = read(joined, "corpus.jsonl.gz")

    assert [(d.fragment, d.text) for d in documents] == [("a", "x"), ("b", "y")]


def test_an_empty_record_is_a_document_without_text() -> None:
    [document] = read(lines({"_id": "471", "title": "", "text": " "}), "c.jsonl")

    assert document.is_empty


def test_an_escaped_lone_surrogate_and_nul_become_replacement_characters() -> None:
    data = b'{"_id": "a", "text": "x\\ud800y\\u0000z", "metadata": {"k\\u0000": "\\udfff"}}\n'

    [document] = read(data, "c.jsonl")

    assert (document.text, document.replaced) == ("x\ufffdy\ufffdz", 2)
    assert document.metadata == {"k\ufffd": "\ufffd"}


def test_a_pair_of_escaped_surrogates_is_one_character() -> None:
    [document] = read(b'{"text": "\\ud83d\\ude42"}', "c.jsonl")

    assert (document.text, document.replaced) == ("🙂", 0)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": "x"', "not JSON"),
        (b"[1]", "is not an object"),
        (b'{"text": 5}', '"text" is not a string'),
        (b'{"text": "x", "n": NaN}', "NaN is not JSON"),
        (b'{"text": "x", "text": "y"}', 'the key "text" stands twice'),
        (b'{"text": "\xff"}', "not UTF-8"),
        (b'{"text": "x", "metadata": [1]}', "metadata is not an object"),
        (b'{"_id": "ok", "text": "other"}', 'the id "ok" has been used'),
        (b'{"text":' + b"[" * 100_000, "not JSON (it nests too deep)"),
        (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "nests deeper"),
    ],
)  # fmt: skip
def test_a_malformed_line_is_named(line: bytes, reason: str) -> None:
    data = b'{"_id": "ok", "text": "fine"}\n' + line + b"\n"

    with pytest.raises(ReadError, match="line 2: ") as raised:
        read(data, "c.jsonl")

    assert raised.value.code == "malformed"
    assert reason in raised.value.reason


def test_a_line_repeated_exactly_is_read_once() -> None:
    line = lines({"_id": "a", "text": "x"})

    assert len(read(line * 3, "c.jsonl")) == 1


def test_a_line_over_the_limit_is_named() -> None:
    data = lines({"_id": "a", "text": "x"}) + b'{"text": "' + b"x" * 100
    with pytest.raises(ReadError, match="line 2 is over 64 bytes"):
        list(read_jsonl(io.BytesIO(data), max_line=64))


def test_jsonl_is_read_a_line_at_a_time() -> None:
    class Endless(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def read(self, size: int = -1, /) -> bytes:
            self.n = getattr(self, "n", 0) + 1
            return b'{"_id": "%d", "text": "x"}\n' % self.n

    stream = read_jsonl(Endless())  # type: ignore[arg-type]

    assert next(stream).text == "x"


# ── payload ─────────────────────────────────────────────────────────────────────────────────────


def test_a_payload_says_where_each_chunk_and_link_stands() -> None:
    document = sample("sample.md")

    payload = to_payload(document, "docs/sample.md", strategy="semantic")

    # the second begins with "Late orders" and goes on with a section beside it
    assert [c["heading"] for c in payload["chunks"]] == [("Refunds",), ("Refunds",)]
    assert all(document.text[c["start"] : c["end"]] == c["text"] for c in payload["chunks"])
    assert payload["links"][:2] == [
        {"chunk": 0, "target": "orders/index.md"},
        {"chunk": 0, "target": "https://example.org/help?x=1"},
    ]
    assert payload["doc_cid"] == document.cid
    assert json.loads(json.dumps(payload))["external_id"] == "refunds"


def test_chunks_of_a_pdf_have_pages() -> None:
    payload = to_payload(sample("sample.pdf"), "s.pdf", strategy="page")

    assert [(c["page"], c["text"][:7]) for c in payload["chunks"]] == [
        (1, "Parcels"),
        (3, "Returns"),
    ]
    assert payload["pages"] == 3


def test_a_record_is_named_by_its_file_and_id() -> None:
    [document] = read(lines({"_id": "d1", "text": "x"}), "c.jsonl")

    assert to_payload(document, "set/c.jsonl")["uri"] == "set/c.jsonl#d1"


@pytest.mark.parametrize("rest", [b"", b"\n", b'\n{"_id": "2", "text": "short"}\n'])
def test_a_line_over_the_limit_is_refused_wherever_it_ends(rest: bytes) -> None:
    data = b'{"_id": "1", "text": "%s"}' % (b"x" * 100)
    with pytest.raises(ReadError, match="line 1 is over 100 bytes"):
        list(read_jsonl(io.BytesIO(data + rest), max_line=100))
    assert len(list(read_jsonl(io.BytesIO(data + rest), max_line=200))) == 1 + (b"2" in rest)
