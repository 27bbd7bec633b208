"""An item as the page shows it: question, what was answered, what is open, what to do next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from app.curriculum.blocks import Fold, Item, ItemKind, Option
from app.curriculum.grading import expected_form
from app.services.feedback import Feedback
from app.services.item_state import ItemState, check_is_open, is_self_scored
from app.web.requirements import unmet_in_words

CONFIDENCES = (("guess", "Guess"), ("think", "I think so"), ("sure", "Sure"))
SCORES = (("had_it", "Had it"), ("partly", "Partly"), ("not_yet", "Not yet"))
SURE_WORDS = {
    "guess": "Your answer, and you were guessing",
    "think": "Your answer, and you thought so",
    "sure": "Your answer, and you were sure",
}
SHAPES = {
    ItemKind.OPEN: "text",
    ItemKind.RUBRIC: "text",
    ItemKind.ORDERING: "order",
    ItemKind.NUMERIC: "fields",
    ItemKind.CALCULATOR: "puzzle",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """A mark and a word."""

    look: str  # right | wrong | near | plain
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """What is said about the answer."""

    tone: str  # good | bad | warn | ""
    lead: str
    html: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionView:
    """One choice, with its feedback where it may be seen."""

    letter: str
    html: str
    checked: bool = False
    fixed: bool = False  # shown as text, not as a control
    look: str = ""  # chose-wrong | is-right | chose-right | dim
    verdict: str = ""
    say_html: str = ""
    place: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldView:
    """One box to type into."""

    name: str
    label: str
    label_shown: bool = False
    unit: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointView:
    """One line of a rubric, for the learner to tick."""

    points: int
    html: str
    ticked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    """Everything that the macro `item_article` shows."""

    item: Item
    state: ItemState
    anchor: str
    url: str
    report_url: str
    reported: bool
    number: int
    name: str
    label: str
    kind: str
    shape: str
    submit: str
    default_action: str = "answer"
    submit_shown: bool = True
    submit_first: bool = False
    show_label: str = ""
    can_vary: bool = False
    badge: Badge | None = None
    tell: Tell | None = None
    problem: str = ""
    problem_lead: str = "Not sent yet."
    options: Sequence[OptionView] = ()
    fields: Sequence[FieldView] = ()
    expects: str = ""
    text: str = ""
    answered_text: str = ""
    older_text: str = ""
    ask_confidence: bool = False
    confidence: str = ""
    confidences: Sequence[tuple[str, str]] = CONFIDENCES
    hints: Sequence[str] = ()
    hints_total: int = 0
    next_hint: int = 0
    check_open: bool = False
    check_label: str = "Check"
    folds: Sequence[Fold] = ()  # of a rubric only after it was scored: they hold the points
    ask_score: bool = False
    score: str = ""
    scores: Sequence[tuple[str, str]] = SCORES
    points: Sequence[PointView] = ()
    score_words: str = ""
    puzzle: Any = None
    say: str = ""  # the one sentence that a screen reader hears after a swap


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContext:
    """Where the item stands on the page and what the engine says about it."""

    lesson_url: str
    reported: bool = False
    checks_open: bool = False
    feedback: Feedback | None = None
    problem: str = ""
    problem_lead: str = "Not sent yet."
    typed: Mapping[str, Any] | None = None  # what was just typed, if it was not stored
    confidence: str = ""
    action: str = ""  # what was just done, in a fragment
    puzzle: Any = None
    options: Sequence[Option] = field(default_factory=tuple)  # in the order shown


def shape_of(item: Item) -> str:
    """How the item is answered: text | options | order | fields | puzzle."""
    if item.kind in SHAPES:
        return SHAPES[item.kind]
    return "options" if item.options else "fields"


def anchor_of(item_id: str) -> str:
    """The item's place on the page."""
    return f"q-{item_id}"


