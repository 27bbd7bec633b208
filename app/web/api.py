"""The JSON API: the verbs of the calculator and what they know. Reads no cookie, changes nothing."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from app.calculator.names import NAMES
from app.catalog import load_catalog
from app.services.advising import advise_on
from app.services.balance_model import balance_asked
from app.services.estimation import estimate
from app.services.inputs import InputProblems
from app.services.runs import published_json
from app.services.scheduling import schedule
from app.services.search_jobs import BusyError
from app.services.serving import serve
from app.web.advise_schema import advise_schema
from app.web.api_body import JsonBody, problems_response, strict
from app.web.api_schema import (
    balance_schema,
    estimate_schema,
    operation,
    published_fields,
    schedule_schema,
    serve_schema,
)
from app.web.published_schema import published_responses
from app.web.search_api import BUSY, desk_of

router = APIRouter(prefix="/api/v1", tags=["calculator"])


def answered(result: Mapping[str, Any] | InputProblems) -> JSONResponse:
    """200 with the answer, legal or not; 422 with every input that could not be used."""
    if isinstance(result, InputProblems):
        found = [{"field": problem.field, "message": problem.message} for problem in result.problems]
        return problems_response(422, found)
    return JSONResponse(strict(dict(result)))


@router.post(
    "/estimate",
    summary="Memory, time, traffic and legality of one training layout",
    response_class=JSONResponse,
    openapi_extra=operation(estimate_schema(), "The estimate; `legal` false with every broken rule."),
)
def post_estimate(body: JsonBody) -> JSONResponse:
    """Bytes, seconds, FLOP, bytes per second, fractions 0..1. A layout that does not fit is a result."""
    return answered(estimate(body))


@router.post(
    "/advise",
    summary="The decision procedure, step by step, beside the best of the search",
    response_class=JSONResponse,
    openapi_extra=operation(advise_schema(), "Steps with numbers and reasons, the layout, what is refused."),
)
async def post_advise(body: JsonBody, request: Request) -> JSONResponse:
    """`feasible` is false where no layout fits with a batch in the range; the steps say what gives."""
    try:
        return answered(await asyncio.wrap_future(desk_of(request).ask_other(advise_on, body)))
    except BusyError:
        return problems_response(503, [{"field": "", "message": BUSY}])


@router.post(
    "/serve",
    summary="What a group of devices can hold and do when it serves a model",
    response_class=JSONResponse,
    openapi_extra=operation(serve_schema(), "Weights, room for the cache, requests at once, bounds."),
)
def post_serve(body: JsonBody) -> JSONResponse:
    """The weakest device decides. One request of full length must fit, or the server does not start."""
    return answered(serve(body))


@router.post(
    "/schedule",
    summary="A pipeline's order of work, played out",
    response_class=JSONResponse,
    openapi_extra=operation(schedule_schema(), "Makespan, bubble, micro-batches in flight, every event."),
)
def post_schedule(body: JsonBody) -> JSONResponse:
    """GPipe, 1F1B, interleaved and zero-bubble, with equal or unequal stages."""
    played = schedule(body)
    # Up to 400,000 events, all of finite numbers: what `strict` looks for cannot be there.
    return answered(played) if isinstance(played, InputProblems) else JSONResponse(played)


@router.post(
    "/balance",
    summary="Pieces of a model over pipeline stages, the slowest as fast as it can be",
    response_class=JSONResponse,
    openapi_extra=operation(balance_schema(), "The split, its bound, the even split, and the loss per step."),
)
def post_balance(body: JsonBody) -> JSONResponse:
    """Contiguous pieces, exact for one chunk per device; or a split of your own, beside the best.

    With a model (and cluster, layout, training) in place of pieces, they are the engine's own seconds.
    """
    return answered(balance_asked(body))


@router.get("/catalog", summary="Devices, links and models, each with its source")
def get_catalog() -> dict[str, Any]:
    """What an id stands for."""
    catalog = load_catalog()
    return {
        "gpus": [
            {
                "id": key,
                "name": entry.device.name,
                "memory_bytes": entry.device.memory_bytes,
                "peak_flops": {"bf16": entry.device.peak_flops_bf16, "fp8": entry.device.peak_flops_fp8},
                "memory_bandwidth_bytes_per_s": entry.device.memory_bandwidth_bytes_per_s,
                "intra_node": entry.intra_node.id,
                "inter_node": entry.inter_node.id,
                "gpus_per_node": entry.gpus_per_node,
                "nics_per_node": entry.nics_per_node,
                "source": entry.source,
                "note": entry.note,
            }
            for key, entry in catalog.gpus.items()
        ],
        "links": [
            {
                "id": key,
                "name": entry.link.name,
                "bandwidth_bytes_per_s": entry.link.bandwidth_bytes_per_s,
                "latency_s": entry.link.latency_s,
                "source": entry.source,
            }
            for key, entry in catalog.links.items()
        ],
        "models": [
            {"id": key, **dict(entry.values), "name": entry.model.name, "source": entry.source}
            for key, entry in catalog.models.items()
        ],
    }


@router.get(
    "/published",
    summary="Published runs, each with what is predicted of it and the signed error",
    response_class=JSONResponse,
    openapi_extra=published_responses(),
)
def get_published() -> JSONResponse:
    """Signed errors are predicted over reported, less one: above zero we are too slow."""
    return JSONResponse(strict(published_json()))


@router.get("/fields", summary="Every input with its bounds")
def get_fields() -> dict[str, Any]:
    """Beyond these bounds an input is refused."""
    return {"fields": published_fields()}


@router.get("/names", summary="The numbers that lessons and puzzles ask for by name")
def get_names() -> dict[str, Any]:
    """Beside these, every path of an answer and of the inputs is a name."""
    return {
        "names": [
            {
                "name": name.name,
                "help": name.help,
                "unit": name.unit,
                "source": name.source,
                "verb": name.question,
                "arguments": [
                    {
                        "name": argument.name,
                        "help": argument.help,
                        "unit": argument.unit,
                        "default": strict(argument.default),
                        "of_model": argument.of_model,
                    }
                    for argument in name.arguments
                ],
            }
            for name in NAMES.values()
        ]
    }
