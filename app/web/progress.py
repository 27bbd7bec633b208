"""The page of one's own progress."""

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from app.services.overview import overview
from app.web.course_views import progress_view
from app.web.dependencies import HouseDep, TokenDep
from app.web.learner import PRIVATE
from app.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/progress")
def progress(request: Request, house: HouseDep, token: TokenDep) -> Response:
    """What is done, lesson by lesson."""
    view = progress_view(overview(house, token), datetime.now(UTC))
    return render(request, "pages/progress.html", {"progress": view}, headers=PRIVATE)
