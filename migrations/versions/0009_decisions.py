"""Decisions over proposals."""

from ragdb.migrate import run_script

revision = "0009_decisions"
down_revision = "0008_recall"


def upgrade() -> None:
    run_script(__file__)
