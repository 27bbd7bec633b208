"""The functions behind the published names: thin doors to the formulas, taking and giving plain Python
values.

Those of a whole question take `Question`; the others plain numbers. Errors are ValueError with what to write.
"""

from dataclasses import dataclass, field

import numpy as np

from app.calculator import activations as act
from app.calculator import balancing, flop, schedules, serving, states
from app.calculator.cluster import Cluster
from app.calculator.layout import SCHEDULE_NAMES, Layout, Layouts, Schedule
from app.calculator.layout_rules import WIDTH_RULES
from app.calculator.legality import Case, legal
from app.calculator.memory import first_stage_activation_bytes
from app.calculator.model import Model
from app.calculator.serving import Serving, ServingStage
from app.calculator.training import Training

_MAX_TENSOR = 4_096
_MAX_PIECES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything a verb's inputs say; `training` is a placeholder when serving, `serving` one when
    training.
    """

    model: Model
    cluster: Cluster
    training: Training
    layout: Layout
    serving: Serving = field(default_factory=Serving)

    @property
    def layouts(self) -> Layouts:
        """The layout as columns of one row."""
        return Layouts.of(self.layout)


def model_states_bytes(
    *,
    params: float,
    zero_stage: int,
    data_parallel: int,
    tensor_parallel: int,
    pipeline_parallel: int,
    param_bytes: float,
    grad_bytes: float,
    optimizer: str,
    master_weights: bool,
) -> float:
    """Ψ/(t·p) · (weights + gradients + optimizer bytes), each divided by d from its ZeRO stage on."""
    if optimizer not in states.MOMENT_BYTES:
        raise ValueError(f"optimizer {optimizer!r}: write one of {', '.join(states.MOMENT_BYTES)}")
    here = params / (tensor_parallel * pipeline_parallel)
    k = states.optimizer_bytes_per_parameter(optimizer, master_weights, param_bytes)
    return sum(
        width * here / (data_parallel if zero_stage >= stage else 1)
        for width, stage in ((param_bytes, 3), (grad_bytes, 2), (k, 1))
    )


def activation_bytes_per_layer(question: Question) -> float:
    """One layer (of the last kind), one micro-batch, one device."""
    kinds = act.layer_kinds(question.model, question.training)
    kept = act.layer_bytes(
        question.model, kinds.late, question.layouts, question.training, kinds.late_seq_length
    )
    return float(kept[0])


def activation_bytes_first_stage(question: Question) -> float:
    """Layers of stage 0 · micro-batches in flight."""
    return float(first_stage_activation_bytes(question.model, question.training, question.layouts)[0])


def logits_bytes(
    *,
    micro_batch_size: float,
    seq_length: float,
    vocab_size: float,
    tensor_parallel: float,
    bytes_per_logit: float,
) -> float:
    """bytes · b · s · V / t."""
    return bytes_per_logit * micro_batch_size * seq_length * vocab_size / tensor_parallel


def _schedule(name: str) -> Schedule:
    if name not in SCHEDULE_NAMES:
        raise ValueError(f"schedule {name!r}: write one of {', '.join(SCHEDULE_NAMES)}")
    return SCHEDULE_NAMES[name]


def bubble_fraction(
    *,
    schedule: str,
    pipeline_parallel: int,
    num_micro_batches: int,
    virtual_pipeline_stages: int,
    forward_s: float,
    backward_s: float,
    weight_grad_s: float,
) -> float:
    """Idle share of the step."""
    value = schedules.bubble_fraction(
        _schedule(schedule),
        pipeline_parallel,
        num_micro_batches,
        virtual_pipeline_stages,
        forward_s=forward_s,
        backward_s=backward_s,
        weight_grad_s=weight_grad_s,
    )
    return float(value)


def bubble_over_ideal(
    *,
    schedule: str,
    pipeline_parallel: int,
    num_micro_batches: int,
    virtual_pipeline_stages: int,
    forward_s: float,
    backward_s: float,
    weight_grad_s: float,
) -> float:
    """Idle time over ideal time."""
    value = schedules.bubble_over_ideal(
        _schedule(schedule),
        pipeline_parallel,
        num_micro_batches,
        virtual_pipeline_stages,
        forward_s=forward_s,
        backward_s=backward_s,
        weight_grad_s=weight_grad_s,
    )
    return float(value)


def in_flight(
    *, schedule: str, pipeline_parallel: int, num_micro_batches: int, virtual_pipeline_stages: int, stage: int
) -> float:
    """Micro-batches a stage holds, in whole stages' worth."""
    if not 0 <= stage < pipeline_parallel:
        raise ValueError(f"stage {stage:g}: write 0 to {pipeline_parallel - 1:g}")
    value = schedules.in_flight_micro_batches(
        _schedule(schedule), pipeline_parallel, num_micro_batches, virtual_pipeline_stages, stage
    )
    return float(value)


_WIRE = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}


def wire_bytes(*, op: str, group_size: float, bytes: float) -> float:
    """2(n−1)/n · S for an all-reduce, (n−1)/n · S for its halves and all-to-all, S for a send."""
    if op == "send":
        return float(bytes)
    if op not in _WIRE:
        raise ValueError(f"op {op!r}: write one of {', '.join(_WIRE)}, send")
    return _WIRE[op] * (group_size - 1) / group_size * bytes


