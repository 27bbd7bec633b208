"""What is fitted, from where it starts, and within which bounds: physics sets them, not the fit."""

from collections.abc import Mapping

from app.calculator.constants import Constants
from app.calibration.fit import Parameter
from app.calibration.sample import Key, Sample

# (table, key) → start, lower, upper. Starts are what a practitioner would guess before seeing these runs.
_RANGES = {
    ("gemm_fraction", "a100"): (0.75, 0.5, 0.95),
    ("gemm_fraction", "h100"): (0.70, 0.4, 0.90),
    ("gemm_fraction", "h100-500w"): (0.55, 0.3, 0.80),
    ("gemm_fraction", "v100"): (0.65, 0.4, 0.90),
    ("flash_fraction", "a100/flash"): (0.40, 0.15, 0.75),
    ("flash_fraction", "h100/flash"): (0.30, 0.10, 0.65),
    ("flash_fraction", "h100/te"): (0.50, 0.25, 0.75),
    ("memory_fraction", "all"): (0.70, 0.40, 0.95),
    ("unaligned_fraction", "all"): (0.03, 0.01, 0.10),
    ("eager_factor", "all"): (2.0, 1.0, 4.0),
    ("cpu_floor_s", "all"): (0.6e-3, 0.1e-3, 2e-3),
    ("intra_node_fraction", "nvlink4"): (0.65, 0.40, 0.85),
    ("inter_node_fraction", "infiniband"): (0.80, 0.50, 0.95),
    ("inter_node_fraction", "roce"): (0.80, 0.50, 0.95),
    ("inter_node_fraction", "omni-path"): (0.60, 0.25, 0.95),
    ("exposed_tensor_fraction", "all"): (0.50, 0.10, 1.0),
    ("overlap_cost", "all"): (0.20, 0.02, 0.60),
    ("straggler_fraction", "all"): (0.010, 0.0005, 0.03),
}

_EIGHT_BIT = {
    ("gemm_fraction", "h100/fp8"): (0.55, 0.20, 0.85),
    ("gemm_fraction", "h100-500w/fp8"): (0.40, 0.20, 0.70),
}
_Ranges = Mapping[Key, tuple[float, float, float]]


def parameters_for(sample: Sample, constants: Constants) -> list[Parameter]:
    """The parameters that some run of the sample needs. Raises KeyError for a constant the file lacks."""
    return _used(_RANGES, sample, constants)


def eight_bit_parameters(sample: Sample, constants: Constants) -> list[Parameter]:
    """The same for runs whose matrix products are fp8."""
    return _used(_EIGHT_BIT, sample, constants)


def _used(ranges: _Ranges, sample: Sample, constants: Constants) -> list[Parameter]:
    used = sample.used()
    found = []
    for (table, key), (start, lower, upper) in ranges.items():
        if (table, key) in used:
            constants.find(table, key)
            found.append(Parameter(key=(table, key), start=start, lower=lower, upper=upper))
    return found
