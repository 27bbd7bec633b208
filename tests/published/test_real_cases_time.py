"""Things that really happened to people, about time and traffic (A, C), by id. Each case is a public thread.

Where a thread leaves something open (C01: micro-batches), the test states what it takes.
"""

from typing import Any

import pytest

from app.catalog import load_catalog
from app.services.estimation import estimate
from app.services.inputs import Inputs, parse_inputs
from app.services.validation import predict


def answer(**inputs: Any) -> dict[str, Any]:
    found = estimate(inputs)
    assert isinstance(found, dict), found
    assert found["legal"], found["violations"]
    return found


def seconds(**flat: Any) -> float:
    """The step, also of a layout that today's rules refuse but somebody ran."""
    found = parse_inputs(flat, load_catalog())
    assert isinstance(found, Inputs), found
    return predict(found)[0]


def shape(layers: int, hidden: int, heads: int, vocabulary: int, **more: Any) -> dict[str, Any]:
    return {
        "num_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "vocab_size": vocabulary,
        **more,
    }


@pytest.mark.parametrize(
    ("nodes", "kernels", "measured"),
    [(1, "eager", 5762), (16, "eager", 5605), (1, "compiled", 6667), (16, "compiled", 6514)],
)
def test_a03_tokens_of_8_and_128_devices(nodes: int, kernels: str, measured: float) -> None:
    """Llama 3 8B with FSDP on the 500 W H100: hardly slower on 16 times the devices, and faster compiled."""
    found = answer(
        model="llama3-8b",
        gpu="h100-96gb",
        num_nodes=nodes,
        data_parallel=8 * nodes,
        zero_stage=3,
        micro_batch_size=2,
        global_batch_size=16 * nodes,
        seq_length=8192,
        recompute="selective",
        recomputed_fraction=0.5,
        kernels=kernels,
    )
    assert found["throughput"]["tokens_per_s_per_gpu"] == pytest.approx(measured, rel=0.08)


def test_a09_recompute_costs_about_a_third() -> None:
    """7B at 32k tokens with t = 4: recompute cost 26 to 33 % of the time."""
    none, full = (
        seconds(
            model="llama2-7b",
            gpu="a100-80gb",
            num_nodes=1,
            tensor_parallel=4,
            data_parallel=2,
            seq_length=32768,
            global_batch_size=16,
            micro_batch_size=1,
            recompute=recompute,
        )
        for recompute in ("none", "full")
    )
    assert full / none == pytest.approx(1.30, abs=0.07)


@pytest.mark.parametrize(
    ("model", "gpus", "micro_batch", "seq", "recompute", "mfu"),
    [
        (shape(80, 8192, 64, 50368), 64, 8, 2048, "full", 0.426),
        (shape(80, 8192, 64, 50368), 32, 2, 2048, "full", 0.362),
        (shape(48, 7168, 56, 50368), 8, 3, 2048, "full", 0.381),
        (shape(40, 5120, 40, 50368), 8, 2, 2048, "none", 0.398),
    ],
    ids=["70B@64", "70B@32", "30B@8", "13B@8"],
)
def test_a17_utilization_of_sharded_mpt(  # noqa: PLR0917
    model: dict[str, Any], gpus: int, micro_batch: int, seq: int, recompute: str, mfu: float
) -> None:
    found = answer(
        model=model,
        gpu="h100-80gb",
        num_nodes=gpus // 8,
        data_parallel=gpus,
        zero_stage=3,
        micro_batch_size=micro_batch,
        global_batch_size=micro_batch * gpus,
        seq_length=seq,
        recompute=recompute,
        kernels="eager",
        grad_bytes=2,
    )
    assert found["throughput"]["mfu"] == pytest.approx(mfu, abs=0.08)


def test_c01_interleaving_a_405b() -> None:
    """100 tokens/s per device with 1F1B, 128 interleaved: 1.28 times, give or take 0.12.

    With as many micro-batches as stages, torchtitan's default then; 126 layers do not divide by 8.
    """
    shared = {
        "model": "llama3-405b",
        "gpu": "h100-96gb",
        "num_nodes": 64,
        "tensor_parallel": 8,
        "pipeline_parallel": 8,
        "data_parallel": 8,
        "micro_batch_size": 4,
        "global_batch_size": 256,
        "seq_length": 8192,
        "recompute": "full",
        "compute_dtype": "fp8",
        "kernels": "compiled",
    }
    assert seconds(**shared) / seconds(**shared, virtual_pipeline_stages=2) == pytest.approx(1.28, abs=0.12)


