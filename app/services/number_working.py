"""How a number of a lesson's text came about: formula, the same with numbers, value, source, inputs."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.calculator.explain import substituted
from app.calculator.expressions import ExpressionError, evaluate_expression
from app.calculator.names import NAMES
from app.catalog import load_catalog
from app.curriculum.blocks import CheckedNumber, Lesson
from app.curriculum.checked_numbers import engine_text
from app.curriculum.engine import Engine, EngineError
from app.services.engine import ALIASES
from app.services.house import House, UnknownPlaceError
from app.services.input_values import number_of
from app.services.input_write import to_query
from app.services.inputs import InputProblems, parse_inputs
from app.services.number_formulas import SAME_AS, formula_of, plain_values

_PATH = re.compile(r"[A-Za-z_][\w.]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_PIECE = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z_][\w.]*|\*\*|//|\S")
_OPERATORS = frozenset(("*", "/", "+", "-", "**", "//", "·", "×", "−", "%"))
MOST_STEPS = 8
_NO_NAMES: Mapping[str, Any] = {}
OWN_ARITHMETIC = "arithmetic of the lesson, with the inputs below"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of the working. `formula` is empty where only the value and its meaning are known."""

    key: str
    formula: str
    substituted: str
    value: Any
    unit: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWorking:
    """A number of a lesson and everything that stands behind it."""

    lesson: Lesson
    number: CheckedNumber
    shown: str  # as the lesson's page shows it
    meaning: str = ""  # of a published name
    working: Step | None = None  # None: it cannot be worked out, `problem` says why
    steps: Sequence[Step] = ()  # numbers of the substitution that have a working of their own
    inputs: Sequence[tuple[str, Any]] = ()
    defaults: Sequence[tuple[str, Any]] = ()  # of a named function: what the lesson left to it
    query: str = ""  # the same question in the calculator; empty where it has no page for it
    problem: str = ""


def number_working(house: House, topic: str, slug: str, key: str) -> NumberWorking:
    """The working of one checked number. Raises UnknownPlaceError."""
    lesson = house.lesson(topic, slug)
    number = next((one for one in lesson.numbers if one.key == key), None)
    if number is None:
        raise UnknownPlaceError(
            f"Lesson {lesson.number} has no such number. It may have been reworded; open the lesson again."
        )
    return work_out(lesson, number, house.engine)


def work_out(lesson: Lesson, number: CheckedNumber, engine: Engine) -> NumberWorking:
    """The same for a number at hand; what goes wrong is told in `problem`."""
    given = {key: value for key, value in number.arguments.items() if key != "verb"}
    inputs = tuple((str(key), value) for key, value in given.items())
    verb = str(number.arguments.get("verb", "estimate"))
    steps: Sequence[Step] = ()
    name = NAMES.get(number.name)
    try:
        shown = engine_text(number, engine)
        if not _PATH.fullmatch(number.name):
            working = _arithmetic(number.name, given)
        elif name is not None:
            working = _named(number.name, given, engine)
            verb = name.question
        else:
            working, steps = _of_answer(number.name, given, verb, engine)
    except (EngineError, ArithmeticError, ValueError) as error:
        return NumberWorking(
            lesson=lesson, number=number, shown=number.text, inputs=inputs, problem=str(error)
        )
    plain = plain_values(name, {}) if name and not name.question else {}
    return NumberWorking(
        lesson=lesson,
        number=number,
        shown=shown,
        meaning=name.help if name else "",
        working=working,
        steps=steps,
        inputs=inputs,
        defaults=tuple((key, value) for key, value in plain.items() if key not in given),
        query=_query(given, working.key) if verb == "estimate" and _PATH.fullmatch(number.name) else "",
    )


