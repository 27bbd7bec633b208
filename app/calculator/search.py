"""Search: every legal layout of a space worked out by `evaluate`, filtered, ranked.

`Search.steps` does a block at a time, so that a caller can show progress, stop, or let others work.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from app.calculator.cluster import Cluster
from app.calculator.constants import Constants
from app.calculator.enumeration import Grid, Space, grids
from app.calculator.estimate import Estimates, evaluate
from app.calculator.layout import Column
from app.calculator.layout_rules import RULES
from app.calculator.legality import Case, Mask, legal
from app.calculator.model import Model
from app.calculator.pareto import Places, above_front, front
from app.calculator.search_columns import COLUMNS
from app.calculator.search_rows import Row, Rows, smallest
from app.calculator.training import Training

Objective = Literal["step_s", "tokens_per_s", "headroom_bytes", "cost"]
OBJECTIVES: tuple[Objective, ...] = ("step_s", "tokens_per_s", "headroom_bytes", "cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is searched. `trainings` differ in the global batch; `limits`: a number's name → (least, most)."""

    model: Model
    cluster: Cluster
    trainings: tuple[Training, ...]
    spaces: tuple[Space, ...]
    objective: Objective = "step_s"
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    top: int = 50
    must_fit: bool = True


class Search:
    """A search that is under way: how far it is, and the best so far."""

    def __init__(self, question: Question, constants: Constants) -> None:
        self.question = question
        self._constants = constants
        self.enumerated = self.legal = self.fitting = 0
        self._seen = 0
        self._best = self._by_memory = self._by_batch = Rows()

    def total(self) -> int:
        """Layouts that there are to look at."""
        return sum(grid.count for _, grid in self._grids())

    def _grids(self) -> Iterator[tuple[Training, Grid]]:
        asked = self.question
        for space in asked.spaces:
            for training in asked.trainings:
                for grid in grids(asked.model, asked.cluster, training, space):
                    yield training, grid

    def steps(self) -> Iterator[int]:
        """Work out one block after another; yields how many layouts have been looked at."""
        for training, grid in self._grids():
            self._block(training, grid)
            yield self.enumerated

    def run(self) -> "Search":
        """All of it."""
        for _ in self.steps():
            pass
        return self

    @property
    def best(self) -> tuple[Row, ...]:
        """The best layouts, the best first."""
        return self._best.rows

    @property
    def by_memory(self) -> tuple[Row, ...]:
        """Layouts that no other beats in both throughput and memory, by rising memory."""
        return self._by_memory.rows

    @property
    def by_batch(self) -> tuple[Row, ...]:
        """The fastest layout of each global batch that a smaller batch does not beat, by rising batch."""
        return self._by_batch.rows

    def _block(self, training: Training, grid: Grid) -> None:
        asked, layouts = self.question, grid.layouts
        case = Case(model=asked.model, cluster=asked.cluster, training=training, layouts=layouts)
        holds = legal(RULES, case) & grid.useful
        first = self._seen
        self._seen += holds.size
        self.enumerated += grid.count
        found = int(np.count_nonzero(holds))
        if not found:
            return
        self.legal += found
        told = evaluate(asked.model, asked.cluster, training, layouts, self._constants)
        fits = holds & told.fitting
        self.fitting += int(np.count_nonzero(fits))
        kept = self._within_limits(told, fits if asked.must_fit else holds)
        places = np.flatnonzero(kept)
        if len(places):
            self._keep(training, told, places, first)

    def _within_limits(self, told: Estimates, mask: Mask) -> Mask:
        for name, (least, most) in self.question.limits.items():
            value = COLUMNS[name](told)
            mask = mask & np.asarray((value >= least) & (value <= most))
        return mask

    def _keep(self, training: Training, told: Estimates, places: Places, first: int) -> None:
        """Put what this block adds among the best and on the fronts."""
        shape = told.layouts.shape

        def at(column: Column) -> Column:
            values: Column = np.broadcast_to(column, shape).reshape(-1)[places]
            return values

        tokens_per_s, peak, headroom = at(told.tokens_per_s), at(told.peak_bytes), at(told.headroom_bytes)
        score = self._score(at(told.time.step_s), tokens_per_s, headroom)
        number = first + places.astype(np.float64)

        def rows(chosen: Places) -> Rows:
            layouts = told.layouts.flat(places[chosen])
            return Rows(
                score=score[chosen],
                headroom_bytes=headroom[chosen],
                tokens_per_s=tokens_per_s[chosen],
                peak_bytes=peak[chosen],
                number=number[chosen],
                rows=tuple(Row(block=layouts, index=i, training=training) for i in range(len(chosen))),
            )

        top = self.question.top
        worst = self._best.score[-1] if len(self._best.score) == top else math.inf
        better = np.flatnonzero(score <= worst)
        if len(better):
            chosen = better[smallest(score[better], headroom[better], number[better], top)]
            self._best = self._best.joined(rows(chosen)).best(top)
        self._fronts(rows, tokens_per_s, peak, float(training.global_batch_size))

    def _fronts(
        self, rows: Callable[[Places], Rows], tokens_per_s: Column, peak: Column, batch_size: float
    ) -> None:
        known = self._by_memory
        new = above_front(known.peak_bytes, known.tokens_per_s, peak, tokens_per_s)
        new = new[front(peak[new], tokens_per_s[new])]
        if len(new):
            joined = known.joined(rows(new))
            self._by_memory = joined.take(front(joined.peak_bytes, joined.tokens_per_s))
        fastest = np.array([np.argmax(tokens_per_s)])
        known, batch = self._by_batch, np.array([batch_size])
        if len(above_front(_batches(known), known.tokens_per_s, batch, tokens_per_s[fastest])):
            joined = known.joined(rows(fastest))
            self._by_batch = joined.take(front(_batches(joined), joined.tokens_per_s))

    def _score(self, step_s: Column, tokens_per_s: Column, headroom: Column) -> Column:
        """What the objective wants small. On one cluster the cheapest token is the fastest."""
        objective = self.question.objective
        if objective == "step_s":
            return step_s
        return -headroom if objective == "headroom_bytes" else -tokens_per_s


def _batches(rows: Rows) -> Column:
    return np.array([float(row.training.global_batch_size) for row in rows.rows])
