"""reStructuredText without its markup, by docutils.

Nothing that a text names is opened: no include, no raw, no stylesheet. Directives and roles that
docutils does not know, as Sphinx adds them, are read for what they enclose.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, Parser, directives, roles

from ragdb.readers import tables
from ragdb.readers.building import Builder
from ragdb.readers.document import Content, ReadError, one_line
from ragdb.readers.telling import tell

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 6,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "doctitle_xform": False,
    "docinfo_xform": False,
    "line_length_limit": 1_000_000,
    "_disable_config": True,
    "warning_stream": False,
}
# what Sphinx makes tables of contents and cross-references of: nothing to read
_SILENT_NAMES = """
toctree index highlight currentmodule module contents sectnum testsetup testcleanup
tabularcolumns default-domain meta role include raw csv-table-file literalinclude
"""
_SILENT = frozenset(_SILENT_NAMES.split())
_CODE = ("code-block", "sourcecode", "testcode", "testoutput", "prompt", "parsed-literal")
_OPTION = re.compile(r":\w[\w-]*:")
_TARGET = re.compile(r"(?s)(.*?)\s*<([^<>]*)>")
_MAX_DEPTH = 150


class _Unknown(Directive):
    """A directive of somebody else: its argument and what it encloses."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = None

    def run(self) -> list[Any]:
        name = self.name.rpartition(":")[2]
        if name in _SILENT:
            return []
        # options stand in the argument, because nobody has said what options there are
        given = " ".join(
            line.strip()
            for line in "\n".join(self.arguments).split("\n")
            if not _OPTION.match(line.strip())
        ).strip()
        if name in _CODE:
            text = "\n".join(line for line in self.content if not _OPTION.match(line))
            code = nodes.literal_block(text, text)
            code["classes"] = ["code", *given.split()]
            return [code]
        made: list[Any] = []
        if given:
            made.append(nodes.paragraph("", given))
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        return [*made, *body.children]


def _role(_name: str, rawtext: str, text: str, *_: Any, **__: Any) -> tuple[list[Any], list[Any]]:
    """A role of somebody else: the text that it shows."""
    titled = _TARGET.fullmatch(text)
    if titled:
        return [nodes.Text(titled[1])], []
    return [nodes.Text(text.rpartition(".")[2] if text.startswith("~") else text.lstrip("!"))], []


def _directive(name: str, language: Any, document: Any, /) -> tuple[Any, list[Any]]:
    if name.rpartition(":")[2] in (*_SILENT, *_CODE):
        return _Unknown, []
    found, _ = _known_directive(name, language, document)
    return found or _Unknown, []


def _find_role(name: str, language: Any, number: int, reporter: Any, /) -> tuple[Any, list[Any]]:
    found, _ = _known_role(name, language, number, reporter)
    return found or _role, []


# docutils has no other place to say what an unknown name means
_tables: tuple[Any, Any] = (directives, roles)
_known_directive, _known_role = directives.directive, roles.role
_tables[0].directive, _tables[1].role = _directive, _find_role
# docutils imports each part when a text first needs it, and then nothing can be opened any more
for _module in ("admonitions", "body", "html", "images", "misc", "parts", "references", "tables"):
    import_module(f"docutils.parsers.rst.directives.{_module}")
publish_doctree(
    "A\n=\n\n*b* :sub:`c` :pep:`8` |d|_ [#]_ https://e.org\n\n.. [#] f\n.. note:: g\n.. _d: h\n"
    ".. math:: x\n.. |d| date::\n.. csv-table::\n\n   a, b\n.. list-table::\n\n   * - a\n",
    settings_overrides=_SETTINGS,
)


class _Telling(Parser):
    """docutils' parser, which tells at which line it is."""

    def parse(self, inputstring: str, document: Any) -> None:
        note, lines = document.note_source, inputstring.count("\n") + 1

        def noted(source: Any, line: int | None) -> None:
            tell(line or 0, lines, 0.0, 0.9)
            note(source, line)

        document.note_source = noted
        super().parse(inputstring, document)
        del document.note_source


def read(text: str) -> Content:
    """The first section's title is the title."""
    try:
        tree = publish_doctree(text, parser=_Telling(), settings_overrides=_SETTINGS)
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise ReadError(
            "malformed", f"docutils cannot read it ({type(error).__name__})", "read it as .txt"
        ) from None
    built = Builder()
    _walk(built, tree, 1, 0)
    return built.content(title=built.headings[0][1][0] if built.headings else None)


