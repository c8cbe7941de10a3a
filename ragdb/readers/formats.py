"""The formats that are read: their endings, media types, and where their readers run.

A format is one row of `FORMATS`; nothing else lists them. What the database takes as a blob
(`ragdb_internal.readable_types`) is compared with them by a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are known, and who reads them."""

    # of a file name, in lower case
    endings: tuple[str, ...]
    # the first is that of its documents
    media_types: tuple[str, ...]
    # module and function that read it in a child process; None for what is read here
    reader: str | None = None
    # decoded before it is read
    is_text: bool = True
    # many documents in a file, each with its own name: file#record
    has_records: bool = False
    # formats of a family are read by one process, which imports all their libraries
    family: str = ""
    # the extra that its library comes with
    extra: str | None = None


PLUG = "plug:"
"""Before the ending of a reader that another package brings; such a reader is its own family."""

_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
# what people write for machines, and machines for people: read as it stands
_SOURCE = """
.asm .awk .bash .bat .bib .c .cc .cfg .clj .cljs .cmake .conf .cpp .cs .css .cxx .d .dart .diff
.dockerfile .el .elm .erl .ex .exs .f .f90 .fish .fs .go .gradle .graphql .groovy .h .hcl .hh
.hpp .hs .hxx .ini .j2 .java .jinja .jl .js .jsx .kt .kts .less .lisp .log .lua .m .mak .make
.mjs .ml .mli .mk .nim .nix .pas .patch .php .pl .pm .po .pot .properties .proto .ps1 .pxd .py
.pyi .pyx .r .rb .rkt .rs .s .sass .sbt .scala .scm .scss .sh .sol .sql .srt .svelte .swift .tcl
.tex .tf .thrift .toml .ts .tsx .v .vb .vhd .vim .vtt .vue .zig .zsh
"""

FORMATS = {
    "text": Format((".txt", ".text", *_SOURCE.split()), ("text/plain",)),
    "markdown": Format(
        (".md", ".markdown", ".mdown", ".mkd"),
        ("text/markdown", "text/x-markdown"),
        "markdown:read",
    ),
    "mdx": Format((".mdx",), ("text/mdx",), "mdx:read"),
    "rst": Format((".rst", ".rest"), ("text/x-rst",), "rst:read", family="rst"),
    "asciidoc": Format((".adoc", ".asciidoc", ".asc"), ("text/asciidoc",), "asciidoc:read"),
    "html": Format(
        (".html", ".htm", ".xhtml"), ("text/html", "application/xhtml+xml"), "html:read"
    ),
    "csv": Format((".csv",), ("text/csv",), "delimited:read_csv"),
    "tsv": Format((".tsv", ".tab"), ("text/tab-separated-values",), "delimited:read_tsv"),
    "json": Format(
        (".json", ".geojson", ".webmanifest"),
        ("application/json", "text/json"),
        "structured:read_json",
    ),
    "yaml": Format(
        (".yaml", ".yml"),
        ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"),
        "structured:read_yaml",
    ),
    "ipynb": Format((".ipynb",), ("application/x-ipynb+json",), "notebook:read"),
    "xml": Format(
        (".xml", ".rss", ".atom"), ("application/xml", "text/xml"), "xml:read", is_text=False
    ),
    "rtf": Format((".rtf",), ("application/rtf", "text/rtf"), "rtf:read", is_text=False),
    "eml": Format((".eml",), ("message/rfc822",), "mail:read", is_text=False),
    "mbox": Format((".mbox",), ("application/mbox",), is_text=False, has_records=True),
    "pdf": Format((".pdf",), ("application/pdf",), "pdf:read", is_text=False),
    "docx": Format(
        (".docx",), (f"{_OFFICE}.wordprocessingml.document",), "docx:read", is_text=False
    ),
    "pptx": Format(
        (".pptx",),
        (f"{_OFFICE}.presentationml.presentation",),
        "pptx:read",
        is_text=False,
        family="pptx",
        extra="office",
    ),
    "sheet": Format(
        (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
        (f"{_OFFICE}.spreadsheetml.sheet", "application/vnd.ms-excel", f"{_OPEN}.spreadsheet"),
        "sheet:read",
        is_text=False,
    ),
    "odt": Format((".odt",), (f"{_OPEN}.text",), "odt:read", is_text=False),
    "epub": Format((".epub",), ("application/epub+zip",), "epub:read", is_text=False),
    "jsonl": Format(
        (".jsonl", ".ndjson"),
        ("application/x-ndjson", "application/jsonl", "application/jsonlines"),
        has_records=True,
    ),
}
BY_ENDING = {ending: name for name, one in FORMATS.items() for ending in one.endings}
BY_MEDIA_TYPE = {kind: name for name, one in FORMATS.items() for kind in one.media_types}
READABLE = (
    "text, source code, Markdown, MDX, RST, AsciiDoc, HTML, PDF, DOCX, PPTX, spreadsheets, ODT, "
    "EPUB, RTF, e-mail, CSV, JSON, JSONL, YAML, XML and notebooks are read; --convert runs a "
    "program for any other"
)


def media_type(name: str) -> str:
    """The media type of the documents of a format."""
    return FORMATS[name].media_types[0]


def ending(name: str) -> str:
    """What a file's name ends in, in lower case, without .gz; empty where it has no ending.

    >>> ending("docs/Report.CSV.gz")
    '.csv'
    """
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix


def has_records(name: str) -> bool:
    """Whether a file of that name holds many documents."""
    format_of = BY_ENDING.get(ending(name))
    return format_of is not None and FORMATS[format_of].has_records


def may_have_records(name: str) -> bool:
    """Whether a file of that name may hold many documents, as JSON does where it holds chats."""
    return has_records(name) or BY_ENDING.get(ending(name)) == "json"


def family(reader: str) -> str:
    """The family of a format, or of a plug."""
    return reader if reader.startswith(PLUG) else FORMATS[reader].family
