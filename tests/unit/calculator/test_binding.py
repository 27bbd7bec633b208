"""The resource that decides, and a sentence about it that is true."""

import pytest

from app.calculator.binding import COUNTED_LOSS_FRACTION
from app.services.estimation import estimate

SIXTEEN = {
    "model": "gpt3-175b",
    "gpu": "h100-80gb",
    "num_nodes": 16,
    "tensor_parallel": 8,
    "pipeline_parallel": 16,
}


def binding(**inputs):
    found = estimate(inputs)
    assert found["legal"], found["violations"]
    return found["binding"]["resource"], found["binding"]["because"]


def test_memory_comes_first():
    resource, said = binding(model="gpt3-175b", num_nodes=1, tensor_parallel=8)
    assert resource == "memory"
    assert "optimizer states" in said
    assert "over by" in said


def test_one_micro_batch_is_not_some():
    resource, said = binding(**SIXTEEN, global_batch_size=1)
    assert resource == "batch"
    assert said.startswith("1 micro-batch leaves the devices of 16 stages idle")
    assert said.endswith("only a larger global batch gives more micro-batches")


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"global_batch_size": 8}, "only a larger global batch gives more micro-batches"),
        (
            {"global_batch_size": 8, "micro_batch_size": 2},
            "more micro-batches come from a larger global batch or a smaller micro-batch",
        ),
        (
            {"global_batch_size": 16, "num_nodes": 32},
            "more micro-batches come from a larger global batch or fewer copies",
        ),
        (
            {"global_batch_size": 32, "micro_batch_size": 2, "num_nodes": 32},
            "more micro-batches come from a larger global batch, a smaller micro-batch or fewer copies",
        ),
    ],
)
def test_what_gives_more_micro_batches(inputs, said):
    resource, because = binding(**{**SIXTEEN, "recompute": "full", **inputs})
    assert resource == "batch"
    assert because.endswith(said)


def test_hardly_any_work_is_not_called_the_layers_work():
    """A model of one tiny layer: the fixed time of a step is nearly all of it."""
    tiny = {"num_layers": 1, "hidden_size": 8, "num_attention_heads": 1, "vocab_size": 8, "seq_length": 1}
    resource, said = binding(model=tiny, num_gpus=1)
    assert resource == "compute"
    assert "100 % is launching kernels and fixed time" in said


def test_real_work_needs_no_more_words():
    resource, said = binding(model="llama3-8b", gpu="h100-80gb", num_nodes=1, zero_stage=3)
    assert resource == "compute"
    assert ";" not in said


def test_a_link_is_named_with_its_traffic():
    shared = {"model": "llama3-70b", "gpu": "h200", "num_nodes": 4, "tensor_parallel": 8, "zero_stage": 1}
    resource, said = binding(**shared, sequence_parallel=True, seq_length=8192)
    assert resource == "intra_node_link"
    assert "NVLink" in said
    assert "tensor parallel traffic" in said


def test_a_loss_below_the_threshold_is_compute():
    found = estimate({"model": "gpt-7.5b", "num_nodes": 4, "pipeline_parallel": 2, "global_batch_size": 2048})
    assert 0 < found["time"]["bubble_s"] < COUNTED_LOSS_FRACTION * found["time"]["step_s"]
    assert found["binding"]["resource"] in ("compute", "memory")
