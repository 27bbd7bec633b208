"""What a benchmark reports."""

from typing import NamedTuple


class Row(NamedTuple):
    """One bound and what came out, in milliseconds."""

    name: str
    bound_ms: float
    measured_ms: float
    note: str = ""
