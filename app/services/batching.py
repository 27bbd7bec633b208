"""B = b·m·d: any one of the four from the other three, with what is left over."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.calculator.enumeration import divisors

NAMES = ("global_batch_size", "micro_batch_size", "num_micro_batches", "data_parallel")
LARGEST = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """All four numbers; `remainder` is what the solved one leaves of the global batch.

    `batches` are the nearest global batches that leave nothing, `values` the nearest ones of the solved
    number's partner that would do: of the micro-batch, or of the replicas.
    """

    values: Mapping[str, int]
    solved: str
    remainder: int = 0
    unit: int = 1  # the product of the other two
    batches: tuple[int, ...] = ()
    replicas: tuple[int, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether B = b·m·d holds to the last sequence."""
        return self.remainder == 0 and self.values[self.solved] >= 1


def solve(given: Mapping[str, int], unknown: str) -> Solved:
    """The unknown one; `given` has the other three, each at least 1."""
    known = {name: given[name] for name in NAMES if name != unknown}
    if unknown == "global_batch_size":
        product = known["micro_batch_size"] * known["num_micro_batches"] * known["data_parallel"]
        return Solved(values=_ordered({**known, unknown: product}), solved=unknown)
    batch = known.pop("global_batch_size")
    unit = 1
    for value in known.values():
        unit *= value
    quotient, remainder = divmod(batch, unit)
    values = _ordered({**known, "global_batch_size": batch, unknown: quotient})
    if not remainder and quotient:
        return Solved(values=values, solved=unknown, unit=unit)
    below = batch // unit * unit
    near = tuple(number for number in (below, below + unit) if number > 0)
    replicas: tuple[int, ...] = ()
    if unknown != "data_parallel":
        rest, left = divmod(batch, unit // known["data_parallel"])
        replicas = () if left else _around(divisors(rest), known["data_parallel"])
    return Solved(
        values=values, solved=unknown, remainder=remainder, unit=unit, batches=near, replicas=replicas
    )


def _around(several: tuple[int, ...], value: int) -> tuple[int, ...]:
    below = [one for one in several if one < value]
    above = [one for one in several if one > value]
    return tuple(([below[-1]] if below else []) + ([above[0]] if above else []))


def _ordered(values: Mapping[str, int]) -> dict[str, int]:
    return {name: values[name] for name in NAMES}
