"""Plain arithmetic over named numbers, evaluated safely: `4*b*s*h/1e6`.

Names (dotted ones too), numbers, + − * / // % ** and min, max, ceil, floor, round.
Length, nesting and size are bounded; nothing is ever executed.
"""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

MAX_LENGTH = 500
MAX_NODES = 200
MAX_DEPTH = 30
MAX_MAGNITUDE = 1e60

_NUMBERED = "number_"

Lookup = Callable[[str], Any]


class ExpressionError(ValueError):
    """An expression that cannot be read or evaluated; the message says what to write instead."""


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {  # function, fewest and most arguments
    "min": (min, 1, 20),
    "max": (max, 1, 20),
    "ceil": (math.ceil, 1, 1),
    "floor": (math.floor, 1, 1),
    "round": (round, 1, 2),
}


def evaluate_expression(text: str, lookup: Lookup) -> float | int:
    """The value of `text`, with names resolved by `lookup` (which raises KeyError for an unknown one).

    Raises ExpressionError: too long or deep, not plain arithmetic, an unknown name, division by zero, a
    number beyond 1e60.
    """
    value: float | int = _evaluate(_parse(text), lookup)
    return value


def names_in(text: str) -> tuple[str, ...]:
    """Names that an expression uses, in order, each once. Raises ExpressionError."""
    found: dict[str, None] = {}

    def note(name: str) -> int:
        found[name] = None
        return 1

    _walk_names(_parse(text), note)
    return tuple(found)


def _parse(text: str) -> ast.expr:
    cleaned = text.strip().replace("×", "*").replace("·", "*").replace("−", "-")
    if not cleaned:
        raise ExpressionError("nothing is written; write arithmetic such as 4*b*s*h")
    if len(cleaned) > MAX_LENGTH:
        raise ExpressionError(f"{len(cleaned)} characters; at most {MAX_LENGTH} can be read")
    # Python has no a.0.b: a number inside a name travels as a word.
    readable = re.sub(r"(?<=[A-Za-z_])\.(?=[0-9]+\.[A-Za-z_])", f".{_NUMBERED}", cleaned)
    try:
        tree = ast.parse(readable, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{cleaned[:60]!r} is not plain arithmetic") from error
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES or _depth(tree) > MAX_DEPTH:
        raise ExpressionError("too long or too deeply nested; split it")
    return tree


def _depth(node: ast.AST) -> int:
    return 1 + max((_depth(child) for child in ast.iter_child_nodes(node)), default=0)


def _dotted(node: ast.expr) -> str | None:
    """a.b.c as text, or None where the node is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr.removeprefix(_NUMBERED)}"
    return None


def _walk_names(node: ast.AST, note: Callable[[str], int]) -> None:
    if isinstance(node, ast.Name | ast.Attribute):
        name = _dotted(node)
        if name is not None:
            note(name)
            return
    skipped = node.func if isinstance(node, ast.Call) else None
    for child in ast.iter_child_nodes(node):
        if child is not skipped:
            _walk_names(child, note)


def _evaluate(node: ast.expr, lookup: Lookup) -> Any:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise ExpressionError(f"{node.value!r} is not a number")
        return _checked(node.value)
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(node, lookup)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _evaluate(node.operand, lookup)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        return _binary(node, lookup)
    if isinstance(node, ast.Call):
        return _called(node, lookup)
    raise ExpressionError("only names, numbers, + - * / // % ** and min, max, ceil, floor, round can be used")


def _named(node: ast.Name | ast.Attribute, lookup: Lookup) -> Any:
    name = _dotted(node)
    if name is None:
        raise ExpressionError("a dot may only stand inside a name")
    try:
        value = lookup(name)
    except KeyError as error:
        raise ExpressionError(f"there is no number called {name[:60]}") from error
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ExpressionError(f"{name[:60]} is not a number")
    return _checked(value)


def _binary(node: ast.BinOp, lookup: Lookup) -> Any:
    left, right = _evaluate(node.left, lookup), _evaluate(node.right, lookup)
    try:
        if isinstance(node.op, ast.Pow):
            return _power(left, right)
        function = _OPERATORS.get(type(node.op))
        if function is None:
            raise ExpressionError("of the operators only + - * / // % ** can be used")
        return _checked(function(left, right))
    except ZeroDivisionError as error:
        raise ExpressionError("division by zero") from error
    except OverflowError as error:
        raise ExpressionError("the number becomes too large") from error


def _power(base: float, exponent: float) -> Any:
    if abs(exponent) > 200 or abs(base) > 1e15:
        raise ExpressionError("powers are limited to exponents of 200")
    if base < 0 and exponent != int(exponent):
        raise ExpressionError("a negative number has no broken power")
    return _checked(base**exponent)


def _called(node: ast.Call, lookup: Lookup) -> Any:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS or node.keywords:
        raise ExpressionError(f"of the functions only {', '.join(_FUNCTIONS)} can be used")
    function, fewest, most = _FUNCTIONS[name]
    if not fewest <= len(node.args) <= most:
        raise ExpressionError(f"{name} takes {fewest} to {most} numbers")
    values = [_evaluate(argument, lookup) for argument in node.args]
    if name == "round" and len(values) == 2:
        values[1] = int(min(max(values[1], -60), 60))
    return _checked(function(*values))


def _checked(value: Any) -> Any:
    """Refuse what is not finite or absurdly large, before it can cost anything."""
    if isinstance(value, int):
        if value.bit_length() > 200:
            raise ExpressionError("the number becomes too large")
        return value
    if not math.isfinite(value) or abs(value) > MAX_MAGNITUDE:
        raise ExpressionError("the number becomes too large")
    return value
