"""Layouts side by side: the same questions asked of each, and why each differs from the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.calculator.advisor import advise
from app.calculator.advisor_options import BatchRange, Situation
from app.calculator.binding import PART_NAMES
from app.calculator.fields import LAYOUT_FIELDS
from app.calculator.layout import Layout
from app.calculator.units import format_binary_bytes, format_percent, format_seconds
from app.catalog import Catalog
from app.catalog.constants import load_constants
from app.services.estimation import estimate_inputs
from app.services.input_write import input_value
from app.services.inputs import InputProblems, Inputs, parse_inputs
from app.services.search_words import PARTS, differences

MOST = 4
_TELLING = 0.15  # share of the largest change from which a further one is told
_INNER = ("layout.tensor_parallel", "layout.pipeline_parallel", "layout.context_parallel")
BATCH = "training.global_batch_size"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the layouts: inputs and answer, or what is wrong with it; and why it differs from the first."""

    inputs: Inputs | None
    answer: Mapping[str, Any]
    problems: tuple[tuple[str, str], ...] = ()
    changed: tuple[str, ...] = ()
    cause: str = ""
    memory_cause: str = ""

    @property
    def computing_fraction(self) -> float | None:
        """Share of the peak that is reached while a device computes, recompute counted."""
        if not self.answer.get("legal") or self.inputs is None:
            return None
        time, rates = self.answer["time"], self.answer["throughput"]
        busy_s = time["compute_s"] + time["recompute_s"]
        flop = rates["hardware_flop_per_step"] / self.inputs.cluster.num_gpus
        return float(flop / busy_s / _peak(self.inputs)) if busy_s else None


def _peak(inputs: Inputs) -> float:
    device = inputs.cluster.device
    fp8 = inputs.training.compute_dtype == "fp8" and device.peak_flops_fp8 > 0
    return device.peak_flops_fp8 if fp8 else device.peak_flops_bf16


def side_by_side(
    shared: Mapping[str, Any], own: Sequence[Mapping[str, Any]], catalog: Catalog, *, hold_batch: bool = True
) -> list[Side]:
    """Each layout is `shared` with its `own` changes, by path; the first's changes hold for all.

    Where a width or a depth changes, the replicas fill the cluster again. With `hold_batch` all have the
    first's global batch, and the micro-batches are counted anew.
    """
    base = {**shared, **(own[0] if own else {})}
    first = parse_inputs(base, catalog)
    held = None if isinstance(first, InputProblems) else first.training.global_batch_size
    sides: list[Side] = []
    for place, changes in enumerate(own):
        raw = {**base, **changes} if place else dict(base)
        if place and any(path in changes for path in _INNER) and "layout.data_parallel" not in changes:
            raw.pop("layout.data_parallel", None)
        if hold_batch and held is not None:
            raw[BATCH] = held
        inputs = parse_inputs(raw, catalog)
        if isinstance(inputs, InputProblems):
            told = tuple((problem.field, problem.message) for problem in inputs.problems)
            sides.append(Side(inputs=None, answer={}, problems=told))
            continue
        side = Side(inputs=inputs, answer=estimate_inputs(inputs, working=False))
        sides.append(_with_cause(sides[0], side) if sides else side)
    return sides


def _with_cause(first: Side, side: Side) -> Side:
    if first.inputs is None or side.inputs is None:
        return side
    one, other = _layout(first.inputs), _layout(side.inputs)
    changed = tuple(differences(one, other))
    side = replace(side, changed=changed)
    if not (first.answer["legal"] and side.answer["legal"]):
        return side
    return replace(
        side,
        cause=_time_cause(first.answer, side.answer),
        memory_cause=_memory_cause(first.answer, side.answer),
    )


def _time_cause(first: Mapping[str, Any], side: Mapping[str, Any]) -> str:
    """ "12 % slower: bubble +0.30 s, tensor traffic −0.10 s", for each token where the batch differs."""
    scale = first["batch"]["tokens_per_step"] / side["batch"]["tokens_per_step"]
    before, after = first["time"], side["time"]
    change = {name: after[name] * scale - before[name] for name in PARTS}
    slower = after["step_s"] * scale / before["step_s"] - 1
    if abs(slower) < 5e-5:
        return "As fast"
    pace = f"{format_percent(abs(slower))} {'slower' if slower > 0 else 'faster'}"
    told = _largest(change)
    parts = ", ".join(f"{PARTS[name]} {_signed(format_seconds(abs(by)), by)}" for name, by in told)
    return f"{pace}: {parts}" if parts else pace


def _memory_cause(first: Mapping[str, Any], side: Mapping[str, Any]) -> str:
    """The parts of the fullest stage that differ."""
    stages = (one["memory"]["stages"] for one in (first, side))
    before, after = (max(each, key=lambda stage: stage["total_bytes"]) for each in stages)
    change = {name: after[name] - before[name] for name in PART_NAMES}
    more = after["total_bytes"] - before["total_bytes"]
    if abs(more) < 2**20:
        return "As much memory"
    told = _largest(change)
    parts = ", ".join(f"{PART_NAMES[name]} {_signed(format_binary_bytes(abs(by)), by)}" for name, by in told)
    return f"{format_binary_bytes(abs(more))} {'more' if more > 0 else 'less'} memory: {parts}"


def _largest(change: Mapping[str, float]) -> list[tuple[str, float]]:
    by_size = sorted(change.items(), key=lambda item: -abs(item[1]))
    largest = abs(by_size[0][1])
    return [(name, by) for name, by in by_size if abs(by) >= _TELLING * largest and by][:3]


def _signed(words: str, by: float) -> str:
    return f"{'+' if by > 0 else '−'}{words}"


def _layout(inputs: Inputs) -> dict[str, Any]:
    return {field.key: input_value(inputs, field.path) for field in LAYOUT_FIELDS}


def counterpart(inputs: Inputs) -> dict[str, Any]:
    """A layout to set beside this one, by path: what the advisor takes, else twice the micro-batch."""
    batch = inputs.training.global_batch_size
    situation = Situation(
        model=inputs.model,
        cluster=inputs.cluster,
        training=inputs.training,
        base=inputs.layout,
        batches=BatchRange(least=batch, most=batch),
        constants=load_constants(),
    )
    option = advise(situation).option
    if option is not None and (changes := _changes(inputs, option.layout)):
        return changes
    return {"layout.micro_batch_size": 2 * inputs.layout.micro_batch_size}


def _changes(inputs: Inputs, layout: Layout) -> dict[str, Any]:
    other = replace(inputs, layout=layout)
    return {
        field.path: input_value(other, field.path)
        for field in LAYOUT_FIELDS
        if field.path != "layout.data_parallel"
        and input_value(other, field.path) != input_value(inputs, field.path)
    }
