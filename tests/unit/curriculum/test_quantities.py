"""Numbers with units as people type them."""

import pytest

from app.curriculum.quantities import canonical_unit, close, format_value, parse_quantity, read_tolerance


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("112", "GB", 112),
        ("112 GB", "GB", 112),
        ("112GB", "GB", 112),
        ("112 gb", "GB", 112),
        ("1.12e11 B", "GB", 112),
        ("1.12 × 10^11 bytes", "GB", 112),
        ("1.12·10¹¹ B", "GB", 112),
        ("0.112 TB", "GB", 112),
        ("0,112 TB", "GB", 112),
        ("112,000 MB", "GB", 112),
        ("112 000 MB", "GB", 112),
        ("112'000 MB", "GB", 112),
        ("104.308 GiB", "GB", 112),
        ("~112", "GB", 112),
        ("about 112 GB per GPU", "GB", 112),
        ("−5", "", -5),
        ("9.9 %", "%", 9.9),
        ("0.099", "%", 0.099),
        ("12.5%", "", 0.125),
        ("15/207", "", 15 / 207),
        ("2^30", "", 2**30),
        ("3.5 ms", "s", 0.0035),
        ("3,5 s", "ms", 3500),
        ("1 h", "s", 3600),
        ("200 Gb/s", "GB/s", 25),
        ("400 Gbps", "GB/s", 50),
        ("312 TFLOPS", "TFLOP/s", 312),
        ("7B", "", None),
        ("7 billion", "", 7e9),
        ("7 billion parameters", "billion", 7),
        ("4 GPUs", "", 4),
        ("27 micro-batches", "", 27),
        ("1,536", "", 1536),
        ("1,5", "", 1.5),
        (".5", "", 0.5),
        ("5 GB", "s", None),
    ],
)
def test_typed_numbers(text: str, unit: str, value: float | None) -> None:
    typed = parse_quantity(text)
    assert typed is not None
    got = typed.in_unit(unit)
    assert got == (None if value is None else pytest.approx(value, rel=1e-5))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "many",
        "112 or 120",
        "100-120",
        "1.2.3",
        "112 apples",
        "1e400",
        "--5",
        "5 / 0",
        "x" * 500,
        "9" * 200,
        "1/",
    ],
)
def test_what_is_not_a_number(text: str) -> None:
    assert parse_quantity(text) is None


def test_units() -> None:
    assert canonical_unit("GPUs") == ""
    assert canonical_unit("Gib") == "GiB"
    assert canonical_unit("furlong") is None
    assert canonical_unit("FLOPs") == "FLOP"


def test_tolerance() -> None:
    assert read_tolerance("2%") == (0.02, 0.0)
    assert read_tolerance("0.5") == (0.0, 0.5)
    assert read_tolerance("") == (0.01, 0.0)
    assert read_tolerance("small") is None
    assert close(102, 100, (0.02, 0))
    assert not close(102.1, 100, (0.02, 0))
    assert close(-98, -100, (0.02, 0))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (5, "5"),
        (1234567.0, "1,234,567"),
        (0.1234, "0.123"),
        (41.52, "41.5"),
        (1e-9, "1e-09"),
        (1e20, "1e+20"),
    ],
)
def test_format(value: float, text: str) -> None:
    assert format_value(value) == text
