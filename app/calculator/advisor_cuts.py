"""The advisor's cuts: the smallest width, then the smallest depth, with which a model fits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.calculator.advisor_options import (
    LARGEST_MICRO_BATCH,
    SEVERAL,
    Option,
    Situation,
    best,
    judged,
    layout_of,
    nearest,
    sharding_stages,
    with_bookkeeping,
    worked_out,
)
from app.calculator.enumeration import divisors

MOST_CHUNKS = 6  # numbers of chunks per device that are tried
DEEPER_SHOWN = 1  # depths that are worked out beyond the one that fits
SAME_FRACTION = 0.05  # a larger batch must buy at least this much to be worth it


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One value of a degree: the best that it comes to, or None where it is not legal."""

    value: int
    option: Option | None
    fits: bool
    batch_allows: bool  # whether the copies that are left divide a batch in the range

    @property
    def good(self) -> bool:
        """Whether it can be had."""
        return self.fits and self.batch_allows


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The width and the depth, and what else was tried."""

    tensor_parallel: int
    pipeline_parallel: int
    widths: tuple[Tried, ...]
    depths: tuple[Tried, ...]


def tried(situation: Situation, tensor: int, stages: int, value: int) -> Tried:
    """A width and a depth, judged for memory."""
    options = judged(situation, tensor, stages, sharding_stages(stages))
    option = nearest(situation, options)
    unit = situation.micro_batch() * max(1, situation.copies(tensor, stages))
    return Tried(
        value=value,
        option=option,
        fits=option is not None and situation.fits(option),
        batch_allows=situation.batches.batch(unit, unit) is not None,
    )


def widths(situation: Situation) -> tuple[Tried, ...]:
    """Tensor widths inside a node and the one that was decided, on the stages that were decided, else one."""
    base = situation.base
    stages = base.pipeline_parallel if "pipeline_parallel" in situation.fixed else 1
    each = {*divisors(situation.cluster.num_gpus, situation.cluster.gpus_per_node)}
    if "tensor_parallel" in situation.fixed:
        each.add(base.tensor_parallel)
    return tuple(tried(situation, width, stages, width) for width in sorted(each))


def smallest_width(found: tuple[Tried, ...], most: int) -> int:
    """The smallest width that can be had; where none can, the widest legal one inside a node of `most`."""
    inside = [one for one in found if one.value <= most]
    fitting = [one.value for one in inside if one.good]
    legal = [one.value for one in inside if one.option is not None]
    return min(fitting) if fitting else max(legal, default=1)


def depths(situation: Situation, tensor: int) -> tuple[Tried, ...]:
    """Depths up to the first that can be had, the next deeper one, and the one that was decided."""
    inner = tensor * situation.base.context_parallel
    each = divisors(max(1, situation.cluster.num_gpus // inner), situation.model.total_layers)
    found: list[Tried] = []
    beyond = 0
    for stages in each:
        if stages == 1 and situation.chunks_decided:
            continue
        one = tried(situation, tensor, stages, stages)
        if one.option is None:
            continue
        beyond += any(before.good for before in found)
        found.append(one)
        if beyond == DEEPER_SHOWN:
            break
    if "pipeline_parallel" in situation.fixed:
        stages = situation.base.pipeline_parallel
        if stages not in [one.value for one in found]:
            found.append(tried(situation, tensor, stages, stages))
    return tuple(sorted(found, key=lambda one: one.value))


def smallest_depth(found: tuple[Tried, ...]) -> int:
    """The smallest depth that can be had; where none can, the smallest that fits, else the deepest."""
    good = [one.value for one in found if one.good] or [one.value for one in found if one.fits]
    return min(good) if good else max((one.value for one in found if one.option is not None), default=1)


def cut(situation: Situation) -> Cut:
    """Width first, then depth; what was decided by somebody else stands."""
    fixed, base = situation.fixed, situation.base
    found = widths(situation)
    width = smallest_width(found, situation.cluster.gpus_per_node)
    width = base.tensor_parallel if "tensor_parallel" in fixed else width
    deep = depths(situation, width)
    stages = base.pipeline_parallel if "pipeline_parallel" in fixed else smallest_depth(deep)
    return Cut(tensor_parallel=width, pipeline_parallel=stages, widths=found, depths=deep)


def micro_batch_sizes(situation: Situation, replicas: int) -> tuple[int, ...]:
    """Powers of two; with one batch that is given, what divides each copy's share of it."""
    if "micro_batch_size" in situation.fixed:
        return (situation.base.micro_batch_size,)
    if not situation.batches.fixed:
        return tuple(2**power for power in range(LARGEST_MICRO_BATCH.bit_length()))
    share, left_over = divmod(situation.batches.least, replicas)
    return () if left_over or not share else divisors(share, LARGEST_MICRO_BATCH)


