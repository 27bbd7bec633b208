"""The layouts that a search keeps, with the numbers they are ranked by."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from app.calculator.layout import Column, Layout, Layouts
from app.calculator.pareto import Places
from app.calculator.training import Training

_NONE: Column = np.empty(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One layout of the result, with the training (its batch) that it was worked out for."""

    block: Layouts
    index: int
    training: Training

    @property
    def layout(self) -> Layout:
        """The layout as plain values."""
        return self.block.row(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Layouts and their numbers, place by place."""

    score: Column = field(default_factory=_NONE.copy)  # the smaller the better
    headroom_bytes: Column = field(default_factory=_NONE.copy)
    tokens_per_s: Column = field(default_factory=_NONE.copy)
    peak_bytes: Column = field(default_factory=_NONE.copy)
    number: Column = field(default_factory=_NONE.copy)  # where they stand in the enumeration
    rows: tuple[Row, ...] = ()

    def take(self, places: Places) -> Self:
        """The rows at these places."""
        return type(self)(
            score=self.score[places],
            headroom_bytes=self.headroom_bytes[places],
            tokens_per_s=self.tokens_per_s[places],
            peak_bytes=self.peak_bytes[places],
            number=self.number[places],
            rows=tuple(self.rows[int(place)] for place in places),
        )

    def joined(self, other: Self) -> Self:
        """These, then the others."""
        return type(self)(
            score=np.concatenate((self.score, other.score)),
            headroom_bytes=np.concatenate((self.headroom_bytes, other.headroom_bytes)),
            tokens_per_s=np.concatenate((self.tokens_per_s, other.tokens_per_s)),
            peak_bytes=np.concatenate((self.peak_bytes, other.peak_bytes)),
            number=np.concatenate((self.number, other.number)),
            rows=self.rows + other.rows,
        )

    def best(self, most: int) -> Self:
        """The best of them, the best first."""
        return self.take(smallest(self.score, self.headroom_bytes, self.number, most))


def smallest(score: Column, headroom: Column, number: Column, most: int) -> Places:
    """The places of the `most` best: by score, then by headroom, then in the order of the enumeration."""
    places = np.arange(len(score))
    if len(score) > most:
        limit = np.partition(score, most - 1)[most - 1]
        places = np.flatnonzero(score <= limit)
    order = np.lexsort((number[places], -headroom[places], score[places]))
    return places[order[:most]]
