"""`ragdb check`, `apply` and `contract`: read, validate, apply and write contracts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import OK, USAGE, Failure, Session
from ragdb.client.counting import counted

if TYPE_CHECKING:
    from ragdb.database import Database

Json = dict[str, Any]
Contract = Annotated[str, typer.Argument(metavar="CONTRACT", help="Name of a contract.")]
Prefix = Annotated[str, typer.Option(help="Only of contracts whose name begins so.")]
After = Annotated[str, typer.Option(help="Only of contracts that come after this name.")]
Limit = Annotated[int | None, typer.Option(help="Largest number of rows; else all.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Contracts, also as JSON.")]


def register(app: typer.Typer) -> None:
    verb(app, "check")(check)
    verb(app, "apply")(apply)
    group = typer.Typer(help="List, print and withdraw contracts.")
    app.add_typer(group, name="contract", no_args_is_help=True)
    verb(group, "ls")(ls)
    verb(group, "sources")(sources)
    verb(group, "export")(export)
    verb(group, "withdraw")(withdraw)


def check(session: Session, files: Files) -> int:
    """Check the syntax and the meaning of contracts. Exit code 2 for errors."""
    with session.connect() as db:
        _, problems = _read(db, files)
    _show(session, problems)
    errors = sum(p["severity"] == "error" for p in problems)
    warnings = len(problems) - errors
    session.note(
        f"{counted(len(files), 'file')}, {counted(errors, 'error')}, {counted(warnings, 'warning')}"
    )
    return USAGE if errors else OK


def apply(session: Session, files: Files) -> int:
    """Check contracts and put them in force, in one transaction."""
    from ragdb.client.rows import record

    with session.connect() as db:
        read, problems = _read(db, files)
        if any(p["severity"] == "error" for p in problems):
            _show(session, problems)
            session.note("nothing was applied")
            return USAGE
        with db.connection.transaction():
            applied = [record(db.apply_contract(found)) for found in read]
        embedders = db.list_embedders()
    unbound = {row.name for row in embedders if row.provider is None}
    bound = sorted(row.name for row in embedders if row.provider is not None)
    if session.format == "table":
        _show(session, problems)
    rows = [
        {**row, "warnings": [_fields(p) for p in problems if p["file"] == str(file)]}
        for file, row in zip(files, applied, strict=True)
    ]
    session.rows(rows, "name version is_new corpora nodes")
    declared = {
        str(node["keys"].get("model"))
        for contract in read
        for node in contract["nodes"]
        if node["node"] == "embed"
    }
    for model in sorted(unbound & declared):
        bind = f"ragdb embedder bind {model} --provider sentence-transformers|openai|hash"
        others = f", or declare what runs: {', '.join(bound)}" if bound else ""
        session.note(f"  hint: nothing runs {model} yet: `{bind}`{others}")
    return OK


def ls(session: Session, prefix: Prefix = "", after: After = "", limit: Limit = None) -> None:
    """List the contracts in force. With -v, list older versions too."""
    nothing = "no contract yet: `ragdb apply FILE` puts one in force"
    with session.connect() as db:
        session.rows(
            db.list_contracts(not session.verbose, prefix, after, limit),
            empty="no contract is named so" if prefix or after else nothing,
        )


def sources(
    session: Session,
    due: Annotated[bool, typer.Option("--due", help="Only those that are due.")] = False,
    prefix: Prefix = "",
    after: After = "",
    limit: Limit = None,
) -> None:
    """List the sources of the contracts in force: when each was read and which are due.

    They come by their contracts; of the last contract all are listed.
    """
    columns = "corpus name kind read_at refresh documents failed is_due"
    nothing = "no source is due" if due else "no contract in force has a source"
    with session.connect() as db:
        session.rows(
            db.list_sources(due, prefix, after, limit),
            columns,
            empty="no contract is named so" if prefix or after else nothing,
        )


def export(
    session: Session,
    contract: Contract,
    version: Annotated[int | None, typer.Option(help="Version; default: the one in force.")] = None,
) -> int:
    """Print a contract in the contract syntax, or as JSON with --json."""
    with session.connect() as db:
        found = db.export_contract(contract, version)
        if session.format == "json":
            session.one(found)
        elif session.format == "table":
            print(db.write_contract(found), end="")
        else:
            raise Failure("a contract is printed in the contract syntax or as JSON")
    return OK


def withdraw(session: Session, contract: Contract) -> None:
    """Take a contract out of force. Its versions and runs stay; `ragdb apply` undoes it."""
    with session.connect() as db:
        db.withdraw_contract(contract)
    session.done(f"withdrew {contract}", contract=contract)


def _read(db: Database, files: list[Path]) -> tuple[list[Json], list[Json]]:
    """The contracts that can be read, and what is wrong with each file."""
    from ragdb.contracts import contract_file

    read: list[Json] = []
    problems: list[Json] = []
    for file in files:
        try:
            text = contract_file.text_of(file)
        except contract_file.ContractFileError as error:
            problems.append({"file": str(file), **error.problem})
            continue
        found = _problems(db, file, text)
        if any(problem["rule"] == "contract-syntax" for problem in found):
            problems += found
            continue
        name = contract_file.name_of(file)
        contract = contract_file.with_prompts(db.parse_contract(text, name), file)
        missing = contract_file.missing_prompts(contract)
        found += [_shown(file, text, problem) for problem in missing]
        problems += sorted(found, key=lambda p: (p["line"] or 0, p["column"] or 0))
        read.append(contract)
    return read, problems


def _problems(db: Database, file: Path, text: str) -> list[Json]:
    from ragdb.client.rows import record
    from ragdb.contracts import contract_file

    rows = db.validate_contract(text, contract_file.name_of(file))
    return [_shown(file, text, record(row)) for row in rows]


def _shown(file: Path, text: str, problem: Json) -> Json:
    """A problem with the file and the line that it is in."""
    lines, line = text.split("\n"), problem["line"]
    shown = lines[line - 1] if line and line <= len(lines) else ""
    return {"file": str(file), **problem, "text": shown}


def _fields(problem: Json) -> Json:
    return {name: value for name, value in problem.items() if name != "text"}


def _show(session: Session, problems: list[Json]) -> None:
    from ragdb.cli import text
    from ragdb.contracts import contract_file

    if session.format != "table":
        session.rows(map(_fields, problems))
        return
    for p in problems:
        message = f"{p['severity']}: {p['message']} [{p['rule']}]"
        if p["line"]:
            place = (p["line"], p["column"] or 1)
            shown = contract_file.show(p["file"], *place, message, p["hint"], p["text"])
        else:  # of a node of JSON
            hint = f"\n  hint: {p['hint']}" if p["hint"] else ""
            shown = f"{p['file']}: {message}{hint}"
        print(text.clean(shown))
