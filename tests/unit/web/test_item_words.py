"""Where an item comes from, and what its check is called."""

import dataclasses

import pytest

from app.curriculum.blocks import Fold, Item, ItemKind
from app.web.item_words import check_label, expects, label

ITEM = Item(
    id="x",
    section="Warm-up",
    number=1,
    number_written=1,
    kind=ItemKind.NUMERIC,
    prompt_html="",
    prompt_text="",
    line=1,
    graded=True,
    answer=18,
)


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ("0010#predict", "from lesson 10 · Number"),
        ("0003-shard-the-bookkeeping#x", "from lesson 3 · Number"),
        ("training/0010#x", "from lesson 10 · Number"),
        ("0000#x", "Number"),
        ("#x", "Number"),
        ("", "Number"),
    ],
)
def test_where_a_warm_up_comes_from(origin: str, said: str) -> None:
    assert label(dataclasses.replace(ITEM, origin=origin)) == said


@pytest.mark.parametrize(
    ("tolerance", "unit", "said"),
    [
        ("0", "", "a number, such as 12 or 3.5; exact"),
        ("exact", "GB", "a number in GB, such as 3.5 GB; exact"),
        ("2%", "GB", "a number in GB, such as 3.5 GB; within 2 %"),
        ("0.5%", "", "a number, such as 12 or 3.5; within 0.5 %"),
        ("0.5", "GB", "a number in GB, such as 3.5 GB; within 0.5 GB"),
        ("", "GB", "a number in GB, such as 3.5 GB; within 1 %"),
    ],
)
def test_what_is_allowed(tolerance: str, unit: str, said: str) -> None:
    assert expects(dataclasses.replace(ITEM, tolerance=tolerance, unit=unit)) == said


def test_of_a_range_anything_is_right() -> None:
    assert "within" not in expects(dataclasses.replace(ITEM, answer=(1, 2), tolerance="2%"))


def test_several_numbers_are_asked_for_in_one_line() -> None:
    item = dataclasses.replace(ITEM, answer={"width": 8, "depth": 2}, tolerance="0")
    assert expects(item) == "numbers; exact"


def test_the_calculator_speaks_only_where_it_was_asked() -> None:
    guess = dataclasses.replace(ITEM, kind=ItemKind.PREDICT)
    assert check_label(guess) == "Check"
    worked_out = Fold(html='<p><strong class="calc">171 GB</strong></p>', text="171 GB")
    assert check_label(dataclasses.replace(guess, checks=(worked_out,))) == "What the calculator says"
    assert check_label(dataclasses.replace(guess, answer={"calc": "x"})) == "What the calculator says"
    assert check_label(dataclasses.replace(ITEM, checks=(worked_out,))) == "Check"