def _arithmetic(formula: str, given: Mapping[str, Any]) -> Step:
    values = {
        key: float(value)
        for key, value in given.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    try:
        value = float(evaluate_expression(formula, values.__getitem__))
    except ExpressionError as error:
        raise EngineError(str(error)) from None
    spaced = _spaced(formula)
    text = _substituted(spaced, values)
    if not _gives(text, value):
        spaced = text = ""
    return Step(key="", formula=spaced, substituted=text, value=value, unit="", source=OWN_ARITHMETIC)


def _spaced(formula: str) -> str:
    """The arithmetic with spaces around what stands between two terms."""
    written, before = "", ""
    for piece in _PIECE.findall(formula):
        between = piece in _OPERATORS and (before == ")" or before[-1:].isalnum() or before[-1:] == "_")
        written += f" {piece} " if between else ", " if piece == "," else piece
        before = piece
    return written


def _named(key: str, given: Mapping[str, Any], engine: Engine) -> Step:
    name, quantity = NAMES[key], engine.value(key, given)
    formula = numbers = ""
    try:
        found = formula_of(name, given, engine)
    except EngineError:  # the number is there, only the numbers of its formula are not
        found = None
    if found is not None:
        text = _substituted(*found)
        if _gives(text, quantity.value):
            formula, numbers = found[0], text
    elif key in SAME_AS:
        line, _ = _of_answer(SAME_AS[key], given, "estimate", engine)
        if line.value == quantity.value:
            return line
    return Step(
        key="", formula=formula, substituted=numbers, value=quantity.value, unit=quantity.unit,
        source=quantity.source,
    )  # fmt: skip


def _of_answer(path: str, given: Mapping[str, Any], verb: str, engine: Engine) -> tuple[Step, list[Step]]:
    """The line of the answer's working, and the lines that its numbers come from."""
    quantity = engine.value(path, given, verb)
    key = ALIASES.get(path, path)
    lines = engine.answer(verb, given).get("working") or ()
    own = next((line for line in lines if line["key"] == key), None)
    if own is None:
        source = quantity.source or "the calculator, from the inputs below"
        value, unit = quantity.value, quantity.unit
        return Step(key="", formula="", substituted="", value=value, unit=unit, source=source), []
    told = {float(found) for found in _NUMBER.findall(own["substituted"])}
    steps = [_step(line) for line in _behind(lines, told) if line["key"] != key]
    return _step(own), steps[:MOST_STEPS]


def _behind(lines: Iterable[Mapping[str, Any]], told: set[float]) -> list[Mapping[str, Any]]:
    """Lines whose value stands in the substitution; small whole numbers could be anybody's."""
    found: dict[float, Mapping[str, Any]] = {}
    for line in lines:
        value = line["value"]
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        written = float(f"{value:.15g}")
        if written in told and not (written.is_integer() and abs(written) < 1e4):
            found.setdefault(written, line)
    return list(found.values())


def _step(line: Mapping[str, Any]) -> Step:
    return Step(**{key: line[key] for key in ("key", "formula", "substituted", "value", "unit", "source")})


def _substituted(formula: str, values: Mapping[str, float]) -> str:
    """The formula with its numbers; empty where one is not known."""
    try:
        return substituted(formula, values)
    except KeyError:
        return ""


def _gives(text: str, value: Any) -> bool:
    """Whether the substitution, worked out, is the engine's value: a formula of another case is not shown."""
    try:
        result = float(evaluate_expression(text, _NO_NAMES.__getitem__))
    except ExpressionError:
        return False
    return number_of(value) is not None and math.isclose(result, float(value), rel_tol=1e-9, abs_tol=1e-12)


def _query(given: Mapping[str, Any], key: str) -> str:
    """The calculator's query for these inputs, and the place of the line on its page."""
    catalog = load_catalog()
    inputs = parse_inputs(given, catalog, "estimate")
    if isinstance(inputs, InputProblems):
        return ""
    at_place = key and not key.startswith("memory.stages.")
    return to_query(inputs, catalog) + (f"#w-{key}" if at_place else "")
