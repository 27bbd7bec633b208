"""The numbers of an estimate that a search can limit, by the names of the answer, as columns."""

from collections.abc import Callable

import numpy as np

from app.calculator.answer import TIME_PARTS
from app.calculator.estimate import Estimates
from app.calculator.layout import Column, Layout
from app.calculator.step_axes import AXES
from app.calculator.units import TERA

Number = Column | float
Read = Callable[[Estimates], Number]

_TIMES = (
    "step_s",
    *TIME_PARTS,
    "bubble_fraction",
    "bubble_over_ideal",
    "imbalance_s_per_step",
    "mean_idle_fraction",
)
_WORDS = ("layers_per_stage", "rank_order")  # of a layout, not numbers


def _time(name: str) -> Read:
    return lambda told: getattr(told.time, name)


def _axis(axis: str, name: str) -> Read:
    return lambda told: getattr(told.time.axes[axis], name)


def _layout(name: str) -> Read:
    return lambda told: getattr(told.layouts, name)


COLUMNS: dict[str, Read] = {
    "memory.peak_bytes": lambda told: told.peak_bytes,
    "memory.usable_bytes": lambda told: told.usable_bytes,
    "memory.headroom_bytes": lambda told: told.headroom_bytes,
    **{f"time.{name}": _time(name) for name in _TIMES},
    "throughput.model_flop_per_step": lambda told: told.model_flop_per_step,
    "throughput.hardware_flop_per_step": lambda told: told.hardware_flop_per_step,
    "throughput.model_tflops_per_gpu": lambda told: told.model_flop_per_s_per_gpu / TERA,
    "throughput.hardware_tflops_per_gpu": lambda told: told.hardware_flop_per_s_per_gpu / TERA,
    "throughput.mfu": lambda told: told.mfu,
    "throughput.hfu": lambda told: told.hfu,
    "throughput.tokens_per_s": lambda told: told.tokens_per_s,
    "throughput.tokens_per_s_per_gpu": lambda told: told.tokens_per_s / told.num_gpus,
    "batch.num_micro_batches": lambda told: told.work.micro_batches,
    "batch.tokens_per_step": lambda told: told.tokens_per_step,
    **{
        f"communication.{axis}.{name}": _axis(axis, name)
        for axis in AXES
        for name in ("group_size", "bytes_per_step", "operations_per_step", "time_s", "exposed_s")
    },
    **{
        f"layout.{name}": _layout(name)
        for name in Layout.__dataclass_fields__
        if name not in _WORDS and name not in ("schedule", "recompute")
    },
}


def short_names() -> dict[str, str]:
    """Last part of a name → the name, where that is unique or a layout's field."""
    found: dict[str, list[str]] = {}
    for name in COLUMNS:
        found.setdefault(name.rpartition(".")[2], []).append(name)
    short = {key: names[0] for key, names in found.items() if len(names) == 1}
    return short | {name.partition(".")[2]: name for name in COLUMNS if name.startswith("layout.")}


SHORT_NAMES = short_names()


def every_number(told: Estimates) -> int:
    """Work out every number of the answer, as many as there are for each layout; how many that is."""
    for read in COLUMNS.values():
        np.asarray(read(told))
    return len(COLUMNS)
