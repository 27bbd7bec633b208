"""Tensor parallelism beyond a node: the bandwidth between nodes at which it would cost no more."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from app.calculator.break_even import Asked, Found, others, resized
from app.calculator.layout import Layout
from app.calculator.units import format_seconds

SLOWEST_BYTES_PER_S, FASTEST_BYTES_PER_S = 1e6, 1e14  # the bandwidths that may be asked about
HALVINGS = 18


def unaffordable(asked: Asked) -> dict[str, Found]:
    """Everything that was refused for its price, with the value at which it would do."""
    return {"tensor_across_nodes": tensor_across_nodes(asked), **others(asked)}


def bisect(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where `cost` falls to 0 between `low` (above 0) and `high` (not above): the least value found, by
    halving the ratio.
    """
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if cost(middle) <= 0 else (middle, high)
    return high


def tensor_across_nodes(asked: Asked) -> Found:
    """The bandwidth between nodes at which a tensor group of two nodes costs no more than one of one node.

    Both use all devices and the same batch; the wide one has half the stages, or else half the copies.
    """
    cluster = asked.cluster
    node = cluster.gpus_per_node
    question = f"Between nodes, what bandwidth makes tensor {2 * node} cost no more than tensor {node}?"
    now = cluster.inter_node.bandwidth_bytes_per_s
    narrow, wide = _of_width(asked, node), _wider(asked, node)
    if cluster.num_gpus < 2 * node or narrow is None or wide is None:
        says = "The cluster has no two whole nodes to share." if cluster.num_gpus < 2 * node else (
            f"Tensor {2 * node} and tensor {node} cannot both fill this cluster with half of the rest."
        )  # fmt: skip
        return Found(question=question, value=None, unit="bytes/s", now=now, says=says)
    step = math.lcm(*(one.micro_batch_size * one.data_parallel for one in (narrow, wide)))
    step = math.lcm(step, *(one.pipeline_parallel * one.micro_batch_size * one.data_parallel
                            for one in (narrow, wide) if one.virtual_pipeline_stages > 1))  # fmt: skip
    batch = max(step, -(-asked.training.global_batch_size // step) * step)
    for one in (wide, narrow):
        if not asked.is_legal(one, batch):
            says = f"Tensor {one.tensor_parallel} is not legal for this model and cluster at all."
            return Found(question=question, value=None, unit="bytes/s", now=now, says=says)

    pair = _Pair(asked=asked, narrow=narrow, wide=wide, batch=batch)
    inside, across = pair.seconds(now, cluster.inter_node.latency_s)
    numbers = {
        "narrow": _sizes(narrow) | {"step_s": inside},
        "wide": _sizes(wide) | {"step_s": across},
        "global_batch_size": batch,
    }
    told = (
        f"With {_rate(now)} between nodes, tensor {2 * node} takes {format_seconds(across)} a step and tensor"
    )
    told += f" {node} {format_seconds(inside)}"
    told += "." if batch == asked.training.global_batch_size else f", at a batch of {batch:,} for both."
    shown: dict[str, Any] = {"question": question, "unit": "bytes/s", "now": now, "numbers": numbers}
    if across <= inside:
        least = pair.break_even(SLOWEST_BYTES_PER_S, cluster.inter_node.latency_s) or now
        too = f"{told} It costs no more already; below {_rate(least)} it would."
        return Found(**shown, value=least, says=too)
    starts = (cluster.inter_node.latency_s, min(cluster.inter_node.latency_s, cluster.intra_node.latency_s))
    for latency_s in starts:
        value = pair.break_even(now, latency_s)
        if value is None:
            continue
        numbers["latency_s"] = latency_s
        too = "" if latency_s == starts[0] else (
            f", if a message also started as fast as inside a node ({format_seconds(latency_s)})"
        )  # fmt: skip
        says = f"{told} They break even at {_rate(value)}, {value / now:.3g} times what there is{too}."
        return Found(**shown, value=value, says=says)
    free_inside, free_across = pair.seconds(FASTEST_BYTES_PER_S, 0.0)
    numbers["free_network"] = {"narrow_step_s": free_inside, "wide_step_s": free_across}
    says = (
        f"{told} No bandwidth closes that: with a network that cost nothing it would still be"
        f" {format_seconds(free_across)} against {format_seconds(free_inside)}, for narrower matrices and"
        " collectives that more devices take part in."
    )
    return Found(**shown, value=None, says=says)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Two layouts on one cluster, whose network can be another."""

    asked: Asked
    narrow: Layout
    wide: Layout
    batch: int

    def seconds(self, bytes_per_s: float, latency_s: float) -> tuple[float, float]:
        """Their steps on this network."""
        cluster = self.asked.cluster
        link = replace(cluster.inter_node, bandwidth_bytes_per_s=bytes_per_s, latency_s=latency_s)
        changed = replace(cluster, inter_node=link)
        inside, across = (
            float(self.asked.told(one, batch=self.batch, cluster=changed).time.step_s[0])
            for one in (self.narrow, self.wide)
        )
        return inside, across

    def break_even(self, least: float, latency_s: float) -> float | None:
        """The bandwidth from `least` up with which the wide one costs no more; None where none is enough."""

        def dearer(bytes_per_s: float) -> float:
            inside, across = self.seconds(bytes_per_s, latency_s)
            return across - inside

        if dearer(FASTEST_BYTES_PER_S) > 0:
            return None
        return least if dearer(least) <= 0 else bisect(dearer, least, FASTEST_BYTES_PER_S)


def _of_width(asked: Asked, width: int) -> Layout | None:
    """The layout with this tensor width: the same stages where that fills the cluster, else fewer."""
    layout, inner = asked.layout, width * asked.layout.context_parallel
    stages = layout.pipeline_parallel
    while stages > 1 and asked.cluster.num_gpus % (inner * stages):
        stages -= 1
    if asked.cluster.num_gpus % (inner * stages):
        return None
    return resized(asked, width, stages, asked.cluster.num_gpus // (inner * stages))


def _wider(asked: Asked, node: int) -> Layout | None:
    narrow = _of_width(asked, node)
    if narrow is None:
        return None
    stages, copies = narrow.pipeline_parallel, narrow.data_parallel
    if stages % 2 == 0:
        return resized(asked, 2 * node, stages // 2, copies)
    return resized(asked, 2 * node, stages, copies // 2) if copies % 2 == 0 else None


def _sizes(layout: Layout) -> dict[str, Any]:
    """What makes the layout, for somebody who wants to ask for its estimate."""
    names = ("tensor_parallel", "pipeline_parallel", "data_parallel")
    split = layout.layers_per_stage
    sizes = {name: getattr(layout, name) for name in names}
    return sizes | {"layers_per_stage": list(split) if split else None}


def _rate(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e9:,.3g} GB/s"
