"""A published run → the question we would ask the calculator, what it answers, and how far off that is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.calculator.cluster import NETWORKS
from app.catalog import Catalog, load_catalog
from app.catalog.published import Row
from app.services.input_values import shown
from app.services.inputs import InputProblems, Inputs, parse_inputs

# What the prediction may look at. Everything else in a row tells who said it, or what came out.
QUESTION_KEYS = (
    "model",
    "hardware",
    "n_gpus",
    "tp",
    "pp",
    "dp",
    "cp",
    "ep",
    "virtual_stages",
    "schedule",
    "micro_batch",
    "global_batch",
    "zero_stage",
    "recompute",
    "sequence_parallel",
    "software",
)
_GPU_IDS = (  # the first whose words all appear in the row's name
    (("h100", "500w"), "h100-96gb"),
    (("h100", "96gb"), "h100-96gb"),
    (("gb200",), "gb200"),
    (("b200",), "b200"),
    (("h200",), "h200"),
    (("h800",), "h800-80gb"),
    (("h100",), "h100-80gb"),
    (("h20",), "h20"),
    (("a800",), "a800-80gb"),
    (("a100", "40gb"), "a100-40gb"),
    (("a100",), "a100-80gb"),
    (("v100",), "v100-32gb"),
    (("mi300x",), "mi300x"),
    (("l40s",), "l40s"),
    (("a6000",), "a6000"),
    (("3090",), "rtx-3090"),
    (("t4",), "t4"),
)
# Rows that do not state the link inside a node, where its operator does. Jean Zay's A100 nodes: "8 GPUs per
# node using NVLink 4 inter-gpu connects, 4 OmniPath links" (BigScience, tr11 README): four links of 25 GB/s
# each way (NVIDIA A100 white paper) where a board with switches has twelve.
_UNSTATED_INTRA_BYTES_PER_S = {("a100-80gb", "omni-path"): 100e9}


MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # what odd rows lead to


class RowError(ValueError):
    """A row that cannot be turned into a question; the message says which part is missing or wrong."""


def gpu_id(name: str) -> str:
    """The catalog id of a device by the name a row gives it. Raises RowError."""
    lowered = name.lower()
    for words, found in _GPU_IDS:
        if all(word in lowered for word in words):
            return found
    raise RowError(f"hardware.gpu {name!r} is not in the catalog")


def stage_split(num_layers: int, stages: int) -> list[int] | None:
    """Layers per stage where they do not divide: the embedding and the head count as a layer each.

    Every middle stage holds ceil((L + 2)/p); the two ends share what is left. Where that would leave the ends
    fuller than the middle, layers are dealt out evenly, the ends last. None where L divides evenly.
    Source: Megatron-DeepSpeed (BLOOM) partitions this way; BigScience tr11 notes its stages.
    """
    if stages == 1 or num_layers % stages == 0:
        return None
    middle = min(math.ceil((num_layers + 2) / stages), (num_layers - 2) // max(1, stages - 2))
    left = num_layers - middle * (stages - 2)
    if left > 2 * (middle + 1):
        each, more = divmod(num_layers, stages)
        return [each + (1 <= stage <= more) for stage in range(stages)]
    return [left // 2, *[middle] * (stages - 2), left - left // 2]


def request_of(row: Row) -> dict[str, Any]:
    """The row as an estimate request, in the words of the API. Raises RowError saying what is missing."""
    try:
        model, hardware = _object(row, "model"), _object(row, "hardware")
        if not isinstance(row["pp"], int):
            raise RowError(f"pp is {shown(row['pp'])}, not a number of stages")
        return {
            "model": _model(model),
            "cluster": _cluster(row, hardware),
            "layout": _layout(row, model, hardware),
            "training": _training(row, model, hardware),
        }
    except RowError:
        raise
    except KeyError as error:
        raise RowError(f"{error.args[0]!r} is missing") from error
    except TypeError as error:
        raise RowError(f"a number is missing ({error})") from error
    except MALFORMED as error:
        raise RowError(f"it is not a row of published runs ({error})") from error


def _object(row: Row, key: str) -> Mapping[str, Any]:
    """A part of a row that holds fields of its own. Raises RowError, KeyError."""
    part = row[key]
    if not isinstance(part, Mapping):
        raise RowError(f"{key} is {shown(part)}, not an object of fields")
    return part


def _model(model: Mapping[str, Any]) -> dict[str, Any]:
    hidden = model["hidden"]
    head_dim = model.get("head_dim") or (hidden // model["heads"] if model.get("heads") else 128)
    heads = model.get("heads") or hidden // head_dim
    shape = {
        "name": model.get("name") or "published run",
        "num_layers": model["layers"],
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_kv_heads": model.get("kv_heads") or heads,
        "head_dim": head_dim,
        "ffn_hidden_size": model.get("ffn") or 4 * hidden,
        "vocab_size": model.get("vocab") or 51200,
        "seq_length": model["seq"],
        "gated_mlp": bool(model.get("gated_mlp")),
        "tied_embeddings": bool(model.get("tied_embeddings")),
        "position_embeddings": _positions(model),
        "linear_bias": bool(model.get("biases", not model.get("gated_mlp"))),
        "normalization": "rmsnorm" if model.get("gated_mlp") else "layernorm",
    }
    if model.get("moe"):
        shape |= {
            "num_experts": model["experts"],
            "experts_per_token": model["topk"],
            "num_shared_experts": model.get("shared_experts") or 0,
            "moe_ffn_hidden_size": model["expert_ffn"],
            "num_dense_layers": model.get("dense_layers") or 0,
        }
    return shape


def _positions(model: Mapping[str, Any]) -> str:
    stated = model.get("pos")
    if stated in ("learned", "rope", "alibi", "relative", "none"):
        return str(stated)
    return "rope" if model.get("gated_mlp") else "learned"


def _cluster(row: Row, hardware: Mapping[str, Any]) -> dict[str, Any]:
    per_node = hardware.get("gpus_per_node") or 8
    cluster: dict[str, Any] = {
        **_device(hardware),
        "num_nodes": math.ceil(row["n_gpus"] / per_node),
        "gpus_per_node": per_node,
        "num_gpus": row["n_gpus"],
    }
    for key, name in (
        ("intra_bw_GBps_per_gpu_unidir", "intra_node_bandwidth_bytes_per_s"),
        ("inter_bw_GBps_per_gpu_unidir", "inter_node_bandwidth_bytes_per_s"),
    ):
        if hardware.get(key):
            cluster[name] = hardware[key] * 1e9
    if _network(hardware) in NETWORKS:
        cluster["inter_node_network"] = _network(hardware)
    known = _UNSTATED_INTRA_BYTES_PER_S.get((cluster["gpu"], _network(hardware)))
    if known:
        cluster.setdefault("intra_node_bandwidth_bytes_per_s", known)
    return cluster


def _device(hardware: Mapping[str, Any]) -> dict[str, Any]:
    """The catalog's device, with the memory that the row states where that is another one.

    A device that the catalog does not have is told by its stated peak and memory; what nobody states is
    that of the training device whose peak is nearest. Raises RowError, KeyError.
    """
    devices = {name: entry.device for name, entry in load_catalog().gpus.items()}
    peak_flops = (hardware.get("peak_tflops_bf16_dense") or 0) * 1e12
    memory_bytes = (hardware.get("memory_gb") or 0) * 2**30
    try:
        found = gpu_id(str(hardware["gpu"]))
    except RowError:
        if not (peak_flops > 0 and memory_bytes > 0):
            raise
        trainers = [name for name, device in devices.items() if device.memory_bandwidth_bytes_per_s >= 0.9e12]
        nearest = min(trainers, key=lambda name: abs(devices[name].peak_flops_bf16 - peak_flops))
        return {"gpu": nearest, "peak_flops": {"bf16": peak_flops}, "memory_bytes": memory_bytes}
    if memory_bytes and abs(memory_bytes / devices[found].memory_bytes - 1) > 0.1:
        return {"gpu": found, "memory_bytes": memory_bytes}
    return {"gpu": found}


def _network(hardware: Mapping[str, Any]) -> str:
    return str(hardware.get("network") or "").lower()


def _layout(row: Row, model: Mapping[str, Any], hardware: Mapping[str, Any]) -> dict[str, Any]:
    software = row.get("software") or {}
    chunks = row.get("virtual_stages") or 1
    stages = row["pp"]
    recompute = str(row.get("recompute") or "none").split()[0].lower()
    layout: dict[str, Any] = {
        "tensor_parallel": row["tp"],
        "pipeline_parallel": stages,
        "data_parallel": row["dp"],
        "context_parallel": row.get("cp") or 1,
        "expert_parallel": row.get("ep") or 1,
        "virtual_pipeline_stages": chunks,
        "schedule": "interleaved" if chunks > 1 else "1f1b",
        "micro_batch_size": row.get("micro_batch") or 1,
        "sequence_parallel": bool(row.get("sequence_parallel")),
        "zero_stage": row.get("zero_stage") or 0,
        "recompute": recompute if recompute in ("none", "selective", "full") else "none",
        "overlap_data_parallel": bool(software.get("overlap_data_parallel", True)),
        "overlap_tensor_parallel": bool(software.get("overlap_tensor_parallel", False)),
    }
    split = stage_split(model["layers"], stages)
    if split:
        layout["layers_per_stage"] = split
    if software.get("sharding") == "hsdp":
        layout["zero_group"] = hardware.get("gpus_per_node") or 8
    return layout


def _training(row: Row, model: Mapping[str, Any], hardware: Mapping[str, Any]) -> dict[str, Any]:
    software = row.get("software") or {}
    training = {
        "global_batch_size": row["global_batch"],
        "seq_length": model["seq"],
        "compute_dtype": hardware.get("row_precision") or "bf16",
        "grad_bytes": software.get("gradient_bytes") or 4,
        "flash_attention": software.get("attention", "flash") == "flash",
        "kernels": software.get("kernels") or "fused",
    }
    if software.get("recomputed_fraction"):
        training["recomputed_fraction"] = software["recomputed_fraction"]
    return training


def inputs_of(row: Row, catalog: Catalog) -> Inputs:
    """The row as the calculator's objects. Raises RowError listing what does not fit."""
    found = parse_inputs(request_of(row), catalog)
    if isinstance(found, InputProblems):
        raise RowError("; ".join(f"{p.field}: {p.message}" for p in found.problems))
    return found


