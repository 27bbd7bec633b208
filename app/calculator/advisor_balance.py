"""The advisor's last question: whether the stages take the same time, and what moving layers would buy."""

from dataclasses import dataclass, replace

from app.calculator.advisor_options import Option, Situation, worked_out
from app.calculator.advisor_words import Step, seconds
from app.calculator.balancing import balance, even_split, measure
from app.calculator.pieces import model_pieces

WORTH_FRACTION = 0.002  # of the step: below it, equal counts stay


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """Stages of equal counts against the best split; `option` where the best is worth taking."""

    slowest_s: float  # of the stages as they are
    best_slowest_s: float
    split: tuple[int, ...]  # layers of each stage, the best
    even: tuple[int, ...]
    option: Option | None
    step_s: float | None  # with the best split, where it is legal


def balanced(situation: Situation, option: Option) -> Balanced | None:
    """The best split of this layout's layers by the engine's seconds; None with one stage or with chunks."""
    layout = option.layout
    stages = layout.pipeline_parallel
    layers = situation.model.total_layers
    if stages == 1 or layout.virtual_pipeline_stages > 1 or layers < stages:
        return None
    training = replace(situation.training, global_batch_size=option.global_batch_size)
    pieces = model_pieces(situation.model, situation.cluster, training, layout, situation.constants)
    times = [piece.time_s for piece in pieces]
    best = balance(times, stages)
    now = layout.layers_per_stage or even_split(layers, stages)
    as_pieces = (now[0] + 1, *now[1:-1], now[-1] + 1)
    if best is None or len(now) != stages:
        return None
    split = [*best.split]
    split[0] -= 1  # the embedding
    split[-1] -= 1  # the head
    slowest_s = measure(times, as_pieces, stages).slowest_s
    other = None
    if min(split) >= 1 and tuple(split) != now and "layers_per_stage" not in situation.fixed:
        found = worked_out(
            situation, [replace(layout, layers_per_stage=tuple(split))], option.global_batch_size
        )
        other = found[0] if found else None
    worth = (
        other is not None and situation.fits(other) and other.step_s < option.step_s * (1 - WORTH_FRACTION)
    )
    return Balanced(
        slowest_s=slowest_s,
        best_slowest_s=best.slowest_s,
        split=tuple(split),
        even=tuple(now),
        option=other if worth else None,
        step_s=other.step_s if other else None,
    )


def balance_step(situation: Situation, option: Option | None, found: Balanced | None) -> Step:
    """The step, whatever was found."""
    if option is None or found is None:
        chunked = option is not None and option.layout.virtual_pipeline_stages > 1
        return Step(
            id="balance",
            decision="Equal chunks" if chunked else "Nothing to balance",
            because=(
                "Interleaving takes chunks of equal counts here."
                if chunked
                else "Without a pipeline no stage waits for another."
            ),
            what_would_change_it="Measured seconds of your own layers, on the balance page.",
            numbers={},
        )
    m = option.num_micro_batches
    loss_s = (m - 1) * max(0.0, found.slowest_s - found.best_slowest_s)
    numbers = {
        "slowest_s": found.slowest_s,
        "best_slowest_s": found.best_slowest_s,
        "loss_per_step_s": loss_s,
        "layers_per_stage": list(found.split if found.option else found.even),
        "even_split": list(found.even),
        "best_split": list(found.split),
        "step_s": option.step_s,
        "balanced_step_s": found.step_s,
    }
    because = (
        f"No split is faster: the slowest stage takes {seconds(found.slowest_s)} a micro-batch."
        if found.slowest_s <= found.best_slowest_s * (1 + 1e-9)
        else f"With equal counts the slowest stage takes {seconds(found.slowest_s)}; the"
        f" best split takes {seconds(found.best_slowest_s)}.{_waits_for(m, loss_s)}"
    )
    yours = "layers_per_stage" in situation.fixed
    if found.option is None:
        decision = "Your split stands" if yours else "Equal counts of layers"
        change = "Measured seconds of your own layers, on the balance page."
        return Step(
            id="balance", decision=decision, because=because, what_would_change_it=change, numbers=numbers,
            by_you=yours,
        )  # fmt: skip
    counts = ", ".join(str(count) for count in found.split)
    return Step(
        id="balance",
        decision=f"Uneven stages: {counts} layers",
        because=f"{because} The step falls from {seconds(option.step_s)} to {seconds(found.option.step_s)}.",
        what_would_change_it="A smaller vocabulary (the head is what weighs), or a framework without uneven"
        " stages.",
        numbers=numbers,
        changes={"layers_per_stage": list(found.split)},
    )


def _waits_for(m: int, loss_s: float) -> str:
    """What the slowest stage costs a step; the first micro-batch fills the pipeline, the others wait."""
    if m == 1:
        return " With one micro-batch no other waits for it."
    return (
        f" Over {m:,} micro-batches that is about {seconds(loss_s)} a step,"
        " and more micro-batches do not shrink its share."
    )
