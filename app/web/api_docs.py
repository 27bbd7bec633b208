"""/api/docs: the API as a page of our own, made from its OpenAPI, with a plain form to try it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from app.services.advising import advise_on
from app.services.balance_model import balance_asked
from app.services.estimation import estimate
from app.services.inputs import InputProblems
from app.services.scheduling import schedule
from app.services.searching import search_at_once
from app.services.serving import serve
from app.services.smallest_cluster import smallest_cluster
from app.web.api_body import BodyError, parse, strict
from app.web.rendering import render

router = APIRouter(include_in_schema=False)
PAGE = "pages/api_docs.html"
MOST_LETTERS = 20_000
TRIED = {
    "estimate": estimate,
    "advise": advise_on,
    "serve": serve,
    "schedule": schedule,
    "balance": balance_asked,
    "search": search_at_once,
    "smallest-cluster": smallest_cluster,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """One input of a verb."""

    path: str
    takes: str
    default: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One address of the API. `verb` is set where it can be tried by the form."""

    method: str
    path: str
    anchor: str
    summary: str
    description: str
    verb: str
    example: str
    fields: tuple[FieldRow, ...]
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What the form sent, and what the API would have answered."""

    verb: str
    body: str
    status: int
    answer: str


@router.get("/api/docs")
def docs(request: Request, verb: str = "", body: str = "") -> Response:
    """The page; with `verb` and `body` also the answer to that question."""
    trial = _try(verb, body) if verb in TRIED and body else None
    context = {"endpoints": endpoints(request.app.openapi()), "trial": trial}
    page: HTMLResponse = render(request, PAGE, context, block="docs")
    return page


def endpoints(document: Mapping[str, Any]) -> list[Endpoint]:
    """Every operation of the OpenAPI document, in its order."""
    found = []
    for path, operations in document["paths"].items():
        if not path.startswith("/api/"):
            continue
        for method, operation in operations.items():
            schema = _body_schema(operation)
            verb = path.rpartition("/")[2] if method == "post" and path.startswith("/api/v1/") else ""
            found.append(
                Endpoint(
                    method=method.upper(),
                    path=path,
                    anchor=path.removeprefix("/api/v1/").replace("/", "-").strip("-"),
                    summary=str(operation.get("summary", "")),
                    description=str(operation.get("description", "")),
                    verb=verb if verb in TRIED else "",
                    example=json.dumps(schema["examples"][0], indent=2) if "examples" in schema else "",
                    fields=tuple(_rows(schema)),
                    answers=tuple(
                        (status, str(answer["description"]))
                        for status, answer in operation["responses"].items()
                    ),
                )
            )
    return found


def _body_schema(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    schema: Mapping[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema


def _rows(schema: Mapping[str, Any], prefix: str = "") -> list[FieldRow]:
    rows = []
    for key, inner in schema.get("properties", {}).items():
        path = f"{prefix}{key}"
        options = inner.get("anyOf", [inner])
        nested = next((option for option in options if "properties" in option), None)
        if nested is None or len(options) > 1:
            rows.append(_row(path, inner))
        if nested is not None:
            rows += _rows(nested, f"{path}.")
    return rows


def _row(path: str, schema: Mapping[str, Any]) -> FieldRow:
    options = schema.get("anyOf", [schema])
    default = schema.get("default", next((o["default"] for o in options if "default" in o), None))
    described = schema.get("description") or next((o.get("description", "") for o in options), "")
    return FieldRow(
        path=path,
        takes=" or ".join(dict.fromkeys(_takes(option) for option in options)),
        default="" if default is None else json.dumps(default),
        help=str(described),
    )


def _takes(schema: Mapping[str, Any]) -> str:
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        names = [str(value) for value in schema["enum"]]
        return "one of " + ", ".join(names) if len(names) <= 8 else f"one of {len(names)} catalog ids"
    kind = str(schema.get("type", "value"))
    words = {"integer": "whole number", "boolean": "true or false", "object": "object", "null": "null"}
    if kind == "array":
        return f"list of {_takes(schema.get('items', {}))}"
    bounds = ""
    if "minimum" in schema and "maximum" in schema:
        bounds = f" {schema['minimum']:,.12g} to {schema['maximum']:,.12g}"
    return f"{words.get(kind, kind)}{bounds}"


def _try(verb: str, body: str) -> Trial:
    """The answer as the API gives it, also to what it refuses."""
    kept = body[:MOST_LETTERS]
    try:
        if len(body) > MOST_LETTERS:
            raise BodyError(413, f"The form takes {MOST_LETTERS:,} letters; the API takes 256 KiB.")
        result = TRIED[verb](parse(body.encode()))
    except BodyError as error:
        said: Any = {"detail": [{"field": error.field, "message": error.message}]}
        return Trial(verb=verb, body=kept, status=error.status, answer=_pretty(said))
    if isinstance(result, InputProblems):
        said = {"detail": [{"field": p.field, "message": p.message} for p in result.problems]}
        return Trial(verb=verb, body=kept, status=422, answer=_pretty(said))
    return Trial(verb=verb, body=kept, status=200, answer=_pretty(strict(dict(result))))


def _pretty(value: Any) -> str:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    lines = text.split("\n")
    if len(lines) <= 1200:
        return text
    return "\n".join([*lines[:1200], f"… {len(lines) - 1200:,} more lines; the API sends them all"])
