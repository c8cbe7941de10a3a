"""Processes that read: a file that kills one is a file that failed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import forkserver, get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.queues import SimpleQueue
from types import FrameType

from ragdb.ingest.reading import Outcome, Task, read
from ragdb.ingest.report import Failed
from ragdb.ingest.stopping import Stop

# asks a worker to stop reading, and nothing else. SIGTERM has to end it: an executor that lost a
# worker so ends the others, from Python 3.12 on, and waits until they are gone
LEAVE = signal.SIGUSR1


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

    def __init__(self, workers: int, stop: Stop | None = None) -> None:
        self.workers = workers
        self.stop = stop or Stop()
        self.executor: ProcessPoolExecutor | None = None
        self.told: SimpleQueue[tuple[str, float]] | None = None
        self.parts: dict[str, float] = {}  # which part of a file is read
        # so many tasks may lie finished or begun, in memory
        self.ahead = 0 if workers == 1 else 2 * workers

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self.executor:
            workers = list(self.executor._processes or ())
            try:
                if kind:
                    # nobody wants what they read now
                    _signal(workers, LEAVE)
                # after an interrupt too: leaving waits for workers anyway, and complains of their
                # pipes
                self.executor.shutdown(cancel_futures=True)
            except KeyboardInterrupt:
                # who asks again does not wait. A thread whose join is interrupted counts as ended,
                # so the end of this process would wait for workers that nobody told to end
                _signal(workers, signal.SIGKILL)
                raise

    def submit(self, task: Task) -> Waiting:
        if self.workers == 1:
            return Waiting(task, None)
        # a worker that is not known yet could not be ended, and would complain of our end
        with self.stop.whole():
            try:
                return Waiting(task, self._executor().submit(_work, self.work, task))
            except BrokenProcessPool:
                self.executor = None
                return Waiting(task, self._executor().submit(_work, self.work, task))

    def result(self, waiting: Waiting, look: Callable[[float], None] | None = None) -> Outcome:
        """The outcome of a task; `look` hears how far it is while it is waited for."""
        if waiting.future is None:
            with self.stop.unheld():
                return self.work(waiting.task, look)
        try:
            return self._awaited(waiting.task, waiting.future, look)
        except BrokenProcessPool:
            self.stop.check()  # what asked us to stop may have ended the workers
            with _processes(1) as alone:
                try:
                    return alone.submit(_work, self.work, waiting.task).result()
                except BrokenProcessPool:
                    reason = "reading it killed the process that read it"
                    return Outcome(failures=[Failed(waiting.task.source.uri, reason, None)])

    def _awaited(
        self, task: Task, future: Future[Outcome], look: Callable[[float], None] | None
    ) -> Outcome:
        self.stop.check()
        while not futures.wait([future], timeout=0.2).done:
            while self.told is not None and not self.told.empty():
                uri, part = self.told.get()
                self.parts[uri] = part
            if look:
                look(self.parts.get(task.source.uri, 0.0))
            self.stop.check()
        return future.result()

    def _executor(self) -> ProcessPoolExecutor:
        if self.executor is None:
            self.told = get_context("forkserver").SimpleQueue()
            self.executor = _processes(self.workers, self.told)
        return self.executor


def _signal(workers: list[int], number: signal.Signals) -> None:
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _processes(
    count: int, told: SimpleQueue[tuple[str, float]] | None = None
) -> ProcessPoolExecutor:
    # not fork: this process has a connection, and may have threads
    context = get_context("forkserver")
    context.set_forkserver_preload(["ragdb.ingest.reading"])
    # it is deaf to Ctrl-C only once it has imported that, and a terminal tells all processes
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ProcessPoolExecutor(
        count, mp_context=context, initializer=_become_worker, initargs=(told,)
    )


def _work(work: Callable[[Task, Callable[[float], None]], Outcome], task: Task) -> Outcome:
    """Read in a worker, which tells the driver how far it is."""

    def tell(part: float) -> None:
        if _told is not None:
            _told.put((task.source.uri, part))

    global _is_at_work
    _is_at_work = True
    try:
        if _is_asked_to_leave:
            raise KeyboardInterrupt
        return work(task, tell)
    finally:
        _is_at_work = False


_told: SimpleQueue[tuple[str, float]] | None = None
_is_at_work = _is_asked_to_leave = False


def _leave(number: int, frame: FrameType | None) -> None:
    """Stop reading, and nothing else: a worker that ends by itself breaks its pool."""
    global _is_asked_to_leave
    _is_asked_to_leave = True
    if _is_at_work:
        raise KeyboardInterrupt


def _become_worker(told: SimpleQueue[tuple[str, float]] | None) -> None:
    """Leave Ctrl-C to the driver, stop reading when it says so, and end when it is gone."""
    global _told
    _told = told
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(LEAVE, _leave)
    parent = parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
