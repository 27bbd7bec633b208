"""The fields of item, widget and course comments: read, checked, and told apart from typing errors."""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.calculator.expressions import ExpressionError, names_in
from app.curriculum.blocks import ItemKind, Widget, WrongAnswer
from app.curriculum.page import Page
from app.curriculum.quantities import canonical_unit, parse_quantity, read_tolerance
from app.curriculum.yaml_reader import YamlError, read_yaml

ITEM_FIELDS = (
    "id", "kind", "answer", "unit", "tolerance", "wrong", "vary", "skill", "from", "misconceptions",
    "shuffle", "order", "pass",
    "verb", "preset", "locked", "require", "example",
)  # fmt: skip
WIDGET_FIELDS = ("id", "preset", "show", "controls", "locked", "caption")
WIDGETS = ("calculator", "schedule", "balance", "cluster", "advisor", "serving", "search")
VERBS = ("estimate", "serve", "balance", "schedule", "search", "advise")
_LIKE_A_NUMBER = re.compile(
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:\s*[A-Za-z%/]+)?|\d+(?:\.\d+)?(?:\s+[A-Za-z/]+|\s*%)"
)
ITEM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
REQUIREMENT = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(==|!=|<=|>=|<|>)\s*(\S.*?)\s*")
_KINDS = {list: "a list", dict: "a mapping { … }", str: "text", int: "a whole number", bool: "true or false"}


@dataclass(slots=True)
class Fields:
    """The fields of one comment. `readable` is false when the YAML could not be read at all."""

    line: int
    values: dict[str, Any] = field(default_factory=dict)
    readable: bool = True
    sound: bool = True  # false: a field that grades the item is wrong, so it is not graded

    def text(self, name: str) -> str:
        """A field as text; empty when it is not given."""
        value = self.values.get(name)
        return "" if value is None else str(value)


