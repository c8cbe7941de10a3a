"""Every table of the first release: one file a domain, in the folder of this name."""

from ragdb.server.migrate import run_script

revision = "0001_first_release"
down_revision = None


def upgrade() -> None:
    run_script(revision)
