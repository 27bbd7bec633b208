"""Courses: the list, a course with its arc, its glossary, resources, reference pages and pictures."""

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response

from app.services.courses import diagram_of, image_of, text_page
from app.services.overview import overview
from app.web.course_views import beside_view, course_line
from app.web.dependencies import HouseDep, TokenDep
from app.web.learner import PRIVATE
from app.web.rendering import render
from app.web.text_views import text_view

router = APIRouter(include_in_schema=False)

IMAGE_TYPES = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
}
# A picture may hold no scripts and load nothing, even when it is opened by itself.
IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"


@router.get("/courses")
def courses(request: Request, house: HouseDep, token: TokenDep) -> Response:
    """All courses with their arcs."""
    standing = overview(house, token)
    now = datetime.now(UTC)
    lines = [course_line(course, standing.next, now) for course in standing.courses]
    return render(request, "pages/courses.html", {"courses": lines}, headers=PRIVATE)


@router.get("/courses/{topic}")
def course(request: Request, topic: str, house: HouseDep, token: TokenDep) -> Response:
    """Mission, what success looks like, the arc, what stands beside the lessons."""
    known = house.course(topic)
    standing = overview(house, token)
    here = next(one for one in standing.courses if one.course.topic == topic)
    line = course_line(here, standing.next, datetime.now(UTC))
    return render(request, "pages/course.html", {"course": line, "page": beside_view(known)}, headers=PRIVATE)


@router.get("/courses/{topic}/glossary")
def glossary(request: Request, topic: str, house: HouseDep) -> Response:
    """The words of the course."""
    return _text(request, house, topic, "glossary")


@router.get("/courses/{topic}/resources")
def resources(request: Request, topic: str, house: HouseDep) -> Response:
    """What to read."""
    return _text(request, house, topic, "resources")


@router.get("/courses/{topic}/reference/{slug}")
def reference(request: Request, topic: str, slug: str, house: HouseDep) -> Response:
    """A page to look things up in."""
    return _text(request, house, topic, slug)


@router.get("/courses/{topic}/images/{path:path}")
def picture(topic: str, path: str, house: HouseDep) -> Response:
    """A picture of the course."""
    content, ending = image_of(house, topic, path)
    return _image(content, IMAGE_TYPES[ending])


@router.get("/courses/{topic}/diagrams/{digest}.svg")
def drawing(topic: str, digest: str, house: HouseDep) -> Response:
    """A diagram of the course, drawn from its text; its address changes with it."""
    response = _image(diagram_of(house, topic, digest), "image/svg+xml")
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


def _text(request: Request, house: HouseDep, topic: str, slug: str) -> Response:
    course, page = text_page(house, topic, slug)
    return render(request, "pages/course_text.html", {"text": text_view(page, course.title)})


def _image(content: bytes, media_type: str) -> Response:
    headers = {"Content-Security-Policy": IMAGE_POLICY, "Cache-Control": "public, max-age=3600"}
    return Response(content, media_type=media_type, headers=headers)
