"""A lesson page while four searches run, against the same page alone: `python -m tests.load.search`.

A real server in a process of its own, because threads of one process share an interpreter.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

LESSON = "/courses/training/lessons/0013-all-three"
SEARCH = {"model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": 128, "global_batch_size": 1536}
PAGES, SEARCHES = 60, 4


class Beside(NamedTuple):
    """95th percentiles in milliseconds, and the searches answered meanwhile."""

    idle_ms: float
    small_ms: float
    large_ms: float
    search_ms: float
    searches: int

    @property
    def ratio(self) -> float:
        """How many times slower the page is at worst."""
        return max(self.small_ms, self.large_ms) / self.idle_ms


def ask(url: str, body: object = None, method: str | None = None) -> Any:
    """The answer's bytes; with a body, what its JSON says."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(url, data=data, headers=headers, method=method), timeout=120) as answer:
        told = answer.read()
    return json.loads(told) if body is not None else told


@contextmanager
def server() -> Iterator[str]:
    """`meshwright serve` on a free port and a new database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        more = {"PORT": str(port), "DATABASE_URL": f"sqlite:///{Path(folder) / 'load.db'}"}
        process = subprocess.Popen(
            [Path(sys.executable).parent / "meshwright", "serve"],
            env={**os.environ, **more},
            stdout=subprocess.DEVNULL,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                try:
                    ask(url + LESSON)
                    break
                except OSError:
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=10)


def page_ms(url: str) -> float:
    """The 95th percentile of the lesson page, in milliseconds."""
    taken = []
    for _ in range(PAGES):
        start = time.perf_counter()
        ask(url + LESSON)
        taken.append(time.perf_counter() - start)
        time.sleep(0.02)
    return 1e3 * sorted(taken)[round(0.95 * PAGES) - 1]


def measure() -> Beside:
    """Idle, with four people searching again and again, and with four large searches."""
    with server() as url:
        page_ms(url)
        idle_ms = page_ms(url)
        over, taken = threading.Event(), []

        def searching() -> None:
            while not over.is_set():
                start = time.perf_counter()
                ask(f"{url}/api/v1/search", SEARCH)
                taken.append(1e3 * (time.perf_counter() - start))

        people = [threading.Thread(target=searching) for _ in range(SEARCHES)]
        for person in people:
            person.start()
        small_ms = page_ms(url)
        over.set()
        for person in people:
            person.join()
        start = time.perf_counter()
        ask(f"{url}/api/v1/search", SEARCH)
        search_ms = 1e3 * (time.perf_counter() - start)
        varied = {"overlap_tensor_parallel": [False, True]}
        large = [
            {**SEARCH, "global_batch_size": None, "batch_range": [64 + i, 2**20], "fixed": varied}
            for i in range(SEARCHES)
        ]
        jobs = [ask(f"{url}/api/v1/search", question) for question in large]
        large_ms = page_ms(url)
        for job in jobs:
            ask(url + job["url"], method="DELETE")
        return Beside(idle_ms, small_ms, large_ms, search_ms, len(taken))


if __name__ == "__main__":
    found = measure()
    print(json.dumps({**found._asdict(), "ratio": found.ratio}, indent=1))
