"""Figures: what they say, that they add up, and that they stay small and safe."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web import numbers
from app.web.charts.cluster_map import cluster_map_figure, kept
from app.web.charts.cluster_places import AXES, ClusterMap, letter, stage_hue
from app.web.charts.figure import shares_that_add_up, ticks
from app.web.charts.histogram import histogram_figure
from app.web.charts.memory import ITEMS, memory_figure, shown_stages
from app.web.charts.serving_memory import serving_memory_figure
from app.web.charts.step_time import step_time_figure
from app.web.charts.traffic import traffic_rows
from tests.unit.web.answers import estimate


def widths(svg: str, css: str) -> list[float]:
    return [float(width) for width in re.findall(rf'width="([\d.]+)%" height="[\d.]+" class="{css}"', svg)]


def test_memory_bars_are_in_proportion_and_in_order() -> None:
    figure = memory_figure(estimate()["memory"])
    svg = str(figure.svg)
    weights, activations = widths(svg, "m-weights"), widths(svg, "m-activations")
    assert len(weights) == len(activations) == 4
    assert activations[0] / activations[3] == pytest.approx(4, rel=0.03)
    first = svg.partition("stage 1")[0]
    order = [svg.index(css) for _, _, css, _ in ITEMS if css in first]
    assert order == sorted(order)
    assert [entry.label for entry in figure.key] == [name for _, name, _, _ in ITEMS]


def test_memory_says_in_words_what_is_over_and_what_is_spare() -> None:
    text = str(memory_figure(estimate()["memory"]).svg).replace(numbers.NBSP, " ")
    assert "over by 20.3 GiB" in text
    assert "8.94 GiB spare" in text
    assert text.count('class="excess"') == 2
    assert "usable 79.2 GiB" in text
    assert "holds 4" in text


def test_memory_table_holds_every_stage_and_exact_bytes() -> None:
    memory = estimate(tuple(float(40 - i) for i in range(20)))["memory"]
    figure = memory_figure(memory)
    assert figure.table is not None
    assert len(figure.table.rows) == 20
    assert figure.table.rows[3][-1].exact == numbers.exact(memory["stages"][3]["total_bytes"], "bytes")
    assert "… stages 4 to 15" in str(figure.svg)


def test_the_fullest_stage_is_always_drawn() -> None:
    memory = estimate(tuple(90.0 if i == 9 else 10.0 for i in range(20)))["memory"]
    shown = [stage["stage"] for stage in shown_stages(memory["stages"], 8)]
    assert 9 in shown
    assert len(shown) == 8
    assert shown == sorted(shown)


def test_one_stage_needs_no_staircase() -> None:
    figure = memory_figure(estimate((30.0,))["memory"])
    assert "One stage" in str(figure.caption)


def test_the_step_adds_up_as_shown() -> None:
    figure = step_time_figure(estimate()["time"])
    assert [entry.label for entry in figure.key][:3] == ["Compute", "Recompute", "Exposed tensor traffic"]
    shown = sum(round(float(entry.value) * 100) for entry in figure.key)
    assert shown == 1076
    assert figure.finding == "More than a fifth of the step is empty."
    assert figure.table is not None
    assert figure.table.rows[-1][0].text == "Step"


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=12), st.integers(0, 3))
def test_rounded_shares_sum_to_the_rounded_total(values: list[float], decimals: int) -> None:
    rounded = shares_that_add_up(values, decimals)
    scale = 10**decimals
    assert round(sum(round(value * scale) for value in rounded)) == round(
        sum(value * scale for value in values)
    )
    for value, shown in zip(values, rounded, strict=True):
        assert abs(value - shown) <= 1.001 / scale


@given(st.floats(1e-6, 1e15))
def test_ticks_start_at_zero_are_even_and_few(top: float) -> None:
    found = ticks(top)
    assert found[0] == 0
    assert 2 <= len(found) <= 8
    assert found[-1] <= top * 1.0001
    steps = [after - before for before, after in pairwise(found)]
    assert max(steps) == pytest.approx(min(steps))


def place(
    t: int, p: int, d: int, c: int = 1, per_node: int = 8, *, order: tuple[str, ...] = AXES
) -> ClusterMap:
    return ClusterMap(
        tensor_parallel=t, pipeline_parallel=p, data_parallel=d, context_parallel=c, gpus_per_node=per_node,
        rank_order=order,
    )  # fmt: skip


@given(st.integers(1, 8), st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.permutations(AXES))
def test_every_rank_has_a_place_of_its_own(t: int, p: int, d: int, c: int, order: list[str]) -> None:
    cluster = place(t, p, d, c, order=tuple(order))
    places = [cluster.place(rank) for rank in range(cluster.world)]
    assert len({(x.tensor, x.context, x.data, x.pipeline) for x in places}) == t * p * d * c
    innermost = order[0]
    if cluster.sizes[innermost] > 1:
        assert getattr(places[1], innermost) == 1


def test_which_groups_leave_a_node() -> None:
    cluster = place(8, 4, 8)
    assert [cluster.nodes_of_group(axis) for axis in ("tensor", "data", "pipeline")] == [1, 8, 4]
    wide = place(16, 2, 2)
    assert wide.nodes_of_group("tensor") == 2
    assert "cross 2 nodes" in str(cluster_map_figure(wide).caption)


def test_small_clusters_show_every_device() -> None:
    svg = str(cluster_map_figure(place(8, 4, 8)).svg)
    rows = re.findall(r'class="mid sm on3?">([a-z]+)<', svg)
    assert "".join(rows) == "abcdefgh" * 32
    assert len(re.findall(r"M[\d.]+ [\d.]+h[\d.]+v18.5h-[\d.]+z", svg)) == 256
    assert "node 31: stage 3, replica 7, tensor ranks a to h (global ranks 248 to 255)" in svg
    assert svg.count('class="rep"') == 8


@pytest.mark.parametrize(
    ("t", "p", "d", "c", "per_node"),
    [(8, 16, 64, 1, 8), (8, 64, 6, 1, 8), (1, 1, 4096, 1, 8), (3, 5, 7, 2, 6), (1, 1, 1, 1, 8),
     (72, 2, 3, 1, 72), (4, 1024, 1, 1, 8), (16, 4, 100, 4, 4), (1, 3, 1, 1, 1)],
)  # fmt: skip
def test_large_and_odd_clusters_stay_small(t: int, p: int, d: int, c: int, per_node: int) -> None:
    figure = cluster_map_figure(place(t, p, d, c, per_node))
    assert len(str(figure.svg)) < 150_000
    assert "style=" not in str(figure.svg)
    assert len(figure.key) == min(p, 4)


def test_what_is_kept_of_a_long_row() -> None:
    assert kept(4, 8) == [0, 1, 2, 3]
    assert kept(100, 4) == [0, 1, None, 98, 99]


def test_letters_and_hues() -> None:
    assert [letter(index) for index in (0, 25, 26, 27, 701, 702)] == ["a", "z", "aa", "ab", "zz", "aaa"]
    assert [stage_hue(stage, 16) for stage in (0, 3, 4, 15)] == [0, 0, 1, 3]
    assert [stage_hue(stage, 3) for stage in range(3)] == [0, 1, 2]


def test_traffic_leaves_out_axes_of_one() -> None:
    rows = traffic_rows(estimate()["communication"], {"intra_node": "NVLink 3"})
    assert [row.letter for row in rows] == ["T", "P", "D"]
    assert rows[0].link == "NVLink 3, inside a node"
    assert rows[1].link == "between nodes"
    assert rows[0].sent_exact == numbers.exact(135e9, "bytes")


def test_the_histogram_counts_every_run_once() -> None:
    figure = histogram_figure([-0.9, -0.01, 0.0, 0.012, 0.26, 5.0], [0.2, float("nan")])
    assert figure.table is not None
    ours = [int(row[1].text) for row in figure.table.rows]
    assert sum(ours) == 6
    assert ours[0] == 1
    assert ours[-1] == 2
    assert sum(int(row[2].text) for row in figure.table.rows) == 1
    assert figure.table.rows[0][0].text == "below −25 %"


def serving(weights_gib: float) -> dict[str, object]:
    """Two stages of a server on a device of 72 usable GiB."""
    room = max(0.0, 72 - weights_gib - 2) * numbers.GIB
    stage = {
        "num_layers": 40, "weights_bytes": weights_gib * numbers.GIB, "overhead_bytes": 2.0 * numbers.GIB,
        "kv_bytes_per_token": 1e5, "kv_budget_bytes": room, "kv_capacity_tokens": int(room / 1e5),
    }  # fmt: skip
    return {"limit_bytes": 72.0 * numbers.GIB, "stages": [{"stage": 0, **stage}, {"stage": 1, **stage}]}


def test_a_server_shows_the_room_its_weights_leave() -> None:
    figure = serving_memory_figure(serving(50.0))
    assert "tokens of cache" in str(figure.svg)
    assert "excess" not in str(figure.svg)
    assert widths(str(figure.svg), "m-activations")[0] == pytest.approx(20 / 72 * 100, rel=0.02)
    over = serving_memory_figure(serving(80.0))
    assert "over by 10.0" in str(over.svg)
    assert widths(str(over.svg), "m-activations") == []
