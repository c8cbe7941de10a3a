"""Rollups of retrievals, and the marks of hours that they have to count again."""

from ragdb.migrate import run_script

revision = "0010_bi"
down_revision = "0009_decisions"


def upgrade() -> None:
    run_script(__file__)
