"""Contracts, their nodes, evaluations: cases, labels, runs and their results, baselines."""

from ragdb.migrate import run_script

revision = "0004_contracts"
down_revision = "0003_graph"


def upgrade() -> None:
    run_script(__file__)
