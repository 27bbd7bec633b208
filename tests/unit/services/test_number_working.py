"""The working behind the numbers of a lesson: what is put in gives what is shown."""

import math
from typing import Any

import pytest

from app.calculator.expressions import evaluate_expression
from app.curriculum.blocks import CheckedNumber, Lesson
from app.curriculum.library import load_library
from app.services.engine import CalculatorEngine
from app.services.number_working import NumberWorking, Step, work_out
from app.settings import ROOT

LAYOUT = {
    "model": "gpt3-175b",
    "gpu": "a100-80gb",
    "num_nodes": 8,
    "tensor_parallel": 8,
    "pipeline_parallel": 8,
}
LESSON = Lesson(course="c", slug="0001-a", path="a.md", number=1, title="A")
ENGINE = CalculatorEngine()
NO_NAMES: dict[str, float] = {}


def found(name: str, arguments: dict[str, Any], text: str = "1", unit: str = "") -> NumberWorking:
    number = CheckedNumber(name=name, arguments=arguments, unit=unit, text=text, line=1)
    return work_out(LESSON, number, ENGINE)


def gives(step: Step | None) -> bool:
    assert step is not None
    assert step.formula
    result = float(evaluate_expression(step.substituted, NO_NAMES.__getitem__))
    return math.isclose(result, float(step.value), rel_tol=1e-9)


def test_arithmetic_shows_its_numbers() -> None:
    work = found("100*(p-1)/(m+p-1)", {"p": 64, "m": 256}, "19.7 %")
    assert work.working is not None
    assert work.working.formula == "100 * (p - 1) / (m + p - 1)"
    assert work.working.substituted == "100 * (64 - 1) / (256 + 64 - 1)"
    assert gives(work.working)
    assert (work.shown, work.query) == ("19.7 %", "")
    assert work.inputs == (("p", 64), ("m", 256))


@pytest.mark.parametrize("formula", ["1e-3*p", "-p+1e9", "min(p,-2)*p", "p**2", "p/ (2 -p)"])
def test_spaces_change_nothing(formula: str) -> None:
    work = found(formula, {"p": 3}, "1")
    assert work.problem == ""
    assert gives(work.working)


def test_a_path_shows_its_line_and_the_lines_behind_it() -> None:
    work = found("communication.tensor_parallel.bytes_per_step", LAYOUT, "135 GB", "GB")
    assert gives(work.working)
    assert [step.key for step in work.steps] == ["communication.tensor_parallel.late_layer_bytes"]
    assert all(gives(step) for step in work.steps)
    assert work.query.startswith("model=gpt3-175b&")
    assert work.query.endswith("#w-communication.tensor_parallel.bytes_per_step")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("memory.logits_bytes", {"micro_batch_size": 2, "seq_length": 2048, "vocab_size": 51200}),
        ("schedules.bubble_fraction", {"pipeline_parallel": 8, "num_micro_batches": 24}),
        (
            "schedules.bubble_over_ideal",
            {
                "pipeline_parallel": 8,
                "num_micro_batches": 24,
                "virtual_pipeline_stages": 2,
                "schedule": "interleaved",
            },
        ),
        (
            "collectives.all_reduce_s",
            {"group_size": 8, "bytes": 1e9, "latency_s": 1e-5, "bandwidth_bytes_per_s": 3e11},
        ),
        (
            "communication.tensor_parallel_bytes_per_layer",
            {"hidden_size": 12288, "seq_length": 2048, "tensor_parallel": 8},
        ),
        ("communication.pipeline_bytes_per_boundary", {"hidden_size": 12288, "seq_length": 2048}),
        ("compute.model_flop", LAYOUT),
        ("compute.hardware_flop", LAYOUT),
        ("serving.kv_bytes_per_token", {"model": "llama3-405b"}),
        ("serving.kv_bytes_per_token_per_device", {"model": "llama3-405b", "tensor_parallel": 16}),
        ("serving.weights_bytes_per_device", {"model": "llama3-405b", "tensor_parallel": 8}),
        (
            "serving.weights_bytes_per_device",
            {"model": "llama3-405b", "tensor_parallel": 16, "pipeline_parallel": 2, "weight_format": "fp8"},
        ),
        (
            "serving.kv_capacity_tokens",
            {"model": "llama3-405b", "gpu": "h100-80gb", "num_nodes": 2, "tensor_parallel": 16},
        ),
        (
            "serving.max_concurrency",
            {"model": "llama3-405b", "gpu": "h100-80gb", "num_nodes": 2, "tensor_parallel": 16},
        ),
    ],
)
def test_a_published_name_shows_a_formula_that_gives_it(name: str, arguments: dict[str, Any]) -> None:
    work = found(name, arguments)
    assert work.problem == ""
    assert work.meaning
    assert work.working is not None
    assert work.working.source
    assert gives(work.working)


def test_a_formula_of_another_case_is_not_shown() -> None:
    given = {"pipeline_parallel": 8, "num_micro_batches": 24, "schedule": "zb-h1"}
    work = found("schedules.bubble_fraction", given)
    assert work.working is not None
    assert (work.working.formula, work.working.substituted) == ("", "")
    assert 0 < work.working.value < 7 / 31
    assert "Qi et al." in work.working.source


def test_what_the_lesson_left_out_is_told() -> None:
    work = found("communication.pipeline_bytes_per_boundary", {"hidden_size": 8, "seq_length": 4})
    assert dict(work.defaults) == {"micro_batch_size": 1.0}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no.such", {"model": "gpt3-175b"}),
        ("a/b", {"a": 1, "b": 0}),
        ("a*b", {"a": 1}),
        ("time.step_s", {"model": "nobody"}),
        ("serving.kv_capacity_tokens", {"model": "nobody"}),
        ("a", {1: 2}),
    ],
)
def test_a_number_that_cannot_be_worked_out_says_why(name: str, arguments: dict[Any, Any]) -> None:
    work = found(name, arguments, "7 GB")
    assert work.working is None
    assert work.problem
    assert work.shown == "7 GB"


def test_every_number_of_the_lessons_has_a_working() -> None:
    library = load_library(ROOT / "lessons", engine=ENGINE)
    numbers = [
        (lesson, number)
        for course in library.courses.values()
        for lesson in course.lessons.values()
        for number in lesson.numbers
    ]
    assert len(numbers) >= 20
    for lesson, number in numbers:
        work = work_out(lesson, number, ENGINE)
        assert work.problem == "", number
        assert gives(work.working), number
        assert work.shown == number.text
