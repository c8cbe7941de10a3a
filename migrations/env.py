"""Alembic enters here, and ragdb.server.migrate does the work."""

from alembic import context

from ragdb.server import migrate, settings

dsn = (
    context.config.attributes.get("dsn")
    or settings.connection(context.get_x_argument(as_dictionary=True).get("dsn")).conninfo
)
migrate.upgrade(context._proxy, dsn)  # type: ignore[attr-defined]
