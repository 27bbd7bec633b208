"""The words around an item: what it is, what to press, how it went, what is said aloud."""

import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from app.curriculum.blocks import Item, ItemKind
from app.curriculum.grading import expected_form
from app.curriculum.keys import is_named
from app.curriculum.quantities import read_tolerance
from app.services.feedback import Feedback
from app.services.item_state import ItemState, is_self_scored
from app.web.item_answers import letters
from app.web.item_parts import Badge, ItemContext, Tell
from app.web.requirements import unmet_in_words

# Of "0010#id", "0010-degrees-in-order#id" or "training/0010#id" the number.
_LESSON_NUMBER = re.compile(r"(?:[^/#]*/)*0*([1-9]\d{0,3})(?=[-#]|$)")


def label(item: Item) -> str:
    """Where a repeated question comes from, and how it is answered."""
    what = {
        ItemKind.MCQ: "Several answers" if item.multiple else "One answer",
        ItemKind.NUMERIC: "Number, fresh values each try" if item.vary else "Number",
        ItemKind.CALCULATOR: "Calculator puzzle",
        ItemKind.RUBRIC: "In your words, scored by you",
        ItemKind.ORDERING: "Put in order",
        ItemKind.PREDICT: "Predict",
    }.get(item.kind, "")
    lesson = _LESSON_NUMBER.match(item.origin)
    origin = f"from lesson {lesson.group(1)}" if lesson else ""
    return " · ".join(part for part in (origin, what) if part)


_SUBMIT = {
    ItemKind.PREDICT: "Commit and reveal",
    ItemKind.CALCULATOR: "Submit this layout",
    ItemKind.RUBRIC: "Done writing, show the points",
    ItemKind.OPEN: "Check myself",
}


def submit_label(item: Item, state: ItemState) -> str:
    """What the button that sends an answer says."""
    if item.kind in _SUBMIT:
        return _SUBMIT[item.kind]
    if not item.graded:
        return "Check myself"
    return "Answer again" if state.answer is not None else "Check"


def show_label(item: Item, state: ItemState) -> str:
    """What the button that opens the check says."""
    if item.kind is ItemKind.PREDICT:
        return "Read on without guessing"
    if item.kind is ItemKind.MCQ and state.answer is not None:
        return "Show the reasons for every option"
    return "Show me"


def check_label(item: Item) -> str:
    """What the Check is called: the calculator speaks only where it has worked something out."""
    calculated = isinstance(item.answer, Mapping) and "calc" in item.answer
    calculated = calculated or any('class="calc"' in fold.html for fold in item.checks)
    return "What the calculator says" if item.kind is ItemKind.PREDICT and calculated else "Check"


def badge(item: Item, state: ItemState) -> Badge | None:
    """How it stands, in a mark and a word."""
    if state.score is not None:
        recalled = "recalled" if item.section == "Warm-up" else "had it"
        look, words = _SCORE_BADGES[state.score.verdict]
        return Badge(look=look, words=recalled if state.score.verdict == "had_it" else words)
    if state.answer is None:
        if state.shown:
            return Badge(look="near", words="check seen")
        return Badge(look="right", words="right once") if state.ever_right else None
    badges = _PREDICT_BADGES if item.kind is ItemKind.PREDICT else _BADGES
    found = badges.get(state.answer.verdict)
    return Badge(look=found[0], words=found[1]) if found else None


_SCORE_BADGES = {
    "had_it": ("right", "had it"),
    "partly": ("near", "partly"),
    "not_yet": ("wrong", "not yet"),
    "passed": ("right", "passed, by your score"),
    "not_passed": ("near", "not yet, by your score"),
}
_BADGES = {"right": ("right", "right"), "wrong": ("wrong", "not yet"), "partly": ("near", "nearly")}
_PREDICT_BADGES = {
    "right": ("right", "as you said"),
    "wrong": ("near", "not as you said"),
    "partly": ("near", "close"),
}


