"""The advisor's page as a view: one question of the procedure, or its result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.calculator.advisor import advise
from app.calculator.advisor_words import QUESTIONS
from app.catalog import Catalog
from app.services.advising import answer, steps_of
from app.services.advising_inputs import AdviceInputs, parse_advice
from app.services.advising_search import smallest_words
from app.services.input_values import InputProblem
from app.services.inputs import InputProblems
from app.web import numbers
from app.web.advise_form import (
    DECISIONS,
    PLACES,
    RESULT,
    START,
    AdviseQuestion,
    advise_url,
    batch_controls,
    decided_values,
    shared_values,
    typed_control,
)
from app.web.advise_result import ResultView, result_of
from app.web.advise_tables import OptionTable, decision_table, ways_table
from app.web.calculator_form import Complaint as FieldComplaint
from app.web.calculator_form import Fieldset, carried, values_for
from app.web.controls import LABELS, Control, control
from app.web.schedule_view import Complaint, Headline
from app.web.values import address
from app.web.verdict import RESOURCES

CONTROLS = ("model.id", "cluster.gpu", "cluster.num_nodes", "training.seq_length", "training.total_tokens")
TITLES = {
    START: "What binds",
    "sharding_first": "Sharding first",
    "tensor_width": "Tensor width",
    "pipeline_depth": "Pipeline depth",
    "micro_batches": "Micro-batches",
    "global_batch": "Global batch",
    "balance": "Balance",
    RESULT: "The layout",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One entry of the list of questions."""

    title: str
    says: str
    url: str
    here: bool
    yours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One question with its answer."""

    number: int
    question: str
    decision: str
    because: str
    change: str
    yours: bool
    table: OptionTable | None
    ways: OptionTable | None = None
    consequences: tuple[Mapping[str, str], ...] = ()
    typed: Control | None = None
    back_url: str = ""  # takes the decision back


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseView:
    """Everything on the page."""

    verdict: Headline
    why: str = ""
    url: str
    calculator_url: str
    set: Fieldset
    batch: tuple[Control, ...]
    carried: tuple[tuple[str, str], ...]
    decided: tuple[tuple[str, str], ...] = ()  # hidden fields
    of_model: str
    of_gpu: str
    place: str
    usable: bool = True
    complaints: tuple[Complaint, ...] = ()
    places: tuple[Place, ...] = ()
    step: StepView | None = None
    result: ResultView | None = None
    next_url: str = ""
    next_says: str = ""
    previous_url: str = ""


def view_of(question: AdviseQuestion, catalog: Catalog) -> AdviseView:
    """Ask the procedure and set out the question that is asked for."""
    asked = parse_advice(question.raw, catalog)
    shared = _shared(question, asked, catalog)
    if isinstance(asked, InputProblems):
        faults = dict.fromkeys((problem.field, problem.message) for problem in asked.problems)
        return AdviseView(
            **shared,
            verdict=Headline(tone="bad", lead="Cannot be advised:", rest="some words cannot be used."),
            usable=False,
            complaints=tuple(Complaint(label=_label(field), message=said) for field, said in faults)[:20],
        )
    advice = advise(asked.situation)
    full = question.place == RESULT
    told = answer(asked, advice, catalog) if full else steps_of(asked, advice)
    values = shared_values(asked.inputs)
    shared |= _walk(question, values, told["steps"], catalog)
    if question.place == START:
        return AdviseView(**shared, verdict=_binding(told["binding"]), why=_start_words(asked))
    if full:
        lead, why = _result_words(told)
        return AdviseView(**shared, verdict=lead, why=why, result=result_of(told, asked))
    step = next(step for step in told["steps"] if step["id"] == question.place)
    return AdviseView(
        **shared,
        verdict=Headline(tone="", lead="", rest=step["question"]),
        step=_step(question, asked, values, step, catalog),
    )


def _shared(
    question: AdviseQuestion, asked: AdviceInputs | InputProblems, catalog: Catalog
) -> dict[str, Any]:
    """The form and the addresses, whatever the procedure says."""
    wrong: Sequence[InputProblem] = asked.problems if isinstance(asked, InputProblems) else ()
    problems = {problem.field: problem.message for problem in reversed(wrong)}
    problems |= {"model.id": problems["model"]} if "model" in problems else {}
    if isinstance(asked, AdviceInputs):
        values: dict[str, Any] = shared_values(asked.inputs)
    else:
        named = [FieldComplaint(path=problem.field, label="", message="") for problem in wrong]
        values = values_for(question.calculator, named, catalog)
        values = {path: value for path, value in values.items() if not path.startswith("layout.")}
        values.pop("training.global_batch_size", None)
    typed = question.calculator.typed
    controls = tuple(
        control(
            path,
            values,
            catalog,
            typed=typed.get(path) if problems.get(path) else _none_as_empty(path, values),
            problem=problems.get(path, ""),
        )
        for path in CONTROLS
    )
    shown = Fieldset(legend="Model and cluster", controls=controls, more_title="", more=(), open=False)
    return {
        "set": shown,
        "batch": batch_controls(question, problems.get("batch_range", "")),
        "carried": carried(values, (shown,), catalog),
        "decided": tuple((path.partition(".")[2], value) for path, value in question.decided.items()),
        "of_model": str(values.get("model.id") or ""),
        "of_gpu": str(values.get("cluster.gpu") or ""),
        "place": question.place,
        "url": advise_url(question, values, catalog),
        "calculator_url": _calculator_url(question, values, catalog),
    }


def _none_as_empty(path: str, values: Mapping[str, Any]) -> str | None:
    return "" if path == "training.total_tokens" and not values.get(path) else None


def _calculator_url(question: AdviseQuestion, values: Mapping[str, Any], catalog: Catalog) -> str:
    """The calculator with what is decided so far; whatever is open is as it says."""
    kept = {path: value for path, value in values.items() if not path.startswith("layout.")}
    if question.batch[0] and question.batch[0] == question.batch[1]:
        kept["training.global_batch_size"] = question.batch[0]
    return address({**kept, **decided_values(question)}, catalog)


def _walk(
    question: AdviseQuestion, values: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], catalog: Catalog
) -> dict[str, Any]:
    """The list of questions, and the ways on and back."""
    said = {step["id"]: step for step in steps}
    places = tuple(
        Place(
            title=TITLES[place],
            says=str(said[place]["decision"]) if place in said else "",
            url=advise_url(question, values, catalog, place=place),
            here=place == question.place,
            yours=place in said and said[place]["decided_by"] == "you",
        )
        for place in PLACES
    )
    at = PLACES.index(question.place)
    onward = PLACES[at + 1] if at + 1 < len(PLACES) else ""
    return {
        "places": places,
        "next_url": advise_url(question, values, catalog, place=onward) if onward else "",
        "next_says": "See where it leads" if onward == RESULT else "First question" if not at else "Go on",
        "previous_url": advise_url(question, values, catalog, place=PLACES[at - 1]) if at else "",
    }


def _binding(binding: Mapping[str, Any] | None) -> Headline:
    if binding is None:
        return Headline(tone="", lead="Nothing binds yet:", rest="no layout of whole copies is legal here.")
    resource = RESOURCES.get(str(binding["resource"]), "compute")
    because = str(binding["because"])
    return Headline(
        tone="bad" if binding["resource"] == "memory" else "",
        lead=f"{resource[:1].upper()}{resource[1:]} binds:",
        rest=f"{because}.",
    )


def _start_words(asked: AdviceInputs) -> str:
    gpus = asked.inputs.cluster.num_gpus
    return (
        f"That is for plain copies of the whole model on {numbers.count(gpus)}"
        f" {'device' if gpus == 1 else 'devices'}, before anything is decided. Six questions follow; each can"
        " be answered otherwise, and the rest goes on from there."
    )


def _result_words(told: Mapping[str, Any]) -> tuple[Headline, str]:
    layout, summary = told["layout"], told["summary"]
    if layout is None:
        step = told["steps"][4]
        headline = Headline(tone="bad", lead=f"{step['decision']}:", rest=step["because"])
        return headline, smallest_words(told["smallest_cluster"])
    sizes = f"tensor {layout['tensor_parallel']}, pipeline {layout['pipeline_parallel']},"
    copies = f"{layout['data_parallel']:,} {'copy' if layout['data_parallel'] == 1 else 'copies'}"
    rest = f"{sizes} {copies}. A step takes {numbers.seconds(summary['step_s'])}."
    compared = told["compared"]
    if "slower_fraction" not in compared:
        return Headline(tone="good", lead="Fits:", rest=rest), str(compared.get("note", ""))
    slower = float(compared["slower_fraction"])
    fits = Headline(tone="good", lead="Fits:", rest=rest)
    if slower <= 0:
        return fits, "No layout of this cluster and batch is faster."
    return (
        fits,
        f"It is {numbers.percent(slower, 2)} slower than the best of all layouts; the reason is below.",
    )


def _step(
    question: AdviseQuestion,
    asked: AdviceInputs,
    values: Mapping[str, Any],
    step: Mapping[str, Any],
    catalog: Catalog,
) -> StepView:
    id = str(step["id"])

    def url(**changes: Any) -> str:
        return advise_url(question, values, catalog, **changes)

    taken = next(iter(step["changes"].values()), "") if step["changes"] else ""
    if isinstance(taken, list):
        taken = ", ".join(str(count) for count in taken)
    yours = step["decided_by"] == "you"
    back = {path.replace(".", "__"): None for path in question.decided if _asked_at(path, id)}
    if id == "global_batch" and any(question.batch):
        back_url = url(batch=("", ""))
    else:
        back_url = url(**back) if back else ""
    return StepView(
        number=PLACES.index(id),
        question=QUESTIONS[id],
        decision=str(step["decision"]),
        because=str(step["because"]),
        change=str(step["what_would_change_it"]),
        yours=yours,
        table=decision_table(step, url),
        ways=ways_table(step, asked, url) if id == "global_batch" else None,
        consequences=tuple(step["numbers"].get("consequences", ())) if id == "global_batch" else (),
        typed=typed_control(question, str(taken)),
        back_url=back_url if yours else "",
    )


def _asked_at(path: str, place: str) -> bool:
    return DECISIONS.get(path) == place


def _label(field: str) -> str:
    if field == "batch_range":
        return "Batch"
    path = f"layout.{field.partition('.')[2]}" if field.startswith("fixed.") else field
    return LABELS.get("model.id" if path == "model" else path, field or "The question")
