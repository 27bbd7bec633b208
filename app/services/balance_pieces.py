"""Pieces of a model, as somebody wrote them: objects, numbers, or a line per piece."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.services.balance_fields import MOST_BYTES, MOST_PIECES, MOST_SECONDS
from app.services.input_values import InputProblem, did_you_mean, number_of, shown

PIECE_KEYS = ("name", "forward_s", "backward_s", "memory_bytes")
REPEATED = re.compile(r"\s*([^,;\t]*?[^,;\t\s])\s*[×*]\s*(\d{1,9})\s*([,;\t].*)$")
LEAST = 1e-12  # seconds, or bytes; 0 is taken too
MOST = {"forward_s": MOST_SECONDS, "backward_s": MOST_SECONDS, "memory_bytes": MOST_BYTES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the model that cannot be cut."""

    name: str
    forward_s: float
    backward_s: float = 0.0
    memory_bytes: float = 0.0

    @property
    def time_s(self) -> float:
        """Seconds of one micro-batch, both ways."""
        return self.forward_s + self.backward_s


def ends_of(names: Sequence[str]) -> tuple[int, int]:
    """Pieces before and after the layers: a layer shares its name, but for its number, with another piece."""
    kinds = [re.sub(r"[\d\W_]+", " ", name).strip().lower() for name in names]
    count = Counter(kinds)
    layers = [at for at, kind in enumerate(kinds) if count[kind] > 1]
    if not layers:
        return 0, 0
    return layers[0], len(names) - 1 - layers[-1]


def read_pieces(raw: object, problems: list[InputProblem]) -> tuple[Piece, ...]:
    """All pieces, or none and what is wrong with each."""
    if isinstance(raw, str):
        raw = [piece for line in raw.splitlines() for piece in _lines(line)]
    if not isinstance(raw, list | tuple) or not raw:
        message = (
            f"{shown(raw) if raw else 'Nothing'} to balance. Write a list of pieces with their forward_s."
        )
        problems.append(InputProblem(field="pieces", message=message))
        return ()
    if len(raw) > MOST_PIECES:
        message = f"{len(raw):,} pieces; at most {MOST_PIECES} are balanced. Put neighbours together."
        problems.append(InputProblem(field="pieces", message=message))
        return ()
    read = [_piece(at, entry, problems) for at, entry in enumerate(raw)]
    pieces = tuple(piece for piece in read if piece is not None)
    if len(pieces) == len(raw) and not any(piece.time_s for piece in pieces):
        problems.append(InputProblem(field="pieces", message="All times are 0. Write some time above 0."))
    return pieces if len(pieces) == len(raw) else ()


def _piece(at: int, raw: object, problems: list[InputProblem]) -> Piece | None:
    where = f"pieces.{at}"
    if isinstance(raw, str):
        raw = _from_line(raw)
    elif number_of(raw) is not None:
        raw = {"forward_s": raw}
    if not isinstance(raw, Mapping):
        message = f"{shown(raw)} cannot be used. Write an object with name and forward_s."
        problems.append(InputProblem(field=where, message=message))
        return None
    before = len(problems)
    for key in raw:
        if key not in PIECE_KEYS:
            message = f"There is no such field in a piece.{did_you_mean(str(key), list(PIECE_KEYS))}"
            problems.append(InputProblem(field=f"{where}.{str(key)[:100]}", message=message))
    values = {}
    for key, most in (
        ("forward_s", MOST_SECONDS),
        ("backward_s", MOST_SECONDS),
        ("memory_bytes", MOST_BYTES),
    ):
        written = raw.get(key)
        if (written is None or written == "") and key != "forward_s":
            continue
        value = number_of(written)
        if value is None or not (value == 0 or LEAST <= value <= most):
            told = "Missing" if written is None else f"{shown(written)} cannot be used"
            message = f"{told}. Write a number from 0 to {most:,.12g}."
            problems.append(InputProblem(field=f"{where}.{key}", message=message))
        else:
            values[key] = float(value)
    name = str(raw.get("name") or f"piece {at + 1}")[:100]
    return Piece(name=name, **values) if len(problems) == before else None


def _lines(line: str) -> list[str]:
    """One line per piece: none for a comment, several for `block ×24, 1.0`, numbered from 1."""
    if not line.strip() or line.lstrip().startswith("#"):
        return []
    times = REPEATED.match(line)
    if times is None:
        return [line]
    name, count, rest = times[1], int(times[2]), times[3]
    return [f"{name} {k + 1}{rest}" for k in range(min(count, MOST_PIECES + 1))]


def _from_line(line: str) -> dict[str, str]:
    """`name, forward, backward, memory`; a line of numbers alone has no name."""
    words = [word.strip() for word in re.split(r"[,;\t]", line)]
    if number_of(words[0]) is not None:
        words = ["", *words]
    keys = (*PIECE_KEYS, *(f"column {at}" for at in range(5, 5 + len(words))))
    return dict(zip(keys, words, strict=False))
