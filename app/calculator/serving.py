"""Memory and bounds of inference: weights, key-value cache, concurrency, decode rate.

Letters: t tensor_parallel, p pipeline_parallel. A cached token holds 2 · layers · KV heads · head_dim numbers
(latent attention: kv_lora_rank + qk_rope_head_dim a layer, on every rank of a tensor group).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.calculator import parameters as par
from app.calculator.cluster import Cluster
from app.calculator.model import Model
from app.calculator.units import GIB

OVERHEAD_BYTES = 2.0 * GIB  # context, communication buffers, peak activations of one prefill chunk, graphs
FORMAT_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5}
KV_FORMAT_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0}
UNQUANTIZED_BYTES = 2.0  # embedding, head and normalization stay in 16 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a model is served."""

    weight_format: str = "bf16"  # bf16 | fp16 | fp8 | int8 | int4
    quant_group_size: int = 0  # weights that share one scale; 0: one scale for a whole row
    kv_format: str = "bf16"  # bf16 | fp16 | fp8 | int8
    max_model_len: int = 8192
    memory_utilization: float = 0.9
    prompt_len: int = 1024
    output_len: int = 256
    concurrency: int = 1
    expert_parallel: int = 1  # of the layout: devices that hold whole experts between them


def weight_bytes(weight_format: str, quant_group_size: int = 0) -> float:
    """Bytes per quantized weight, with 16-bit scales (and 4-bit zero points for int4) per group.

    Source: counted from the formats; a group of 128 four-bit weights takes 64 + 2 + 0.5 bytes.
    """
    each = FORMAT_BYTES[weight_format]
    if not quant_group_size or each >= 2:
        return each
    return each + (2.0 + (0.5 if weight_format == "int4" else 0.0)) / quant_group_size


