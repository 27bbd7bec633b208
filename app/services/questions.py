"""An item with its numbers filled in, as other programs and paper can take it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from app.curriculum.blocks import Item, ItemKind, Lesson

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
    notes: tuple[str, ...] = field(default=())  # what could not be taken along, in words

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


def question_of(lesson: Lesson, item: Item) -> Question:
    """The item as it is written, without numbers of its own: choices, order, hints and checks."""
    by_letter = {option.letter: option for option in item.options}
    graded = item.graded and item.kind in (ItemKind.MCQ, ItemKind.PREDICT) and bool(item.correct)
    choices = tuple(
        Choice(letter=o.letter, html=o.html, right=o.letter in item.correct, feedback_html=o.feedback_html)
        for o in item.options
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
    rows = "".join(f"<li><b>{escape(option.letter)})</b> {option.html}</li>" for option in item.options)
    return f'<ul class="letters">{rows}</ul>'


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
