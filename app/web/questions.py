"""What the calculator is asked by an address or its form: typed words in, one flat mapping out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.calculator.fields import BY_PATH
from app.catalog import Catalog
from app.services.input_values import number_of
from app.services.inputs import Inputs, parse_inputs
from app.web.controls import DOUBLE, HALVE, SCALED, path_of, query_name, stepped, written
from app.web.values import in_effect

# The first thing one sees: a published model on a cluster that people rent, with something to put right.
EXAMPLE: Mapping[str, str] = {
    "model": "gpt3-175b",
    "gpu": "a100-80gb",
    "num_nodes": "32",
    "tensor_parallel": "8",
    "pipeline_parallel": "4",
    "data_parallel": "8",
    "micro_batch_size": "2",
    "global_batch_size": "128",
    "zero_stage": "1",
    "recompute": "selective",
    "overlap_data_parallel": "false",
}
# Names in an address that are no inputs of the engine.
OF_MODEL, OF_GPU, ACTION, STAGE = "of_model", "of_gpu", "do", "stage"
MOST_NAMES, MOST_LETTERS = 200, 2_000
# What belongs to a device, and is forgotten when another device is chosen.
_OF_DEVICE = {path for path in BY_PATH if path.startswith("cluster.")} | {"training.compute_dtype"}
_OF_DEVICE -= {"cluster.gpu", "cluster.num_nodes"}
_FILLS_THE_CLUSTER = {
    "layout.tensor_parallel", "layout.pipeline_parallel", "layout.context_parallel", "cluster.num_nodes",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`raw` goes to the engine; `typed` are the words of each field; `form`: they came by the form."""

    raw: dict[str, Any]
    typed: dict[str, str] = field(default_factory=dict)
    form: bool = False
    stage: int | None = None


def read_question(pairs: Iterable[tuple[str, str]], catalog: Catalog) -> Question:
    """The question of a query string. Of a name given twice the last counts.

    Where no model is named, what is given changes the example.
    """
    given: dict[str, str] = {}
    for name, value in list(pairs)[:MOST_NAMES]:
        given[name[:100]] = value[:MOST_LETTERS].strip()
    of_model, of_gpu = given.pop(OF_MODEL, None), given.pop(OF_GPU, None)
    action, stage = given.pop(ACTION, ""), given.pop(STAGE, "")
    form = of_model is not None or bool(action)
    given = {name: value for name, value in given.items() if value != ""}
    if not of_model and not any((path_of(name) or "").startswith("model.") for name in given):
        given = {**EXAMPLE, **given}
    _forget(given, of_model, of_gpu, catalog)
    if of_model and "model" not in given:
        _keep_shape(given, of_model, catalog)
    typed: dict[str, str] = {}
    raw: dict[str, Any] = {}
    for name, value in given.items():
        path = path_of(name)
        if path is None:
            raw[name] = value
            continue
        typed[path] = value
        raw[path] = _scaled(name, value)
    if action:
        _step(action, raw, typed, catalog)
    shown = int(stage) if stage.isascii() and stage.isdecimal() and len(stage) < 6 else None
    return Question(raw=raw, typed=typed, form=form, stage=shown)


def _forget(given: dict[str, str], of_model: str | None, of_gpu: str | None, catalog: Catalog) -> None:
    """Drop what the form still showed of the model or the device that was chosen before."""
    model, gpu = given.get("model", ""), given.get("gpu", "")
    if of_model is not None and model and model != of_model:
        for name in [
            name for name in given if (path_of(name) or "").startswith("model.") and name != "model"
        ]:
            del given[name]
        before = catalog.models.get(of_model)
        if before and given.get("seq_length") == str(before.model.seq_length):
            del given["seq_length"]
    if of_gpu is not None and gpu and gpu != of_gpu:
        for name in [name for name in given if path_of(name) in _OF_DEVICE]:
            del given[name]


def _keep_shape(given: dict[str, str], of_model: str, catalog: Catalog) -> None:
    """Somebody turned to a shape of their own: what the form does not show stays as the model had it."""
    entry = catalog.models.get(of_model)
    for key, value in (entry.values if entry else {}).items():
        path = f"model.{key}"
        if path in BY_PATH and isinstance(value, (str, int, float)):
            given.setdefault(query_name(path), written(value))


def _scaled(name: str, value: str) -> Any:
    if name not in SCALED:
        return value
    number = number_of(value)
    return value if number is None else number * SCALED[name][1]


def _step(action: str, raw: dict[str, Any], typed: dict[str, str], catalog: Catalog) -> None:
    """Halve or double one field. Widths, depths and nodes keep the cluster full by the number of replicas."""
    what, _, name = action.partition(":")
    path = path_of(name)
    if what not in (HALVE, DOUBLE) or path is None or path not in BY_PATH:
        return
    before = parse_inputs(raw, catalog)
    if not isinstance(before, Inputs):
        value = number_of(raw.get(path))
        if value is not None and value == int(value):
            raw[path] = stepped(value, what, BY_PATH[path])
            typed[path] = str(raw[path])
        return
    values = in_effect(before)
    raw[path] = stepped(values[path], what, BY_PATH[path])
    typed[path] = str(raw[path])
    if path in _FILLS_THE_CLUSTER:
        raw.pop("layout.data_parallel", None) if _fills(before) else None
        after = parse_inputs(raw, catalog)
        replicas = after.layout.data_parallel if isinstance(after, Inputs) else values["layout.data_parallel"]
        raw["layout.data_parallel"] = replicas
        typed["layout.data_parallel"] = str(replicas)


def _fills(inputs: Inputs) -> bool:
    layout = inputs.layout
    inner = layout.tensor_parallel * layout.pipeline_parallel * layout.context_parallel
    return inner * layout.data_parallel == inputs.cluster.num_gpus
