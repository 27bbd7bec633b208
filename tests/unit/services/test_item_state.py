"""What a learner did with an item, folded into where they stand."""

from datetime import UTC, datetime, timedelta

import pytest

from app.curriculum.blocks import Item, ItemKind, Option
from app.services.item_state import ItemState, check_is_open, fold
from app.storage.progress import PastEvent

START = datetime(2026, 3, 1, tzinfo=UTC)


def event(action: str, minute: int = 0, content_hash: str = "now", **more: object) -> PastEvent:
    given = {
        "action": action,
        "lesson_hash": "lesson",
        "item": "first",
        "content_hash": content_hash,
        "at": START + timedelta(minutes=minute),
        **more,
    }
    return PastEvent(**given)  # type: ignore[arg-type]


def item(kind: ItemKind, **more: object) -> Item:
    given = {
        "id": "first",
        "section": "Practice",
        "number": 1,
        "kind": kind,
        "prompt_html": "",
        "prompt_text": "",
        "line": 1,
        **more,
    }
    return Item(**given)  # type: ignore[arg-type]


def test_nothing_done_is_nothing_known() -> None:
    assert fold([], "now") == ItemState()
    assert not fold([], "now").touched


def test_the_last_answer_counts_and_right_once_is_remembered() -> None:
    state = fold(
        [
            event("answer", answer={"value": "1"}, verdict="wrong"),
            event("answer", answer={"value": "2"}, verdict="right"),
            event("answer", answer={"value": "3"}, verdict="wrong"),
        ],
        "now",
    )
    assert state.answers == 3
    assert state.answer is not None
    assert state.answer.answer == {"value": "3"}
    assert not state.right
    assert state.ever_right


def test_hints_only_grow_and_keep_the_draft() -> None:
    state = fold(
        [
            event("hint", hints_used=2, answer={"text": "half a thought"}, confidence="think"),
            event("hint", hints_used=1, answer={"text": "half a thought more"}),
        ],
        "now",
    )
    assert state.hints_open == 2
    assert state.typed == {"text": "half a thought more"}
    assert not state.touched, "a hint is no answer"


def test_new_numbers_begin_afresh_but_forget_nothing() -> None:
    state = fold(
        [
            event("hint", hints_used=1),
            event("answer", answer={"value": "11"}, verdict="right"),
            event("numbers", seed=1),
        ],
        "now",
    )
    assert state.seed == 1
    assert state.answer is None
    assert state.hints_open == 0
    assert state.typed == {}
    assert state.ever_right
    assert state.touched


def test_a_new_answer_has_no_score_yet() -> None:
    scored = [event("answer", answer={"text": "a"}), event("score", verdict="had_it")]
    assert fold(scored, "now").score is not None
    assert fold([*scored, event("answer", answer={"text": "b"})], "now").score is None


def test_what_was_not_understood_is_typed_but_no_answer() -> None:
    state = fold([event("answer", answer={"value": "many"}, verdict="not_understood")], "now")
    assert state.answer is None
    assert state.answers == 0
    assert state.typed == {"value": "many"}


def test_an_earlier_wording_is_kept_apart() -> None:
    state = fold(
        [
            event("answer", content_hash="before", answer={"text": "old"}, verdict="right"),
            event("hint", content_hash="before", hints_used=3),
        ],
        "now",
    )
    assert state.older is not None
    assert state.older.answer == {"text": "old"}
    assert state.answer is None
    assert state.hints_open == 0
    assert not state.ever_right
    assert state.touched


def test_the_last_moment_is_known() -> None:
    state = fold([event("answer", 1), event("hint", 5, hints_used=1)], "now")
    assert state.last_at == START + timedelta(minutes=5)


OPTIONS = (Option(letter="a", html="", text=""), Option(letter="b", html="", text=""))


@pytest.mark.parametrize(
    ("asked", "verdict", "opens"),
    [
        (item(ItemKind.OPEN), "", True),
        (item(ItemKind.RUBRIC), "", True),
        (item(ItemKind.MCQ, options=OPTIONS), "wrong", False),
        (item(ItemKind.MCQ, options=OPTIONS), "right", True),
        (item(ItemKind.MCQ, options=OPTIONS, graded=False), "", True),
        (item(ItemKind.NUMERIC), "wrong", False),
        (item(ItemKind.NUMERIC), "partly", False),
        (item(ItemKind.NUMERIC), "right", True),
        (item(ItemKind.CALCULATOR), "partly", False),
        (item(ItemKind.ORDERING), "right", True),
        (item(ItemKind.PREDICT, options=OPTIONS), "wrong", True),
    ],
)
def test_when_the_check_opens(asked: Item, verdict: str, opens: bool) -> None:
    answered = fold([event("answer", answer={"x": 1}, verdict=verdict)], "now")
    assert check_is_open(asked, answered) is opens
    assert check_is_open(asked, ItemState()) is False
    assert check_is_open(asked, fold([event("show")], "now")) is True
