"""Alembic enters here, and ragdb.server.migrate does the work."""

from alembic import context
from alembic.util import CommandError

from ragdb.server import code, migrate, prepare, settings

dsn = (
    context.config.attributes.get("dsn")
    or settings.connection(context.get_x_argument(as_dictionary=True).get("dsn")).conninfo
)
try:
    migrate.upgrade(context._proxy, dsn)  # type: ignore[attr-defined]
except (prepare.NotReady, migrate.OtherBuild, code.InUse) as error:
    if not hasattr(context.config.cmd_opts, "cmd"):  # not the program alembic
        raise
    raise CommandError(str(error)) from error
