"""What is said about an answer: once, in order, and never as HTML that the learner wrote."""

from collections.abc import Mapping
from typing import Any

from app.curriculum.blocks import Item, ItemKind, Option, WrongAnswer
from app.curriculum.engine import Quantity
from app.services.feedback import feedback_on, numbers_of


class NoEngine:
    def answer(self, verb: str, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        raise AssertionError("nothing here needs the engine")

    def value(self, name: str, arguments: Mapping[str, Any], verb: str = "estimate") -> Quantity:
        raise AssertionError("nothing here needs the engine")


def item(kind: ItemKind, **more: Any) -> Item:
    given: dict[str, Any] = {"id": "x", "section": "Practice", "number": 1, "kind": kind, "line": 1, **more}
    return Item(prompt_html="", prompt_text="", **given)


NUMBER = item(
    ItemKind.NUMERIC,
    answer=112,
    unit="GB",
    tolerance="2%",
    wrong=(WrongAnswer(value=14, tolerance="5%", say="Weights < states.", misconception="weights-only"),),
)


def test_a_known_mistake_is_said_once_and_escaped() -> None:
    feedback = feedback_on(NUMBER, {"value": "14"}, 0, NoEngine())
    assert feedback.verdict == "wrong"
    assert feedback.html.count("Weights &lt; states.") == 1
    assert "<script>" not in feedback.html
    assert feedback.misconception == "weights-only"


def test_the_verdict_is_left_to_the_page() -> None:
    assert feedback_on(NUMBER, {"value": "112 GB"}, 0, NoEngine()).html == ""
    off = feedback_on(NUMBER, {"value": "90"}, 0, NoEngine())
    assert off.verdict == "wrong"
    assert not off.html.startswith("Not yet")
    assert off.html[:1].isupper()


def test_what_cannot_be_read_says_what_to_write() -> None:
    feedback = feedback_on(NUMBER, {"value": "<script>alert(1)</script>"}, 0, NoEngine())
    assert feedback.verdict == "not_understood"
    assert "a number in GB" in feedback.text
    assert not feedback.text.startswith("Not understood")
    assert "<script>" not in feedback.html


def test_named_answers_say_which_is_right() -> None:
    asked = item(ItemKind.NUMERIC, answer={"width": 8, "depth": 4}, tolerance="0")
    feedback = feedback_on(asked, {"values": {"width": "8", "depth": "5"}}, 0, NoEngine())
    assert feedback.verdict == "partly"
    assert "width: Right." in feedback.html
    assert "depth: " in feedback.html


def test_a_choice_gives_the_reason_of_what_was_chosen_only() -> None:
    options = (
        Option(letter="a", html="a", text="a", feedback_html="reason of a"),
        Option(letter="b", html="b", text="b", feedback_html="reason of b"),
        Option(letter="c", html="c", text="c", feedback_html="reason of c"),
    )
    feedback = feedback_on(
        item(ItemKind.MCQ, options=options, correct=("b",)), {"options": ["a"]}, 0, NoEngine()
    )
    assert feedback.verdict == "wrong"
    assert feedback.options == {"a": "reason of a"}
    assert "reason of b" not in feedback.html
    assert "reason of c" not in feedback.html


def test_typed_numbers_become_numbers_and_nothing_else_does() -> None:
    typed = {"a": "8", "b": " 16 ", "c": "full", "d": "1e3", "e": "٣", "f": "9" * 40, "g": ""}
    assert numbers_of(typed) == {**typed, "a": 8, "b": 16}
