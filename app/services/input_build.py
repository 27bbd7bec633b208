"""Typed values → model, cluster, training and layout: catalog entries, overrides, and what is left out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.calculator.cluster import NETWORKS, NO_BF16, Cluster
from app.calculator.fields import BY_PATH, FIELDS, SERVING_FIELDS
from app.calculator.layout import RECOMPUTE_NAMES, SCHEDULE_NAMES, Layout, Recompute
from app.calculator.model import Model
from app.calculator.serving import Serving
from app.calculator.training import Training
from app.catalog import Catalog, GpuEntry
from app.services.input_values import InputProblem, did_you_mean

Values = dict[str, Any]
Problems = list[InputProblem]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the inputs of a verb say."""

    model: Model
    cluster: Cluster
    training: Training
    layout: Layout
    model_id: str
    serving: Serving | None


def build(values: Values, problems: Problems, catalog: Catalog, verb: str = "estimate") -> Parts | None:
    """All parts, or None where something is missing or contradicts itself (said in `problems`)."""
    sections = {
        name: _section(values, name) for name in ("model", "cluster", "layout", "training", "serving")
    }
    model = build_model(sections["model"], problems, catalog)
    cluster = build_cluster(sections["cluster"], problems, catalog)
    if model is None or cluster is None or problems:
        return None
    if verb == "serve":
        sections["layout"].setdefault("data_parallel", 1)
    layout = _layout(sections["layout"], cluster)
    return Parts(
        model=model,
        cluster=cluster,
        training=_training(sections["training"], model, cluster, layout),
        layout=layout,
        model_id=sections["model"].get("id", ""),
        serving=_serving(sections["serving"], model, layout) if verb == "serve" else None,
    )


def _section(values: Values, name: str) -> Values:
    prefix = f"{name}."
    return {path.removeprefix(prefix): value for path, value in values.items() if path.startswith(prefix)}


def _with_defaults(section: str, given: Values) -> Values:
    defaults = {f.key: f.default for f in FIELDS if f.section == section and f.default is not None}
    return defaults | given


def build_model(given: Values, problems: Problems, catalog: Catalog) -> Model | None:
    """A catalog model, one with overrides, or a whole shape."""
    given, before = dict(given), list(problems)
    key = given.pop("id", None)
    start: Mapping[str, Any] = {}
    if key is not None:
        entry = catalog.models.get(key)
        if entry is None:
            hint = did_you_mean(key, list(catalog.models))
            message = f"there is no model {key[:40]!r} in the catalog.{hint} /api/v1/catalog lists them."
            problems.append(InputProblem(field="model", message=message))
            return None
        start = entry.values
    vision = {k.partition(".")[2]: given.pop(k) for k in list(given) if k.startswith("vision.")}
    shape = {**start, **given}
    required = [f for f in FIELDS if f.section == "model" and f.required and f.key not in shape]
    unread = any(problem.field.startswith("model.") for problem in before)
    if required and not any(f.path.removeprefix("model.") in shape for f in FIELDS if f.required):
        if unread:
            return None
        problems.append(InputProblem(field="model", message="missing. Write a catalog id or a shape."))
        return None
    told = {problem.field for problem in before}
    problems.extend(
        InputProblem(field=f.path, message=f"missing: {f.help}.") for f in required if f.path not in told
    )
    if vision and len(vision) < 3:
        message = "a vision tower needs num_layers, hidden_size and num_attention_heads."
        problems.append(InputProblem(field="model.vision", message=message))
    if required or unread:
        return None
    if vision:
        shape["vision"] = vision
    if given:
        shape["name"] = given.get("name") or (f"{start['name']}, changed" if start else "custom")
    problems.extend(_contradictions(shape))
    return Model.of(shape) if problems == before else None


def _contradictions(shape: Mapping[str, Any]) -> Problems:
    """Shapes that no transformer can have."""
    found: Problems = []
    heads, hidden, kv = shape["num_attention_heads"], shape["hidden_size"], shape.get("num_kv_heads")

    def say(key: str, message: str) -> None:
        found.append(InputProblem(field=f"model.{key}", message=message))

    mla = shape.get("attention") == "mla"
    if not mla and "head_dim" not in shape and hidden % heads:
        say(
            "num_attention_heads",
            f"{hidden} wide divided by {heads} heads leaves {hidden % heads}. Give head_dim or other heads.",
        )
    if kv is not None and heads % kv:
        say(
            "num_kv_heads",
            f"{heads} query heads divided by {kv} KV heads leaves {heads % kv}. Write a divisor of {heads}.",
        )
    if mla and not all(
        shape.get(k) for k in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    ):
        say(
            "attention",
            "latent attention needs kv_lora_rank, qk_rope_head_dim, qk_nope_head_dim and v_head_dim.",
        )
    experts, routed = shape.get("num_experts", 0), shape.get("experts_per_token", 0)
    if experts and not 1 <= routed <= experts:
        say("experts_per_token", f"{routed} of {experts} experts. Write a number from 1 to {experts}.")
    if not experts and (routed or shape.get("num_shared_experts", 0)):
        say("num_experts", "0, but experts are used. Write how many experts there are.")
    if shape.get("num_dense_layers", 0) > shape["num_layers"]:
        say("num_dense_layers", f"more than the {shape['num_layers']} layers there are.")
    return found


