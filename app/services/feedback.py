"""What is said about an answer: the verdict in one word, the message, the reason on each option."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from app.curriculum.blocks import Item, ItemKind
from app.curriculum.engine import Engine
from app.curriculum.grading import Met, Verdict, grade, puzzle_inputs
from app.services.best_step import standing

# The page puts the verdict first in its own words.
_LEADS = (
    "Not yet, and ", "Not yet: ", "Not yet. ", "Not yet, ", "Not met: ", "Right, ", "Right.", "Not yet.",
)  # fmt: skip
MAX_DIGITS = 15  # more is beyond every field's bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """`verdict` is right | wrong | partly | not_understood, or empty where nothing is graded."""

    verdict: str = ""
    html: str = ""
    text: str = ""
    options: Mapping[str, str] = field(default_factory=dict)  # letter → reason as HTML
    misconception: str = ""
    requirements: tuple[Met, ...] = ()


def numbers_of(typed: Mapping[str, Any]) -> dict[str, Any]:
    """Values as typed into controls, with those that are numbers as numbers."""
    return {name: _number(value) for name, value in typed.items()}


def _number(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else ""
    if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
        return int(text)
    return value


def feedback_on(item: Item, answer: Mapping[str, Any], seed: int, engine: Engine) -> Feedback:
    """Grade an answer in the shape that the page stores; `item` as the lesson holds it, not a variant."""
    given = answer
    if isinstance(answer.get("layout"), Mapping):
        given = {**answer, "layout": numbers_of(answer["layout"])}
    verdict = grade(item, given, seed, engine)
    return Feedback(
        verdict=verdict.word,
        html=_html(verdict.message, verdict.feedback_html)
        + _parts(verdict.parts)
        + _standing(item, given, verdict, engine),
        text=verdict.message.removeprefix("Not understood: "),
        options=verdict.options,
        misconception=verdict.misconception,
        requirements=verdict.requirements,
    )


def _parts(parts: Mapping[str, Verdict]) -> str:
    """Of several named answers, which are right and what is said about the others."""
    lines = [
        f"<li>{escape(name.replace('_', ' '))}: {escape(part.message)}</li>" for name, part in parts.items()
    ]
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def _standing(item: Item, answer: Mapping[str, Any], verdict: Verdict, engine: Engine) -> str:
    """After a puzzle is solved: how far from the best the search finds."""
    if item.kind is not ItemKind.CALCULATOR or item.verb != "estimate" or not verdict.correct:
        return ""
    layout = answer.get("layout", answer)
    inputs = puzzle_inputs(item, layout if isinstance(layout, Mapping) else {})
    said = standing(inputs, item.locked, item.require, engine)
    return f" {escape(said)}" if said else ""


def _html(message: str, feedback_html: str) -> str:
    """Message and feedback, each once, without the verdict that the page says itself."""
    reasons = Markup(feedback_html).striptags()
    if message and message in reasons:
        return feedback_html
    rest = message
    for lead in _LEADS:
        if rest.startswith(lead):
            rest = rest.removeprefix(lead)
            break
    rest = rest[:1].upper() + rest[1:]
    return f"{escape(rest)} {feedback_html}".strip()
