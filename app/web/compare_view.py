"""The comparison as a view: a table with a column for each layout, and why each differs from the first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.catalog import Catalog
from app.services.comparing import BATCH, MOST, Side, side_by_side
from app.services.neighbours import neighbours
from app.web import numbers
from app.web.calculator_form import carried
from app.web.compare_form import LEAST, CompareQuestion, compare_url, own_of, shared_values
from app.web.compare_rows import CompareRow, result_rows
from app.web.controls import LABELS, Control, control, path_of, query_name, written
from app.web.schedule_view import Headline
from app.web.values import address, in_effect
from app.web.verdict import violation_sentence

LETTERS = "ABCD"
SHARED = ("model.id", "cluster.gpu", "cluster.num_nodes", "training.global_batch_size", "training.seq_length")
OWN = (
    "layout.tensor_parallel", "layout.pipeline_parallel", "layout.context_parallel",
    "layout.micro_batch_size", "layout.virtual_pipeline_stages", "layout.zero_stage", "layout.recompute",
    "layout.sequence_parallel",
)  # fmt: skip
_BOOLEANS = (("true", "on"), ("false", "off"))


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRow:
    """One field of the layout, with a control in each column."""

    label: str
    axis: str
    controls: tuple[Control, ...]
    differs: tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One layout: its letter, what it is like, and where it leads."""

    letter: str
    state: str
    look: str
    url: str
    remove_url: str = ""
    problems: tuple[str, ...] = ()
    near_url: str = ""
    near_says: str = ""
    changed: str = ""
    cause: str = ""
    memory_cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareView:
    """Everything on the page."""

    verdict: Headline
    why: str
    url: str
    calculator_url: str
    shared: tuple[Control, ...]
    carried: tuple[tuple[str, str], ...]
    of_model: str
    of_gpu: str
    hold_batch: bool
    hold_url: str
    columns: tuple[Column, ...]
    inputs: tuple[InputRow, ...]
    rows: tuple[CompareRow, ...]
    add_url: str = ""
    usable: bool = True


def view_of(question: CompareQuestion, catalog: Catalog) -> CompareView:
    """Ask for every layout and set them side by side."""
    sides = side_by_side(question.shared, question.own, catalog, hold_batch=question.hold_batch)
    values = shared_values(question, catalog)
    own = own_of(question, sides, values)
    usable = sides[0].inputs is not None
    problems = {} if usable else dict(sides[0].problems)
    typed = question.calculator.typed
    controls = tuple(
        control(
            path,
            values,
            catalog,
            typed=typed.get(path) if path in problems else None,
            problem=problems.get(path, problems.get("model", "") if path == "model.id" else ""),
        )
        for path in SHARED
    )

    def url(changed: Sequence[Mapping[str, Any]], *, hold: bool = question.hold_batch) -> str:
        return compare_url(values, changed, catalog, hold_batch=hold)

    columns = tuple(_column(place, sides, own, catalog, url) for place in range(len(sides)))
    shown = set(OWN) | {"layout.data_parallel", "layout.schedule"} | set(SHARED)
    return CompareView(
        verdict=_verdict(sides),
        why=_why(sides, hold_batch=question.hold_batch),
        url=url(own),
        calculator_url=address(values, catalog),
        shared=controls,
        carried=tuple(
            (name, text)
            for name, text in carried(values, (), catalog)
            if (path_of(name) or name) not in shown
        )
        + _hidden_own(own),
        of_model=str(values.get("model.id") or ""),
        of_gpu=str(values.get("cluster.gpu") or ""),
        hold_batch=question.hold_batch,
        hold_url=url(own, hold=not question.hold_batch),
        columns=columns,
        inputs=_input_rows(sides, question, catalog),
        rows=result_rows(sides) if usable else (),
        add_url=url([*own, dict(own[-1])]) if len(own) < MOST else "",
        usable=usable,
    )


