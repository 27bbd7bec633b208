"""The advisor's sentences: a decision, the reason with numbers, and what would change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.calculator.advisor_cuts import Tried
from app.calculator.advisor_options import SEVERAL, Option, Situation
from app.calculator.layout import Recompute
from app.calculator.units import format_gib, format_percent, format_seconds

QUESTIONS = {
    "sharding_first": "Is surgery needed at all, or is it only bookkeeping?",
    "tensor_width": "How wide must the matrices be cut?",
    "pipeline_depth": "How deep must the model be cut?",
    "micro_batches": "How many micro-batches, and of what size?",
    "global_batch": "What does that do to the global batch?",
    "balance": "Do the stages take the same time?",
}
RECOMPUTE = {
    Recompute.NONE: "nothing recomputed",
    Recompute.SELECTIVE: "attention recomputed",
    Recompute.FULL: "every layer recomputed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One question of the procedure with its answer. `changes` are the layout's fields that it settles."""

    id: str
    decision: str
    because: str
    what_would_change_it: str
    numbers: Mapping[str, Any]
    changes: Mapping[str, Any] = field(default_factory=dict)
    options: Sequence[Mapping[str, Any]] = ()
    by_you: bool = False

    def to_json(self) -> dict[str, Any]:
        """In the words of the API."""
        return {
            "id": self.id,
            "question": QUESTIONS[self.id],
            "decision": self.decision,
            "because": self.because,
            "numbers": dict(self.numbers),
            "what_would_change_it": self.what_would_change_it,
            "changes": dict(self.changes),
            "options": [dict(option) for option in self.options],
            "decided_by": "you" if self.by_you else "procedure",
        }


def held(option: Option) -> str:
    """61.3 GiB of 79.2 GiB."""
    return f"{format_gib(option.peak_bytes)} of {format_gib(option.usable_bytes)}"


def kept_words(option: Option) -> str:
    """The bookkeeping of an option."""
    layout = option.layout
    said = [f"ZeRO {layout.zero_stage}" if layout.zero_stage else "no sharding", RECOMPUTE[layout.recompute]]
    if layout.sequence_parallel:
        said.append("sequence parallel")
    if layout.expert_parallel > 1:
        said.append(f"experts over {layout.expert_parallel}")
    return ", ".join(said)


def verdict(situation: Situation, option: Option | None, *, batch_allows: bool = True) -> str:
    """Why an option can be had, or why not, in a few words."""
    if option is None:
        return "not legal for this model and cluster"
    if not situation.fits(option):
        limit = option.usable_bytes * (1 - situation.spare_fraction)
        over = option.peak_bytes - option.usable_bytes
        if over > 0:
            return f"over by {format_gib(over)}"
        return f"fits, but closer than a calculation can tell (limit {format_gib(limit)})"
    if not batch_allows:
        return (
            f"fits, but {_sequences(situation)} cannot be dealt out to {option.layout.data_parallel:,} copies"
        )
    return f"fits, {format_gib(option.usable_bytes - option.peak_bytes)} to spare"


def _sequences(situation: Situation) -> str:
    batches = situation.batches
    if batches.fixed:
        return f"a batch of {batches.least:,}"
    return f"a batch of {batches.least:,} to {batches.most:,.0f}"


def rows(situation: Situation, found: Sequence[Tried], name: str) -> list[dict[str, Any]]:
    """What was tried, as a table: the value of `name`, its numbers, and why."""
    return [
        {
            name: one.value,
            "legal": one.option is not None,
            "good": one.good,
            "says": verdict(situation, one.option, batch_allows=one.batch_allows),
            **(one.option.to_json() if one.option else {}),
        }
        for one in found
    ]


def short_of(situation: Situation, option: Option | None) -> str:
    """How much memory a device would need for an option that was refused."""
    if option is None:
        return ""
    limit = option.usable_bytes * (1 - situation.spare_fraction)
    return f"on devices with {format_gib(max(0.0, option.peak_bytes - limit))} more memory"


def width_words(situation: Situation, found: Sequence[Tried], chosen: int) -> tuple[str, str]:
    """(because, what would change it) of a tensor width."""
    one = next(other for other in found if other.value == chosen)
    node = situation.cluster.gpus_per_node
    if one.option is None:
        return f"Tensor {chosen} is not legal here.", "Another width: heads, KV heads and the MLP decide."
    if "tensor_parallel" in situation.fixed:
        why = verdict(situation, one.option, batch_allows=one.batch_allows)
        return f"With tensor {chosen} a device holds {held(one.option)} on one stage: {why}.", ""
    narrower = [other for other in found if other.value < chosen and other.option is not None]
    before = narrower[-1] if narrower else None
    if not one.good:
        why = verdict(situation, one.option, batch_allows=one.batch_allows)
        change = "with a batch that divides" if one.fits else short_of(situation, one.option)
        return (
            f"No legal width inside a node of {node} is enough on one stage: with tensor {chosen} it is"
            f" {held(one.option)}, {why}. The widest is taken, and depth has to close the gap.",
            _sentence(f"tensor {chosen} alone would do {change}"),
        )
    said = f"With tensor {chosen} a device holds {held(one.option)}"
    if before is None:
        return f"{said}: no matrix has to be cut.", "A larger model, a longer sequence or smaller devices."
    why = verdict(situation, before.option, batch_allows=before.batch_allows)
    change = "with a larger batch" if before.fits else short_of(situation, before.option)
    return (
        f"{said}. It is the smallest width that will do. Tensor {before.value}: {why}.",
        _sentence(f"tensor {before.value} would do {change}"),
    )


