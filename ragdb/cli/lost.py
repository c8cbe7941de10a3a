"""The end of a command whose server is gone while it waits for something else, such as a model."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import Any, NoReturn

import psycopg

EVERY = 0.5  # seconds between looks
GRACE = 1.0  # seconds within which the command may find out by itself
SIGNAL = getattr(signal, "SIGUSR1", None)  # Windows has none, and there a command ends later


def watch(connection: psycopg.Connection[Any]) -> None:
    """Raise psycopg.OperationalError in the main thread once the server has hung up."""
    if SIGNAL is None or threading.current_thread() is not threading.main_thread():
        return
    signal.signal(SIGNAL, _raise)
    threading.Thread(target=_look, args=(connection,), daemon=True).start()


def _look(connection: psycopg.Connection[Any]) -> None:
    while not connection.closed:
        if _is_gone(connection):
            time.sleep(GRACE)
            # closed is also one by which the command has met the error
            if not connection.closed and SIGNAL is not None:
                signal.pthread_kill(threading.main_thread().ident or 0, SIGNAL)
            return
        time.sleep(EVERY)


def _is_gone(connection: psycopg.Connection[Any]) -> bool:
    """Look at the connection's next byte without taking it: after a hang-up there is none."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as copy:
            return copy.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except (OSError, psycopg.Error):  # closed by the command itself, or by the network
        return not connection.closed


def _raise(*_: object) -> NoReturn:
    raise psycopg.OperationalError("the server has closed the connection, or is gone")
