"""What somebody wrote about a pipeline to balance → pieces and stages, or every problem with it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.services.balance_fields import BY_NAME, MOST_BYTES, MOST_CHUNKS
from app.services.balance_pieces import Piece, ends_of, read_pieces
from app.services.input_values import InputProblem, did_you_mean, expected, number_of, shown
from app.services.inputs import InputProblems


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceInputs:
    """Pieces in the model's order and the pipeline they go to."""

    pieces: tuple[Piece, ...]
    num_stages: int
    virtual_pipeline_stages: int
    num_micro_batches: int
    memory_limit_bytes: tuple[float, ...] | None = None  # per stage
    split: tuple[int, ...] | None = None  # pieces per chunk, as somebody wants it

    @property
    def num_chunks(self) -> int:
        """p·v."""
        return self.num_stages * self.virtual_pipeline_stages

    def ends(self) -> tuple[int, int]:
        """How many pieces stand before and after the layers."""
        return ends_of([piece.name for piece in self.pieces])


def parse_balance(raw: object) -> BalanceInputs | InputProblems:
    """Read the verb's object (numbers may be text, lists may be comma lists); report all problems.

    `layout.layers_per_stage` and `layers_per_stage` name the same field, as everywhere in lessons.
    """
    if not isinstance(raw, Mapping):
        message = "Expected an object with pieces and num_stages."
        return InputProblems(problems=(InputProblem(field="", message=message),))
    raw = {str(name).removeprefix("layout."): value for name, value in raw.items()}
    problems = [
        InputProblem(
            field=name[:100],
            message=f"There is no such field in a balance.{did_you_mean(name, list(BY_NAME))}",
        )
        for name in raw
        if name not in BY_NAME
    ]
    pieces = read_pieces(raw.get("pieces"), problems)
    p = _whole(raw, "num_stages", problems)
    v = _whole(raw, "virtual_pipeline_stages", problems)
    m = _whole(raw, "num_micro_batches", problems)
    if pieces and p and v and len(pieces) < p * v:
        message = (
            f"{len(pieces)} pieces cannot fill {p * v} chunks, at least one each. Use fewer stages or chunks."
        )
        problems.append(InputProblem(field="num_stages", message=message))
    if p and v and p * v > MOST_CHUNKS:
        message = f"{p} stages × {v} chunks are more than {MOST_CHUNKS}. Use fewer."
        problems.append(InputProblem(field="virtual_pipeline_stages", message=message))
    limit = _limit(raw.get("memory_limit_bytes"), p, problems)
    split = _split(raw, pieces, (p or 0) * (v or 0), problems)
    if problems or not pieces or p is None or v is None:
        return InputProblems(problems=tuple(problems))
    return BalanceInputs(
        pieces=pieces,
        num_stages=p,
        virtual_pipeline_stages=v,
        num_micro_batches=m or 4 * p,
        memory_limit_bytes=limit,
        split=split,
    )


def _whole(raw: Mapping[Any, Any], name: str, problems: list[InputProblem]) -> int | None:
    spec, written = BY_NAME[name], raw.get(name)
    if written is None or (written == "" and not spec.required):
        if spec.required:
            problems.append(InputProblem(field=name, message=f"Missing. {expected(spec)}"))
        return spec.default if isinstance(spec.default, int) else None
    value, low, high = number_of(written), spec.minimum or 0, spec.maximum or 0
    if value is None or not low <= value <= high or value != int(value):
        message = f"{shown(written)} cannot be used. {expected(spec)}"
        problems.append(InputProblem(field=name, message=message))
        return None
    return int(value)


def _words(raw: object) -> list[object]:
    if isinstance(raw, str):
        return [word for word in re.split(r"[,;/\s]+", raw.strip()) if word]
    if isinstance(raw, list | tuple):
        return list(raw)
    return [] if raw is None else [raw]


def _limit(raw: object, p: int | None, problems: list[InputProblem]) -> tuple[float, ...] | None:
    words = _words(raw)
    if not words or p is None:
        return None
    if len(words) == 1:
        words = words * p
    values = [number_of(word) for word in words]
    if len(words) != p or any(value is None or not 0 <= value <= MOST_BYTES for value in values):
        message = (
            f"{shown(raw)} cannot be used. Write one number of bytes for all stages, or {p}, one per stage."
        )
        problems.append(InputProblem(field="memory_limit_bytes", message=message))
        return None
    return tuple(float(value) for value in values if value is not None)


def _split(
    raw: Mapping[Any, Any], pieces: Sequence[Piece], chunks: int, problems: list[InputProblem]
) -> tuple[int, ...] | None:
    given = [name for name in ("pieces_per_stage", "layers_per_stage") if _words(raw.get(name))]
    if not given or not pieces or not chunks:
        return None
    if len(given) > 1:
        message = "Write pieces_per_stage or layers_per_stage, not both."
        problems.append(InputProblem(field="layers_per_stage", message=message))
        return None
    name = given[0]
    before, after = ends_of([piece.name for piece in pieces]) if name == "layers_per_stage" else (0, 0)
    total = len(pieces) - before - after
    counts = [number_of(word) for word in _words(raw[name])]
    whole = [
        int(count) for count in counts if count is not None and 0 <= count <= total and count == int(count)
    ]
    if len(whole) != len(counts) or len(whole) != chunks or sum(whole) != total:
        told = f"They sum to {sum(whole)}. " if len(whole) == len(counts) == chunks else ""
        message = f"{told}Write {chunks} whole numbers that sum to {total}, in the order of the model."
        problems.append(InputProblem(field=name, message=message))
        return None
    whole[0] += before
    whole[-1] += after
    if min(whole) < 1:
        problems.append(InputProblem(field=name, message="A chunk is empty. Give each at least one piece."))
        return None
    return tuple(whole)
