"""Alembic enters here, and ragdb.migrate does the work."""

from alembic import context
from alembic.util import CommandError

from ragdb import migrate, settings

# verbs of the program alembic that ragdb does without
REFUSED = {
    "downgrade": "ragdb only goes up; to go back, restore a backup",
    "check": "the tables of ragdb are SQL files, which alembic cannot compare with a database;"
    " `ragdb doctor` checks a database",
}

asked = getattr(context.config.cmd_opts, "cmd", None)  # None where the program is not alembic
if asked and asked[0].__name__ in REFUSED:
    raise CommandError(REFUSED[asked[0].__name__])
dsn = (
    context.config.attributes.get("dsn")
    or settings.connection(context.get_x_argument(as_dictionary=True).get("dsn")).conninfo
)
try:
    migrate.upgrade(context._proxy, dsn)  # type: ignore[attr-defined]
except (migrate.NotReady, migrate.InUse) as error:
    if not asked:
        raise
    raise CommandError(str(error)) from error
