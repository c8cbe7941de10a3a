"""The dictionary knows what words weighed in their blocks; blocks are no wider than they need."""

from ragdb.migrate import run_script

revision = "0014_block_weights"
down_revision = "0013_import"


def upgrade() -> None:
    run_script(__file__)
