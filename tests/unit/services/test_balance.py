"""The balance verb: worked examples, splits of one's own, limits, refusals."""

import json

import pytest

from app.services.balance import balance_pieces
from app.services.balance_pieces import ends_of
from app.services.inputs import InputProblems
from tests.pace import pace

BLOCKS = [{"name": f"block {k}", "forward_s": 1.0} for k in range(1, 25)]
TOY = {
    "pieces": [{"name": "embedding", "forward_s": 0.1}, *BLOCKS, {"name": "head", "forward_s": 2.4}],
    "num_stages": 4,
    "num_micro_batches": 32,
}


def fields(answer):
    assert isinstance(answer, InputProblems), answer
    return [problem.field for problem in answer.problems]


def test_the_head_takes_blocks_off_the_last_stage():
    answer = balance_pieces(TOY)
    assert answer["layers_per_stage"] == [6, 7, 7, 4]
    assert answer["pieces_per_stage"] == [7, 7, 7, 5]
    assert answer["slowest_s"] == pytest.approx(7.0)
    assert answer["even_split_slowest_s"] == pytest.approx(8.4)
    assert answer["lower_bound_s"] == pytest.approx(6.625)
    assert answer["loss_per_step_s_with_even_split"] == pytest.approx(31 * 1.4)
    assert answer["exact"]
    assert answer["stages"][0]["pieces"][0] == "embedding"
    assert [stage["time_s"] for stage in answer["stages"]] == pytest.approx([6.1, 7, 7, 6.4])
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize(
    ("own", "slowest"), [([6, 6, 6, 6], 8.4), ([6, 7, 7, 4], 7.0), ([7, 7, 7, 3], 7.1), ("6/7/7/4", 7.0)]
)
def test_a_split_of_ones_own_is_told_beside_the_best(own, slowest):
    answer = balance_pieces(TOY | {"layers_per_stage": own})
    assert answer["slowest_s"] == pytest.approx(slowest)
    assert answer["best_slowest_s"] == pytest.approx(7.0)
    assert answer["loss_per_step_s"] == pytest.approx(31 * (slowest - 7.0))


def test_pieces_per_stage_counts_everything():
    answer = balance_pieces(TOY | {"pieces_per_stage": [1, 12, 12, 1]})
    assert answer["slowest_s"] == 12
    assert answer["layers_per_stage"] == [0, 12, 12, 0]


def test_encoder_and_decoder_count_as_layers():
    pieces = [{"name": f"encoder {k}", "forward_s": 2} for k in range(12)]
    pieces += [{"name": f"decoder {k}", "forward_s": 1} for k in range(12)]
    answer = balance_pieces({"pieces": pieces, "num_stages": 4})
    assert (answer["slowest_s"], answer["even_split_slowest_s"], answer["lower_bound_s"]) == (10, 12, 9)


def test_forward_and_backward_add_up_and_lines_are_read():
    text = "# measured\nembed, 0.1\nblock 1, 1, 2, 5e9\nblock 2\t1\t2\t5e9\n0.5"
    answer = balance_pieces({"pieces": text, "num_stages": 2})
    assert [stage["time_s"] for stage in answer["stages"]] == pytest.approx([3.1, 3.5])
    assert answer["stages"][1] | {"time_s": 0} == {
        "stage": 1, "pieces": ["block 2", "piece 4"], "time_s": 0,
        "forward_s": 1.5, "backward_s": 2, "memory_bytes": 5e9,
    }  # fmt: skip


def test_a_line_may_stand_for_many():
    text = "embedding, 0.1\nblock ×24, 1.0\nhead, 2.4"
    assert balance_pieces(TOY | {"pieces": text}) == balance_pieces(TOY)
    assert fields(balance_pieces(TOY | {"pieces": "block × 999999999, 1"})) == ["pieces"]


