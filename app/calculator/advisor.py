"""The decision procedure: one question after another, each answered with the engine's numbers.

1 is surgery needed, or only bookkeeping? 2 the smallest tensor width, 3 the smallest depth that fit, 4
micro-batches several times the stages, 5 what that does to the global batch, 6 balance. Whatever somebody
decided themselves (`Situation.fixed`) stands, and the rest of the procedure goes on from there.
Source: Narayanan et al. 2021, section 3 (takeaways 1 to 3); Rajbhandari et al. 2020, section 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.calculator.advisor_balance import balance_step, balanced
from app.calculator.advisor_batch import Way, batch_numbers, consequences, what_gives
from app.calculator.advisor_cuts import (
    Cut,
    chosen_micro_batch,
    cut,
    several,
    smallest_depth,
    smallest_width,
    with_micro_batches,
)
from app.calculator.advisor_options import Option, Situation, nearest, sharding_stages
from app.calculator.advisor_sharding import Sharding, sharding
from app.calculator.advisor_words import (
    Step,
    batch_words,
    depth_words,
    micro_batch_words,
    rows,
    verdict,
    width_words,
)

SETTLED = "The first answer settles it: whole copies will do. What cutting would come to is in the table."


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The steps and where they lead; `option` is None where nothing is legal and fits."""

    situation: Situation
    steps: tuple[Step, ...]
    option: Option | None
    ways: tuple[Way, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether there is a layout that fits and whose batch is inside the range."""
        return self.option is not None


def advise(situation: Situation) -> Advice:
    """Walk the procedure; where nothing clearly fits, once more up to the last byte."""
    advice = _walk(situation)
    if advice.feasible or not situation.spare_fraction:
        return advice
    close = _walk(replace(situation, spare_fraction=0.0))
    return close if close.feasible else advice


def _walk(situation: Situation) -> Advice:
    first = sharding(situation)
    cuts = first.cut or cut(_whole(situation) if not first.needed else situation)
    width, depth = cuts.tensor_parallel, cuts.pipeline_parallel
    tried = sharding_stages(depth) if first.needed else first.stages
    options = with_micro_batches(situation, width, depth, tried)
    option = chosen_micro_batch(situation, options)
    ways: tuple[Way, ...] = ()
    anything_fits = not first.needed or any(one.fits for one in (*cuts.widths, *cuts.depths))
    if anything_fits and (option is None or not several(option)):
        ways = tuple(what_gives(situation, width, depth, options, option))
    adopted = None
    if option is None and not situation.fixed & {"tensor_parallel", "pipeline_parallel"}:
        adopted = next((way.option for way in ways if _can_be_adopted(situation, way)), None)
    steps = [
        first.step,
        _width_step(situation, cuts, first),
        _depth_step(situation, cuts, first),
        _micro_batch_step(situation, options, option),
        _batch_step(situation, cuts, option, adopted, ways),
    ]
    end = option or adopted
    better = balanced(situation, end) if end is not None else None
    steps.append(balance_step(situation, end, better))
    if better is not None and better.option is not None:
        end = better.option
    return Advice(situation=situation, steps=tuple(steps), option=end, ways=ways)


def _whole(situation: Situation) -> Situation:
    """The same, with one stage and whole matrices decided."""
    base = replace(situation.base, tensor_parallel=1, pipeline_parallel=1)
    return replace(situation, base=base, fixed=situation.fixed | {"tensor_parallel", "pipeline_parallel"})


def _can_be_adopted(situation: Situation, way: Way) -> bool:
    same_cluster = way.num_gpus == situation.cluster.num_gpus
    return same_cluster and way.option.global_batch_size <= situation.batches.most


def _width_step(situation: Situation, cuts: Cut, first: Sharding) -> Step:
    chosen, yours = cuts.tensor_parallel, "tensor_parallel" in situation.fixed
    because, change = width_words(situation, cuts.widths, chosen)
    node = situation.cluster.gpus_per_node
    own = smallest_width(cuts.widths, node) if first.needed else 1
    if not first.needed and not yours:
        because, change = SETTLED, "A first answer that asks for a cut."
    if yours:
        because = _yours(because, chosen, own, "tensor")
        if chosen > node:
            because += f" It leaves the node of {node}: every layer's collectives cross the slow link."
    return Step(
        id="tensor_width",
        decision="No matrix is cut: tensor 1" if chosen == 1 else f"Tensor {chosen}",
        because=because,
        what_would_change_it=change,
        numbers={
            "tensor_parallel": chosen,
            "cap_of_node": node,
            "num_attention_heads": situation.model.num_attention_heads,
            "num_kv_heads": situation.model.num_kv_heads,
            "procedure": own,
        },
        changes={"tensor_parallel": chosen},
        options=rows(situation, cuts.widths, "tensor_parallel"),
        by_you=yours,
    )


def _depth_step(situation: Situation, cuts: Cut, first: Sharding) -> Step:
    chosen, yours = cuts.pipeline_parallel, "pipeline_parallel" in situation.fixed
    because, change = depth_words(situation, cuts.depths, chosen)
    own = smallest_depth(cuts.depths) if first.needed else 1
    if not first.needed and not yours:
        because, change = SETTLED, "A first answer that asks for a cut."
    return Step(
        id="pipeline_depth",
        decision="No pipeline: one stage" if chosen == 1 else f"{chosen} stages",
        because=_yours(because, chosen, own, "pipeline") if yours else because,
        what_would_change_it=change,
        numbers={
            "pipeline_parallel": chosen,
            "data_parallel": situation.copies(cuts.tensor_parallel, chosen),
            "num_layers": situation.model.total_layers,
            "procedure": own,
        },
        changes={"pipeline_parallel": chosen},
        options=rows(situation, cuts.depths, "pipeline_parallel"),
        by_you=yours,
    )


def _yours(because: str, chosen: int, own: int, name: str) -> str:
    same = "The procedure takes the same." if chosen == own else f"The procedure would take {name} {own}."
    return f"Your decision. {same} {because}"


def _micro_batch_step(situation: Situation, options: Sequence[Option], option: Option | None) -> Step:
    yours = bool(situation.fixed & {"micro_batch_size", "virtual_pipeline_stages", "schedule"})
    found: list[dict[str, Any]] = []
    for size, chunked in dict.fromkeys(_kind(one) for one in options):
        best = nearest(situation, [one for one in options if _kind(one) == (size, chunked)])
        if best is not None:
            chunks = best.layout.virtual_pipeline_stages
            found.append(
                {
                    "micro_batch_size": size,
                    "virtual_pipeline_stages": chunks,
                    "legal": True,
                    "good": situation.fits(best),
                    "says": verdict(situation, best),
                    **best.to_json(),
                }
            )
    if option is None:
        none = "No micro-batch can be had"
        why = (
            "Nothing that divides the batch fits."
            if options
            else "No batch in the range divides, or what was decided cannot go together."
        )
        return Step(
            id="micro_batches", decision=none, because=why, what_would_change_it="See the global batch.",
            numbers={}, options=found, by_you=yours,
        )  # fmt: skip
    layout = option.layout
    decision, because, change = micro_batch_words(option)
    return Step(
        id="micro_batches",
        decision=decision,
        because=f"Your decision. {because}" if yours else because,
        what_would_change_it=change,
        numbers={
            "micro_batch_size": layout.micro_batch_size,
            "num_micro_batches": option.num_micro_batches,
            "per_stage": option.num_micro_batches / layout.pipeline_parallel,
            "bubble_fraction": option.bubble_fraction,
            "step_s": option.step_s,
            "tokens_per_s": option.tokens_per_s,
        },
        changes={
            "micro_batch_size": layout.micro_batch_size,
            "virtual_pipeline_stages": layout.virtual_pipeline_stages,
        },
        options=found,
        by_you=yours,
    )


def _kind(option: Option) -> tuple[int, bool]:
    return option.layout.micro_batch_size, option.layout.virtual_pipeline_stages > 1


def _batch_step(
    situation: Situation, cuts: Cut, option: Option | None, adopted: Option | None, ways: Sequence[Way]
) -> Step:
    shown = option or adopted
    numbers: dict[str, Any] = {"feasible": option is not None and several(option)}
    if shown is not None:
        numbers |= batch_numbers(situation, shown)
        numbers["consequences"] = consequences(numbers["tokens_per_step"], numbers["steps"])
    numbers["what_gives"] = [way.to_json() for way in ways]
    if option is not None:
        decision, because, change = batch_words(situation, option)
    elif adopted is not None:
        decision = "The batch makes that cut infeasible; another cut takes it"
        because = _adopted_words(situation, adopted)
        change = "A batch that the first cut divides."
    else:
        decision = "Infeasible"
        because = (
            "No cut that the procedure tries, in width and depth, fits with a batch that is accepted."
            " The search tries more: shared sequences, other schedules."
        )
        if not any(one.fits for one in (*cuts.widths, *cuts.depths)):
            decision, because = "Infeasible whatever the batch", "No cut that was tried fits into the memory."
        change = "One of the ways below has to give." if ways else "A smaller model, or a larger cluster."
    return Step(
        id="global_batch",
        decision=decision,
        because=because,
        what_would_change_it=change,
        numbers=numbers,
        by_you="training.global_batch_size" in situation.fixed,
    )


def _adopted_words(situation: Situation, adopted: Option) -> str:
    layout = adopted.layout
    copies = "one copy" if layout.data_parallel == 1 else f"{layout.data_parallel:,} copies"
    because = (
        f"No batch that is accepted divides over its copies. Tensor {layout.tensor_parallel}, pipeline"
        f" {layout.pipeline_parallel} with {copies} does: the fastest of the small cuts that do."
    )
    if layout.tensor_parallel > situation.cluster.gpus_per_node:
        because += " No width inside a node does: every layer's collectives cross the slow link."
    return because


__all__ = ["Advice", "Sharding", "Step", "advise"]
