"""The inputs in effect, field by field, and the shortest address that says them again."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from app.calculator.cluster import network_of
from app.calculator.fields import FIELDS
from app.calculator.layout import RECOMPUTE_NAMES, SCHEDULE_NAMES
from app.catalog import Catalog
from app.services.inputs import Inputs
from app.web.controls import query_name, written

_SCHEDULES = {kind: name for name, kind in SCHEDULE_NAMES.items()}
_RECOMPUTE = {kind: name for name, kind in RECOMPUTE_NAMES.items()}


def in_effect(inputs: Inputs) -> dict[str, Any]:
    """Every field's path with the value that was calculated with."""
    cluster, device = inputs.cluster, inputs.cluster.device
    values: dict[str, Any] = {
        "model.id": inputs.model_id,
        "cluster.gpu": device.id,
        "cluster.num_nodes": cluster.num_nodes,
        "cluster.gpus_per_node": cluster.gpus_per_node,
        "cluster.num_gpus": cluster.num_gpus,
        "cluster.memory_bytes": device.memory_bytes,
        "cluster.peak_flops.bf16": device.peak_flops_bf16,
        "cluster.peak_flops.fp8": device.peak_flops_fp8,
        "cluster.memory_bandwidth_bytes_per_s": device.memory_bandwidth_bytes_per_s,
        "cluster.intra_node_bandwidth_bytes_per_s": cluster.intra_node.bandwidth_bytes_per_s,
        "cluster.intra_node_latency_s": cluster.intra_node.latency_s,
        "cluster.inter_node_bandwidth_bytes_per_s": cluster.inter_node.bandwidth_bytes_per_s,
        "cluster.inter_node_latency_s": cluster.inter_node.latency_s,
        "cluster.inter_node_network": cluster.inter_node_network,
        "cluster.nics_per_node": cluster.nics_per_node,
        "cluster.price_per_gpu_hour": cluster.price_per_gpu_hour,
    }
    for field in FIELDS:
        if field.section == "model":
            owner = inputs.model.vision if field.key.startswith("vision.") else inputs.model
            values[field.path] = getattr(owner, field.key.rpartition(".")[2], None)
        elif field.section == "layout":
            values[field.path] = getattr(inputs.layout, field.key)
        elif field.section == "training":
            values[field.path] = getattr(inputs.training, field.key)
    values["layout.schedule"] = _SCHEDULES[inputs.layout.schedule]
    values["layout.recompute"] = _RECOMPUTE[inputs.layout.recompute]
    values["layout.zero_group"] = inputs.layout.zero_group or "global"
    return values


def untouched(values: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """What each field would be if only the model's and the device's names were written.

    Fields that depend on others (the number of replicas, the batch) are left out: they are always written.
    """
    known = {
        field.path: field.default
        for field in FIELDS
        if field.default is not None and field.section in ("cluster", "layout", "training")
    }
    known |= {"training.encoder_seq_length": 0, "training.total_tokens": 0, "layout.layers_per_stage": None}
    chunks = values.get("layout.virtual_pipeline_stages") or 1
    known["layout.schedule"] = "interleaved" if chunks > 1 else "1f1b"
    gpu = catalog.gpus.get(str(values.get("cluster.gpu")))
    if gpu:
        known |= {
            "cluster.gpus_per_node": gpu.gpus_per_node,
            "cluster.num_gpus": _devices(values),
            "cluster.memory_bytes": gpu.device.memory_bytes,
            "cluster.peak_flops.bf16": gpu.device.peak_flops_bf16,
            "cluster.peak_flops.fp8": gpu.device.peak_flops_fp8,
            "cluster.memory_bandwidth_bytes_per_s": gpu.device.memory_bandwidth_bytes_per_s,
            "cluster.intra_node_bandwidth_bytes_per_s": gpu.intra_node.link.bandwidth_bytes_per_s,
            "cluster.intra_node_latency_s": gpu.intra_node.link.latency_s,
            "cluster.inter_node_bandwidth_bytes_per_s": gpu.inter_node.link.bandwidth_bytes_per_s,
            "cluster.inter_node_latency_s": gpu.inter_node.link.latency_s,
            "cluster.inter_node_network": network_of(gpu.inter_node.link),
            "cluster.nics_per_node": gpu.nics_per_node,
            "training.compute_dtype": "fp16" if gpu.device.generation in ("volta", "turing") else "bf16",
        }
    entry = catalog.models.get(str(values.get("model.id")))
    if entry:
        for field in FIELDS:
            if field.section == "model":
                owner = entry.model.vision if field.key.startswith("vision.") else entry.model
                known[field.path] = getattr(owner, field.key.rpartition(".")[2], None)
        known["training.seq_length"] = entry.model.seq_length
    return known


def address(values: Mapping[str, Any], catalog: Catalog, *, at: str = "/calculator", **changes: Any) -> str:
    """The shortest address of a calculation, perhaps with some fields changed (`layout__…=…`)."""
    wanted = {**values, **{key.replace("__", "."): value for key, value in changes.items()}}
    known = untouched(wanted, catalog)
    pairs = []
    for path in ("model.id", "cluster.gpu", *(field.path for field in FIELDS if field.path != "cluster.gpu")):
        value = wanted.get(path)
        if value in (None, "") or (path in known and known[path] == value and path != "cluster.gpu"):
            continue
        pairs.append((query_name(path), written(value)))
    query = urlencode(pairs, safe=",")
    return f"{at}?{query}" if query else at


def _devices(values: Mapping[str, Any]) -> Any:
    nodes, per_node = values.get("cluster.num_nodes"), values.get("cluster.gpus_per_node")
    return nodes * per_node if isinstance(nodes, int) and isinstance(per_node, int) else None
