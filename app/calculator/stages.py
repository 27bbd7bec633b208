"""Pipeline stages: which layers and ends each holds, how long it takes, and how long all of them take."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.calculator import communication as comm
from app.calculator.collectives import Number
from app.calculator.compute import embedding_s, gemm_rates, head_s
from app.calculator.layer_cost import LayerCost, layer_cost
from app.calculator.layout import Column
from app.calculator.schedules_makespan import StageTimes, makespan_of_stages_s, makespan_s
from app.calculator.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What one pipeline stage holds: numbers, so that a mean stage is one too."""

    early: Number  # layers of each kind
    late: Number
    embedding: Number  # 1 where it holds the embedding
    head: Number
    sends: Number  # share of a middle stage's sends: an end has no neighbour on one side; alone 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeconds:
    """One micro-batch on one stage."""

    forward_s: Number
    backward_s: Number  # without weight gradients
    weight_grad_s: Number

    @property
    def total_s(self) -> Number:
        """Forward and backward together."""
        return self.forward_s + (self.backward_s + self.weight_grad_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Everything that stages are made of, per micro-batch."""

    early: LayerCost
    late: LayerCost
    embedding_s: tuple[Number, Number]  # forward, backward
    head_s: tuple[Number, Number]
    sends: comm.Traffic
    accumulate_s_per_weight: Number
    vocabulary_weights: Number
    tied: Number
    vocabulary_data: comm.Traffic  # gathers and scatters of one matrix of the vocabulary, fully sharded
    vocabulary_data_s: tuple[Number, Number]  # what they add to a forward and a backward pass


def costs(work: Work) -> Costs:
    """Price every kind of layer, the ends and the sends of a step."""
    late = layer_cost(work, work.late)
    _, bytes_per_s = gemm_rates(work)
    head, vocabulary = head_s(work), work.vocab_size * work.hidden_size / work.tensor
    gather, scatter = comm.fsdp_layer(work, vocabulary, 0.0)
    kappa = work.rates.overlap_cost
    accumulates = np.where((work.zero_stage < 2) & (work.micro_batches > 1), 1.0, 0.0)
    return Costs(
        early=late if work.early is work.late else layer_cost(work, work.early),
        late=late,
        embedding_s=embedding_s(work),
        head_s=head,
        sends=comm.pipeline_micro_batch(work),
        # Adding a gradient to its sum: read it, read the sum, write the sum.
        accumulate_s_per_weight=accumulates * (2 + 2 * work.grad_bytes) / bytes_per_s,
        vocabulary_weights=vocabulary,
        tied=work.tied_embeddings,
        vocabulary_data=comm.plus(gather, scatter),
        vocabulary_data_s=(
            comm.exposed_beside(head[0], gather.time_s, kappa),
            comm.exposed_beside(head[1], scatter.time_s, kappa),
        ),
    )


def vocabularies(stage: Stage, cost: Costs) -> Number:
    """Matrices of the vocabulary's size on a stage: tied ones are one where both ends are."""
    both = stage.embedding + stage.head
    return np.where(cost.tied > 0, np.minimum(both, 1.0), both)


def weights(stage: Stage, cost: Costs) -> tuple[Number, Number]:
    """(dense, expert) weights that one device of a stage holds."""
    dense = (
        stage.early * cost.early.dense_weights
        + stage.late * cost.late.dense_weights
        + vocabularies(stage, cost) * cost.vocabulary_weights
    )
    return dense, stage.early * cost.early.expert_weights + stage.late * cost.late.expert_weights


def stage_seconds(stage: Stage, cost: Costs) -> StageSeconds:
    """Seconds of one micro-batch on a stage: forward, backward, and the weight gradients among it."""
    dense, expert = weights(stage, cost)
    tables = vocabularies(stage, cost)
    forward = (
        stage.early * cost.early.forward_s
        + stage.late * cost.late.forward_s
        + stage.embedding * cost.embedding_s[0]
        + stage.head * cost.head_s[0]
        + tables * cost.vocabulary_data_s[0]
        + 0.5 * stage.sends * cost.sends.time_s
    )
    backward = (
        stage.early * cost.early.backward_s
        + stage.late * cost.late.backward_s
        + stage.embedding * cost.embedding_s[1]
        + stage.head * cost.head_s[1]
        + tables * cost.vocabulary_data_s[1]
        + 0.5 * stage.sends * cost.sends.time_s
        + (dense + expert) * cost.accumulate_s_per_weight
    )
    late_grad = stage.early * cost.early.weight_grad_s + stage.late * cost.late.weight_grad_s
    return StageSeconds(forward_s=forward, backward_s=backward - late_grad, weight_grad_s=late_grad)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """All stages of a step at once."""

    slowest: Stage
    slowest_index: Number
    slowest_s: Number  # one micro-batch, forward and backward
    all_s: Number  # one micro-batch summed over the stages
    makespan_s: Column


def candidates(work: Work) -> tuple[Stage, Stage, Stage, Stage]:
    """The first stage, the first and last one between the ends, and the last stage.

    The early kind comes first, so a middle stage's time is monotone in its place and its extremes are here.
    Chunks go round the stages: each stage of an interleaved pipeline holds layers from every part.
    """
    alone = np.where(work.pipeline > 1, 0.0, 1.0)
    # Of 2v sends a micro-batch an end stage makes 2v − 1: its outermost chunk has no neighbour.
    end = np.where(work.pipeline > 1, 1.0 - 0.5 / work.chunks, 0.0)
    between = np.where(work.pipeline > 2, 1.0, 0.0)
    before_last = np.where(work.pipeline > 1, work.num_layers - work.layers_last, 0.0)

    def stage(count: Number, before: Number, sends: Number, embedding: Number, head: Number) -> Stage:
        chunk = count / work.chunks
        early: Number = 0.0
        for number in range(most_chunks):
            started = before / work.chunks + number * chunk * work.pipeline
            mine = np.maximum(0.0, np.minimum(chunk, work.early_layers - started))
            early = early + np.where(number < work.chunks, mine, 0.0)
        late = count - early + head * work.num_mtp_layers
        return Stage(early=early, late=late, embedding=embedding, head=head, sends=sends)

    # With one kind of layer nothing is early, whatever the chunks.
    most_chunks = int(np.max(work.chunks)) if np.any(work.early_layers > 0) else 1
    held = work.layers_middle * between
    no, yes = 0.0 * alone, 0.0 * alone + 1.0
    return (
        stage(work.layers_first, 0.0, end, yes, alone),
        stage(held, work.middle_before, between, no, no),
        stage(held, work.last_middle_before, between, no, no),
        stage(work.layers_last, before_last, end, alone, yes),
    )


def _mean_middle(work: Work, first: Stage, last: Stage) -> Stage:
    """The stage that the ones between the ends are on average."""
    count = np.maximum(1.0, work.pipeline - 2)
    early = (work.early_layers - first.early - last.early) / count
    rest = work.num_layers + work.num_mtp_layers - first.early - first.late - last.early - last.late
    between = np.where(work.pipeline > 2, 1.0, 0.0)
    nothing = 0.0 * between
    return Stage(
        early=between * early,
        late=between * (rest / count - early),
        embedding=nothing,
        head=nothing,
        sends=between,
    )


def _pick(condition: Any, one: Stage, other: Stage) -> Stage:
    names = ("early", "late", "embedding", "head", "sends")
    return Stage(**{name: np.where(condition, getattr(one, name), getattr(other, name)) for name in names})


def _times(seconds: StageSeconds) -> StageTimes:
    return StageTimes(
        forward_s=seconds.forward_s, backward_s=seconds.backward_s, weight_grad_s=seconds.weight_grad_s
    )


def pipeline(work: Work, cost: Costs) -> Pipeline:
    """The slowest stage and the makespan of all micro-batches.

    The closed form takes the stages between the ends as alike. Where they differ (two kinds of layers) and
    one of them is slowest, the makespan is m·slowest + (sum of the others)/v instead. Of a stated split
    every stage is priced.
    """
    if len(work.stated_layers) > 1:
        return _stated_pipeline(work, cost)
    stages = candidates(work)
    first, last = stages[0], stages[3]
    middle = _mean_middle(work, first, last)
    ends = (stage_seconds(first, cost), stage_seconds(middle, cost), stage_seconds(last, cost))
    inside = [stage_seconds(stage, cost).total_s for stage in stages[1:3]]
    totals = (ends[0].total_s, inside[0], inside[1], ends[2].total_s)
    slowest, slow_s = first, totals[0]
    index = 0.0 * work.pipeline
    places = (work.middle_index, work.last_middle_index, work.pipeline - 1.0)
    for place, stage, seconds in zip(places, stages[1:], totals[1:], strict=True):
        longer = seconds > slow_s
        slowest = _pick(longer, stage, slowest)
        slow_s = np.where(longer, seconds, slow_s)
        index = np.where(longer, place, index)
    mean_s = ends[1].total_s
    between = np.maximum(0.0, work.pipeline - 2)
    all_s = np.where(work.pipeline > 1, totals[0], 0.0) + between * mean_s + totals[3]
    alike = makespan_s(
        work.schedule,
        work.pipeline,
        work.micro_batches,
        work.chunks,
        first=_times(ends[0]),
        middle=_times(ends[1]),
        last=_times(ends[2]),
    )
    uneven = slow_s > 1.000001 * np.maximum(np.maximum(totals[0], totals[3]), mean_s)
    apart = work.micro_batches * slow_s + (all_s - slow_s) / work.chunks
    return Pipeline(
        slowest=slowest,
        slowest_index=index,
        slowest_s=slow_s,
        all_s=all_s,
        makespan_s=np.where(uneven, np.maximum(alike, apart), alike),
    )


def stated_stages(work: Work) -> list[Stage]:
    """Every stage of a stated split."""
    last = len(work.stated_layers) - 1
    end = 1.0 - 0.5 / work.chunks
    return [
        Stage(
            early=early,
            late=late + (work.num_mtp_layers if place == last else 0.0),
            embedding=1.0 if place == 0 else 0.0,
            head=1.0 if place == last else 0.0,
            sends=end if place in (0, last) else 1.0,
        )
        for place, (early, late) in enumerate(work.stated_layers)
    ]


def _stated_pipeline(work: Work, cost: Costs) -> Pipeline:
    stages = stated_stages(work)
    seconds = [stage_seconds(stage, cost) for stage in stages]
    slowest, slow_s, all_s = stages[0], seconds[0].total_s, seconds[0].total_s
    index = 0.0 * work.pipeline
    for place, (stage, one) in enumerate(zip(stages[1:], seconds[1:], strict=True), start=1):
        longer = one.total_s > slow_s
        slowest = _pick(longer, stage, slowest)
        slow_s = np.where(longer, one.total_s, slow_s)
        index = np.where(longer, float(place), index)
        all_s = all_s + one.total_s
    times = [_times(one) for one in seconds]
    return Pipeline(
        slowest=slowest,
        slowest_index=index,
        slowest_s=slow_s,
        all_s=all_s,
        makespan_s=makespan_of_stages_s(work.schedule, work.micro_batches, work.chunks, times),
    )
