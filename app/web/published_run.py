"""One published run on a page of its own: what its source states, what is predicted, where the time goes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.calculator.cluster import NETWORKS
from app.services.estimation import estimate_inputs
from app.services.runs import KINDS, Run
from app.services.validation import APART
from app.web import numbers
from app.web.charts.figure import Figure
from app.web.charts.step_time import step_time_figure
from app.web.published_view import gpu_name, note_of, percent, plain, signed_percent
from app.web.verdict import violation_sentence

WORDS = {
    "fused": "fused",
    "eager": "eager",
    "compiled": "compiled",
    "transformer-engine": "Transformer Engine",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One figure of the run: reported, predicted, and how far off."""

    what: str
    reported: str
    predicted: str
    error: str
    null: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """Everything on the page."""

    id: str
    title: str
    lead: str
    comparisons: tuple[Comparison, ...]
    facts: tuple[tuple[str, str], ...]
    step: Figure | None
    refused: tuple[str, ...]
    source: str
    source_url: str
    notes: str
    convention: str
    url: str


def run_view(run: Run) -> RunView:
    """The page of one run."""
    answer = estimate_inputs(run.inputs, working=False)
    return RunView(
        id=run.id,
        title=f"{run.model_name} on {numbers.count(run.num_gpus)} × {gpu_name(run.gpu)}",
        lead=_lead(run),
        comparisons=tuple(_comparisons(run)),
        facts=tuple(_facts(run)),
        step=step_time_figure(answer["time"]) if answer["legal"] else None,
        refused=tuple(violation_sentence(broken) for broken in answer["violations"]),
        source=run.source,
        source_url=run.source_url,
        notes=run.notes,
        convention=str(run.row.get("flops_convention") or ""),
        url=f"/calculator?{run.query}",
    )


def _lead(run: Run) -> str:
    result, error = run.result, run.result.signed_error
    predicted = numbers.seconds(result.predicted_step_s)
    if error is None or result.reported_step_s is None:
        return f"The source reports no time for a step. We predict {predicted}."
    way = "too slow" if error > 0 else "too fast"
    said = (
        f"The source reports {numbers.seconds(result.reported_step_s)} a step; we predict {predicted}: "
        f"{percent(abs(error))} {way}."
    )
    return f"{said} {note_of(run, error)}".strip()


def _comparisons(run: Run) -> Iterator[Comparison]:
    result = run.result
    yield Comparison(
        what="Step",
        reported=numbers.seconds(result.reported_step_s) if result.reported_step_s else "–",
        predicted=numbers.seconds(result.predicted_step_s),
        error=signed_percent(result.signed_error),
        null=numbers.seconds(result.null_step_s),
    )
    if result.reported_memory_bytes:
        yield Comparison(
            what="Memory of the fullest GPU",
            reported=numbers.gib(result.reported_memory_bytes),
            predicted=numbers.gib(result.predicted_memory_bytes),
            error=signed_percent(run.memory_error),
            null="–",
        )


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    model, layout, training = run.inputs.model, run.inputs.layout, run.inputs.training
    cluster = run.inputs.cluster
    yield "Kind of run", KINDS[run.kind]
    yield (
        "Model",
        f"{numbers.parameters(run.parameters)} parameters: {model.num_layers} layers, "
        f"{model.hidden_size:,} wide, {model.num_attention_heads} heads, vocabulary {model.vocab_size:,}",
    )
    network = NETWORKS.get(cluster.inter_node_network or "", cluster.inter_node.name)
    bandwidth = numbers.rate(cluster.inter_node.bandwidth_bytes_per_s, "B/s")
    yield (
        "Cluster",
        f"{numbers.count(cluster.num_gpus)} GPUs, {cluster.gpus_per_node} a node; between nodes {network}, "
        f"{bandwidth} for each GPU",
    )
    degrees = {
        "tensor": layout.tensor_parallel,
        "pipeline": layout.pipeline_parallel,
        "data": layout.data_parallel,
        "context": layout.context_parallel,
        "expert": layout.expert_parallel,
    }
    sizes = [f"{name} {size}" for name, size in degrees.items() if size > 1 or name in ("tensor", "data")]
    chunks = layout.virtual_pipeline_stages
    sizes += [f"{chunks} chunks a stage"] if chunks > 1 else []
    sizes += [f"ZeRO stage {layout.zero_stage}"] if layout.zero_stage else []
    sizes += ["sequence parallelism"] if layout.sequence_parallel else []
    yield "Layout", ", ".join(sizes)
    yield (
        "Batch",
        f"{training.global_batch_size:,} sequences of {training.seq_length:,} tokens, micro-batches of "
        f"{layout.micro_batch_size}",
    )
    attention = "flash attention" if training.flash_attention else "attention that is not fused"
    yield (
        "Software",
        f"{WORDS.get(training.kernels, training.kernels)} kernels, {attention}, {training.compute_dtype}, "
        f"recompute {layout.recompute.name.lower()}",
    )
    if run.assumed_fields:
        yield "Assumed, since the source does not say", ", ".join(plain(run.assumed_fields))
    level = _LEVELS.get(str(run.row.get("verification_level") or ""))
    if level:
        yield "How we know", level
    if run.source in APART:
        yield "Counts", "apart: an implementation of its day, explained above"
    elif run.result.core:
        yield "Counts", "in the mean over sources: a whole 16-bit layout is stated, and a step time or a rate"


_LEVELS: dict[str, Any] = {
    "primary": "read from the source itself",
    "memory": "read from the source itself",
    "secondary": "as quoted by another text",
    "third_party_chart_reading": "read from a chart by a third party, a few percent off itself",
    "primary layout, secondary tflops": "layout from the source, rate as quoted by another text",
}
