"""Pieces taken from a model: what the balance verb is asked where it is given a layout instead of pieces."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from app.calculator.pieces import ModelPiece, model_pieces
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.balance import balance_pieces
from app.services.balance_fields import BY_NAME, MOST_PIECES
from app.services.input_values import InputProblem
from app.services.inputs import InputProblems, Inputs, parse_inputs

_FROM_LAYOUT = ("num_stages", "virtual_pipeline_stages", "num_micro_batches")


def balance_asked(raw: object) -> dict[str, Any] | InputProblems:
    """The balance verb; a body with a model and no pieces is balanced by the engine's own seconds."""
    if not isinstance(raw, Mapping) or raw.get("pieces") is not None or not _names_a_model(raw):
        return balance_pieces(raw)
    own = {key: value for key, value in raw.items() if key in BY_NAME and key != "virtual_pipeline_stages"}
    taken = from_model({key: value for key, value in raw.items() if key not in own})
    if isinstance(taken, InputProblems):
        return taken
    return balance_pieces({**taken, **{key: value for key, value in own.items() if value is not None}})


def _names_a_model(raw: Mapping[Any, Any]) -> bool:
    return any(str(key).partition(".")[0] == "model" for key in raw)


def from_model(raw: object) -> dict[str, Any] | InputProblems:
    """The question of the balance verb for a calculation: its pieces, stages, chunks and micro-batches."""
    inputs = parse_inputs(raw, load_catalog())
    if isinstance(inputs, InputProblems):
        return inputs
    pieces = pieces_of(inputs)
    if len(pieces) > MOST_PIECES:
        message = f"{len(pieces):,} pieces; at most {MOST_PIECES} are balanced."
        return InputProblems(problems=(InputProblem(field="model.num_layers", message=message),))
    layout = inputs.layout
    replicas = layout.micro_batch_size * layout.data_parallel
    return {
        "pieces": [
            {"name": piece.name, "forward_s": piece.forward_s, "backward_s": piece.backward_s}
            for piece in pieces
        ],
        "num_stages": layout.pipeline_parallel,
        "virtual_pipeline_stages": layout.virtual_pipeline_stages,
        "num_micro_batches": max(1, inputs.training.global_batch_size // replicas),
        "layers_per_stage": list(layout.layers_per_stage) if layout.layers_per_stage else None,
    }


def pieces_of(inputs: Inputs) -> tuple[ModelPiece, ...]:
    """Embedding, layers and head of these inputs, with the engine's seconds."""
    return model_pieces(inputs.model, inputs.cluster, inputs.training, inputs.layout, load_constants())


def lines_of(pieces: tuple[ModelPiece, ...]) -> str:
    """The pieces as somebody would type them, equal neighbours in one line: "layer ×24, 0.01, 0.02"."""
    lines = []
    for (forward_s, backward_s), group in groupby(pieces, key=lambda one: (one.forward_s, one.backward_s)):
        several = list(group)
        kind = several[0].name.partition(" ")[0]
        name = several[0].name if len(several) == 1 else f"{kind} ×{len(several)}"
        lines.append(f"{name}, {forward_s:.6g}, {backward_s:.6g}")
    return "\n".join(lines)
