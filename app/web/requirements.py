"""What a puzzle asks for, in words."""

from collections.abc import Iterable

from app.curriculum.grading import Met
from app.web.controls import LABELS, path_of

_PUZZLE_NAMES = {
    "layout.tensor_parallel": "tensor width",
    "layout.pipeline_parallel": "pipeline depth",
    "layout.data_parallel": "replicas",
    "batch.global_batch_size": "global batch",
    "time.bubble_fraction": "bubble",
    "kv_capacity_tokens": "tokens of cache",
}
_RELATIONS = {
    "<=": "at most",
    ">=": "at least",
    "<": "below",
    ">": "above",
    "==": "exactly",
    "!=": "other than",
}


def in_words(requirement: str) -> str:
    """A requirement as a person says it: "bubble at most 10 %", "every stage fits"."""
    parts = requirement.split(maxsplit=2)
    if len(parts) != 3 or parts[1] not in _RELATIONS:
        return requirement
    name, relation, wanted = parts
    if name.rpartition(".")[2] == "fits" and (relation, wanted) == ("==", "yes"):
        return "every stage fits"
    path = path_of(name) or name
    said = (
        _PUZZLE_NAMES.get(path) or LABELS.get(path, "").lower() or name.rpartition(".")[2].replace("_", " ")
    )
    if name.endswith("_fraction"):
        said, wanted = said.removesuffix(" fraction"), _percent(wanted)
    elif wanted.isdecimal():
        wanted = f"{int(wanted):,}"
    return f"{said} {_RELATIONS[relation]} {wanted}"


def _percent(text: str) -> str:
    try:
        return f"{100 * float(text):.3g} %"
    except ValueError:
        return text


def value_in_words(shown: str) -> str:
    """Of "0.03 (3.0 %)" the percentage; whole numbers with separators."""
    if shown.endswith("%)"):
        return shown.partition("(")[2].rstrip(")")
    return f"{int(shown):,}" if shown.isdecimal() and len(shown) < 16 else shown


def unmet_in_words(requirements: Iterable[Met]) -> str:
    """What is still to be met, each with the value it has now."""
    failed = [
        f"{in_words(one.text)} (now {value_in_words(one.value) or 'no value'})"
        for one in requirements
        if not one.met
    ]
    return f"Still to be met: {'; '.join(failed)}." if failed else ""
