"""`ragdb dashboards export`: files for Grafana, Superset, Metabase, dbt and psql."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Annotated

import typer

from ragdb.cli.app import verb
from ragdb.cli.session import Failure, Session
from ragdb.client.counting import counted

# what each takes of the folders
PARTS = {
    "grafana": ("grafana/", "provisioning/"),
    "superset": ("superset/",),
    "metabase": ("metabase/",),
    "dbt": ("dbt/",),
    "psql": ("reports/",),
}
SUFFIXES = (".json", ".yaml", ".yml", ".sql", ".psql")
ZIP = "superset/ragdb.zip"
URI = "postgresql+psycopg2://bi_reader@localhost:5432/ragdb"


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Dashboards, reports and dbt sources over the views of schema bi.")
    app.add_typer(group, name="dashboards", no_args_is_help=True)
    verb(group, "export")(export)


def export(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write to.")],
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="grafana|superset|metabase|dbt|psql", help="Only for this."),
    ] = None,
    uri: Annotated[
        str,
        typer.Option(metavar="URI", help="Superset: the database, as SQLAlchemy names it."),
    ] = URI,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Write dashboards, reports for psql and sources for dbt to a folder.

    grafana/ and provisioning/ are for Grafana, superset/ragdb.zip is an import for Superset,
    metabase/ is for the API of Metabase, dbt/ for dbt, reports/ for psql -f. docs/bi.md says how
    each is used.
    """
    if for_ is not None and for_ not in PARTS:
        raise Failure(f"--for is {for_[:80]!r}", hint=f"it is one of {', '.join(PARTS)}")
    _check(uri)
    parts = PARTS[for_] if for_ else tuple(part for of in PARTS.values() for part in of)
    files = {name: data for name, data in _files(uri).items() if name.startswith(parts)}
    there = [name for name in files if (folder / name).exists()]
    if there and not force:
        raise Failure(
            f"{folder / there[0]} exists", hint="give --force to overwrite it, or another folder"
        )
    from ragdb.files import replace

    for name, data in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace(path, data)
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror}") from None
    session.lines("file", [str(folder / name) for name in files])
    session.note(f"wrote {counted(len(files), 'file')}; see docs/bi.md")


def _check(uri: str) -> None:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        is_known = make_url(uri).get_backend_name() == "postgresql"
    except (ArgumentError, ValueError):  # a port that is not a number
        is_known = False
    if not is_known or not re.fullmatch(r"[!-~]+", uri):
        raise Failure("--uri is not the address of a PostgreSQL database", hint=f"as in {URI}")


def _files(uri: str) -> dict[str, bytes]:
    """Name and content of each file, by name; those for Superset packed as it takes them."""
    from importlib.resources import as_file, files

    found = {}
    for package, below in (("dashboards", ""), ("reports", "reports/")):
        with as_file(files(f"ragdb.{package}")) as root:
            for path in sorted(root.rglob("*")):
                if path.suffix in SUFFIXES:
                    found[below + path.relative_to(root).as_posix()] = path.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in [name for name in found if name.startswith("superset/")]:
            data = found.pop(name)
            if name == "superset/databases/ragdb.yaml":
                data = data.replace(URI.encode(), uri.encode())
            # the same bytes whenever it is packed
            archive.writestr(zipfile.ZipInfo(name.replace("superset/", "ragdb/", 1)), data)
    return found | {ZIP: packed.getvalue()}
