"""The search page as a view: one question and what the search said, everything the template sets out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.catalog import Catalog, load_catalog
from app.services.input_values import InputProblem
from app.services.inputs import InputProblems, Inputs, parse_inputs
from app.services.search_inputs import SearchInputs
from app.services.search_jobs import Answer, Job
from app.web import numbers
from app.web.calculator_form import Complaint as FieldComplaint
from app.web.calculator_form import Fieldset, carried, values_for
from app.web.charts.figure import Figure
from app.web.controls import Control, control
from app.web.schedule_view import Complaint, Headline, Readout
from app.web.search_form import PATH, SearchQuestion, field_of, limit_controls, own_controls, with_own
from app.web.search_results import RowView, batch_figure, headline, memory_figure, readouts, row_views
from app.web.values import address, in_effect

CONTROLS = (
    "model.id", "cluster.gpu", "cluster.num_nodes", "training.global_batch_size", "training.seq_length",
)  # fmt: skip
ROWS = (20, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchView:
    """Everything on the page."""

    verdict: Headline
    why: str = ""
    url: str
    calculator_url: str
    sets: tuple[Fieldset, ...]
    carried: tuple[tuple[str, str], ...]
    of_model: str
    of_gpu: str
    usable: bool = True
    complaints: tuple[Complaint, ...] = ()
    readouts: tuple[Readout, ...] = ()
    rows: tuple[RowView, ...] = ()
    more: tuple[tuple[int, str], ...] = ()
    memory: Figure | None = None
    batch: Figure | None = None
    remedies: tuple[tuple[str, str], ...] = ()  # what would do where nothing is found: says, address
    job: Job | None = None
    job_url: str = ""


def view_of(question: SearchQuestion, found: Answer | SearchInputs | None, catalog: Catalog) -> SearchView:
    """The page for a question and what the search said; None: too many searches at once.

    Before the search it is a page without results, which has an address.
    """
    inputs = parse_inputs(question.calculator.raw, catalog)
    wrong = [*_problems(inputs), *_problems(found)]
    shared = _shared(question, inputs, wrong, catalog)
    if wrong or isinstance(inputs, InputProblems) or isinstance(found, InputProblems):
        told = {(problem.field, problem.message): None for problem in wrong}
        complaints = tuple(Complaint(label=_label(field), message=message) for field, message in told)
        lead = Headline(tone="bad", lead="Cannot be searched:", rest="some words cannot be used.")
        return SearchView(**shared, verdict=lead, usable=False, complaints=complaints[:20])
    if isinstance(found, SearchInputs):
        return SearchView(**shared, verdict=Headline(tone="", lead="", rest=""))
    if found is None:
        lead = Headline(tone="warn", lead="Busy:", rest="many searches are running. Try again in a moment.")
        return SearchView(**shared, verdict=lead)
    answer = found.answer if isinstance(found, Job) else found
    if answer is None:
        assert isinstance(found, Job)
        again = with_own(_plain_url(shared), _lasting(question), job=found.id)
        return SearchView(**shared, verdict=_progress(found), why=_how_far(found), job=found, job_url=again)
    stopped = isinstance(found, Job) and found.state == "stopped"
    return _answered(shared, answer, inputs, question, stopped=stopped)


def _problems(found: object) -> Sequence[InputProblem]:
    return found.problems if isinstance(found, InputProblems) else ()


def _shared(
    question: SearchQuestion,
    inputs: Inputs | InputProblems,
    wrong: Sequence[InputProblem],
    catalog: Catalog,
) -> dict[str, Any]:
    """The form and the addresses, whatever the search says."""
    problems = {field_of(problem.field): problem.message for problem in reversed(wrong)}
    if isinstance(inputs, Inputs):
        values: dict[str, Any] = in_effect(inputs)
    else:
        named = [FieldComplaint(path=problem.field, label="", message="") for problem in wrong]
        values = values_for(question.calculator, named, catalog)
    typed, own = question.calculator.typed, _lasting(question)
    shown = tuple(
        control(
            path,
            values,
            catalog,
            typed=typed.get(path) if problems.get(path) else None,
            problem=problems.get(path, ""),
        )
        for path in CONTROLS
    )
    vary = own_controls(own, problems, experts=bool(values.get("model.num_experts")))
    keep = limit_controls(own, problems)
    cluster = _fieldset("Model and cluster", shown)
    return {
        "sets": (cluster, _fieldset("What to look for", keep), _fieldset("What may vary", vary)),
        "carried": carried(values, (cluster,), catalog),
        "of_model": str(values.get("model.id") or ""),
        "of_gpu": str(values.get("cluster.gpu") or ""),
        "url": with_own(address(values, catalog, at=PATH), own),
        "calculator_url": address(values, catalog),
    }


def _lasting(question: SearchQuestion) -> dict[str, str]:
    """The search's own words that belong in an address."""
    return {name: value for name, value in question.own.items() if name != "job"}


