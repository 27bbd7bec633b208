"""Every calculator puzzle of the courses: the preset fails for its reason, the checked answers pass.

The figures were worked out with a second, small calculator before this one existed. Puzzles that turn on
memory must come out on the right side of the limit, with the totals within 15 % (ours adds overhead and
buffers).
"""

import pytest

from app.services.estimation import estimate

GB = 1e9
ONE_CARD = {"model": "gpt-1.7b", "num_gpus": 1, "global_batch_size": 16}
COPYING = {
    "model": {"hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 51200},
    "data_parallel": 8,
    "recompute": "full",
    "global_batch_size": 8,
}
SHARDING = {"model": "gpt-18.4b", "recompute": "full", "tensor_parallel": 1}
CHEAPEST = {
    "model": "gpt-22b",
    "tensor_parallel": 8,
    "micro_batch_size": 4,
    "global_batch_size": 4,
    "flash_attention": False,
}
HOME = {"model": "gpt-18.4b", "num_nodes": 4, "recompute": "full", "global_batch_size": 32}
LEGAL = {"model": "gpt-18.4b", "num_nodes": 2, "recompute": "full", "global_batch_size": 16}
NARROW = {"model": "gpt-18.4b", "num_nodes": 2, "global_batch_size": 16}
BUBBLE = {
    "model": "gpt-39.1b",
    "num_nodes": 4,
    "tensor_parallel": 8,
    "recompute": "full",
    "schedule": "gpipe",
}
TWO_PERCENT = {
    "model": "gpt-76.1b",
    "num_nodes": 4,
    "tensor_parallel": 8,
    "pipeline_parallel": 4,
    "global_batch_size": 64,
    "sequence_parallel": True,
}
IN_ORDER = {"model": "gpt-76.1b", "num_nodes": 8, "sequence_parallel": True, "recompute": "full"}
UNDER_BATCH = {
    "model": "gpt-76.1b",
    "num_nodes": 16,
    "tensor_parallel": 8,
    "zero_stage": 1,
    "sequence_parallel": True,
    "recompute": "full",
}
THREE_AXES = {"model": "gpt-145.6b", "num_nodes": 32, "sequence_parallel": True, "recompute": "full"}
REBUILD = {
    "model": "gpt-530b",
    "num_nodes": 280,
    "tensor_parallel": 8,
    "pipeline_parallel": 35,
    "data_parallel": 8,
    "zero_stage": 1,
    "sequence_parallel": True,
    "recompute": "selective",
}
CAPSTONE = {"model": "gpt-175b", "num_nodes": 32, "sequence_parallel": True, "recompute": "selective"}
CAPSTONE["model"] = "gpt3-175b"


def sizes(t: int, p: int, d: int, **more: object) -> dict[str, object]:
    return {"tensor_parallel": t, "pipeline_parallel": p, "data_parallel": d, **more}


# (puzzle, inputs, checked total in GB) — "no" presets, then accepted answers
TOO_MUCH = [
    ("fit-one-card", ONE_CARD | {"micro_batch_size": 16}, 101.4),
    ("biggest-by-copying", {**COPYING, "model": COPYING["model"] | {"num_layers": 36}}, 136),
    ("sharding-only, one node, stage 1", SHARDING | {"zero_stage": 1, "global_batch_size": 8}, 140.4),
    ("cheapest-memory, nothing", CHEAPEST, 113.6),
    ("cheapest-memory, sequence only", CHEAPEST | {"sequence_parallel": True}, 92.5),
    ("legal-and-fits, t=2", LEGAL | sizes(2, 1, 8), 167.6),
    ("two-percent, gpipe", TWO_PERCENT | {"schedule": "gpipe"}, 129),
    ("in-order", IN_ORDER | sizes(4, 2, 8, global_batch_size=128), 173.1),
    ("three-axes", THREE_AXES | sizes(8, 2, 16, global_batch_size=512), 165.2),
]
FITTING = [
    ("fit-one-card, b=8", ONE_CARD | {"micro_batch_size": 8}, 65.6),
    ("fit-one-card, b=4", ONE_CARD | {"micro_batch_size": 4}, 47.7),
    ("biggest-by-copying, 14", {**COPYING, "model": COPYING["model"] | {"num_layers": 14}}, 55.8),
    ("biggest-by-copying, 16", {**COPYING, "model": COPYING["model"] | {"num_layers": 16}}, 63.1),
    ("biggest-by-copying, 18", {**COPYING, "model": COPYING["model"] | {"num_layers": 18}}, 70.4),
    ("sharding-only", SHARDING | {"zero_stage": 2, "num_nodes": 2, "global_batch_size": 16}, 57.4),
    ("cheapest-memory", CHEAPEST | {"sequence_parallel": True, "recompute": "selective"}, 60.2),
    ("keep-it-home, 4 4 2", HOME | sizes(4, 4, 2), 23.1),
    ("keep-it-home, 2 4 4", HOME | sizes(2, 4, 4), 45.0),
    ("legal-and-fits, t=8", LEGAL | sizes(8, 1, 2), 42.8),
    ("narrow-and-sharded, 4 4 z1", NARROW | sizes(4, 1, 4, zero_stage=1), 49.7),
    ("narrow-and-sharded, 4 4 z2", NARROW | sizes(4, 1, 4, zero_stage=2), 35.9),
    ("narrow-and-sharded, 2 8 z2", NARROW | sizes(2, 1, 8, zero_stage=2), 48.3),
    ("small-bubble, p=2", BUBBLE | sizes(8, 2, 2, global_batch_size=32), 57.6),
    ("small-bubble, p=4", BUBBLE | sizes(8, 4, 1, global_batch_size=32), 35.9),
    ("two-percent, v=3", TWO_PERCENT | {"virtual_pipeline_stages": 3}, 50.4),
    ("two-percent, v=5", TWO_PERCENT | {"virtual_pipeline_stages": 5}, 49.8),
    ("in-order, b=1", IN_ORDER | sizes(8, 4, 2, global_batch_size=64), 44.1),
    ("in-order, b=2", IN_ORDER | sizes(8, 4, 2, global_batch_size=256, micro_batch_size=2), 44.5),
    ("under-the-batch", UNDER_BATCH | sizes(8, 2, 8, global_batch_size=128), 36.3),
    (
        "under-the-batch, v=3",
        UNDER_BATCH | sizes(8, 2, 8, global_batch_size=128, virtual_pipeline_stages=3),
        36.4,
    ),
    ("three-axes, 8 4 8", THREE_AXES | sizes(8, 4, 8, zero_stage=1, global_batch_size=512), 35.2),
    ("three-axes, 8 2 16", THREE_AXES | sizes(8, 2, 16, zero_stage=1, global_batch_size=512), 62.3),
    ("rebuild-530b", REBUILD | {"virtual_pipeline_stages": 3, "global_batch_size": 1680}, 40.0),
    ("capstone, v=1", CAPSTONE | sizes(8, 4, 8, zero_stage=1, global_batch_size=512), 51.7),
    (
        "capstone, v=2",
        CAPSTONE | sizes(8, 4, 8, zero_stage=1, global_batch_size=256, virtual_pipeline_stages=2),
        55.5,
    ),
]


@pytest.mark.parametrize(("puzzle", "inputs", "checked_gb"), TOO_MUCH, ids=[row[0] for row in TOO_MUCH])
def test_preset_does_not_fit(puzzle, inputs, checked_gb):
    answer = estimate(inputs)
    assert answer["legal"], answer["violations"]
    assert answer["memory"]["fits"] == "no"
    assert answer["memory"]["peak_bytes"] / GB == pytest.approx(checked_gb, rel=0.15)


@pytest.mark.parametrize(("puzzle", "inputs", "checked_gb"), FITTING, ids=[row[0] for row in FITTING])
def test_checked_answer_fits(puzzle, inputs, checked_gb):
    answer = estimate(inputs)
    assert answer["legal"], answer["violations"]
    assert answer["memory"]["fits"] == "yes"
    # The small calculator has no overhead, buffers or end-of-stage tensors.
    assert checked_gb <= answer["memory"]["peak_bytes"] / GB <= 1.12 * checked_gb + 6.5


def test_legal_and_fits_is_tight_at_four():
    answer = estimate(LEGAL | sizes(4, 1, 4))
    assert answer["memory"]["fits"] in ("no", "borderline")


@pytest.mark.parametrize("width", [6, 12])
def test_legal_and_fits_names_what_does_not_divide(width):
    answer = estimate(LEGAL | sizes(width, 1, 1))
    codes = {violation["code"] for violation in answer["violations"]}
    assert "world_size_not_divisible" in codes


def test_narrow_and_sharded_limits_the_traffic():
    wide = estimate(NARROW | sizes(8, 1, 2))["communication"]["tensor_parallel"]
    narrow = estimate(NARROW | sizes(4, 1, 4, zero_stage=1))["communication"]["tensor_parallel"]
    assert wide["bytes_per_step"] / GB == pytest.approx(56.4, abs=0.05)
    assert narrow["bytes_per_step"] / GB == pytest.approx(24.2, abs=0.05)
    assert narrow["link"] == "intra_node"


def test_keep_it_home_names_the_links():
    away = estimate(HOME | sizes(16, 1, 2))["communication"]
    home = estimate(HOME | sizes(4, 4, 2))["communication"]
    assert away["tensor_parallel"]["link"] == "inter_node"
    assert (home["tensor_parallel"]["link"], home["data_parallel"]["link"]) == ("intra_node", "intra_node")
    assert home["pipeline_parallel"]["link"] == "inter_node"


def test_cheapest_memory_counts_recompute():
    none, selective, full = (
        estimate(CHEAPEST | {"sequence_parallel": True, "recompute": kind})["throughput"]
        for kind in ("none", "selective", "full")
    )
    assert none["model_flop_per_step"] == pytest.approx(1.1436e15, rel=1e-3)
    assert selective["hardware_flop_per_step"] <= 1.1 * 1.1436e15 < full["hardware_flop_per_step"]


@pytest.mark.parametrize(
    ("inputs", "fraction"),
    [
        (BUBBLE | sizes(8, 4, 1, micro_batch_size=2, global_batch_size=8), 3 / 7),
        (BUBBLE | sizes(8, 2, 2, global_batch_size=32), 1 / 17),
        (TWO_PERCENT | {"virtual_pipeline_stages": 3}, 3 / (3 * 64 + 3)),
        (REBUILD | {"global_batch_size": 1920}, 34 / 274),
        (REBUILD | {"virtual_pipeline_stages": 3, "global_batch_size": 1680}, 34 / 664),
    ],
)
def test_bubbles(inputs, fraction):
    assert estimate(inputs)["time"]["bubble_fraction"] == pytest.approx(fraction, rel=1e-12)


def test_rebuild_530b_refuses_rounds_that_do_not_close():
    answer = estimate(REBUILD | {"virtual_pipeline_stages": 3, "global_batch_size": 1920})
    (broken,) = answer["violations"]
    assert (broken["code"], broken["dividend"], broken["divisor"], broken["remainder"]) == (
        "interleaving_micro_batches",
        240,
        35,
        30,
    )
    assert 1680 in broken["nearest_legal"]
