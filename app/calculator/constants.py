"""Constants that no data sheet states: what share of a peak real software reaches, and fixed costs.

The values live in the catalog (`app/catalog/data/constants.json`, written by `app/calibration`) and are
passed in. One value per device family, link type and software class; none per model, row or paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from app.calculator.cluster import Cluster, Device, Link
from app.calculator.collectives import Number
from app.calculator.training import Training

UNKNOWN = "unknown"
ALL = "all"  # the key of a constant that is one value for every device, link and software


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One number with where it comes from.

    `kind`: fitted (to published runs; `low`..`high` is its range over the folds) · measured · counted ·
    assumed · borrowed (from another device; the source says which).
    """

    value: float
    unit: str
    kind: str
    source: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """All constants: name → key → Constant, and which family a device belongs to."""

    entries: Mapping[str, Mapping[str, Constant]]
    families: Mapping[str, str]

    def family(self, device: Device) -> str:
        """The device's family: by id, else by generation, else `unknown`."""
        return self.families.get(device.id, self.families.get(device.generation, UNKNOWN))

    def find(self, name: str, key: str) -> Constant:
        """The constant `name` for `key`, else for `unknown`: a stated assumption, never a silent default.

        Raises KeyError when neither is there: a missing constant is a fault of the file.
        """
        by_key = self.entries[name]
        return by_key[key] if key in by_key else by_key[UNKNOWN]

    def link_key(self, name: str, link: Link) -> str:
        """The key of a link in the table of `name`: the longest that starts its name, else `unknown`."""
        spelled = link.name.lower().replace(" ", "")
        fitting = [key for key in self.entries[name] if spelled.startswith(key)]
        return max(fitting, key=len, default=UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The constants of one cluster and one software, looked up: numbers (or columns) for the formulas."""

    gemm_fraction: Number
    gemm_fraction_16bit: Number  # of the 16-bit peak: attention cores stay at 16 bit in fp8 training
    flash_fraction: Number
    memory_fraction: Number
    unaligned_fraction: Number
    eager_factor: Number
    cpu_floor_s: Number
    intra_node_fraction: Number
    inter_node_fraction: Number
    exposed_tensor_fraction: Number
    overlap_cost: Number
    straggler_fraction: Number
    data_parallel_window: Number
    collective_latency_s: Number
    collective_rank_latency_s: Number
    collective_hop_latency_s: Number
    p2p_latency_s: Number
    step_fixed_s: Number
    logits_bytes: Number
    embedding_bytes: Number
    optimizer_bytes: Number
    unsharded_bytes: Number


def flash_class(training: Training) -> str:
    """Which flash kernel a software class calls.

    cuDNN's in Transformer Engine (`te`), FlashAttention-2 in compiled and fused code (`flash2`), the first
    FlashAttention and its Triton port in eager code of its day (`flash`).
    """
    return {"transformer-engine": "te", "eager": "flash"}.get(training.kernels, "flash2")


def key_of(name: str, constants: Constants, cluster: Cluster, training: Training) -> str:
    """The key under which constant `name` is looked up for this cluster and software."""
    if ALL in constants.entries[table_of(name)]:
        return ALL
    if name == "intra_node_fraction":
        return constants.link_key(name, cluster.intra_node)
    if name == "inter_node_fraction":
        return constants.link_key(name, cluster.inter_node)
    family = constants.family(cluster.device)
    if name == "flash_fraction":
        return f"{family}/{flash_class(training)}"
    fp8 = name == "gemm_fraction" and training.compute_dtype == "fp8" and cluster.device.peak_flops_fp8 > 0
    return f"{family}/fp8" if fp8 else family


def table_of(name: str) -> str:
    """The table a rate is looked up in: two rates may read one."""
    return "gemm_fraction" if name == "gemm_fraction_16bit" else name


def rates(constants: Constants, cluster: Cluster, training: Training) -> Rates:
    """Look up every constant for one cluster and one software class."""
    names = [field.name for field in fields(Rates)]
    return Rates(
        **{
            name: constants.find(table_of(name), key_of(name, constants, cluster, training)).value
            for name in names
        }
    )


def notes(constants: Constants, cluster: Cluster, training: Training) -> list[str]:
    """What a reader must know: constants that are assumed or borrowed for this cluster, one sentence each."""
    said = []
    for field in fields(Rates):
        key = key_of(field.name, constants, cluster, training)
        if key == ALL:
            continue
        constant = constants.find(table_of(field.name), key)
        if constant.kind in ("assumed", "borrowed"):
            said.append(f"{field.name} = {constant.value:g} for {key}: not calibrated; {constant.source}")
    return said
