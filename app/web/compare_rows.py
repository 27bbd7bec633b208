"""What is told of every layout of a comparison: batch, time, rates, traffic, memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from app.services.comparing import Side
from app.web import numbers
from app.web.controls import CHOICE_LABELS
from app.web.values import in_effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One value of the table; `differs` from the first layout's."""

    text: str
    differs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRow:
    """One thing that is told of every layout."""

    label: str
    values: tuple[Value, ...]


def _schedule(side: Side) -> str:
    name = str(in_effect(side.inputs)["layout.schedule"]) if side.inputs else ""
    return CHOICE_LABELS.get(name, name)


_Read = Callable[[Side], str]


def _of(section: str, name: str, told: Callable[[Any], str]) -> _Read:
    return lambda side: told(side.answer[section][name])


def _percent(value: Any) -> str:
    return numbers.percent(value, 2)


ROWS: tuple[tuple[str, _Read], ...] = (
    ("Step", _of("time", "step_s", numbers.seconds)),
    ("Throughput", _of("throughput", "tokens_per_s", lambda value: numbers.rate(value, "tokens/s"))),
    ("MFU", _of("throughput", "mfu", _percent)),
    ("Peak reached while computing", lambda side: _percent(side.computing_fraction)),
    ("Bubble", _of("time", "bubble_fraction", _percent)),
    ("Recompute", _of("time", "recompute_s", numbers.seconds)),
    ("Exposed tensor traffic", _of("time", "tensor_parallel_s", numbers.seconds)),
    ("Exposed gradient traffic", _of("time", "data_parallel_s", numbers.seconds)),
    ("Stage to stage", _of("time", "pipeline_p2p_s", numbers.seconds)),
    ("Largest stage", _of("memory", "peak_bytes", numbers.gib)),
    ("Spare", lambda side: numbers.gib(side.answer["memory"]["headroom_bytes"])),
)
_BATCH_ROWS: tuple[tuple[str, _Read], ...] = (
    ("Replicas", lambda side: f"{side.inputs.layout.data_parallel:,}" if side.inputs else ""),
    ("Micro-batches", lambda side: numbers.count(side.answer["batch"]["num_micro_batches"])),
    ("Global batch", lambda side: numbers.count(side.answer["batch"]["global_batch_size"])),
    ("Schedule", _schedule),
)


def result_rows(sides: Sequence[Side]) -> tuple[CompareRow, ...]:
    """Every row, with what differs from the first layout."""
    rows = []
    for label, read in (*_BATCH_ROWS, *ROWS):
        texts = [read(side) if side.answer.get("legal") else "–" for side in sides]
        values = tuple(Value(text=text, differs=text not in (texts[0], "–")) for text in texts)
        rows.append(CompareRow(label=label, values=values))
    return tuple(rows)
