"""Where the links and images of a lesson lead on the site, given what the course has."""

import difflib
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from app.curriculum.engine import Engine
from app.curriculum.raw_html import safe_address


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
    image_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # width and height, if known
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
    size: tuple[int, int] = (0, 0)  # of an image, if known


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The file whose links are resolved."""

    course: str
    folder: str  # "lessons", "reference" or "" (the course's own folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Path:
    """A relative link, taken apart."""

    written: str
    course: str
    rest: str  # the path inside the course
    anchor: str
    known: CourseIndex | None
    context: Context

    @property
    def base(self) -> str:
        return f"/courses/{self.course}"

    @property
    def tail(self) -> str:
        return f"#{self.anchor}" if self.anchor else ""


def resolve_link(written: str, place: Place, context: Context) -> Target:
    """Where a link of this file leads."""
    if not safe_address(written):
        said = f"the link was removed, it could run code or leads nowhere safe: {written}"
        return Target(kind="removed", code="HT002", message=said)
    if written.startswith("//"):
        return Target(href="https:" + written)
    if written.startswith(("/", "#")) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", written):
        return Target(href=written)
    path, _, anchor = unquote(written).partition("#")
    parts = _inside(path.partition("?")[0], place)
    if parts is None:
        return _dead(written, "leads out of the lessons folder")
    course, rest = parts
    known = context.courses.get(course)
    if context.courses and known is None and course != place.course:
        return _dead(written, f"there is no course {course}")
    found = _Path(written=written, course=course, rest=rest, anchor=anchor, known=known, context=context)
    return next((target for try_ in _KINDS if (target := try_(found))), None) or _on_disk(written, context)


def _inside(path: str, place: Place) -> tuple[str, str] | None:
    """(course, path inside it) of a relative path; None when it leads out of the folder of courses."""
    joined = posixpath.normpath(posixpath.join("root", place.course or "course", place.folder, path))
    parts = joined.split("/")
    return (parts[1], "/".join(parts[2:])) if len(parts) > 1 and parts[0] == "root" else None


def _front(path: _Path) -> Target | None:
    """The course itself, its resources, an image, or what is private."""
    if not path.written.strip():
        return _dead("[…]()", "it has no address")
    if path.rest in ("", "README.md", "lessons"):
        return Target(href=path.base + path.tail)
    if path.rest == "RESOURCES.md":
        return Target(href=f"{path.base}/resources{path.tail}")
    if path.rest.startswith("images/"):
        return Target(href=f"{path.base}/{path.rest}")
    if path.rest == "NOTES.md" or path.rest.startswith("learning-records/"):
        return _dead(path.written, "is private and not published")
    return None


def _glossary(path: _Path) -> Target | None:
    if path.rest != "GLOSSARY.md":
        return None
    terms = path.known.glossary if path.known else None
    if terms is not None and path.anchor and path.anchor not in terms:
        return _dead(path.written, f"the glossary has no term {path.anchor}{near(path.anchor, terms)}")
    return Target(href=f"{path.base}/glossary{path.tail}", kind="term" if path.anchor else "")


def _reference(path: _Path) -> Target | None:
    match = re.fullmatch(r"reference/([^/]+)\.md", path.rest)
    if match is None:
        return None
    pages = path.known.references if path.known else None
    if pages is not None and match.group(1) not in pages:
        return _dead(
            path.written, f"there is no reference page {match.group(1)}{near(match.group(1), pages)}"
        )
    return Target(href=f"{path.base}/reference/{match.group(1)}{path.tail}")


def _lesson(path: _Path) -> Target | None:
    match = re.fullmatch(r"lessons/([^/]+)\.md|(\d{4}-[^/]+)\.md", path.rest)
    if match is None:
        return None
    slug = match.group(1) or match.group(2)
    written = Target(href=f"{path.base}/lessons/{slug}{path.tail}")
    if path.known is None:
        exists = path.context.exists
        gone = exists is not None and not exists(unquote(path.written).partition("#")[0])
        return _dead(path.written, "there is no such file") if gone else written
    reference = path.known.lessons.get(slug)
    if reference is None:
        return _dead(path.written, f"there is no lesson {slug}{near(slug, path.known.lessons)}")
    if reference.planned:
        said = f"lesson {reference.number} ({slug}) is planned and not yet written"
        return Target(kind="planned", code="LN004", message=said)
    return written


_KINDS = (_front, _glossary, _reference, _lesson)


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


def near(word: str, known: Iterable[str]) -> str:
    """A question after the name that may have been meant, or nothing."""
    found = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


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
    inside = _inside(path, place)
    missing = Target(code="LN002", message=f"image does not exist: {written}")
    if inside is None or "images" not in inside[1].split("/"):
        return missing
    course, parts = inside[0], inside[1].split("/")
    name = "/".join(parts[parts.index("images") + 1 :])
    known = context.courses.get(course)
    if context.exists is not None:
        found = context.exists(path)
    else:
        found = known is None or known.images is None or name in known.images
    size = known.image_sizes.get(name, (0, 0)) if known else (0, 0)
    return Target(href=f"/courses/{course}/images/{name}", size=size) if found else missing
