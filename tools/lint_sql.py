"""Checks the house rules of sql/ that PostgreSQL does not: `python -m tools.lint_sql`.

It reads the files with PostgreSQL's own parser and scanner (pglast). A name in a PL/pgSQL body or
in dynamic SQL counts as a call, although PostgreSQL binds it only when it runs.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, takewhile
from pathlib import Path

from pglast import ast, parser
from pglast.enums import FunctionParameterMode

from ragdb.server.scripts import order

SQL = Path(__file__).resolve().parent.parent / "sql"
SCHEMAS = ("ragdb", "ragdb_internal", "bi")
WIDTH = 100
FILE_LINES = 250
BODY_LINES = 40

# What is longer than the limits, and why.
LONG_FILES = {
    "text/unicode.sql": "data: classes of code points, written by tools/unicode_classes.py",
}
LONG_BODIES = {
    "ragdb_internal.ledger_kinds": "data: the kinds of rows that the ledger enters",
    "ragdb.error_codes": "data: every SQLSTATE with its wire word and its meaning",
    "ragdb.embed_query": "a procedure that commits: it may call no private function",
    "ragdb_internal.all_capability_schemas": "data: the JSON schemas of the capabilities",
    "ragdb_internal.assertion_kinds": "data: the kinds of assertion",
    "ragdb_internal.case_ignorable": "data: code points",
    "ragdb_internal.best_in_groups": "one loop; calls for its steps cost every search",
    "ragdb_internal.contract_keys": "data: the keys of the contract language",
    "ragdb_internal.expand_slice": "one loop over a heap; calls for its steps halve the speed",
    "ragdb_internal.foldable": "data: code points",
    "ragdb_internal.inert": "data: code points",
    "ragdb_internal.index_chunks": "one statement, so that postings are kept once",
    "ragdb_internal.language_signs": "data: the common words and the letters of languages",
    "ragdb_internal.other_questions": "data: questions of every day in seven languages",
    "ragdb_internal.route_lines": "data: the route of each public function",
    "ragdb_internal.rule_words": "data: the rules of contracts in words",
    "ragdb_internal.spaced": "data: code points",
    "ragdb_internal.unassigned": "data: code points",
    "ragdb_internal.unstable": "data: code points",
    "ragdb_internal.wordly": "data: code points",
}
# Locals that have the names of the standard that defines the function.
STANDARDS = {"ragdb_internal.sha1": "FIPS 180-4"}
# Arguments of functions that are called alike, for which some of them have no use.
ALIKE = {"ragdb_internal.verify_": {"after", "most"}}

Name = tuple[str, str]  # schema and name


@dataclass(frozen=True)
class Statement:
    """One statement of a file: what it defines and what it names."""

    file: str
    line: int
    text: str
    defines: Name | None
    kind: str
    arguments: tuple[str, ...] = ()
    remark: tuple[str, ...] = ()  # the lines above it

    @cached_property
    def names(self) -> set[Name]:
        """What it names of our schemas; a comment on an object names nothing."""
        return set() if self.kind == "comment" else set(_names(self.text))

    @cached_property
    def body_lines(self) -> int:
        """Lines of a function's body."""
        return self.body.strip("\n").count("\n") + 1 if self.kind == "function" else 0

    @cached_property
    def text_body(self) -> str:
        """A function's body that PostgreSQL reads when it runs; empty for another."""
        quoted = re.search(r"^as \$(\w*)\$(.*)\$\1\$", self.text, re.S | re.M)
        return quoted[2] if quoted else ""

    @cached_property
    def body(self) -> str:
        """A function's body."""
        bound = re.search(r"^(begin atomic|return\b(?!s))(.*)", self.text, re.S | re.M)
        return self.text_body or (bound[0].rstrip() if bound else "")


def _names(text: str) -> Iterator[Name]:
    tokens = [
        (token.name, text[token.start : token.end + 1])
        for token in parser.scan(text)
        if token.name not in ("SQL_COMMENT", "C_COMMENT")
    ]
    for place, (kind, word) in enumerate(tokens):
        if kind == "SCONST" and word.startswith("$"):
            tag = word[: word.index("$", 1) + 1]
            yield from _names(word.removeprefix(tag).removesuffix(tag))
        elif kind == "SCONST":
            # a text may be dynamic SQL; a hint names public functions, and calls none
            for name in re.findall(r"\bragdb_internal\.(\w+)", word):
                yield "ragdb_internal", name
        elif word in SCHEMAS and [t for _, t in tokens[place + 1 : place + 2]] == ["."]:
            yield word, tokens[place + 2][1]


