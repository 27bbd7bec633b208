"""GB is 10^9, GiB is 2^30, and both are written as what they are."""

import pytest

from app.calculator import units


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (units.format_bytes(101.4e9), "101.4 GB"),
        (units.format_bytes(999), "999 B"),
        (units.format_bytes(0), "0 B"),
        (units.format_gib(79.2 * 2**30), "79.2 GiB"),
        (units.format_binary_bytes(2**20), "1.0 MiB"),
        (units.format_binary_bytes(-3 * 2**30), "-3.0 GiB"),
        (units.format_seconds(0.0124), "12.40 ms"),
        (units.format_seconds(29.58), "29.58 s"),
        (units.format_seconds(0), "0.00 s"),
        (units.format_seconds(5e-6), "5.00 µs"),
        (units.format_flop(3.86e18), "3.86 EFLOP"),
        (units.format_count(174.6e9), "174.6 B"),
        (units.format_percent(0.725), "72.5 %"),
        (units.format_number(8.0), "8"),
        (units.format_number(0.123456789), "0.123457"),
    ],
)
def test_written(written, expected):
    assert written == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [("80 GiB", 80 * 2**30), ("24GB", 24e9), ("1.5e9 B", 1.5e9), ("512 MiB", 2**29), ("7", 7)],
)
def test_read(text, value):
    assert units.parse_bytes(text) == value


@pytest.mark.parametrize("text", ["", "GB", "80 gigs", "-3 GB", "1e GB", "nan GB"])
def test_unreadable(text):
    with pytest.raises(ValueError, match="is not a size"):
        units.parse_bytes(text)
