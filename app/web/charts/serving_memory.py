"""One device of each stage that serves: weights, what the server itself takes, room for the cache."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from app.web import numbers
from app.web.charts import svg
from app.web.charts.figure import Cell, Figure, KeyEntry, Table
from app.web.charts.memory import BAR, GAP, ROW, TOP, axis_marks, capacity_marks, shown_stages
from app.web.charts.svg import Percent

# Key of a stage, name, fill, texture: in the order of the bar.
ITEMS = (
    ("weights_bytes", "weights", "m-weights", ""),
    ("overhead_bytes", "overhead", "m-overhead", svg.DOTS),
    ("kv_budget_bytes", "room for the cache", "m-activations", ""),
)


def serving_memory_figure(memory: Mapping[str, Any], *, id: str = "mem", rows: int = 4) -> Figure:
    """The figure for the `memory` object of a serve answer."""
    stages = [_filled(stage) for stage in memory["stages"]]
    limit = float(memory["limit_bytes"])
    top = max(limit, *(stage["total_bytes"] for stage in stages)) * 1.005
    marks: list[Markup] = []
    labels: list[Markup] = []
    bars = []
    for row, stage in enumerate(shown_stages(stages, rows)):
        y = float(TOP + ROW * row)
        marks += _bar(stage, y, limit, top)
        labels += _labels(stage, y, limit)
        bars.append(y)
    bottom = TOP + ROW * len(bars)
    marks = axis_marks(bottom, top) + marks + capacity_marks(bars, limit, top) + labels
    told = ", ".join(f"stage {s['stage']} {numbers.gib_number(s['weights_bytes'])}" for s in stages[:32])
    title = f"Weights per GPU by stage, of {numbers.gib_number(limit)} GiB the server may take: {told}"
    weakest = min(stages, key=lambda stage: float(stage["kv_capacity_tokens"]))
    room = numbers.count(weakest["kv_capacity_tokens"])
    return Figure(
        id=id,
        svg=svg.fluid(id, bottom + 26, title, marks),
        key=tuple(KeyEntry(label=name, css=css, texture=texture) for _, name, css, texture in ITEMS),
        finding="What the weights leave is the cache.",
        caption=f"Stage {weakest['stage']} has room for {room} tokens.",
        table=_table(stages),
        table_title="The numbers, in GiB",
    )


def _filled(stage: Mapping[str, Any]) -> dict[str, Any]:
    """The stage with a room of zero where the weights leave none, and its total."""
    parts = {key: max(0.0, float(stage[key])) for key, *_ in ITEMS}
    return {**stage, **parts, "total_bytes": sum(parts.values())}


def _bar(stage: Mapping[str, Any], y: float, limit: float, top: float) -> list[Markup]:
    marks: list[Markup] = []
    start = 0.0
    for key, name, css, texture in ITEMS:
        share = float(stage[key]) / top * 100
        if share > 0:
            width = share - GAP if share > 4 * GAP else share
            said = f"{name} {numbers.gib(float(stage[key]))}"
            marks.append(
                svg.rect(Percent(start), y + 21, Percent(width), BAR, css, title=said, texture=texture)
            )
        start += share
    held = _held(stage)
    if held > limit:
        ends = Percent(limit / top * 100), Percent(held / top * 100)
        marks.append(svg.line(ends[0], y + 49, ends[1], y + 49, "excess"))
    return marks


def _held(stage: Mapping[str, Any]) -> float:
    """Bytes that are taken before the first token."""
    return float(stage["weights_bytes"]) + float(stage["overhead_bytes"])


def _labels(stage: Mapping[str, Any], y: float, limit: float) -> list[Markup]:
    """The row's name at the left, its result at the right, on top of every line."""
    held = _held(stage)
    label = (
        svg.span(f"stage {stage['stage']}", "t1") + Markup(" ") + svg.span(f"{stage['num_layers']} layers")
    )
    if held > limit:
        result = svg.span(f"over by {numbers.gib(held - limit)}", "over")
    else:
        result = svg.span(f"{numbers.count(stage['kv_capacity_tokens'])} tokens of cache", "t1")
    return [svg.text(0.0, y + 15, label), svg.text(Percent(100), y + 15, result, "end halo")]


def _table(stages: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            Cell(text=f"stage {stage['stage']}"),
            Cell(text=numbers.count(stage["num_layers"])),
            *(
                Cell(text=numbers.fixed(value / numbers.GIB, 2), exact=numbers.exact(value, "bytes"))
                for value in (float(stage[key]) for key, *_ in ITEMS)
            ),
            Cell(text=numbers.count(stage["kv_capacity_tokens"]), strong=True),
        )
        for stage in stages
    )
    head = ("Stage", "layers", *(name for _, name, *_ in ITEMS), "tokens")
    return Table(label="Memory of a server by stage", head=head, rows=rows)
