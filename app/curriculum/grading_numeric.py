"""Numbers: units, tolerance, the values that known mistakes lead to, 2^30 against 10^9."""

from collections.abc import Mapping
from html import escape
from typing import Any

from app.curriculum.blocks import Item
from app.curriculum.engine import Engine
from app.curriculum.generate import fill, variables_of
from app.curriculum.keys import Key, KeyProblem, is_named, key_of
from app.curriculum.quantities import UNITS, Typed, canonical_unit, close, parse_quantity, read_tolerance
from app.curriculum.verdict import Verdict, not_understood

_TWINS = {"kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB", "PB": "PiB"}
_TWIN_OF = {**_TWINS, **{binary: decimal for decimal, binary in _TWINS.items()}}
_ARTICLES = {"size": "a size", "time": "a time", "fraction": "a percentage", "count": "a count"}
LONGEST = 200


def expected_form(item: Item, name: str = "") -> str:
    """What to type, in words: "a number in GB, such as 3.5 GB"."""
    unit = canonical_unit(_unit(item, name)) or ""
    if unit == "%":
        return "a percentage, such as 12.5 or 12.5 %"
    if unit:
        return f"a number in {unit}, such as 3.5 {unit}"
    named = item.unit.strip()
    return (
        f"a number of {named}, such as 12"
        if named and canonical_unit(named) == ""
        else "a number, such as 12 or 3.5"
    )


def grade_numeric(item: Item, answer: Mapping[str, Any], seed: int, engine: Engine | None) -> Verdict:
    """The verdict on `{"value": text}`, or on `{"values": {name: text}}` when the item asks for several."""
    variables = variables_of(item, seed)
    if not is_named(item.answer):
        return _one(item, item.answer, "", answer.get("value"), variables, engine)
    typed = answer.get("values")
    typed = typed if isinstance(typed, Mapping) else {}
    parts = {
        str(name): _one(item, part, str(name), typed.get(name), variables, engine)
        for name, part in item.answer.items()
    }
    unread = [
        f"{name.replace('_', ' ')}: {part.message}" for name, part in parts.items() if not part.understood
    ]
    if unread:
        return Verdict(understood=False, message=" ".join(unread), parts=parts)
    if any(part.correct is None for part in parts.values()):
        return Verdict(
            message=next(part.message for part in parts.values() if part.correct is None), parts=parts
        )
    right = sum(1 for part in parts.values() if part.correct)
    wrong = next((part for part in parts.values() if not part.correct), None)
    return Verdict(
        correct=right == len(parts),
        score=right / len(parts),
        message="All right." if wrong is None else f"{right} of {len(parts)} right.",
        feedback_html=wrong.feedback_html if wrong else "",
        misconception=wrong.misconception if wrong else "",
        parts=parts,
    )


def _unit(item: Item, name: str) -> str:
    """The item's unit; a named answer whose name ends in a unit, such as time_ms, has its own."""
    own = canonical_unit(name.rpartition("_")[2]) if "_" in name else None
    return own or item.unit


def _one(
    item: Item, answer: Any, name: str, text: Any, variables: Mapping[str, Any], engine: Engine | None
) -> Verdict:
    form = expected_form(item, name)
    typed = parse_quantity(str(text)[:LONGEST]) if text is not None and str(text).strip() else None
    if typed is None:
        shown = str(text).strip()[:40] if text is not None else ""
        return not_understood(
            f"Not understood: “{shown}”. Write {form}." if shown else f"Nothing is written yet. Write {form}."
        )
    unit = canonical_unit(_unit(item, name)) or ""
    value = typed.in_unit(unit)
    if value is None:
        given = UNITS[typed.unit][0]
        return not_understood(
            f"{typed.unit} is {_ARTICLES.get(given, f'a {given}')}, but the answer is {form}."
        )
    try:
        key = key_of(answer, variables, unit, engine)
    except KeyProblem as problem:
        return Verdict(message=f"This answer cannot be graded just now: {problem}")
    tolerance = read_tolerance(item.tolerance) or (0.01, 0.0)
    if _fits(value, key, tolerance):
        return Verdict(correct=True, score=1.0, message="Right.")
    return _mistake(item, typed, value, key, unit, tolerance, variables, engine)


def _fits(value: float, key: Key, tolerance: tuple[float, float]) -> bool:
    if key.is_range:
        edge = 1e-9 * max(abs(key.low), abs(key.high))
        return key.low - edge <= value <= key.high + edge
    return close(value, key.value, tolerance)


def _mistake(
    item: Item,
    typed: Typed,
    value: float,
    key: Key,
    unit: str,
    tolerance: tuple[float, float],
    variables: Mapping[str, Any],
    engine: Engine | None,
) -> Verdict:
    for wrong in item.wrong:
        try:
            trap = key_of(wrong.value, variables, unit, engine)
        except KeyProblem:
            continue
        if _fits(value, trap, read_tolerance(wrong.tolerance or item.tolerance) or (0.01, 0.0)):
            said = fill(wrong.say, variables)
            return Verdict(
                correct=False,
                score=0.0,
                message=said or "Not yet: this is a common slip.",
                feedback_html=f"<p>{escape(said, quote=False)}</p>" if said else "",
                misconception=wrong.misconception,
            )
    said, misconception = _unit_slip(typed, value, key, unit, tolerance)
    return Verdict(correct=False, score=0.0, message=said or _off(value, key), misconception=misconception)


def _unit_slip(
    typed: Typed, value: float, key: Key, unit: str, tolerance: tuple[float, float]
) -> tuple[str, str]:
    """A slip of the unit: 2^30 for 10^9, or powers of a thousand, or a share for a percentage."""
    twin = _TWIN_OF.get(typed.unit or unit, "")
    narrow = (min(tolerance[0], 0.02) or 0.01, tolerance[1])
    if twin and not key.is_range:
        stated = typed.unit or unit
        factor = UNITS[twin][1] / UNITS[stated][1]
        if close(value * factor, key.value, narrow):
            binary = "i" in twin
            power = UNITS[twin][1] if binary else UNITS[stated][1]
            exponent = f"2^{round(power).bit_length() - 1}"
            if binary:
                return (
                    f"That is the number of {twin}: you may have used {exponent}. Answer in {unit}.",
                    "gb-gib",
                )
            return f"That is the number of {twin}: divide by {exponent} for {stated}.", "gb-gib"
    if unit == "%" and not typed.unit and close(value * 100, key.value, narrow):
        return "That is the share as a fraction of 1. The answer is asked for in percent.", ""
    for power, words in ((1e3, "a thousand"), (1e6, "a million"), (1e9, "a billion")):
        for factor in (power, 1 / power):
            if not key.is_range and close(value * factor, key.value, narrow):
                return f"The digits fit, but the size is off by a factor of {words}: look at the unit.", ""
    return "", ""


def _off(value: float, key: Key) -> str:
    if key.low <= 0 or value <= 0:
        return "Not yet. Try again, or open a hint."
    ratio = value / key.value
    if ratio > 10 or ratio < 0.1:
        return "Not yet, and not close. Look at what is multiplied by what, or open a hint."
    return "Not yet. Try again, or open a hint."
