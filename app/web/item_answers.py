"""The controls by which an item is answered, with what was chosen, typed or ticked."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import escape

from app.curriculum.blocks import Item, ItemKind, Option
from app.curriculum.grading_numeric import unit_of
from app.curriculum.keys import is_named
from app.services.item_state import ItemState
from app.web.item_parts import FieldView, ItemContext, OptionView, PointView

SURE_WORDS = {
    "guess": "Your answer, and you were guessing",
    "think": "Your answer, and you thought so",
    "sure": "Your answer, and you were sure",
}


def options(
    item: Item, state: ItemState, typed: Mapping[str, Any], context: ItemContext, *, done: bool
) -> tuple[OptionView, ...]:
    """The choices; with `done` they are shown as they were answered, and no longer as controls."""
    if item.kind is ItemKind.ORDERING:
        return _places(item, typed, done)
    chosen = set(letters(typed))
    answered = set(letters(state.answer.answer)) if state.answer else set()
    views = []
    for option in item.options:
        missed = item.graded and option.letter in answered and option.letter not in item.correct
        settled = done or (missed and context.typed is None and not item.multiple)
        views.append(
            OptionView(
                letter=option.letter,
                html=option.html,
                checked=option.letter in chosen and not settled,
                fixed=settled,
                look=_look(option, item, answered, missed=missed) if settled else "",
                verdict=_verdict(option, item, state, answered) if settled else "",
                say_html=option.feedback_html if done or (settled and option.letter in answered) else "",
            )
        )
    return tuple(views)


def _places(item: Item, typed: Mapping[str, Any], done: bool) -> tuple[OptionView, ...]:
    places = typed.get("places", {})
    return tuple(
        OptionView(
            letter=option.letter, html=option.html, place=_place(places.get(option.letter)), fixed=done
        )
        for option in item.options
    )


def _place(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 4 else 0


def letters(typed: Mapping[str, Any]) -> Sequence[str]:
    """The options that were chosen."""
    letters = typed.get("options", ())
    return letters if isinstance(letters, list | tuple) else ()


def _look(option: Option, item: Item, answered: set[str], *, missed: bool) -> str:
    if missed:
        return "chose-wrong"
    if option.letter in item.correct:
        return "is-right"
    return "chosen" if option.letter in answered else "dim"


def _verdict(option: Option, item: Item, state: ItemState, answered: set[str]) -> str:
    if option.letter in answered:
        return SURE_WORDS.get(state.answer.confidence if state.answer else "", "Your answer")
    return "Right" if option.letter in item.correct else ""


def fields(item: Item, typed: Mapping[str, Any]) -> tuple[FieldView, ...]:
    """The boxes to type into: one, or one for each part of the answer."""
    if is_named(item.answer):
        values = typed.get("values", {})
        return tuple(
            FieldView(
                name=f"value.{name}",
                label=str(name).replace("_", " "),
                label_shown=True,
                unit=unit_of(item, str(name)),
                value=str(values.get(name, "")),
            )
            for name in item.answer
        )
    label = f"Your answer, in {item.unit}" if item.unit else "Your answer, a number"
    return (FieldView(name="value", label=label, unit=item.unit, value=str(typed.get("value", ""))),)


def points(item: Item, state: ItemState) -> tuple[PointView, ...]:
    """The lines of a rubric with the learner's own ticks."""
    ticked = set(state.score.answer.get("points", ())) if state.score else set()
    return tuple(
        PointView(points=point.points, html=point.html or str(escape(point.text)), ticked=index in ticked)
        for index, point in enumerate(item.rubric)
    )


def score_words(item: Item, state: ItemState) -> str:
    """The learner's own score, and what is a pass."""
    total = sum(point.points for point in item.rubric)
    if not total:
        return ""
    needed = (
        f"{item.pass_points} of {total} points are a pass" if item.pass_points else f"{total} points in all"
    )
    if state.score is None:
        return f"{needed}."
    got = sum(
        item.rubric[index].points
        for index in state.score.answer.get("points", ())
        if index < len(item.rubric)
    )
    return f"{got} of {total} by your own score; {needed}."
