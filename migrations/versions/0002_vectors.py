"""Vectors: embedders, spaces, embeddings of chunks and queries, the embedding queue."""

from ragdb.migrate import run_script

revision = "0002_vectors"
down_revision = "0001_core"


def upgrade() -> None:
    run_script(__file__)
