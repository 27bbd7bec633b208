"""Where a learner stands with an item: folded from what they did, and nothing else."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from app.curriculum.blocks import Item, ItemKind
from app.storage.progress import PastEvent

SELF_SCORED = (ItemKind.OPEN, ItemKind.RUBRIC)
NOT_UNDERSTOOD = "not_understood"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemState:
    """What one learner did with one item as it is worded now, with the numbers it shows now.

    `typed` is the last thing entered, whether it was graded or not. `answers` counts what could be
    graded. `older` is the last answer to an earlier wording of the item.
    """

    seed: int = 0
    hints_open: int = 0
    answers: int = 0
    typed: Mapping[str, Any] = field(default_factory=dict)
    confidence: str = ""  # said, but not committed to an answer yet
    answer: PastEvent | None = None
    score: PastEvent | None = None
    misread: bool = False  # the last thing sent could not be understood
    shown: bool = False
    ever_right: bool = False
    older: PastEvent | None = None
    last_at: datetime | None = None

    @property
    def touched(self) -> bool:
        """Whether the learner answered this item or asked to see the check, in any wording."""
        return self.answer is not None or self.shown or self.ever_right or self.older is not None

    @property
    def right(self) -> bool:
        """Whether the last answer was right."""
        return self.answer is not None and self.answer.verdict == "right"


def is_self_scored(item: Item) -> bool:
    """Whether the learner says how it went: nothing here could grade it."""
    return item.kind in SELF_SCORED or not item.graded


def check_is_open(item: Item, state: ItemState) -> bool:
    """Whether the check may be seen: after "show me", or after an attempt.

    A wrong answer to a graded item does not open it: the learner gets the feedback on that mistake
    and another try first, and can always ask for the check.
    """
    if state.shown:
        return True
    if state.answer is None:
        return False
    return is_self_scored(item) or item.kind is ItemKind.PREDICT or state.right


def fold(events: Iterable[PastEvent], content_hash: str) -> ItemState:
    """The state that these events, oldest first, lead to for the wording with this hash."""
    state = ItemState()
    for event in events:
        if event.content_hash == content_hash:
            state = _after(state, event)
        elif event.action == "answer":
            state = replace(state, older=event, last_at=event.at)
    return state


def _after(state: ItemState, event: PastEvent) -> ItemState:
    if event.seed != state.seed:  # new numbers: a fresh start on the same question
        state = ItemState(seed=event.seed, ever_right=state.ever_right, older=state.older)
    state = replace(state, last_at=event.at, misread=False)
    match event.action:
        case "hint":
            hints = max(state.hints_open, event.hints_used)
            return replace(state, hints_open=hints, typed=event.answer, confidence=event.confidence)
        case "show":
            return replace(state, shown=True, typed=event.answer or state.typed)
        case "score":
            right = state.ever_right or event.verdict in ("had_it", "passed")
            return replace(state, score=event, ever_right=right)
        case "answer" if event.verdict == NOT_UNDERSTOOD:
            return replace(state, typed=event.answer, misread=True)
        case "answer":
            return replace(
                state,
                typed=event.answer,
                confidence="",
                answer=event,
                answers=state.answers + 1,
                score=None,
                ever_right=state.ever_right or event.verdict == "right",
            )
        case _:
            return state
