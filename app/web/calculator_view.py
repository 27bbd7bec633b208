"""The calculator's page as a view: one question in, everything the template sets out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.catalog import Catalog
from app.frameworks.megatron import write_flags
from app.services.estimation import estimate_inputs
from app.services.inputs import Inputs, parse_inputs
from app.services.neighbours import Neighbour, neighbours
from app.services.remedies import Remedy, remedies
from app.web import numbers
from app.web.calculator_form import Complaint, Fieldset, carried, fieldsets, fixes_of, values_for
from app.web.calculator_results import Results, results_of
from app.web.controls import LABELS
from app.web.questions import Question
from app.web.values import address, in_effect
from app.web.verdict import Verdict, unusable, verdict, violation_sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyView:
    """A change that would help: what it says, its address, and what it leads to."""

    says: str
    url: str
    peak: str
    spare: str
    step: str
    borderline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CalculatorView:
    """Everything on the page. `results` is None where nothing could be calculated."""

    verdict: Verdict
    sets: tuple[Fieldset, ...]
    carried: tuple[tuple[str, str], ...]
    of_model: str
    of_gpu: str
    url: str
    complaints: tuple[Complaint, ...] = ()
    remedies: tuple[RemedyView, ...] = ()
    readouts: tuple[tuple[str, str, str, str, str], ...] = ()  # label, number, unit, exact, its working
    results: Results | None = None
    flags: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    world: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether the inputs could be read."""
        return self.verdict.state != "unusable"


def view_of(question: Question, catalog: Catalog, *, touched: str = "") -> CalculatorView:
    """Ask the engine and set what it says."""
    inputs = parse_inputs(question.raw, catalog)
    if not isinstance(inputs, Inputs):
        problems = [(problem.field, problem.message) for problem in inputs.problems]
        return _unusable(question, problems, catalog, touched)
    values = in_effect(inputs)
    answer = estimate_inputs(inputs)
    complaints = tuple(
        Complaint(
            path=str(broken["field"]),
            label=LABELS.get(str(broken["field"]), str(broken["field"])),
            message=violation_sentence(broken),
            fixes=fixes_of(broken, values, catalog),
            rule_of=str(broken.get("rule_of") or ""),
        )
        for broken in answer.get("violations") or ()
    )
    total = (answer.get("parameters") or {}).get("total")
    notes = {"Model": f"{numbers.parameters(total)} parameters"} if total else {}
    sets = fieldsets(values, complaints, catalog, touched=touched, notes=notes)
    helpful = remedies(inputs) if (answer.get("memory") or {}).get("fits") in ("no", "borderline") else []
    near = [] if answer.get("legal") else neighbours(inputs)
    flags, beyond = write_flags(inputs.model, inputs.training, inputs.layout)
    said = verdict(answer)
    return CalculatorView(
        verdict=_with_remedy(said, helpful),
        sets=sets,
        carried=carried(values, sets, catalog),
        of_model=str(values["model.id"] or ""),
        of_gpu=str(values["cluster.gpu"]),
        url=address(values, catalog),
        complaints=complaints,
        remedies=(
            *(_remedy(remedy, values, catalog) for remedy in helpful),
            *(_neighbour(one, values, catalog) for one in near),
        ),
        readouts=readouts(answer, values),
        results=results_of(answer, inputs, values, stage=question.stage) if answer.get("legal") else None,
        flags=tuple(flags),
        beyond=tuple(beyond),
        world=_world(values),
        values=values,
    )


def _unusable(
    question: Question, problems: Sequence[tuple[str, str]], catalog: Catalog, touched: str
) -> CalculatorView:
    complaints = tuple(
        Complaint(
            path="model.id" if path == "model" else path,
            label=LABELS.get("model.id" if path == "model" else path, path),
            message=message[:1].upper() + message[1:],
        )
        for path, message in problems
    )
    values = values_for(question, complaints, catalog)
    sets = fieldsets(values, complaints, catalog, typed=question.typed, touched=touched)
    return CalculatorView(
        verdict=unusable(problems),
        sets=sets,
        carried=(),
        of_model=question.typed.get("model.id", str(values["model.id"] or "")),
        of_gpu=question.typed.get("cluster.gpu", str(values["cluster.gpu"])),
        url="/calculator",
        complaints=complaints,
        values=values,
    )


