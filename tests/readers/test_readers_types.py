"""Each type of file is read for what it says, and a hostile one of each is refused."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter  # type: ignore[import-untyped]

from ragdb.ingest import reading
from ragdb.ingest.payload import to_payload
from ragdb.ingest.source import Source
from ragdb.readers import formats, sandbox
from ragdb.readers.document import ReadError
from ragdb.readers.read import read
from tests.readers.made_files import (
    EML,
    FILES,
    MBOX,
    RST,
    epub,
    odt,
    parametrized,
    pptx,
    xlsx,
    zipped,
)

PDF = Path(__file__).parent.parent / "data" / "sample.pdf"


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_for_what_it_says(name: str) -> None:
    data, said = FILES[name]
    [document] = read(data, name)
    for words in said:
        assert words in document.text
    assert document.data == data
    assert "\f" not in document.text
    assert all(0 <= offset < len(document.text) for offset, _ in document.headings)


def test_twenty_types_have_a_reader_of_their_own() -> None:
    assert len(formats.FORMATS) >= 20
    assert len(formats.BY_ENDING) > 120
    # an ending, or a media type, is that of one format
    assert len(formats.BY_ENDING) == sum(len(f.endings) for f in formats.FORMATS.values())


@pytest.mark.parametrize(
    ("name", "title", "language"),
    [("a.rst", "Saws", None), ("a.adoc", "Saws", None), ("a.mdx", "On saws", None),
     ("a.rtf", "On saws", None), ("a.eml", "Sägen", None), ("a.pptx", "The plan", None),
     ("a.odt", "On saws", "en"), ("a.epub", "Tools", "en"), ("a.ipynb", "Saws", None),
     ("a.json", "Tools", None), ("a.xml", "Tools", None)],
)  # fmt: skip
def test_the_title_is_what_the_file_says(name: str, title: str, language: str | None) -> None:
    [document] = read(FILES[name][0], name)
    assert document.title == title
    assert language is None or document.language == language


def test_headings_stand_where_they_are_in_the_text() -> None:
    for name, path in (
        ("a.rst", ("Saws", "Drills")),
        ("a.adoc", ("Saws", "Sharp ones")),
        ("a.xlsx", ("Notes",)),
        ("a.epub", ("Drills",)),
        ("a.yaml", ("saw",)),
        ("a.json", ("rows",)),
        ("a.xml", ("Tools", "Saws")),
        ("a.pptx", ("Prices",)),
    ):
        [document] = read(FILES[name][0], name)
        offset, found = document.headings[-1]
        assert found == path
        assert document.text[offset:].lstrip("# ").startswith(path[-1])


def test_links_of_rst_and_mail_and_odt_are_kept() -> None:
    assert [target for _, target in read(RST, "a.rst")[0].links] == ["https://e.org/"]
    [document] = read(odt(), "a.odt")
    assert [target for _, target in document.links] == ["https://e.org/"]


def test_a_slide_is_a_page() -> None:
    [document] = read(pptx(), "a.pptx")
    chunks = to_payload(document, "a.pptx")["chunks"]
    assert [(c["page"], c["heading"]) for c in chunks] == [(1, ("Plan",)), (2, ("Prices",))]


def test_mail_says_who_and_when_as_metadata() -> None:
    [document] = read(EML, "a.eml")
    assert document.metadata == {
        "from": "Ann <ann@e.org>", "to": "Bob <bob@e.org>", "date": "2026-01-05T10:00:00+01:00",
        "attachments": ["saw.png"],
    }  # fmt: skip


def test_odt_keeps_what_is_in_text_boxes_and_a_note_in_its_sentence() -> None:
    """LibreOffice writes the caption of a picture in a text box."""
    body = (
        "<text:p>A saw<text:note><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>Of 2020.</text:p><text:p>Or so.</text:p></text:note-body></text:note> cuts."
        '</text:p><text:p><draw:frame xmlns:draw="urn:draw">'
        "<draw:text-box><text:p>Picture 1: a saw</text:p></draw:text-box>"
        "<draw:image><text:p>of the picture</text:p></draw:image>"
        '<svg:title xmlns:svg="urn:svg">saw.png</svg:title></draw:frame></text:p>'
    )
    [document] = read(odt(body), "a.odt")
    assert document.text.strip() == "A saw (Of 2020. Or so.) cuts.\n\nPicture 1: a saw"


def test_a_forwarded_message_says_who_wrote_it() -> None:
    inner = b"From: Bob <b@e.org>\r\nSubject: Saws\r\nX-No: 1\r\n\r\nThey are sharp.\r\n"
    outer = (
        b"From: Ann <a@e.org>\r\nSubject: Fwd\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
    )
    parts = (
        b"--x\r\n\r\nSee below.\r\n--x\r\nContent-Type: message/rfc822\r\n\r\n" + inner + b"--x--"
    )
    [document] = read(outer + parts, "a.eml")
    assert document.text == (
        "From: Ann <a@e.org>\nSubject: Fwd\n\nSee below.\n\n"
        "From: Bob <b@e.org>\nSubject: Saws\n\nThey are sharp."
    )
    assert (document.title, document.metadata) == ("Fwd", {"from": "Ann <a@e.org>"})


def test_html_in_a_feed_is_read_as_html() -> None:
    feed = (
        "<rss><channel><title>Tools</title><item><title>Saws</title><description>&lt;p&gt;They are "
        '&lt;a href="a"&gt;sharp&lt;/a&gt; &amp;amp; long.&lt;/p&gt;</description><category>a &lt;b'
        "</category></item></channel></rss>"
    )
    [document] = read(feed.encode(), "a.rss")
    assert document.text.endswith("### Saws\n\nThey are [sharp](a) & long.\n\ncategory: a <b")
    assert document.links == ((document.text.index("[sharp]"), "a"),)


def test_an_entry_of_a_feed_that_cannot_be_read_as_html_is_text() -> None:
    deep = "&lt;div&gt;" * 5000 + "Saws" + "&lt;/div&gt;" * 5000
    feed = f"<rss><description>{deep}</description><item>Drills</item></rss>"
    [document] = read(feed.encode(), "a.rss")
    assert "Saws" in document.text
    assert "Drills" in document.text


def test_a_message_of_an_mbox_is_a_document() -> None:
    one, two = read(MBOX, "a.mbox")
    assert (one.fragment, one.title) == ("1@e.org", "Saw")
    assert two.text.endswith("The drill.\nFrom here.")
    # the same message has the same name wherever it stands
    assert {d.fragment for d in read(MBOX + b"\n" + MBOX, "a.mbox")} == {one.fragment, two.fragment}


def test_each_row_of_a_large_table_has_the_names_of_its_columns() -> None:
    data = "name,city\n" + "".join(f"person {n},city {n}\n" for n in range(2_000))
    [document] = read(data.encode(), "a.csv")
    chunks = to_payload(document, "a.csv")["chunks"]
    assert len(chunks) > 20
    assert all(c["text"].startswith("name: ") and "city: " in c["text"] for c in chunks)


PROSE = (
    "As shown here, it does this:\n - drops the table, if any;\n - makes it, and fills it.",
    "Alter, Geschlecht und Land, wie z.B. Frankreich, sind bekannt; der Rest nicht.",
    '{"saw": "sharp", "drill": "loud", "price": [1, 2, 3]}',
    "a 'b', 'c', \"d\", 'e' | f",
    "1,50",
)


@pytest.mark.parametrize("says", PROSE)
@pytest.mark.parametrize("delimiter", ",;\t|")
def test_the_cells_of_a_csv_file_are_those_that_were_written(delimiter: str, says: str) -> None:
    written = io.StringIO()
    table = csv.writer(written, delimiter=delimiter)
    table.writerows([["id", "note"], *([n, f"{n} {says}"] for n in range(200))])
    [document] = read(written.getvalue().encode(), "a.csv")
    assert document.text.split("\n\n") == [f"id: {n}\nnote: {n} {says}" for n in range(200)]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("Land,2023,2024", "Peru,5,6", "Land: Peru\n2023: 5\n2024: 6"),
        ("Land,1999,2000,2001", "Peru,1990,,1992", "Land: Peru\n1999: 1990\n2001: 1992"),
        (",2020,2010", "Peru,5,2011", "column 1: Peru\n2020: 5\n2010: 2011"),
        ("Month,1,2,3", "Rain,9,8,7", "Month: Rain\n1: 9\n2: 8\n3: 7"),
        ("0,1,2", "Ann,7,8", "0: Ann\n1: 7\n2: 8"),
        ("Ann,1984,2001", "Bob,1985,2003", None),
        ("Ann,2001", "Bob,2001", None),
        ("saw,12,3", "drill,20,4", None),
        ("saw,1,2", "drill,1,1", None),
        ("Apples,1500", "Pears,300", None),
        ("saw,3,4,5", "drill,1,2,2", None),
        ("1,2,3", "4,5,6", None),
        ("Rome,1950,1600,1700", "Oslo,900,20,5", None),
    ],
)
def test_years_and_counts_above_a_table_name_its_columns(
    first: str, second: str, text: str | None
) -> None:
    """A first row with other numbers is data: its columns have no names."""
    [document] = read(f"{first}\n{second}\n".encode(), "a.csv")
    one, *rest = document.text.split("\n\n")
    assert (one == text and not rest) if text else one.startswith("column 1: ")


def test_the_first_line_of_a_csv_file_may_name_what_parts_its_cells() -> None:
    [document] = read(b"\xef\xbb\xbfsep=;\r\nid;price,note\r\n1;2,3\r\n", "a.csv")
    assert document.text == "id: 1\nprice,note: 2,3"


def test_each_part_of_a_large_table_in_a_page_has_its_header() -> None:
    rows = "".join(f"<tr><td>person {n}</td><td>city {n}</td></tr>" for n in range(500))
    page = f"<table><tr><th>Name</th><th>City</th></tr>{rows}</table>"
    [document] = read(page.encode(), "a.html")
    chunks = to_payload(document, "a.html")["chunks"]
    assert len(chunks) > 10
    assert all("Name" in c["text"] and "City" in c["text"] for c in chunks)
    assert document.text.count("person ") == 500


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_ask", lambda request, data, told: ("missing", b"pptx", True))
    with pytest.raises(ReadError) as raised:
        read(pptx(), "a.pptx")
    assert raised.value.code == "missing_extra"
    assert raised.value.hint == "pip install 'ragdb-postgres[office]'"


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.txt", PDF.read_bytes(), formats.media_type("pdf")),
        ("a.csv", xlsx(), formats.media_type("sheet")),
        ("a.xlsx", pptx(), formats.media_type("pptx")),
        ("a.doc", odt(), formats.media_type("odt")),
        ("a.txt", epub(), formats.media_type("epub")),
        ("a.doc", FILES["a.rtf"][0], "application/rtf"),
    ],
)
def test_contents_win_over_a_false_name(name: str, data: bytes, media_type: str) -> None:
    [document] = read(data, name)
    assert document.media_type == media_type


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.xlsx", b"no archive", "corrupt"),
        ("a.xlsx", zipped({"xl/workbook.xml": "<x/>"}), "corrupt"),
        ("a.pptx", zipped({"ppt/presentation.xml": "<x/>"}), "corrupt"),
        ("a.pptx", b"text", "corrupt"),
        ("a.odt", zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "corrupt"),
        ("a.epub", zipped({"mimetype": "application/epub+zip"}), "corrupt"),
        ("a.epub", b"text", "corrupt"),
        ("a.rtf", b"text", "corrupt"),
        ("a.eml", b"no header\n\nbody", "malformed"),
        ("a.mbox", b"no message", "malformed"),
        ("a.ipynb", b"[]", "malformed"),
        ("a.xml", b"<a><b></a>", "malformed"),
        ("a.json", b"{'a': 1}", "malformed"),
        ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "binary"),
        ("a.md.gz", gzip.compress(b"x" * 999, mtime=0)[:-9], "corrupt"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "corrupt"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "encrypted"),
    ],
)
def test_a_damaged_or_mislabelled_file_says_why(name: str, data: bytes, code: str) -> None:
    with pytest.raises(ReadError) as raised:
        read(data, name)
    assert raised.value.code == code
    assert raised.value.hint


def sparse() -> bytes:
    """A sheet with two cells as far from each other as cells can be."""
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed, {"in_memory": True})
    sheet = book.add_worksheet()
    sheet.write(0, 0, "a")
    sheet.write(1_048_575, 16_383, "b")
    book.close()
    return packed.getvalue()


def entities(times: int = 10) -> bytes:
    names = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, times))
    return f'<!DOCTYPE x [<!ENTITY e0 "aaaaaaaaaa">{names}]><x>&e{times - 1};</x>'.encode()


EXTERNAL = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'
BOMB = b" " * 70_000_000
HOSTILE: dict[str, tuple[Callable[[], bytes], str, set[str]]] = {
    "xlsx bomb": (lambda: zipped({"xl/workbook.xml": BOMB}), "a.xlsx", {"limits"}),
    "pptx bomb": (lambda: zipped({"ppt/presentation.xml": BOMB}), "a.pptx", {"limits"}),
    "odt bomb": (lambda: odt(BOMB.decode()), "a.odt", {"limits"}),
    "epub bomb": (lambda: epub(BOMB.decode()), "a.epub", {"limits"}),
    "many entries": (lambda: zipped({f"{n}.xml": "x" for n in range(10_001)}), "a.xlsx",
                     {"limits"}),
    "sparse sheet": (sparse, "a.xlsx", {"limits", "corrupt", "read"}),
    "gzip bomb": (lambda: gzip.compress(b" " * 200_000_000), "a.csv.gz", {"limits", "too_large"}),
    "gzip in gzip": (lambda: gzip.compress(gzip.compress(b"x" * 99)), "a.md.gz.gz",
                     {"binary", "unknown_type"}),
    "XML entities": (entities, "a.xml", {"malformed"}),
    "XML that reads files": (lambda: EXTERNAL, "a.xml", {"malformed"}),
    "odt entities": (lambda: zipped({"mimetype": "application/vnd.oasis.opendocument.text",
                                     "content.xml": entities()}), "a.odt", {"malformed"}),
    "deep XML": (lambda: b"<a>" * 200_000 + b"</a>" * 200_000, "a.xml", {"malformed", "limits"}),
    "deep odt": (lambda: odt("<text:p>" * 10_000 + "</text:p>" * 10_000), "a.odt",
                 {"malformed", "limits"}),
    "many attributes": (lambda: b"<a " + b" ".join(b'a%d="x"' % n for n in range(100_000)) + b"/>",
                        "a.xml", {"read"}),
    "deep JSON": (lambda: b"[" * 200_000 + b"]" * 200_000, "a.json", {"malformed", "limits"}),
    "deep JSON that parses": (lambda: b"[" * 500 + b"1" + b"]" * 500, "a.json", {"malformed"}),
    "a huge number": (lambda: b"[" + b"9" * 100_000 + b"]", "a.json", {"malformed"}),
    "deep YAML": (lambda: b"[" * 100_000, "a.yaml", {"read", "limits"}),
    "YAML aliases": (lambda: b"a: &a [x, x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (n, n, b", ".join([b"*%c" % (n - 1)] * 9)) for n in range(98, 118)),
        "a.yaml", {"read"}),
    "deep notebook": (lambda: b'{"cells":' + b"[" * 100_000, "a.ipynb", {"malformed", "limits"}),
    "huge cell": (lambda: b'a,b\n"' + b"x" * 9_000_000, "a.csv", {"limits"}),
    "many columns": (lambda: b"a," * 1_000_000 + b"\n" + b"1," * 1_000_000, "a.csv", {"read"}),
    "deep RTF": (lambda: rb"{\rtf1 " + b"{" * 500_000, "a.rtf", {"read", "blank", "limits"}),
    "RTF bytes": (lambda: rb"{\rtf1 \bin99999999 x \u99999999 y}", "a.rtf",
                  {"read", "blank", "corrupt"}),
    "deep RST": (lambda: b"".join(b" " * n + b"* x\n\n" for n in range(0, 1_200, 2)), "a.rst",
                 {"read", "malformed", "limits"}),
    "RST that reads files": (lambda: b".. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/p"
                             b"asswd\n\n.. csv-table::\n   :file: /etc/passwd\n", "a.rst",
                             {"blank"}),
    "wide RST": (lambda: b"`" * 200_000, "a.rst", {"read", "blank", "limits"}),
    "RST substitutions": (lambda: b".. |a| replace:: |b| |b|\n.. |b| replace:: |a| |a|\n\n|a|\n",
                          "a.rst", {"read", "blank", "malformed"}),
    "deep mail": (lambda: b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n"
                  + b"--b\nContent-Type: multipart/mixed; boundary=b\n\n" * 20_000, "a.eml",
                  {"read", "limits", "malformed", "corrupt"}),
    "mail of mail": (lambda: b"Subject: x\n" + b"Content-Type: message/rfc822\n\n" * 20_000,
                     "a.eml", {"read", "limits", "corrupt"}),
    "MDX tags": (lambda: b"<A " * 200_000, "a.mdx", {"read", "blank"}),
    "MDX comments": (lambda: b"{/*" * 200_000, "a.mdx", {"read"}),
    "AsciiDoc lines": (lambda: b"[" * 2_000_000, "a.adoc", {"read", "limits"}),
    "AsciiDoc attributes": (lambda: b":a: " + b"x" * 9_999 + b"\n" + b"{a}" * 100_000, "a.adoc",
                            {"read", "limits"}),
    "table in a page": (lambda: b"<table>" + b"<tr><td>x|y</td></tr>" * 20_000, "a.html",
                        {"read"}),
}  # fmt: skip


LONG = {
    *("odt bomb", "epub bomb", "gzip bomb", "sparse sheet", "many columns", "deep RST"),
    "table in a page",
}


@pytest.mark.parametrize(("make", "name", "outcomes"), parametrized(HOSTILE, LONG))
def test_a_hostile_file_is_read_or_refused_in_time(
    make: Callable[[], bytes], name: str, outcomes: set[str]
) -> None:
    data = make()
    # a reader that takes longer than its bytes may cost of a processor is ended
    try:
        documents = read(data, name)
        outcome = "read"
    except ReadError as error:
        documents, outcome = [], error.code if error.reason and error.hint else ""
    assert outcome in outcomes
    assert all("root:" not in document.text for document in documents)
    assert read(b"# still here", "a.md")[0].title == "still here"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", b"# One\n\nIt has a [link](b.md).\n\n" * 500),
        ("a.html", b"<h1>One</h1><p>It has a <a href=b>link</a>.</p>" * 500),
        ("a.rst", b"It has a `link <b>`_.\n\n" * 500),
        ("a.pdf", PDF.read_bytes()),
    ],
)
def test_a_reader_tells_how_far_it_is(name: str, data: bytes) -> None:
    heard: list[float] = []
    [document] = read(data, name, tell=heard.append)
    assert len(heard) >= 2
    assert heard == sorted(set(heard))
    assert 0 < heard[0] <= heard[-1] <= 1
    # who does not ask is told nothing, and reads the same
    assert read(data, name) == [document]


def test_an_ingest_hears_how_far_a_large_file_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "TOLD", 1000)
    data = b"# One\n\nIt has a [link](b.md).\n\n" * 500
    (tmp_path / "a.md").write_bytes(data)
    heard: list[float] = []
    task = reading.Task(Source("a.md", tmp_path, "a.md", len(data)), {})
    assert reading.read(task, heard.append).documents
    parsing = [part for part in heard if reading.READ / 10 < part < reading.READ / 2]
    assert len(parsing) >= 20
    assert heard == sorted(heard)
