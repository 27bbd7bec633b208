"""Korthikanti et al. 2022 (arXiv 2205.05198): activation memory, equations 1 to 6, Table 2 and Figure 1.

Figure 1's values are its third-party transcription in the published rows; they follow from the equations.
"""

import pytest

from app.services.engine import CalculatorEngine

GIB = 2**30
GPT3 = {"num_layers": 96, "hidden_size": 12288, "num_attention_heads": 96, "vocab_size": 51200}
GPT_22B = {"num_layers": 48, "hidden_size": 6144, "num_attention_heads": 64, "vocab_size": 51200}
GPT_1T = {"num_layers": 128, "hidden_size": 25600, "num_attention_heads": 160, "vocab_size": 51200}


def per_layer(shape, **inputs):
    arguments = {"model": shape, "tensor_parallel": 8, "flash_attention": False, **inputs}
    return CalculatorEngine().value("memory.activation_bytes_per_layer", arguments).value


# (tensor, sequence parallel, recompute, bytes per layer in sbh and core = 5as/h as the paper writes it)
TABLE_2 = [
    (1, False, "none", lambda sbh, core, t: sbh * (34 + core)),
    (8, False, "none", lambda sbh, core, t: sbh * (10 + 24 / t + core / t)),
    (8, True, "none", lambda sbh, core, t: sbh * (34 / t + core / t)),
    (8, False, "selective", lambda sbh, core, t: sbh * (10 + 24 / t)),
    (8, True, "selective", lambda sbh, core, t: sbh * 34 / t),
    (8, False, "full", lambda sbh, core, t: sbh * 2),
]


@pytest.mark.parametrize("shape", [GPT3, GPT_22B, GPT_1T])
@pytest.mark.parametrize("micro_batch", [1, 4])
@pytest.mark.parametrize("row", TABLE_2)
def test_table_2(shape, micro_batch, row):
    tensor, split, recompute, expression = row
    h, a = shape["hidden_size"], shape["num_attention_heads"]
    found = per_layer(
        shape,
        tensor_parallel=tensor,
        sequence_parallel=split,
        recompute=recompute,
        micro_batch_size=micro_batch,
    )
    expected = expression(2048 * micro_batch * h, 5 * a * 2048 / h, tensor)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("split", "recompute", "gib"),
    [
        (False, "none", 51.75),
        (True, "none", 32.0625),
        (False, "selective", 29.25),
        (True, "selective", 9.5625),
        (False, "full", 4.5),
        (True, "full", 0.5625),
    ],
)
def test_175b_all_layers(split, recompute, gib):
    found = per_layer(GPT3, sequence_parallel=split, recompute=recompute)
    assert found * 96 / GIB == pytest.approx(gib, rel=1e-12)


FIGURE_1 = [  # model, stages, chunks, sequence parallel and selective, printed GiB
    (GPT3, 8, 3, False, 66.84375),
    (GPT3, 8, 3, True, 12.3515625),
    (GPT_1T, 64, 1, False, 131.25),
    (GPT_1T, 64, 1, True, 26.5625),
]


@pytest.mark.parametrize(("shape", "stages", "chunks", "small", "gib"), FIGURE_1)
def test_figure_1_first_stage(shape, stages, chunks, small, gib):
    found = CalculatorEngine().value(
        "memory.activation_bytes_first_stage",
        {
            "model": shape,
            "num_nodes": stages,
            "tensor_parallel": 8,
            "pipeline_parallel": stages,
            "virtual_pipeline_stages": chunks,
            "flash_attention": False,
            "sequence_parallel": small,
            "recompute": "selective" if small else "none",
        },
    )
    # The 1T value is printed for 64 micro-batches in flight of 2 layers each: all 128 layers.
    assert found.value / GIB == pytest.approx(gib, rel=1e-12)


def test_figure_1_states_are_18_bytes_over_tensor_and_pipeline():
    layers_only = 12 * 96 * 12288**2
    found = CalculatorEngine().value(
        "memory.model_states_bytes", {"params": layers_only, "tensor_parallel": 8, "pipeline_parallel": 8}
    )
    assert found.value / GIB == pytest.approx(45.5625, rel=1e-12)


def test_scores_are_80_hidden_widths_for_175b():
    """5as/h = 80: the share that selective recompute drops is 70 %. Section 5."""
    none = per_layer(GPT3, tensor_parallel=1)
    selective = per_layer(GPT3, tensor_parallel=1, recompute="selective")
    assert (none - selective) / (2048 * 12288) == pytest.approx(80)
    assert (none - selective) / none == pytest.approx(80 / 114)


def test_flash_attention_keeps_what_selective_recompute_keeps():
    assert per_layer(GPT3, flash_attention=True) == per_layer(GPT3, recompute="selective")
