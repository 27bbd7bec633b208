"""Formulas with numbers put in."""

import pytest

from app.calculator.explain import line, substituted


def test_names_become_numbers():
    assert substituted(
        "bytes_each * parameters / ranks", {"bytes_each": 2, "parameters": 1e9, "ranks": 8}
    ) == ("2 * 1000000000 / 8")


def test_functions_and_exponents_stay():
    assert (
        substituted("min(m, 2e3) + max(p - i, 1)", {"m": 8, "p": 4, "i": 1}) == "min(8, 2e3) + max(4 - 1, 1)"
    )


def test_negative_numbers_are_bracketed():
    assert substituted("a - b", {"a": 1, "b": -2}) == "1 - (-2)"


def test_a_name_without_a_number_is_an_error():
    with pytest.raises(KeyError):
        substituted("a + b", {"a": 1})


def test_line_has_everything():
    found = line("time.step_s", "a + b", {"a": 1, "b": 2.5}, 3.5, unit="s", source="sum")
    assert found == {
        "key": "time.step_s",
        "formula": "a + b",
        "substituted": "1 + 2.5",
        "value": 3.5,
        "unit": "s",
        "source": "sum",
    }
