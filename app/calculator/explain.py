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
    return "".join(_written(values[piece]) if is_name else piece for is_name, piece in _pieces(formula))


@lru_cache(maxsize=4096)
def _pieces(formula: str) -> tuple[tuple[bool, str], ...]:
    """The formula cut into names to replace and everything else."""
    pieces: list[tuple[bool, str]] = []
    end = 0
    for match in _NAME.finditer(formula):
        if match.group() in _FUNCTIONS or _is_exponent(formula, match.start()):
            continue
        pieces.append((False, formula[end : match.start()]))
        pieces.append((True, match.group()))
        end = match.end()
    pieces.append((False, formula[end:]))
    return tuple(pieces)


def _is_exponent(formula: str, start: int) -> bool:
    """Whether the letter belongs to a number such as 1e9."""
    return start > 0 and (formula[start - 1].isdigit() or formula[start - 1] == ".")


def _written(value: float) -> str:
    text = f"{value:.15g}"
    return f"({text})" if value < 0 else text
