"""Schedules and balances inside lessons: controls, verdict, figure, what was tried."""

from urllib.parse import parse_qs, urlsplit

import pytest

from app.web.pipeline_widgets import controls_of, pipeline_widget

SIZES = {"schedule": "gpipe", "num_stages": 4, "num_micro_batches": 8}
PIECES = [
    {"name": "embedding", "forward_s": 0.1},
    *({"name": f"block {k}", "forward_s": 1.0} for k in range(1, 25)),
    {"name": "head", "forward_s": 2.4},
]


def kinds(view):
    return {control.name: control.kind for control in view.controls}


def said(view):
    return view.verdict.sentence.replace("\N{NO-BREAK SPACE}", " ")


def test_a_schedule_with_its_presets_controls():
    view = pipeline_widget("schedule", SIZES, id="w-1", action="/there")
    assert kinds(view) == {"schedule": "select", "num_stages": "stepper", "num_micro_batches": "stepper"}
    assert (
        said(view)
        == "27.3 % of the time is idle: GPipe takes 33 s for 8 micro-batches on 4 stages. Over ideal: 37.5 %."
    )
    assert [figure.id for figure in view.figures] == ["w-1-timeline"]
    assert {control.id for control in view.controls} >= {"w-1-num-stages"}


def test_what_was_tried_counts_and_buttons_double():
    view = pipeline_widget("schedule", SIZES, tried={"schedule": "1f1b", "do": "double:num_micro_batches"})
    assert "1F1B takes" in said(view)
    assert "16 micro-batches" in said(view)
    assert parse_qs(urlsplit(view.open_url).query)["num_micro_batches"] == ["16"]


def test_locked_fields_stay():
    view = pipeline_widget("schedule", SIZES, locked=["layout.schedule"], tried={"schedule": "1f1b"})
    assert "GPipe takes" in said(view)
    assert "schedule" not in kinds(view)


@pytest.mark.parametrize("named", ["schedule", "layout.schedule"])
def test_fields_go_by_both_names(named):
    preset = {named: "zb-h1", "num_stages": 4, "layout.virtual_pipeline_stages": 1, "num_micro_batches": 8}
    assert "ZB-H1 takes 27 s" in said(pipeline_widget("schedule", preset))


def test_what_cannot_be_read_stays_in_its_control():
    view = pipeline_widget("schedule", SIZES, tried={"num_stages": "many"})
    (stages,) = [control for control in view.controls if control.name == "num_stages"]
    assert stages.value == "many"
    assert "whole number" in stages.problem
    assert view.figures == ()
    assert view.verdict.tone == "bad"


def test_what_cannot_run_says_why():
    preset = SIZES | {"schedule": "interleaved", "virtual_pipeline_stages": 2, "num_micro_batches": 6}
    view = pipeline_widget("schedule", preset)
    assert "6 ÷ 4 leaves 2" in said(view)


def test_an_order_puzzle_has_a_text_area_and_plays_what_is_written():
    preset = {"num_stages": 2, "num_micro_batches": 2, "order": ["F1 B1 F2 B2", "F1 B1 F2 B2"]}
    locked = ["num_stages", "num_micro_batches"]
    view = pipeline_widget("schedule", preset, locked=locked, wants=())
    assert kinds(view) == {"order": "textarea"}
    assert view.controls[0].value == "F1 B1 F2 B2\nF1 B1 F2 B2"
    assert "Your order takes 12 s" in said(view)
    tried = {"order": "F1 F2 B1 B2\nF1 B1 F2 B2"}
    assert "Your order takes 9 s" in said(
        pipeline_widget("schedule", preset, locked=locked, tried=tried, wants=())
    )


def test_a_balance_with_a_split_to_change():
    preset = {"pieces": PIECES, "num_stages": 4, "layers_per_stage": [6, 6, 6, 6]}
    view = pipeline_widget("balance", preset, locked=["num_stages"])
    assert kinds(view) == {"layers_per_stage": "text"}
    assert said(view) == "20 % slower than the best split: stage 3 takes 8.4 s, not 7 s.".replace(
        "20 %", "20.0 %"
    )
    better = pipeline_widget("balance", preset, tried={"layers_per_stage": "6, 7, 7, 4"})
    assert said(better) == "No split is faster: stage 1 takes 7 s."
    query = parse_qs(urlsplit(better.open_url).query)
    assert query["pieces"][0].splitlines()[0] == "embedding, 0.1"
    assert query["layers_per_stage"] == ["6, 7, 7, 4"]


def test_a_split_that_does_not_add_up_is_told_at_its_control():
    preset = {"pieces": PIECES, "num_stages": 4, "layers_per_stage": [6, 6, 6, 6]}
    view = pipeline_widget("balance", preset, tried={"layers_per_stage": "6,6"})
    (split,) = [control for control in view.controls if control.name == "layers_per_stage"]
    assert "sum to 24" in split.problem


def test_controls_are_fields_of_the_verb_that_are_not_locked():
    assert controls_of("schedule", {"num_stages": 4, "colour": "red"}, [], []) == ["num_stages"]
    assert controls_of("balance", {"pieces": [1], "num_stages": 1}, ["num_stages", "pieces"], []) == [
        "num_stages"
    ]