def test_c02_pipeline_beats_tensor_when_micro_batches_are_many() -> None:
    """Inside one node: more than 30 % faster with large accumulation, slower with one micro-batch."""
    shared = {
        "model": shape(48, 3072, 24, 50304),
        "gpu": "a100-80gb",
        "num_nodes": 1,
        "seq_length": 2048,
        "flash_attention": False,
        "micro_batch_size": 8,
    }

    def ratio(batch: int) -> float:
        tensor = seconds(**shared, global_batch_size=batch, tensor_parallel=8)
        return tensor / seconds(**shared, global_batch_size=batch, pipeline_parallel=8)

    assert ratio(1024) > 1.3
    assert ratio(8) < 1


def test_c06_data_parallel_over_a_slow_network() -> None:
    """160 TFLOP/s on one node of four, about 65 on nine: little accumulation, a slow network."""
    figures = []
    for nodes in (1, 9):
        found = answer(
            model="gpt-3.6b",
            gpu="a100-40gb",
            gpus_per_node=4,
            num_nodes=nodes,
            data_parallel=4 * nodes,
            zero_stage=1,
            micro_batch_size=4,
            global_batch_size=16 * nodes,
            recompute="full",
            inter_node_bandwidth_bytes_per_s=1.5e9,
        )
        figures.append((found["throughput"]["hardware_tflops_per_gpu"], found["time"]))
    (near, _), (far, time) = figures
    assert far < 0.55 * near
    assert time["data_parallel_s"] > time["compute_s"]


def test_c11_two_depths_of_181b_nearly_tie() -> None:
    """p = 12: 123.7 s and 49 GB; p = 6: 121.5 s and 56 GB."""
    shared = {
        "model": shape(72, 14336, 64, 250880, position_embeddings="alibi"),
        "gpu": "a100-80gb",
        "num_nodes": 48,
        "tensor_parallel": 8,
        "micro_batch_size": 4,
        "global_batch_size": 2048,
        "zero_stage": 1,
        "recompute": "full",
        "flash_attention": False,
        "grad_bytes": 2,
        "compute_dtype": "fp16",
        "intra_node_bandwidth_bytes_per_s": 100e9,
        "inter_node_bandwidth_bytes_per_s": 6.25e9,
        "overlap_data_parallel": False,
    }
    deep = answer(**shared, pipeline_parallel=12, data_parallel=4)
    flat = answer(**shared, pipeline_parallel=6, data_parallel=8)
    assert deep["time"]["bubble_fraction"] == 11 / 139
    assert flat["time"]["bubble_fraction"] == 5 / 69
    assert deep["time"]["step_s"] == pytest.approx(123.7, rel=0.06)
    assert flat["time"]["step_s"] == pytest.approx(121.5, rel=0.06)
    assert 1.0 < deep["time"]["step_s"] / flat["time"]["step_s"] < 1.07
    assert flat["memory"]["peak_bytes"] - deep["memory"]["peak_bytes"] == pytest.approx(7e9, rel=0.35)


def test_c13_a_larger_micro_batch_raises_the_bubble() -> None:
    """At a fixed batch m falls: the bubble grows, products do not get slower, and the best lies between."""
    found = [
        answer(
            model="gpt3-175b",
            gpu="a100-80gb",
            num_nodes=16,
            tensor_parallel=8,
            pipeline_parallel=8,
            data_parallel=2,
            micro_batch_size=size,
            global_batch_size=256,
            recompute="full",
        )["time"]
        for size in (1, 2, 4, 8, 16)
    ]
    bubbles = [time["bubble_over_ideal"] for time in found]
    assert bubbles == [7 * size / 128 for size in (1, 2, 4, 8, 16)]
    steps = [time["step_s"] for time in found]
    assert steps.index(min(steps)) in (1, 2)


def test_c18_840_tokens_are_a_fault_and_not_the_layout() -> None:
    """13B on 16 A800: 21 % measured; no reason for less than a third: look at the network.

    Ours says 60 %, above the 35 to 50 % expected there: flash attention, no recompute, overlapped gradients.
    """
    found = answer(
        model="llama2-13b",
        gpu="a800-80gb",
        num_nodes=2,
        tensor_parallel=4,
        data_parallel=4,
        micro_batch_size=4,
        global_batch_size=1024,
        seq_length=2048,
        zero_stage=1,
    )
    assert found["batch"]["num_micro_batches"] == 64
    assert found["time"]["bubble_s"] == 0
    assert 0.35 < found["throughput"]["mfu"] < 0.65
    assert found["throughput"]["tokens_per_s_per_gpu"] > 1.6 * 840
