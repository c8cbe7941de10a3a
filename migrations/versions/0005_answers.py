"""Gates and answers: what evidence was weighed by, and what citations came to."""

from ragdb.migrate import run_script

revision = "0005_answers"
down_revision = "0004_contracts"


def upgrade() -> None:
    run_script(__file__)
