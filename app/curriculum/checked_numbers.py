"""Numbers in the text that the engine recomputes: <!-- calc: name of {…} as GB -->**41.5 GB**."""

import re
from collections.abc import Mapping
from typing import Any

from markdown_it.token import Token

from app.calculator.expressions import ExpressionError, evaluate_expression
from app.curriculum.blocks import CheckedNumber
from app.curriculum.engine import Engine, EngineError
from app.curriculum.page import Page
from app.curriculum.quantities import UNITS, canonical_unit, format_value
from app.curriculum.yaml_reader import YamlError, read_yaml

_CALC = re.compile(r"<!--\s*calc\s*:\s*(.*?)\s*-->", re.DOTALL)
_PARTS = re.compile(
    r"(?P<name>.+?)(?:\s+of\s+(?P<arguments>\{.*\}))?(?:\s+as\s+(?P<unit>[^\s{}]+))?\s*\Z", re.DOTALL
)
_LINK = re.compile(r"<a[\s>]", re.IGNORECASE)
_NUMBER = re.compile(r"[-+−]?\d(?:[\d,   ]*\d)?(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
ENGINE_UNITS = {
    "bytes": "B",
    "bytes/s": "B/s",
    "flop": "FLOP",
    "flop/s": "FLOP/s",
    "seconds": "s",
    "fraction": "",
    "": "",
}


def take_checked_numbers(children: list[Token], page: Page) -> None:
    """Turn each comment and the bold text after it into one token that shows the engine's value."""
    if not any(token.type == "html_inline" for token in children):
        return
    position, linked = 0, False
    while position < len(children):
        token = children[position]
        linked = _opens_link(token) or (linked and not _closes_link(token))
        match = _CALC.fullmatch(token.content) if token.type == "html_inline" else None
        if match:
            line = token.meta.get("line", 1)
            after = children[position + 1 : position + 4]
            if [child.type for child in after] == ["strong_open", "text", "strong_close"]:
                number = _read(match.group(1), after[1].content, line, page)
                shown = _shown(number, page) if number else after[1].content
                # None in a link: that leads elsewhere.
                place = _id(number, page) if number and not linked else ""
                meta = {"shown": shown, "line": line, "id": place}
                children[position : position + 4] = [Token("calc", "strong", 0, meta=meta)]
                if number:
                    page.numbers.append(number)
            else:
                page.report.add(
                    "CA001",
                    line,
                    "a checked number must be bold, directly after its comment: <!-- calc: … -->**41.5 GB**",
                    fix="write the number in bold right after the comment",
                )
                token.type, token.content = "text", ""
        position += 1


def _opens_link(token: Token) -> bool:
    return token.type == "link_open" or (token.type == "html_inline" and bool(_LINK.match(token.content)))


def _closes_link(token: Token) -> bool:
    return token.type == "link_close" or (
        token.type == "html_inline" and token.content.lower().startswith("</a")
    )


def _id(number: CheckedNumber, page: Page) -> str:
    """Where this number stands, also when the page says it more than once."""
    times = page.number_keys[number.key] = page.number_keys.get(number.key, 0) + 1
    return f"calc-{number.key}" + (f"-{times}" if times > 1 else "")


def _read(text: str, shown: str, line: int, page: Page) -> CheckedNumber | None:
    match = _PARTS.match(text)
    arguments = read_yaml(match.group("arguments"), fast=True) if match and match.group("arguments") else {}
    open_ended = match is not None and re.search(r"\sof\s+\{", match.group("name")) is not None
    if not match or open_ended or isinstance(arguments, YamlError) or not isinstance(arguments, Mapping):
        page.report.add(
            "EX003",
            line,
            "the calc comment cannot be read; write <!-- calc: name of {input: value} as GB -->",
            source=text,
        )
        return None
    unit = match.group("unit") or ""
    if unit and canonical_unit(unit) is None:
        page.report.add("NU005", line, f"the unit {unit} is unknown")
        return None
    return CheckedNumber(name=match.group("name"), arguments=arguments, unit=unit, text=shown, line=line)


def _shown(number: CheckedNumber, page: Page) -> str:
    if page.context.engine is None:
        return number.text
    try:
        said = engine_text(number, page.context.engine)
    except EngineError as error:
        page.report.add("CA001", number.line, str(error))
        return number.text
    if _digits(said) != _digits(number.text):
        page.report.add(
            "CA002",
            number.line,
            f"the text says {number.text}, the engine says {said}",
            fix=f"write **{said}**",
        )
        return said
    return number.text


def number_value(name: str, arguments: Mapping[str, Any], unit: str, engine: Engine) -> float | str:
    """What the engine, or plain arithmetic over the arguments, says in that unit. Raises EngineError."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*", name):
        numbers = {
            key: float(value)
            for key, value in arguments.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        try:
            return float(evaluate_expression(name, numbers.__getitem__))
        except ExpressionError as error:
            raise EngineError(str(error)) from None
    given = dict(arguments)
    verb = str(given.pop("verb", "estimate"))
    quantity = engine.value(name, given, verb)
    if isinstance(quantity.value, bool) or not isinstance(quantity.value, int | float):
        return "yes" if quantity.value is True else "no" if quantity.value is False else str(quantity.value)
    wanted = canonical_unit(unit)
    if not wanted:
        return float(quantity.value)
    own = ENGINE_UNITS.get(quantity.unit, quantity.unit)
    dimension, factor = UNITS[wanted]
    own_dimension, own_factor = UNITS.get(own, ("fraction" if dimension == "fraction" else dimension, 1.0))
    if own_dimension != dimension:
        raise EngineError(f"{name} is a {own_dimension} in {quantity.unit}; it cannot be told in {unit}")
    return float(quantity.value) * own_factor / factor


def engine_text(number: CheckedNumber, engine: Engine) -> str:
    """The engine's value written as the text writes it: same unit, same decimals. Raises EngineError."""
    match = _NUMBER.search(number.text)
    written = _unit_in(number.text[match.end() :]) if match else ""
    if written and number.unit and UNITS[written][0] != UNITS[canonical_unit(number.unit) or written][0]:
        raise EngineError(
            f"the comment says {number.unit}, the text says {written}; write the same unit in both"
        )
    value = number_value(number.name, number.arguments, number.unit or written, engine)
    if isinstance(value, str) or match is None:
        return str(value)
    digits = match.group(0)
    decimals = len(digits.split(".")[1]) if "." in digits and "e" not in digits.lower() else 0
    if "e" in digits.lower():
        mantissa = digits.lower().split("e")[0]
        said = f"{value:.{len(mantissa.split('.')[1]) if '.' in mantissa else 0}e}".replace(
            "e+0", "e"
        ).replace("e+", "e")
    else:
        said = format_value(value, "", decimals)
    return number.text[: match.start()] + said + number.text[match.end() :]


def _digits(text: str) -> str:
    """The text as it is compared: without spaces and thousands separators."""
    return re.sub(r"[,\s]", "", text).replace("−", "-")


def _unit_in(text: str) -> str:
    words = text.strip().split()
    unit = canonical_unit(words[0].rstrip(".,;")) if words else ""
    return unit or ""
