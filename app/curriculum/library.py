"""Reads lessons/ into a Library, and again when a file changed. The only module here that touches files.

A file that cannot be read any more, or that lost its content while being saved, does not take the last good
version of a lesson off the site: the old lesson stays, with the new file's problems.
"""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from app.curriculum.blocks import Lesson, Problem, Severity
from app.curriculum.course import Course, Library
from app.curriculum.course_readme import Readme, read_readme
from app.curriculum.engine import Engine
from app.curriculum.header import FILE_NUMBER
from app.curriculum.image_size import ENOUGH, image_size
from app.curriculum.library_files import (
    Folder,
    Stamps,
    arc_of,
    declared_by,
    find_folders,
    read_stamps,
    terms_of,
)
from app.curriculum.links import Context, CourseIndex, LessonRef
from app.curriculum.parser import parse
from app.curriculum.text import digest

_UNREADABLE = {"TX002", "TX003"}


@dataclass(slots=True)
class _File:
    """A file as it was last seen."""

    stamp: tuple[int, int]
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class _Moment:
    """What holds for all files of one reading."""

    context: Context
    fingerprint: str  # of everything that links may lead to
    stamps: Stamps


class LibraryStore:
    """The library of a folder, kept up to date.

    `current()` is cheap: at most once every `interval_s` it looks at the time stamps of the files.
    """

    def __init__(
        self,
        root: Path,
        *,
        engine: Engine | None = None,
        interval_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.root, self.engine = root, engine
        self._interval_s, self._clock = interval_s, clock
        self._files: dict[Path, _File] = {}
        self._parsed: dict[tuple[str, str], tuple[str, Lesson]] = {}  # (course, path) → key, lesson
        self._sizes: dict[Path, tuple[tuple[int, int], tuple[int, int]]] = {}  # stamp, width and height
        self._lock = threading.Lock()
        self._stamps: Stamps = {}
        self._checked = float("-inf")
        self._library: Library | None = None

    def current(self) -> Library:
        """The library as the files say now, or a moment ago."""
        if self._library is not None and self._clock() - self._checked < self._interval_s:
            return self._library
        if self._library is not None and not self._lock.acquire(blocking=False):
            return self._library  # somebody else is reading; the last version is good enough
        if self._library is None:
            self._lock.acquire()
        try:
            return self._refresh()
        finally:
            self._lock.release()

    def _refresh(self) -> Library:
        stamps = read_stamps(self.root)
        if self._library is None or stamps != self._stamps:
            self._library = self._read(stamps)
            self._stamps = stamps
        self._checked = self._clock()
        return self._library

    # -- reading --------------------------------------------------------------

    def _read(self, stamps: Stamps) -> Library:
        for path in set(self._files) - set(stamps):
            del self._files[path]
        folders = find_folders(self.root, stamps)
        readmes = {topic: self._readme(topic, folder, stamps) for topic, folder in folders.items()}
        indexes = {
            topic: self._index(topic, folder, readmes[topic], stamps) for topic, folder in folders.items()
        }
        context = Context(courses=indexes, engine=self.engine)
        fingerprint = digest([[topic, _fingerprint(index)] for topic, index in sorted(indexes.items())])
        moment = _Moment(context, fingerprint, stamps)
        courses = {
            topic: self._course(topic, folder, readmes[topic], moment) for topic, folder in folders.items()
        }
        diagrams = {
            diagram.hash: diagram.svg
            for course in courses.values()
            for page in course.pages
            for diagram in page.diagrams
            if diagram.svg
        }
        version = digest([fingerprint, sorted((str(path), file.hash) for path, file in self._files.items())])
        return Library(courses=courses, version=version, diagrams=diagrams)

    def _text(self, path: Path, stamps: Stamps) -> _File | None:
        """The file's text, read again only when its stamp changed. None: it cannot be read as UTF-8."""
        known = self._files.get(path)
        stamp = stamps.get(path, (0, 0))
        if known and known.stamp == stamp:
            return known
        try:
            data = path.read_bytes()
            text = data.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        self._files[path] = _File(stamp, text, hashlib.sha256(data).hexdigest()[:16])
        return self._files[path]

    def _size(self, path: Path, stamps: Stamps) -> tuple[int, int]:
        """An image's width and height, looked up again only when its stamp changed."""
        stamp = stamps.get(path, (0, 0))
        known = self._sizes.get(path)
        if known is None or known[0] != stamp:
            try:
                with path.open("rb") as file:
                    known = (stamp, image_size(file.read(ENOUGH)))
            except OSError:
                return 0, 0
            self._sizes[path] = known
        return known[1]

    def _readme(self, topic: str, folder: Folder, stamps: Stamps) -> Readme:
        file = self._text(folder.pages["README"], stamps) if "README" in folder.pages else None
        return read_readme(file.text, course=topic, context=Context()) if file else Readme()

    def _index(self, topic: str, folder: Folder, readme: Readme, stamps: Stamps) -> CourseIndex:
        lessons = {
            row.slug: LessonRef(
                slug=row.slug, title=row.title, number=row.number, planned=row.slug not in folder.lessons
            )
            for row in readme.rows
        }
        for slug in folder.lessons:
            number = FILE_NUMBER.fullmatch(slug)
            lessons.setdefault(slug, LessonRef(slug=slug, number=int(number.group(1)) if number else 0))
        glossary = None
        if "GLOSSARY" in folder.pages and (file := self._text(folder.pages["GLOSSARY"], stamps)):
            glossary = frozenset(
                parse(file.text, course=topic, slug="GLOSSARY", path="GLOSSARY.md", folder="").anchors
            )
        return CourseIndex(
            topic=topic,
            lessons=lessons,
            glossary=glossary,
            references=frozenset(folder.references),
            images=frozenset(folder.images),
            image_sizes={
                name: size for name, path in folder.images.items() if all(size := self._size(path, stamps))
            },
            has_resources="RESOURCES" in folder.pages,
        )

    def _course(self, topic: str, folder: Folder, readme: Readme, moment: _Moment) -> Course:
        def page(path: Path, place: str) -> Lesson | None:
            return self._page(topic, path, place, moment)

        pages = {name: page(path, "") for name, path in folder.pages.items()}
        lessons = {slug: found for slug, path in folder.lessons.items() if (found := page(path, "lessons"))}
        references = {
            slug: found for slug, path in folder.references.items() if (found := page(path, "reference"))
        }
        parts = arc_of(readme, lessons)
        order = [entry.slug for part in parts for entry in part.lessons if entry.slug in lessons]
        front = pages.get("README")
        course = Course(
            topic=topic,
            title=front.title if front else topic.replace("-", " ").capitalize(),
            description=front.description if front else "",
            mission_html=readme.mission_html,
            success=readme.success,
            intro_html=readme.intro_html,
            parts=parts,
            lessons={slug: lessons[slug] for slug in order},
            terms=terms_of(pages.get("GLOSSARY")),
            glossary=pages.get("GLOSSARY"),
            resources=pages.get("RESOURCES"),
            references=references,
            readme=front,
            skills=declared_by(front, "skills"),
            misconceptions=declared_by(front, "misconceptions"),
            rows=readme.rows,
            folder=folder.path,
        )
        problems = sorted(
            (p for one in course.pages for p in one.problems), key=lambda p: (p.path, p.line, p.code)
        )
        return replace(course, problems=tuple(problems))

    def _page(self, topic: str, path: Path, place: str, moment: _Moment) -> Lesson | None:
        """Parse a file, or take it from memory when neither it nor what it may link to has changed."""
        shown = f"{self.root.name}/{path.relative_to(self.root).as_posix()}"
        file = self._text(path, moment.stamps)
        known = self._parsed.get((topic, shown))
        if file is None:
            problem = Problem(
                path=shown,
                line=1,
                code="TX003",
                severity=Severity.ERROR,
                message="the file cannot be read as UTF-8 text",
                fix="save the file as UTF-8",
            )
            last = known[1] if known else _as_far_as_it_can_be_read(path, topic, place, shown, moment.context)
            return replace(last, problems=(problem, *(() if known else last.problems))) if last else None
        key = f"{file.hash}:{moment.fingerprint}"
        if known and known[0] == key:
            return known[1]
        lesson = parse(
            file.text, course=topic, slug=path.stem, path=shown, folder=place, context=moment.context
        )
        if known and _is_broken(lesson, known[1]):
            lesson = replace(known[1], problems=lesson.problems)
        self._parsed[(topic, shown)] = (key, lesson)
        return lesson


def _as_far_as_it_can_be_read(
    path: Path, topic: str, place: str, shown: str, context: Context
) -> Lesson | None:
    """A file that is not UTF-8, with a mark in place of each byte that is no text."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    return parse(text, course=topic, slug=path.stem, path=shown, folder=place, context=context)


def load_library(root: Path, *, engine: Engine | None = None) -> Library:
    """Read a folder of courses once."""
    return LibraryStore(root, engine=engine).current()


def _fingerprint(index: CourseIndex) -> list[object]:
    return [
        sorted((slug, ref.planned) for slug, ref in index.lessons.items()),
        sorted(index.glossary or ()),
        sorted(index.references or ()),
        sorted(index.images or ()),
        sorted((name, *size) for name, size in index.image_sizes.items()),
    ]


def _is_broken(new: Lesson, old: Lesson) -> bool:
    """Whether the new version is no lesson any more: unreadable, empty, or swallowed by an open code
    block.
    """
    codes = {problem.code for problem in new.problems}
    swallowed = "CD001" in codes and len(new.items) < len(old.items)
    return bool(codes & _UNREADABLE) or (not new.blocks and bool(old.blocks)) or swallowed
