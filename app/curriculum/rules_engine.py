"""Checks that ask the engine: keys over their variants, wrong values, hints that say the answer, puzzles."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.curriculum.blocks import Item, ItemKind, Lesson, Problem
from app.curriculum.engine import Engine
from app.curriculum.generate import fill, say, variables_of
from app.curriculum.grading_puzzle import flat, grade_puzzle, is_locked
from app.curriculum.keys import Key, UnusableKeyError, is_named, key_of
from app.curriculum.quantities import close, format_value, parse_quantity, read_tolerance
from app.curriculum.report import problem
from app.curriculum.rules_inputs import check_inputs

SEEDS = 200
_NUMBERS = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


def check_with_engine(lesson: Lesson, engine: Engine) -> list[Problem]:
    """Every numeric key over its variants, every puzzle's preset and example, every live figure."""
    found = [*check_inputs(lesson, engine)]
    for item in lesson.items:
        if item.kind is ItemKind.CALCULATOR and item.graded:
            found += _puzzle(lesson, item, engine)
        elif item.graded and item.answer is not None:
            found += _numeric(lesson, item, engine)
    return found


def _variants(item: Item) -> Iterator[dict[str, Any]]:
    """The variables of every variant, or of 200 of them."""
    total = math.prod(len(values) for values in item.vary.values()) if item.vary else 1
    for seed in range(min(total, SEEDS)):
        yield variables_of(item, seed)


def _numeric(lesson: Lesson, item: Item, engine: Engine) -> Iterator[Problem]:
    """The first variant that goes wrong stands for all of its kind."""
    tolerance = read_tolerance(item.tolerance) or (0.01, 0.0)
    told: set[str] = set()
    for variables in _variants(item):
        for name, answer in item.answer.items() if is_named(item.answer) else [("", item.answer)]:
            for code, line, message in _variant(item, answer, variables, tolerance, engine):
                kind = f"{code} {line} {name}"
                if kind not in told:
                    told.add(kind)
                    yield problem(
                        code, lesson, line, f"{name + ': ' if name else ''}{message}{_where(variables)}"
                    )


def _where(variables: Mapping[str, Any]) -> str:
    said = ", ".join(f"{name} = {say(value)}" for name, value in variables.items())
    return f" (with {said})" if said else ""


def _variant(
    item: Item, answer: Any, variables: Mapping[str, Any], tolerance: tuple[float, float], engine: Engine
) -> Iterator[tuple[str, int, str]]:
    try:
        key = key_of(answer, variables, item.unit, engine)
    except UnusableKeyError as error:
        yield "NU003", item.line, f"the key has no value: {error}"
        return
    for wrong in item.wrong:
        try:
            trap = key_of(wrong.value, variables, item.unit, engine)
        except UnusableKeyError as error:
            yield "NU003", item.line, f"a wrong value has no value: {error}"
            continue
        if _is_right(trap.value, key, tolerance):
            near = f"{format_value(trap.value)}, within the tolerance of the key {format_value(key.value)}"
            message = f"the wrong value {wrong.value} is {near}"
            yield "NU002", item.line, message
    if key.is_range or abs(key.value) < 3:  # small whole numbers stand in every hint
        return
    given = _numbers(fill(item.prompt_text, variables)) | {
        float(v) for v in variables.values() if isinstance(v, int | float)
    }
    for hint in item.hints:
        for number in _numbers(fill(hint.text, variables)):
            if close(number, key.value, (1e-3, 0.0)) and not any(
                close(number, other, (1e-9, 0.0)) for other in given
            ):
                yield "NU004", hint.line, f"the hint says {format_value(number)}, which is the answer"


def _is_right(value: float, key: Key, tolerance: tuple[float, float]) -> bool:
    return key.low <= value <= key.high if key.is_range else close(value, key.value, tolerance)


def _numbers(text: str) -> set[float]:
    found = (parse_quantity(match.group(0)) for match in _NUMBERS.finditer(text))
    return {typed.number for typed in found if typed is not None}


def _puzzle(lesson: Lesson, item: Item, engine: Engine) -> Iterator[Problem]:
    start = grade_puzzle(item, {"layout": {}}, engine)
    if not start.understood:
        yield problem("CA001", lesson, item.line, f"the puzzle cannot be used: {start.message}")
    elif start.correct:
        yield problem("PZ001", lesson, item.line, "the preset already meets every requirement")
    if not item.example:
        yield problem(
            "PZ003", lesson, item.line, "the puzzle has no example:, so nothing proves that it can be solved"
        )
        return
    preset = flat(item.preset)
    for path, value in flat(item.example).items():
        if is_locked(path, item.locked) and path in preset and preset[path] != value:
            yield problem("PZ002", lesson, item.line, f"the example changes {path}, which is locked")
    solved = grade_puzzle(item, {"layout": item.example}, engine)
    if not solved.understood and solved.message != start.message:
        yield problem("CA001", lesson, item.line, f"the example cannot be used: {solved.message}")
    elif solved.understood and not solved.correct:
        yield problem("PZ002", lesson, item.line, f"the example does not pass. {solved.message}")
