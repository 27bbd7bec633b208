"""The published runs with what we predict of each: worked out once, then only looked at."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.calculator.estimate import legal_mask
from app.calculator.layout import Layouts
from app.calculator.parameters import total_parameters
from app.catalog import load_catalog
from app.catalog.held_out import load_held_out
from app.catalog.published import Row, published_rows
from app.services.input_write import to_query
from app.services.inputs import Inputs
from app.services.published import inputs_of
from app.services.validation import RowResult, result_of, utilization

# Kinds of run, the first that holds. They part the runs by what makes a prediction hard.
KINDS: Mapping[str, str] = {
    "context": "Context parallel",
    "experts": "Mixture of experts",
    "fp8": "fp8 products",
    "pipeline": "Pipeline, with or without tensor parallelism",
    "tensor": "Tensor parallel, no pipeline",
    "sharded": "Fully sharded (ZeRO-3, FSDP)",
    "data": "Data parallel only",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One published run: what it states, what was asked of the engine, and what came out."""

    row: Row
    inputs: Inputs
    result: RowResult
    kind: str
    legal: bool
    query: str  # the calculator's inputs, as a query string

    @property
    def id(self) -> str:
        """The run's name in the data."""
        return self.result.id

    @property
    def source(self) -> str:
        """Who published it, and where in their text."""
        return self.result.source

    @property
    def source_url(self) -> str:
        """Where it was published."""
        return str(self.row.get("source_url") or "")

    @property
    def gpu(self) -> str:
        """The catalog id of the device."""
        return self.inputs.cluster.device.id

    @property
    def num_gpus(self) -> int:
        """Devices of the run."""
        return self.inputs.cluster.num_gpus

    @property
    def model_name(self) -> str:
        """The model as its authors call it."""
        return str(self.row["model"].get("name") or "")

    @property
    def parameters(self) -> float:
        """Parameters of the model, all experts counted."""
        return float(total_parameters(self.inputs.model))

    @property
    def notes(self) -> str:
        """What the collector of the data noted."""
        return str(self.row.get("notes") or "")

    @property
    def assumed_fields(self) -> tuple[str, ...]:
        """Fields that the source does not state."""
        return tuple(str(name) for name in self.row.get("assumed_fields") or ())

    @property
    def memory_error(self) -> float | None:
        """predicted/reported − 1 of the memory of the fullest device."""
        predicted, reported = self.result.predicted_memory_bytes, self.result.reported_memory_bytes
        return predicted / reported - 1 if predicted and reported else None

    def to_json(self) -> dict[str, Any]:
        """In the words of `GET /api/v1/published`: those of `meshwright validate --json`, and more."""
        return self.result.to_json() | {
            "source_url": self.source_url,
            "kind": self.kind,
            "model": self.model_name,
            "gpu": self.gpu,
            "num_gpus": self.num_gpus,
            "layout": {
                name: getattr(self.inputs.layout, name)
                for name in (
                    "tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel",
                    "expert_parallel", "virtual_pipeline_stages", "micro_batch_size", "zero_stage",
                )
            }
            | {"recompute": self.inputs.layout.recompute.name.lower()},
            "global_batch_size": self.inputs.training.global_batch_size,
            "seq_length": self.inputs.training.seq_length,
            "memory_signed_error": self.memory_error,
            "legal": self.legal,
            "reason": self.result.reason,
            "assumed_fields": list(self.assumed_fields),
            "notes": self.notes,
            "calculator": f"/calculator?{self.query}",
        }  # fmt: skip


@cache
def published_runs() -> tuple[Run, ...]:
    """Every published run, in the order of the data. Takes about a second the first time."""
    return tuple(_run(row) for row in published_rows())


def _run(row: Row) -> Run:
    catalog = load_catalog()
    inputs = inputs_of(row, catalog)
    legal = legal_mask(inputs.model, inputs.cluster, inputs.training, Layouts.of(inputs.layout))
    return Run(
        row=row,
        inputs=inputs,
        result=result_of(row),
        kind=kind_of(inputs),
        legal=bool(legal[0]),
        query=to_query(inputs, catalog),
    )


def kind_of(inputs: Inputs) -> str:
    """The first of `KINDS` that holds."""
    layout = inputs.layout
    holds = {
        "context": layout.context_parallel > 1,
        "experts": inputs.model.is_moe,
        "fp8": inputs.training.compute_dtype == "fp8",
        "pipeline": layout.pipeline_parallel > 1,
        "tensor": layout.tensor_parallel > 1,
        "sharded": layout.zero_stage == 3,
    }
    return next((kind for kind, true in holds.items() if true), "data")


def published_json() -> dict[str, Any]:
    """All runs, and how far off they are by source group: in-sample and held out, beside the null model."""
    held_out = load_held_out()

    def told(error: Any) -> dict[str, float]:
        return {
            "runs": error.runs,
            "mean_absolute_error": error.in_sample,
            "held_out_by_shape": error.folds,
            "held_out_by_source": error.source_left_out,
            "null_mean_absolute_error": error.null,
        }

    return {
        "rows": [run.to_json() for run in published_runs()],
        "means": {
            "groups": {name: told(error) for name, error in held_out.groups.items()},
            "mean_of_groups": told(held_out.mean),
            "null_utilization": utilization(),
        },
    }
