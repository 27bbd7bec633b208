"""Numbers as people read them."""

import math

import pytest

from app.web import numbers

GIB = 2**30


def plain(text: str) -> str:
    return text.replace(numbers.NBSP, " ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (99.56, "99.6"), (4, "4.00"), (0.012345, "0.0123"), (1234, "1,230"), (999.6, "1,000"), (0, "0"),
        (-1.5, "−1.50"), (9.999, "10.0"), (0.0009996, "0.00100"), (1e20, "1.00 × 10^20"),
        (math.nan, "unknown"), (None, "unknown"), (math.inf, "unknown"),
    ],
)  # fmt: skip
def test_three_significant_digits(value: float | None, text: str) -> None:
    assert numbers.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(99.6 * GIB, "99.6 GiB"), (156.44 * GIB, "156.4 GiB"), (1.5 * GIB, "1.50 GiB"), (0, "0 GiB")],
)
def test_gib(value: float, text: str) -> None:
    assert plain(numbers.gib(value)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (10.76, "10.8 s"), (0.667, "667 ms"), (38e-6, "38.0 µs"), (0, "0 s"), (3600, "60.0 min"),
        (86400 * 84.1, "84.1 days"), (90_000, "25.0 h"),
    ],
)  # fmt: skip
def test_seconds(value: float, text: str) -> None:
    assert plain(numbers.seconds(value)) == text


def test_units_that_scale() -> None:
    assert plain(numbers.decimal_bytes(135e9)) == "135 GB"
    assert plain(numbers.decimal_bytes(999_999_999)) == "1.00 GB"
    assert plain(numbers.binary(3 * 2**20)) == "3.00 MiB"
    assert plain(numbers.rate(24363, "tokens/s")) == "24.4 k tokens/s"
    assert plain(numbers.rate(3e11, "B/s")) == "300 GB/s"
    assert plain(numbers.parameters(174.6e9)) == "175 billion"
    assert plain(numbers.percent(3 / 11)) == "27.3 %"
    assert plain(numbers.percent(0.3284, 2)) == "33 %"
    assert plain(numbers.exact(62813896704.0, "bytes")) == "62,813,896,704 bytes"
    assert numbers.count(5.25) == "5.25"
    assert numbers.count(262144) == "262,144"
    assert numbers.fixed(-0.001, 2) == "0.00"