def all_reduce_s(*, group_size: float, bytes: float, latency_s: float, bandwidth_bytes_per_s: float) -> float:
    """2(n−1)·α + 2(n−1)/n · S/B."""
    sent = wire_bytes(op="all_reduce", group_size=group_size, bytes=bytes)
    return 2 * (group_size - 1) * latency_s + sent / bandwidth_bytes_per_s


def tensor_parallel_bytes_per_layer(
    *, hidden_size: float, seq_length: float, micro_batch_size: float, tensor_parallel: float
) -> float:
    """Four all-reduces of 2bsh bytes."""
    message = 2 * micro_batch_size * seq_length * hidden_size
    return 4 * wire_bytes(op="all_reduce", group_size=tensor_parallel, bytes=message)


def pipeline_bytes_per_boundary(*, hidden_size: float, seq_length: float, micro_batch_size: float) -> float:
    """2bsh forward and 2bsh back."""
    return 2 * 2 * micro_batch_size * seq_length * hidden_size


def zero_bytes_per_step(
    *,
    params: float,
    zero_stage: int,
    data_parallel: int,
    param_bytes: float,
    grad_bytes: float,
    num_micro_batches: int,
) -> float:
    """Stage 0: all-reduce of gradients. 1, 2: reduce-scatter and gather of weights. 3: two gathers and a
    scatter for every micro-batch. (n−1)/n of the tensor each."""
    share = (data_parallel - 1) / data_parallel * params
    if zero_stage >= 3:
        return share * num_micro_batches * (2 * param_bytes + grad_bytes)
    return share * (grad_bytes + param_bytes if zero_stage else 2 * grad_bytes)


def model_flop_of(question: Question) -> float:
    """Model FLOP of one step."""
    return float(flop.model_flop(question.model, question.training))


def hardware_flop_of(question: Question) -> float:
    """Hardware FLOP of one step."""
    return float(flop.hardware_flop(question.model, question.training, question.layouts)[0])


def balanced_slowest_s(*, piece_s: tuple[float, ...], num_stages: int) -> float:
    """The slowest stage of the best split."""
    found = balancing.balance(piece_s, _stages_of(piece_s, num_stages))
    if found is None:
        raise ValueError("no split is possible")
    return float(found.slowest_s)


def even_slowest_s(*, piece_s: tuple[float, ...], num_stages: int) -> float:
    """The slowest stage of the split by count."""
    stages = _stages_of(piece_s, num_stages)
    return max(balancing.stage_sums(piece_s, balancing.even_split(len(piece_s), stages), stages))


def _stages_of(piece_s: tuple[float, ...], num_stages: int) -> int:
    if not 1 <= num_stages <= len(piece_s) <= _MAX_PIECES:
        raise ValueError(
            f"{len(piece_s)} pieces on {num_stages} stages: each stage needs one, {_MAX_PIECES} are the most"
        )
    return int(num_stages)


def legal_tensor_parallel(question: Question, *, limit: float, rule_of: str) -> list[int]:
    """Sizes that keep every rule on widths; torchtitan's also keeps KV heads whole."""
    if rule_of not in ("megatron", "torchtitan"):
        raise ValueError(f"rule_of {rule_of!r}: write megatron or torchtitan")
    sizes = np.arange(1.0, min(float(limit), _MAX_TENSOR) + 1.0)
    layouts = Layouts.of(*[question.layout] * len(sizes)).with_columns(tensor_parallel=sizes)
    case = Case(model=question.model, cluster=question.cluster, training=question.training, layouts=layouts)
    kept = legal(WIDTH_RULES, case)
    if rule_of == "torchtitan":
        kept &= sizes <= question.model.num_kv_heads
    return [int(size) for size in sizes[kept]]


def serving_stages(question: Question) -> list[ServingStage]:
    """Every stage of one replica."""
    p = question.layout.pipeline_parallel
    layers = question.layout.layers_per_stage or serving.split_layers(question.model.num_layers, p)
    return serving.stages(
        question.model, question.cluster, question.layout.tensor_parallel, layers, question.serving
    )


def kv_bytes_per_token(question: Question) -> float:
    """All layers, all devices of a replica together."""
    return serving.kv_bytes_per_token(question.model, question.serving.kv_format)


def kv_bytes_per_token_per_device(question: Question) -> float:
    """The stage with the most."""
    return max(stage.kv_bytes_per_token for stage in serving_stages(question))


def weights_bytes_per_device(question: Question) -> float:
    """The stage with the most."""
    return max(stage.weights_bytes for stage in serving_stages(question))


def kv_capacity_tokens(question: Question) -> int:
    """The weakest stage's."""
    return serving.kv_capacity_tokens(serving_stages(question))


def max_concurrency(question: Question) -> int:
    """Requests of max_model_len, over all replicas."""
    return serving.max_concurrency(
        kv_capacity_tokens(question), question.serving.max_model_len, question.layout.data_parallel
    )


def decode_bound_tokens_per_s(question: Question) -> float:
    """One request on an empty server."""
    return serving.decode_bound_tokens_per_s(question.model, question.cluster, serving_stages(question))
