"""/published as a view: the runs that were chosen, what they say together, and one row for each."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from urllib.parse import quote

from markupsafe import Markup

from app.catalog import load_catalog
from app.catalog.held_out import GroupError, HeldOut
from app.services.runs import KINDS, Run
from app.services.validation import ROW_LIMIT, utilization
from app.web import numbers
from app.web.charts.error_bar import error_bar
from app.web.charts.figure import Figure
from app.web.charts.histogram import histogram_figure
from app.web.published_filter import MEMORY, OF, PER_PAGE, Filter, chosen_runs, error_of

WITHIN = 0.10  # the share of runs inside this is told
NOTED = 0.15  # from here on a row says what is known about its error
REACH = 0.30


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run in the table."""

    model: str
    url: str
    run_url: str
    source: str
    source_in_full: str
    gpus: str
    layout: str
    recompute: str
    reported: str
    predicted: str
    error: str
    bar: Markup
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One source group, errors in percent."""

    name: str
    runs: str
    in_sample: str
    folds: str
    source_left_out: str
    null: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedView:
    """Everything on the page."""

    chosen: Filter
    lead: str
    summary: str
    histogram: Figure | None
    groups: tuple[GroupRow, ...]
    group_mean: GroupRow
    rows: tuple[RunRow, ...]
    count: int
    compared: int
    pages: int
    first: int
    last: int
    sources: tuple[tuple[str, str], ...]
    gpus: tuple[tuple[str, str], ...]
    kinds: tuple[tuple[str, str], ...]

    @property
    def unit(self) -> str:
        """The unit of what is compared."""
        return "GiB" if self.chosen.of == MEMORY else "s"


def view_of(runs: Sequence[Run], chosen: Filter, held_out: HeldOut) -> PublishedView:
    """The page for these choices; a page number past the end is the last page."""
    found = chosen_runs(runs, chosen)
    pages = max(1, math.ceil(len(found) / PER_PAGE))
    chosen = replace(chosen, page=min(chosen.page, pages))
    start = (chosen.page - 1) * PER_PAGE
    shown = found[start : start + PER_PAGE]
    compared = [run for run in found if error_of(run, chosen.of) is not None]
    return PublishedView(
        chosen=chosen,
        lead=lead_of(runs, held_out),
        summary=_summary(compared, len(found), chosen.of),
        histogram=_histogram(compared, chosen.of) if compared else None,
        groups=tuple(group_row(name, error) for name, error in held_out.groups.items()),
        group_mean=group_row("mean of the groups", held_out.mean),
        rows=tuple(_row(run, chosen.of) for run in shown),
        count=len(found),
        compared=len(compared),
        pages=pages,
        first=start + 1 if shown else 0,
        last=start + len(shown),
        sources=_sources(runs),
        gpus=tuple((gpu, gpu_name(gpu)) for gpu in dict.fromkeys(run.gpu for run in runs)),
        kinds=tuple((kind, says) for kind, says in KINDS.items() if any(run.kind == kind for run in runs)),
    )


def _sources(runs: Sequence[Run]) -> tuple[tuple[str, str], ...]:
    """Every source with a name to choose it by: the short one where no other source has it too."""
    names = dict.fromkeys(run.source for run in runs)
    short = [short_source(name) for name in names]
    return tuple(
        (name, one if short.count(one) == 1 else name) for name, one in zip(names, short, strict=True)
    )


def lead_of(runs: Sequence[Run], held_out: HeldOut) -> str:
    """What the data say of us, in three sentences."""
    errors = [abs(run.result.signed_error) for run in runs if run.result.signed_error is not None]
    inside = sum(error <= WITHIN for error in errors)
    mean = held_out.mean
    return (
        f"{inside} of {len(errors)} step times are within {percent(WITHIN)} of what the authors reported. "
        f"The mean error over sources is {percent(mean.in_sample)}; {percent(mean.folds)} for model shapes "
        f"that nothing was fitted to, {percent(mean.source_left_out)} for a source that was left out. "
        f"Assuming one utilization for every run gives {percent(mean.null)}."
    )


def _summary(compared: Sequence[Run], count: int, of: str) -> str:
    """The chosen runs in one sentence."""
    runs = f"{count} {'run' if count == 1 else 'runs'}"
    if not compared:
        return f"{runs}{', none of which reports its ' + OF[of].lower() if count else ''}."
    errors = [abs(error) for run in compared if (error := error_of(run, of)) is not None]
    inside = sum(error <= WITHIN for error in errors) / len(errors)
    silent = f", {len(compared)} of them with a {OF[of].lower()}" if len(compared) < count else ""
    return (
        f"{runs}{silent}: mean error {percent(math.fsum(errors) / len(errors))}, "
        f"median {percent(median(errors))}, {percent(inside, 2)} within {percent(WITHIN)}."
    )


def _histogram(compared: Sequence[Run], of: str) -> Figure:
    errors = [error for run in compared if (error := error_of(run, of)) is not None]
    null = [] if of == MEMORY else [e for run in compared if (e := run.result.null_error) is not None]
    figure = histogram_figure(errors, null, reach=REACH)
    outer = f"The outer bins hold everything beyond {percent(REACH - 0.05)}."
    if of == MEMORY:
        return replace(figure, caption=outer)
    null_model = f"Outline: the null model, one utilization of {percent(utilization(), 2)} for all runs."
    return replace(figure, caption=f"{null_model} {outer}")


def group_row(name: str, error: GroupError) -> GroupRow:
    """A source group in words."""
    return GroupRow(
        name=short_source(name),
        runs=numbers.count(error.runs),
        in_sample=percent(error.in_sample),
        folds=percent(error.folds),
        source_left_out=percent(error.source_left_out),
        null=percent(error.null),
    )


def _row(run: Run, of: str) -> RunRow:
    result, layout = run.result, run.inputs.layout
    reported, predicted = result.reported_step_s, result.predicted_step_s
    if of == MEMORY:
        reported, predicted = result.reported_memory_bytes, result.predicted_memory_bytes
    error = error_of(run, of)
    show = numbers.gib_number if of == MEMORY else numbers.significant
    more = "".join(
        f" · {letter} {size}"
        for letter, size in (("c", layout.context_parallel), ("e", layout.expert_parallel))
        if size > 1
    )
    return RunRow(
        model=run.model_name,
        url=f"/calculator?{run.query}",
        run_url=f"/published/{quote(run.id)}",
        source=short_source(run.source),
        source_in_full=run.source,
        gpus=f"{numbers.count(run.num_gpus)} × {gpu_name(run.gpu)}",
        layout=f"{layout.tensor_parallel} · {layout.pipeline_parallel} · {layout.data_parallel}{more}",
        recompute=layout.recompute.name.lower(),
        reported=show(reported) if reported is not None else "–",
        predicted=show(predicted) if predicted is not None else "–",
        error=signed_percent(error),
        bar=error_bar(error, None if of == MEMORY else result.null_error, reach=REACH),
        note=note_of(run, error) if error is not None and abs(error) > NOTED else "",
    )


def note_of(run: Run, error: float | None) -> str:
    """Why a prediction is off, as far as that is known."""
    said = []
    reason = run.result.reason
    if reason:
        said.append(f"{reason[:1].upper()}{reason[1:]}.")
    if run.assumed_fields:
        said.append(f"Not stated by the source, and assumed: {', '.join(plain(run.assumed_fields))}.")
    if not said and error is not None and abs(error) > ROW_LIMIT:
        said.append("No cause found.")
    return " ".join(said)


def plain(fields: Sequence[str]) -> list[str]:
    """Names of fields as words."""
    return [_WORDS.get(name, name.replace("_", " ").replace(".", ": ")) for name in fields]


_WORDS = {
    "model.heads": "attention heads",
    "model.kv_heads for 34b": "KV heads of the 34B",
    "model.seq": "sequence length",
    "model.layers": "layers",
    "model.hidden": "hidden width",
    "model shape (ffn, vocab)": "MLP width and vocabulary",
    "tp": "tensor-parallel size",
    "pp": "pipeline stages",
    "dp": "replicas",
    "n_gpus": "number of GPUs",
    "micro_batch": "micro-batch",
    "virtual_stages": "chunks of a stage",
    "sequence_parallel": "sequence parallelism",
    "zero_stage": "ZeRO stage",
}


def short_source(source: str) -> str:
    """A source in one line of a table; the whole of it stands in the title and on the run's page."""
    text = source.replace(" (Large Scale, >= 128 GPUs)", ", from 128 GPUs").replace(" benchmarks", "")
    return re.sub(r" with .*| \([^()]*\)", "", text)


def gpu_name(gpu: str) -> str:
    """A device without its maker and its socket: A100 80GB."""
    entry = load_catalog().gpus.get(gpu)
    return re.sub(r"^NVIDIA |\bSXM\d? | HBM2e| \(.*", "", entry.device.name) if entry else gpu


def percent(fraction: float, digits: int = 2) -> str:
    """A fraction as percent with two digits: 3.4 %, 29 %."""
    return numbers.percent(fraction, digits)


def signed_percent(error: float | None) -> str:
    """A signed error: +2.9 %, −0.5 %, or a dash where nothing was reported."""
    if error is None:
        return "–"
    text = numbers.fixed(abs(error) * 100, 1)
    sign = "" if float(text.replace(",", "")) == 0 else numbers.MINUS if error < 0 else "+"
    return f"{sign}{text}{numbers.NBSP}%"
