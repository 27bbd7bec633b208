"""What a tenth more of one resource would buy: the step asked again with that resource scaled."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.calculator.break_even import Asked
from app.calculator.cluster import Cluster
from app.calculator.enumeration import divisors
from app.calculator.estimate import evaluate, legal_mask
from app.calculator.layout import Layout, Layouts, Recompute

MORE = 1.1
LARGEST_MICRO_BATCH = 32
LABELS = {
    "memory_bandwidth": "memory bandwidth",
    "intra_node_link": "the link inside a node",
    "inter_node_link": "the network between nodes",
    "peak": "peak FLOP/s",
    "memory": "device memory",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A resource scaled by `factor`: the step before and after, and what had to change for it."""

    resource: str
    factor: float
    step_s: float
    step_s_after: float
    how: str = ""

    @property
    def gain_fraction(self) -> float:
        """Share of the step that is saved."""
        return max(0.0, 1 - self.step_s_after / self.step_s)

    def to_json(self) -> dict[str, Any]:
        """In the words of the API."""
        return {
            "resource": self.resource,
            "factor": self.factor,
            "step_s": self.step_s,
            "step_s_after": self.step_s_after,
            "gain_fraction": self.gain_fraction,
            "how": self.how,
        }


def scaled(cluster: Cluster, resource: str, factor: float) -> Cluster:
    """The cluster with one resource scaled."""
    device, intra, inter = cluster.device, cluster.intra_node, cluster.inter_node
    if resource == "intra_node_link":
        faster = replace(intra, bandwidth_bytes_per_s=intra.bandwidth_bytes_per_s * factor)
        return replace(cluster, intra_node=faster)
    if resource == "inter_node_link":
        faster = replace(inter, bandwidth_bytes_per_s=inter.bandwidth_bytes_per_s * factor)
        return replace(cluster, inter_node=faster)
    changes: dict[str, dict[str, Any]] = {
        "memory_bandwidth": {"memory_bandwidth_bytes_per_s": device.memory_bandwidth_bytes_per_s * factor},
        "peak": {
            "peak_flops_bf16": device.peak_flops_bf16 * factor,
            "peak_flops_fp8": device.peak_flops_fp8 * factor,
        },
        "memory": {"memory_bytes": device.memory_bytes * factor},
    }
    return replace(cluster, device=replace(device, **changes[resource]))


def sensitivity(asked: Asked, factor: float = MORE) -> tuple[Gain, ...]:
    """One gain for each resource, the largest first. Memory buys time only by another layout."""
    before = float(asked.told(asked.layout).time.step_s[0])
    gains = [
        Gain(
            resource=resource,
            factor=factor,
            step_s=before,
            step_s_after=float(
                asked.told(asked.layout, cluster=scaled(asked.cluster, resource, factor)).time.step_s[0]
            ),
        )
        for resource in LABELS
        if resource != "memory"
    ]
    gains.append(_more_memory(asked, before, factor))
    return tuple(sorted(gains, key=lambda gain: (-gain.gain_fraction, gain.resource)))


def _more_memory(asked: Asked, before: float, factor: float) -> Gain:
    """The fastest of the same cut that fits only with more memory: less recomputed, larger micro-batches."""
    layouts = _same_cut(asked)
    columns = Layouts.of(*layouts)
    holds = np.flatnonzero(legal_mask(asked.model, asked.cluster, asked.training, columns))
    still = Gain(resource="memory", factor=factor, step_s=before, step_s_after=before)
    if not len(holds):
        return still
    told = evaluate(asked.model, asked.cluster, asked.training, columns.take(holds), asked.constants)
    step_s, peak = np.asarray(told.time.step_s), np.asarray(told.peak_bytes)
    more = scaled(asked.cluster, "memory", factor).usable_bytes
    now = step_s[peak <= asked.cluster.usable_bytes]
    reach = min(before, float(now.min())) if len(now) else before
    gained = np.flatnonzero((peak > asked.cluster.usable_bytes) & (peak <= more) & (step_s < reach))
    if not len(gained):
        return replace(still, how="no layout of this cut becomes possible that is faster")
    best = int(gained[np.argmin(step_s[gained])])
    layout = layouts[int(holds[best])]
    how = f"{layout.recompute.name.lower()} recompute, micro-batch {layout.micro_batch_size}"
    # What the better layout saves against the best that fits now: the rest was to be had without more memory.
    after = before * float(step_s[best]) / reach
    return replace(still, step_s_after=after, how=how)


def _same_cut(asked: Asked) -> list[Layout]:
    layout = asked.layout
    share = asked.training.global_batch_size // layout.data_parallel
    sizes = {*divisors(max(1, share), LARGEST_MICRO_BATCH), layout.micro_batch_size}
    return [
        replace(layout, micro_batch_size=size, recompute=recompute, zero_stage=stage)
        for size in sorted(sizes)
        for recompute in Recompute
        for stage in sorted({layout.zero_stage, min(1, layout.zero_stage)})
    ]
