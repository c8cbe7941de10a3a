"""Who put a blob, jobs of the wire capabilities, tokens of the HTTP server."""

from ragdb.migrate import run_script

revision = "0007_surfaces"
down_revision = "0006_blocks"


def upgrade() -> None:
    run_script(__file__)
