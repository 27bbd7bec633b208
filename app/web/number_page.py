"""The working behind a number of a lesson, as its page and the note in place show it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.services.number_working import NumberWorking, Step
from app.web import numbers
from app.web.calculator_results import Working, working_of
from app.web.lesson_sections import lesson_url

LARGEST = 1e300  # a whole number beyond it is no float
LETTERS = 400  # of a value that is no number


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberView:
    """Everything that the page of a number shows."""

    key: str
    shown: str
    name: str
    title: str
    working: Working | None
    steps: Sequence[Working]
    inputs: Sequence[tuple[str, str]]
    calculator_url: str
    back: str
    where: str
    problem: str


def number_view(found: NumberWorking) -> NumberView:
    """The view of a working."""
    number, path = found.number, bool(re.fullmatch(r"[A-Za-z_][\w.]*", found.number.name))
    working = replace(_line(found.working), value=_value(found)) if found.working else None
    line_title = _line_title(working) if working and working.key else ""
    return NumberView(
        key=number.key,
        shown=found.shown,
        name=number.name if path else "",
        title=_title(found, line_title, path),
        working=working,
        steps=[_line(step) for step in found.steps],
        inputs=[
            *((key, _told(value)) for key, value in found.inputs),
            *((key, f"{_told(value)}, as usual") for key, value in found.defaults),
        ],
        calculator_url=f"/calculator?{found.query}" if found.query else "",
        back=f"{lesson_url(found.lesson)}#calc-{number.key}",
        where=f"lesson {found.lesson.number}" if found.lesson.number else found.lesson.title,
        problem=found.problem,
    )


def _line_title(working: Working) -> str:
    """Which traffic a line is of: there is no heading above that would say it."""
    axis, _, what = working.title.partition(": ")
    return f"{axis}-parallel traffic, {what}" if what else working.title


def _line(step: Step) -> Working:
    entry = {name: getattr(step, name) for name in Step.__slots__}
    return working_of(entry)


def _value(found: NumberWorking) -> str:
    """In full, and as the text says it."""
    value, unit = (found.working.value, found.working.unit) if found.working else ("", "")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)[:LETTERS]
    full = numbers.exact(value, "" if unit == "fraction" else unit)
    return full if full == found.shown else f"{full}, in the text {found.shown}"


def _title(found: NumberWorking, of_line: str, path: bool) -> str:
    if found.meaning:
        return found.meaning[:1].upper() + found.meaning[1:]
    return of_line or (_words(found.number.name) if path else "Arithmetic of the lesson")


def _words(name: str) -> str:
    words = re.sub(r"_(bytes|s|fraction)$", "", name.rpartition(".")[2]).replace("_", " ")
    return words[:1].upper() + words[1:]


def _told(value: Any) -> str:
    """An input as the lesson gives it; long numbers with their thousands parted."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and abs(value) < LARGEST:
        return numbers.exact(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_told(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_told(inner) for inner in value)
    return str(value)[:LETTERS]
