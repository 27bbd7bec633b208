"""The value of an answer key: a number, a range, arithmetic over the varied names, or an engine name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.calculator.expressions import ExpressionError, evaluate_expression
from app.curriculum.checked_numbers import number_value
from app.curriculum.engine import Engine, EngineError

_BRACES = re.compile(r"\{\s*([^{}]+?)\s*\}")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Key:
    """The accepted value, or the ends of the accepted range, in the item's unit."""

    low: float
    high: float

    @property
    def value(self) -> float:
        """The key as one number: the middle of a range."""
        return (self.low + self.high) / 2

    @property
    def is_range(self) -> bool:
        """Whether any value between two ends is right."""
        return self.low != self.high


class UnusableKeyError(Exception):
    """The key has no value for these variables; the message says why."""


def key_of(answer: Any, variables: Mapping[str, Any], unit: str, engine: Engine | None) -> Key:
    """The key of a single answer. Raises UnusableKeyError."""
    if isinstance(answer, list | tuple):
        ends = sorted(_number(end, variables, unit, engine) for end in answer)
        if len(ends) != 2:
            raise UnusableKeyError("a range has two ends")
        return Key(ends[0], ends[1])
    value = _number(answer, variables, unit, engine)
    return Key(value, value)


def is_named(answer: Any) -> bool:
    """Whether the answer asks for several named values."""
    return isinstance(answer, Mapping) and "calc" not in answer


def _number(answer: Any, variables: Mapping[str, Any], unit: str, engine: Engine | None) -> float:
    if isinstance(answer, bool):
        raise UnusableKeyError(f"{answer} is not a number")
    if isinstance(answer, int | float):
        return float(answer)
    if isinstance(answer, str):
        return arithmetic(answer, variables)
    if isinstance(answer, Mapping) and "calc" in answer and engine is not None:
        return _calculated(answer, variables, unit, engine)
    raise UnusableKeyError(f"{answer!r} is not a key" if engine else "there is no engine to ask")


def _calculated(answer: Mapping[str, Any], variables: Mapping[str, Any], unit: str, engine: Engine) -> float:
    given = bind(answer.get("with") or {}, variables)
    if "verb" in answer:
        given = {**given, "verb": answer["verb"]}
    name = str(answer["calc"])
    if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        given = {**numbers_of(variables), **given}
    try:
        value = number_value(name, given, unit, engine)
    except EngineError as error:
        raise UnusableKeyError(str(error)) from None
    if isinstance(value, str):
        raise UnusableKeyError(f"{name} is {value}, not a number")
    return value


def arithmetic(expression: str, variables: Mapping[str, Any]) -> float:
    """The value of plain arithmetic over the variables. Raises UnusableKeyError."""
    try:
        return float(evaluate_expression(expression, numbers_of(variables).__getitem__))
    except (ExpressionError, OverflowError) as error:
        raise UnusableKeyError(f"{expression}: {error}") from None


def numbers_of(variables: Mapping[str, Any]) -> dict[str, float]:
    """The variables that are numbers."""
    return {
        name: value
        for name, value in variables.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def bind(value: Any, variables: Mapping[str, Any]) -> Any:
    """Arguments with varied names filled in: `tp`, "{tp}" or "{8*dp}"."""
    if isinstance(value, Mapping):
        return {name: bind(inner, variables) for name, inner in value.items()}
    if isinstance(value, list):
        return [bind(inner, variables) for inner in value]
    return _bound(value, variables) if isinstance(value, str) and variables else value


def _bound(text: str, variables: Mapping[str, Any]) -> Any:
    match = _BRACES.fullmatch(text)
    name = match.group(1) if match else text
    if name in variables:
        return variables[name]
    if match and any(one in variables for one in _NAME.findall(name)):
        return arithmetic(name, variables)
    return text
