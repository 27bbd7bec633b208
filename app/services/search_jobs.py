"""Searches beside everything else that the server does: small ones in turn, large ones with progress.

One thread answers small searches, one works through large ones, all at low priority: NumPy lets go of the
interpreter between blocks, so pages are served meanwhile. What is waiting is bounded; more is refused.
"""

import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Literal, TypeVar

from app.services.inputs import InputProblems
from app.services.search_inputs import SearchInputs
from app.services.searching import LARGE, prepare, run
from app.services.smallest_cluster import smallest_cluster

T = TypeVar("T")

MOST_WAITING = 32  # small searches
MOST_JOBS = 4  # large searches that are not done
KEPT_JOBS = 16  # with their answers
State = Literal["waiting", "running", "done", "stopped", "failed"]


class BusyError(Exception):
    """Too many searches at once: try again in a moment."""


class Job:
    """A large search: how far it is, and its answer when it has one."""

    def __init__(self, asked: SearchInputs) -> None:
        self.id = secrets.token_urlsafe(9)
        self.asked = asked
        self.total = asked.total
        self.done = 0
        self.state: State = "waiting"
        self.answer: dict[str, Any] | None = None
        self._start = time.monotonic()
        self._end: float | None = None
        self._stop = threading.Event()
        self._over = threading.Event()

    @property
    def elapsed_s(self) -> float:
        """Since it was asked for, until it ended."""
        return (self._end or time.monotonic()) - self._start

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("done", "stopped", "failed")

    def stop(self) -> None:
        """End it after the block that is being worked on; what was found until then is kept."""
        self._stop.set()
        if self.state == "waiting":
            self._ends("stopped")

    def work(self) -> None:
        """Search, block by block."""
        if self._stop.is_set():
            return
        self.state = "running"
        try:
            self.answer = run(self.asked, self._on_block)
            self._ends("stopped" if self._stop.is_set() else "done")
        except Exception:
            self._ends("failed")
            raise

    def _on_block(self, done: int) -> bool:
        self.done = done
        return not self._stop.is_set()

    def _ends(self, state: State) -> None:
        self._end = time.monotonic()
        self.state = state
        self._over.set()

    def wait(self, timeout_s: float) -> None:
        """Until it has ended, at most so long."""
        self._over.wait(timeout_s)

    def to_json(self) -> dict[str, Any]:
        """As the API tells it."""
        return {
            "id": self.id,
            "state": self.state,
            "done": self.done,
            "total": self.total,
            "elapsed_s": self.elapsed_s,
            "url": f"/api/v1/search/{self.id}",
            "answer": self.answer,
        }


Answer = Mapping[str, Any] | InputProblems | Job


class SearchDesk:
    """Where searches are handed in."""

    def __init__(self) -> None:
        self._quick = ThreadPoolExecutor(1, "search", _give_way, (5,))
        self._clusters = ThreadPoolExecutor(1, "smallest-cluster", _give_way, (10,))
        self._long = ThreadPoolExecutor(1, "long-search", _give_way, (10,))
        self._lock = threading.Lock()
        self._waiting = 0
        self._jobs: OrderedDict[str, Job] = OrderedDict()

    def ask(self, raw: object) -> "Future[Answer]":
        """The answer, what is wrong, or a job where it is large. Raises BusyError."""
        return self._soon(self._quick, self._answer, raw)

    def ask_smallest(self, raw: object) -> "Future[Mapping[str, Any] | InputProblems]":
        """The answer of the smallest-cluster verb. Raises BusyError."""
        return self._soon(self._clusters, smallest_cluster, raw)

    def ask_other(self, verb: Callable[[object], T], raw: object) -> "Future[T]":
        """The answer of a verb that searches on its way. Raises BusyError."""
        return self._soon(self._clusters, verb, raw)

    def _soon(self, on: ThreadPoolExecutor, verb: Callable[[object], T], raw: object) -> "Future[T]":
        with self._lock:
            if self._waiting >= MOST_WAITING:
                raise BusyError
            self._waiting += 1
        future = on.submit(verb, raw)
        future.add_done_callback(self._no_longer_waiting)
        return future

    def _no_longer_waiting(self, _: object) -> None:
        with self._lock:
            self._waiting -= 1

    def _answer(self, raw: object) -> Answer:
        asked = prepare(raw)
        if isinstance(asked, InputProblems):
            return asked
        return run(asked) if asked.total <= LARGE else self._job(asked)

    def _job(self, asked: SearchInputs) -> Job:
        """The job of this question: the one that there is, unless it was stopped, else a new one."""
        key = repr(asked)
        with self._lock:
            known = self._jobs.get(key)
            if known is not None and known.state not in ("stopped", "failed"):
                return known
            if sum(not job.ended for job in self._jobs.values()) >= MOST_JOBS:
                raise BusyError
            self._jobs.pop(key, None)
            ended = [old for old, job in self._jobs.items() if job.ended]
            for old in ended[: max(0, len(ended) - KEPT_JOBS + 1)]:
                del self._jobs[old]
            job = self._jobs[key] = Job(asked)
        self._long.submit(job.work)
        return job

    def find(self, id: str) -> Job | None:
        """The job of this name, while it is remembered."""
        with self._lock:
            return next((job for job in self._jobs.values() if job.id == id), None)

    def close(self) -> None:
        """Stop everything."""
        with self._lock:
            for job in self._jobs.values():
                job.stop()
        for pool in (self._quick, self._clusters, self._long):
            pool.shutdown(wait=False, cancel_futures=True)


def _give_way(nice: int) -> None:
    """Let the threads that serve pages go first, where the system has priorities for threads."""
    if hasattr(os, "setpriority") and hasattr(threading, "get_native_id"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
