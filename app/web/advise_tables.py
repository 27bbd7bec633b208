"""What the advisor weighed at a question, as tables whose rows can be taken instead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.services.advising_inputs import AdviceInputs
from app.web import numbers
from app.web.controls import CHOICE_LABELS

# Question → the option's field that the row stands for, and its name.
ROWS = {
    "sharding_first": ("zero_stage", "ZeRO"),
    "tensor_width": ("tensor_parallel", "tensor"),
    "pipeline_depth": ("pipeline_parallel", "stages"),
    "micro_batches": ("micro_batch_size", "micro-batch"),
}
Url = Callable[..., str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """One row: what it is, its numbers, why it stands where it stands, and its address."""

    name: str
    largest: str
    step: str
    tokens: str
    says: str
    url: str = ""
    chosen: bool = False
    good: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTable:
    """Everything that was weighed."""

    head: str
    rows: tuple[OptionRow, ...]
    note: str = ""


def decision_table(step: Mapping[str, Any], url: Url) -> OptionTable | None:
    """The options of a step."""
    known = ROWS.get(str(step["id"]))
    options: Sequence[Mapping[str, Any]] = step["options"]
    if known is None or not options:
        return None
    key, name = known
    changes = step["changes"]
    batches = {option["global_batch_size"] for option in options if option["legal"]}
    rows = []
    for option in options:
        chosen = all(option.get(field) == value for field, value in changes.items() if field in option)
        decided: dict[str, Any] = {f"layout__{key}": option[key]}
        title = f"{name} {option[key]}"
        if step["id"] == "micro_batches":
            chunks = int(option["virtual_pipeline_stages"])
            decided["layout__virtual_pipeline_stages"] = chunks if chunks > 1 else None
            decided["layout__schedule"] = None
            title += f", {chunks} chunks" if chunks > 1 else ""
        rows.append(
            OptionRow(
                name=title,
                largest=numbers.gib(option["peak_bytes"]) if option["legal"] else "–",
                step=numbers.seconds(option["step_s"]) if option["legal"] else "–",
                tokens=numbers.rate(option["tokens_per_s"], "tokens/s") if option["legal"] else "–",
                says=_row_words(step, option, several=len(batches) > 1),
                url=url(**decided) if option["legal"] else "",
                chosen=chosen and bool(changes),
                good=bool(option["good"]),
            )
        )
    return OptionTable(head=f"{name[:1].upper()}{name[1:]}", rows=tuple(rows), note=_NOTES[str(step["id"])])


_NOTES = {
    "sharding_first": "whole copies; the best that each stage comes to",
    "tensor_width": "on one stage; the best that each width comes to",
    "pipeline_depth": "the best that each depth comes to",
    "micro_batches": "the best that each size comes to",
}


def _row_words(step: Mapping[str, Any], option: Mapping[str, Any], *, several: bool) -> str:
    said = str(option["says"])
    if not option["legal"]:
        return said
    kept = [f"ZeRO {option['zero_stage']}"] if step["id"] != "sharding_first" else []
    if option["recompute"] != "none":
        kept.append(f"{CHOICE_LABELS.get(option['recompute'], option['recompute'])} recompute")
    if step["id"] == "micro_batches":
        kept.insert(
            0, f"{numbers.count(option['num_micro_batches'])} of them, B = {option['global_batch_size']:,}"
        )
        kept.append(f"bubble {numbers.percent(option['bubble_fraction'], 2)}")
    elif several:
        kept.append(f"B = {option['global_batch_size']:,}")
    return f"{said}; {', '.join(kept)}" if kept else said


def ways_table(step: Mapping[str, Any], asked: AdviceInputs, url: Url) -> OptionTable | None:
    """What could give, where the batch is short."""
    ways: Sequence[Mapping[str, Any]] = step["numbers"].get("what_gives", ())
    if not ways:
        return None
    rows = tuple(
        OptionRow(
            name=str(way["says"]),
            largest=numbers.gib(way["peak_bytes"]),
            step=numbers.seconds(way["step_s"]),
            tokens=numbers.rate(way["tokens_per_s"], "tokens/s"),
            says=f"B = {way['global_batch_size']:,}; bubble {numbers.percent(way['bubble_fraction'], 2)}",
            url=_way_url(way, asked, url),
        )
        for way in ways
    )
    return OptionTable(head="What could give", rows=rows, note="each worked out by the same engine")


def _way_url(way: Mapping[str, Any], asked: AdviceInputs, url: Url) -> str:
    batches, cluster = asked.situation.batches, asked.inputs.cluster
    batch = way["global_batch_size"]
    if way["num_gpus"] != cluster.num_gpus:
        nodes = -(-way["num_gpus"] // cluster.gpus_per_node)
        whole = way["num_gpus"] == nodes * cluster.gpus_per_node
        gpus = None if whole else way["num_gpus"]
        return url(cluster__num_nodes=nodes, cluster__num_gpus=gpus)
    cut = {
        "layout__tensor_parallel": way["tensor_parallel"],
        "layout__pipeline_parallel": way["pipeline_parallel"],
    }
    if batch > batches.most:  # with the cut that it was worked out for: another batch may lead to another
        least = batch if batches.fixed else batches.least
        return url(batch=(str(least), str(batch)), **cut)
    if way["virtual_pipeline_stages"] > 1:
        return url(layout__virtual_pipeline_stages=way["virtual_pipeline_stages"])
    return url(**cut)