def _plain_url(shared: Mapping[str, Any]) -> str:
    """This page's address for the calculator's state alone."""
    return str(shared["calculator_url"]).replace("/calculator", PATH, 1)


def _fieldset(legend: str, controls: tuple[Control, ...]) -> Fieldset:
    return Fieldset(legend=legend, controls=controls, more_title="", more=(), open=False)


def _label(field: str) -> str:
    return field.rpartition(".")[2].replace("_", " ").capitalize() or "The question"


def _progress(job: Job) -> Headline:
    if job.state == "waiting":
        return Headline(tone="", lead="Waiting:", rest="other large searches come first.")
    if job.state == "stopped":
        return Headline(tone="warn", lead="Stopped", rest="before anything was looked at.")
    if job.state == "failed":
        return Headline(tone="bad", lead="Failed:", rest="this search could not be finished.")
    share = numbers.percent(job.done / job.total, 2)
    return Headline(tone="", lead="Searching:", rest=f"{share} of {numbers.count(job.total)} layouts.")


def _how_far(job: Job) -> str:
    if job.ended:
        return ""
    return f"{numbers.count(job.done)} layouts looked at in {numbers.seconds(job.elapsed_s)}."


def _answered(
    shared: dict[str, Any],
    answer: Mapping[str, Any],
    inputs: Inputs,
    question: SearchQuestion,
    *,
    stopped: bool,
) -> SearchView:
    best = answer["best"]
    batches = {row["training"]["global_batch_size"] for row in (*best, *answer["pareto"])}
    lead, why = headline(answer, inputs, stopped=stopped)
    own = _lasting(question)
    plain = _plain_url(shared)
    more = tuple((rows, with_own(plain, own, top=str(rows))) for rows in ROWS if rows != len(best))
    return SearchView(
        **shared,
        verdict=lead,
        why=why,
        readouts=readouts(answer),
        rows=row_views(best, batches=len(batches) > 1),
        remedies=_remedies(answer.get("nearest") or {}, in_effect(inputs), own),
        more=more if len(best) in ROWS else (),
        memory=memory_figure(answer) if best else None,
        batch=batch_figure(answer) if len(batches) > 1 else None,
    )


def _remedies(
    nearest: Mapping[str, Any], values: Mapping[str, Any], own: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Addresses of the same search with another batch, or on another number of devices."""
    catalog, per_node = load_catalog(), int(values["cluster.gpus_per_node"])
    found = []

    def changed(says: str, **changes: Any) -> None:
        paths = {name.replace("__", "."): value for name, value in changes.items()}
        found.append((says, with_own(address({**values, **paths}, catalog, at=PATH), own)))

    if nearest.get("num_nodes"):
        nodes, devices = nearest["num_nodes"], nearest["num_gpus"]
        where = f"{numbers.count(devices)} GPUs on {numbers.count(nodes)} {'node' if nodes == 1 else 'nodes'}"
        changed(
            f"{where}, the smallest cluster where it fits",
            cluster__num_nodes=nodes,
            cluster__num_gpus=devices,
        )
        return tuple(found)
    for batch in nearest.get("global_batch_size", ()):
        changed(f"a global batch of {numbers.count(batch)}", training__global_batch_size=batch)
    for devices in nearest.get("num_gpus", ()):
        nodes = -(-devices // per_node)
        changed(f"{numbers.count(devices)} GPUs", cluster__num_nodes=nodes, cluster__num_gpus=devices)
    return tuple(found)