def _defined(node: object) -> tuple[Name | None, str]:
    """What a statement defines, and what kind of statement it is."""
    match node:
        case ast.CreateFunctionStmt(funcname=[schema, function]):
            return (schema.sval, function.sval), "function"
        case ast.DefineStmt(defnames=[schema, aggregate]):
            return (schema.sval, aggregate.sval), "aggregate"
        case ast.ViewStmt(view=ast.RangeVar(schemaname=str(schema), relname=str(view))):
            return (schema, view), "view"
        case ast.CompositeTypeStmt(
            typevar=ast.RangeVar(schemaname=str(schema), relname=str(composite))
        ):
            return (schema, composite), "type"
        case ast.CommentStmt():
            return None, "comment"
    return None, "other"


def _arguments(node: object) -> tuple[str, ...]:
    """The names of what a function is given."""
    if not isinstance(node, ast.CreateFunctionStmt):
        return ()
    returned = (FunctionParameterMode.FUNC_PARAM_OUT, FunctionParameterMode.FUNC_PARAM_TABLE)
    given = [p for p in node.parameters or () if p.mode not in returned]
    return tuple(p.name for p in given if p.name)


def statements(file: str, text: str) -> Iterator[Statement]:
    for part in parser.split(text, only_slices=True):
        statement = text[part]
        code = re.sub(r"\A(\s|--[^\n]*\n)+", "", statement)
        above = text[: part.stop].removesuffix(code).splitlines()
        remark = [*takewhile(lambda line: line.startswith("--"), reversed(above))][::-1]
        line = text[: part.stop].count("\n") - code.rstrip().count("\n") + 1
        node = parser.parse_sql(statement)[0].stmt
        name, kind = _defined(node)
        yield Statement(file, line, code, name, kind, _arguments(node), tuple(remark))


def problems(folder: Path = SQL) -> Iterator[str]:
    """Every breach of a rule, as `file:line: what`."""
    listed = order(folder)
    found = {str(f.relative_to(folder)): f.read_text("utf-8") for f in folder.glob("*/*.sql")}
    for file in sorted(set(found) ^ set(listed)):
        yield f"sql/ORDER: {file} is listed and does not exist, or exists and is not listed"
    all_of_it = [s for f in listed if f in found for s in statements(f, found[f])]
    for file, sentence in listed.items():
        if not re.fullmatch(r"\S.*[.]", sentence):
            yield f"sql/ORDER: {file} has no sentence"
    rooms = [room for room, _ in groupby(file.split("/")[0] for file in listed)]
    for room in sorted({room for room in rooms if rooms.count(room) > 1}):
        yield f"sql/ORDER: the files of {room} do not stand together"
    for file, text in found.items():
        yield from _measures(file, text)
    yield from _calls(all_of_it, list(listed))
    yield from _bodies(all_of_it)
    yield from _comments(all_of_it)


def _measures(file: str, text: str) -> Iterator[str]:
    lines = text.splitlines()
    if len(lines) > FILE_LINES and file not in LONG_FILES:
        yield f"{file}: {len(lines)} lines, over {FILE_LINES}"
    for n, line in enumerate(lines, 1):
        if len(line) > WIDTH:
            yield f"{file}:{n}: {len(line)} columns, over {WIDTH}"
        if line != line.rstrip() or "\t" in line:
            yield f"{file}:{n}: a tab, or white space at the end"
    if not text.startswith("--"):
        yield f"{file}: no comment at its head says what it holds"


