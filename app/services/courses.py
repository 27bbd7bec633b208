"""Courses as pages ask for them: where a lesson stands, pages beside the lessons, pictures."""

from dataclasses import dataclass

from app.curriculum.blocks import Lesson
from app.curriculum.course import ArcPart, Course, LessonEntry
from app.services.house import House, UnknownPlaceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a lesson stands in its course: the lessons next to it, written or planned.

    `jump` is the next lesson that is written, where the next one is only planned.
    """

    course: Course
    part: ArcPart | None = None
    previous: LessonEntry | None = None
    next: LessonEntry | None = None
    jump: LessonEntry | None = None


def place_of(house: House, lesson: Lesson) -> Place:
    """The lesson's place in the arc. Raises UnknownPlaceError."""
    course = house.course(lesson.course)
    entries = course.entries
    at = next((index for index, entry in enumerate(entries) if entry.slug == lesson.slug), None)
    if at is None:
        return Place(course=course)
    following = entries[at + 1] if at + 1 < len(entries) else None
    written = [entry for entry in entries[at + 2 :] if entry.published]
    return Place(
        course=course,
        part=course.part_of(lesson.slug),
        previous=entries[at - 1] if at else None,
        next=following,
        jump=written[0] if following is not None and not following.published and written else None,
    )


def text_page(house: House, topic: str, name: str) -> tuple[Course, Lesson]:
    """The glossary, the resources or a reference page of a course. Raises UnknownPlaceError."""
    course = house.course(topic)
    page = {"glossary": course.glossary, "resources": course.resources}.get(name) or course.references.get(
        name
    )
    if page is None:
        raise UnknownPlaceError(f"The course “{course.title}” has no page “{name[:80]}”.")
    return course, page


def image_of(house: House, topic: str, name: str) -> tuple[bytes, str]:
    """A picture of a course and the ending of its name. Raises UnknownPlaceError."""
    path = house.library().image(house.course(topic).topic, name)
    if path is None:
        raise UnknownPlaceError(f"The course has no picture “{name[:80]}”.")
    return path.read_bytes(), path.suffix.lower()


def diagram_of(house: House, topic: str, digest: str) -> bytes:
    """A diagram of a course as SVG. Raises UnknownPlaceError."""
    house.course(topic)
    svg = house.library().diagram(digest)
    if not svg:
        raise UnknownPlaceError("This diagram has changed; open the lesson again.")
    return svg
