"""Small files of each type, made by other libraries or written out, with words to find in them."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Mapping, Set
from typing import Any

import pytest
import xlsxwriter  # type: ignore[import-untyped]
from _pytest.mark import ParameterSet
from pptx import Presentation
from pptx.util import Inches

_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def parametrized(cases: Mapping[str, tuple[Any, ...]], by_night: Set[str]) -> list[ParameterSet]:
    """The cases of a test, those that take long by night: there is one of their kind by day."""
    assert by_night <= cases.keys()
    return [
        pytest.param(*case, id=name, marks=[pytest.mark.nightly] if name in by_night else [])
        for name, case in cases.items()
    ]


def zipped(files: dict[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def pptx() -> bytes:
    deck = Presentation()
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Plan"
    first.placeholders[1].text_frame.text = "Buy a saw"
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Prices"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for n, text in enumerate(("Tool", "Price", "Saw", "twelve|13")):
        table.cell(n // 2, n % 2).text = text
    second.notes_slide.notes_text_frame.text = "Say it slowly"
    deck.core_properties.title = "The plan"
    packed = io.BytesIO()
    deck.save(packed)
    return packed.getvalue()


def xlsx() -> bytes:
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(packed, {"in_memory": True})
    sheet = book.add_worksheet("Prices")
    for number, row in enumerate(
        (["Report of May"], ["tool", "price", "on loan"], ["Saw", 12, True], ["Drill", 3.5, ""])
    ):
        sheet.write_row(number, 0, row)
    book.add_worksheet("Notes").write_row(0, 0, ["Only a note"])
    book.close()
    return packed.getvalue()


def docx(body: str) -> bytes:
    """A document with nothing but its body."""
    office = "http://schemas.openxmlformats.org"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{office}/package/2006/content-types"><Override '
            f'PartName="/word/document.xml" ContentType="{kind}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{office}/package/2006/relationships">'
            f'<Relationship Id="a" Type="{office}/officeDocument/2006/relationships/officeDocument"'
            ' Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{office}/wordprocessingml/2006/main" '
            f'xmlns:m="{office}/officeDocument/2006/math"><w:body>{body}</w:body></w:document>',
        }
    )


def odt(body: str | None = None) -> bytes:
    body = body or (
        '<text:h text:outline-level="1">Saws</text:h><text:p>A <text:span>sharp</text:span>'
        '<text:s/>saw. <text:a x:href="https://e.org/">More</text:a></text:p>'
        "<table:table><table:table-row><table:table-cell><text:p>Tool</text:p></table:table-cell>"
        "<table:table-cell><text:p>Price</text:p></table:table-cell></table:table-row>"
        "<table:table-row><table:table-cell><text:p>Saw</text:p></table:table-cell>"
        "<table:table-cell><text:p>12</text:p></table:table-cell></table:table-row></table:table>"
    )
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": f'<o:document-content xmlns:o="{_ODF}:office:1.0"'
            f' xmlns:text="{_ODF}:text:1.0" xmlns:table="{_ODF}:table:1.0"'
            ' xmlns:x="http://www.w3.org/1999/xlink"><o:body><o:text>'
            f"{body}</o:text></o:body></o:document-content>",
            "meta.xml": '<m xmlns:dc="http://purl.org/dc/elements/1.1/">'
            "<dc:title>On saws</dc:title><dc:language>en-GB</dc:language></m>",
        }
    )


def epub(page: str = "<html><body><h1>Saws</h1><p>A saw is sharp.</p></body></html>") -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": "<container><rootfiles>"
            '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
            "OPS/book.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            "<dc:title>Tools</dc:title><dc:language>en</dc:language></metadata><manifest>"
            '<item id="b" href="b.xhtml" media-type="application/xhtml+xml"/>'
            '<item id="a" href="a%20page.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
            "OPS/a page.xhtml": page,
            "OPS/b.xhtml": "<html><body><h1>Drills</h1><p>A drill is loud.</p></body></html>",
        }
    )


NOTEBOOK = json.dumps(
    {
        "nbformat": 4,
        "metadata": {"language_info": {"name": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Saws\n", "\n", "How sharp?"]},
            {
                "cell_type": "code",
                "source": "sharpness()",
                "outputs": [{"output_type": "execute_result", "data": {"text/plain": ["very"]}}],
            },
        ],
    }
).encode()

EML = (
    b"From: Ann <ann@e.org>\nTo: Bob <bob@e.org>\nSubject: =?utf-8?q?S=C3=A4gen?=\n"
    b"Date: Mon, 5 Jan 2026 10:00:00 +0100\nMIME-Version: 1.0\n"
    b'Content-Type: multipart/mixed; boundary="x"\n\n--x\n'
    b'Content-Type: multipart/alternative; boundary="y"\n\n'
    b"--y\nContent-Type: text/plain; charset=utf-8\n\nThe saw is back.\n"
    b"--y\nContent-Type: text/html\n\n<p>The saw is <b>back</b>.</p>\n--y--\n"
    b"--x\nContent-Type: image/png\nContent-Disposition: attachment; filename=saw.png\n\nx\n--x--\n"
)
RST = b"""Saws
====

See :ref:`sharp saws <sharp>` and `more <https://e.org/>`_, :py:meth:`~tools.Saw.cut`.

