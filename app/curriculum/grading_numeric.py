"""Numbers: units, tolerance, the values that known mistakes lead to, 2^30 against 10^9."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from app.curriculum.blocks import Item
from app.curriculum.engine import Engine
from app.curriculum.generate import fill, variables_of
from app.curriculum.keys import Key, UnusableKeyError, is_named, key_of
from app.curriculum.quantities import (
    UNITS,
    Typed,
    canonical_unit,
    close,
    format_value,
    parse_quantity,
    read_tolerance,
)
from app.curriculum.verdict import Verdict, not_understood

_TWINS = {"kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB", "PB": "PiB"}
_TWIN_OF = {**_TWINS, **{binary: decimal for decimal, binary in _TWINS.items()}}
_ARTICLES = {"size": "a size", "time": "a time", "fraction": "a percentage", "count": "a count"}
LONGEST = 200


def unit_of(item: Item, name: str = "") -> str:
    """The unit in which a value is asked for, as it is shown; "" for a plain count."""
    return canonical_unit(_unit(item, name)) or ""


def expected_form(item: Item, name: str = "") -> str:
    """What to type, in words: "a number in GB, such as 3.5 GB"."""
    unit = unit_of(item, name)
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
        return _judge(_Asked(item, item.answer, "", variables, engine), answer.get("value"))
    typed = answer.get("values")
    typed = typed if isinstance(typed, Mapping) else {}
    parts = {
        str(name): _judge(_Asked(item, part, str(name), variables, engine), typed.get(name))
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """One value that is asked for, with what decides about it."""

    item: Item
    answer: Any
    name: str
    variables: Mapping[str, Any]
    engine: Engine | None

    @property
    def unit(self) -> str:
        return unit_of(self.item, self.name)

    def key(self, answer: Any) -> Key:
        """The value of the key, or of a wrong value. Raises UnusableKeyError."""
        return key_of(answer, self.variables, self.unit, self.engine)


def _judge(asked: _Asked, text: Any) -> Verdict:
    form = expected_form(asked.item, asked.name)
    shown = str(text).strip() if text is not None else ""
    if not shown:
        return not_understood(f"Nothing is written yet. Write {form}.")
    typed = parse_quantity(shown[:LONGEST])
    if typed is None:
        return not_understood(f"Not understood: “{shown[:40]}”. Write {form}.")
    value = typed.in_unit(asked.unit)
    if value is None:
        given = UNITS[typed.unit][0]
        said = f"{typed.unit} is {_ARTICLES.get(given, f'a {given}')}, but the answer is {form}."
        return not_understood(said)
    try:
        key = asked.key(asked.answer)
    except UnusableKeyError as problem:
        return Verdict(message=f"This answer cannot be graded just now: {problem}")
    if _fits(value, key, read_tolerance(asked.item.tolerance) or (0.01, 0.0)):
        return Verdict(correct=True, score=1.0, message="Right.")
    return _known_mistake(asked, value) or _other_mistake(asked, typed, value, key)


def _fits(value: float, key: Key, tolerance: tuple[float, float]) -> bool:
    if key.is_range:
        edge = 1e-9 * max(abs(key.low), abs(key.high))
        return key.low - edge <= value <= key.high + edge
    return close(value, key.value, tolerance)


def _known_mistake(asked: _Asked, value: float) -> Verdict | None:
    """A value that the lesson names as the result of a known mistake."""
    for wrong in asked.item.wrong:
        try:
            trap = asked.key(wrong.value)
        except UnusableKeyError:
            continue
        if _fits(value, trap, read_tolerance(wrong.tolerance or asked.item.tolerance) or (0.01, 0.0)):
            said = fill(wrong.say, asked.variables)
            return Verdict(
                correct=False,
                score=0.0,
                message=said or "Not yet: this is a common slip.",
                feedback_html=f"<p>{escape(said, quote=False)}</p>" if said else "",
                misconception=wrong.misconception,
            )
    return None


def _other_mistake(asked: _Asked, typed: Typed, value: float, key: Key) -> Verdict:
    tolerance = read_tolerance(asked.item.tolerance) or (0.01, 0.0)
    narrow = (min(tolerance[0], 0.02) or 0.01, tolerance[1])
    said, misconception = "", ""
    if not key.is_range and key.value:
        said, misconception = _binary_slip(typed.unit or asked.unit, value, key, narrow, asked.unit)
        said = said or _size_slip(typed, value, key, narrow, asked.unit)
    return Verdict(correct=False, score=0.0, message=said or _off(value, key), misconception=misconception)


def _binary_slip(
    stated: str, value: float, key: Key, narrow: tuple[float, float], unit: str
) -> tuple[str, str]:
    """2^30 in place of 10^9, or the other way round."""
    twin = _TWIN_OF.get(stated, "")
    if not twin or not close(value * UNITS[twin][1] / UNITS[stated][1], key.value, narrow):
        return "", ""
    binary = twin if "i" in twin else stated
    exponent = f"2^{round(UNITS[binary][1]).bit_length() - 1}"
    if binary == twin:
        return f"That is the number of {twin}: you may have used {exponent}. Answer in {unit}.", "gb-gib"
    return f"That is the number of {twin}: divide by {exponent} for {stated}.", "gb-gib"


def _size_slip(typed: Typed, value: float, key: Key, narrow: tuple[float, float], unit: str) -> str:
    """The right digits at the wrong size."""
    if unit == "%" and not typed.unit and close(value * 100, key.value, narrow):
        return "That is the share as a fraction of 1. The answer is asked for in percent."
    for power, words in ((1e3, "a thousand"), (1e6, "a million"), (1e9, "a billion")):
        if close(value * power, key.value, narrow) or close(value / power, key.value, narrow):
            return f"The digits fit, but the size is off by a factor of {words}: look at the unit."
    return ""


def _off(value: float, key: Key) -> str:
    if key.low <= 0 or value <= 0:
        return "Not yet. Try again, or open a hint."
    ratio = value / key.value
    if ratio > 10 or ratio < 0.1:
        return "Not yet, and not close. Look at what is multiplied by what, or open a hint."
    return "Not yet. Try again, or open a hint."


def key_words(item: Item, seed: int, engine: Engine | None) -> str:
    """The key of a numeric item for this seed in words: "78.8 GB", "width 8, depth 2"; empty without one."""
    variables = variables_of(item, seed)
    named = item.answer if is_named(item.answer) else {"": item.answer}
    said = []
    for name, answer in named.items():
        asked = _Asked(item, answer, str(name), variables, engine)
        try:
            key = asked.key(answer)
        except UnusableKeyError:
            return ""
        unit = asked.unit or ("" if name else item.unit)
        exact = read_tolerance(item.tolerance) == read_tolerance("exact")
        said.append(f"{str(name).replace('_', ' ')} {_key_in_words(key, unit, exact=exact)}".strip())
    return ", ".join(said)


def _key_in_words(key: Key, unit: str, *, exact: bool) -> str:
    if key.is_range:
        return f"{_amount(key.low, '', exact=exact)} to {_amount(key.high, unit, exact=exact)}"
    return _amount(key.value, unit, exact=exact)


def _amount(value: float, unit: str, *, exact: bool) -> str:
    """Three digits say enough where a tolerance is allowed; an exact key is written in full."""
    whole = value == int(value) and abs(value) < 1e15
    if exact or whole:
        return f"{int(value):,} {unit}".strip() if whole else f"{value:.12g} {unit}".strip()
    return format_value(value, unit)
