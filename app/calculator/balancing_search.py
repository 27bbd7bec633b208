"""Move cuts between chunks while the slowest stage gets faster: for devices that hold several chunks."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
MOST_ROUNDS = 400


def improve(
    split: tuple[int, ...], times: Array, memory: Array, limits: Array
) -> tuple[float, float, tuple[int, ...]]:
    """From a split to one that no single shift betters: memory over the limits, slowest stage, split.

    A shift moves a run of neighbouring cuts by one piece: a piece leaves one chunk, another enters one
    further on, and those between pass one through.
    """
    cuts = np.concatenate([[0], np.cumsum(split)]).astype(np.int64)
    work = np.concatenate([[0.0], np.cumsum(times)])
    held = np.concatenate([[0.0], np.cumsum(memory)])
    shifts = _shifts(len(split))
    now = _costs(cuts[None, :], work, held, limits)[0]
    for _ in range(MOST_ROUNDS):
        moved = cuts[None, :] + shifts
        moved = moved[(np.diff(moved, axis=1) > 0).all(axis=1)]
        if not len(moved):
            break
        costs = _costs(moved, work, held, limits)
        at = np.lexsort(costs.T[::-1])[0]
        if tuple(costs[at]) >= tuple(now):
            break
        cuts, now = moved[at], costs[at]
    return float(now[0]), float(now[1]), tuple(int(size) for size in np.diff(cuts))


def _shifts(chunks: int) -> npt.NDArray[np.int64]:
    """All runs of inner cuts, up and down; of long pipelines only runs of a few lengths."""
    lengths = range(1, chunks) if chunks <= 33 else [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]
    rows = []
    for length in lengths:
        for first in range(1, chunks - length + 1):
            row = np.zeros(chunks + 1, dtype=np.int64)
            row[first : first + length] = 1
            rows += [row, -row]
    return np.array(rows, dtype=np.int64).reshape(-1, chunks + 1)


def _costs(cuts: npt.NDArray[np.int64], work: Array, held: Array, limits: Array) -> Array:
    """Per row of cuts: memory above the limits, slowest stage, squares of stages and of chunks.

    Rounded, so that jitter of the last bit moves no cut.
    """
    p = len(limits)
    rows = len(cuts)
    chunk_s = np.diff(work[cuts], axis=1)
    stage_s = chunk_s.reshape(rows, -1, p).sum(axis=1)
    stage_bytes = np.diff(held[cuts], axis=1).reshape(rows, -1, p).sum(axis=1)
    over = np.maximum(0.0, stage_bytes - limits).sum(axis=1)
    scale = work[-1] or 1.0
    slowest = np.round(stage_s.max(axis=1) / scale, 12) * scale
    of_stages, of_chunks = (np.round(((x / scale) ** 2).sum(axis=1), 12) for x in (stage_s, chunk_s))
    return np.stack([over, slowest, of_stages, of_chunks], axis=1)
