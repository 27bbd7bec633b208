"""What an item's view is made of: plain values, ready to be shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.curriculum.blocks import Item, ItemKind
from app.services.feedback import Feedback
from app.services.item_state import ItemState

CONFIDENCES = (("guess", "Guess"), ("think", "I think so"), ("sure", "Sure"))
SCORES = (("had_it", "Had it"), ("partly", "Partly"), ("not_yet", "Not yet"))
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
    look: str = ""  # chose-wrong | is-right | chosen | dim
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
    lesson_url: str
    report_url: str
    reported: bool
    number: int
    name: str
    label: str
    kind: str
    shape: str
    submit: str
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
    key: str = ""  # of a number, with its unit
    checks: Sequence[str] = ()  # HTML; what stands elsewhere on the item is left out
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
    key: str = ""  # of a number, in words


def shape_of(item: Item) -> str:
    """How the item is answered: text | options | order | fields | puzzle."""
    if item.kind in SHAPES:
        return SHAPES[item.kind]
    return "options" if item.options else "fields"


def anchor_of(item_id: str) -> str:
    """The item's place on the page."""
    return f"q-{item_id}"
