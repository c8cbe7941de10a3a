"""Corpora that are being imported."""

from ragdb.migrate import run_script

revision = "0013_import"
down_revision = "0012_reranks"


def upgrade() -> None:
    run_script(__file__)
