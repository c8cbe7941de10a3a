"""`ragdb check`, `apply` and `contract`: read, validate, apply and write contracts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import OK, USAGE, Failure, Session

if TYPE_CHECKING:
    from ragdb.database import Database

Json = dict[str, Any]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Contracts, also as JSON.")]


def register(app: typer.Typer) -> None:
    verb(app, "check")(check)
    verb(app, "apply")(apply)
    group = typer.Typer(help="List and print contracts.")
    app.add_typer(group, name="contract", no_args_is_help=True)
    verb(group, "ls")(ls)
    verb(group, "sources")(sources)
    verb(group, "export")(export)


def check(
    session: Session,
    files: Files,
    syntax: Annotated[
        bool, typer.Option("--syntax", help="Check only the syntax; needs no database.")
    ] = False,
) -> int:
    """Check syntax here and meaning in the database. Exit code 2 for errors."""
    read, failed = _read(session, files)
    if syntax:
        return USAGE if failed else OK
    with session.connect() as db:
        problems = [p for file, found in read for p in _problems(session, db, file, found)]
    _show(session, problems)
    errors = sum(p["severity"] == "error" for p in problems)
    session.note(f"{len(files)} files, {errors + failed} errors, {len(problems) - errors} warnings")
    return USAGE if errors or failed else OK


def apply(session: Session, files: Files) -> int:
    """Check contracts and put them in force, in one transaction."""
    from ragdb.cli import output

    read, failed = _read(session, files)
    if failed:
        return USAGE
    with session.connect() as db:
        problems = [p for file, found in read for p in _problems(session, db, file, found)]
        _show(session, problems)
        if any(p["severity"] == "error" for p in problems):
            session.note("nothing was applied")
            return USAGE
        with db.connection.transaction():
            rows = [db.apply_contract(found) for _, (found, _) in read]
    output.rows(session, rows, ["name", "version", "is_new", "corpora", "nodes"])
    return OK


def ls(session: Session) -> None:
    """List the contracts in force. With -v, list older versions too."""
    from ragdb.cli import output

    with session.connect() as db:
        rows = [row for row in db.list_contracts() if session.verbose or row.is_current]
    output.rows(session, rows, empty="no contract yet: `ragdb apply FILE` puts one in force")


def sources(session: Session) -> None:
    """List the sources of the contracts in force: when each was read and which are due."""
    from ragdb.cli import output

    with session.connect() as db:
        rows = db.list_sources()
    columns = ["corpus", "name", "kind", "read_at", "refresh", "documents", "failed", "is_due"]
    output.rows(session, rows, columns, empty="no contract in force has a source")


def export(
    session: Session,
    contract: Annotated[str, typer.Argument(metavar="CONTRACT", help="Name of a contract.")],
    version: Annotated[int | None, typer.Option(help="Version; default: the one in force.")] = None,
) -> int:
    """Print a contract in the contract syntax, or as JSON with --json."""
    from ragdb.cli import output
    from ragdb.contracts import syntax

    with session.connect() as db:
        found = db.export_contract(contract, version)
    if session.format == "json":
        output.one(session, found)
    elif session.format == "table":
        print(syntax.write(found["nodes"]), end="")
    else:
        raise Failure("a contract is printed in the contract syntax or as JSON")
    return OK


def _read(session: Session, files: list[Path]) -> tuple[list[tuple[Path, tuple[Json, str]]], int]:
    from ragdb.cli.text import clean
    from ragdb.contracts import contract_file, syntax

    read = []
    failed = 0
    for file in files:
        try:
            found, text = contract_file.read(file)
        except syntax.ContractSyntaxError as error:
            print(clean(str(error)))
            failed += len(error.problems)
            continue
        for node in contract_file.missing_prompts(found):
            raise Failure(
                f"{file}:{node.get('line', 1)}: the prompt {node['keys']['prompt']} is not a file",
                hint="the path is relative to the contract",
            )
        read.append((file, (found, text)))
    return read, failed


def _problems(
    session: Session, db: Database, file: Path, read: tuple[Json, str]
) -> list[dict[str, Any]]:
    from ragdb.client.rows import record

    found, text = read
    lines = text.split("\n")
    problems = []
    for row in db.validate_contract(found):
        problem = {"file": str(file), **record(row)}
        line = problem["line"]
        problem["text"] = lines[line - 1] if line and line <= len(lines) else ""
        problems.append(problem)
    return problems


def _show(session: Session, problems: list[dict[str, Any]]) -> None:
    from ragdb.cli import output, text
    from ragdb.contracts import syntax

    if session.format != "table":
        rows = [{k: v for k, v in p.items() if k != "text"} for p in problems]
        output.rows(session, rows)
        return
    for p in problems:
        message = f"{p['severity']}: {p['message']} [{p['rule']}]"
        line, column = p["line"] or 1, p["column"] or 1
        print(text.clean(syntax.show(p["file"], line, column, message, p["hint"], p["text"])))