def test_memory_limits_are_kept_or_explained():
    pieces = [{"forward_s": 1, "memory_bytes": held} for held in (9, 1, 1, 1)]
    kept = balance_pieces({"pieces": pieces, "num_stages": 2, "memory_limit_bytes": 9})
    assert kept["pieces_per_stage"] == [1, 3]
    broken = balance_pieces({"pieces": pieces, "num_stages": 2, "memory_limit_bytes": 8})
    assert broken["legal"] is False
    assert broken["slowest_s"] is None
    assert broken["stages"] == []
    assert "any split keeps on all stages is 9." in broken["violations"][0]["message"]


def test_a_split_of_ones_own_over_the_limit_names_the_stage():
    pieces = [{"forward_s": 1, "memory_bytes": held} for held in (9, 1, 1, 1)]
    answer = balance_pieces(
        {"pieces": pieces, "num_stages": 2, "memory_limit_bytes": [9, 9], "pieces_per_stage": [2, 2]}
    )
    assert [v["field"] for v in answer["violations"]] == ["memory_limit_bytes.0"]
    assert answer["best_pieces_per_stage"] == [1, 3]


def test_several_chunks_are_told_chunk_by_chunk():
    answer = balance_pieces({"pieces": [1] * 8, "num_stages": 2, "virtual_pipeline_stages": 2})
    assert answer["pieces_per_stage"] == [2, 2, 2, 2]
    assert answer["stages"][1]["chunks"] == [["piece 3", "piece 4"], ["piece 7", "piece 8"]]


def test_every_problem_is_reported_at_once():
    answer = balance_pieces(
        {
            "pieces": [{"name": "a"}, {"forward_s": -1, "bytes": 2}, "x", None, {"forward_s": float("inf")}],
            "num_stages": 0, "memory_limit": 3, "num_micro_batches": 1.5,
        }
    )  # fmt: skip
    assert sorted(fields(answer)) == [
        "memory_limit", "num_micro_batches", "num_stages", "pieces.0.forward_s", "pieces.1.bytes",
        "pieces.1.forward_s", "pieces.2.forward_s", "pieces.3", "pieces.4.forward_s",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"pieces": []}, "pieces"),
        ({"pieces": "\n# nothing\n"}, "pieces"),
        ({"pieces": 3}, "pieces"),
        ({"pieces": [0] * 5}, "pieces"),
        ({"pieces": [1] * 10**5}, "pieces"),
        ({"pieces": [1, 2]}, "num_stages"),
        ({"num_stages": 10**30}, "num_stages"),
        ({"virtual_pipeline_stages": 7}, "num_stages"),
        ({"memory_limit_bytes": [1, 2]}, "memory_limit_bytes"),
        ({"memory_limit_bytes": "much"}, "memory_limit_bytes"),
        ({"layers_per_stage": [6, 6, 6]}, "layers_per_stage"),
        ({"layers_per_stage": [6, 6, 6, 7]}, "layers_per_stage"),
        ({"layers_per_stage": [24, 0, 0, 0]}, "layers_per_stage"),
        ({"layers_per_stage": [6.5, 5.5, 6, 6]}, "layers_per_stage"),
        ({"pieces_per_stage": [7, 6, 6, 7], "layers_per_stage": [6, 6, 6, 6]}, "layers_per_stage"),
        ({"speed": 1}, "speed"),
    ],
)
def test_what_cannot_be_used_is_named_at_once(change, field):
    assert pace(lambda: balance_pieces(TOY | change)) < 2
    assert fields(balance_pieces(TOY | change)) == [field]


@pytest.mark.parametrize("raw", [None, [], "x", 3, {}])
def test_what_is_no_question_is_a_problem(raw):
    assert isinstance(balance_pieces(raw), InputProblems)


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["embed", "block 1", "block 2", "norm", "head"], (1, 2)),
        (["layer.0", "layer.1"], (0, 0)),
        (["a", "b", "c"], (0, 0)),
        (["encoder1", "encoder2", "cross", "decoder1", "decoder2", "head"], (0, 1)),
    ],
)
def test_ends_are_what_is_no_layer(names, ends):
    assert ends_of(names) == ends