.. code-block:: python
   :linenos:

   saw()

.. warning:: Keep *away*.

.. versionadded:: 3.2

   The blade.

.. py:function:: cut(wood)

   Cuts ``wood``.

.. toctree::

   other

=====  =====
Tool   Price
=====  =====
Saw    12
=====  =====

- one
- two

Drills
------

:author: Ann
"""
ADOC = b"""= Saws
:price: 12

== Sharp ones

A saw costs {price}. See link:more.adoc[more] and <<sharp,these>>.

[source,ruby]
----
saw
----

|===
|Tool |Price

|Saw |12
|===

* one
** two

// a comment
include::other.adoc[]
"""
MDX = b"""---
title: On saws
---
import Card from './card'

export const price = 12

# Saws

<Card kind="sharp" onClick={() => cut()}>

A saw **cuts**.

</Card>

{/* nobody reads this */}

```js
import kept from 'kept'
```
"""
RTF = (
    rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}{\info{\title On saws}}\f0 A saw is \b sharp\b0.\par"
    rb" S\'e4ge \u8364?\par}"
)
XML = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>Tools</title>
<item><title>Saws</title><price unit="EUR">12</price><description>It is <b>sharp</b> too.
</description></item></channel></rss>"""
MBOX = b"From a\nFrom: ann@e.org\nMessage-ID: <1@e.org>\nSubject: Saw\n\nThe saw.\n\nFrom b\n" \
    b"From: bob@e.org\nSubject: Drill\n\nThe drill.\n>From here.\n"  # fmt: skip

# name: contents, and what its text holds
FILES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "a.csv": (b"tool;price\nSaw;12\n\"Drill; loud\";\"3\n\n4\"\n",
              ("tool: Saw\nprice: 12\n\ntool: Drill; loud\nprice: 3\n4",)),
    "a.tsv": (b"tool\tprice\nSaw\t12\n", ("tool: Saw\nprice: 12",)),
    "a.json": (b'{"title": "Tools", "saw": {"price": 12, "is": ["sharp", "long"]},'
               b' "rows": [{"a": 1}, {"a": 2}]}',
               ("saw.price: 12\n\nsaw.is: sharp, long", "# rows\n\na: 1\n\na: 2")),
    "a.ndjson": (b'{"level": "warn", "at": {"line": 3}}', ("level: warn\nat.line: 3",)),
    "a.yaml": (b"# The price\nsaw:\n  price: 12\n", ("# The price\nsaw:\n  price: 12",)),
    "a.ipynb": (NOTEBOOK, ("# Saws\n\nHow sharp?\n\n```python\nsharpness()\n```",
                           "```\nvery\n```")),
    "a.py": (b"def saw():\n    return 12\n", ("def saw():\n    return 12",)),
    "a.log": (b"12:00 WARN saw is blunt\n", ("saw is blunt",)),
    "a.mdx": (MDX, ("# Saws\n\nA saw **cuts**.\n\n```js\nimport kept from 'kept'\n```",)),
    "a.adoc": (ADOC, ("# Saws\n\n## Sharp ones\n\nA saw costs 12. See [more](more.adoc) and these.",
                      "```ruby\nsaw\n```", "| Tool | Price |\n| --- | --- |\n| Saw | 12 |",
                      "- one\n   - two")),
    "a.rst": (RST, ("# Saws\n\nSee sharp saws and more, cut.", "```python\nsaw()\n```",
                    "Keep away.\n\n3.2\n\nThe blade.\n\ncut(wood)\n\nCuts wood.",
                    "| Tool | Price |\n| --- | --- |\n| Saw | 12 |\n\n- one\n- two",
                    "## Drills\n\nauthor: Ann")),
    "a.xml": (XML, ("## Tools\n\n### Saws\n\nprice: unit=EUR 12\n\nIt is sharp too.",)),
    "a.rtf": (RTF, ("A saw is sharp.\n\nSäge €",)),
    "a.eml": (EML, ("Subject: Sägen\n\nThe saw is back.\n\nAttachments: saw.png",)),
    "a.pptx": (pptx(), ("# Plan\n\nBuy a saw\n\n# Prices",
                        "| Tool | Price |\n| --- | --- |\n| Saw | twelve\\|13 |\n\nSay it slowly")),
    "a.xlsx": (xlsx(), ("# Prices\n\nReport of May\n\ntool: Saw\nprice: 12\non loan: true",
                        "tool: Drill\nprice: 3.5", "# Notes\n\nOnly a note")),
    "a.odt": (odt(), ("# Saws\n\nA sharp saw. [More](https://e.org/)",
                      "| Tool | Price |\n| ---- | ----- |\n| Saw  | 12    |")),
    "a.epub": (epub(), ("# Saws\n\nA saw is sharp.\n\n# Drills\n\nA drill is loud.",)),
    "a.md.gz": (gzip.compress(b"# Saws\n\nPacked.", mtime=0), ("# Saws\n\nPacked.",)),
    "a.csv.gz": (gzip.compress(b"tool,price\nSaw,12\n", mtime=0), ("tool: Saw\nprice: 12",)),
    "LICENSE": (b"Do what you like.\n", ("Do what you like.",)),
    "a.html": (b"<h1>Saws</h1><p>Sharp.</p>", ("# Saws\n\nSharp.",)),
}  # fmt: skip
