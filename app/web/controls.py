"""The inputs as a person meets them: a label, the right control, a value, and what is wrong with it.

Made from the field table of the calculator, for the calculator's form and for widgets in lessons.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.calculator.cluster import NETWORKS
from app.calculator.fields import BY_BARE_KEY, BY_PATH, Field
from app.catalog import Catalog

# Path → label, and the letter of its axis.
LABELS = {
    "model.id": "Preset",
    "model.num_layers": "Layers",
    "model.hidden_size": "Hidden width",
    "model.num_attention_heads": "Attention heads",
    "model.num_kv_heads": "KV heads",
    "model.head_dim": "Head width",
    "model.ffn_hidden_size": "MLP width",
    "model.vocab_size": "Vocabulary",
    "model.gated_mlp": "Gated MLP",
    "model.tied_embeddings": "Tied embeddings",
    "model.position_embeddings": "Positions",
    "model.normalization": "Normalization",
    "model.linear_bias": "Biases",
    "model.sliding_window": "Window",
    "model.num_experts": "Experts",
    "model.experts_per_token": "Experts per token",
    "model.moe_ffn_hidden_size": "Expert width",
    "model.num_shared_experts": "Shared experts",
    "model.num_dense_layers": "Dense layers first",
    "model.encoder_layers": "Encoder layers",
    "cluster.gpu": "GPU",
    "cluster.num_nodes": "Nodes",
    "cluster.gpus_per_node": "GPUs per node",
    "cluster.num_gpus": "GPUs in all",
    "cluster.memory_bytes": "Memory of a GPU",
    "cluster.intra_node_bandwidth_bytes_per_s": "In a node",
    "cluster.inter_node_bandwidth_bytes_per_s": "Between nodes",
    "cluster.intra_node_latency_s": "Latency in a node",
    "cluster.inter_node_latency_s": "Latency between nodes",
    "cluster.inter_node_network": "Network",
    "cluster.nics_per_node": "Adapters per node",
    "layout.tensor_parallel": "Tensor",
    "layout.pipeline_parallel": "Pipeline",
    "layout.data_parallel": "Data",
    "layout.context_parallel": "Context",
    "layout.expert_parallel": "Expert",
    "layout.virtual_pipeline_stages": "Chunks per GPU",
    "layout.schedule": "Schedule",
    "layout.micro_batch_size": "Micro-batch",
    "layout.sequence_parallel": "Sequence parallelism",
    "layout.zero_stage": "ZeRO stage",
    "layout.zero_group": "ZeRO group",
    "layout.recompute": "Recompute",
    "layout.layers_per_stage": "Layers of each stage",
    "layout.rank_order": "Rank order",
    "layout.overlap_data_parallel": "Overlap gradients",
    "layout.overlap_tensor_parallel": "Overlap tensor traffic",
    "training.global_batch_size": "Global batch",
    "training.seq_length": "Sequence",
    "training.compute_dtype": "Number type",
    "training.param_bytes": "Bytes per weight",
    "training.grad_bytes": "Bytes per gradient",
    "training.optimizer": "Optimizer",
    "training.master_weights": "32-bit master weights",
    "training.flash_attention": "Flash attention",
    "training.kernels": "Kernels",
    "training.vocab_pad_multiple": "Vocabulary padded to",
    "training.total_tokens": "Tokens in all",
}
AXES = {
    "layout.tensor_parallel": "T",
    "layout.pipeline_parallel": "P",
    "layout.data_parallel": "D",
    "layout.context_parallel": "C",
    "layout.expert_parallel": "E",
}
STEPPERS = {
    *AXES,
    "layout.micro_batch_size",
    "layout.virtual_pipeline_stages",
    "training.global_batch_size",
    "cluster.num_nodes",
}
CHOICE_LABELS = {
    "1f1b": "1F1B",
    "gpipe": "GPipe",
    "zb-h1": "ZB-H1",
    "adam": "Adam, 32-bit states",
    "adam-bf16": "Adam, bf16 states",
    "adam-8bit": "Adam, 8-bit states",
    "sgd": "SGD",
    "mha": "multi-head",
    "mla": "latent",
    "layernorm": "LayerNorm",
    "rmsnorm": "RMSNorm",
    "rope": "rotary",
    "alibi": "ALiBi",
    "transformer-engine": "Transformer Engine",
    **NETWORKS,
}
# Query name → path and factor, where people type another unit than the API's.
SCALED = {
    "intra_node_gb_per_s": ("cluster.intra_node_bandwidth_bytes_per_s", 1e9, "GB/s"),
    "inter_node_gb_per_s": ("cluster.inter_node_bandwidth_bytes_per_s", 1e9, "GB/s"),
    "memory_gib": ("cluster.memory_bytes", float(2**30), "GiB"),
}
_SCALED_BY_PATH = {path: (name, factor, unit) for name, (path, factor, unit) in SCALED.items()}
HALVE, DOUBLE = "halve", "double"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One input on a page. `kind`: stepper, number, text, select, segments or checkbox."""

    path: str
    name: str
    id: str
    label: str
    kind: str
    value: str
    axis: str = ""
    unit: str = ""
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    locked: bool = False
    at_minimum: bool = False
    at_maximum: bool = False
    problem: str = ""
    fixes: tuple[tuple[str, str], ...] = ()  # address, what it sets

    @property
    def checked(self) -> bool:
        """Whether a checkbox is ticked."""
        return self.value == "true"

    @property
    def axis_class(self) -> str:
        """The class of the axis letter."""
        return self.axis.lower()


