"""How long something takes beside a fixed piece of plain Python: a bound without a bare time."""

import time
from collections.abc import Callable
from typing import Any


def million_additions() -> None:
    """The unit: about 50 ms of processor time on the machines this is built on."""
    total = 0
    for number in range(1_000_000):
        total += number


def _processor_s(call: Callable[[], Any]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def pace(call: Callable[[], Any]) -> float:
    """Processor time of `call` in units of a million additions: 1 is about 50 ms."""
    spent = _processor_s(call)
    return spent / min(_processor_s(million_additions) for _ in range(2))
