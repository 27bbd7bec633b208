"""The working of the step's seconds, told for the slowest stage; `traffic_working` opens what is sent.

Every part is micro-batches times what the layers of that stage add, and every layer's share is opened once
more.
"""

from collections.abc import Mapping

from app.calculator import communication as comm
from app.calculator.compute import LayerSeconds, gemm_rates, layer_s
from app.calculator.estimate import Estimates
from app.calculator.explain import Line, line
from app.calculator.layer_cost import LayerCost
from app.calculator.layout import Schedule
from app.calculator.stages import vocabularies, weights
from app.calculator.step_time import TimeColumns
from app.calculator.step_working import LAYERS, Step, number_of, per_layer
from app.calculator.traffic_working import SEND_SOURCE, traffic_lines
from app.calculator.work import LayerKind

MODEL_SOURCE = "docs/accuracy.md, constants from /method"
SLOWEST = "layers of the slowest stage"
_LAYER_PARTS = {
    "recompute_s": "recompute_s",
    "tensor_parallel_s": "tensor_s",
    "context_parallel_s": "context_s",
    "expert_parallel_s": "expert_s",
}
_SOURCES = {
    "recompute_s": "Korthikanti et al. 2022, section 5: what the backward pass runs again",
    "tensor_parallel_s": "Shoeybi et al. 2019, section 3: the collectives a layer waits for",
    "context_parallel_s": "Liu et al. 2023, ring attention: what does not hide behind attention",
    "expert_parallel_s": "Lepikhin et al. 2020: dispatch and combine",
}


def time_working(estimates: Estimates) -> list[Line]:
    """Lines for estimates of one layout."""
    work, cost, found, time = estimates.work, estimates.cost, estimates.line, estimates.time
    step = Step(
        work=work,
        cost=cost,
        line=found,
        early=number_of(found.slowest.early),
        late=number_of(found.slowest.late),
        micro_batches=number_of(work.micro_batches),
    )
    lines = _layer_lines("late", work.late, cost.late, step)
    if cost.early is not cost.late:
        lines += _layer_lines("early", work.early, cost.early, step)
    return [
        *lines,
        *_part_lines(step, time),
        *_zero_bubble_lines(step, time),
        *_pipeline_lines(step, time),
        *traffic_lines(step, time),
    ]


def _seconds(key: str, formula: str, values: Mapping[str, float], value: float, source: str) -> Line:
    return line(key, formula, values, value, unit="s", source=source)


def _layer_lines(name: str, kind: LayerKind, cost: LayerCost, step: Step) -> list[Line]:
    """One layer and micro-batch: its own work, and its tensor-parallel collectives."""
    own: LayerSeconds = layer_s(step.work, kind)
    matrices, core = number_of(own.weight_grad_s), number_of(own.attention_forward_s)
    forward, backward = number_of(own.forward_s), number_of(own.backward_s)
    values = {
        "matrices": matrices,
        "attention": core,
        "elementwise": forward - matrices - core,
        "backward": backward,
        "forward": forward,
    }
    lines = [
        _seconds(
            f"time.{name}_layer_forward_s",
            "matrices + attention + elementwise",
            values,
            forward,
            "matrix products at the fitted share of peak, attention and memory-bound work apart",
        ),
        _seconds(
            f"time.{name}_layer_compute_s",
            "forward + backward",
            values,
            number_of(cost.compute_s),
            "backward: two products for each forward one, and the attention's own backward pass",
        ),
    ]
    return lines + _tensor_lines(name, kind, cost, step)


def _tensor_lines(name: str, kind: LayerKind, cost: LayerCost, step: Step) -> list[Line]:
    """Bytes of a layer's tensor-parallel collectives: as many messages as there are operations."""
    work = step.work
    if number_of(work.tensor) <= 1:
        return []
    split = number_of(work.sequence_parallel) > 0
    values = {
        "operations": number_of(cost.tensor.operations),
        "passes": comm.GATHERS if split else comm.ALL_REDUCE,
        "ranks": number_of(work.tensor),
        "micro_batch": number_of(work.micro_batch),
        "tokens": number_of(kind.seq_length),
        "context": number_of(work.context),
        "hidden": number_of(work.hidden_size),
    }
    formula = "operations * passes * (ranks - 1) / ranks * 2 * micro_batch * tokens / context * hidden"
    return [
        line(
            f"communication.tensor_parallel.{name}_layer_bytes",
            formula,
            values,
            number_of(cost.tensor.sent_bytes),
            unit="bytes",
            source="Narayanan et al. 2021, section 3.2; a pass is half an all-reduce",
        )
    ]


def _layers(step: Step, part: str) -> dict[str, float]:
    return per_layer(step, getattr(step.cost.early, part), getattr(step.cost.late, part))


def _part_lines(step: Step, time: TimeColumns) -> list[Line]:
    """The parts of the step that layers, ends and gradients add."""
    cost, stage = step.cost, step.line.slowest
    dense, expert = weights(stage, cost)
    held = number_of(dense) + number_of(expert)
    ends = {
        "embedding": number_of(stage.embedding) * sum(number_of(s) for s in cost.embedding_s),
        "head": number_of(stage.head) * sum(number_of(s) for s in cost.head_s),
        "weights": held,
        "accumulate": number_of(cost.accumulate_s_per_weight),
    }
    formula = (
        "micro_batches * (early_layers * early_layer + late_layers * late_layer"
        " + embedding + head + weights * accumulate)"
    )
    lines = [
        _seconds(
            "time.compute_s",
            formula,
            _layers(step, "compute_s") | ends,
            time.compute_s[0].item(),
            f"{SLOWEST}, its ends, and adding gradients to their sums",
        )
    ]
    for key, part in _LAYER_PARTS.items():
        value = getattr(time, key)[0].item()
        lines.append(_seconds(f"time.{key}", LAYERS, _layers(step, part), value, _SOURCES[key]))
    sends = {
        "micro_batches": step.micro_batches,
        "share": number_of(stage.sends),
        "sends": number_of(cost.sends.time_s),
    }
    lines.append(
        _seconds(
            "time.pipeline_p2p_s",
            "micro_batches * share * sends",
            sends,
            time.pipeline_p2p_s[0].item(),
            SEND_SOURCE,
        )
    )
    return [*lines, *_remaining_lines(step, time, held)]


