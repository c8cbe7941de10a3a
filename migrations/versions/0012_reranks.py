"""Rerankers, and what they made of recorded retrievals."""

from ragdb.migrate import run_script

revision = "0012_reranks"
down_revision = "0011_refresh"


def upgrade() -> None:
    run_script(__file__)
