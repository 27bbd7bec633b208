"""The working behind a number: its formula in words, the same with numbers put in, value, unit and source.

`substituted` is plain arithmetic (see `expressions`): evaluated, it gives the value. Numbers are written
with fifteen significant digits: differences of nearly equal ones come out too.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_FUNCTIONS = frozenset(("min", "max", "ceil", "floor", "round"))

Line = dict[str, Any]


def line(
    key: str, formula: str, values: Mapping[str, float], value: float, *, unit: str, source: str
) -> Line:
    """One line of the working. `formula` is arithmetic over the names in `values`.

    `key` is the path of the number in the answer, or a path of its own for a step on the way.
    """
    return {
        "key": key,
        "formula": formula,
        "substituted": substituted(formula, values),
        "value": value,
        "unit": unit,
        "source": source,
    }


def substituted(formula: str, values: Mapping[str, float]) -> str:
    """The formula with every name replaced by its number. Raises KeyError for a name without a number."""
    template, names = _template(formula)
    return template % tuple([_written(values[name]) for name in names])


@lru_cache(maxsize=4096)
def _template(formula: str) -> tuple[str, tuple[str, ...]]:
    """The formula with a hole for every name, and the names in order."""
    template, names, end = "", [], 0
    for match in _NAME.finditer(formula):
        if match.group() in _FUNCTIONS or _is_exponent(formula, match.start()):
            continue
        template += formula[end : match.start()].replace("%", "%%") + "%s"
        names.append(match.group())
        end = match.end()
    return template + formula[end:].replace("%", "%%"), tuple(names)


def _is_exponent(formula: str, start: int) -> bool:
    """Whether the letter belongs to a number such as 1e9."""
    return start > 0 and (formula[start - 1].isdigit() or formula[start - 1] == ".")


def _written(value: float) -> str:
    text = f"{value:.15g}"
    return f"({text})" if value < 0 else text
