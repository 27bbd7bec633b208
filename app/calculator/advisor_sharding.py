"""The advisor's first question: does the model have to be cut, or does sharding the states do?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.calculator.advisor_cuts import Cut, chosen_micro_batch, cut, with_micro_batches
from app.calculator.advisor_options import Option, Situation, judged, nearest, sharding_stages
from app.calculator.advisor_words import Step, held, kept_words, seconds, verdict
from app.calculator.units import format_gib, format_percent

WHOLE = (0, 1, 2, 3)  # ZeRO stages of a model that is not cut
NO_MORE_TRAFFIC = 2  # the last stage that moves no more bytes than plain copies do


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """The answer: whether a cut is needed, the cut where it was worked out for comparison, and the step."""

    needed: bool
    step: Step
    stages: tuple[int, ...] = ()  # ZeRO stages that whole copies go on with
    cut: Cut | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    needed: bool
    decision: str
    because: str
    change: str
    numbers: Mapping[str, Any]
    cut: Cut | None = None
    stage: int | None = None


def sharding(situation: Situation) -> Sharding:
    """Whole copies with every ZeRO stage, and whether one of them will do."""
    by_stage = {
        stage: nearest(situation, judged(situation, 1, 1, (stage,)))
        for stage in (WHOLE if "zero_stage" not in situation.fixed else (situation.base.zero_stage,))
    }
    answer = _answer(situation, by_stage)
    copies = situation.copies(1, 1)
    unit = situation.micro_batch() * max(1, copies)
    allowed = situation.batches.batch(unit, unit) is not None
    options = [
        {
            "zero_stage": stage,
            "legal": option is not None,
            "good": option is not None and situation.fits(option) and allowed,
            "says": verdict(situation, option, batch_allows=allowed),
            **(option.to_json() if option else {}),
        }
        for stage, option in by_stage.items()
    ]
    step = Step(
        id="sharding_first",
        decision=answer.decision,
        because=answer.because,
        what_would_change_it=answer.change,
        numbers={"copies": copies, "surgery": answer.needed, **answer.numbers},
        changes={} if answer.stage is None else {"zero_stage": answer.stage},
        options=options,
        by_you="zero_stage" in situation.fixed,
    )
    stages = () if answer.stage is None else WHOLE if answer.stage == 3 else WHOLE[:3]
    return Sharding(needed=answer.needed, step=step, cut=answer.cut, stages=stages)


def _answer(situation: Situation, by_stage: Mapping[int, Option | None]) -> _Answer:
    known = {stage: option for stage, option in by_stage.items() if option is not None}
    if not known:
        return _Answer(
            needed=True,
            decision="A cut is needed",
            because="Whole copies are not legal on this cluster.",
            change="",
            numbers={},
        )
    fitting = {stage: option for stage, option in known.items() if situation.fits(option)}
    light = {stage: option for stage, option in fitting.items() if stage <= NO_MORE_TRAFFIC}
    forced = _forced(situation)
    copies = situation.copies(1, 1)
    unit = situation.micro_batch() * copies
    if forced:
        return _Answer(
            needed=True,
            decision="You cut the model",
            because=f"{forced} {_whole_words(situation, known)}",
            change="Take the decision back, and the question is open again.",
            numbers=_numbers(known),
        )
    if not fitting:
        return _too_large(known)
    if situation.batches.batch(unit, unit) is None:
        most = situation.batches.most
        return _Answer(
            needed=True,
            decision="A cut is needed, for the batch",
            because=f"Whole copies would fit, but {copies:,} of them need at least {unit:,} sequences, in"
            f" multiples of {unit:,}; at most {most:,.0f} are accepted. Devices have to share a copy.",
            change=f"A batch that {copies:,} copies divide, or fewer devices.",
            numbers=_numbers(known),
        )
    if light:
        return _bookkeeping(known, light)
    return _heavy(situation, known[max(fitting)], known)


def _forced(situation: Situation) -> str:
    base, fixed = situation.base, situation.fixed
    said = []
    if "tensor_parallel" in fixed and base.tensor_parallel > 1:
        said.append(f"tensor {base.tensor_parallel}")
    if "pipeline_parallel" in fixed and base.pipeline_parallel > 1:
        said.append(f"pipeline {base.pipeline_parallel}")
    if situation.chunks_decided:
        said.append(f"{base.virtual_pipeline_stages} chunks a device")
    return f"Your decision: {', '.join(said)}." if said else ""


def _whole_words(situation: Situation, known: Mapping[int, Option]) -> str:
    stage, option = min(known.items(), key=lambda item: (not situation.fits(item[1]), item[0]))
    return f"A whole copy with ZeRO {stage} would hold {held(option)}."


def _too_large(known: Mapping[int, Option]) -> _Answer:
    stage, option = min(known.items(), key=lambda item: item[1].peak_bytes)
    plain = known.get(0, option)
    return _Answer(
        needed=True,
        decision="A cut is needed: bookkeeping is not enough",
        because=f"A whole copy without sharding holds {format_gib(plain.peak_bytes)} of"
        f" {format_gib(plain.usable_bytes)}"
        + (f"; with {kept_words(option)} still {format_gib(option.peak_bytes)}." if stage else "."),
        change="More copies to shard over, or fewer bytes of state per parameter.",
        numbers=_numbers(known),
    )


def _bookkeeping(known: Mapping[int, Option], light: Mapping[int, Option]) -> _Answer:
    stage, option = max(light.items(), key=lambda item: (item[1].tokens_per_s, -item[0]))
    plain = known.get(0, option)
    fits = f"with ZeRO {stage}" if stage else "without any sharding"
    needed = 0 in light
    decision = "No cut: whole copies fit" if needed else f"No cut: ZeRO {stage} is enough"
    because = f"A whole copy {fits} holds {held(option)} ({kept_words(option)})."
    if not needed:
        because += f" Without sharding it would be {format_gib(plain.peak_bytes)}."
    if stage:
        because += " Sharding optimizer states and gradients moves no more bytes than plain copies do."
    return _Answer(
        needed=False,
        decision=decision,
        because=because,
        change="A larger model or smaller devices; or a batch too small for so many copies.",
        numbers=_numbers(known),
        stage=stage,
    )


def _heavy(situation: Situation, whole: Option, known: Mapping[int, Option]) -> _Answer:
    """Stage 3 fits: its gathers against the best that the cuts come to."""
    uncut = chosen_micro_batch(situation, with_micro_batches(situation, 1, 1, WHOLE))
    cuts = cut(situation)
    size = (cuts.tensor_parallel, cuts.pipeline_parallel)
    other = None
    if size != (1, 1):
        options = with_micro_batches(situation, *size, sharding_stages(size[1]))
        other = chosen_micro_batch(situation, options)
    numbers = _numbers(known) | {
        "whole": uncut.to_json() if uncut else None,
        "cut": {"tensor_parallel": size[0], "pipeline_parallel": size[1], **other.to_json()}
        if other
        else None,
    }
    told = f"Only ZeRO 3 makes a whole copy fit ({held(whole)}), and it gathers the weights for every pass."
    if uncut is not None:
        share = format_percent(uncut.data_parallel_s / uncut.step_s)
        told += f" {share} of its step of {seconds(uncut.step_s)} waits for that traffic."
    if other is None or (uncut is not None and uncut.tokens_per_s >= other.tokens_per_s):
        against = f" The cut takes {seconds(other.step_s)}." if other else " No cut fits."
        return _Answer(
            needed=False,
            decision="No cut: ZeRO 3 is enough",
            because=told + against,
            change="A slower network, or a smaller batch for each copy: the gathers then show.",
            numbers=numbers,
            stage=3,
        )
    return _Answer(
        needed=True,
        decision="A cut is worth it: sharding's traffic would be the bottleneck",
        because=f"{told} Tensor {size[0]}, pipeline {size[1]} comes to {other.tokens_per_s:,.0f} tokens/s"
        + (f" against {uncut.tokens_per_s:,.0f}." if uncut else "."),
        change="A faster network, or more tokens for each copy, would hide the gathers.",
        numbers=numbers,
        cut=cuts,
    )


def _numbers(known: Mapping[int, Option]) -> dict[str, Any]:
    return {f"zero_{stage}_peak_bytes": option.peak_bytes for stage, option in known.items()}
