"""When the sources of contracts were read."""

from ragdb.migrate import run_script

revision = "0011_refresh"
down_revision = "0010_bi"


def upgrade() -> None:
    run_script(__file__)
