"""How many candidates a walk of a space's index looks at."""

from ragdb.migrate import run_script

revision = "0008_recall"
down_revision = "0007_surfaces"


def upgrade() -> None:
    run_script(__file__)