def read_fields(text: str, line: int, allowed: tuple[str, ...], page: Page) -> Fields:
    """The YAML mapping of a comment that begins at `line`."""
    fields = Fields(line)
    for number, row in enumerate(text.split("\n")):
        if row.lstrip().startswith("#"):
            page.report.add("HT003", line + number, f"the note is not shown to readers: {row.strip()}")
    loaded = read_yaml(text, fast=True)
    if isinstance(loaded, YamlError):
        on_one_line = "\n" not in text.strip() and text.count(":") > 1
        why = "write each field on a line of its own" if on_one_line else loaded.message
        page.report.add(
            "EX003", line + loaded.line, f"the comment cannot be read as YAML: {why}", source=text.strip()
        )
        fields.readable = fields.sound = False
    elif loaded is None and not any(row.lstrip()[:1] not in ("", "#") for row in text.split("\n")):
        pass
    elif not isinstance(loaded, Mapping):
        page.report.add("EX003", line, "the comment must hold key: value lines", source=text.strip())
        fields.readable = fields.sound = False
    else:
        for key, value in loaded.items():
            if key in allowed:
                fields.values[str(key)] = value
            else:
                near = difflib.get_close_matches(str(key), allowed, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                page.report.add(
                    "EX004", _line_of(text, str(key), line), f"nothing reads the field {key}: {value}{hint}"
                )
    return fields


def _line_of(text: str, key: str, line: int) -> int:
    return line + next(
        (number for number, row in enumerate(text.split("\n")) if row.strip().startswith(key)), 0
    )


def expect(fields: Fields, name: str, kind: type, page: Page) -> Any:
    """A field of that kind, or None when it is missing or of another kind (which is reported)."""
    value = fields.values.get(name)
    if value is None or (isinstance(value, kind) and not (kind is int and isinstance(value, bool))):
        return value
    if kind is list and isinstance(value, str | int | float):
        return [value]
    page.report.add("EX006", fields.line, f"{name} must be {_KINDS[kind]}, not {value!r}")
    fields.sound = False
    return None


def read_kind(fields: Fields, page: Page) -> ItemKind | None:
    """The kind that the comment names or that its fields imply; None: by the options."""
    named = fields.text("kind")
    if named:
        if named in set(ItemKind):
            return ItemKind(named)
        near = difflib.get_close_matches(named, list(ItemKind), 1)
        hint = f"; did you mean {near[0]}?" if near else f"; write one of {', '.join(ItemKind)}"
        page.report.add("EX001", fields.line, f"the kind {named} is unknown{hint}")
        fields.sound = False
        return ItemKind.OPEN
    for name, kind in (
        ("order", ItemKind.ORDERING),
        ("require", ItemKind.CALCULATOR),
        ("pass", ItemKind.RUBRIC),
        ("answer", ItemKind.NUMERIC),
    ):
        if name in fields.values:
            return kind
    return None


def read_numeric(fields: Fields, page: Page) -> dict[str, Any]:
    """answer, unit, tolerance, wrong and vary, checked."""
    vary = _vary(fields, page)
    answer = fields.values.get("answer")
    problem = _key_problem(answer, vary)
    if problem:
        page.report.add("NU001", fields.line, f"the key {problem}")
        fields.sound = False
    unit = fields.text("unit")
    if unit and canonical_unit(unit) is None:
        page.report.add("NU005", fields.line, f"the unit {unit} is unknown")
        fields.sound = False
    tolerance = fields.text("tolerance")
    if read_tolerance(tolerance) is None:
        page.report.add(
            "NU005", fields.line, f"the tolerance {tolerance} must be a percentage such as 2% or a number"
        )
        fields.sound = False
    return {
        "answer": answer,
        "unit": unit,
        "tolerance": tolerance,
        "wrong": _wrong(fields, vary, page),
        "vary": vary,
    }


def _vary(fields: Fields, page: Page) -> dict[str, tuple[Any, ...]]:
    given = expect(fields, "vary", dict, page) or {}
    vary: dict[str, tuple[Any, ...]] = {}
    for name, values in given.items():
        if (
            isinstance(values, list)
            and values
            and all(isinstance(value, int | float | str) for value in values)
        ):
            vary[str(name)] = tuple(values)
        else:
            page.report.add("EX006", fields.line, f"vary: {name} must be a list of numbers or words")
            fields.sound = False
    return vary


def _key_problem(answer: Any, vary: Mapping[str, Any]) -> str:
    """What is wrong with a key; empty when nothing is."""
    match answer:
        case None:
            problem = "is missing; write answer: with a number, [low, high], {calc: …} or arithmetic"
        case bool():
            problem = f"must be a number, not {answer}"
        case int() | float():
            problem = "" if abs(answer) < float("inf") else "is not finite"
        case str():
            problem = _expression_problem(answer, vary)
        case [low, high] if not isinstance(low, list) and not isinstance(high, list):
            problem = _key_problem(low, vary) or _key_problem(high, vary)
            if not problem and isinstance(low, int | float) and isinstance(high, int | float) and low > high:
                problem = "is a range with its ends the wrong way round"
        case {"calc": str(), **rest}:
            sound = set(rest) <= {"with", "verb"} and isinstance(rest.get("with", {}), Mapping)
            problem = "" if sound else "with calc takes only calc, with: {…} and verb"
        case Mapping() if answer and "calc" not in answer:
            parts = ((name, _key_problem(part, vary)) for name, part in answer.items())
            problem = next((f"{name} {part}" for name, part in parts if part), "")
        case list():
            problem = "must be two numbers when it is a range: [low, high]"
        case _:
            problem = f"cannot be read: {answer!r}"
    return problem


def _expression_problem(text: str, vary: Mapping[str, Any]) -> str:
    typed = parse_quantity(text) if _LIKE_A_NUMBER.fullmatch(text.strip()) else None
    if typed is not None:
        unit = f" and unit: {typed.unit}" if typed.unit else ""
        return f"must be a bare number; write answer: {typed.number:.15g}{unit}"
    try:
        unknown = [name for name in names_in(text) if name not in vary]
    except ExpressionError as error:
        return f"{text!r} is neither a number nor arithmetic ({error})"
    if unknown and not vary:
        return f"{text!r} is no number; write a number, [low, high] or {{calc: name, with: {{…}}}}"
    return f"uses {', '.join(unknown)}, which vary does not list" if unknown else ""


def _wrong(fields: Fields, vary: Mapping[str, Any], page: Page) -> tuple[WrongAnswer, ...]:
    answers = []
    for entry in expect(fields, "wrong", list, page) or []:
        if not isinstance(entry, Mapping) or "value" not in entry:
            page.report.add("EX006", fields.line, "each entry of wrong must be {value: …, say: …}")
            continue
        for key in set(map(str, entry)) - {"value", "tolerance", "say", "misconception"}:
            page.report.add("EX004", fields.line, f"nothing reads the field {key} of a wrong value")
        if problem := _key_problem(entry["value"], vary):
            page.report.add("NU001", fields.line, f"a wrong value {problem}")
            continue
        tolerance = str(entry.get("tolerance") or "")
        if read_tolerance(tolerance) is None:
            page.report.add(
                "NU005",
                fields.line,
                f"the tolerance {tolerance} of a wrong value must be a percentage or a number",
            )
            tolerance = ""
        answers.append(
            WrongAnswer(
                value=entry["value"],
                tolerance=tolerance,
                say=str(entry.get("say") or ""),
                misconception=str(entry.get("misconception") or ""),
            )
        )
    return tuple(answers)


def read_puzzle(fields: Fields, page: Page) -> dict[str, Any]:
    """verb, preset, locked, require and example, checked."""
    require = tuple(str(line) for line in expect(fields, "require", list, page) or [])
    verb = fields.text("verb") or "estimate"
    if not require and verb != "schedule":
        page.report.add(
            "EX007",
            fields.line,
            "the puzzle requires nothing; add require: with at least one line such as fits == yes",
        )
        fields.sound = False
    for line in require:
        if not REQUIREMENT.fullmatch(line):
            page.report.add(
                "EX006", fields.line, f"require: {line!r} must be a name, one of == != <= >= < >, and a value"
            )
            fields.sound = False
    if verb not in VERBS:
        page.report.add("EX006", fields.line, f"verb must be one of {', '.join(VERBS)}, not {verb}")
        fields.sound = False
    return {
        "verb": verb,
        "preset": expect(fields, "preset", dict, page) or {},
        "locked": tuple(str(name) for name in expect(fields, "locked", list, page) or []),
        "require": require,
        "example": expect(fields, "example", dict, page) or {},
    }


def read_widget(text: str, line: int, position: int, page: Page) -> Widget | None:
    """A widget comment; None when its kind is unknown (which is reported)."""
    match = re.match(r"\s*([\w-]*)(.*)\Z", text, re.DOTALL)
    kind, rest = (match.group(1), match.group(2)) if match else ("", text)
    if kind not in WIDGETS:
        near = difflib.get_close_matches(kind, WIDGETS, 1)
        page.report.add(
            "WG001",
            line,
            f"the widget {kind or '(none)'} is unknown" + (f"; did you mean {near[0]}?" if near else ""),
            source=text.strip(),
        )
        return None
    fields = read_fields(rest, line, WIDGET_FIELDS, page)

    def words(name: str) -> tuple[str, ...]:
        return tuple(str(word) for word in expect(fields, name, list, page) or [])

    return Widget(
        id=fields.text("id") or f"widget-{position}",
        kind=kind,
        preset=expect(fields, "preset", dict, page) or {},
        show=words("show"),
        controls=words("controls"),
        locked=words("locked"),
        caption=fields.text("caption"),
        line=line,
    )
