"""The timeline figure: every cell where the events say, hatch behind, long pipelines cut at both ends."""

import re
from xml.etree import ElementTree

import pytest

from app.services.inputs import InputProblems
from app.services.schedule_inputs import parse_schedule
from app.services.scheduling import play_schedule
from app.web.charts.timeline import LEFT, RIGHT, timeline_figure
from app.web.charts.timeline_cut import CELLS_CUT, cut


def played(**question):
    inputs = parse_schedule(question)
    assert not isinstance(inputs, InputProblems), inputs
    return play_schedule(inputs)


def drawing(**question):
    figure = timeline_figure(played(**question))
    return figure, ElementTree.fromstring(str(figure.svg))


def cells(svg, css):
    return [rect for rect in svg.iter("rect") if rect.get("class") == css]


def test_a_cell_per_pass_with_its_number_and_its_words():
    figure, svg = drawing(num_stages=4, num_micro_batches=8)
    assert len(cells(svg, "bar-f")) == len(cells(svg, "bar-b")) == 32
    assert len(cells(svg, "idle")) == 4
    titles = [rect.findtext("title") for rect in cells(svg, "bar-f")]
    assert titles[0] == "forward 1, stage 0: 0–1 s"
    assert "27.3" in svg.findtext("title")
    assert figure.finding.startswith("27.3")
    numbers = [text.text for text in svg.iter("text") if text.get("class") == "mid on-f"]
    assert sorted(numbers) == sorted([str(k) for k in range(1, 9)] * 4)


def test_cells_stand_where_the_events_say():
    _, svg = drawing(num_stages=2, num_micro_batches=2, forward_s=1, backward_s=1)
    width_of_all = RIGHT - LEFT
    last = cells(svg, "bar-b")[1]  # stage 0, backward 2: from 5 to 6 of 6 s
    assert float(last.get("x")) == pytest.approx(LEFT + width_of_all * 5 / 6, abs=0.1)
    assert float(last.get("x")) + float(last.get("width")) == pytest.approx(RIGHT - 1, abs=0.1)


def test_holding_is_told_for_every_stage():
    _, svg = drawing(num_stages=3, num_micro_batches=6, schedule="gpipe")
    assert [text.text for text in svg.iter("text") if "holds" in (text.text or "")] == ["holds 6"] * 3


def test_zero_bubble_has_three_kinds_and_says_so():
    figure, svg = drawing(num_stages=3, num_micro_batches=4, schedule="zb-h1")
    assert len(cells(svg, "bar-n")) == 12
    assert [entry.label for entry in figure.key] == ["forward", "input gradient", "weight gradient", "idle"]


def test_chunks_are_told_in_words_and_by_a_line():
    figure, svg = drawing(
        num_stages=2, num_micro_batches=2, schedule="interleaved", virtual_pipeline_stages=2
    )
    assert len(cells(svg, "texd")) == 8
    assert "every second chunk" in figure.caption
    assert any("chunk 2" in (rect.findtext("title") or "") for rect in cells(svg, "bar-f"))
    assert "1b" in [text.text for text in svg.iter("text")]


@pytest.mark.parametrize(
    "question",
    [
        {"num_stages": 16, "num_micro_batches": 192},
        {"num_stages": 16, "num_micro_batches": 192, "schedule": "gpipe"},
        {"num_stages": 16, "num_micro_batches": 128, "schedule": "zb-h1"},
        {"num_stages": 8, "num_micro_batches": 256, "schedule": "interleaved", "virtual_pipeline_stages": 4},
        {"num_stages": 64, "num_micro_batches": 256},
        {"num_stages": 1, "num_micro_batches": 4096},
        {"num_stages": 2, "num_micro_batches": 2000, "forward_s": [1, 50]},
    ],
)
def test_long_pipelines_keep_both_ends_and_few_cells(question):
    one = played(**question)
    part = cut(one.simulation, question["num_micro_batches"])
    head, tail = part.windows
    assert head.start_s == 0
    assert head.end_s <= tail.start_s
    assert tail.end_s == one.simulation.makespan_s
    assert len(head.events) + len(tail.events) <= CELLS_CUT + 4 * len(part.stages)
    drawn = {event.micro_batch for window in part.windows for event in window.events}
    assert {0, question["num_micro_batches"] - 1} <= drawn
    assert part.left_out == question["num_micro_batches"] - len(drawn)
    figure = timeline_figure(one)
    assert f"… ×{part.left_out:,}" in figure.svg
    assert len(figure.svg) < 400_000


def test_sixteen_stages_show_the_first_and_last_two_p_micro_batches():
    part = cut(played(num_stages=16, num_micro_batches=192).simulation, 192)
    on_last = [e for e in part.windows[0].events if e.stage == 15 and e.kind == "F"]
    assert {e.micro_batch for e in on_last} == set(range(32))


def test_many_stages_keep_the_outer_ones():
    figure, svg = drawing(num_stages=64, num_micro_batches=8)
    rows = [text.text for text in svg.iter("text") if text.get("class") == "t1"]
    assert rows == [f"stage {i}" for i in (*range(8), *range(56, 64))]
    assert "… 48 stages" in figure.svg
    assert len(figure.table.rows) == 64


def test_uneven_stages_tell_the_schedules_own_fraction_too():
    figure, _ = drawing(num_stages=4, num_micro_batches=8, forward_s=[1, 1, 1, 2])
    assert "27.3" in figure.caption
    assert "equal stages" in figure.caption
    assert not figure.finding.startswith("27.3")


def test_nothing_breaks_the_policy():
    for question in ({"schedule": "zb-h1"}, {"schedule": "interleaved", "virtual_pipeline_stages": 3}):
        figure, _ = drawing(num_stages=4, num_micro_batches=8, **question)
        assert not re.search(r"style=|<script|on\w+=", str(figure.svg))


@pytest.mark.parametrize("seconds", [1e-6, 1e-3, 0.5, 1e6])
def test_axis_is_labelled_at_any_length(seconds):
    _, svg = drawing(num_stages=2, num_micro_batches=3, forward_s=seconds, backward_s=seconds)
    labels = [text.text for text in svg.iter("text") if text.get("class") == "mid"]
    assert 3 <= len(labels) <= 12
    assert labels[0] == "0"


def test_an_illegal_pipeline_has_no_timeline():
    illegal = played(num_stages=4, num_micro_batches=6, schedule="interleaved", virtual_pipeline_stages=2)
    with pytest.raises(ValueError, match="violations"):
        timeline_figure(illegal)
