"""The balance verb: pieces of a model over pipeline stages, against the even split and the bound."""

from typing import Any

from app.calculator.balancing import (
    Balance,
    balance,
    even_split,
    measure,
    smallest_memory_bytes,
)
from app.services.balance_inputs import BalanceInputs, parse_balance
from app.services.balance_pieces import Piece
from app.services.inputs import InputProblems


def balance_pieces(raw: object) -> dict[str, Any] | InputProblems:
    """The answer of `POST /api/v1/balance`, or everything that is wrong with the question.

    With `pieces_per_stage` or `layers_per_stage` that split is told, and the best one beside it.
    `legal` is false when no split keeps the memory limit, or the one that was given does not.
    """
    given = parse_balance(raw)
    if isinstance(given, InputProblems):
        return given
    times = [piece.time_s for piece in given.pieces]
    memory = [piece.memory_bytes for piece in given.pieces]
    best = balance(
        times,
        given.num_stages,
        virtual_pipeline_stages=given.virtual_pipeline_stages,
        piece_memory_bytes=memory,
        memory_limit_bytes=given.memory_limit_bytes,
    )
    told = best
    if given.split is not None:
        told = measure(times, given.split, given.num_stages, piece_memory_bytes=memory)
    even = measure(times, even_split_of(given), given.num_stages, piece_memory_bytes=memory)
    return _to_json(given, told, best, even)


def even_split_of(given: BalanceInputs) -> tuple[int, ...]:
    """Equal counts of layers, with what stands before and after them on the ends, as frameworks do it.

    With too few layers for that, equal counts of all pieces.
    """
    before, after = given.ends()
    layers = len(given.pieces) - before - after
    if layers < given.num_chunks:
        return even_split(len(given.pieces), given.num_chunks)
    counts = list(even_split(layers, given.num_chunks))
    counts[0] += before
    counts[-1] += after
    return tuple(counts)


def _to_json(
    given: BalanceInputs, told: Balance | None, best: Balance | None, even: Balance
) -> dict[str, Any]:
    violations = _violations(given, told)
    m = given.num_micro_batches
    answer: dict[str, Any] = {
        "legal": not violations,
        "violations": violations,
        "num_stages": given.num_stages,
        "virtual_pipeline_stages": given.virtual_pipeline_stages,
        "num_micro_batches": m,
        "stages": [],
        "slowest_s": None,
        "slowest_stage": None,
        "best_slowest_s": best.slowest_s if best else None,
        "best_pieces_per_stage": list(best.split) if best else None,
        "lower_bound_s": even.lower_bound_s,
        "gap_fraction": best.gap_fraction if best else None,
        "exact": best.exact if best else None,
        "even_split_slowest_s": even.slowest_s,
        "even_split": list(even.split),
        "loss_per_step_s_with_even_split": loss_per_step_s(even.slowest_s, best.slowest_s, m)
        if best
        else None,
        "loss_per_step_s": None,
        "pieces_per_stage": None,
        "layers_per_stage": None,
    }
    if told is None or violations:
        return answer
    return answer | {
        "stages": [_stage(given, told, stage) for stage in range(given.num_stages)],
        "slowest_s": told.slowest_s,
        "slowest_stage": told.stage_s.index(told.slowest_s),
        "loss_per_step_s": loss_per_step_s(told.slowest_s, best.slowest_s, m) if best else None,
        "pieces_per_stage": list(told.split),
        "layers_per_stage": _layers(given, told.split),
    }


def _layers(given: BalanceInputs, split: tuple[int, ...]) -> list[int] | None:
    """Layers of each chunk, where all that is no layer stands on the ends."""
    before, after = given.ends()
    counts = list(split)
    counts[0] -= before
    counts[-1] -= after
    return counts if min(counts) >= 0 else None


def loss_per_step_s(slower_s: float, slowest_s: float, num_micro_batches: int) -> float:
    """What a slower slowest stage costs a step, about: (m − 1) · (slower − slowest); below 0: a gain.

    From m · slowest + (sum of the stages − slowest), where the sum is the same for every split. It grows
    with m: more micro-batches shrink the bubble's share and not this one.
    """
    return (num_micro_batches - 1) * (slower_s - slowest_s)


def _violations(given: BalanceInputs, told: Balance | None) -> list[dict[str, Any]]:
    limits = given.memory_limit_bytes
    if limits is None:
        return []
    if told is None:
        memory = [piece.memory_bytes for piece in given.pieces]
        message = f"No split found keeps every stage within {max(limits):,.0f} bytes."
        if given.virtual_pipeline_stages == 1:
            least = smallest_memory_bytes(memory, given.num_stages)
            message += f" The smallest limit that any split keeps on all stages is {least:,.0f}."
        return [{"code": "memory_limit", "field": "memory_limit_bytes", "message": message}]
    return [
        {
            "code": "memory_limit",
            "field": f"memory_limit_bytes.{stage}",
            "message": f"Stage {stage} holds {held:,.0f} bytes; its limit is {most:,.0f}. Move a piece away.",
        }
        for stage, (held, most) in enumerate(zip(told.stage_memory_bytes, limits, strict=True))
        if held > most
    ]


def _stage(given: BalanceInputs, told: Balance, stage: int) -> dict[str, Any]:
    chunks = chunks_of(given, told.split, stage)
    pieces = [piece for chunk in chunks for piece in chunk]
    answer = {
        "stage": stage,
        "pieces": [piece.name for piece in pieces],
        "time_s": told.stage_s[stage],
        "forward_s": sum(piece.forward_s for piece in pieces),
        "backward_s": sum(piece.backward_s for piece in pieces),
        "memory_bytes": told.stage_memory_bytes[stage],
    }
    if given.virtual_pipeline_stages > 1:
        answer["chunks"] = [[piece.name for piece in chunk] for chunk in chunks]
    return answer


def chunks_of(given: BalanceInputs, split: tuple[int, ...], stage: int) -> list[tuple[Piece, ...]]:
    """The pieces of each chunk of a stage."""
    starts = [sum(split[:at]) for at in range(len(split))]
    return [
        given.pieces[starts[at] : starts[at] + split[at]] for at in range(stage, len(split), given.num_stages)
    ]
