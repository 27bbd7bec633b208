"""The `serve` verb: what one server or a group of them can hold, and its bounds."""

from dataclasses import replace
from typing import Any

from app.calculator import named_functions as named
from app.calculator import serving
from app.calculator.estimate import fit_of
from app.calculator.legality import Case
from app.calculator.named_functions import Question
from app.calculator.parameters import active_parameters, total_parameters
from app.calculator.serving import Serving, ServingStage
from app.calculator.serving_rules import SERVING_RULES
from app.calculator.violations import violations
from app.catalog import Catalog, load_catalog
from app.services.inputs import InputProblems, Inputs, parse_inputs

_NUMBERS = (
    "memory",
    "kv_bytes_per_token",
    "kv_capacity_tokens",
    "kv_capacity_tokens_all_replicas",
    "needed_tokens",
    "reserved_tokens",
    "max_concurrency",
    "max_concurrency_of_these_requests",
    "decode_bound",
    "decode_bound_tokens_per_s",
    "throughput_at_concurrency_tokens_per_s",
    "throughput_bound_tokens_per_s",
    "prefill_bound_s",
    "replicas",
    "alternatives",
)


def serve(raw: object, catalog: Catalog | None = None) -> dict[str, Any] | InputProblems:
    """The answer of the serve verb, or everything that is wrong with the inputs."""
    inputs = parse_inputs(raw, catalog or load_catalog(), "serve")
    return inputs if isinstance(inputs, InputProblems) else serve_inputs(inputs)


def question_of(inputs: Inputs) -> Question:
    """The inputs as the named functions take them."""
    return Question(
        model=inputs.model,
        cluster=inputs.cluster,
        training=inputs.training,
        layout=inputs.layout,
        serving=inputs.serving or Serving(),
    )


def serve_inputs(inputs: Inputs) -> dict[str, Any]:
    """The answer for well-formed inputs; an illegal layout gets its violations and no numbers."""
    question = question_of(inputs)
    broken = violations(_case(question), SERVING_RULES)
    answer: dict[str, Any] = {
        "legal": not broken,
        "violations": [violation.to_json() for violation in broken],
        "parameters": {
            "total": float(total_parameters(inputs.model)),
            "active": float(active_parameters(inputs.model)),
        },
        "devices_used": int(question.layouts.world_size[0]),
    }
    return answer | (dict.fromkeys(_NUMBERS) if broken else _numbers(question))


def _case(question: Question) -> Case:
    return Case(
        model=question.model,
        cluster=question.cluster,
        training=question.training,
        layouts=question.layouts,
        quant_group_size=question.serving.quant_group_size,
    )


def _numbers(question: Question) -> dict[str, Any]:
    held = named.serving_stages(question)
    how, layout = question.serving, question.layout
    capacity = serving.kv_capacity_tokens(held)
    request_tokens = how.prompt_len + how.output_len
    decode = serving.decode_bound_tokens_per_s(question.model, question.cluster, held)
    fitting = serving.max_concurrency(capacity, request_tokens, layout.data_parallel)
    return {
        "memory": _memory(question, held),
        "kv_bytes_per_token": named.kv_bytes_per_token(question),
        "kv_capacity_tokens": capacity,
        "kv_capacity_tokens_all_replicas": capacity * layout.data_parallel,
        "needed_tokens": how.concurrency * request_tokens,
        "reserved_tokens": how.concurrency * how.max_model_len,
        "max_concurrency": named.max_concurrency(question),
        "max_concurrency_of_these_requests": fitting,
        "decode_bound": decode,
        "decode_bound_tokens_per_s": decode,
        "throughput_at_concurrency_tokens_per_s": _throughput(question, held, min(how.concurrency, fitting)),
        "throughput_bound_tokens_per_s": _throughput(question, held, fitting),
        "prefill_bound_s": serving.prefill_bound_s(
            question.model, question.cluster, layout.tensor_parallel, how.prompt_len
        ),
        "replicas": layout.data_parallel,
        "alternatives": _alternatives(question),
    }


def _throughput(question: Question, held: list[ServingStage], requests: int) -> float:
    """Of all replicas: the requests spread over them, half of each answer written."""
    how, replicas = question.serving, question.layout.data_parallel
    busy = min(requests, replicas)
    if not busy:
        return 0.0
    return busy * serving.throughput_bound_tokens_per_s(
        question.model,
        question.cluster,
        held,
        tensor_parallel=question.layout.tensor_parallel,
        requests=requests // busy,
        cached_tokens=how.prompt_len + how.output_len / 2,
    )


def _alternatives(question: Question) -> list[dict[str, Any]]:
    """The same devices as wider servers or as more of them: every legal tensor width of these stages."""
    ranks = question.layout.tensor_parallel * question.layout.data_parallel
    found = []
    for width in range(1, ranks + 1):
        if ranks % width:
            continue
        layout = replace(question.layout, tensor_parallel=width, data_parallel=ranks // width)
        other = replace(question, layout=layout)
        if violations(_case(other), SERVING_RULES):
            continue
        held = named.serving_stages(other)
        capacity, how = serving.kv_capacity_tokens(held), other.serving
        fitting = serving.max_concurrency(capacity, how.prompt_len + how.output_len, layout.data_parallel)
        found.append(
            {
                "tensor_parallel": width,
                "replicas": layout.data_parallel,
                "fits": _memory(other, held)["fits"],
                "max_concurrency": named.max_concurrency(other),
                "decode_bound_tokens_per_s": named.decode_bound_tokens_per_s(other),
                "throughput_bound_tokens_per_s": _throughput(other, held, fitting),
            }
        )
    return found


def _memory(question: Question, held: list[ServingStage]) -> dict[str, Any]:
    """Stages of a replica, and whether the server would start: one request of full length must fit."""
    how, usable = question.serving, float(question.cluster.usable_bytes)
    limit = how.memory_utilization * usable
    needed = [
        stage.weights_bytes + serving.OVERHEAD_BYTES + how.max_model_len * stage.kv_bytes_per_token
        for stage in held
    ]
    peak = max(needed)
    return {
        "capacity_bytes": float(question.cluster.device.memory_bytes),
        "usable_bytes": usable,
        "limit_bytes": limit,
        "peak_bytes": peak,
        "headroom_bytes": limit - peak,
        "fits": fit_of(peak, limit),
        "stages": [
            {
                "stage": number,
                "num_layers": stage.num_layers,
                "weights_bytes": stage.weights_bytes,
                "overhead_bytes": serving.OVERHEAD_BYTES,
                "kv_bytes_per_token": stage.kv_bytes_per_token,
                "kv_budget_bytes": stage.kv_budget_bytes,
                "kv_capacity_tokens": stage.kv_capacity_tokens,
            }
            for number, stage in enumerate(held)
        ],
    }
