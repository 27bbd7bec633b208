"""Checks on what live figures and puzzles name: the preset, the figures, what is locked or can be changed."""

import difflib
from collections.abc import Iterable, Iterator

from app.calculator.fields import BY_PATH
from app.curriculum.blocks import Item, ItemKind, Lesson, Problem, Widget
from app.curriculum.engine import Engine, EngineError
from app.curriculum.grading_puzzle import SECTIONS, flat, path_of
from app.curriculum.report import problem

FIGURES = (
    "memory", "stage", "stages", "time", "step", "breakdown", "step-time", "cluster", "map", "nodes",
    "traffic", "communication", "links", "batch",
)  # fmt: skip  # words of `show`, as the page knows them
_VERBS = {"calculator": "estimate", "cluster": "estimate", "serving": "serve"}
_PIPELINES = ("schedule", "balance")
_BARE = {path.rpartition(".")[2] for path in BY_PATH}


def check_inputs(lesson: Lesson, engine: Engine) -> Iterator[Problem]:
    """Live figures that the engine cannot draw, and names that are no inputs."""
    for widget in lesson.widgets:
        yield from _widget(lesson, widget, engine)
    for item in lesson.items:
        if item.kind is ItemKind.CALCULATOR and item.verb not in _PIPELINES:
            yield from _names(lesson, item, "locked", item.locked)


def _widget(lesson: Lesson, widget: Widget, engine: Engine) -> Iterator[Problem]:
    if widget.kind in _PIPELINES:
        verb, preset = widget.kind, {k.removeprefix("layout."): v for k, v in widget.preset.items()}
    elif widget.kind in _VERBS:
        verb, preset = _VERBS[widget.kind], flat(widget.preset)
        yield from _names(lesson, widget, "controls", widget.controls)
        yield from _names(lesson, widget, "locked", widget.locked)
    else:
        return
    for name in widget.show:
        if not any(word in FIGURES for word in name.lower().replace("_", " ").split()):
            message = f"show names {name}, which is no figure{_near(name, FIGURES)}"
            yield problem("CA001", lesson, widget.line, message)
    try:
        engine.answer(verb, preset)
    except EngineError as error:
        yield problem("CA001", lesson, widget.line, f"the live figure cannot be drawn: {error}")


def _names(lesson: Lesson, block: Widget | Item, field: str, names: Iterable[str]) -> Iterator[Problem]:
    for name in names:
        if name in SECTIONS or path_of(name) in BY_PATH or name in block.preset:
            continue
        if any(path.startswith(f"{path_of(name)}.") for path in BY_PATH):
            continue
        message = f"{field} names {name}, which is no input{_near(name, (*_BARE, *SECTIONS))}"
        yield problem("CA001", lesson, block.line, message)


def _near(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""
