"""The error band beside a prediction widens where it rests on less."""

import pytest

from app.services.estimation import estimate


@pytest.mark.parametrize(
    ("inputs", "fraction"),
    [
        ({"model": "gpt-1.7b"}, 0.08),
        ({"model": "mixtral-8x7b"}, 0.50),
        ({"model": "gpt-1.7b", "gpu": "h100-80gb", "compute_dtype": "fp8"}, 0.15),
        ({"model": "gpt-1.7b", "gpu": "mi300x"}, 0.20),
    ],
)
def test_band(inputs, fraction):
    answer = estimate(inputs)
    assert answer["expected_error_fraction"] == fraction
    assert bool(answer["assumptions"]) is (fraction == 0.20)


def test_an_illegal_layout_has_no_band():
    assert estimate({"model": "gpt-1.7b", "tensor_parallel": 7})["expected_error_fraction"] is None


def test_a_type_the_device_does_not_have_is_said():
    told = estimate({"model": "gpt-1.7b", "gpu": "v100-32gb", "compute_dtype": "bf16"})["assumptions"]
    assert any("not bf16" in sentence for sentence in told)
    plain = estimate({"model": "gpt-1.7b", "gpu": "v100-32gb"})["assumptions"]
    assert not any("bf16" in sentence for sentence in plain)
