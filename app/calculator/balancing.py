"""Pieces of a model, in their order, to pipeline stages: the slowest stage as fast as it can be.

A split is the number of pieces of each chunk; chunk c of stage i is the (c·p + i)-th, so that with one
chunk per device the split is the number of pieces of each stage.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb

import numpy as np
import numpy.typing as npt

from app.calculator.balancing_search import improve

Array = npt.NDArray[np.float64]
Split = tuple[int, ...]
EXHAUSTIVE = 4_000  # splits that are simply all tried when devices hold several chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """A split with its bound. `exact`: no split is faster; else `slowest_s` is the best one found."""

    split: Split
    stage_s: tuple[float, ...]
    stage_memory_bytes: tuple[float, ...]
    lower_bound_s: float
    exact: bool

    @property
    def slowest_s(self) -> float:
        """Seconds of the slowest stage."""
        return max(self.stage_s)

    @property
    def gap_fraction(self) -> float:
        """How far above the lower bound, at most, the best split could lie below this one."""
        return max(0.0, self.slowest_s / self.lower_bound_s - 1.0) if self.lower_bound_s else 0.0


def balance(
    piece_s: Sequence[float],
    num_stages: int,
    *,
    virtual_pipeline_stages: int = 1,
    piece_memory_bytes: Sequence[float] | None = None,
    memory_limit_bytes: Sequence[float] | None = None,
) -> Balance | None:
    """The split into contiguous chunks, none empty, with the fastest slowest stage; None if none fits.

    `memory_limit_bytes` is per stage. One chunk per device: exact, by dynamic programming over the last
    cut, O(p·n²); among the fastest splits the one with the smallest sum of squares. Several chunks: all
    splits if there are few, else cuts of the exact split into p·v parts, moved while that helps.

    Source: the linear partition problem, e.g. Skiena, The Algorithm Design Manual, section 10.7.
    """
    p, v = num_stages, virtual_pipeline_stages
    times = np.asarray(piece_s, dtype=np.float64)
    memory = (
        np.zeros_like(times) if piece_memory_bytes is None else np.asarray(piece_memory_bytes, np.float64)
    )
    limits = np.full(p, np.inf) if memory_limit_bytes is None else np.asarray(memory_limit_bytes, np.float64)
    if len(times) < p * v:
        return None
    exact = v == 1 or p == 1 or comb(len(times) - 1, p * v - 1) <= EXHAUSTIVE
    if v == 1:
        split = _fastest(times, memory, limits)
    elif exact:
        split = _try_all(times, memory, limits, v)
    else:
        split = _several_chunks(times, memory, limits, v)
    if split is None:
        return None
    return measure(piece_s, split, p, piece_memory_bytes=piece_memory_bytes, exact=exact)


def measure(
    piece_s: Sequence[float],
    split: Split,
    num_stages: int,
    *,
    piece_memory_bytes: Sequence[float] | None = None,
    exact: bool = False,
) -> Balance:
    """Any split, measured."""
    memory = piece_memory_bytes if piece_memory_bytes is not None else [0.0] * len(piece_s)
    return Balance(
        split=split,
        stage_s=stage_sums(piece_s, split, num_stages),
        stage_memory_bytes=stage_sums(memory, split, num_stages),
        lower_bound_s=lower_bound_s(piece_s, num_stages),
        exact=exact,
    )


def lower_bound_s(piece_s: Sequence[float], num_stages: int) -> float:
    """No split is faster than an equal share of all the work, nor than the longest piece."""
    return max(sum(piece_s) / num_stages, *piece_s)


def stage_sums(values: Sequence[float], split: Split, num_stages: int) -> tuple[float, ...]:
    """The sum over the pieces of each stage, chunk after chunk."""
    sums, start = [0.0] * num_stages, 0
    for index, size in enumerate(split):
        sums[index % num_stages] += sum(values[start : start + size])
        start += size
    return tuple(sums)


def even_split(num_pieces: int, num_chunks: int) -> Split:
    """Equal counts, the first chunks one more where they do not divide."""
    size, more = divmod(num_pieces, num_chunks)
    return tuple(size + (index < more) for index in range(num_chunks))


def smallest_memory_bytes(piece_memory_bytes: Sequence[float], num_stages: int) -> float:
    """The memory of the fullest stage in the split that makes it smallest: below this limit nothing fits."""
    least = balance(piece_memory_bytes, num_stages)
    return least.slowest_s if least else float("inf")


def _interval_sums(values: Array) -> Array:
    """Row i, column j: the sum of pieces i to j − 1, added from the left as `sum` does; inf for none."""
    n = len(values)
    sums = np.full((n + 1, n + 1), np.inf)
    for start in range(n):
        sums[start, start + 1 :] = np.cumsum(values[start:])
    return sums


def _fastest(times: Array, memory: Array, limits: Array) -> Split | None:
    """Exact for one chunk per stage: first the fastest slowest stage, then the most even split with it."""
    sums, held = _interval_sums(times), _interval_sums(memory)
    costs = {limit: np.where(held <= limit, sums, np.inf) for limit in set(limits.tolist())}
    slowest = _cuts([costs[limit] for limit in limits.tolist()], np.maximum)
    if slowest is None:
        return None
    edges = (0, *np.cumsum(slowest).tolist())
    slowest_s = max(sums[start, end] for start, end in pairwise(edges))
    squares = {limit: np.where(cost <= slowest_s, cost * cost, np.inf) for limit, cost in costs.items()}
    return _cuts([squares[limit] for limit in limits.tolist()], np.add) or slowest


def _cuts(costs: Sequence[Array], join: np.ufunc) -> Split | None:
    """The cheapest way through: costs[k][i, j] is what stage k costs with pieces i to j − 1."""
    n = costs[0].shape[0] - 1
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    came_from = []
    for cost in costs:
        through = join(best[:, None], cost)
        source = np.argmin(through, axis=0)
        came_from.append(source)
        best = through[source, np.arange(n + 1)]
    if not np.isfinite(best[n]):
        return None
    sizes, end = [], n
    for sources in reversed(came_from):
        start = int(sources[end])
        sizes.append(end - start)
        end = start
    return tuple(reversed(sizes))


def _try_all(times: Array, memory: Array, limits: Array, v: int) -> Split | None:
    p, n = len(limits), len(times)
    best: tuple[float, float, float, Split] | None = None
    for cuts in combinations(range(1, n), p * v - 1):
        edges = (0, *cuts, n)
        split = tuple(end - start for start, end in pairwise(edges))
        held = stage_sums(memory.tolist(), split, p)
        if any(h > limit for h, limit in zip(held, limits, strict=True)):
            continue
        stage_s, chunk_s = (stage_sums(times.tolist(), split, parts) for parts in (p, len(split)))
        found = (max(stage_s), sum(x * x for x in stage_s), sum(x * x for x in chunk_s), split)
        best = found if best is None or found < best else best
    return best[3] if best else None


def _several_chunks(times: Array, memory: Array, limits: Array, v: int) -> Split | None:
    """The best of local searches from two starts: chunks of equal time, and of equal count."""
    p, n = len(limits), len(times)
    starts = [_fastest(times, np.zeros(n), np.full(p * v, np.inf)), even_split(n, p * v)]
    found = [improve(start, times, memory, limits) for start in starts if start is not None]
    fitting = [(over, slowest, split) for over, slowest, split in found if over <= 0.0]
    return min(fitting)[2] if fitting else None
