"""Inputs → what somebody could have written: a value of one field, the whole object, the shortest query
string.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from app.calculator.fields import BY_PATH, FIELDS, SERVING_FIELDS, bare_keys
from app.calculator.layout import RECOMPUTE_NAMES, SCHEDULE_NAMES
from app.catalog import Catalog
from app.services.inputs import InputProblems, Inputs, parse_inputs

_SPOKEN: dict[str, dict[Any, str]] = {
    "layout.schedule": {value: text for text, value in SCHEDULE_NAMES.items()},
    "layout.recompute": {value: text for text, value in RECOMPUTE_NAMES.items()},
}
# Fields whose default hangs on other inputs: always written where there is a choice.
_DEPENDENT = ("layout.data_parallel", "training.global_batch_size")


def input_value(inputs: Inputs, path: str) -> Any:
    """The value in effect of one field, as it would be written."""
    section, _, key = path.partition(".")
    if path == "model.id":
        return inputs.model_id
    if section == "cluster":
        return _cluster_value(inputs, key)
    owner: Any = getattr(inputs, section)
    for part in key.split("."):
        owner = getattr(owner, part, None)
    if path == "layout.zero_group":
        return owner or "global"
    return _SPOKEN[path][owner] if path in _SPOKEN else owner


def _cluster_value(inputs: Inputs, key: str) -> Any:
    cluster, device = inputs.cluster, inputs.cluster.device
    special: dict[str, Any] = {
        "gpu": device.id,
        "memory_bytes": device.memory_bytes,
        "peak_flops.bf16": device.peak_flops_bf16,
        "peak_flops.fp8": device.peak_flops_fp8,
        "memory_bandwidth_bytes_per_s": device.memory_bandwidth_bytes_per_s,
        "intra_node_bandwidth_bytes_per_s": cluster.intra_node.bandwidth_bytes_per_s,
        "intra_node_latency_s": cluster.intra_node.latency_s,
        "inter_node_bandwidth_bytes_per_s": cluster.inter_node.bandwidth_bytes_per_s,
        "inter_node_latency_s": cluster.inter_node.latency_s,
        "inter_node_network": cluster.inter_node_network,
    }
    return special[key] if key in special else getattr(cluster, key)


def values_of(inputs: Inputs) -> dict[str, Any]:
    """Every field's path with its value in effect; what is not stated is left out."""
    fields = (*FIELDS, *SERVING_FIELDS) if inputs.serving else FIELDS
    values = {field.path: input_value(inputs, field.path) for field in fields}
    silent = ("training.encoder_seq_length", "training.total_tokens")  # 0: not stated
    return {k: v for k, v in values.items() if v is not None and not (k in silent and not v)}


def to_json(inputs: Inputs, catalog: Catalog) -> dict[str, Any]:
    """The nested object of the API: model as an id where it is a catalog model, everything else written
    out.
    """
    verb = "serve" if inputs.serving else "estimate"
    nested: dict[str, Any] = {}
    for path, value in values_of(inputs).items():
        if verb == "serve" and path.startswith("training."):
            continue
        *groups, key = path.split(".")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        place[key] = list(value) if isinstance(value, tuple) else value
    entry = catalog.models.get(inputs.model_id)
    if entry is not None and entry.model == inputs.model:
        nested["model"] = inputs.model_id
    elif inputs.model.name != "custom":
        nested["model"]["name"] = inputs.model.name
    return nested


def to_query(inputs: Inputs, catalog: Catalog) -> str:
    """The shortest query string that reads back as the same inputs, by bare keys in the order of the
    fields.
    """
    return query_of(values_of(inputs), inputs, plain_values(inputs, catalog))


def plain_values(inputs: Inputs, catalog: Catalog) -> dict[str, Any]:
    """What every field would be if only the model and the nodes were written."""
    values = values_of(inputs)
    plain = parse_inputs(_start(values, inputs), catalog, _verb(inputs))
    return {} if isinstance(plain, InputProblems) else values_of(plain)


def query_of(values: Mapping[str, Any], inputs: Inputs, plain: Mapping[str, Any]) -> str:
    """The query string of these values, which are of these inputs but for layout and batch, perhaps."""
    short = {path: key for key, path in bare_keys(_verb(inputs)).items()}
    start = _start(values, inputs)
    chunks = values["layout.virtual_pipeline_stages"]
    known = {**plain, "layout.schedule": "interleaved" if chunks > 1 else "1f1b"}
    if known.get("cluster.nics_per_node") != values["cluster.nics_per_node"]:
        # Written beside them, because the adapters alone would change it.
        known.pop("cluster.inter_node_bandwidth_bytes_per_s", None)
    written = {"model": inputs.model_id} if inputs.model_id else {}
    for path, value in values.items():
        if path.startswith("training.") and inputs.serving:
            continue
        same = path in known and known[path] == value and path not in _DEPENDENT
        if path in ("cluster.gpu", "cluster.num_nodes") or not same or (path in start and path != "model.id"):
            written[short.get(path, path)] = _text(path, value)
    return urlencode(written, safe=",/")


def _verb(inputs: Inputs) -> str:
    return "serve" if inputs.serving else "estimate"


def _start(values: Mapping[str, Any], inputs: Inputs) -> dict[str, Any]:
    """The model and the nodes: what is always written."""
    start: dict[str, Any] = {"model.id": inputs.model_id} if inputs.model_id else {}
    start |= {path: values[path] for path in ("cluster.gpu", "cluster.num_nodes")}
    if not inputs.model_id:
        start |= {path: v for path, v in values.items() if path.startswith("model.")}
    return start


def _text(path: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value)) if BY_PATH[path].kind == "integer" else f"{value:.0f}"
    return str(value)