def _hidden_own(own: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """What a layout has of its own and no control shows travels as hidden fields."""
    return tuple(
        (f"{place}.{query_name(path)}", written(value))
        for place, changes in enumerate(own, 1)
        for path, value in changes.items()
        if path not in OWN
    )


def _column(
    place: int,
    sides: Sequence[Side],
    own: Sequence[Mapping[str, Any]],
    catalog: Catalog,
    url: Callable[[Sequence[Mapping[str, Any]]], str],
) -> Column:
    side = sides[place]
    rest = [changes for number, changes in enumerate(own) if number != place]
    removable = place > 0 and len(own) > LEAST
    if side.inputs is None:
        told = tuple(f"{LABELS.get(field, field)}: {message}" for field, message in side.problems)
        return Column(
            letter=LETTERS[place],
            state="cannot be calculated",
            look="wrong",
            url="",
            problems=told,
            remove_url=url(rest) if removable else "",
        )
    answer = side.answer
    broken = tuple(violation_sentence(violation) for violation in answer.get("violations") or ())
    near = neighbours(side.inputs, 1) if broken else []
    near_url = ""
    if near and place and near[0].num_gpus == side.inputs.cluster.num_gpus:
        layout = near[0].layout
        moved = dict(own[place]) | {
            "layout.tensor_parallel": layout.tensor_parallel,
            "layout.pipeline_parallel": layout.pipeline_parallel,
        }
        near_url = url([moved if number == place else changes for number, changes in enumerate(own)])
    fits = (answer.get("memory") or {}).get("fits")
    state, look = {
        "yes": ("fits", "right"),
        "borderline": ("borderline", "near"),
        "no": ("does not fit", "wrong"),
    }.get(str(fits), ("not legal", "wrong"))
    return Column(
        letter=LETTERS[place],
        state=state,
        look=look,
        url=address(in_effect(side.inputs), catalog),
        problems=broken,
        remove_url=url(rest) if removable else "",
        near_url=near_url,
        near_says=_sizes(near[0].layout) if near else "",
        changed=", ".join(side.changed),
        cause=side.cause,
        memory_cause=side.memory_cause,
    )


def _sizes(layout: Any) -> str:
    return f"{layout.tensor_parallel} · {layout.pipeline_parallel} · {layout.data_parallel}"


def _input_rows(sides: Sequence[Side], question: CompareQuestion, catalog: Catalog) -> tuple[InputRow, ...]:
    rows = []
    paths = OWN if question.hold_batch else (*OWN, BATCH)
    first = in_effect(sides[0].inputs) if sides[0].inputs else dict(question.shared)
    for path in paths:
        controls = []
        differs = []
        for place, side in enumerate(sides):
            values = in_effect(side.inputs) if side.inputs else {**question.shared, **question.own[place]}
            made = control(path, values, catalog, prefix=f"in{place + 1}")
            controls.append(_in_table(made, place, path))
            differs.append(values.get(path) != first.get(path))
        rows.append(
            InputRow(
                label=LABELS[path],
                axis=controls[0].axis,
                controls=tuple(controls),
                differs=tuple(differs),
            )
        )
    return tuple(rows)


def _in_table(made: Control, place: int, path: str) -> Control:
    """A control that a cell can hold: a select for what is chosen, else a short box."""
    kind, choices = ("number", ()) if made.kind in ("stepper", "number") else ("select", made.choices)
    if made.kind == "checkbox":
        choices = _BOOLEANS
    return Control(
        path=path,
        name=f"{place + 1}.{made.name}",
        id=made.id,
        label=f"{made.label}, layout {LETTERS[place]}",
        kind=kind,
        value=made.value,
        axis=made.axis,
        choices=choices,
    )


def _verdict(sides: Sequence[Side]) -> Headline:
    told = [
        (1 / float(side.answer["throughput"]["tokens_per_s"]), LETTERS[place], side)
        for place, side in enumerate(sides)
        if side.answer.get("legal") and side.answer["memory"]["fits"] != "no"
    ]
    if not told:
        return Headline(tone="bad", lead="None of these layouts fits", rest="and keeps every rule.")
    told.sort(key=lambda one: one[0])
    fastest, letter, side = told[0]
    step = numbers.seconds(side.answer["time"]["step_s"])
    if len(told) == 1:
        return Headline(tone="", lead=f"Only {letter} fits:", rest=f"{step} a step.")
    gap = told[1][0] / fastest - 1
    if gap < 0.0005:
        return Headline(tone="", lead=f"{letter} and {told[1][1]} tie:", rest=f"{step} a step.")
    return Headline(
        tone="",
        lead=f"{letter} is the fastest that fits:",
        rest=f"{step} a step, {numbers.percent(gap, 2)} before {told[1][1]}.",
    )


def _why(sides: Sequence[Side], *, hold_batch: bool) -> str:
    """What a larger micro-batch does at a held batch, where that is all that differs."""
    first = sides[0]
    for place, side in enumerate(sides[1:], 1):
        if first.inputs is None or side.inputs is None:
            continue
        sizes = first.inputs.layout.micro_batch_size, side.inputs.layout.micro_batch_size
        if sizes[0] == sizes[1] or not (first.answer["legal"] and side.answer["legal"]):
            continue
        if len(side.changed) > 1 or not hold_batch:
            continue
        bubbles = [numbers.percent(one.answer["time"]["bubble_fraction"], 2) for one in (first, side)]
        peaks = [numbers.percent(one.computing_fraction, 2) for one in (first, side)]
        return (
            f"The global batch is held, so {LETTERS[place]} has {side.answer['batch']['num_micro_batches']:,}"
            f" micro-batches and not {first.answer['batch']['num_micro_batches']:,}: the bubble goes from"
            f" {bubbles[0]} to {bubbles[1]}, and the matrix units from {peaks[0]} of peak to {peaks[1]}."
        )
    if hold_batch:
        return "All have the same global batch; the micro-batches are counted anew for each."
    return "Each has its own global batch; times are told for each token."
