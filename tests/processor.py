"""What a backend has spent of a processor, which no other work on the machine adds to."""

from __future__ import annotations

from typing import Any

import psutil
import psycopg


def spent(db: psycopg.Connection[Any]) -> float:
    """Seconds that the backend of a connection has used, to a hundredth."""
    times = psutil.Process(db.info.backend_pid).cpu_times()
    return float(times.user + times.system)