def item_view(item: Item, state: ItemState, context: ItemContext) -> ItemView:
    """The view of an item; `item` has this learner's numbers in it."""
    opened = context.checks_open or check_is_open(item, state)
    typed = context.typed if context.typed is not None else state.typed
    shape = shape_of(item)
    graded = not is_self_scored(item)
    done = opened and (graded or item.kind is ItemKind.PREDICT) and shape != "puzzle"
    anchor = anchor_of(item.id)
    return ItemView(
        item=item,
        state=state,
        anchor=anchor,
        url=f"{context.lesson_url}/items/{quote(item.id)}",
        report_url=f"/reports/new?lesson={context.lesson_url.removeprefix('/courses/')}&at={quote(anchor)}",
        reported=context.reported,
        number=item.number,
        name=f"{item.section} {item.number}",
        label=_label(item),
        kind=item.kind.value,
        shape=shape,
        submit=_submit_label(item, state),
        submit_shown=not (done or (shape == "text" and state.answer is not None)),
        submit_first=(item.kind is not ItemKind.OPEN and graded) or item.kind is ItemKind.PREDICT,
        show_label="" if opened else _show_label(item, state),
        can_vary=bool(item.vary) and state.touched,
        badge=_badge(item, state),
        tell=_tell(item, state, context, shape),
        problem=context.problem,
        problem_lead=context.problem_lead,
        options=_options(item, state, typed, context, done),
        fields=_fields(item, typed),
        expects=_expects(item) if shape == "fields" else "",
        text=str(typed.get("text", "")) if _editing(state, context) else "",
        answered_text=str(state.answer.answer.get("text", "")) if state.answer else "",
        older_text=_older_text(state),
        ask_confidence=item.kind in (ItemKind.PREDICT, ItemKind.MCQ) and graded and not done,
        confidence=context.confidence or state.confidence,
        hints=tuple(fold.html for fold in item.hints[: state.hints_open]),
        hints_total=len(item.hints),
        next_hint=_next_hint(item, state),
        check_open=opened,
        check_label="What the calculator says" if item.kind is ItemKind.PREDICT else "Check",
        folds=() if item.rubric and state.answer is not None and state.score is None else item.checks,
        ask_score=opened and not graded and not item.rubric and state.answer is not None,
        score=state.score.verdict if state.score else "",
        points=_points(item, state) if state.answer is not None else (),
        score_words=_score_words(item, state),
        puzzle=context.puzzle,
        say=_say_aloud(item, state, context),
    )


def _say_aloud(item: Item, state: ItemState, context: ItemContext) -> str:
    if context.problem:
        return f"{context.problem_lead} {context.problem}"
    if context.action == "answer" and not is_self_scored(item):
        return _verdict_aloud(item, state, context.feedback)
    badge = _badge(item, state)
    return {
        "answer": "Your answer is kept. The check is open.",
        "hint": f"Hint {state.hints_open} of {len(item.hints)} is open.",
        "show": "The check is open.",
        "numbers": "The question has new numbers.",
        "score": f"Saved: {badge.words}." if badge else "Saved.",
    }.get(context.action, "")


def _verdict_aloud(item: Item, state: ItemState, feedback: Feedback | None) -> str:
    if feedback is None or state.answer is None:
        return "Your answer is kept."
    reasons = [feedback.html]
    if feedback.requirements and not feedback.html.startswith("Not a legal"):
        reasons = [str(escape(unmet_in_words(feedback.requirements)))]
    elif not feedback.html:
        chosen = _letters(state.answer.answer)
        reasons = [option.feedback_html for option in item.options if option.letter in chosen]
    lead = _leads(item).get(feedback.verdict, "")
    return " ".join([lead, *(Markup(reason).striptags() for reason in reasons)]).strip()


def _editing(state: ItemState, context: ItemContext) -> bool:
    """Whether the box holds a draft: nothing answered yet, a refused text, or one typed since."""
    return state.answer is None or context.typed is not None or state.typed != state.answer.answer


def _label(item: Item) -> str:
    what = {
        ItemKind.MCQ: "Several answers" if item.multiple else "One answer",
        ItemKind.NUMERIC: "Number, fresh values each try" if item.vary else "Number",
        ItemKind.CALCULATOR: "Calculator puzzle",
        ItemKind.RUBRIC: "In your words, scored by you",
        ItemKind.ORDERING: "Put in order",
        ItemKind.PREDICT: "Predict",
    }.get(item.kind, "")
    lesson = item.origin.split("#")[0].lstrip("0")
    origin = f"from lesson {lesson}" if lesson.isdigit() else ""
    return " · ".join(part for part in (origin, what) if part)


_SUBMIT = {
    ItemKind.PREDICT: "Commit and reveal",
    ItemKind.CALCULATOR: "Submit this layout",
    ItemKind.RUBRIC: "Done writing, show the points",
    ItemKind.OPEN: "Check myself",
}


def _submit_label(item: Item, state: ItemState) -> str:
    if item.kind in _SUBMIT:
        return _SUBMIT[item.kind]
    if not item.graded:
        return "Check myself"
    return "Answer again" if state.answer is not None else "Check"


def _show_label(item: Item, state: ItemState) -> str:
    if item.kind is ItemKind.PREDICT:
        return "Read on without guessing"
    if item.kind is ItemKind.MCQ and state.answer is not None:
        return "Show the reasons for every option"
    return "Show me"


