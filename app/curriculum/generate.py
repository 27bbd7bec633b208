"""Seeded variants of an item: which numbers a seed means, and the item with them written in.

Seed 0 is the first value of each list, as a reader of the plain file would compute it. Other seeds walk
through all combinations in an order of their own, so that the next seed brings other numbers. A seed of
an item is the same variant, always and everywhere.
"""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape, unescape
from typing import Any

from app.calculator.expressions import ExpressionError, names_in
from app.curriculum.blocks import Fold, Item, Option, RubricPoint
from app.curriculum.keys import UnusableKeyError, arithmetic
from app.curriculum.quantities import format_value

PLACEHOLDER = re.compile(r"\{([^{}<>]{1,200})\}")
_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def variables_of(item: Item, seed: int) -> dict[str, Any]:
    """The value of each varied name for this seed."""
    if not item.vary:
        return {}
    sizes = [len(values) for values in item.vary.values()]
    total = math.prod(sizes)
    index = _combination(item.id, seed, total)
    chosen: dict[str, Any] = {}
    for (name, values), size in zip(item.vary.items(), sizes, strict=True):
        index, position = divmod(index, size)
        chosen[name] = values[position]
    return chosen


def _combination(item_id: str, seed: int, total: int) -> int:
    """Seed 0 is combination 0; then a walk with a stride that meets every other one before any comes
    again.
    """
    step = seed % total
    if step == 0 or total <= 2:
        return step
    stride = 1 + int.from_bytes(hashlib.sha256(item_id.encode()).digest()[:8], "big") % (total - 1)
    while math.gcd(stride, total) != 1:
        stride = stride % (total - 1) + 1
    return (step * stride) % total


def variant(item: Item, seed: int) -> Item:
    """The item with this seed's numbers in its prompt, options, hints, checks and messages; options
    shuffled if asked.
    """
    options = _shuffled(item, seed) if item.shuffle else item.options
    variables = variables_of(item, seed)
    if not variables:
        return item if options is item.options else replace(item, options=options)

    def html(text: str) -> str:
        return fill(text, variables, is_html=True)

    def plain(text: str) -> str:
        return fill(text, variables)

    def fold(one: Fold) -> Fold:
        return replace(one, html=html(one.html), text=plain(one.text), rest_html=html(one.rest_html))

    def option(one: Option) -> Option:
        return replace(
            one,
            html=html(one.html),
            text=plain(one.text),
            feedback_html=html(one.feedback_html),
            feedback_text=plain(one.feedback_text),
        )

    def point(one: RubricPoint) -> RubricPoint:
        return replace(one, text=plain(one.text), html=html(one.html))

    return replace(
        item,
        prompt_html=html(item.prompt_html),
        prompt_text=plain(item.prompt_text),
        options=tuple(option(one) for one in options),
        hints=tuple(fold(one) for one in item.hints),
        checks=tuple(fold(one) for one in item.checks),
        wrong=tuple(replace(one, say=plain(one.say)) for one in item.wrong),
        rubric=tuple(point(one) for one in item.rubric),
        weak_html=html(item.weak_html),
    )


def fill(text: str, variables: Mapping[str, Any], *, is_html: bool = False) -> str:
    """The text with {name} and {arithmetic over names} replaced; other braces stay as they are."""
    if not variables or "{" not in text:
        return text

    def value(match: re.Match[str]) -> str:
        inner = unescape(match.group(1)) if is_html else match.group(1)
        shown = _value(inner.strip(), variables)
        if shown is None:
            return match.group(0)
        return escape(shown) if is_html else shown

    return PLACEHOLDER.sub(value, text)


def _value(inner: str, variables: Mapping[str, Any]) -> str | None:
    if inner in variables:
        return say(variables[inner])
    try:
        names = names_in(inner)
        if not names or any(name not in variables for name in names):
            return None
        return say(arithmetic(inner, variables))
    except (ExpressionError, UnusableKeyError):
        return None


def say(value: Any) -> str:
    """A value in the middle of a sentence: 7 billion, 51,200, 2048, 0.05."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    for size, word in _LARGE:
        if size <= abs(value) < 1e15:
            return f"{_short(value / size)} {word}"
    return _short(value)


def _short(value: float) -> str:
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))
    return format_value(value) if abs(value) >= 1e15 or 0 < abs(value) < 1e-4 else f"{value:.6g}"


def _shuffled(item: Item, seed: int) -> tuple[Option, ...]:
    """The options in an order that depends on item and seed only."""
    return tuple(
        sorted(
            item.options, key=lambda one: hashlib.sha256(f"{item.id}:{seed}:{one.letter}".encode()).digest()
        )
    )


def unknown_names(item: Item) -> tuple[str, ...]:
    """Names in braces of the prompt that look varied but are not: {tp} without vary."""
    if not item.vary:
        return ()
    texts = [item.prompt_text, *(fold.text for fold in (*item.hints, *item.checks))]
    found = [m.group(1).strip() for text in texts for m in PLACEHOLDER.finditer(text)]
    return tuple(
        dict.fromkeys(name for name in found if re.fullmatch(r"[A-Za-z_]\w*", name) and name not in item.vary)
    )
