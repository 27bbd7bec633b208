"""The answer to one question: an `Estimates` row and its stages as plain Python values, in the API's
words.
"""

from typing import Any

import numpy as np

from app.calculator.accuracy import assumptions, expected_error_fraction
from app.calculator.answer_working import answer_working
from app.calculator.binding import binding_of
from app.calculator.cluster import Cluster
from app.calculator.constants import Constants
from app.calculator.estimate import Estimates, evaluate, fit_of, stage_numbers
from app.calculator.layout import Layout, Layouts
from app.calculator.legality import Case
from app.calculator.memory import PARTS, StageMemory, stage_memory
from app.calculator.memory_working import memory_working
from app.calculator.model import Model
from app.calculator.parameters import active_parameters, total_parameters
from app.calculator.time_working import time_working
from app.calculator.training import Training
from app.calculator.units import TERA
from app.calculator.violations import violations

TIME_PARTS = (
    "compute_s",
    "recompute_s",
    "tensor_parallel_s",
    "context_parallel_s",
    "expert_parallel_s",
    "pipeline_p2p_s",
    "bubble_s",
    "data_parallel_s",
    "optimizer_s",
    "other_s",
)
_TIME = (
    "step_s",
    *TIME_PARTS,
    "bubble_fraction",
    "bubble_over_ideal",
    "imbalance_s_per_step",
    "mean_idle_fraction",
)
_AXES = ("tensor_parallel", "context_parallel", "pipeline_parallel", "data_parallel", "expert_parallel")
_NUMBERS = ("memory", "communication", "time", "throughput", "binding")


def answer_of(
    model: Model,
    cluster: Cluster,
    training: Training,
    layout: Layout,
    constants: Constants,
    *,
    working: bool = True,
) -> dict[str, Any]:
    """Everything the API says about one layout; an illegal one gets every violation and no numbers."""
    layouts = Layouts.of(layout)
    broken = violations(Case(model=model, cluster=cluster, training=training, layouts=layouts))
    answer: dict[str, Any] = {
        "legal": not broken,
        "violations": [violation.to_json() for violation in broken],
        "parameters": {
            "total": float(total_parameters(model)),
            "active": float(active_parameters(model)),
            "per_device_max": None,
        },
        "expected_error_fraction": (
            None if broken else expected_error_fraction(model, cluster, training, constants)
        ),
        "assumptions": assumptions(cluster, training, constants),
    }
    if broken:
        answer |= dict.fromkeys(_NUMBERS) | {"batch": _batch(training, layout, legal=False), "working": []}
        return answer
    repeated, stages = stage_numbers(layouts)
    held = stage_memory(model, training, repeated, stages)
    peak = np.max(held.total_bytes, keepdims=True)
    estimates = evaluate(model, cluster, training, layouts, constants, peak=peak)
    answer["parameters"]["per_device_max"] = float(np.max(held.parameters))
    answer["memory"] = _memory(cluster, held)
    answer["communication"] = _communication(estimates)
    answer["time"] = {name: getattr(estimates.time, name)[0].item() for name in _TIME}
    answer["throughput"] = _throughput(estimates, cluster)
    answer["batch"] = _batch(training, layout, legal=True)
    answer["binding"] = binding_of(answer, cluster)
    answer["working"] = []
    if working:
        answer["working"] = memory_working(model, training, layout, held, cluster.usable_bytes)
        answer["working"] += answer_working(answer, model, training, layout, cluster)
        answer["working"] += time_working(estimates)
    return answer


def _memory(cluster: Cluster, held: StageMemory) -> dict[str, Any]:
    totals = held.total_bytes
    peak = float(np.max(totals))
    usable = float(cluster.usable_bytes)
    columns = {name: getattr(held, name).tolist() for name in PARTS}
    stages = [
        {
            "stage": number,
            "num_layers": _whole(held.num_layers[number].item()),
            **{name: values[number] for name, values in columns.items()},
            "total_bytes": totals[number].item(),
            "in_flight_micro_batches": _whole(held.in_flight_micro_batches[number].item()),
        }
        for number in range(len(totals))
    ]
    return {
        "capacity_bytes": float(cluster.device.memory_bytes),
        "usable_bytes": usable,
        "peak_bytes": peak,
        "headroom_bytes": usable - peak,
        "fits": fit_of(peak, usable),
        "stages": stages,
    }


def _whole(value: float) -> int | float:
    """An int where the number is whole: layers and micro-batches, unless a chunk is a fraction of a stage."""
    return int(value) if value == int(value) else value


def _communication(estimates: Estimates) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in _AXES:
        axis = estimates.time.axes[name]
        size = int(axis.group_size[0])
        crosses = axis.between_nodes[0] > 0
        result[name] = {
            "group_size": size,
            "link": ("inter_node" if crosses else "intra_node") if size > 1 else None,
            "bytes_per_step": axis.bytes_per_step[0].item(),
            "operations_per_step": axis.operations_per_step[0].item(),
            "time_s": axis.time_s[0].item(),
            "exposed_s": axis.exposed_s[0].item(),
        }
    return result


def _throughput(estimates: Estimates, cluster: Cluster) -> dict[str, float]:
    tokens_per_s = estimates.tokens_per_s[0].item()
    return {
        "model_flop_per_step": estimates.model_flop_per_step,
        "hardware_flop_per_step": estimates.hardware_flop_per_step[0].item(),
        "model_tflops_per_gpu": estimates.model_flop_per_s_per_gpu[0].item() / TERA,
        "hardware_tflops_per_gpu": estimates.hardware_flop_per_s_per_gpu[0].item() / TERA,
        "mfu": estimates.mfu[0].item(),
        "hfu": estimates.hfu[0].item(),
        "tokens_per_s": tokens_per_s,
        "tokens_per_s_per_gpu": tokens_per_s / cluster.num_gpus,
    }


def _batch(training: Training, layout: Layout, *, legal: bool) -> dict[str, Any]:
    return {
        "global_batch_size": training.global_batch_size,
        "micro_batch_size": layout.micro_batch_size,
        "num_micro_batches": (
            training.global_batch_size // (layout.micro_batch_size * layout.data_parallel) if legal else None
        ),
        "tokens_per_step": training.global_batch_size * training.seq_length,
    }
