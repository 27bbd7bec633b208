"""What a search found, in words and figures: the best, the table with reasons, the fronts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.calculator.fields import LAYOUT_FIELDS
from app.services.estimation import estimate_inputs
from app.services.input_write import input_value
from app.services.inputs import Inputs
from app.services.search_words import differences
from app.web import numbers
from app.web.charts.figure import Figure
from app.web.charts.pareto import Across, Point, pareto_figure
from app.web.controls import CHOICE_LABELS
from app.web.schedule_view import Headline, Readout

GIB = 2**30
AXES = (
    ("T", "tensor_parallel"), ("P", "pipeline_parallel"), ("D", "data_parallel"), ("C", "context_parallel"),
    ("E", "expert_parallel"),
)  # fmt: skip
MEMORY = Across(name="memory of the fullest stage", unit="GiB", column="Memory")
BATCH = Across(name="global batch", unit="", column="Global batch")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One layout of the table."""

    place: int
    url: str
    axes: tuple[tuple[str, int], ...]
    rest: str  # everything but the degrees
    batch: str  # where there are several
    step: str
    tokens: str
    spare: str
    borderline: bool
    why: str


def row_views(best: Sequence[Row], *, batches: bool) -> tuple[RowView, ...]:
    """The table's rows."""
    return tuple(
        RowView(
            place=place,
            url=row["url"],
            axes=axes_of(row["layout"]),
            rest=rest_of(row["layout"]),
            batch=numbers.count(row["training"]["global_batch_size"]) if batches else "",
            step=numbers.seconds(row["summary"]["step_s"]),
            tokens=numbers.significant(row["summary"]["tokens_per_s"]),
            spare=numbers.gib(row["summary"]["headroom_bytes"]),
            borderline=row["summary"]["fits"] == "borderline",
            why=row["why"],
        )
        for place, row in enumerate(best, start=1)
    )


def axes_of(layout: Row) -> tuple[tuple[str, int], ...]:
    """Letter and size of every axis that is used; tensor, pipeline and data always."""
    return tuple((letter, layout[name]) for letter, name in AXES if letter in "TPD" or layout[name] > 1)


def rest_of(layout: Row) -> str:
    """What a layout is besides its degrees: "micro-batch 2, 6 chunks, ZeRO 1, recompute selective"."""
    said: list[str] = [f"micro-batch {layout['micro_batch_size']}"]
    schedule, chunks = layout["schedule"], layout["virtual_pipeline_stages"]
    if layout["pipeline_parallel"] > 1:
        said.append(f"{chunks} chunks" if chunks > 1 else CHOICE_LABELS.get(schedule, str(schedule)))
    said.append(f"ZeRO {layout['zero_stage']}" if layout["zero_stage"] else "")
    said.append(f"recompute {layout['recompute']}" if layout["recompute"] != "none" else "")
    said.append("sequence parallelism" if layout["sequence_parallel"] else "")
    return ", ".join(filter(None, said))


def spoken(layout: Row) -> str:
    """A layout in words, for a point of a figure."""
    return f"{degrees_of(layout)}, {rest_of(layout)}"


def degrees_of(layout: Row) -> str:
    """The degrees in words: "tensor 8, pipeline 4, data 16"."""
    names = {"T": "tensor", "P": "pipeline", "D": "data", "C": "context", "E": "expert"}
    return ", ".join(f"{names[letter]} {size}" for letter, size in axes_of(layout))


def headline(answer: Row, inputs: Inputs, *, stopped: bool) -> tuple[Headline, str]:
    """The sentence on top, and how the reader's own layout compares."""
    best = answer["best"]
    if not best:
        return _nothing(answer), _own_alone(inputs)
    first = best[0]
    lead = "Best so far:" if stopped else "Best:"
    told = {
        "headroom_bytes": f"{numbers.gib(first['summary']['headroom_bytes'])} to spare with",
        "step_s": f"{numbers.seconds(first['summary']['step_s'])} a step with",
    }.get(
        answer["objective"], f"{numbers.significant(first['summary']['tokens_per_s'])} tokens a second with"
    )
    head = Headline(
        tone="warn" if stopped else "good", lead=lead, rest=f"{told} {degrees_of(first['layout'])}."
    )
    return head, _compared(first, inputs)


def _nothing(answer: Row) -> Headline:
    if not answer["legal"]:
        rest = "no layout of this cluster keeps every rule with this batch."
    elif not answer["fitting"]:
        rest = f"none of the {numbers.count(answer['legal'])} legal layouts fits in memory."
    else:
        rest = f"{numbers.count(answer['fitting'])} layouts fit, and none keeps every limit."
    return Headline(tone="bad", lead="Nothing found:", rest=rest)


def _own_alone(inputs: Inputs) -> str:
    return "" if estimate_inputs(inputs, working=False)["legal"] else "Your own layout breaks a rule as well."


def _compared(first: Row, inputs: Inputs) -> str:
    """Where the reader's own layout stands against the best."""
    own = estimate_inputs(inputs, working=False)
    if not own["legal"]:
        return "Your own layout breaks a rule, so it is not among them."
    layout = {field.key: input_value(inputs, field.path) for field in LAYOUT_FIELDS}
    mine = {key: list(value) if isinstance(value, tuple) else value for key, value in layout.items()}
    changed = differences(mine, first["layout"])
    batch, best_batch = inputs.training.global_batch_size, first["training"]["global_batch_size"]
    if batch != best_batch:
        changed.append(f"global batch {batch} → {best_batch}")
    if not changed:
        return "It is your own layout."
    slower = first["summary"]["tokens_per_s"] / own["throughput"]["tokens_per_s"] - 1
    step = numbers.seconds(own["time"]["step_s"])
    pace = f"{step} a step" + (f", {numbers.percent(slower)} slower" if slower > 0 else "")
    fits = own["memory"]["fits"] != "no"
    said = f"takes {pace}" if fits else f"does not fit; it would take {pace}"
    return f"Your own layout {said}. From it to the best: {', '.join(changed)}."


def readouts(answer: Row) -> tuple[Readout, ...]:
    """How many layouts there are."""
    took = numbers.split_unit(numbers.seconds(answer["elapsed_s"]))
    return (
        Readout(label="Layouts tried", value=numbers.count(answer["enumerated"])),
        Readout(label="Legal", value=numbers.count(answer["legal"])),
        Readout(label="Fit in memory", value=numbers.count(answer["fitting"])),
        Readout(label="Took", value=took[0], unit=took[1]),
    )


def memory_figure(answer: Row) -> Figure:
    """Throughput against memory: the front, and the table's layouts as rings."""
    front = [_point(row, row["summary"]["peak_bytes"] / GIB) for row in _of(answer, "memory")]
    known = {point.url for point in front}
    rings = [
        _point(row, row["summary"]["peak_bytes"] / GIB, on_front=False)
        for row in answer["best"][:20]
        if row["url"] not in known
    ]
    return pareto_figure([*front, *rings], MEMORY, id="pareto-memory")


def batch_figure(answer: Row) -> Figure:
    """Throughput against global batch: the fastest layout of each."""
    points = [_point(row, row["training"]["global_batch_size"]) for row in _of(answer, "batch")]
    return pareto_figure(points, BATCH, id="pareto-batch")


def _of(answer: Row, front: str) -> list[Row]:
    return [row for row in answer["pareto"] if row["front"] == front]


def _point(row: Row, x: float, *, on_front: bool = True) -> Point:
    return Point(
        x=x,
        tokens_per_s=row["summary"]["tokens_per_s"],
        url=row["url"],
        says=spoken(row["layout"]),
        on_front=on_front,
    )
