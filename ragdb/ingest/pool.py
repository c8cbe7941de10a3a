"""Processes that read: a file that kills one is a file that failed."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait

from ragdb.ingest.reading import Outcome, Task, read
from ragdb.ingest.report import Failed


@dataclass
class Waiting:
    """A task and the future of its outcome."""

    task: Task
    future: Future[Outcome] | None


class Pool:
    """Worker processes; with one worker, this process.

    A file that kills its worker (memory, a crash in a library) is a file that failed: the others
    of that moment are read again in a new process.
    """

    work = staticmethod(read)

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.executor: ProcessPoolExecutor | None = None
        # so many tasks may lie finished or begun, in memory
        self.ahead = 0 if workers == 1 else 2 * workers

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        if self.executor:
            # after an interrupt too: leaving waits for workers anyway, and complains of their pipes
            self.executor.shutdown(cancel_futures=True)

    def submit(self, task: Task) -> Waiting:
        if self.workers == 1:
            return Waiting(task, None)
        try:
            return Waiting(task, self._executor().submit(self.work, task))
        except BrokenProcessPool:
            self.executor = None
            return Waiting(task, self._executor().submit(self.work, task))

    def result(self, waiting: Waiting) -> Outcome:
        if waiting.future is None:
            return self.work(waiting.task)
        try:
            return waiting.future.result()
        except BrokenProcessPool:
            with _processes(1) as alone:
                try:
                    return alone.submit(self.work, waiting.task).result()
                except BrokenProcessPool:
                    reason = "reading it killed the process that read it"
                    return Outcome(failures=[Failed(waiting.task.source.uri, reason, None)])

    def _executor(self) -> ProcessPoolExecutor:
        if self.executor is None:
            self.executor = _processes(self.workers)
        return self.executor


def _processes(count: int) -> ProcessPoolExecutor:
    # not fork: this process has a connection, and may have threads
    context = get_context("forkserver")
    context.set_forkserver_preload(["ragdb.ingest.reading"])
    return ProcessPoolExecutor(count, mp_context=context, initializer=_become_worker)


def _become_worker() -> None:
    """Leave Ctrl-C to the driver, and end when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
