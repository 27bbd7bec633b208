"""The schedule verb: its shape, its refusals, its rules, and orders that learners write."""

import json

import pytest

from app.services.inputs import InputProblems
from app.services.schedule_fields import FIELDS
from app.services.scheduling import schedule
from tests.pace import pace


def fields(answer):
    assert isinstance(answer, InputProblems), answer
    return [problem.field for problem in answer.problems]


def messages(answer):
    return " ".join(problem.message for problem in answer.problems)


def codes(answer):
    assert answer["legal"] is False
    assert answer["makespan_s"] is None
    assert answer["events"] == []
    return [violation["code"] for violation in answer["violations"]]


def test_answer_has_the_published_shape():
    answer = schedule(
        {
            "schedule": "1f1b",
            "num_stages": 2,
            "num_micro_batches": 2,
            "virtual_pipeline_stages": 1,
            "forward_s": [1, 1],
            "backward_s": [1.5, 1.5],
            "weight_grad_s": [0.5, 0.5],
            "p2p_s": 0,
        }
    )
    assert answer["makespan_s"] == 9
    assert answer["bubble_fraction"] == pytest.approx(1 / 3)
    assert answer["bubble_over_ideal"] == pytest.approx(1 / 2)
    assert answer["peak_in_flight"] == [2, 1]
    assert answer["events"][2] == {
        "stage": 0, "kind": "B", "micro_batch": 0, "chunk": 0, "start_s": 4.0, "end_s": 6.0,
    }  # fmt: skip
    json.dumps(answer, allow_nan=False)


def test_one_number_stands_for_all_stages_and_text_is_read_as_in_a_form():
    written = {"num_stages": "3", "num_micro_batches": "5", "forward_s": "2", "backward_s": "4, 4, 4"}
    meant = {"num_stages": 3, "num_micro_batches": 5, "forward_s": [2, 2, 2], "backward_s": [4, 4, 4]}
    assert schedule(written) == schedule(meant)


def test_times_left_out_are_one_forward_and_two_backward_split_for_zero_bubble():
    sizes = {"num_stages": 8, "num_micro_batches": 32}
    assert schedule(sizes)["makespan_s"] == 117
    assert schedule(sizes | {"schedule": "zb-h1"})["makespan_s"] == 103
    assert schedule(sizes | {"weight_grad_s": 1})["makespan_s"] == 117


def test_times_per_virtual_stage():
    answer = schedule(
        {
            "schedule": "interleaved", "num_stages": 2, "num_micro_batches": 2,
            "virtual_pipeline_stages": 2, "forward_s": [1, 1, 1, 5], "backward_s": 0,
        }
    )  # fmt: skip
    longest = max(answer["events"], key=lambda e: e["end_s"] - e["start_s"])
    assert (longest["stage"], longest["chunk"], longest["kind"]) == (1, 1, "F")
    assert answer["busy_s"] == [4, 12]


def test_zero_bubble_needs_its_weight_gradient():
    answer = schedule({"schedule": "zb-h1", "num_stages": 4, "num_micro_batches": 8, "backward_s": 2})
    assert fields(answer) == ["weight_grad_s"]


def test_every_problem_is_reported_at_once():
    answer = schedule(
        {
            "schedule": "1fb", "num_stages": -1, "num_micro_batches": True, "virtual_pipeline_stages": 1.5,
            "p2p_s": float("nan"), "num_stage": 3,
        }
    )  # fmt: skip
    assert sorted(fields(answer)) == [
        "num_micro_batches", "num_stage", "num_stages", "p2p_s", "schedule", "virtual_pipeline_stages",
    ]  # fmt: skip
    assert "Did you mean 1f1b?" in messages(answer)
    assert "Did you mean num_stages?" in messages(answer)


@pytest.mark.parametrize(
    "bad", [[1, 2], [1, 2, "x"], [1, 2, -3], [1, float("inf"), 3], [1, [2], 3], {"a": 1}, 1e300]
)
def test_bad_times_are_named(bad):
    (field, *_) = fields(schedule({"num_stages": 3, "num_micro_batches": 3, "forward_s": bad}))
    assert field.startswith("forward_s")


def test_times_too_short_to_play_are_refused():
    answer = schedule({"num_stages": 2, "num_micro_batches": 2, "forward_s": 1e-300, "p2p_s": 5e-324})
    assert fields(answer) == ["p2p_s", "forward_s.0", "forward_s.1"]
    assert "at least 1e-12 s" in messages(answer)


def test_lessons_may_write_the_path_of_a_field():
    sizes = {"layout.schedule": "gpipe", "num_stages": 2, "num_micro_batches": 2}
    assert schedule(sizes)["schedule"] == "gpipe"


def test_all_zero_times_are_refused():
    assert fields(schedule({"num_stages": 2, "num_micro_batches": 2, "forward_s": 0, "backward_s": 0}))


@pytest.mark.parametrize("raw", [None, [], "x", 3, {}])
def test_what_is_no_question_is_a_problem(raw):
    assert isinstance(schedule(raw), InputProblems)


@pytest.mark.parametrize(
    "sizes",
    [
        {"num_stages": 10**6, "num_micro_batches": 512},
        {"num_stages": 16, "num_micro_batches": 10**9},
        {"num_stages": 1024, "num_micro_batches": 1024},
        {"num_stages": 10**400, "num_micro_batches": 10**400, "virtual_pipeline_stages": 10**400},
        {"num_stages": 16, "num_micro_batches": 512, "virtual_pipeline_stages": 256},
        {"num_stages": 2, "num_micro_batches": 2, "forward_s": [1] * 10**5},
        {"num_stages": 2, "num_micro_batches": 2, "order": "F1 " * 10**5 + "|"},
    ],
)
def test_hostile_sizes_are_refused_at_once(sizes):
    assert pace(lambda: schedule(sizes)) < 2
    answer = schedule(sizes)
    assert fields(answer)
    assert len(messages(answer)) < 2000


