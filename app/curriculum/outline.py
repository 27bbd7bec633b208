"""A lesson as plain data, for `meshwright parse --json`: what was understood, and every problem."""

from typing import Any

from app.curriculum.blocks import Fold, Item, ItemKind, Lesson, Problem, Widget


def outline(lesson: Lesson) -> dict[str, Any]:
    """Lesson fields, items, reps and diagnostics of a parsed file."""
    return {
        "file": lesson.path,
        "lesson": _lesson(lesson),
        "items": [item_outline(item) for item in lesson.items],
        "reps": len(lesson.reps),
        "rep_texts": [rep.text for rep in lesson.reps],
        "diagnostics": [problem_outline(problem) for problem in lesson.problems],
    }


def _lesson(lesson: Lesson) -> dict[str, Any]:
    return {
        "number": lesson.number or None,
        "title": lesson.title or None,
        "description": lesson.description or None,
        "type": lesson.type,
        "front_matter": lesson.has_front_matter,
        "minutes": lesson.minutes or None,
        "math": lesson.math,
        "objectives": list(lesson.objectives),
        "primary_sources": list(lesson.primary_sources),
        "prerequisites": list(lesson.prerequisites),
        "prerequisites_text": lesson.prerequisites_text,
        "sections": list(lesson.sections),
        "tables": lesson.tables,
        "diagrams": len(lesson.diagrams),
        "images": list(lesson.images),
        "widgets": [_widget(widget) for widget in lesson.widgets],
        "checked_numbers": [
            {"name": n.name, "text": n.text, "unit": n.unit, "line": n.line} for n in lesson.numbers
        ],
        "content_hash": lesson.content_hash,
    }


def _widget(widget: Widget) -> dict[str, Any]:
    return {
        "kind": widget.kind, "id": widget.id, "preset": dict(widget.preset), "show": list(widget.show),
        "controls": list(widget.controls),
        "locked": list(widget.locked), "caption": widget.caption, "line": widget.line,
    }  # fmt: skip


def item_outline(item: Item) -> dict[str, Any]:
    """An item with what its kind has; hints and checks as counts, their blocks beside them."""
    data: dict[str, Any] = {
        "section": item.section,
        "number": item.number,
        "number_written": item.number_written,
        "kind": item.kind.value,
        "id": item.id,
        "graded": item.graded,
        "marker": item.marker,
        "prompt_start": item.prompt_text[:80],
        "prompt": item.prompt_text,
        "hints": len(item.hints),
        "checks": len(item.checks),
        "check_blocks": list(item.checks[0].blocks) if item.checks else [],
        "hint_texts": _texts(item.hints),
        "check_texts": _texts(item.checks),
        "line": item.line,
        "content_hash": item.content_hash,
    }
    if item.code_in_prompt:
        data["code_in_prompt"] = list(item.code_in_prompt)
    if item.options:
        data["options"] = [option.letter for option in item.options]
        data["option_texts"] = {option.letter: option.text for option in item.options}
        data["option_feedback"] = {
            option.letter: option.feedback_text for option in item.options if option.feedback_text
        }
        data["correct"] = list(item.correct)
        data["multiple"] = item.multiple
    data |= {key: value for key, value in _extras(item).items() if value not in ("", [], {}, None, False)}
    if item.kind is ItemKind.RUBRIC:
        data["rubric"] = [{"points": point.points, "text": point.text} for point in item.rubric]
        data["max_points"] = sum(point.points for point in item.rubric)
        data["pass_points"] = item.pass_points
    return data


def _texts(folds: tuple[Fold, ...]) -> list[str]:
    return [fold.text for fold in folds]


def _extras(item: Item) -> dict[str, Any]:
    return {
        "shuffle": item.shuffle,
        "order": list(item.order),
        "answer": item.answer,
        "unit": item.unit,
        "tolerance": item.tolerance,
        "wrong": [_wrong_outline(wrong) for wrong in item.wrong],
        "vary": {name: list(values) for name, values in item.vary.items()},
        "skill": item.skill,
        "from": item.origin,
        "preset": dict(item.preset),
        "locked": list(item.locked),
        "require": list(item.require),
        "example": dict(item.example),
        "verb": item.verb if item.kind is ItemKind.CALCULATOR else "",
    }


def _wrong_outline(wrong: Any) -> dict[str, Any]:
    fields = {
        "value": wrong.value,
        "tolerance": wrong.tolerance,
        "say": wrong.say,
        "misconception": wrong.misconception,
    }
    return {name: value for name, value in fields.items() if value != ""}


def problem_outline(problem: Problem) -> dict[str, Any]:
    """A problem as data."""
    data: dict[str, Any] = {
        "code": problem.code, "severity": problem.severity.value, "line": problem.line,
        "message": problem.message,
        "path": problem.path, "source": problem.source, "fix": problem.fix,
    }  # fmt: skip
    if problem.recovered:
        data["recovered"] = True
    return data
