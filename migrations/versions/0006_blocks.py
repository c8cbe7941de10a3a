"""Blocks of the lexical index speak of groups of four chunks; its dictionary has room to grow."""

from ragdb.migrate import run_script

revision = "0006_blocks"
down_revision = "0005_answers"


def upgrade() -> None:
    run_script(__file__)
