"""What the database says beside its answers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


def said(notice: psycopg.errors.Diagnostic) -> tuple[str, str] | None:
    """What a notice of ragdb says and its hint; None for one of the server's, which have none."""
    if notice.severity_nonlocalized == "NOTICE" and notice.message_hint:
        return notice.message_primary or "", notice.message_hint
    return None


def log(notice: psycopg.errors.Diagnostic) -> None:
    """Log what a notice of ragdb says; where a program sets up no logging, Python prints it."""
    if found := said(notice):
        logging.getLogger("ragdb").warning("%s; %s", *found)


@contextmanager
def heard(
    connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any],
) -> Iterator[list[str]]:
    """The notices of ragdb on a connection while it is asked, as they come."""
    found: list[str] = []

    def hear(notice: psycopg.errors.Diagnostic) -> None:
        if told := said(notice):
            found.append("; ".join(told))

    connection.add_notice_handler(hear)
    try:
        yield found
    finally:
        connection.remove_notice_handler(hear)
