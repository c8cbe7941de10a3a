"""Decisions over proposals."""

from ragdb.migrate import run_script

revision = "0008_decisions"
down_revision = "0006_blocks"


def upgrade() -> None:
    run_script(__file__)
