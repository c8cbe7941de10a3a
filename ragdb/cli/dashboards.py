"""`ragdb dashboards export`: files for Grafana, psql and dbt."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Failure, Session


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Dashboards, reports and dbt sources over the views of schema bi.")
    app.add_typer(group, name="dashboards", no_args_is_help=True)
    verb(group, "export")(export)


def export(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Write files for Grafana, reports for psql and sources for dbt to a folder.

    grafana/ and provisioning/ are for Grafana, reports/ for psql -f, dbt/ for dbt. docs/bi.md says
    how each is used.
    """
    files = dict(_files())
    there = [name for name in files if (folder / name).exists()]
    if there and not force:
        raise Failure(
            f"{folder / there[0]} exists", hint="give --force to overwrite it, or another folder"
        )
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror}") from None
        print(path)
    session.note(f"wrote {len(files)} files; see docs/bi.md")


def _files() -> list[tuple[str, str]]:
    """Name and text of each file, by name."""
    from importlib.resources import as_file, files

    found = []
    for package, below in (("dashboards", ""), ("reports", "reports/")):
        with as_file(files(f"ragdb.{package}")) as root:
            for path in sorted(root.rglob("*")):
                if path.suffix in (".json", ".yaml", ".yml", ".sql", ".psql"):
                    found.append(
                        (below + path.relative_to(root).as_posix(), path.read_text("utf-8"))
                    )
    return found
