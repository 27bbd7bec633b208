"""/styleguide: the look, drawn with the same macros and tokens as every page."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from app.catalog import load_catalog
from app.services.estimation import estimate
from app.web import numbers
from app.web.charts import svg
from app.web.charts.memory import ITEMS, memory_figure
from app.web.charts.step_time import step_time_figure
from app.web.contrast import contrasts
from app.web.controls import control
from app.web.questions import EXAMPLE
from app.web.rendering import render
from app.web.widgets import Requirement, by_path, widget_view

router = APIRouter(include_in_schema=False)
AXES = (
    ("T", "Tensor", "bar-t", svg.UPRIGHT, "upright lines: slices of one matrix"),
    ("P", "Pipeline", "bar-p", svg.RISING, "rising lines: stages in order"),
    ("D", "Data", "bar-d", svg.DOTS, "dots: many samples"),
    ("C", "Context", "bar-c", svg.LEVEL, "level lines: pieces of a sequence"),
    ("E", "Expert", "bar-e", svg.GRID, "grid: tokens to experts"),
)
TEXTURES = {
    "": "solid", svg.RISING: "rising lines", svg.LEVEL: "level lines", svg.GRID: "grid",
    svg.UPRIGHT: "upright lines", svg.DOTS: "dots",
}  # fmt: skip
SPACES = (
    (4, "inside a mark"), (8, "label to field"), (12, "row to row"), (16, "paragraph to control"),
    (24, "inside an item"), (32, "page edge"), (48, "figure to figure"), (72, "part to part"),
)  # fmt: skip


@router.get("/styleguide")
def styleguide(request: Request) -> Response:
    """Axes, contrast, type, space, controls, states and one of each figure."""
    catalog = load_catalog()
    values = by_path({name: int(v) if v.isdigit() else v for name, v in EXAMPLE.items()})
    values |= {"layout.context_parallel": 1, "training.seq_length": 2048, "layout.schedule": "1f1b"}
    answer = estimate(dict(EXAMPLE))
    bubble = numbers.percent(answer["time"]["bubble_fraction"]) if isinstance(answer, dict) else ""
    wrong = "96 heads divided by 7 leaves 5."
    context = {
        "axes": AXES,
        "items": [(name, css, texture, TEXTURES[texture]) for _, name, css, texture in ITEMS],
        "spaces": SPACES,
        "contrasts": contrasts(),
        "fixed": numbers.fixed,
        "fields": [
            control("layout.tensor_parallel", values, catalog, prefix="sg"),
            control("layout.context_parallel", values, catalog, prefix="sg"),
            control("training.seq_length", values, catalog, prefix="sg"),
            control("layout.schedule", values, catalog, prefix="sg"),
            control("layout.zero_stage", values, catalog, prefix="sg"),
            control("layout.tensor_parallel", values, catalog, prefix="bad", typed="7", problem=wrong),
            control("cluster.num_nodes", values, catalog, prefix="sg", locked=True),
        ],
        "memory": memory_figure(answer["memory"], id="sg-mem") if isinstance(answer, dict) else None,
        "step": step_time_figure(answer["time"], id="sg-step") if isinstance(answer, dict) else None,
        "widget_view": widget_view(
            answer if isinstance(answer, dict) else {},
            values,
            controls=["pipeline_parallel", "zero_stage"],
            requirements=[
                Requirement(text="bubble at most 10 %", met=False, value=bubble),
                Requirement(text="tensor width at most 8", met=True, value="8"),
            ],
            id="sg-widget",
        ),
    }
    page: HTMLResponse = render(request, "pages/styleguide.html", context)
    return page