def _walk(built: Builder, parent: Any, level: int, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ReadError("malformed", f"its blocks nest deeper than {_MAX_DEPTH}", "flatten it")
    for node in parent.children:
        if isinstance(node, nodes.section):
            _walk(built, node, level + 1, depth + 1)
        elif isinstance(node, nodes.title) and isinstance(parent, nodes.section):
            built.heading(level - 1, node.astext())
        elif isinstance(node, nodes.paragraph | nodes.title | nodes.subtitle | nodes.rubric):
            _paragraph(built, node, "")
        elif isinstance(node, nodes.literal_block | nodes.doctest_block | nodes.math_block):
            classes: list[str] = node.get("classes", [])
            words = [word for word in classes if word != "code"]
            built.block(f"```{words[0] if words else ''}\n{node.astext()}\n```")
        elif isinstance(node, nodes.bullet_list | nodes.enumerated_list):
            _list(built, node, depth)
        elif isinstance(node, nodes.definition_list_item | nodes.field | nodes.option_list_item):
            _definition(built, node, level, depth)
        elif isinstance(node, nodes.table):
            _table(built, node)
        elif isinstance(node, nodes.line_block):
            built.block(node.astext())
        elif isinstance(node, nodes.image):
            built.block(one_line(node.get("alt")) or "")
        elif isinstance(
            node, nodes.comment | nodes.system_message | nodes.substitution_definition | nodes.raw
        ):
            continue
        elif isinstance(node, nodes.target):
            if node.get("refuri"):
                built.links.append((built.size, node["refuri"]))
        elif isinstance(node, nodes.TextElement):
            _paragraph(built, node, "")
        elif isinstance(node, nodes.Element):
            _walk(built, node, level, depth + 1)


def _paragraph(built: Builder, node: Any, mark: str) -> None:
    text = mark + node.astext()
    begin = built.block(text)
    offset = begin + len(mark)
    for link in node.findall(nodes.reference):
        uri = link.get("refuri")
        if uri:
            at = text.find(link.astext(), len(mark))
            built.links.append((offset + max(at - len(mark), 0), uri))


def _list(built: Builder, node: Any, depth: int) -> None:
    """An item is a line, and a block where there are blocks in it."""
    lines: list[str] = []
    for number, item in enumerate(node.children, 1):
        mark = f"{number}. " if isinstance(node, nodes.enumerated_list) else "- "
        blocks = item.children
        if all(isinstance(block, nodes.paragraph) for block in blocks) and len(blocks) == 1:
            links = [one.get("refuri") for one in blocks[0].findall(nodes.reference)]
            at = (built.size + 2 if built.parts else 0) + sum(len(line) + 1 for line in lines)
            built.links += ((at, uri) for uri in links if uri)
            lines.append(mark + " ".join(blocks[0].astext().split()))
            continue
        built.block("\n".join(lines))
        lines.clear()
        for block in blocks:
            if isinstance(block, nodes.paragraph):
                _paragraph(built, block, mark)
                mark = ""
            else:
                _walk(built, nodes.container("", block.deepcopy()), 6, depth + 1)
    built.block("\n".join(lines))


def _definition(built: Builder, node: Any, level: int, depth: int) -> None:
    """A term, a field or an option with what is said of it, in one block where that is short."""
    parts: list[Any] = list(node.children) or [nodes.Text("")]
    *names, body = parts
    name = " ".join(" ".join(one.astext().split()) for one in names)
    if isinstance(node, nodes.field):
        name = f"{name}:"
    if len(body.children) == 1 and isinstance(body.children[0], nodes.paragraph):
        text = body.children[0].astext()
        built.block(f"{name} {text}" if name.endswith(":") else f"{name}\n{text}")
        return
    built.block(name)
    _walk(built, body, level, depth + 1)


def _table(built: Builder, node: Any) -> None:
    for title in node.findall(nodes.title):
        built.block(title.astext())
    rows = [
        [" ".join(entry.astext().split()) for entry in row.children]
        for row in node.findall(nodes.row)
    ]
    built.block(tables.markdown(rows))
