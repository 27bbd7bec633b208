"""A live figure of a server: the verdict, the memory with its cache, one number for one thing."""

import re

from app.curriculum.blocks import Widget
from app.services.engine import CalculatorEngine
from app.web.puzzles import lesson_widget

PRESET = {"model": "llama3-405b", "gpu": "h100-80gb", "num_nodes": 2, "data_parallel": 1}


def figure_of(**layout: int):
    widget = Widget(
        id="w",
        kind="serving",
        preset={**PRESET, **layout},
        show=("memory",),
        controls=("tensor_parallel",),
        locked=(),
        caption="",
        line=1,
    )
    return lesson_widget(widget, None, "/w", CalculatorEngine())


def test_it_shows_what_the_weights_leave() -> None:
    view = figure_of(tensor_parallel=8, pipeline_parallel=2)
    assert view.verdict.sentence.startswith("Fits,")
    (figure,) = view.figures
    tokens = re.search(r"room for ([\d,]+) tokens", view.verdict.rest)
    assert tokens is not None
    assert str(figure.svg).count(f"{tokens.group(1)} tokens of cache") == 2, "once per stage"
    assert figure.table is not None


def test_what_does_not_fit_is_said_with_both_of_its_causes() -> None:
    view = figure_of(tensor_parallel=8, pipeline_parallel=1, data_parallel=2)
    assert view.verdict.lead == "Does not fit:"
    assert "weights and one full request" in view.verdict.rest
    assert "over by" not in view.verdict.rest, "the figure says by how much the weights alone are over"
    assert "over by" in str(view.figures[0].svg)