def depth_words(situation: Situation, found: Sequence[Tried], chosen: int) -> tuple[str, str]:
    """(because, what would change it) of a pipeline depth."""
    one = next((other for other in found if other.value == chosen), None)
    if one is None or one.option is None:
        return f"{chosen} stages are not legal here.", "Another depth."
    said = f"With {stages_words(chosen)} the fullest device holds {held(one.option)}"
    if "pipeline_parallel" in situation.fixed:
        return f"{said}: {verdict(situation, one.option, batch_allows=one.batch_allows)}.", ""
    if not one.fits:
        return (
            f"No depth closes the gap: {said[0].lower()}{said[1:]}.",
            _sentence(f"it would {short_of(situation, one.option)}, or on more of them"),
        )
    shallower = [other for other in found if other.value < chosen]
    if not shallower:
        return f"{said}: no gap is left, and every stage would add idle time.", (
            "A gap that width alone does not close."
        )
    before = shallower[-1]
    why = verdict(situation, before.option, batch_allows=before.batch_allows)
    change = "with a larger batch" if before.fits else short_of(situation, before.option)
    return (
        f"{said}. {stages_words(before.value).capitalize()}: {why}. Every stage adds a slot of filling and"
        " one of draining, so no more are bought than are needed.",
        _sentence(f"{stages_words(before.value)} would do {change}"),
    )


def micro_batch_words(option: Option) -> tuple[str, str, str]:
    """(decision, because, what would change it) of the micro-batches."""
    layout, m = option.layout, option.num_micro_batches
    b, p = layout.micro_batch_size, layout.pipeline_parallel
    chunks = layout.virtual_pipeline_stages
    decision = f"{'One micro-batch' if m == 1 else f'{m:,} micro-batches'} of {b}" + (
        f", in {chunks} chunks a device" if chunks > 1 else ""
    )
    told = f"{option.tokens_per_s:,.0f} tokens/s, {held(option)}"
    if p == 1:
        return (
            decision,
            f"One stage has no bubble; the size is the fastest that fits: {told}.",
            ("Memory for a larger micro-batch, or another batch."),
        )
    bubble = format_percent(option.bubble_fraction)
    if m >= SEVERAL * p:
        because = f"{m:,} is {m / p:.3g} times the {p} stages: the bubble is {bubble}; {told}."
    else:
        each = f"{m / p:.2g} for each of {p} stages"
        given = "one micro-batch" if m == 1 else f"{m:,} micro-batches"
        because = f"The batch gives {given}, {each}: the bubble is {bubble}."
        if chunks > 1:
            because += f" Interleaving {chunks} chunks divides the filling and draining."
    change = (
        "A larger micro-batch fills the matrix units better, and leaves fewer of them for the same batch."
    )
    return decision, because, change


def batch_words(situation: Situation, option: Option) -> tuple[str, str, str]:
    """(decision, because, what would change it) of the global batch."""
    layout, m, batches = option.layout, option.num_micro_batches, situation.batches
    b, d = layout.micro_batch_size, layout.data_parallel
    tokens = option.global_batch_size * situation.training.seq_length
    decision = f"{option.global_batch_size:,} sequences a step, {tokens:,} tokens"
    identity = f"{b} · {m:,} · {d:,} = {option.global_batch_size:,}"
    needed = SEVERAL * layout.pipeline_parallel * b * d
    if batches.free:
        return (
            decision,
            f"{identity}. No limit was given, so this is read off the layout: ask who owns the recipe.",
            "A range of batches that the recipe accepts.",
        )
    inside = f"{identity}, inside what was asked for ({_sequences(situation)})"
    if layout.pipeline_parallel > 1 and m < SEVERAL * layout.pipeline_parallel:
        return (
            f"{decision}: too few for the pipeline",
            f"{inside}. Several micro-batches a stage would take {needed:,} sequences. The batch binds.",
            "One of the ways below has to give.",
        )
    change = f"This cut takes batches in multiples of {b * d:,}."
    if layout.pipeline_parallel > 1:
        change += f" Below {needed:,} sequences there are fewer than {SEVERAL} micro-batches for each stage."
    return decision, f"{inside}.", change


def stages_words(count: int) -> str:
    """A number of stages."""
    return "one stage" if count == 1 else f"{count} stages"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def seconds(value: float) -> str:
    """A duration for a sentence."""
    return format_seconds(value)
