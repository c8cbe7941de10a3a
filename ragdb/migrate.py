"""Where revisions of the schema find `run_script`."""

from ragdb.server.migrate import run_script as run_script
