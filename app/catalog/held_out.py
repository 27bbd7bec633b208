"""Errors of runs that the constants had not seen, by source group: read from what the calibration wrote."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HELD_OUT_FILE = Path(__file__).parent / "data" / "held_out.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupError:
    """Mean absolute errors of the step time in one source group, as fractions.

    `folds`: the run's model shape was not fitted to; `source_left_out`: none of the source's runs were.
    """

    runs: int
    in_sample: float
    folds: float
    source_left_out: float
    null: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """All source groups, and the means over them: each counts once, however many runs it has."""

    groups: Mapping[str, GroupError]
    mean: GroupError


@cache
def load_held_out() -> HeldOut:
    """The errors that `make calibrate` found."""
    document = json.loads(HELD_OUT_FILE.read_text(encoding="utf-8"))
    return HeldOut(
        groups={name: GroupError(**errors) for name, errors in document["groups"].items()},
        mean=GroupError(**document["mean"]),
    )