def tell(item: Item, state: ItemState, context: ItemContext, shape: str) -> Tell | None:
    """What is said about the last answer, below it."""
    feedback = context.feedback
    if context.problem or feedback is None or state.answer is None or is_self_scored(item):
        return None
    tone = {"right": "good", "wrong": "bad", "partly": "warn"}.get(feedback.verdict, "")
    leads = _leads(item)
    if item.kind is ItemKind.PREDICT:
        tone = "good" if feedback.verdict == "right" else "warn"
    if shape == "options" and feedback.verdict != "right" and not item.multiple:
        return None  # the reason stands on the option that was chosen
    if shape == "options" and feedback.verdict == "right" and not feedback.html:
        return None  # badge and option say it
    if shape == "puzzle" and feedback.text.startswith("Not met"):
        return Tell(
            tone=tone, lead=leads[feedback.verdict], html=str(escape(unmet_in_words(feedback.requirements)))
        )
    you = state.answer.answer.get("value")
    html = f"You wrote {escape(str(you))}. {feedback.html}" if you and shape == "fields" else feedback.html
    return Tell(tone=tone, lead=leads.get(feedback.verdict, ""), html=html)


def _leads(item: Item) -> Mapping[str, str]:
    if item.kind is ItemKind.PREDICT:
        return {"right": "It is as you said.", "wrong": "It is not as you said.", "partly": "Close."}
    return {"right": "Right.", "wrong": "Not yet.", "partly": "Nearly."}


def say_aloud(item: Item, state: ItemState, context: ItemContext) -> str:
    """The one sentence that a screen reader hears after a swap."""
    if context.problem:
        return f"{context.problem_lead} {context.problem}"
    if context.action == "answer" and not is_self_scored(item):
        return _verdict_aloud(item, state, context.feedback)
    mark = badge(item, state)
    return {
        "answer": "Your answer is kept. The check is open.",
        "hint": f"Hint {state.hints_open} of {len(item.hints)} is open.",
        "show": "The check is open.",
        "numbers": "The question has new numbers.",
        "score": f"Saved: {mark.words}." if mark else "Saved.",
    }.get(context.action, "")


def _verdict_aloud(item: Item, state: ItemState, feedback: Feedback | None) -> str:
    if feedback is None or state.answer is None:
        return "Your answer is kept."
    reasons = [feedback.html]
    if feedback.requirements and not feedback.html.startswith("Not a legal"):
        reasons = [str(escape(unmet_in_words(feedback.requirements)))]
    elif not feedback.html:
        chosen = letters(state.answer.answer)
        reasons = [option.feedback_html for option in item.options if option.letter in chosen]
    lead = _leads(item).get(feedback.verdict, "")
    return " ".join([lead, *(Markup(reason).striptags() for reason in reasons)]).strip()


def expects(item: Item) -> str:
    """The form that is asked for, beside the box."""
    form = "numbers" if is_named(item.answer) else expected_form(item)
    if isinstance(item.answer, list | tuple):
        return form  # a range: anything in it is right
    allowed = read_tolerance(item.tolerance)
    if allowed == read_tolerance("exact"):
        return f"{form}; exact"
    relative, absolute = allowed or (0.0, 0.0)
    if relative:
        return f"{form}; within {100 * relative:g} %"
    return f"{form}; within {absolute:g} {item.unit}".rstrip() if absolute else form


def older_text(state: ItemState) -> str:
    """What was answered to an earlier wording, while the present one has no answer."""
    if state.older is None or state.answer is not None:
        return ""
    return answer_words(state.older.answer)


def answer_words(answer: Mapping[str, Any]) -> str:
    """An answer in one line, as a person would say it."""
    if answer.get("text"):
        return str(answer["text"])
    if answer.get("value"):
        return str(answer["value"])
    if answer.get("options"):
        return ", ".join(str(letter) for letter in answer["options"])
    if answer.get("order"):
        return ", ".join(str(letter) for letter in answer["order"])
    for group in ("values", "layout"):
        if answer.get(group):
            return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in answer[group].items())
    return ""
