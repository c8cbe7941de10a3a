"""The shared collections, read whole: their own manifest and counts are the oracle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ragdb.ingest import links
from ragdb.readers.document import Document, ReadError
from ragdb.readers.read import read, read_jsonl

SHARED = Path(os.environ.get("RAGDB_SHARED", Path(__file__).parents[3] / "shared")) / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared collections at {SHARED}"),
]

# documents of each corpus, and how many of them are empty
CORPORA = {
    "beir_scifact": (5183, 0),
    "cranfield": (1400, 2),
    "squad_v1_dev": (2067, 0),
    "xquad/de": (240, 0),
    "xquad/ru": (240, 0),
    "xquad/tr": (240, 0),
    "xquad/ar": (240, 0),
    "xquad/hi": (240, 0),
    "xquad/th": (240, 0),
    "xquad/zh": (240, 0),
}


def test_every_markdown_file_is_read_and_most_local_links_lead_to_another() -> None:
    files = sorted((SHARED / "docs").rglob("*.md"))

    documents: dict[str, Document] = {}
    for file in files:
        uri = file.relative_to(SHARED).as_posix()
        [documents[uri]] = read(file.read_bytes(), uri)

    assert len(documents) == 387
    local = found = 0
    for uri, document in documents.items():
        assert all(
            offset == 0 or document.text[offset - 1] == "\n" for offset, _ in document.headings
        )
        assert all(document.text[offset] in "[<" for offset, _ in document.links)
        for _, written in document.links:
            targets = [t for t in links.targets(uri, written) if "://" not in t]
            local += bool(targets)
            found += any(target in documents for target in targets)
    assert local > 800
    assert found / local > 0.9


MANIFEST = SHARED / "pdfs" / "manifest.json"


@pytest.mark.parametrize(
    "about",
    json.loads(MANIFEST.read_text()) if MANIFEST.exists() else [],
    ids=lambda about: about["file"],
)
def test_a_pdf_has_the_pages_and_text_of_the_manifest_or_is_refused(about: dict[str, Any]) -> None:
    data = (MANIFEST.parent / about["file"]).read_bytes()

    if about["kind"] == "digital text":
        [document] = read(data, about["file"])
        assert len(document.pages) == about["pages"]
        # the manifest counts what is not white space; forms add or lose a few characters
        seen = sum(len(word) for word in document.text.split())
        assert seen == pytest.approx(about["text_chars"], rel=0.02, abs=8)
        assert "\f" not in document.text
        for end, _ in document.pages[1:]:
            assert document.text[end - 2 : end] == "\n\n"
    else:
        with pytest.raises(ReadError) as raised:
            read(data, about["file"])
        codes = {"no_text"} if "OCR" in about["kind"] else {"encrypted", "corrupt"}
        assert raised.value.code in codes


@pytest.mark.by_day(4)
@pytest.mark.parametrize("corpus", CORPORA)
def test_a_corpus_is_read_with_its_ids(corpus: str) -> None:
    count, empty = CORPORA[corpus]
    path = SHARED / corpus / "corpus.jsonl"
    ids = [json.loads(line)["_id"] for line in path.read_bytes().splitlines()]

    with path.open("rb") as stream:
        documents = list(read_jsonl(stream))

    assert [document.external_id for document in documents] == ids
    assert len(documents) == count
    assert sum(document.is_empty for document in documents) == empty


def test_the_outline_of_a_pdf_is_its_headings() -> None:
    [book] = read((SHARED / "pdfs/sample-files__GeoTopo-komprimiert.pdf").read_bytes(), "b.pdf")
    assert len(book.headings) == 35
    assert book.headings == tuple(sorted(book.headings))
    said = 0
    for offset, path in book.headings:
        # the title stands there, however its line is broken
        said += " ".join(book.text[offset : offset + 200].split()).startswith(path[-1])
        # numbered as they are nested
        assert all(part[:1] in (path[0][:1], "Ü") for part in path[1:])
    assert max(len(path) for _, path in book.headings) == 3
    assert said == 34  # the index has no title on its page
