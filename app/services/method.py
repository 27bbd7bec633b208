"""What /method says, gathered from the engine: formulas, constants, how far off each kind of run is."""

import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

from app import calculator
from app.calculator.constants import Constant
from app.catalog.constants import load_constants, meanings
from app.services.estimation import estimate
from app.services.inputs import InputProblems
from app.services.runs import KINDS, published_runs

# Questions whose workings use every formula: dense, experts, latent attention, encoder, sharded, rings.
EXAMPLES: tuple[Mapping[str, Any], ...] = (
    {
        "model": "gpt3-175b",
        "cluster": {"gpu": "a100-80gb", "num_nodes": 128},
        "layout": {"tensor_parallel": 8, "pipeline_parallel": 16, "recompute": "full"},
        "training": {"global_batch_size": 1536},
    },
    {
        "model": "llama3-70b",
        "cluster": {"gpu": "h100-80gb", "num_nodes": 16},
        "layout": {
            "tensor_parallel": 8, "context_parallel": 2, "pipeline_parallel": 4, "virtual_pipeline_stages": 5,
            "sequence_parallel": True, "recompute": "selective", "zero_stage": 1,
        },
        "training": {"global_batch_size": 128},
    },
    {
        "model": "llama3-70b",
        "cluster": {"gpu": "h100-80gb", "num_nodes": 16},
        "layout": {"tensor_parallel": 8, "pipeline_parallel": 4, "schedule": "zb-h1"},
        "training": {"global_batch_size": 128},
    },
    {
        "model": "mixtral-8x7b",
        "cluster": {"gpu": "h100-80gb", "num_nodes": 8},
        "layout": {"expert_parallel": 8, "pipeline_parallel": 2, "zero_stage": 1},
        "training": {"global_batch_size": 256},
    },
    {
        "model": "deepseek-v3",
        "cluster": {"gpu": "h100-80gb", "num_nodes": 32},
        "layout": {
            "pipeline_parallel": 16, "expert_parallel": 16, "zero_stage": 1,
            "layers_per_stage": [4] * 15 + [1],
        },
        "training": {"global_batch_size": 512},
    },
    {
        "model": "llama3-8b",
        "cluster": {"gpu": "h100-80gb", "num_nodes": 8},
        "layout": {"zero_stage": 3},
        "training": {"global_batch_size": 128},
    },
    {
        "model": "t5-11b",
        "cluster": {"gpu": "a100-80gb", "num_nodes": 4},
        "layout": {"tensor_parallel": 8},
        "training": {"global_batch_size": 64},
    },
)  # fmt: skip
_ONE_STAGE = "stages - 1"  # how the working says that a single stage has no such time


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A number of the answer and the formulas that it may come from."""

    key: str
    formulas: tuple[str, ...]
    unit: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A formula of the calculator as its function states it."""

    name: str
    says: str
    source: str
    assumes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KindError:
    """How far predictions are off for one kind of run. Errors are fractions of what was reported."""

    says: str
    runs: int
    mean: float
    median: float
    within_10_percent: float
    signed_median: float  # above zero: predicted too slow, mostly
    null: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantTable:
    """A constant, and its value for every device family, link or software."""

    name: str
    meaning: str
    unit: str
    values: tuple[tuple[str, Constant], ...]


@cache
def worked() -> tuple[Worked, ...]:
    """Every number that has a working, from the workings of the examples: `*` stands for a stage."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for question in EXAMPLES:
        answer = estimate(question)
        if isinstance(answer, InputProblems) or not answer["legal"]:
            raise ValueError(f"an example of the method page cannot be calculated: {question}")
        for line in answer["working"]:
            key = re.sub(r"\.\d+\.", ".*.", line["key"])
            if line["formula"] != _ONE_STAGE:
                source = re.sub(r": stage \d+$", "", line["source"])
                found.setdefault(key, {}).setdefault(line["formula"], (line["unit"], source))
    return tuple(
        Worked(
            key=key,
            formulas=tuple(formulas),
            unit=next(iter(formulas.values()))[0],
            sources=tuple(dict.fromkeys(source for _, source in formulas.values())),
        )
        for key, formulas in found.items()
    )


@cache
def formulas() -> tuple[Formula, ...]:
    """The functions of the calculator that state a source, in the order of their modules."""
    return tuple(
        formula
        for module in pkgutil.iter_modules(calculator.__path__)
        for formula in _formulas_of(f"{calculator.__name__}.{module.name}")
    )


def _formulas_of(module_name: str) -> Iterator[Formula]:
    module = importlib.import_module(module_name)
    for name, function in vars(module).items():
        if not inspect.isfunction(function) or function.__module__ != module_name:
            continue
        text = " ".join(inspect.cleandoc(function.__doc__ or "").split())
        if "Source:" not in text:
            continue
        says, _, rest = text.partition("Source:")
        source, _, assumes = rest.partition("Assumes:")
        room = module_name.rpartition(".")[2]
        yield Formula(
            name=f"{room}.{name.lstrip('_')}",
            says=says.strip(),
            source=source.strip().rstrip("."),
            assumes=assumes.strip(),
        )


@cache
def constant_tables() -> tuple[ConstantTable, ...]:
    """Every constant that no data sheet states, with where each value comes from."""
    said = meanings()
    return tuple(
        ConstantTable(
            name=name,
            meaning=said.get(name, ""),
            unit=next(iter(values.values())).unit,
            values=tuple(values.items()),
        )
        for name, values in load_constants().entries.items()
    )


@cache
def kind_errors() -> tuple[KindError, ...]:
    """How far off step times are, for every kind of run that somebody published."""
    return tuple(error for kind, says in KINDS.items() if (error := _error_of(kind, says)) is not None)


def _error_of(kind: str, says: str) -> KindError | None:
    results = [
        run.result for run in published_runs() if run.kind == kind and run.result.signed_error is not None
    ]
    signed = [result.signed_error or 0.0 for result in results]
    if not signed:
        return None
    sizes = [abs(error) for error in signed]
    null = [abs(result.null_error) for result in results if result.null_error is not None]
    return KindError(
        says=says,
        runs=len(signed),
        mean=math.fsum(sizes) / len(sizes),
        median=median(sizes),
        within_10_percent=sum(size <= 0.10 for size in sizes) / len(sizes),
        signed_median=median(signed),
        null=math.fsum(null) / len(null),
    )


def memory_error() -> tuple[int, float]:
    """How many runs report their memory, and the mean absolute error of ours."""
    errors = [abs(run.memory_error) for run in published_runs() if run.memory_error is not None]
    return len(errors), math.fsum(errors) / len(errors)