def _remaining_lines(step: Step, time: TimeColumns, held: float) -> list[Line]:
    """Gradient traffic that is waited for, the optimizer, and everything that is not a device's work."""
    work = step.work
    optimizer_s = time.optimizer_s[0].item()
    _, rate = gemm_rates(work)
    optimizer = {
        "weights": held,
        "sharded_bytes": number_of(work.rates.optimizer_bytes),
        "ranks": number_of(work.shard_group) if number_of(work.zero_stage) >= 1 else 1.0,
        "whole_bytes": number_of(work.rates.unsharded_bytes),
        "bytes_per_s": number_of(rate),
    }
    floor = step.micro_batches * (
        step.early * number_of(step.cost.early.floor_s) + step.late * number_of(step.cost.late.floor_s)
    )
    other_s = time.other_s[0].item()
    fixed = floor + number_of(work.rates.step_fixed_s)
    return [
        _data_line(step, time),
        _seconds(
            "time.optimizer_s",
            "weights * (sharded_bytes / ranks + whole_bytes) / bytes_per_s",
            optimizer,
            optimizer_s,
            "memory traffic of the update, counted",
        ),
        _seconds(
            "time.other_s",
            "cpu_floor + fixed + stragglers",
            {
                "cpu_floor": floor,
                "fixed": number_of(work.rates.step_fixed_s),
                "stragglers": other_s - fixed,
            },
            other_s,
            f"{MODEL_SOURCE}: launch floor, fixed time, and waiting that grows with the nodes",
        ),
    ]


def _data_line(step: Step, time: TimeColumns) -> Line:
    """What sharded weights add to layers and vocabularies, and the gradients that no work hides."""
    rates, cost, slowest = step.work.rates, step.cost, step.line.slowest
    gradients, window = number_of(time.axes.sync.time_s), number_of(rates.data_parallel_window)
    values = _layers(step, "data_s") | {
        "tables": number_of(vocabularies(slowest, cost)),
        "table": number_of(cost.vocabulary_data_s[0]) + number_of(cost.vocabulary_data_s[1]),
        "gradients": gradients,
        "window": window * number_of(step.line.slowest_s),
        "overlap_cost": number_of(rates.overlap_cost),
    }
    beside = "max(0, gradients - window) + overlap_cost * min(gradients, window)"
    after = beside if number_of(step.work.overlap_data) > 0 else "gradients"
    return _seconds(
        "time.data_parallel_s",
        f"{LAYERS} + micro_batches * tables * table + {after}",
        values,
        time.data_parallel_s[0].item(),
        "sharded weights by layer; gradients after the last backward pass, less what hides behind it",
    )


def _zero_bubble_lines(step: Step, time: TimeColumns) -> list[Line]:
    """ZB-H1's own bubble, of equal stages of the later kind of layer; other schedules need no seconds."""
    if number_of(step.work.schedule) != Schedule.ZB_H1:
        return []
    layer = step.cost.late
    values = {
        "stages": number_of(step.work.pipeline),
        "micro_batches": step.micro_batches,
        "forward": number_of(layer.forward_s),
        "backward": number_of(layer.backward_s) - number_of(layer.weight_grad_s),
        "weight_grad": number_of(layer.weight_grad_s),
    }
    filled = "(min(stages, micro_batches) - 1) * min(forward, backward, weight_grad)"
    formula = (
        f"((stages - 1) * (forward + backward) - {filled})"
        " / (micro_batches * (forward + backward + weight_grad))"
    )
    return [
        line(
            "time.bubble_over_ideal",
            formula,
            values,
            time.bubble_over_ideal[0].item(),
            unit="fraction",
            source="Qi et al. 2023, Table 2: backward without the weight gradients, which fill the holes",
        )
    ]


def _pipeline_lines(step: Step, time: TimeColumns) -> list[Line]:
    """The bubble and what unequal stages cost."""
    m, slowest, stages = step.micro_batches, number_of(step.line.slowest_s), number_of(step.work.pipeline)
    values = {
        "stages": stages,
        "makespan": number_of(step.line.makespan_s),
        "micro_batches": m,
        "slowest": slowest,
        "mean": number_of(step.line.all_s) / stages,
        "bubble": time.bubble_s[0].item(),
    }
    source = "closed form of the schedule; Narayanan et al. 2021, section 2.2"
    return [
        _seconds(
            "time.bubble_s",
            "max(0, makespan - micro_batches * slowest)" if stages > 1 else "stages - 1",
            values,
            time.bubble_s[0].item(),
            source,
        ),
        _seconds(
            "time.imbalance_s_per_step",
            "max(0, micro_batches * (slowest - mean))" if stages > 1 else "stages - 1",
            values,
            time.imbalance_s_per_step[0].item(),
            "the slowest stage against the mean of all",
        ),
        line(
            "time.mean_idle_fraction",
            (
                "max(0, 1 - micro_batches * mean / (micro_batches * slowest + bubble))"
                if stages > 1
                else "stages - 1"
            ),
            values,
            time.mean_idle_fraction[0].item(),
            unit="fraction",
            source="mean over the devices of the pipeline",
        ),
    ]
