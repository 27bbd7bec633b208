"""Grading: an item and what was answered to a verdict. The engine decides what the lesson leaves to it."""

from collections.abc import Iterable, Mapping
from typing import Any

from app.curriculum.blocks import Item, ItemKind
from app.curriculum.engine import Engine
from app.curriculum.generate import variant
from app.curriculum.grading_numeric import expected_form, grade_numeric
from app.curriculum.grading_puzzle import grade_puzzle, puzzle_inputs, requirements
from app.curriculum.verdict import Met, Verdict, not_understood

__all__ = ["Met", "Verdict", "expected_form", "grade", "puzzle_inputs", "requirements"]


def grade(item: Item, answer: Mapping[str, Any], seed: int = 0, engine: Engine | None = None) -> Verdict:
    """The verdict on an answer, in the shape that pages store it:

    {"options": ["b"]} · {"value": "112 GB"} or {"values": {name: text}} · {"order": ["b", "a"]} ·
    {"layout": {field: value}} · {"points": [0, 2]} of a rubric · {"text": …} of an open item.
    """
    if item.kind is ItemKind.RUBRIC:
        return _rubric(item, answer)
    if not item.graded or item.kind is ItemKind.OPEN:
        return Verdict(message="Your answer is kept. Compare it with the check.")
    if item.options and item.kind in (ItemKind.MCQ, ItemKind.PREDICT):
        return _choice(variant(item, seed), answer)
    if item.kind is ItemKind.ORDERING:
        return _ordering(item, answer)
    if item.kind is ItemKind.CALCULATOR and engine is not None:
        return grade_puzzle(item, answer, engine)
    return grade_numeric(item, answer, seed, engine)


def _letters(given: Any) -> list[str]:
    if isinstance(given, str):
        given = given.replace(",", " ").split()
    if not isinstance(given, Iterable):
        return []
    return list(dict.fromkeys(str(letter).strip(" ().").lower() for letter in given))


def _choice(item: Item, answer: Mapping[str, Any]) -> Verdict:
    known = {option.letter: option for option in item.options}
    chosen = _letters(answer.get("options", answer.get("value", ())))
    if not chosen:
        return not_understood("Choose an option." if not item.multiple else "Choose at least one option.")
    if any(letter not in known for letter in chosen):
        return not_understood(f"Choose among {', '.join(known)}.")
    if len(chosen) > 1 and not item.multiple:
        return not_understood("Choose one option.")
    right = set(item.correct)
    wrong = [known[letter] for letter in chosen if letter not in right]
    reasons = {letter: known[letter].feedback_html for letter in chosen if known[letter].feedback_html}
    if set(chosen) == right:
        return Verdict(correct=True, score=1.0, message="Right.", options=reasons)
    hits = len(right & set(chosen))
    score = max(0.0, (hits - len(wrong)) / len(right)) if item.multiple else 0.0
    if not wrong:
        message = "All that you chose is right, but something is missing."
    elif item.multiple and hits:
        message = "Some of it is right; look again at what is marked."
    else:
        message = "Not yet."
    return Verdict(
        correct=False,
        score=score,
        message=message,
        feedback_html="\n".join(f"<p>{option.feedback_html}</p>" for option in wrong if option.feedback_html),
        misconception=next((option.misconception for option in wrong if option.misconception), ""),
        options={letter: reason for letter, reason in reasons.items() if letter not in right},
    )


def _ordering(item: Item, answer: Mapping[str, Any]) -> Verdict:
    given = _letters(answer.get("order", ()))
    if sorted(given) != sorted(item.order):
        missing = [letter for letter in item.order if letter not in given]
        said = (
            f"Give every one a place; missing: {', '.join(sorted(missing))}."
            if missing
            else "Each letter has one place."
        )
        return not_understood(said)
    if tuple(given) == item.order:
        return Verdict(correct=True, score=1.0, message="Right, in this order.")
    pairs = [(a, b) for i, a in enumerate(item.order) for b in item.order[i + 1 :]]
    kept = sum(1 for a, b in pairs if given.index(a) < given.index(b))
    first = next(place for place, letter in enumerate(given) if letter != item.order[place])
    said = (
        "The first one is not right yet."
        if first == 0
        else f"The first {first} stand right."
        if first > 1
        else "The first one stands right."
    )
    return Verdict(correct=False, score=kept / len(pairs) if pairs else 0.0, message=f"Not yet. {said}")


def _rubric(item: Item, answer: Mapping[str, Any]) -> Verdict:
    """The learner's own score: never mixed with what was graded."""
    ticked = answer.get("points")
    most = sum(point.points for point in item.rubric)
    if not isinstance(ticked, Iterable) or isinstance(ticked, str) or not most:
        return Verdict(message="Your answer is kept. Compare it with the check and tick what it has.")
    own = {int(index) for index in ticked if str(index).isdecimal()}
    got = sum(point.points for index, point in enumerate(item.rubric) if index in own)
    passed = (
        f"passed, {item.pass_points} are enough"
        if got >= item.pass_points
        else f"{item.pass_points} are needed to pass"
    )
    return Verdict(score=got / most, message=f"{got} of {most} points by your own count: {passed}.")
