"""The calculator inside a lesson: live figures and puzzles, from a preset and what stands in the controls."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from app.calculator.fields import BY_PATH
from app.catalog import load_catalog
from app.curriculum.blocks import Item, Widget
from app.curriculum.engine import Engine, EngineError
from app.curriculum.grading import Met, puzzle_inputs, requirements
from app.curriculum.grading_puzzle import flat, is_locked
from app.services.feedback import numbers_of
from app.services.inputs import InputProblems, parse_inputs
from app.web.controls import DOUBLE, HALVE, path_of, query_name, stepped
from app.web.dependencies import Form
from app.web.lesson_sections import css_id
from app.web.pipeline_widgets import KINDS as PIPELINES
from app.web.pipeline_widgets import pipeline_widget
from app.web.requirements import in_words, value_in_words
from app.web.values import address, in_effect
from app.web.widgets import Requirement, WidgetView, by_path, widget_view

MAX_TYPED = 40  # characters of one control


def lesson_widget(widget: Widget, tried: Form | None, url: str, engine: Engine) -> WidgetView:
    """The view of a widget; `tried` are its controls as they were sent."""
    if widget.kind in PIPELINES:
        return pipeline_widget(
            widget.kind,
            widget.preset,
            names=widget.controls,
            locked=widget.locked,
            tried=_sent(tried),
            id=f"w-{css_id(widget.id)}",
            action=url,
            caption=widget.caption,
        )
    named = [path for path in map(path_of, widget.controls) if path]
    controls = [path for path in named or _degrees(widget) if not is_locked(path, widget.locked)]
    typed = _typed(tried, controls)
    verb = "serve" if widget.kind == "serving" else "estimate"
    view = _view(
        engine,
        verb,
        flat(widget.preset) | numbers_of(typed),
        typed,
        show=widget.show or ("memory",),
        controls=controls,
        id=f"w-{css_id(widget.id)}",
        action=url,
    )
    return replace(view, caption=widget.caption)


def puzzle_widget(
    item: Item, stored: Mapping[str, Any], tried: Form | None, url: str, engine: Engine
) -> WidgetView:
    """The view of a calculator puzzle: what is tried now, else what was answered last, else the preset."""
    if item.verb in PIPELINES:
        return _pipeline_puzzle(item, stored, tried, url, engine)
    controls = puzzle_controls(item)
    layout = stored.get("layout") or {}
    typed = {path: str(layout[name]) for path in controls if (name := query_name(path)) in layout}
    if tried is not None:
        typed = _typed(tried, controls)
    inputs = puzzle_inputs(item, numbers_of(typed))
    return _view(
        engine,
        item.verb,
        inputs,
        typed,
        show=("memory",),
        controls=controls,
        id=f"puzzle-{css_id(item.id)}",
        action=url,
        wants=_wants(item, inputs, engine),
    )


def _pipeline_puzzle(
    item: Item, stored: Mapping[str, Any], tried: Form | None, url: str, engine: Engine
) -> WidgetView:
    """A schedule to order or a model to cut: the fields of preset and example that are not locked."""
    sent = {name: str(value) for name, value in (stored.get("layout") or {}).items()}
    if tried is not None:
        sent = _sent(tried)
    return pipeline_widget(
        item.verb,
        item.preset,
        names=dict.fromkeys((*item.preset, *item.example)),
        locked=item.locked,
        tried=sent,
        id=f"puzzle-{css_id(item.id)}",
        action=url,
        wants=_wants(item, puzzle_inputs(item, sent), engine),
    )


def _sent(form: Form | None) -> dict[str, str]:
    return {name: form.one(name) for name in form.fields} if form else {}


def puzzle_controls(item: Item) -> list[str]:
    """The fields that a learner may change: those of the preset and the example that are not locked."""
    names = dict.fromkeys((*by_path(item.preset), *by_path(item.example)))
    return [path for path in names if not is_locked(path, item.locked)]


def _degrees(widget: Widget) -> list[str]:
    """Where a widget names no controls: the first layout fields of its preset."""
    return [path for path in by_path(widget.preset) if path.startswith("layout.")][:3]


def _wants(item: Item, inputs: Mapping[str, Any], engine: Engine) -> tuple[Requirement, ...]:
    try:
        found = requirements(item, inputs, engine)
    except EngineError:
        found = tuple(Met(text=text, met=False) for text in item.require)
    return tuple(
        Requirement(text=in_words(one.text), met=one.met, value=value_in_words(one.value)) for one in found
    )


def _typed(form: Form | None, controls: Iterable[str]) -> dict[str, str]:
    """Path → what stands in its control, after a press on ÷2 or ×2."""
    if form is None:
        return {}
    names = {query_name(path): path for path in controls if path in BY_PATH or path == "model.id"}
    typed = {path: form.one(name)[:MAX_TYPED].strip() for name, path in names.items() if name in form.fields}
    action, _, name = form.one("do").partition(":")
    target = names.get(name, "")
    if action in (HALVE, DOUBLE) and typed.get(target, "").isdecimal():
        typed[target] = str(stepped(int(typed[target]), action, BY_PATH[target]))
    return typed


def _view(
    engine: Engine,
    verb: str,
    inputs: Mapping[str, Any],
    typed: Mapping[str, str],
    *,
    show: Iterable[str],
    controls: Iterable[str],
    id: str,
    action: str,
    wants: Iterable[Requirement] | None = None,
) -> WidgetView:
    catalog = load_catalog()
    parsed = parse_inputs(dict(inputs), catalog) if verb == "estimate" else None
    values: Mapping[str, Any] = dict(inputs)
    url = ""
    if isinstance(parsed, InputProblems):
        answer: Mapping[str, Any] = parsed.to_json()
    else:
        try:
            answer = engine.answer(verb, inputs)
        except EngineError as error:
            answer = {"problems": [{"field": "", "message": str(error)}]}
        if parsed is not None:
            values = in_effect(parsed)
            url = address(values, catalog)
    return widget_view(
        answer,
        values,
        show=show,
        controls=controls,
        requirements=wants,
        id=id,
        action=action,
        typed=typed if answer.get("problems") else None,
        open_url=url,
        catalog=catalog,
    )
