"""The postgresql.conf of the embedded server."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path

LIMITS = (  # of a container's memory, by both versions of cgroups
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def first() -> dict[str, str]:
    """What it is first written with; the owner of the folder may edit it after."""
    memory = _memory() // 2**20
    system = {}
    if sys.platform == "linux":
        system["recovery_init_sync_method"] = "syncfs"
        # a container has 64 MB there, and processes that build an index share more
        if Path("/dev/shm").exists() and shutil.disk_usage("/dev/shm").total < 2**30:
            system["dynamic_shared_memory_type"] = "sysv"
    return system | {
        "listen_addresses": "",
        # the socket lies in a folder of mode 0700: reaching it is the authentication
        "unix_socket_permissions": "0700",
        "shared_buffers": f"{max(128, min(1024, memory // 8))}MB",
        "effective_cache_size": f"{memory // 2}MB",
        "work_mem": "32MB",
        "maintenance_work_mem": f"{max(64, min(512, memory // 16))}MB",
        "max_wal_size": "2GB",
        "random_page_cost": "1.1",
        # a load needs the room that it leaves behind again after seconds, not after a minute
        "autovacuum_naptime": "5s",
        # compiling costs more than it saves on queries of milliseconds
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        # neither document text nor parameters may reach the log
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
        "log_parameter_max_length": "0",
        "logging_collector": "on",
        "log_filename": "postgresql-%a.log",
        "log_rotation_age": "1d",
        "log_truncate_on_rotation": "on",
    }


def _memory() -> int:
    """Bytes of memory of this machine, or of the container where that may have less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in LIMITS:
        with contextlib.suppress(OSError, ValueError):  # "max" where there is none
            memory = min(memory, int(limit.read_text()))
    return memory
