"""Documents by language."""

from ragdb.migrate import run_script

revision = "0015_languages"
down_revision = "0014_block_weights"


def upgrade() -> None:
    run_script(__file__)