def test_interleaving_needs_micro_batches_in_groups_of_the_stages():
    answer = schedule(
        {"schedule": "interleaved", "num_stages": 35, "num_micro_batches": 240, "virtual_pipeline_stages": 3}
    )
    assert codes(answer) == ["micro_batches_not_divisible"]
    (violation,) = answer["violations"]
    assert (violation["dividend"], violation["divisor"], violation["remainder"]) == (240, 35, 30)
    assert violation["nearest_legal"] == [210, 245]


def test_interleaving_does_not_need_multiples_of_stages_times_chunks():
    sizes = {"num_stages": 4, "num_micro_batches": 4, "virtual_pipeline_stages": 3}
    assert schedule(sizes | {"schedule": "interleaved"})["legal"]


@pytest.mark.parametrize("name", ["gpipe", "zb-h1"])
def test_chunks_need_interleaving(name):
    sizes = {"num_stages": 4, "num_micro_batches": 4, "virtual_pipeline_stages": 2}
    assert codes(schedule(sizes | {"schedule": name})) == ["chunks_need_interleaving"]


TWO_BY_TWO = {"num_stages": 2, "num_micro_batches": 2}


def test_the_schedules_own_order_written_out_gives_the_same_answer():
    by_name = schedule(TWO_BY_TWO)
    written = schedule(TWO_BY_TWO | {"order": ["F1 F2 B1 B2", "F1 B1 F2 B2"]})
    assert written == by_name
    one_text = schedule(TWO_BY_TWO | {"order": "f1 f2 b1 b2\nf1, b1, f2, b2"})
    assert one_text == by_name


def test_events_can_be_sent_back_as_an_order():
    answer = schedule(TWO_BY_TWO)
    order = [[e for e in answer["events"] if e["stage"] == stage] for stage in range(2)]
    assert schedule(TWO_BY_TWO | {"order": order})["makespan_s"] == answer["makespan_s"]


def test_a_serial_order_is_legal_slow_and_holds_one():
    answer = schedule(TWO_BY_TWO | {"order": ["F1 B1 F2 B2"] * 2, "in_flight_limit": 1})
    assert answer["legal"]
    assert answer["makespan_s"] == 12
    assert answer["max_in_flight"] == 1


def test_an_order_that_holds_too_much():
    answer = schedule(TWO_BY_TWO | {"order": ["F1 F2 B1 B2", "F1 B1 F2 B2"], "in_flight_limit": 1})
    assert codes(answer) == ["in_flight_limit"]
    assert answer["violations"][0]["field"] == "in_flight_limit.0"


def test_a_schedule_that_holds_too_much():
    assert codes(schedule(TWO_BY_TWO | {"schedule": "gpipe", "in_flight_limit": [2, 1]})) == [
        "in_flight_limit"
    ]


def test_missing_and_repeated_cells_are_all_named():
    answer = schedule(TWO_BY_TWO | {"order": ["F1 F1 B1 B2", "F1 B1"]})
    assert codes(answer) == ["cells_missing", "cells_repeated", "cells_missing"]
    told = [violation["message"] for violation in answer["violations"]]
    assert "F2" in told[0]
    assert "F1" in told[1]
    assert "F2, B2" in told[2]


def test_an_order_that_never_finishes_names_both_sides():
    answer = schedule(TWO_BY_TWO | {"order": ["F1 B1 F2 B2", "F2 B2 F1 B1"]})
    assert codes(answer) == ["dependency_never_met"] * 2
    assert "stops at B1" in answer["violations"][0]["message"]
    assert "needs F2 on stage 0" in answer["violations"][1]["message"]


@pytest.mark.parametrize(
    ("order", "field"),
    [
        (["F1 F2 B1 B2"], "order"),
        ("F1", "order"),
        (7, "order"),
        (["F1 F2 B1 B2", 7], "order.1"),
        (["F1 F2 B1 B3", "F1 B1 F2 B2"], "order.0"),
        (["F0 F1 B0 B1", "F1 B1 F2 B2"], "order.0"),
        (["F1 F2 B1 B2", [{"kind": "F", "micro_batch": -1}]], "order.1"),
        (["F1 F2 B1 B2", ["F1", None]], "order.1"),
        (["F1.2 F2 B1 B2", "F1 B1 F2 B2"], "order.0"),
    ],
)
def test_orders_that_cannot_be_read(order, field):
    assert fields(schedule(TWO_BY_TWO | {"order": order})) == [field]


def test_equal_stages_tells_the_schedules_own_fractions_beside_the_played_ones():
    answer = schedule({"num_stages": 4, "num_micro_batches": 8, "forward_s": [1, 1, 1, 2], "backward_s": 2})
    assert answer["equal_stages"] == {"bubble_fraction": 3 / 11, "bubble_over_ideal": 3 / 8}
    assert answer["bubble_fraction"] > 3 / 11


def test_every_field_says_what_it_is():
    assert all(spec.help for spec in FIELDS)
    assert {spec.path for spec in FIELDS} >= {"forward_s", "backward_s", "weight_grad_s", "p2p_s"}
