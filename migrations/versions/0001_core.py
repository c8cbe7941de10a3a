"""Core: corpora, documents, chunks, edges, the lexical index, traces."""

from ragdb.migrate import run_script

revision = "0001_core"
down_revision = None


def upgrade() -> None:
    run_script(__file__)
