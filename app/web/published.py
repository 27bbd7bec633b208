"""/published: every published run beside its prediction; and each run on a page of its own."""

from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response

from app.catalog.held_out import load_held_out
from app.services.runs import published_runs
from app.web.charts.error_bar import error_scale
from app.web.published_filter import read_filter
from app.web.published_run import run_view
from app.web.published_view import view_of
from app.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/published", response_model=None)
def published(request: Request) -> Response:
    """The runs that were chosen, a page at a time; htmx gets the part below the lead."""
    runs = published_runs()
    chosen = read_filter(request.query_params.multi_items(), runs)
    context: dict[str, Any] = {"view": view_of(runs, chosen, load_held_out()), "scale": error_scale()}
    return render(request, "pages/published.html", context, block="published")


@router.get("/published/{run_id}", response_model=None)
def run(request: Request, run_id: str) -> Response:
    """One run: what its source states, what is predicted and why that may be off."""
    found = next((run for run in published_runs() if run.id == run_id), None)
    if found is None:
        raise HTTPException(404, f"There is no published run “{run_id[:80]}”. /published lists them all.")
    return render(request, "pages/published_run.html", {"run": run_view(found)})
