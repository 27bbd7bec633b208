"""Days, counts and requirements as people say them."""

from datetime import UTC, datetime, timedelta

import pytest

from app.curriculum.grading import Met
from app.web.requirements import in_words, unmet_in_words, value_in_words
from app.web.words import counted, day

NOW = datetime(2026, 3, 12, 9, 0, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (NOW, "today"),
        (NOW.replace(hour=0), "today"),
        (NOW + timedelta(minutes=5), "today"),  # clocks differ
        (NOW - timedelta(hours=10), "yesterday"),
        (NOW - timedelta(days=6), "on Friday"),
        (NOW - timedelta(days=7), "on 5 March"),
        (NOW - timedelta(days=365), "on 12 March 2025"),
    ],
)
def test_days(then: datetime, said: str) -> None:
    assert day(then, NOW) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "no items"), (1, "one item"), (10, "ten items"), (11, "11 items"), (12_345, "12,345 items")],
)
def test_counts(number: int, said: str) -> None:
    assert counted(number, "item") == said


@pytest.mark.parametrize(
    ("requirement", "said"),
    [
        ("fits == yes", "every stage fits"),
        ("memory.fits == yes", "every stage fits"),
        ("time.bubble_fraction <= 0.10", "bubble at most 10 %"),
        ("layout.tensor_parallel <= 8", "tensor width at most 8"),
        ("tensor_parallel <= 8", "tensor width at most 8"),
        ("batch.global_batch_size < 1024", "global batch below 1,024"),
        ("kv_capacity_tokens >= 500000", "tokens of cache at least 500,000"),
        ("layout.zero_stage == 1", "zero stage exactly 1"),
        ("something odd", "something odd"),
    ],
)
def test_requirements(requirement: str, said: str) -> None:
    assert in_words(requirement) == said


@pytest.mark.parametrize(
    ("shown", "said"), [("0.03 (3.0 %)", "3.0 %"), ("512000", "512,000"), ("no", "no"), ("", "")]
)
def test_values(shown: str, said: str) -> None:
    assert value_in_words(shown) == said


def test_what_is_still_to_be_met() -> None:
    found = [
        Met(text="fits == yes", met=False, value="no"),
        Met(text="layout.tensor_parallel <= 8", met=True, value="8"),
        Met(text="time.bubble_fraction <= 0.10", met=False),
    ]
    assert unmet_in_words(found) == (
        "Still to be met: every stage fits (now no); bubble at most 10 % (now no value)."
    )
    assert unmet_in_words(found[1:2]) == ""