def split_layers(num_layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each stage: equal, and what is left over one by one from the last but one backwards.

    Source: vLLM's default partition of a pipeline; the last stage, which has the head, gets none of the rest.
    """
    split = [num_layers // stages] * stages
    for i in range(num_layers % stages):
        split[-(i + 2) % stages] += 1
    return tuple(split)


def _layer_weights_bytes(
    model: Model, layer: par.LayerParameters, t: int, serving: Serving
) -> tuple[float, float]:
    """(all but routed experts, routed experts): cut over the tensor group, or whole over `expert_parallel`
    devices.
    """
    per_weight = weight_bytes(serving.weight_format, serving.quant_group_size)
    expert_ranks = serving.expert_parallel if serving.expert_parallel > 1 else t
    quantized = layer.sharded / t + layer.kv / min(t, model.num_kv_heads)
    dense = quantized * per_weight + layer.replicated * UNQUANTIZED_BYTES
    return dense, layer.experts / expert_ranks * per_weight


def stage_weights_bytes(
    model: Model, tensor_parallel: int, layers: Sequence[int], serving: Serving
) -> list[tuple[float, float, float]]:
    """Bytes of weights on one device of each stage: (what every token reads, routed experts, what only a
    prompt reads: encoder and vision tower).

    `layers` has the layers of each stage. The embedding is on the first stage, with an encoder where there is
    one; the head on the last (a copy of it where tied and apart).
    """
    t = tensor_parallel
    dense, _ = _layer_weights_bytes(model, par.layer_of_decoder(model), t, serving)
    moe, experts = (
        _layer_weights_bytes(model, par.moe_layer(model), t, serving) if model.is_moe else (dense, 0.0)
    )
    encoder, _ = _layer_weights_bytes(model, par.dense_layer(model), t, serving)
    early = model.num_layers - model.num_moe_layers if model.is_moe else model.num_layers
    result, before = [], 0
    for stage, count in enumerate(layers):
        dense_here = max(0, min(count, early - before))
        tables = (stage == 0) + (stage == len(layers) - 1)
        if len(layers) == 1 and model.tied_embeddings:
            tables = 1
        ends = tables * par.embedding(model) / t * UNQUANTIZED_BYTES
        prompt = 0.0
        if stage == 0:
            ends += par.positions(model) * UNQUANTIZED_BYTES
            prompt = par.vision_parameters(model) * UNQUANTIZED_BYTES + model.encoder_layers * encoder
        here = dense_here * dense + (count - dense_here) * moe + ends
        result.append((here, (count - dense_here) * experts, prompt))
        before += count
    return result


def kv_bytes_per_token(model: Model, kv_format: str = "bf16", num_layers: int | None = None) -> float:
    """Bytes of cache for one token over `num_layers` layers (all of them if not said): 2·L·k·d·bytes."""
    layers = model.num_layers if num_layers is None else num_layers
    if model.attention == "mla":
        return layers * (model.kv_lora_rank + model.qk_rope_head_dim) * KV_FORMAT_BYTES[kv_format]
    return 2.0 * layers * model.num_kv_heads * model.head_dim * KV_FORMAT_BYTES[kv_format]


def kv_bytes_per_token_per_device(
    model: Model, tensor_parallel: int, num_layers: int, kv_format: str = "bf16"
) -> float:
    """The same on one device of a stage with `num_layers`: KV heads divide over t, at least one on each."""
    whole = kv_bytes_per_token(model, kv_format, num_layers)
    if model.attention == "mla":
        return whole
    return whole * max(1.0, model.num_kv_heads / tensor_parallel) / model.num_kv_heads


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingStage:
    """One pipeline stage of one replica, per device."""

    num_layers: int
    weights_bytes: float
    kv_bytes_per_token: float
    kv_budget_bytes: float
    expert_bytes: float = 0.0  # of the weights: routed experts
    prompt_bytes: float = 0.0  # of the weights: what only a prompt reads

    @property
    def kv_capacity_tokens(self) -> int:
        """Tokens whose keys and values fit; none where the weights leave no room."""
        if self.kv_bytes_per_token <= 0:
            return 0
        return int(max(0.0, self.kv_budget_bytes) // self.kv_bytes_per_token)


def stages(
    model: Model, cluster: Cluster, tensor_parallel: int, layers: Sequence[int], serving: Serving
) -> list[ServingStage]:
    """Every stage: weights, cache per token, and what utilization · memory − weights − overhead leaves for
    it.
    """
    allowed = serving.memory_utilization * cluster.usable_bytes - OVERHEAD_BYTES
    weights = stage_weights_bytes(model, tensor_parallel, layers, serving)
    return [
        ServingStage(
            num_layers=count,
            weights_bytes=dense + experts + prompt,
            kv_bytes_per_token=kv_bytes_per_token_per_device(
                model, tensor_parallel, count, serving.kv_format
            ),
            kv_budget_bytes=allowed - (dense + experts + prompt),
            expert_bytes=experts,
            prompt_bytes=prompt,
        )
        for count, (dense, experts, prompt) in zip(layers, weights, strict=True)
    ]


def kv_capacity_tokens(held: Sequence[ServingStage]) -> int:
    """Tokens that one replica can cache: the weakest stage decides (a stage without layers caches
    nothing).
    """
    return min((stage.kv_capacity_tokens for stage in held if stage.num_layers), default=0)


def max_concurrency(capacity_tokens: int, tokens_per_request: int, replicas: int = 1) -> int:
    """Whole requests of this length that fit at once, over all replicas."""
    return replicas * (capacity_tokens // max(1, tokens_per_request))


def _read_bytes(model: Model, stage: ServingStage, requests: float) -> float:
    """Weights that one token of each of `requests` requests reads: the experts that any of them visits.

    Of E experts, k a token, a share 1 − (1 − k/E)^n is visited. Assumes: every expert is as likely.
    """
    read = stage.weights_bytes - stage.prompt_bytes
    if not model.is_moe:
        return read
    idle: float = (1.0 - model.experts_per_token / model.num_experts) ** requests
    return read - idle * stage.expert_bytes


def decode_bound_tokens_per_s(model: Model, cluster: Cluster, held: Sequence[ServingStage]) -> float:
    """Most tokens per second for one request: every token reads its weights once, stage after stage.

    bandwidth / (weights read on one device, summed over the stages). Assumes: no communication, an empty
    cache.
    """
    read = sum(_read_bytes(model, stage, 1.0) for stage in held)
    return cluster.device.memory_bandwidth_bytes_per_s / read


def throughput_bound_tokens_per_s(
    model: Model,
    cluster: Cluster,
    held: Sequence[ServingStage],
    *,
    tensor_parallel: int,
    requests: int,
    cached_tokens: float,
) -> float:
    """Most tokens per second of one replica that runs `requests` requests, each with `cached_tokens` cached.

    The requests go round the p stages in p groups. A stage's pass reads its weights and its group's cache, or
    computes 2 FLOP a weight and token, whichever takes longer. Assumes: no communication, layers alike.
    """
    if requests < 1:
        return 0.0
    group = max(1.0, requests / len(held))
    flop = 2.0 * par.active_parameters(model) / (tensor_parallel * len(held)) * group
    compute_s = flop / cluster.device.peak_flops_bf16
    passes = []
    for stage in held:
        moved = _read_bytes(model, stage, group) + group * cached_tokens * stage.kv_bytes_per_token
        passes.append(max(compute_s, moved / cluster.device.memory_bandwidth_bytes_per_s))
    return min(requests / sum(passes), group / max(passes))


def prefill_bound_s(
    model: Model, cluster: Cluster, tensor_parallel: int, prompt_tokens: int, peak_fraction: float = 1.0
) -> float:
    """Least seconds to read a prompt: 2 FLOP for every weight a token meets, at the peak of t devices."""
    flop = 2.0 * par.active_parameters(model) * prompt_tokens
    return flop / (tensor_parallel * cluster.device.peak_flops_bf16 * peak_fraction)
