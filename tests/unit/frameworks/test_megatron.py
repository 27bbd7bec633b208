"""A layout as Megatron-LM's flags, and what they cannot say."""

from dataclasses import replace

from app.calculator.layout import Layout, Recompute, Schedule
from app.calculator.training import Training
from app.catalog import load_catalog
from app.frameworks.megatron import write_flags

MODELS = load_catalog().models
GPT = MODELS["gpt3-175b"].model
TRAINING = Training(global_batch_size=1536, seq_length=2048)
LAYOUT = Layout(tensor_parallel=8, pipeline_parallel=16, data_parallel=8)


def test_a_plain_layout() -> None:
    flags, beyond = write_flags(GPT, TRAINING, LAYOUT)
    assert "--tensor-model-parallel-size 8" in flags
    assert "--pipeline-model-parallel-size 16" in flags
    assert "--global-batch-size 1536" in flags
    assert "--num-layers 96" in flags
    assert not any("recompute" in flag or "virtual" in flag or "distributed" in flag for flag in flags)
    assert beyond == []


def test_chunks_are_told_as_layers() -> None:
    layout = replace(LAYOUT, virtual_pipeline_stages=3, schedule=Schedule.INTERLEAVED)
    assert "--num-layers-per-virtual-pipeline-stage 2" in write_flags(GPT, TRAINING, layout)[0]


def test_recompute_zero_and_sequence_parallelism() -> None:
    layout = replace(LAYOUT, recompute=Recompute.FULL, zero_stage=1, sequence_parallel=True)
    flags, _ = write_flags(GPT, TRAINING, layout)
    assert {"--recompute-granularity full", "--use-distributed-optimizer", "--sequence-parallel"} <= set(
        flags
    )
    selective = write_flags(GPT, TRAINING, replace(layout, recompute=Recompute.SELECTIVE))[0]
    assert "--recompute-activations" in selective


def test_a_llama_needs_its_shape() -> None:
    flags, _ = write_flags(MODELS["llama2-70b"].model, TRAINING, LAYOUT)
    wanted = {
        "--swiglu", "--group-query-attention", "--num-query-groups 8", "--normalization RMSNorm",
        "--untie-embeddings-and-output-weights", "--disable-bias-linear", "--position-embedding-type rope",
    }  # fmt: skip
    assert wanted <= set(flags)


def test_what_megatron_cannot_say_is_said() -> None:
    layout = replace(LAYOUT, zero_stage=3, schedule=Schedule.GPIPE, layers_per_stage=(6,) * 16)
    _, beyond = write_flags(GPT, TRAINING, layout)
    assert len(beyond) == 3
    assert any("GPipe" in line for line in beyond)
    assert any("ZeRO stage 3" in line for line in beyond)
