"""Calculator puzzles: the learner's values over the preset, judged by the engine, requirement by
requirement.
"""

from collections.abc import Mapping
from typing import Any

from app.calculator.fields import BY_PATH
from app.curriculum.blocks import Item
from app.curriculum.engine import Engine, EngineError, Quantity
from app.curriculum.extensions import REQUIREMENT
from app.curriculum.quantities import Typed, format_value, parse_quantity
from app.curriculum.verdict import Met, Verdict, not_understood

_BARE = {path.rpartition(".")[2]: path for path in reversed(BY_PATH)}
_ORDER = {"no": 0, "borderline": 1, "yes": 2}
_SHOWN = {
    "bytes": "B",
    "flop": "FLOP",
    "FLOP": "FLOP",
    "fraction": "",
    "s": "s",
    "TFLOP/s": "TFLOP/s",
    "tokens/s": "tokens/s",
}
SECTIONS = ("model", "cluster", "layout", "training", "serving")


def puzzle_inputs(item: Item, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs to judge: the preset, with what the learner may change from the answer.

    Locked values stay.
    """
    inputs = flat(item.preset)
    for path, value in flat(answer).items():
        if not is_locked(path, item.locked) and value not in ("", None):
            inputs[path] = value
    return inputs


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs by their path: {"layout": {"tensor_parallel": 8}} and {"tensor_parallel": 8} are the same."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = str(key)
        if isinstance(value, Mapping) and name in SECTIONS:
            for inner, deeper in value.items():
                found[f"{name}.{inner}"] = deeper
        else:
            found[path_of(name)] = value
    return found


def path_of(name: str) -> str:
    """A field's path for its bare key; a name that is no field stays as it is."""
    return name if name in BY_PATH else _BARE.get(name, name)


def is_locked(path: str, locked: tuple[str, ...]) -> bool:
    """Whether the puzzle keeps this input: it, or the whole of its section, is locked."""
    section = path.partition(".")[0]
    return any(
        name == section or path_of(name) == path or path.startswith(f"{path_of(name)}.") for name in locked
    )


def requirements(item: Item, inputs: Mapping[str, Any], engine: Engine) -> tuple[Met, ...]:
    """Each requirement with whether these inputs meet it, and the value.

    Raises EngineError on unusable inputs.
    """
    found = []
    for text in item.require:
        match = REQUIREMENT.fullmatch(text)
        if match is None:
            raise EngineError(f"the requirement {text!r} cannot be read")
        name, operator, wanted = match.groups()
        quantity = engine.value(name, inputs, item.verb)
        target = _target(wanted, inputs, item.verb, engine)
        met = _holds(quantity.value, operator, target)
        found.append(Met(text=text, met=met, value=shown(quantity)))
    return tuple(found)


def shown(quantity: Quantity) -> str:
    """A value of the engine for people; empty when it has none (an illegal layout has no memory)."""
    value = quantity.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if quantity.unit == "bytes":
        return _bytes(float(value))
    if quantity.unit == "fraction":
        return f"{value:.3g} ({100 * value:.1f} %)"
    return format_value(float(value), _SHOWN.get(quantity.unit, quantity.unit))


def _bytes(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= size:
            return format_value(value / size, unit)
    return format_value(value, "B")


def _holds(value: Any, operator: str, target: float | str) -> bool:
    if value is None:
        return False
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, str):
        said = str(target).lower()
        said = {"true": "yes", "false": "no"}.get(said, said)
        if operator in ("==", "!="):
            return (value.lower() == said) == (operator == "==")
        if value not in _ORDER or said not in _ORDER:
            return False
        value, target = float(_ORDER[value]), float(_ORDER[said])
    return not isinstance(target, str) and _compare(float(value), operator, float(target))


def _compare(value: float, operator: str, target: float) -> bool:
    same = abs(value - target) <= 1e-9 * max(abs(value), abs(target))
    match operator:
        case "==":
            return same
        case "!=":
            return not same
        case "<=":
            return value <= target or same
        case ">=":
            return value >= target or same
        case "<":
            return value < target and not same
        case _:
            return value > target and not same


def _target(wanted: str, inputs: Mapping[str, Any], verb: str, engine: Engine) -> float | str:
    """The right-hand side: a number with or without unit, arithmetic over names, or a word."""
    typed = parse_quantity(wanted)
    if typed is not None:
        return _si(typed)
    if wanted.isalpha() or wanted[:1] in "\"'":
        return wanted.strip("\"'")
    if any(sign in wanted for sign in "+*/(") or "." in wanted:
        found = engine.value(wanted, inputs, verb).value
        if isinstance(found, int | float):
            return float(found)
    return wanted


def _si(typed: Typed) -> float:
    from app.curriculum.quantities import UNITS  # noqa: PLC0415

    return typed.number * (UNITS[typed.unit][1] if typed.unit else 1.0)


def grade_puzzle(item: Item, answer: Mapping[str, Any], engine: Engine) -> Verdict:
    """The verdict on `{"layout": {field: value}}`: right when the layout is legal and meets every
    requirement.
    """
    given = answer.get("layout", answer)
    inputs = puzzle_inputs(item, given if isinstance(given, Mapping) else {})
    try:
        found = engine.answer(item.verb, inputs)
        if found.get("legal") is False:
            broken = [
                str(violation.get("message", "a rule is broken"))
                for violation in found.get("violations") or [{}]
            ]
            unmet = tuple(Met(text=text, met=False) for text in item.require)
            return Verdict(
                correct=False,
                score=0.0,
                message="Not a legal layout: " + " ".join(broken),
                requirements=unmet,
            )
        checked = requirements(item, inputs, engine)
    except EngineError as error:
        return not_understood(str(error))
    failed = [one for one in checked if not one.met]
    if not failed:
        return Verdict(correct=True, score=1.0, message="Every requirement is met.", requirements=checked)
    said = "; ".join(f"{one.text} (here {one.value or 'no value'})" for one in failed)
    return Verdict(
        correct=False,
        score=(len(checked) - len(failed)) / len(checked),
        message=f"Not met: {said}.",
        requirements=checked,
    )