def readouts(
    answer: Mapping[str, Any], values: Mapping[str, Any]
) -> tuple[tuple[str, str, str, str, str], ...]:
    """At most six numbers under the verdict: label, number, unit, exact value, and which working is its."""
    memory, time = answer.get("memory"), answer.get("time") or {}
    if not memory:
        return ()
    rates = answer.get("throughput") or {}
    peak = memory["peak_bytes"]
    told = [("Largest stage", numbers.gib(peak), numbers.exact(peak, "bytes"), "memory.peak_bytes")]
    step = time.get("step_s")
    if step is not None:
        band = answer.get("expected_error_fraction")
        within = f" ± {numbers.percent(band, 1)}" if band else ""
        label = "Step" if memory["fits"] != "no" else "Step, if it fitted"
        told.append((label, f"{numbers.seconds(step)}{within}", numbers.exact(step, "s"), "time.step_s"))
        per_s, mfu = rates.get("tokens_per_s"), rates.get("mfu")
        told.append(
            (
                "Throughput",
                numbers.rate(per_s, "tokens/s"),
                numbers.exact(per_s, "tokens/s"),
                "throughput.tokens_per_s",
            )
        )
        exact = f"model FLOP over peak FLOP: {mfu:.6f}"
        told.append(("MFU", numbers.percent(mfu, 2), exact, "throughput.mfu"))
        bubble = time.get("bubble_fraction")
        exact = f"idle share of equal stages: {bubble:.6f}"
        told.append(("Bubble", numbers.percent(bubble), exact, "time.bubble_fraction"))
    degrees = [values[f"layout.{axis}_parallel"] for axis in ("tensor", "context", "pipeline", "data")]
    product = " · ".join(str(size) for axis, size in enumerate(degrees) if axis != 1 or size > 1)
    world = numbers.count(values["cluster.num_gpus"])
    told.append(("GPUs", f"{world}{numbers.NBSP}= {product}", "tensor · pipeline · data", ""))
    return tuple((label, *numbers.split_unit(text), exact, key) for label, text, exact, key in told)


def _with_remedy(said: Verdict, helpful: Sequence[Remedy]) -> Verdict:
    if said.state not in ("over", "borderline") or not helpful:
        return said
    best = helpful[0]
    after = "every stage then fits" if best.fits == "yes" else "the largest stage then is borderline"
    room = "to spare" if best.headroom_bytes >= 0 else "over"
    spare, step = numbers.gib(abs(best.headroom_bytes)), numbers.seconds(best.step_s)
    tip = f"{best.says}: {after}, {spare} {room}, and a step takes {step}."
    return Verdict(state=said.state, lead=said.lead, rest=said.rest, why=f"{said.why} {tip}".strip())


def _remedy(remedy: Remedy, values: Mapping[str, Any], catalog: Catalog) -> RemedyView:
    spare = numbers.gib(abs(remedy.headroom_bytes))
    return RemedyView(
        says=remedy.says,
        url=address({**values, **remedy.changes}, catalog),
        peak=numbers.gib(remedy.peak_bytes),
        spare=spare if remedy.headroom_bytes >= 0 else f"over by {spare}",
        step=numbers.seconds(remedy.step_s),
        borderline=remedy.fits != "yes",
    )


def _neighbour(one: Neighbour, values: Mapping[str, Any], catalog: Catalog) -> RemedyView:
    layout, before = one.layout, values["training.global_batch_size"]
    changes = {
        "layout.tensor_parallel": layout.tensor_parallel,
        "layout.pipeline_parallel": layout.pipeline_parallel,
        "layout.data_parallel": layout.data_parallel,
        "layout.layers_per_stage": layout.layers_per_stage,
        "training.global_batch_size": one.global_batch_size,
    }
    batch = f", a batch of {one.global_batch_size:,}" if one.global_batch_size != before else ""
    if one.num_gpus != values["cluster.num_gpus"]:
        idle = int(values["cluster.num_gpus"]) - one.num_gpus
        per_node = int(values["cluster.gpus_per_node"])
        changes |= {"cluster.num_gpus": one.num_gpus, "cluster.num_nodes": -(-one.num_gpus // per_node)}
        batch += f", {idle:,} {'GPU' if idle == 1 else 'GPUs'} idle"
    if layout.layers_per_stage and layout.layers_per_stage != values["layout.layers_per_stage"]:
        batch += ", uneven stages"
    sizes = f"{layout.tensor_parallel} · {layout.pipeline_parallel} · {layout.data_parallel}"
    spare = numbers.gib(abs(one.headroom_bytes))
    return RemedyView(
        says=f"tensor · pipeline · data = {sizes}{batch}",
        url=address({**values, **changes}, catalog),
        peak=numbers.gib(one.peak_bytes),
        spare=spare if one.headroom_bytes >= 0 else f"over by {spare}",
        step=numbers.seconds(one.step_s),
        borderline=one.fits == "borderline",
    )


def _world(values: Mapping[str, Any]) -> str:
    sizes = [int(values[f"layout.{axis}_parallel"]) for axis in ("tensor", "context", "pipeline", "data")]
    used = 1
    for size in sizes:
        used *= size
    product = " · ".join(f"{size:,}" for index, size in enumerate(sizes) if index != 1 or size > 1)
    return f"{product} = {used:,} of {int(values['cluster.num_gpus']):,} GPUs"
