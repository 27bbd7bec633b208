"""Where the procedure leads: the layout, the search beside it, what was unaffordable, what would help."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.services.advising_inputs import AdviceInputs
from app.web import numbers
from app.web.charts.figure import Figure
from app.web.charts.sensitivity import sensitivity_figure
from app.web.schedule_view import Readout


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """One field in which the procedure and the best of the search differ."""

    name: str
    ours: str
    best: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Something that was refused, and the value at which it would do."""

    question: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultView:
    """Everything below the result's verdict."""

    url: str = ""
    best_url: str = ""
    readouts: tuple[Readout, ...] = ()
    binding: str = ""
    decisions: tuple[tuple[str, str, str], ...] = ()  # question, decision, reason
    why: str = ""
    departures: tuple[Departure, ...] = ()
    prices: tuple[Price, ...] = ()
    figure: Figure | None = None


def result_of(told: Mapping[str, Any], asked: AdviceInputs) -> ResultView:
    """The view of a whole answer."""
    decisions = tuple((step["question"], step["decision"], step["because"]) for step in told["steps"])
    if told["layout"] is None:
        return ResultView(decisions=decisions)
    summary, compared = told["summary"], told["compared"]
    because = str(told["layout_binding"]["because"])
    return ResultView(
        url=told["url"],
        best_url=str((compared.get("best") or {}).get("url", "")),
        readouts=_readouts(summary, asked),
        binding=f"{because[:1].upper()}{because[1:]}.",
        decisions=decisions,
        why=str(compared.get("why") or compared.get("note") or ""),
        departures=tuple(
            Departure(
                name=str(one["name"]),
                ours=str(one["says"]).partition(" → ")[2],
                best=str(one["says"]).partition(" → ")[0],
                because=str(one["because"]),
            )
            for one in compared.get("departures", ())
        ),
        prices=tuple(
            Price(question=str(one["question"]), says=str(one["says"]))
            for one in told["unaffordable"].values()
        ),
        figure=sensitivity_figure(told["sensitivity"]),
    )


def _readouts(summary: Mapping[str, Any], asked: AdviceInputs) -> tuple[Readout, ...]:
    told = (
        ("Step", numbers.seconds(summary["step_s"]), numbers.exact(summary["step_s"], "s")),
        ("Throughput", numbers.rate(summary["tokens_per_s"], "tokens/s"), ""),
        ("Largest stage", numbers.gib(summary["peak_bytes"]), numbers.exact(summary["peak_bytes"], "bytes")),
        ("Bubble", numbers.percent(summary["bubble_fraction"], 2), ""),
        ("Global batch", numbers.count(summary["global_batch_size"]), ""),
        ("GPUs", numbers.count(asked.inputs.cluster.num_gpus), ""),
    )
    readouts = []
    for label, text, exact in told:
        value, unit = numbers.split_unit(text)
        readouts.append(Readout(label=label, value=value, unit=unit, exact=exact))
    return tuple(readouts)
