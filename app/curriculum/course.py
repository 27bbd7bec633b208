"""A course and the library of courses, as pages see them. Immutable."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.curriculum.blocks import Item, Lesson, Problem
from app.curriculum.course_readme import Row

PUBLISHED, PLANNED = "published", "planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonEntry:
    """A lesson in the arc, written or not."""

    number: int
    title: str
    slug: str
    minutes: int
    status: str  # "published" | "planned"
    description: str = ""

    @property
    def published(self) -> bool:
        """Whether there is a page to open."""
        return self.status == PUBLISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcPart:
    """One part of the arc."""

    title: str
    intro_html: str
    lessons: tuple[LessonEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One idea of the glossary."""

    anchor: str
    title: str
    html: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One folder of lessons/."""

    topic: str  # the folder's name, as in addresses
    title: str
    description: str = ""
    mission_html: str = ""
    success: tuple[str, ...] = ()  # HTML of each bullet
    intro_html: str = ""
    parts: tuple[ArcPart, ...] = ()
    lessons: Mapping[str, Lesson] = field(default_factory=dict)  # by slug, in the order of the arc
    terms: tuple[Term, ...] = ()
    glossary: Lesson | None = None
    resources: Lesson | None = None
    references: Mapping[str, Lesson] = field(default_factory=dict)
    readme: Lesson | None = None
    skills: Mapping[str, str] = field(default_factory=dict)  # id → what it is
    misconceptions: Mapping[str, str] = field(default_factory=dict)  # id → one sentence
    rows: tuple[Row, ...] = ()  # the README's lesson table as it is written
    folder: Path = Path()
    problems: tuple[Problem, ...] = ()  # of all files of the course

    @property
    def entries(self) -> tuple[LessonEntry, ...]:
        """All lessons of the arc, written and planned, in order."""
        return tuple(entry for part in self.parts for entry in part.lessons)

    @property
    def published(self) -> tuple[LessonEntry, ...]:
        """The lessons that can be opened, in order."""
        return tuple(entry for entry in self.entries if entry.published)

    def entry(self, slug: str) -> LessonEntry | None:
        """The lesson's place in the arc."""
        return next((entry for entry in self.entries if entry.slug == slug), None)

    def neighbours(self, slug: str) -> tuple[LessonEntry | None, LessonEntry | None]:
        """The published lessons before and after this one."""
        slugs = [entry.slug for entry in self.published]
        if slug not in slugs:
            return None, None
        at = slugs.index(slug)
        return (self.published[at - 1] if at else None), (
            self.published[at + 1] if at + 1 < len(slugs) else None
        )

    def part_of(self, slug: str) -> ArcPart | None:
        """The part of the arc that holds the lesson."""
        return next((part for part in self.parts if any(entry.slug == slug for entry in part.lessons)), None)

    def term(self, anchor: str) -> Term | None:
        """The glossary's term of that anchor."""
        return next((term for term in self.terms if term.anchor == anchor), None)

    @property
    def pages(self) -> tuple[Lesson, ...]:
        """Every file of the course that was read."""
        single = (self.readme, self.glossary, self.resources)
        return (*(page for page in single if page), *self.lessons.values(), *self.references.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """All courses, as they were read at one moment."""

    courses: Mapping[str, Course] = field(default_factory=dict)
    version: str = ""  # changes when anything that was read changes
    diagrams: Mapping[str, bytes] = field(default_factory=dict)  # hash → SVG

    def course(self, topic: str) -> Course | None:
        """The course of that topic."""
        return self.courses.get(topic)

    def lesson(self, topic: str, slug: str) -> Lesson | None:
        """A published lesson."""
        course = self.courses.get(topic)
        return course.lessons.get(slug) if course else None

    def item(self, topic: str, slug: str, item_id: str) -> Item | None:
        """An item of a published lesson."""
        lesson = self.lesson(topic, slug)
        return lesson.item(item_id) if lesson else None

    def diagram(self, name: str) -> bytes | None:
        """The SVG of a diagram by its hash."""
        return self.diagrams.get(name)

    def image(self, topic: str, name: str) -> Path | None:
        """The file of a course's image; None when there is none, or when the name leads elsewhere."""
        course = self.courses.get(topic)
        if course is None or "\\" in name or "\0" in name:
            return None
        for base in (course.folder / "images", course.folder / "lessons" / "images"):
            path = (base / name).resolve()
            if path.is_relative_to(base.resolve()) and path.is_file() and path.suffix.lower() in IMAGE_TYPES:
                return path
        return None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem of every file."""
        return tuple(problem for course in self.courses.values() for problem in course.problems)


IMAGE_TYPES = {".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif"}
