"""An item with its numbers filled in, as other programs and paper can take it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from app.curriculum.blocks import Item, ItemKind, Lesson
from app.curriculum.engine import Engine
from app.curriculum.generate import fill, variables_of, variant
from app.curriculum.keys import Key, UnusableKeyError, is_named, key_of
from app.curriculum.quantities import canonical_unit, read_tolerance

_SOURCE = re.compile(r'(<img\b[^>]*?\bsrc=")([^"]*)(")')
_IMAGE = re.compile(r"<img\b[^>]*>")
_ALT = re.compile(r'\balt="([^"]*)"')
_INNER_LINK = re.compile(r'<a\b[^>]*\bhref="(?!https?:|mailto:)[^"]*"[^>]*>(.*?)</a>', re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One option with what is said to those who take it."""

    letter: str
    html: str
    right: bool
    feedback_html: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """Values from `low` to `high` are accepted; both are in the unit of the question."""

    value: float
    low: float
    high: float
    feedback_html: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One item of a course with the numbers of one seed."""

    course: str
    lesson: Lesson
    item: Item
    prompt_html: str
    choices: tuple[Choice, ...] = ()
    order: tuple[Choice, ...] = ()  # in the right order
    number: Number | None = None
    named: tuple[tuple[str, Number], ...] = ()  # several answers, each with its name
    wrong: tuple[Number, ...] = ()
    unit: str = ""
    hints_html: tuple[str, ...] = ()
    checks_html: tuple[str, ...] = ()
    values: str = ""  # the varied names and what they are for this seed

    @property
    def id(self) -> str:
        """Stable over edits of the wording: course, lesson and item."""
        return f"{self.course}/{self.lesson.slug}/{self.item.id}"

    @property
    def title(self) -> str:
        """Short and unique for a person: "10. Practice 3"."""
        place = f"{self.lesson.number}. " if self.lesson.number else ""
        return f"{place}{self.item.section} {self.item.number}"

    @property
    def asks_for_words(self) -> bool:
        """Whether nothing but a person can judge the answer."""
        return not self.choices and not self.order and self.number is None and not self.named


def question(lesson: Lesson, item: Item, engine: Engine, seed: int = 0) -> Question:
    """The item with the numbers of this seed and its key worked out.

    A key that has no value leaves a question that a person judges.
    """
    found = question_of(lesson, variant(item, seed))
    variables = variables_of(item, seed)
    found = replace(found, values=", ".join(f"{name} = {value}" for name, value in variables.items()))
    if not item.graded or item.options or item.kind not in (ItemKind.NUMERIC, ItemKind.PREDICT):
        return found
    try:
        if is_named(item.answer):
            named = [
                (str(name), _number(part, _unit(item, str(name)), item.tolerance, variables, engine))
                for name, part in item.answer.items()
            ]
            return replace(found, named=tuple(named))
        number = _number(item.answer, item.unit, item.tolerance, variables, engine)
        return replace(found, number=number, wrong=_wrong(item, variables, engine))
    except UnusableKeyError:
        return found


def _wrong(item: Item, variables: Mapping[str, Any], engine: Engine) -> tuple[Number, ...]:
    found = []
    for wrong in item.wrong:
        try:
            number = _number(wrong.value, item.unit, wrong.tolerance or item.tolerance, variables, engine)
        except UnusableKeyError:
            continue
        found.append(replace(number, feedback_html=escape(fill(wrong.say, variables), quote=False)))
    return tuple(found)


def _number(answer: Any, unit: str, tolerance: str, variables: Mapping[str, Any], engine: Engine) -> Number:
    """The key with its tolerance on both sides. Raises UnusableKeyError."""
    key: Key = key_of(answer, variables, canonical_unit(unit) or "", engine)
    if key.is_range:
        return Number(value=key.value, low=key.low, high=key.high)
    relative, absolute = read_tolerance(tolerance) or (0.01, 0.0)
    margin = max(relative * abs(key.value), absolute)
    return Number(value=key.value, low=key.value - margin, high=key.value + margin)


def _unit(item: Item, name: str) -> str:
    """A named answer whose name ends in a unit, such as time_ms, has its own."""
    own = canonical_unit(name.rpartition("_")[2]) if "_" in name else None
    return own or item.unit


def question_of(lesson: Lesson, item: Item) -> Question:
    """The item as it is written, without numbers of its own: choices, order, hints and checks."""
    by_letter = {option.letter: option for option in item.options}
    graded = item.graded and item.kind in (ItemKind.MCQ, ItemKind.PREDICT) and bool(item.correct)
    choices = tuple(
        Choice(letter=o.letter, html=o.html, right=o.letter in item.correct, feedback_html=o.feedback_html)
        for o in sorted(item.options, key=lambda option: option.letter)
    )
    order = tuple(
        Choice(letter=letter, html=by_letter[letter].html, right=True)
        for letter in item.order
        if letter in by_letter
    )
    ordered = item.kind is ItemKind.ORDERING and item.graded and len(order) == len(item.options) > 1
    return Question(
        course=lesson.course,
        lesson=lesson,
        item=item,
        prompt_html=item.prompt_html if graded or ordered else item.prompt_html + options_list(item),
        choices=choices if graded else (),
        order=order if ordered else (),
        unit=item.unit,
        hints_html=tuple(fold.html for fold in item.hints),
        checks_html=tuple(fold.html for fold in item.checks),
    )


def options_list(item: Item) -> str:
    """The options as a list with their letters, or nothing."""
    if not item.options:
        return ""
    rows = "".join(
        f"<li><b>{escape(option.letter)})</b> {option.html}</li>"
        for option in sorted(item.options, key=lambda one: one.letter)
    )
    return f'<ul class="letters">{rows}</ul>'


def number_words(question: Question) -> str:
    """The answer where it is an order or numbers: "b, a, c", "112 GB"; else empty: the check says it."""
    if question.order:
        return ", ".join(choice.letter for choice in question.order)
    if question.number is not None:
        return f"{question.number.value:.4g} {question.unit}".strip()
    named = (
        f"{name.replace('_', ' ')}: {number.value:.4g} {question.unit}".strip()
        for name, number in question.named
    )
    return "; ".join(named)


def with_images(html: str, address: Callable[[str], str]) -> str:
    """Every image at the address that the function gives for it; without one, its alt text in brackets."""

    def image(match: re.Match[str]) -> str:
        tag = match.group(0)
        source = _SOURCE.search(tag)
        new = address(source.group(2)) if source else ""
        if new:
            return _SOURCE.sub(lambda m: m.group(1) + escape(new) + m.group(3), tag)
        alt = _ALT.search(tag)
        return f"[{alt.group(1) if alt else 'image'}]"

    return _IMAGE.sub(image, html)


def without_inner_links(html: str) -> str:
    """Links that only work on the site become their words."""
    return _INNER_LINK.sub(r"\1", html)


def in_one_line(html: str) -> str:
    """The same HTML without line breaks: in code they become character references, elsewhere spaces."""
    parts = re.split(r"(<pre\b.*?</pre>)", html.replace("\r", ""), flags=re.DOTALL)
    return "".join(
        part.replace("\n", "&#10;") if part.startswith("<pre") else part.replace("\n", " ") for part in parts
    ).strip()
