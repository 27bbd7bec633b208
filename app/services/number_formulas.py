"""Formulas of the published names, in the names of their arguments, and the numbers to put in."""

from collections.abc import Callable, Mapping
from typing import Any

from app.calculator.name import Name
from app.calculator.parameters import embedding, layer_of_decoder
from app.calculator.serving import KV_FORMAT_BYTES, split_layers, weight_bytes
from app.catalog import load_catalog
from app.curriculum.engine import Engine, EngineError
from app.services.input_values import number_of
from app.services.inputs import InputProblems, parse_inputs

Values = Mapping[str, float]
_BUBBLE = "(pipeline_parallel - 1) / (virtual_pipeline_stages * num_micro_batches"
_PLAIN = {
    "memory.logits_bytes": "bytes_per_logit * micro_batch_size * seq_length * vocab_size / tensor_parallel",
    "schedules.bubble_fraction": f"{_BUBBLE} + pipeline_parallel - 1)",
    "schedules.bubble_over_ideal": f"{_BUBBLE})",
    "collectives.all_reduce_s": (
        "2 * (group_size - 1) * latency_s + 2 * (group_size - 1) / group_size * bytes / bandwidth_bytes_per_s"
    ),
    "communication.tensor_parallel_bytes_per_layer": (
        "4 * 2 * (tensor_parallel - 1) / tensor_parallel * 2 * micro_batch_size * seq_length * hidden_size"
    ),
    "communication.pipeline_bytes_per_boundary": "2 * 2 * micro_batch_size * seq_length * hidden_size",
}
# Names whose working is a line of the verb's answer.
SAME_AS = {
    "compute.model_flop": "throughput.model_flop_per_step",
    "compute.hardware_flop": "throughput.hardware_flop_per_step",
}


def formula_of(name: Name, arguments: Mapping[str, Any], engine: Engine) -> tuple[str, Values] | None:
    """The formula of a name and its numbers; None where none is written down. Raises EngineError.

    A formula may hold for the usual case only: the caller compares what it gives with the engine's value.
    """
    if name.name in _PLAIN:
        return _PLAIN[name.name], plain_values(name, arguments)
    serving = _SERVING.get(name.name)
    return serving(arguments, engine) if serving else None


def plain_values(name: Name, arguments: Mapping[str, Any]) -> dict[str, float]:
    """The numbers that a plain function is given: those written, else its own."""
    values: dict[str, float] = {}
    for argument in name.arguments:
        number = number_of(arguments.get(argument.name, argument.default))
        if number is not None and not isinstance(number, bool):
            values[argument.name] = float(number)
    return values


def _kv_bytes(arguments: Mapping[str, Any], engine: Engine) -> tuple[str, Values]:
    asked = _inputs(arguments, engine, "num_layers", "num_kv_heads", "head_dim")
    each = KV_FORMAT_BYTES[str(engine.value("kv_format", arguments, "serve").value)]
    formula = "2 * num_layers * num_kv_heads * head_dim * bytes_per_number"
    return formula, {**asked, "bytes_per_number": each}


def _kv_bytes_on_device(arguments: Mapping[str, Any], engine: Engine) -> tuple[str, Values]:
    _, asked = _kv_bytes(arguments, engine)
    cut = _inputs(arguments, engine, "tensor_parallel", "pipeline_parallel")
    layers = max(split_layers(int(asked["num_layers"]), int(cut["pipeline_parallel"])))
    values = {**asked, "tensor_parallel": cut["tensor_parallel"], "layers_of_stage": float(layers)}
    heads = "max(1, num_kv_heads / tensor_parallel)"
    return f"2 * layers_of_stage * {heads} * head_dim * bytes_per_number", values


def _weights(arguments: Mapping[str, Any], engine: Engine) -> tuple[str, Values] | None:
    inputs = parse_inputs(arguments, load_catalog(), "serve")
    if isinstance(inputs, InputProblems) or inputs.serving is None:
        return None
    model, layout, serving = inputs.model, inputs.layout, inputs.serving
    layer, tables = layer_of_decoder(model), embedding(model)
    split = split_layers(model.num_layers, layout.pipeline_parallel)
    alone = 1 if model.tied_embeddings else 2
    ends = [alone if len(split) == 1 else (at in (0, len(split) - 1)) for at in range(len(split))]
    each = layer.sharded / layout.tensor_parallel + layer.replicated
    held = max(
        range(len(split)), key=lambda at: split[at] * each + ends[at] * tables / layout.tensor_parallel
    )
    values = {
        "layers": split[held],
        "cut": layer.sharded,
        "kv": layer.kv,
        "whole": layer.replicated,
        "tensor_parallel": layout.tensor_parallel,
        "num_kv_heads": model.num_kv_heads,
        "bytes_per_weight": weight_bytes(serving.weight_format, serving.quant_group_size),
        "tables": float(ends[held]),
        "table": tables,
    }
    of_layer = (
        "(cut / tensor_parallel + kv / min(tensor_parallel, num_kv_heads)) * bytes_per_weight + whole * 2"
    )
    return f"layers * ({of_layer}) + tables * table / tensor_parallel * 2", values


def _capacity(arguments: Mapping[str, Any], engine: Engine) -> tuple[str, Values] | None:
    answer = engine.answer("serve", arguments)
    stages: list[Mapping[str, Any]] = (answer["memory"] or {}).get("stages", [])
    held = [stage for stage in stages if stage["num_layers"]]
    if not held:
        return None
    weakest = min(held, key=lambda stage: int(stage["kv_capacity_tokens"]))
    values = {
        "limit_bytes": answer["memory"]["limit_bytes"],
        **{key: weakest[key] for key in ("weights_bytes", "overhead_bytes", "kv_bytes_per_token")},
    }
    return "floor((limit_bytes - weights_bytes - overhead_bytes) / kv_bytes_per_token)", values


def _concurrency(arguments: Mapping[str, Any], engine: Engine) -> tuple[str, Values]:
    values = _inputs(arguments, engine, "replicas", "kv_capacity_tokens", "max_model_len")
    return "replicas * floor(kv_capacity_tokens / max_model_len)", values


def _inputs(arguments: Mapping[str, Any], engine: Engine, *names: str) -> dict[str, float]:
    told = {name: engine.value(name, arguments, "serve").value for name in names}
    missing = [name for name, value in told.items() if not isinstance(value, int | float)]
    if missing:
        raise EngineError(f"this layout has no {', '.join(missing)}")
    return {name: float(value) for name, value in told.items()}


_SERVING: Mapping[str, Callable[[Mapping[str, Any], Engine], tuple[str, Values] | None]] = {
    "serving.kv_bytes_per_token": _kv_bytes,
    "serving.kv_bytes_per_token_per_device": _kv_bytes_on_device,
    "serving.weights_bytes_per_device": _weights,
    "serving.kv_capacity_tokens": _capacity,
    "serving.max_concurrency": _concurrency,
}
