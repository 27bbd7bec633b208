"""The directions of Narayanan et al. 2021 (Efficient Large-Scale Language Model Training), figures 11 to 18.

Selene: DGX A100 80 GB, 8 HDR InfiniBand adapters a node, fp16, GPT with a vocabulary of 51,200 and sequences
of 2,048, activations recomputed unless said. The figures show TFLOP/s per GPU; what they argue is held here.
"""

from itertools import pairwise
from typing import Any

import pytest

from app.services.estimation import estimate
from app.services.searching import search

SELENE = {
    "gpu": "a100-80gb",
    "compute_dtype": "fp16",
    "flash_attention": False,
    "kernels": "fused",
    "vocab_size": 51_200,
    "seq_length": 2_048,
}
# layers, hidden size, heads: the models of the figures.
B162 = {"num_layers": 32, "hidden_size": 20_480, "num_attention_heads": 128}
B6 = {"num_layers": 32, "hidden_size": 3_840, "num_attention_heads": 32}
B91 = {"num_layers": 72, "hidden_size": 10_240, "num_attention_heads": 80}
B145 = {"num_layers": 80, "hidden_size": 12_288, "num_attention_heads": 96}
B175 = {"num_layers": 96, "hidden_size": 12_288, "num_attention_heads": 96}


def ran(**inputs: Any) -> dict[str, Any]:
    found = estimate({**SELENE, "recompute": "full", **inputs})
    assert isinstance(found, dict), found
    assert found["legal"], found["violations"]
    return found


def tflops(**inputs: Any) -> float:
    rate: float = ran(**inputs)["throughput"]["hardware_tflops_per_gpu"]
    return rate


def sequences_per_s(**inputs: Any) -> float:
    found = ran(**inputs)
    rate: float = found["batch"]["global_batch_size"] / found["time"]["step_s"]
    return rate


def falling(values: list[float]) -> bool:
    return all(later < earlier for earlier, later in pairwise(values))


def test_figure_11_large_batches_scale_with_the_pipeline() -> None:
    """Weak scaling, 3 layers of 20,480 a stage, t = 8: the larger batch loses less at every depth."""

    def kept(batch: int) -> list[float]:
        rates = [
            tflops(
                num_layers=3 * p,
                hidden_size=20_480,
                num_attention_heads=128,
                num_nodes=p,
                tensor_parallel=8,
                pipeline_parallel=p,
                global_batch_size=batch,
            )
            for p in (1, 2, 4, 8)
        ]
        return [rate / rates[0] for rate in rates]

    small, large = kept(8), kept(128)
    assert falling(small)
    assert small[-1] < 0.6
    assert large[-1] > 0.8
    assert all(a < b for a, b in zip(small[1:], large[1:], strict=True))


def test_figure_12_interleaving_helps_and_less_with_a_larger_batch() -> None:
    """175B on 96 GPUs, t = 8, p = 12: the interleaved schedule is faster; the gap closes with the batch."""
    gains = []
    for batch in (12, 24, 36, 48, 60):
        plain, chunked = (
            tflops(
                **B175,
                num_nodes=12,
                tensor_parallel=8,
                pipeline_parallel=12,
                virtual_pipeline_stages=chunks,
                global_batch_size=batch,
            )
            for chunks in (1, 2)
        )
        gains.append(chunked / plain)
    assert falling(gains)
    assert 1.05 < gains[-1] < 1.25