def reported_step_s(row: Row) -> float | None:
    """Seconds of a step as the row reports them: step time, else tokens per second, else derived from them.

    TFLOP/s count only through `derived.step_time_s_from_tflops`, in the row's own convention.
    Raises RowError where the row says nothing that can be read.
    """
    for part in ("reported", "derived"):
        if row.get(part) is not None:
            _object(row, part)
    try:
        seconds = _reported_step_s(row)
    except MALFORMED as error:
        raise RowError(f"what it reports cannot be read ({error})") from error
    if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
        raise RowError(f"it reports a step of {seconds:g} s")
    return seconds


def _reported_step_s(row: Row) -> float | None:
    reported, derived = row.get("reported") or {}, row.get("derived") or {}
    if reported.get("step_time_s"):
        return float(reported["step_time_s"])
    tokens = row["global_batch"] * row["model"]["seq"] if row.get("global_batch") else None
    if tokens and reported.get("tokens_per_s"):
        return float(tokens / reported["tokens_per_s"])
    if tokens and reported.get("tokens_per_s_per_gpu"):
        return float(tokens / reported["tokens_per_s_per_gpu"] / row["n_gpus"])
    for key in ("step_time_s_from_tokens", "step_time_s_from_tflops"):
        if derived.get(key):
            return float(derived[key])
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One run: what was reported, what we predict, and the signed error (positive: predicted too slow)."""

    id: str
    source: str
    core: bool
    predicted_step_s: float
    reported_step_s: float | None

    @property
    def signed_error(self) -> float | None:
        """predicted/reported − 1."""
        if self.reported_step_s is None:
            return None
        return self.predicted_step_s / self.reported_step_s - 1