def _badge(item: Item, state: ItemState) -> Badge | None:
    if state.score is not None:
        recalled = "recalled" if item.section == "Warm-up" else "had it"
        look, words = _SCORE_BADGES[state.score.verdict]
        return Badge(look=look, words=recalled if state.score.verdict == "had_it" else words)
    if state.answer is None:
        if state.shown:
            return Badge(look="near", words="check seen")
        return Badge(look="right", words="right before") if state.ever_right else None
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


def _tell(item: Item, state: ItemState, context: ItemContext, shape: str) -> Tell | None:
    feedback = context.feedback
    if context.problem or feedback is None or state.answer is None or is_self_scored(item):
        return None
    tone = {"right": "good", "wrong": "bad", "partly": "warn"}.get(feedback.verdict, "")
    leads = _leads(item)
    if item.kind is ItemKind.PREDICT:
        tone = "good" if feedback.verdict == "right" else "warn"
    if shape == "options" and feedback.verdict != "right" and not item.multiple:
        return None  # the reason stands on the option that was chosen
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


def _options(
    item: Item, state: ItemState, typed: Mapping[str, Any], context: ItemContext, done: bool
) -> tuple[OptionView, ...]:
    chosen_now = set(_letters(typed))
    answered = set(_letters(state.answer.answer)) if state.answer else set()
    places = {letter: place for place, letter in enumerate(typed.get("order", ()), 1)}
    places |= {
        letter: int(place) for letter, place in typed.get("places", {}).items() if str(place).isdigit()
    }
    feedback = context.feedback
    views = []
    for option in context.options or item.options:
        if item.kind is ItemKind.ORDERING:
            place = places.get(option.letter, 0)
            views.append(OptionView(letter=option.letter, html=option.html, place=place, fixed=done))
            continue
        wrong_now = option.letter in answered and option.letter not in item.correct and item.graded
        settled = done or (wrong_now and context.typed is None and not item.multiple)
        views.append(
            OptionView(
                letter=option.letter,
                html=option.html,
                checked=option.letter in chosen_now and not settled,
                fixed=settled,
                look=_look(option, item, answered, done, wrong_now and settled),
                verdict=_option_verdict(option, item, state, answered, settled),
                say_html=_say(option, feedback, settled),
            )
        )
    return tuple(views)


def _letters(typed: Mapping[str, Any]) -> Sequence[str]:
    letters = typed.get("options", ())
    return letters if isinstance(letters, list | tuple) else ()


def _look(option: Option, item: Item, answered: set[str], done: bool, chose_wrong: bool) -> str:
    if chose_wrong:
        return "chose-wrong"
    if not done:
        return ""
    if option.letter in item.correct:
        return "is-right"
    return "chose-wrong" if option.letter in answered and item.graded else "dim"


def _option_verdict(option: Option, item: Item, state: ItemState, answered: set[str], settled: bool) -> str:
    if not settled or option.letter not in answered:
        return "Right" if settled and option.letter in item.correct else ""
    return SURE_WORDS.get(state.answer.confidence if state.answer else "", "Your answer")


def _say(option: Option, feedback: Feedback | None, settled: bool) -> str:
    if not settled:
        return ""
    own = feedback.options.get(option.letter, "") if feedback else ""
    return own or option.feedback_html


def _fields(item: Item, typed: Mapping[str, Any]) -> tuple[FieldView, ...]:
    if isinstance(item.answer, Mapping) and "calc" not in item.answer:
        values = typed.get("values", {})
        return tuple(
            FieldView(
                name=f"value.{name}",
                label=str(name).replace("_", " "),
                label_shown=True,
                unit=item.unit,
                value=str(values.get(name, "")),
            )
            for name in item.answer
        )
    label = f"Your answer, in {item.unit}" if item.unit else "Your answer, a number"
    return (FieldView(name="value", label=label, unit=item.unit, value=str(typed.get("value", ""))),)


def _expects(item: Item) -> str:
    """The form that is asked for, beside the box."""
    form = expected_form(item)
    tolerance = str(item.tolerance)
    exact = tolerance in ("0", "0%")
    return f"{form}; exact" if exact else f"{form}; within {tolerance}" if tolerance else form


def _older_text(state: ItemState) -> str:
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


def _next_hint(item: Item, state: ItemState) -> int:
    return state.hints_open + 1 if state.hints_open < len(item.hints) else 0


def _points(item: Item, state: ItemState) -> tuple[PointView, ...]:
    ticked = set(state.score.answer.get("points", ())) if state.score else set()
    return tuple(
        PointView(points=point.points, html=point.html or str(escape(point.text)), ticked=index in ticked)
        for index, point in enumerate(item.rubric)
    )


def _score_words(item: Item, state: ItemState) -> str:
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
