"""Which resource decides: the first thing that would have to give, in one sentence with numbers."""

from collections.abc import Mapping
from typing import Any

from app.calculator.cluster import Cluster
from app.calculator.units import format_binary_bytes, format_percent, format_seconds

PART_NAMES = {
    "weights_bytes": "weights",
    "gradients_bytes": "gradients",
    "optimizer_bytes": "optimizer states",
    "activations_bytes": "activations",
    "logits_bytes": "logits",
    "buffers_bytes": "buffers",
    "overhead_bytes": "overhead",
}
_LINK_PARTS = {
    "tensor_parallel": "tensor_parallel_s",
    "context_parallel": "context_parallel_s",
    "pipeline_parallel": "pipeline_p2p_s",
    "data_parallel": "data_parallel_s",
    "expert_parallel": "expert_parallel_s",
}

_REST = {
    "tensor_parallel_s": "tensor parallel traffic",
    "context_parallel_s": "context parallel traffic",
    "expert_parallel_s": "expert parallel traffic",
    "pipeline_p2p_s": "sends between stages",
    "bubble_s": "the bubble",
    "data_parallel_s": "data parallel traffic",
    "optimizer_s": "the optimizer's memory traffic",
    "other_s": "launching kernels and fixed time: there is little work for each device",
}

COUNTED_LOSS_FRACTION = 0.15  # of the step: less is what every layout loses somewhere


def binding_of(answer: Mapping[str, Any], cluster: Cluster) -> dict[str, str]:
    """Memory where it does not clearly fit; else the largest loss of time above the useful compute.

    A loss counts from 15 % of the step on; below that compute binds. The batch binds where the bubble is
    the loss and there are fewer than four micro-batches for each stage: only a larger batch would give more.
    """
    memory = answer["memory"]
    if memory["fits"] != "yes":
        return {"resource": "memory", "because": _memory_sentence(memory)}
    time = answer["time"]
    losses = _losses(answer)
    resource, lost_s = max(losses.items(), key=lambda item: item[1])
    if lost_s < COUNTED_LOSS_FRACTION * time["step_s"]:
        return {"resource": "compute", "because": _compute_sentence(answer, cluster)}
    if resource == "bubble":
        return _bubble(answer)
    return {"resource": resource, "because": _link_sentence(answer, resource, lost_s, cluster)}


def _memory_sentence(memory: Mapping[str, Any]) -> str:
    stage = max(memory["stages"], key=lambda s: s["total_bytes"])
    part = max(PART_NAMES, key=lambda name: stage[name])
    peak, usable = memory["peak_bytes"], memory["usable_bytes"]
    where = (
        f"{PART_NAMES[part]} ({format_binary_bytes(stage[part])}) put stage {stage['stage']} at "
        f"{format_binary_bytes(peak)} of {format_binary_bytes(usable)}"
    )
    if peak > usable:
        return f"{where}, over by {format_binary_bytes(peak - usable)}"
    return f"{where}, only {format_binary_bytes(usable - peak)} to spare"


def _losses(answer: Mapping[str, Any]) -> dict[str, float]:
    losses = {"intra_node_link": 0.0, "inter_node_link": 0.0, "bubble": answer["time"]["bubble_s"]}
    for axis, part in _LINK_PARTS.items():
        link = answer["communication"][axis]["link"]
        if link is not None:
            losses[f"{link}_link"] += answer["time"][part]
    return losses


def _compute_sentence(answer: Mapping[str, Any], cluster: Cluster) -> str:
    """The layers' work; where that is less than half of the step, also what takes the most of the rest."""
    time, rates = answer["time"], answer["throughput"]
    share = (time["compute_s"] + time["recompute_s"]) / time["step_s"]
    said = (
        f"{format_percent(share, 0)} of the {format_seconds(time['step_s'])} step is the layers' own work, "
        f"at {rates['hardware_tflops_per_gpu']:.0f} TFLOP/s on a {cluster.device.name}"
    )
    if share >= 0.5:
        return said
    rest = max(_REST, key=lambda part: time[part])
    return f"{said}; {format_percent(time[rest] / time['step_s'], 0)} is {_REST[rest]}"


def _bubble(answer: Mapping[str, Any]) -> dict[str, str]:
    lost_s, step_s = answer["time"]["bubble_s"], answer["time"]["step_s"]
    stages = answer["communication"]["pipeline_parallel"]["group_size"]
    m = answer["batch"]["num_micro_batches"]
    counted = f"{m} micro-batches leave" if m != 1 else "1 micro-batch leaves"
    said = (
        f"{counted} the devices of {stages} stages idle for {format_seconds(lost_s)} of the "
        f"{format_seconds(step_s)} step ({format_percent(lost_s / step_s)})"
    )
    if m < 4 * stages:
        return {"resource": "batch", "because": f"{said}; {_more_micro_batches(answer['batch'])}"}
    return {"resource": "bubble", "because": said}


def _more_micro_batches(batch: Mapping[str, Any]) -> str:
    """What would give more of them: m = B/(b·d)."""
    each = batch["micro_batch_size"]
    copies = batch["global_batch_size"] // (each * batch["num_micro_batches"])
    ways = ["a larger global batch"]
    ways += ["a smaller micro-batch"] if each > 1 else []
    ways += ["fewer copies"] if copies > 1 else []
    if len(ways) == 1:
        return "only a larger global batch gives more micro-batches"
    return f"more micro-batches come from {', '.join(ways[:-1])} or {ways[-1]}"


def _link_sentence(answer: Mapping[str, Any], resource: str, lost_s: float, cluster: Cluster) -> str:
    link = cluster.inter_node if resource == "inter_node_link" else cluster.intra_node
    axes = {
        axis: answer["time"][part]
        for axis, part in _LINK_PARTS.items()
        if f"{answer['communication'][axis]['link']}_link" == resource
    }
    worst = max(axes, key=lambda axis: axes[axis])
    sent = format_binary_bytes(answer["communication"][worst]["bytes_per_step"])
    step_s = answer["time"]["step_s"]
    return (
        f"the step waits {format_seconds(lost_s)} of {format_seconds(step_s)} "
        f"({format_percent(lost_s / step_s)}) for {link.name}; most of it is "
        f"{worst.replace('_', ' ')} traffic, {sent} from each device"
    )
