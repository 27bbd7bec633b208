"""Published training runs: rows of one format, from our file, somebody's own, or the vTrain tables."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

DATA = Path(__file__).parent / "data"
RUNS_FILE = DATA / "published_runs.json"
VTRAIN_SINGLE_FILE = DATA / "vtrain" / "measured_single_node.csv"
VTRAIN_MULTI_FILE = DATA / "vtrain" / "measured_multi_node.csv"

_VTRAIN_COLUMNS = {
    "# GPUs": "n_gpus",
    "global batch": "global_batch",
    "micro batch": "micro_batch",
    "tensor parallelism": "tp",
    "data parallelism": "dp",
    "pipeline parallelism": "pp",
}
_VTRAIN_SHAPE = {
    "hidden size": "hidden",
    "attention heads": "heads",
    "# layers": "layers",
    "sequence length": "seq",
}
_TIME_MS = "iteration time (ms)"


class RowsError(ValueError):
    """A file of rows that cannot be read; the message lists every problem and where it is."""


def load_rows(path: Path = RUNS_FILE) -> tuple[Row, ...]:
    """The rows of a JSON file: a list of objects, or an object with `rows`. Raises RowsError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RowsError(
            f"{path}: cannot be read ({error.strerror}). Give the path of a JSON file."
        ) from error
    except ValueError as error:
        raise RowsError(f"{path}: not JSON ({error}). Write a list of rows.") from error
    rows = found.get("rows") if isinstance(found, dict) else found
    if not isinstance(rows, list):
        raise RowsError(f"{path}: expected a list of rows, or an object with a list `rows`.")
    wrong = [str(number) for number, row in enumerate(rows, start=1) if not isinstance(row, dict)]
    if wrong:
        raise RowsError(f"{path}: rows {', '.join(wrong)} are not objects.")
    return tuple(rows)


@cache
def published_rows() -> tuple[Row, ...]:
    """The published runs that come with the product."""
    return load_rows()


def load_vtrain(path: Path) -> tuple[Row, ...]:
    """A measured vTrain table as rows of the same format. Raises RowsError naming every bad line.

    Columns go by their names, in any order and among others; the measured time may be missing.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            header, *lines = list(csv.reader(handle, skipinitialspace=True)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RowsError(f"{path}: cannot be read ({error}). Give the path of a CSV file.") from error
    places = {name.strip().lower(): place for place, name in enumerate(header)}
    wanted = {name: places.get(name.lower()) for name in (*_VTRAIN_COLUMNS, *_VTRAIN_SHAPE, _TIME_MS)}
    missing = [name for name, place in wanted.items() if place is None and name != _TIME_MS]
    if missing:
        raise RowsError(f"{path}: no column {', '.join(missing)}. Expected a vTrain table.")
    if not any(lines):
        raise RowsError(f"{path}: a header without rows.")
    problems: list[str] = []
    rows = []
    for number, line in enumerate(lines, start=2):
        try:
            if line:
                found = {name: float(line[place]) for name, place in wanted.items() if place is not None}
                rows.append(_vtrain_row(found, path.stem, number))
        except (ArithmeticError, LookupError, ValueError):
            problems.append(f"{path}:{number}: not all numbers.")
    if problems:
        raise RowsError("\n".join(problems))
    return tuple(rows)


def _vtrain_row(line: Mapping[str, float], table: str, number: int) -> Row:
    """One measured line with what all of them share: Megatron-DeepSpeed, fp16, full recompute, no ZeRO."""
    shape = {name: int(line[column]) for column, name in _VTRAIN_SHAPE.items()}
    layout = {name: int(line[column]) for column, name in _VTRAIN_COLUMNS.items()}
    nodes = math.ceil(layout["n_gpus"] / 8)
    return {
        "id": f"vtrain_{table}_{number}",
        "source": "vTrain measured, single node" if nodes == 1 else "vTrain measured, multi node",
        "source_url": "https://github.com/VIA-Research/vTrain",
        "core": True,
        "model": {
            "name": f"GPT h{shape['hidden']} L{shape['layers']}",
            **shape,
            "kv_heads": shape["heads"],
            "head_dim": shape["hidden"] // shape["heads"],
            "ffn": 4 * shape["hidden"],
            "vocab": 51200,
            "gated_mlp": False,
            "tied_embeddings": True,
        },
        "hardware": {
            "gpu": "A100-SXM4-80GB",
            "memory_gb": 80,
            "row_precision": "fp16",
            "gpus_per_node": 8,
            "intra_bw_GBps_per_gpu_unidir": 300,
            "inter_bw_GBps_per_gpu_unidir": 12.5,
            "network": "infiniband",
        },
        **layout,
        "cp": 1,
        "ep": 1,
        "virtual_stages": 1,
        "schedule": "1f1b (DeepSpeed)",
        "zero_stage": 0,
        "recompute": "full",
        "sequence_parallel": False,
        "software": {
            "kernels": "fused",
            "attention": "unfused",
            "gradient_bytes": 2,
            "sharding": "none",
            "overlap_data_parallel": False,
            "overlap_tensor_parallel": False,
        },
        "reported": {"step_time_s": line[_TIME_MS] / 1000} if _TIME_MS in line else {},
        "derived": {},
        "notes": "",
    }


def vtrain_rows(paths: Sequence[Path] = (VTRAIN_SINGLE_FILE, VTRAIN_MULTI_FILE)) -> tuple[Row, ...]:
    """The measured vTrain tables that come with the product."""
    return tuple(row for path in paths for row in load_vtrain(path))
