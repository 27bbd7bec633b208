"""The working of each axis' traffic: the group, what it sends, how long that takes and what of it is waited
for.

The layers' share is opened by layer; gradients, vocabularies and sends stand beside it.
"""

from dataclasses import dataclass

from app.calculator import communication as comm
from app.calculator.collectives import Number
from app.calculator.explain import Line, line
from app.calculator.stages import vocabularies
from app.calculator.step_axes import AxisColumns
from app.calculator.step_time import TimeColumns
from app.calculator.step_working import LAYERS, Step, number_of, per_layer

RING_SOURCE = "ring collectives with an α–β cost: Thakur et al. 2005"
SEND_SOURCE = "Narayanan et al. 2021, section 4.1; an end stage has a neighbour on one side only"
_GROUPS = {
    "tensor_parallel": "tensor",
    "context_parallel": "context",
    "pipeline_parallel": "stages",
    "data_parallel": "data * context",
    "expert_parallel": "experts",
}
_QUANTITIES = (
    ("bytes_per_step", "sent_bytes", "bytes"),
    ("operations_per_step", "operations", "operations"),
    ("time_s", "time_s", "s"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """Data-parallel traffic beside the layers': of a vocabulary matrix by micro-batch, and once a step."""

    tables: float
    table: comm.Traffic
    gradients: comm.Traffic


def traffic_lines(step: Step, time: TimeColumns) -> list[Line]:
    """Every number of every axis; an axis of one rank sends nothing."""
    beside = _Beside(
        tables=number_of(vocabularies(step.line.slowest, step.cost)),
        table=step.cost.vocabulary_data,
        gradients=time.axes.sync,
    )
    lines: list[Line] = []
    for axis in time.axes:
        columns = time.axes[axis]
        prefix = f"communication.{axis}"
        lines.append(_group_line(axis, step, columns))
        for key, part, unit in _QUANTITIES:
            value = getattr(columns, key)[0].item()
            formula, values = _sum(axis, part, step, beside)
            source = SEND_SOURCE if axis == "pipeline_parallel" else RING_SOURCE
            lines.append(line(f"{prefix}.{key}", formula, values, value, unit=unit, source=source))
        lines.append(_exposed_line(axis, columns))
    return lines


def _group_line(axis: str, step: Step, columns: AxisColumns) -> Line:
    work = step.work
    values = {
        "tensor": number_of(work.tensor),
        "context": number_of(work.context),
        "stages": number_of(work.pipeline),
        "data": number_of(work.data),
        "experts": number_of(work.expert),
    }
    return line(
        f"communication.{axis}.group_size",
        _GROUPS[axis],
        values,
        int(columns.group_size[0]),
        unit="devices",
        source="the layout; gradients are summed over context and data parallel ranks together",
    )


def _sum(axis: str, part: str, step: Step, beside: _Beside) -> tuple[str, dict[str, float]]:
    """The formula of one quantity of an axis, and its numbers."""
    if axis == "pipeline_parallel":
        values = {
            "micro_batches": step.micro_batches,
            "share": number_of(step.line.slowest.sends),
            "sends": number_of(getattr(step.cost.sends, part)),
        }
        return "micro_batches * share * sends", values
    name = axis.removesuffix("_parallel")
    early, late = (getattr(getattr(kind, name), part) for kind in (step.cost.early, step.cost.late))
    values = per_layer(step, early, late)
    if axis != "data_parallel":
        return LAYERS, values
    values |= {
        "tables": beside.tables,
        "table": _part(beside.table, part),
        "after_the_layers": _part(beside.gradients, part),
    }
    return f"{LAYERS} + micro_batches * tables * table + after_the_layers", values


def _part(traffic: comm.Traffic, part: str) -> float:
    value: Number = getattr(traffic, part)
    return number_of(value)


def _exposed_line(axis: str, columns: AxisColumns) -> Line:
    """What the step waits for is a part of the step, whose own working opens it."""
    part = "pipeline_p2p_s" if axis == "pipeline_parallel" else f"{axis}_s"
    value = columns.exposed_s[0].item()
    return line(
        f"communication.{axis}.exposed_s",
        part.removesuffix("_s"),
        {part.removesuffix("_s"): value},
        value,
        unit="s",
        source=f"time.{part}: what does not run beside other work",
    )
