"""The advisor's layout beside the best that the search finds, and where the procedure departs from it."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from app.calculator.enumeration import Space
from app.calculator.fields import LAYOUT_FIELDS
from app.calculator.layout import Layouts
from app.calculator.search import Question, Search
from app.calculator.search_rows import Row
from app.catalog import Catalog
from app.catalog.constants import load_constants
from app.services.advising_inputs import AdviceInputs
from app.services.input_write import input_value, to_query
from app.services.inputs import Inputs
from app.services.search_nearest import fewest
from app.services.search_words import NAMES, differences, why_behind
from app.services.searching import worked_out

BATCH = "training.global_batch_size"
MOST_LAYOUTS = 400_000  # more are left to the search page, which shows how far it is
# Field of the layout → the step of the procedure that settles it, and how it does.
DEPARTS: Mapping[str, tuple[str, str]] = {
    "tensor_parallel": (
        "tensor_width",
        "the smallest width that fits, in a node where the batch allows",
    ),
    "pipeline_parallel": ("pipeline_depth", "the smallest depth that closes the gap"),
    "data_parallel": ("pipeline_depth", "what is left of the cluster"),
    "context_parallel": ("tensor_width", "no sharing of sequences, unless you decide so"),
    "virtual_pipeline_stages": ("micro_batches", "chunks only where the batch gives too few micro-batches"),
    "schedule": ("micro_batches", "1F1B, interleaved only with chunks"),
    "micro_batch_size": ("micro_batches", "the fastest size with several micro-batches for each stage"),
    "zero_stage": ("sharding_first", "the least sharding that will do"),
    "recompute": ("sharding_first", "what the cut leaves room for"),
    "sequence_parallel": ("tensor_width", "where it helps the cut"),
    "expert_parallel": ("sharding_first", "the spread that is fastest for the cut"),
    "layers_per_stage": ("balance", "uneven stages where the engine's seconds say so"),
}


def compared(asked: AdviceInputs, inputs: Inputs, catalog: Catalog) -> dict[str, Any]:
    """The search over everything but the batch; its best is never worse, for the layout is one of its own."""
    found = Search(_question(inputs), load_constants())
    total = found.total()
    if total > MOST_LAYOUTS:
        note = f"{total:,} layouts: too many to search beside an answer. The search page shows how far it is."
        return {"searched": False, "layouts": total, "note": note}
    best = found.run().best
    if not best:
        note = "The layout is closer to the limit than the search takes; it found no other."
        return {"searched": True, "layouts": total, "note": note}
    one, own = worked_out(
        inputs, [best[0], Row(block=Layouts.of(inputs.layout), index=0, training=inputs.training)]
    )
    slower = own.numbers["step_s"] / one.numbers["step_s"] - 1
    ours, theirs = _layout(own.inputs), _layout(one.inputs)
    changed = differences(theirs | _split_words(theirs), ours | _split_words(ours))
    answer = {
        "searched": True,
        "layouts": total,
        "legal": found.legal,
        "fitting": found.fitting,
        "best": {
            "layout": theirs,
            "summary": dict(one.numbers),
            "url": f"/calculator?{to_query(one.inputs, catalog)}",
        },
        "slower_fraction": slower,
    }
    if slower <= 0 or not changed:
        return answer | {"why": "No layout of this cluster and batch is faster.", "departures": []}
    why = why_behind(changed, (one.numbers, one.parts), (own.numbers, own.parts), "step_s")
    return answer | {"why": f"From the best to this: {why}", "departures": _departures(asked, ours, theirs)}


def smallest_for(asked: AdviceInputs) -> dict[str, Any] | None:
    """The smallest cluster on which all layouts together have one that fits, with the batch that was asked
    for; None where it is not found soon, or where decisions of one's own may be what is in the way.
    """
    batches = asked.situation.batches
    if asked.situation.fixed - {BATCH}:
        return None
    training = asked.inputs.training
    if not batches.free:
        training = replace(training, global_batch_size=int(batches.most))
    question = Question(
        model=asked.inputs.model,
        cluster=asked.inputs.cluster,
        trainings=(training,),
        spaces=(Space(rank_order=asked.inputs.layout.rank_order),),
        top=1,
    )
    cluster, found = fewest(question, MOST_LAYOUTS)
    if found is None:
        return None
    sizes = {"num_nodes": cluster.num_nodes, "num_gpus": cluster.num_gpus}
    return sizes | {"global_batch_size": training.global_batch_size}


def smallest_words(found: Mapping[str, Any] | None) -> str:
    """The smallest cluster in a sentence; nothing where none was found."""
    if found is None:
        return ""
    nodes = "one node" if found["num_nodes"] == 1 else f"{found['num_nodes']:,} nodes"
    return (
        f"The smallest cluster of this kind on which a layout fits: {found['num_gpus']:,} devices, {nodes},"
        f" with a batch of {found['global_batch_size']:,}."
    )


def _question(inputs: Inputs) -> Question:
    """Every layout of the cluster with this batch, with this one among them."""
    layout = inputs.layout
    flags = ("overlap_data_parallel", "overlap_tensor_parallel", "zero_group")
    same = {name: (float(getattr(layout, name)),) for name in flags}
    own = {
        field.key: (float(getattr(layout, field.key)),)
        for field in LAYOUT_FIELDS
        if field.key not in ("layers_per_stage", "rank_order")
    }
    spaces = (
        Space(values=same, rank_order=layout.rank_order),
        Space(values=own, rank_order=layout.rank_order, layers_per_stage=layout.layers_per_stage),
    )
    return Question(
        model=inputs.model,
        cluster=inputs.cluster,
        trainings=(inputs.training,),
        spaces=spaces,
        top=1,
    )


def _layout(inputs: Inputs) -> dict[str, Any]:
    values = {field.key: input_value(inputs, field.path) for field in LAYOUT_FIELDS}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _departures(
    asked: AdviceInputs, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> list[dict[str, Any]]:
    return [
        {
            "step": step,
            "field": f"layout.{field}",
            "name": NAMES.get(field, field),
            "ours": ours[field],
            "best": theirs[field],
            "says": f"{_said(theirs[field])} → {_said(ours[field])}",
            "because": "you decided it" if field in asked.situation.fixed else f"the procedure takes {how}",
        }
        for field, (step, how) in DEPARTS.items()
        if ours[field] != theirs[field]
    ]


def _split_words(layout: Mapping[str, Any]) -> dict[str, Any]:
    return {"layers_per_stage": _said(layout["layers_per_stage"])}


def _said(value: Any) -> str:
    """A value in a few words; of a long split the runs: 15, 16 ×6, 15."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "even"
    if not isinstance(value, list):
        return str(value)
    runs = [(count, len(list(same))) for count, same in groupby(value)]
    return ", ".join(f"{count} ×{times}" if times > 1 else str(count) for count, times in runs)
