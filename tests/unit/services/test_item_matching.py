"""Which item an earlier one became."""

from app.curriculum.blocks import Item, ItemKind
from app.services.item_matching import Wording, became


def item(name: str, prompt: str, section: str = "Practice") -> Item:
    return Item(
        id=name, section=section, number=1, kind=ItemKind.OPEN, prompt_html="", prompt_text=prompt, line=1
    )


LESSON = (
    item("bubble", "What share of the step is bubble with eight stages?"),
    item("width", "What is the smallest width that fits on this card?"),
    item("why", "Why?"),
)


def test_the_same_prompt_is_the_same_item_wherever_it_stands() -> None:
    gone = {"old": Wording("Warm-up", "What share of the step\n is bubble with eight stages?")}
    assert became(LESSON, gone) == {"old": "bubble"}


def test_a_mended_prompt_is_known_by_its_likeness() -> None:
    gone = {"old": Wording("Practice", "What is the smalest width that fits on that card?")}
    assert became(LESSON, gone) == {"old": "width"}


def test_likeness_counts_within_a_section_only() -> None:
    assert (
        became(LESSON, {"old": Wording("Warm-up", "What is the smalest width that fits on that card?")}) == {}
    )


def test_another_question_became_nothing() -> None:
    assert became(LESSON, {"old": Wording("Practice", "How many bytes does a gradient take?")}) == {}
    assert became((), {"old": Wording("Practice", "Why?")}) == {}
    assert became(LESSON, {}) == {}


def test_two_earlier_items_do_not_become_one() -> None:
    gone = {
        "near": Wording("Practice", "What is the smallest width that fits on that card?"),
        "same": Wording("Practice", "What is the smallest width that fits on this card?"),
    }
    assert became(LESSON, gone) == {"same": "width"}


def test_very_long_prompts_are_compared_quickly() -> None:
    long = "a long question " * 5_000
    assert became((item("long", long + "?"),), {"old": Wording("Practice", long + "!")}) == {"old": "long"}