def _calls(all_of_it: list[Statement], listed: list[str]) -> Iterator[str]:
    home: dict[Name, str] = {}
    for s in all_of_it:
        if s.defines and home.setdefault(s.defines, s.file) != s.file:
            yield f"{s.file}:{s.line}: {'.'.join(s.defines)} is defined in {home[s.defines]} too"
    for s in all_of_it:
        for name in sorted(s.names & home.keys()):
            if listed.index(home[name]) > listed.index(s.file):
                yield f"{s.file}:{s.line}: {'.'.join(name)} stands below, in {home[name]}"
        for name in sorted(s.names - home.keys()):
            if name[0] == "ragdb_internal":
                yield f"{s.file}:{s.line}: {'.'.join(name)} is defined nowhere"
    used = {name for s in all_of_it for name in s.names if name != s.defines}
    for s in all_of_it:
        if s.defines and s.defines[0] == "ragdb_internal" and s.defines not in used:
            yield f"{s.file}:{s.line}: {'.'.join(s.defines)} is called nowhere"


def _bodies(all_of_it: list[Statement]) -> Iterator[str]:
    for s in all_of_it:
        if s.defines is None:
            continue
        name = ".".join(s.defines)
        if s.body_lines > BODY_LINES and name not in LONG_BODIES:
            yield f"{s.file}:{s.line}: {name} has {s.body_lines} lines, over {BODY_LINES}"
        if s.body_lines <= BODY_LINES and name in LONG_BODIES:
            yield f"tools/lint_sql.py: {name} is on the list of long bodies and is not long"
        if not re.fullmatch(r"[a-z][a-z0-9_]*", s.defines[1]):
            yield f"{s.file}:{s.line}: {name} is not a name in lower case"
        yield from _backslashes(s, name)
        if "md5(" in s.text:
            yield f"{s.file}:{s.line}: {name} calls md5, which a server in FIPS mode refuses"
        yield from _unused(s, name)
        if "language plpgsql" in s.text and name not in STANDARDS:
            yield from _locals(s, name)


def _comments(all_of_it: list[Statement]) -> Iterator[str]:
    """Of what is public the database says what it is; of what is private the file, above it."""
    times = Counter(s.defines for s in all_of_it if s.kind == "function")
    for s in all_of_it:
        named = re.match(r"comment on function (\w+)\.(\w+)\s*\(", s.text)
        if named and times[named[1], named[2]] == 1:
            yield f"{s.file}:{s.line}: no other function has this name: it needs no arguments"
        if re.match(r"comment on (function|type|aggregate) ragdb_internal\.", s.text):
            yield f"{s.file}:{s.line}: what is private has its comment above it"
        if s.defines and s.defines[0] == "ragdb_internal" and s.kind != "view":
            said = " ".join(line.removeprefix("--").strip() for line in s.remark)
            if not re.fullmatch(r"[A-Z].*[.]", said):
                name = ".".join(s.defines)
                yield f"{s.file}:{s.line}: no sentence above {name} says what it is"


def _unused(s: Statement, name: str) -> Iterator[str]:
    """Whoever reads a call looks for what each argument does."""
    needless = {a for begins, all_of in ALIKE.items() if name.startswith(begins) for a in all_of}
    said = set(re.findall(r"\w+", re.sub(r"--[^\n]*", "", s.body)))
    for place, argument in enumerate(s.arguments, 1):
        if argument not in said | needless and f"${place}" not in s.body:
            yield f"{s.file}:{s.line}: {name} makes no use of its argument {argument}"


def _locals(s: Statement, name: str) -> Iterator[str]:
    """A local is v_x, so that it cannot be taken for a column or an argument."""
    declared = re.search(r"\$(\w*)\$\s*declare\b(.*?)^begin\b", s.text, re.S | re.M)
    for local in re.findall(r"^  (\w+) ", declared[2] if declared else "", re.M):
        if not local.startswith("v_"):
            yield f"{s.file}:{s.line}: {name} has a local {local}, not v_{local}"


def _backslashes(s: Statement, name: str) -> Iterator[str]:
    """A body is read when it runs: only E'...' is the same without standard_conforming_strings."""
    for token in parser.scan(s.text_body):
        word = s.text_body[token.start : token.end + 1]
        if token.name in ("SCONST", "USCONST") and "\\" in word and word[0] not in "Ee$":
            yield f"{s.file}:{s.line}: {name} has a backslash in a constant without E: {word}"


def main() -> None:
    found = list(problems())
    for problem in found:
        print(problem)
    print(f"sql/: {len(order(SQL))} files, {len(found)} problems")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
