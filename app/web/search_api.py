"""The API's verbs over many layouts: search, and the smallest cluster that trains a model."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import JSONResponse

from app.services.inputs import InputProblems
from app.services.search_jobs import BusyError, Job, SearchDesk
from app.web.api_body import JsonBody, problems_response, strict
from app.web.api_schema import operation
from app.web.search_schema import search_schema, smallest_schema

router = APIRouter(prefix="/api/v1", tags=["calculator"])
BUSY = "Many searches are running. Try again in a few seconds."


def desk_of(request: Request) -> SearchDesk:
    """Where this application's searches are handed in."""
    desk: SearchDesk = request.app.state.searches
    return desk


@router.post(
    "/search",
    summary="All legal layouts of a cluster, ranked",
    response_class=JSONResponse,
    openapi_extra=operation(search_schema(), "Counts, the best with reasons, Pareto fronts; 202: a job."),
)
async def post_search(body: JsonBody, request: Request) -> JSONResponse:
    """A search of more than two million layouts is answered 202 with a job: ask its `url` how far it is."""
    try:
        found = await asyncio.wrap_future(desk_of(request).ask(body))
    except BusyError:
        return _busy()
    if isinstance(found, Job):
        return JSONResponse(found.to_json(), status_code=202, headers={"Location": found.to_json()["url"]})
    return _answered(found)


@router.get("/search/{id}", summary="How far a large search is, and its answer when it is done")
def get_search(id: str, request: Request) -> JSONResponse:
    """`state`: waiting, running, done, stopped or failed."""
    return JSONResponse(strict(_job(id, request).to_json()))


@router.delete("/search/{id}", summary="Stop a large search; what it has found is kept")
def delete_search(id: str, request: Request) -> JSONResponse:
    """The block that is being worked on is finished first."""
    job = _job(id, request)
    job.stop()
    return JSONResponse(strict(job.to_json()))


@router.post(
    "/smallest-cluster",
    summary="The fewest nodes on which a model trains, and how",
    response_class=JSONResponse,
    openapi_extra=operation(smallest_schema(), "Nodes, devices, and the fastest layout on them."),
)
async def post_smallest_cluster(body: JsonBody, request: Request) -> JSONResponse:
    """Node counts are tried from the least that could hold the model's states upwards."""
    try:
        found = await asyncio.wrap_future(desk_of(request).ask_smallest(body))
    except BusyError:
        return _busy()
    return _answered(found)


def _job(id: str, request: Request) -> Job:
    job = desk_of(request).find(id)
    if job is None:
        raise HTTPException(404, "There is no such search, or it is no longer remembered. Ask again.")
    return job


def _busy() -> JSONResponse:
    response = problems_response(503, [{"field": "", "message": BUSY}])
    response.headers["Retry-After"] = "5"
    return response


def _answered(result: Mapping[str, Any] | InputProblems) -> JSONResponse:
    if isinstance(result, InputProblems):
        found = [{"field": problem.field, "message": problem.message} for problem in result.problems]
        return problems_response(422, found)
    return JSONResponse(strict(dict(result)))
