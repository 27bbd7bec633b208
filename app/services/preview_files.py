"""The files that are previewed: which there are, what is in them, when they last changed."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.curriculum.blocks import Lesson, Problem
from app.curriculum.course import Course
from app.curriculum.engine import Engine
from app.curriculum.library import LibraryStore
from app.curriculum.rules import check_lesson
from app.curriculum.rules_course import check_course
from app.curriculum.rules_engine import check_with_engine
from app.services.authoring import read_lesson
from app.services.course_problems import CourseProblems, tidy
from app.services.previewing import Counts, counted

_PRIVATE = {"NOTES.md", "learning-records"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One file as it stands."""

    lesson: Lesson
    problems: Sequence[Problem]
    text: str
    live_url: str = ""  # where it can be answered as learners do; empty: nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A line of the list of files."""

    path: str
    title: str
    counts: Counts

    @property
    def folder(self) -> str:
        """The course, or where else the file lies."""
        return self.path.partition("/")[0] if "/" in self.path else "."

    @property
    def name(self) -> str:
        """The path within the course."""
        return self.path.partition("/")[2] or self.path


class PreviewFiles:
    """A Markdown file, a course or a folder of courses, read again whenever it changed.

    `root` is the folder of courses that the path lies in, or the path's own folder when there is none.
    """

    def __init__(self, path: Path, engine: Engine) -> None:
        path = path.resolve()
        self.engine = engine
        self.root = lessons_root(path)
        self.only = path
        self._store = LibraryStore(self.root, engine=engine, interval_s=0)
        self._problems = CourseProblems(engine)

    @property
    def watched(self) -> Path:
        """The folder whose changes matter."""
        return self.root if self.root.is_dir() else self.root.parent

    def version(self) -> str:
        """A word that changes when any file of the folder does."""
        digest = hashlib.sha256()
        for path in sorted(self.root.rglob("*")):
            try:
                status = path.stat()
            except OSError:
                continue
            if path.is_file():
                digest.update(
                    f"{path}\0{status.st_mtime_ns}\0{status.st_size}\n".encode("utf-8", "surrogateescape")
                )
        return digest.hexdigest()[:16]

    def entries(self) -> list[FileEntry]:
        """Every file that is previewed, with how many problems it has."""
        found = []
        for path in self._paths():
            relative = path.relative_to(self.root).as_posix()
            if reading := self.read(relative):
                lesson = reading.lesson
                title = f"{lesson.number}. {lesson.title}" if lesson.number else lesson.title
                found.append(FileEntry(path=relative, title=title, counts=counted(reading.problems)))
        return found

    def read(self, relative: str) -> Reading | None:
        """One file by its path below the root; None when it is not among the previewed ones."""
        path = next((one for one in self._paths() if one.relative_to(self.root).as_posix() == relative), None)
        if path is None:
            return None
        text = path.read_bytes().decode("utf-8", "replace")
        course = self._course_of(path)
        shown = f"{self.root.name}/{relative}"
        page = next((one for one in course.pages if one.path == shown), None) if course else None
        if course is None or page is None:
            return self._alone(path, text)
        around = [one for one in check_course(course) if one.path == shown]
        live = f"/courses/{page.course}/lessons/{page.slug}" if page.slug in course.lessons else ""
        problems = tidy([*self._problems.of_page(page), *around])
        return Reading(lesson=page, problems=problems, text=text, live_url=live)

    def _paths(self) -> Iterator[Path]:
        if self.only.is_file():
            yield self.only
            return
        for path in sorted(self.only.rglob("*.md")):
            parts = path.relative_to(self.root).parts
            if path.is_file() and not any(part in _PRIVATE or part.startswith(".") for part in parts):
                yield path

    def _course_of(self, path: Path) -> Course | None:
        parts = path.relative_to(self.root).parts
        return self._store.current().courses.get(parts[0]) if len(parts) > 1 else None

    def _alone(self, path: Path, text: str) -> Reading:
        """A file that belongs to no course: its links are judged by the files around it."""
        lesson = read_lesson(path, path.relative_to(self.root).as_posix())
        return Reading(lesson=lesson, problems=problems_alone(lesson, self.engine), text=text)


def problems_alone(lesson: Lesson, engine: Engine) -> tuple[Problem, ...]:
    """The problems of a lesson without a course around it."""
    own = check_lesson(lesson) if lesson.type == "lesson" else []
    return tidy([*lesson.problems, *own, *check_with_engine(lesson, engine)])


def lessons_root(path: Path) -> Path:
    """The folder of courses that a file, a course or such a folder belongs to; else the path's own folder."""
    folder = path if path.is_dir() else path.parent
    if any(_is_course(one) for one in folder.iterdir() if one.is_dir()):
        return folder
    return next((one.parent for one in (folder, folder.parent) if _is_course(one)), folder)


def _is_course(folder: Path) -> bool:
    """A README beside lessons/; a repository whose lessons/ holds courses is none itself."""
    lessons = folder / "lessons"
    if not (folder / "README.md").is_file() or not lessons.is_dir():
        return False
    return not any((one / "lessons").is_dir() for one in lessons.iterdir() if one.is_dir())
