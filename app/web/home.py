"""The start page: one thing to do next."""

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from app.services.overview import overview
from app.web.course_views import home_view
from app.web.dependencies import HouseDep, TokenDep
from app.web.learner import PRIVATE
from app.web.rendering import render
from app.web.showcase import showcase

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request, house: HouseDep, token: TokenDep) -> Response:
    """Start or continue, the courses, the calculator."""
    view = home_view(overview(house, token), datetime.now(UTC))
    return render(request, "pages/home.html", {"home": view, "showcase": showcase()}, headers=PRIVATE)
