"""Where the links and images of a lesson lead on the site, given what the course has."""

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from app.curriculum.engine import Engine
from app.curriculum.raw_html import safe_address

LESSON_FILE = re.compile(r"\d{4}-[^/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonRef:
    """A lesson as others may link to it."""

    slug: str
    title: str = ""
    number: int = 0
    planned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseIndex:
    """What of a course can be linked to. None: not known, so links are not judged."""

    topic: str
    lessons: Mapping[str, LessonRef] = field(default_factory=dict)
    glossary: frozenset[str] | None = None  # anchors
    references: frozenset[str] | None = None  # slugs
    images: frozenset[str] | None = None  # paths below images/
    has_resources: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the parser may know beyond the file itself. All of it may be missing."""

    courses: Mapping[str, CourseIndex] = field(default_factory=dict)
    exists: Callable[[str], bool] | None = None  # whether a file lies at a path relative to the lesson
    engine: Engine | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a link leads: an address, or none with the reason."""

    href: str = ""
    kind: str = ""  # "" | term | planned | broken-link | removed
    code: str = ""  # of the problem, if there is one
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The file whose links are resolved."""

    course: str
    folder: str  # "lessons", "reference" or "" (the course's own folder)


def resolve_link(written: str, place: Place, context: Context) -> Target:
    """Where a link of this file leads."""
    if not safe_address(written):
        return Target(
            kind="removed",
            code="HT002",
            message=f"the link was removed, it could run code or leads nowhere safe: {written}",
        )
    if written.startswith(("/", "#")) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", written):
        return Target(href=written) if not written.startswith("//") else Target(href="https:" + written)
    path, _, anchor = unquote(written).partition("#")
    path = path.partition("?")[0]
    parts = posixpath.normpath(posixpath.join("course", place.course or "course", place.folder, path)).split(
        "/"
    )
    tail = f"#{anchor}" if anchor else ""
    if len(parts) < 2 or parts[0] != "course":
        return _dead(written, "leads out of the lessons folder")
    course, rest = parts[1], "/".join(parts[2:])
    known = context.courses.get(course)
    if context.courses and known is None and course != place.course:
        return _dead(written, f"there is no course {course}")
    return _page(written, course, rest, tail, anchor, known, context)


def _page(
    written: str, course: str, rest: str, tail: str, anchor: str, known: CourseIndex | None, context: Context
) -> Target:
    base = f"/courses/{course}"
    name, dot, extension = rest.rpartition(".")
    if rest in ("", "README.md") or rest.rstrip("/") == "lessons":
        return Target(href=base + tail)
    if rest.startswith("images/"):
        return Target(href=f"{base}/{rest}")
    if not dot or extension.lower() != "md":
        return _on_disk(written, context)
    if rest in ("NOTES.md",) or rest.startswith("learning-records/"):
        return _dead(written, "is private and not published")
    if rest == "GLOSSARY.md":
        if known and known.glossary is not None and anchor and anchor not in known.glossary:
            return _dead(written, f"the glossary has no term {anchor}")
        return Target(href=f"{base}/glossary{tail}", kind="term" if anchor else "")
    if rest == "RESOURCES.md":
        return Target(href=f"{base}/resources{tail}")
    folder, _, slug = name.rpartition("/")
    if folder == "reference":
        if known and known.references is not None and slug not in known.references:
            return _dead(written, f"there is no reference page {slug}")
        return Target(href=f"{base}/reference/{slug}{tail}")
    if folder in ("lessons", "") and (LESSON_FILE.fullmatch(slug) or folder == "lessons"):
        return _lesson(written, base, slug, tail, known, context)
    return _on_disk(written, context)


def _lesson(
    written: str, base: str, slug: str, tail: str, known: CourseIndex | None, context: Context
) -> Target:
    if known is None:
        if context.exists is not None and not context.exists(unquote(written).partition("#")[0]):
            return _dead(written, "there is no such file")
        return Target(href=f"{base}/lessons/{slug}{tail}")
    reference = known.lessons.get(slug)
    if reference is None:
        return _dead(written, f"there is no lesson {slug}, written or planned")
    if reference.planned:
        return Target(
            kind="planned",
            code="LN004",
            message=f"lesson {reference.number} ({slug}) is planned and not yet written",
        )
    return Target(href=f"{base}/lessons/{slug}{tail}")


def _on_disk(written: str, context: Context) -> Target:
    if context.exists is None and not context.courses:
        return Target(kind="broken-link")
    if context.exists is not None and context.exists(unquote(written).partition("#")[0].partition("?")[0]):
        return Target(
            kind="unpublished",
            code="LN001",
            message=f"the link leads to a file that the site does not publish: {written}",
        )
    return _dead(written, "there is no such file")


def _dead(written: str, why: str) -> Target:
    return Target(kind="broken-link", code="LN001", message=f"the link leads nowhere: {written} ({why})")


def resolve_image(written: str, place: Place, context: Context) -> Target:
    """Where an image of this file lies.

    `href` is its address; kind "elsewhere" means it is another site's.
    """
    if written.startswith(("http://", "https://", "//")):
        return Target(
            href=written, kind="elsewhere", code="LN005", message=f"the image lies on another site: {written}"
        )
    if not safe_address(written):
        return Target(
            code="HT002", message=f"the image was removed, its address could run code: {written[:80]}"
        )
    path = unquote(written).partition("?")[0].partition("#")[0]
    parts = posixpath.normpath(posixpath.join("course", place.course or "course", place.folder, path)).split(
        "/"
    )
    missing = Target(code="LN002", message=f"image does not exist: {written}")
    if len(parts) < 3 or parts[0] != "course" or "images" not in parts:
        return missing
    course = parts[1]
    name = "/".join(parts[parts.index("images") + 1 :])
    known = context.courses.get(course)
    if context.exists is not None:
        found = context.exists(path)
    else:
        found = known is None or known.images is None or name in known.images
    return Target(href=f"/courses/{course}/images/{name}") if found else missing