def with_micro_batches(
    situation: Situation, tensor: int, stages: int, sharding: Sequence[int]
) -> list[Option]:
    """Every micro-batch and number of chunks that the batch allows, with every bookkeeping."""
    replicas = situation.copies(tensor, stages)
    if not replicas:
        return []
    found: list[Option] = []
    for size in micro_batch_sizes(situation, replicas):
        unit = size * replicas
        for chunks in ((1,), _chunks(situation, stages))[situation.chunks_decided :]:
            whole = unit * stages if chunks != (1,) else unit
            batch = situation.batches.batch(whole, SEVERAL * stages * unit)
            if batch is None or not chunks:
                continue
            layouts = [
                layout
                for number in chunks
                for layout in with_bookkeeping(
                    situation, layout_of(situation, tensor, stages, size, number), sharding
                )
            ]
            for split in dict.fromkeys(layout.layers_per_stage for layout in layouts):
                block = [layout for layout in layouts if layout.layers_per_stage == split]
                found += worked_out(situation, block, batch)
    return found


def _chunks(situation: Situation, stages: int) -> tuple[int, ...]:
    """Chunks per device that leave every chunk the same number of layers."""
    if "virtual_pipeline_stages" in situation.fixed:
        fixed = situation.base.virtual_pipeline_stages
        return (fixed,) if fixed > 1 else ()
    if stages == 1 or situation.model.total_layers % stages or "schedule" in situation.fixed:
        return ()
    return divisors(situation.model.total_layers // stages)[1 : 1 + MOST_CHUNKS]


def several(option: Option) -> bool:
    """Whether there are several micro-batches for each stage, without chunks."""
    layout = option.layout
    enough = option.num_micro_batches >= SEVERAL * layout.pipeline_parallel
    return layout.virtual_pipeline_stages == 1 and (enough or layout.pipeline_parallel == 1)


def chosen_micro_batch(situation: Situation, options: list[Option]) -> Option | None:
    """The fastest that fits with several micro-batches a stage; where there is none, the fastest that fits.

    Where options differ in their batch, the smallest batch that is within 5 % of the fastest per token.
    """
    fitting = [option for option in options if situation.fits(option)]
    pool = [option for option in fitting if several(option)] or fitting
    fastest = best(situation, pool)
    if fastest is None:
        return None
    enough = fastest.tokens_per_s * (1 - SAME_FRACTION)
    smallest = min(option.global_batch_size for option in pool if option.tokens_per_s >= enough)
    return best(situation, [option for option in pool if option.global_batch_size == smallest])


def other_cuts(situation: Situation, most: int = 6) -> list[Option]:
    """Widths and depths that the batch allows and that fit, the fewest cuts first: what gives.

    Widths beyond a node only where none inside it will do.
    """
    node = situation.cluster.gpus_per_node
    every = divisors(situation.cluster.num_gpus, situation.model.num_attention_heads)
    inside = _cuts_of(situation, [width for width in every if width <= node], most)
    return inside or _cuts_of(situation, [width for width in every if width > node], most)


def _cuts_of(situation: Situation, widths_tried: Sequence[int], most: int) -> list[Option]:
    open_ = replace(situation, fixed=situation.fixed - {"tensor_parallel", "pipeline_parallel"})
    gpus, inner = situation.cluster.num_gpus, situation.base.context_parallel
    pairs = [
        (width, stages)
        for width in widths_tried
        for stages in divisors(max(1, gpus // (width * inner)), situation.model.total_layers)
    ]
    found: list[Option] = []
    for width, stages in sorted(pairs, key=lambda pair: (pair[0] * pair[1], pair[1])):
        replicas = open_.copies(width, stages)
        if not replicas or replicas > situation.batches.most:
            continue
        option = chosen_micro_batch(open_, with_micro_batches(open_, width, stages, sharding_stages(stages)))
        if option is not None:
            found.append(option)
        if len(found) == most:
            break
    return found
