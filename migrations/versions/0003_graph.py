"""The graph: turns, slice policies, slices, signing keys, atoms, proposals, incidents."""

from ragdb.migrate import run_script

revision = "0003_graph"
down_revision = "0002_vectors"


def upgrade() -> None:
    run_script(__file__)