def build_cluster(given: Values, problems: Problems, catalog: Catalog) -> Cluster | None:
    """Nodes of a catalog device, with what was overridden."""
    values = _with_defaults("cluster", given)
    entry = catalog.gpus.get(values["gpu"])
    if entry is None:
        hint = did_you_mean(values["gpu"], list(catalog.gpus))
        message = (
            f"there is no device {values['gpu'][:40]!r} in the catalog.{hint} /api/v1/catalog lists them."
        )
        problems.append(InputProblem(field="cluster.gpu", message=message))
        return None
    per_node = values.get("gpus_per_node", entry.gpus_per_node)
    num_gpus = values.get("num_gpus")
    num_nodes = values["num_nodes"]
    if num_gpus is not None and "num_nodes" not in given:
        num_nodes = -(-num_gpus // per_node)
    if num_gpus is None:
        num_gpus = num_nodes * per_node
    if num_gpus > num_nodes * per_node:
        most = num_nodes * per_node
        message = (
            f"{num_gpus} devices on {num_nodes} nodes of {per_node}. Write at most {most}, or more nodes."
        )
        problems.append(InputProblem(field="cluster.num_gpus", message=message))
    if num_gpus > (limit := BY_PATH["cluster.num_gpus"].maximum or 0):
        message = f"{num_gpus:,} devices in all. At most {limit:,.0f} can be calculated."
        problems.append(InputProblem(field="cluster.num_gpus", message=message))
    return _cluster(values, entry, num_nodes, per_node, num_gpus)


def _cluster(values: Values, entry: GpuEntry, num_nodes: int, per_node: int, num_gpus: int) -> Cluster:
    device, intra, inter = entry.device, entry.intra_node.link, entry.inter_node.link
    cluster = Cluster(
        device=replace(
            device,
            memory_bytes=values.get("memory_bytes", device.memory_bytes),
            peak_flops_bf16=values.get("peak_flops.bf16", device.peak_flops_bf16),
            peak_flops_fp8=values.get("peak_flops.fp8", device.peak_flops_fp8),
            memory_bandwidth_bytes_per_s=values.get(
                "memory_bandwidth_bytes_per_s", device.memory_bandwidth_bytes_per_s
            ),
        ),
        num_nodes=num_nodes,
        gpus_per_node=per_node,
        num_gpus=num_gpus,
        intra_node=replace(
            intra,
            bandwidth_bytes_per_s=values.get("intra_node_bandwidth_bytes_per_s", intra.bandwidth_bytes_per_s),
            latency_s=values.get("intra_node_latency_s", intra.latency_s),
        ),
        inter_node=replace(
            inter,
            bandwidth_bytes_per_s=_inter_node_bandwidth(values, entry, per_node),
            latency_s=values.get("inter_node_latency_s", inter.latency_s),
        ),
        nics_per_node=values.get("nics_per_node", entry.nics_per_node),
        price_per_gpu_hour=values["price_per_gpu_hour"],
    )
    kind = values.get("inter_node_network")
    if kind is None or kind == cluster.inter_node_network:
        return cluster
    return replace(cluster, inter_node=replace(cluster.inter_node, name=NETWORKS[kind]))


def _inter_node_bandwidth(values: Values, entry: GpuEntry, per_node: int) -> float:
    """Bytes/s per device between nodes: as stated, else the catalog's, of which another number of adapters
    gives each device another share.
    """
    usual = entry.inter_node.link.bandwidth_bytes_per_s
    if "nics_per_node" in values:
        usual *= values["nics_per_node"] / entry.nics_per_node * (entry.gpus_per_node / per_node)
    return float(values.get("inter_node_bandwidth_bytes_per_s", usual))


def _layout(given: Values, cluster: Cluster) -> Layout:
    values = _with_defaults("layout", given)
    if values["zero_group"] == "global":
        values["zero_group"] = 0
    chunks = values["virtual_pipeline_stages"]
    values["schedule"] = SCHEDULE_NAMES[values.get("schedule") or ("interleaved" if chunks > 1 else "1f1b")]
    values["recompute"] = RECOMPUTE_NAMES[values["recompute"]] if "recompute" in values else Recompute.NONE
    if "data_parallel" not in values:
        inner = values["tensor_parallel"] * values["context_parallel"] * values["pipeline_parallel"]
        values["data_parallel"] = max(1, cluster.num_gpus // inner)
    return Layout(**values)


def _training(given: Values, model: Model, cluster: Cluster, layout: Layout) -> Training:
    values = _with_defaults("training", given)
    values.setdefault("seq_length", model.seq_length)
    values.setdefault("compute_dtype", "fp16" if cluster.device.generation in NO_BF16 else "bf16")
    values.setdefault(
        "global_batch_size", 4 * layout.pipeline_parallel * layout.micro_batch_size * layout.data_parallel
    )
    return Training(**values)


def _serving(given: Values, model: Model, layout: Layout) -> Serving:
    values = {f.key: f.default for f in SERVING_FIELDS if f.default is not None} | given
    values.setdefault("max_model_len", model.seq_length)
    return Serving(**values, expert_parallel=layout.expert_parallel)
