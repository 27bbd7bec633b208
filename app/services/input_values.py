"""One written value → one typed value, by the table of fields."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from app.calculator.fields import BY_PATH, Field


@dataclass(frozen=True, slots=True, kw_only=True)
class InputProblem:
    """One thing that is wrong: where, and what to do about it."""

    field: str
    message: str


def shown(value: object, limit: int = 40) -> str:
    """A value as it may be repeated to the person who wrote it: short, on one line."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**limit:
        return "a number of more than 40 digits"
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def likely_names(name: str, names: list[str]) -> list[str]:
    """Names that were probably meant: those that go on where the written one stops, else the most alike."""
    written = name[:100].lower()  # no name is longer, and what is written may be megabytes
    begun = [known for known in names if len(written) > 1 and known.startswith(written)]
    return begun[:3] or get_close_matches(written, names, n=1, cutoff=0.6)


def asked_back(names: list[str]) -> str:
    """ " Did you mean x, y or z?", or nothing."""
    said = " or ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])
    return f" Did you mean {said}?" if names else ""


def did_you_mean(name: str, names: list[str]) -> str:
    """ " Did you mean x?", or nothing."""
    return asked_back(likely_names(name, names))


def read_values(written: Mapping[str, object]) -> tuple[dict[str, Any], list[InputProblem]]:
    """Every written value in its field's type and bounds; the ones that are not, as problems."""
    values: dict[str, Any] = {}
    problems: list[InputProblem] = []
    for path, raw in written.items():
        spec = BY_PATH.get(path)
        if spec is None:  # catalog ids, which the catalog knows
            values[path] = raw
            continue
        if raw is None or (raw == "" and (spec.nullable or spec.default is None)):
            if not (spec.nullable or spec.default is None):
                problems.append(
                    InputProblem(field=path, message=f"null is not a value here. {expected(spec)}")
                )
            continue
        read = _READERS[spec.kind](spec, raw)
        if isinstance(read, InputProblem):
            problems.append(read)
        else:
            values[path] = read
    return values, problems


def expected(spec: Field) -> str:
    """What a field takes, as a sentence."""
    unit = f" {spec.unit}" if spec.unit else ""
    bounds = f" from {spec.minimum:,.12g} to {spec.maximum:,.12g}" if spec.minimum is not None else ""
    return {
        "integer": f"Write a whole number{bounds}{unit}.",
        "number": f"Write a number{bounds}{unit}.",
        "boolean": "Write true or false.",
        "integers": "Write a list of whole numbers, one for each stage.",
        "axes": f"Write each of {', '.join(spec.choices)} once, the innermost first.",
        "group": "Write global or a number of ranks.",
        "choice": f"Write one of {', '.join(spec.choices)}." if spec.choices else "Write a catalog id.",
    }[spec.kind]


def _refuse(spec: Field, raw: object) -> InputProblem:
    return InputProblem(field=spec.path, message=f"{shown(raw)} cannot be used. {expected(spec)}")


def number_of(raw: object) -> float | int | None:
    """A finite number, also from text as in a form; None if it is not one. True and false are not numbers."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, int):
        return raw
    if isinstance(raw, float):
        return raw if math.isfinite(raw) else None
    if isinstance(raw, str):
        text = raw.strip()
        if re.fullmatch(r"[+-]?[0-9]{1,30}", text):
            return int(text)
        if re.fullmatch(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?", text):
            value = float(text)
            return value if math.isfinite(value) else None
    return None


def _bounded(spec: Field, value: float) -> bool:
    return (spec.minimum is None or value >= spec.minimum) and (spec.maximum is None or value <= spec.maximum)


def _integer(spec: Field, raw: object) -> Any:
    value = number_of(raw)
    if value is None or not _bounded(spec, value) or value != int(value):
        return _refuse(spec, raw)
    return int(value)


def _number(spec: Field, raw: object) -> Any:
    value = number_of(raw)
    return _refuse(spec, raw) if value is None or not _bounded(spec, value) else float(value)


_MAX_ITEMS = 20_000  # of a list: stages times chunks stay far below
_MAX_TEXT = 120_000
_TRUE = {"true", "on", "yes", "1"}
_FALSE = {"false", "off", "no", "0"}


def _boolean(spec: Field, raw: object) -> Any:
    if isinstance(raw, bool):
        return raw
    text = raw.strip().lower() if isinstance(raw, str) else ""
    if text in _TRUE | _FALSE:
        return text in _TRUE
    return _refuse(spec, raw)


def _choice(spec: Field, raw: object) -> Any:
    if not isinstance(raw, str):
        return _refuse(spec, raw)
    value = raw.strip()
    if spec.choices and value not in spec.choices:
        hint = did_you_mean(value, list(spec.choices))
        return InputProblem(field=spec.path, message=f"{shown(raw)} is not known.{hint} {expected(spec)}")
    return value


def _words(raw: object) -> list[object] | None:
    """A list, or text with commas (or slashes, or spaces) between its items."""
    if isinstance(raw, str):
        text = raw if len(raw) <= _MAX_TEXT else ""
        return [word for word in re.split(r"[,\s/]+", text.strip()) if word]
    return list(raw) if isinstance(raw, list | tuple) and len(raw) <= _MAX_ITEMS else None


def _integers(spec: Field, raw: object) -> Any:
    words = _words(raw)
    values = [number_of(word) for word in words or []]
    if not values or any(v is None or v != int(v) or not _bounded(spec, v) for v in values):
        return _refuse(spec, raw)
    return tuple(int(v) for v in values if v is not None)


def _axes(spec: Field, raw: object) -> Any:
    words = _words(raw)
    if words is None or sorted(map(str, words)) != sorted(spec.choices):
        return _refuse(spec, raw)
    return tuple(map(str, words))


def _group(spec: Field, raw: object) -> Any:
    if raw == "global":
        return 0
    return _integer(spec, raw)


_READERS: dict[str, Callable[[Field, object], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "choice": _choice,
    "integers": _integers,
    "axes": _axes,
    "group": _group,
}
