"""The body of an API question: bounded, JSON, strict; and the answer, strict too."""

import json
import math
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

from fastapi import Depends, Request
from fastapi.responses import JSONResponse

MOST_BYTES = 256 * 1024
READ_PAST_BYTES = 64 * 1024 * 1024  # of a body that is refused: a client that still writes sees no answer


class BodyError(Exception):
    """A body that could not be read."""

    def __init__(self, status: int, message: str, field: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.field = status, message, field


def problems_response(status: int, problems: list[dict[str, str]]) -> JSONResponse:
    """Everything that is wrong, field by field."""
    told = [{key: _readable(text) for key, text in problem.items()} for problem in problems]
    return JSONResponse({"detail": told}, status_code=status)


def _readable(text: str) -> str:
    """Half of a surrogate pair can be written in JSON but not in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def body_error(request: Request, error: Exception) -> JSONResponse:
    """The handler of `BodyError`."""
    assert isinstance(error, BodyError)
    return problems_response(error.status, [{"field": error.field, "message": error.message}])


async def read_body(request: Request) -> Any:
    """The JSON of the request. Raises BodyError: 415 another type, 413 too large, 400 not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        said = f"{kind[:60]!r} is not taken here" if kind else "No content type is given"
        raise BodyError(415, f"{said}. Send JSON with Content-Type: application/json.")
    too_large = f"The body is larger than {MOST_BYTES // 1024} KiB. Send less at once."
    body, seen = bytearray(), 0
    async for chunk in request.stream():
        seen += len(chunk)
        if seen <= MOST_BYTES:
            body += chunk
        elif seen > READ_PAST_BYTES:
            break
    if seen > MOST_BYTES:
        raise BodyError(413, too_large)
    return parse(bytes(body))


JsonBody = Annotated[Any, Depends(read_body)]


def parse(body: bytes) -> Any:
    """Strict JSON: no NaN, no Infinity, no number too long to be one, no name with two values."""
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for name, value in pairs:
            if name in read and read[name] != value and name[:60] not in twice:
                twice.append(name[:60])
            read[name] = value
        return read

    value = _loads(body, once)
    if twice:
        named = ", ".join(twice[:10])
        raise BodyError(422, f"Given twice, with different values: {named}. Write each once.", twice[0])
    return value


def _loads(body: bytes, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=pairs
        )
    except UnicodeDecodeError:
        raise BodyError(400, "The body is not UTF-8 text.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise BodyError(400, f"The body is not JSON: {error.msg} at {where}.") from None
    except RecursionError:
        raise BodyError(
            400, "The body is nested too deeply. An object of four objects is expected."
        ) from None
    except ValueError:
        raise BodyError(400, "The body holds a number with too many digits.") from None


def _refuse(constant: str) -> NoReturn:
    raise BodyError(
        422, f"{constant} is not a number in JSON. Write a finite number, or leave the field out."
    )


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BodyError(422, f"{text[:40]} is too large to be calculated with.")
    return value


def strict(value: Any) -> Any:
    """The value with null for what JSON has no number for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: strict(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(inner) for inner in value]
    return value