def query_name(path: str) -> str:
    """The name of a field in a query string: its bare key where that is unique."""
    if path == "model.id":
        return "model"
    field = BY_PATH[path]
    return field.key if field.bare else path


def path_of(name: str) -> str | None:
    """The field that a name of a query string or a lesson stands for."""
    if name in ("model", "model.id"):
        return "model.id"
    if name in SCALED:
        return SCALED[name][0]
    if name in BY_PATH:
        return name
    field = BY_BARE_KEY.get(name)
    return field.path if field else None


def control(
    path: str,
    values: Mapping[str, Any],
    catalog: Catalog,
    *,
    prefix: str = "in",
    locked: bool = False,
    typed: str | None = None,
    problem: str = "",
    fixes: Iterable[tuple[str, str]] = (),
) -> Control:
    """The control of a field with its value in effect, or as typed where that could not be read."""
    name, factor, unit = _SCALED_BY_PATH.get(path, (query_name(path), 1.0, ""))
    field = BY_PATH.get(path)
    value = values.get(path)
    kind, choices = _kind(path, field, catalog)
    unit = unit or (field.unit if field and field.unit in ("tokens", "s") else "")
    return Control(
        path=path,
        name=name,
        id=f"{prefix}-{name}".replace(".", "-"),
        label=LABELS.get(path, path.rpartition(".")[2].replace("_", " ")),
        kind=kind,
        value=typed if typed is not None else written(value, factor),
        axis=AXES.get(path, ""),
        unit=unit,
        help=field.help if field else "a model of the catalog",
        choices=choices,
        locked=locked,
        at_minimum=_is_number(value)
        and float(value or 0) <= (field.minimum if field and field.minimum else 1),
        at_maximum=_is_number(value)
        and float(value or 0) * 2 > (field.maximum if field and field.maximum else 1e18),
        problem=problem,
        fixes=tuple(fixes),
    )


def written(value: Any, factor: float = 1.0) -> str:
    """A value as a form or a query string holds it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(part) for part in value)
    if isinstance(value, (int, float)):
        scaled = value / factor
        if float(scaled).is_integer() and abs(scaled) < 1e15:
            return str(int(scaled))
        return f"{scaled:.10g}" if factor != 1.0 else repr(float(scaled))
    return str(value)


def stepped(value: Any, action: str, field: Field) -> int:
    """Half or double of a whole number, within the field's bounds."""
    low, high = int(field.minimum or 1), int(field.maximum or 10**9)
    number = int(value)
    return max(low, number // 2) if action == HALVE else min(high, number * 2)


def _kind(path: str, field: Field | None, catalog: Catalog) -> tuple[str, tuple[tuple[str, str], ...]]:
    if path == "model.id":
        models = tuple((key, entry.model.name) for key, entry in catalog.models.items())
        return "select", (*models, ("", "custom, as written below"))
    if path == "cluster.gpu":
        return "select", tuple(
            (key, entry.device.name.removeprefix("NVIDIA ")) for key, entry in catalog.gpus.items()
        )
    if path == "layout.zero_stage":
        return "segments", tuple((str(stage), str(stage)) for stage in range(4))
    if path in STEPPERS:
        return "stepper", ()
    kind = field.kind if field else "choice"
    choices = field.choices if field and kind == "choice" else ()
    return _KINDS[kind], tuple((choice, CHOICE_LABELS.get(choice, choice)) for choice in choices)


_KINDS = {
    "integer": "number", "number": "number", "boolean": "checkbox", "choice": "select",
    "integers": "text", "axes": "text", "group": "text",
}  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