@pytest.mark.parametrize("batch", [32, 128])
def test_figure_13_tensor_against_pipeline_peaks_at_the_node(batch: int) -> None:
    """162.2B on 64 GPUs: t = p = 8 is the best of the (p, t) pairs, both ends are far below."""
    rates = {
        t: tflops(**B162, num_nodes=8, tensor_parallel=t, pipeline_parallel=64 // t, global_batch_size=batch)
        for t in (2, 4, 8, 16, 32)
    }
    assert max(rates, key=lambda t: rates[t]) == 8
    assert rates[32] < 0.8 * rates[8]
    assert rates[2] < 0.9 * rates[8]


def test_figure_13_the_search_finds_the_same_peak() -> None:
    found = search(
        {
            **SELENE,
            **B162,
            "num_nodes": 8,
            "global_batch_size": 128,
            "fixed": {
                "data_parallel": 1,
                "context_parallel": 1,
                "micro_batch_size": 1,
                "schedule": "1f1b",
                "recompute": "full",
                "sequence_parallel": False,
                "zero_stage": 0,
            },
        }
    )
    assert isinstance(found, dict), found
    best = found["best"][0]["layout"]
    assert (best["tensor_parallel"], best["pipeline_parallel"]) == (8, 8)


@pytest.mark.parametrize("batch", [32, 128, 512])
def test_figure_14_pipeline_against_data(batch: int) -> None:
    """5.9B on 64 GPUs, t = 1: deeper pipelines in place of replicas are slower at every batch."""
    rates = [
        tflops(**B6, num_nodes=8, pipeline_parallel=p, data_parallel=64 // p, global_batch_size=batch)
        for p in (2, 4, 8, 16, 32)
    ]
    assert falling(rates)


@pytest.mark.parametrize("batch", [32, 128, 512])
def test_figure_15_tensor_against_data(batch: int) -> None:
    """5.9B on 64 GPUs, p = 1: wider tensor groups are slower, most of all beyond the node."""
    rates = [
        tflops(**B6, num_nodes=8, tensor_parallel=t, data_parallel=64 // t, global_batch_size=batch)
        for t in (2, 4, 8, 16, 32)
    ]
    assert falling(rates)
    assert rates[3] / rates[2] < rates[2] / rates[1]


@pytest.mark.parametrize("batch", [128, 512])
def test_figure_16_the_micro_batch_has_an_optimum_between(batch: int) -> None:
    """91B on 64 GPUs, t = p = 8: products get better, the bubble worse; the best is in between."""
    rates = {
        b: tflops(
            **B91,
            num_nodes=8,
            tensor_parallel=8,
            pipeline_parallel=8,
            micro_batch_size=b,
            global_batch_size=batch,
        )
        for b in (1, 2, 4, 8)
    }
    best = max(rates, key=lambda b: rates[b])
    assert best in (2, 4)
    assert rates[8] < rates[best]
    assert rates[1] < rates[best]


def test_figure_16_a_larger_batch_wants_a_larger_micro_batch() -> None:
    """With many micro-batches the bubble weighs less."""

    def gain(batch: int) -> float:
        one, four = (
            tflops(
                **B91,
                num_nodes=8,
                tensor_parallel=8,
                pipeline_parallel=8,
                micro_batch_size=b,
                global_batch_size=batch,
            )
            for b in (1, 4)
        )
        return four / one

    assert gain(512) > gain(128)


def test_figure_17_recomputation_costs_a_third_and_lets_the_batch_grow() -> None:
    """145B on 128 GPUs, t = 8, p = 16: up to 33 % slower at one batch; a large batch doubles the rate."""

    def at(batch: int, recompute: str) -> float:
        return sequences_per_s(
            **B145,
            num_nodes=16,
            tensor_parallel=8,
            pipeline_parallel=16,
            global_batch_size=batch,
            recompute=recompute,
        )

    ratios = [at(batch, "full") / at(batch, "none") for batch in (1, 2, 4, 8, 16)]
    assert all(0.64 < ratio < 0.85 for ratio in ratios)
    assert at(256, "full") > 2 * at(8, "none")


def test_figure_17_recomputation_saves_most_of_the_activations() -> None:
    held = {
        recompute: ran(
            **B145,
            num_nodes=16,
            tensor_parallel=8,
            pipeline_parallel=16,
            global_batch_size=256,
            recompute=recompute,
        )["memory"]["stages"][0]["activations_bytes"]
        for recompute in ("none", "full")
    }
    assert held["full"] < 0.1 * held["none"]


def test_figure_18_scatter_gather_sends_each_boundary_once() -> None:
    """Each rank of a tensor group sends 1/t of the boundary, not all of it."""

    def sent(t: int) -> float:
        found = ran(
            **B175,
            num_nodes=12,
            tensor_parallel=t,
            pipeline_parallel=12,
            data_parallel=8 // t,
            virtual_pipeline_stages=2,
            global_batch_size=96,
        )
        traffic = found["communication"]["pipeline_parallel"]
        return float(traffic["bytes_per_step"]) / found["batch"]["num_micro_batches"]

    assert sent(8) == pytest.approx(sent(1) / 8)
