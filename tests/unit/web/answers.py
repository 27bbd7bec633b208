"""An estimate's answer in the shape of the API, made by hand: GPT-3 175B on 32 nodes, t=8 p=4 d=8."""

from typing import Any

GIB = 2**30


def stage(index: int, activations_gib: float, held: float, logits_gib: float = 0.0) -> dict[str, Any]:
    """One stage; the parts sum to its total."""
    parts = {
        "weights_bytes": 10.3125 * GIB,
        "gradients_bytes": 20.625 * GIB,
        "optimizer_bytes": 7.75 * GIB,
        "activations_bytes": activations_gib * GIB,
        "logits_bytes": logits_gib * GIB,
        "buffers_bytes": 0.375 * GIB,
        "overhead_bytes": 2.0 * GIB,
    }
    total = sum(parts.values())
    return {
        "stage": index,
        "num_layers": 24,
        **parts,
        "total_bytes": total,
        "in_flight_micro_batches": held,
    }


def estimate(activations: tuple[float, ...] = (58.5, 43.875, 29.25, 14.625)) -> dict[str, Any]:
    """A whole answer; the default does not fit in 79.2 GiB."""
    depth = len(activations)
    stages = [stage(i, a, depth - i, 0.125 if i == depth - 1 else 0.0) for i, a in enumerate(activations)]
    peak = max(s["total_bytes"] for s in stages)
    usable = 79.25 * GIB
    return {
        "legal": True,
        "violations": [],
        "parameters": {"total": 174.6e9, "active": 174.6e9, "per_device_max": 5.5e9},
        "expected_error_fraction": 0.08,
        "memory": {
            "capacity_bytes": 80 * GIB,
            "usable_bytes": usable,
            "peak_bytes": peak,
            "headroom_bytes": usable - peak,
            "fits": "no" if peak > usable * 1.05 else "borderline" if peak > usable * 0.95 else "yes",
            "stages": stages,
        },
        "communication": {
            "tensor_parallel": {
                "group_size": 8, "link": "intra_node", "bytes_per_step": 135e9,
                "operations_per_step": 768, "time_s": 0.67, "exposed_s": 0.67,
            },
            "context_parallel": {
                "group_size": 1, "link": "none", "bytes_per_step": 0, "operations_per_step": 0,
                "time_s": 0, "exposed_s": 0,
            },
            "pipeline_parallel": {
                "group_size": 4, "link": "inter_node", "bytes_per_step": 0.2e9,
                "operations_per_step": 16, "time_s": 0.01, "exposed_s": 0.01,
            },
            "data_parallel": {
                "group_size": 8, "link": "inter_node", "bytes_per_step": 29e9,
                "operations_per_step": 2, "time_s": 1.4, "exposed_s": 1.37,
            },
            "expert_parallel": None,
        },
        "time": {
            "step_s": 10.76, "compute_s": 5.6, "recompute_s": 0.22, "tensor_parallel_s": 0.67,
            "context_parallel_s": 0.0, "expert_parallel_s": 0.0, "pipeline_p2p_s": 0.01,
            "bubble_s": 2.41, "data_parallel_s": 1.37, "optimizer_s": 0.04, "other_s": 0.44,
            "bubble_fraction": 3 / 11, "bubble_over_ideal": 3 / 8, "imbalance_s_per_step": 0.0,
            "mean_idle_fraction": 0.24,
        },
        "throughput": {
            "model_flop_per_step": 2.9e17, "hardware_flop_per_step": 3.0e17, "model_tflops_per_gpu": 103.0,
            "hardware_tflops_per_gpu": 107.0, "mfu": 0.33, "hfu": 0.343, "tokens_per_s": 24363.0,
            "tokens_per_s_per_gpu": 95.2,
        },
        "batch": {
            "global_batch_size": 128, "micro_batch_size": 2, "num_micro_batches": 8,
            "tokens_per_step": 262144,
        },
        "binding": {
            "resource": "memory",
            "because": "Stage 0 keeps four micro-batches in flight, 58.5 GiB of activations.",
        },
        "working": [
            {
                "key": "memory.stages.0.activations_bytes", "formula": "held × layers × s b h (10 + 24 ÷ t)",
                "substituted": "4 × 24 × (2,048 × 2 × 12,288) × (10 + 24 ÷ 8)", "value": 62813896704.0,
                "unit": "bytes", "source": "Korthikanti et al. 2022, eq. 2",
            },
        ],
    }  # fmt: skip


def illegal() -> dict[str, Any]:
    """t = 7 with two broken rules."""
    return {
        "legal": False,
        "violations": [
            {
                "code": "heads_not_divisible", "field": "layout.tensor_parallel",
                "message": "96 attention heads ÷ 7 leaves 5", "dividend": 96, "divisor": 7, "remainder": 5,
                "rule_of": "megatron", "nearest_legal": [6, 8],
            },
            {
                "code": "world_size", "field": "layout.data_parallel",
                "message": "7 · 4 · 8 = 224 devices, and the cluster has 256", "dividend": 256,
                "divisor": 224, "remainder": 32, "rule_of": "megatron", "nearest_legal": [9],
            },
        ],
        "memory": None, "time": None, "throughput": None, "communication": None, "batch": None,
        "parameters": None, "binding": None, "working": [],
    }  # fmt: skip


VALUES: dict[str, Any] = {
    "model.id": "gpt3-175b",
    "cluster.gpu": "a100-80gb",
    "cluster.num_nodes": 32,
    "cluster.gpus_per_node": 8,
    "layout.tensor_parallel": 8,
    "layout.pipeline_parallel": 4,
    "layout.data_parallel": 8,
    "layout.context_parallel": 1,
    "layout.zero_stage": 1,
    "training.global_batch_size": 128,
}
