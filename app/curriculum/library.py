"""Reads lessons/ into a Library, and again when a file changed. The only module here that touches files.

A file that cannot be read any more, or that lost its content while being saved, does not take the last good
version of a lesson off the site: the old lesson stays, with the new file's problems.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.curriculum.blocks import Heading, Lesson, Problem, Prose, Severity
from app.curriculum.course import IMAGE_TYPES, PLANNED, PUBLISHED, ArcPart, Course, LessonEntry, Library, Term
from app.curriculum.course_readme import Part, Readme, read_readme
from app.curriculum.engine import Engine
from app.curriculum.header import FILE_NUMBER
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


@dataclass(slots=True)
class _Folder:
    """The files of one course by their role."""

    path: Path
    pages: dict[str, Path] = field(default_factory=dict)  # README, GLOSSARY, RESOURCES
    lessons: dict[str, Path] = field(default_factory=dict)
    references: dict[str, Path] = field(default_factory=dict)
    images: frozenset[str] = frozenset()


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
        self._lock = threading.Lock()
        self._stamps: Mapping[Path, tuple[int, int]] = {}
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
        stamps = _stamps(self.root)
        if self._library is None or stamps != self._stamps:
            self._library = self._read(stamps)
            self._stamps = stamps
        self._checked = self._clock()
        return self._library

    # -- reading --------------------------------------------------------------

    def _read(self, stamps: Mapping[Path, tuple[int, int]]) -> Library:
        for path in set(self._files) - set(stamps):
            del self._files[path]
        folders = _folders(self.root, stamps)
        readmes = {topic: self._readme(topic, folder, stamps) for topic, folder in folders.items()}
        indexes = {
            topic: self._index(topic, folder, readmes[topic], stamps) for topic, folder in folders.items()
        }
        context = Context(courses=indexes, engine=self.engine)
        fingerprint = digest([[topic, _fingerprint(index)] for topic, index in sorted(indexes.items())])
        courses = {
            topic: self._course(topic, folder, readmes[topic], context, fingerprint, stamps)
            for topic, folder in folders.items()
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

    def _text(self, path: Path, stamps: Mapping[Path, tuple[int, int]]) -> _File | None:
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

    def _readme(self, topic: str, folder: _Folder, stamps: Mapping[Path, tuple[int, int]]) -> Readme:
        file = self._text(folder.pages["README"], stamps) if "README" in folder.pages else None
        return read_readme(file.text, course=topic, context=Context()) if file else Readme()

    def _index(
        self, topic: str, folder: _Folder, readme: Readme, stamps: Mapping[Path, tuple[int, int]]
    ) -> CourseIndex:
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
            images=folder.images,
            has_resources="RESOURCES" in folder.pages,
        )

    def _course(
        self,
        topic: str,
        folder: _Folder,
        readme: Readme,
        context: Context,
        fingerprint: str,
        stamps: Mapping[Path, tuple[int, int]],
    ) -> Course:
        def page(path: Path, place: str) -> Lesson | None:
            return self._page(topic, path, place, context, fingerprint, stamps)

        pages = {name: page(path, "") for name, path in folder.pages.items()}
        lessons = {slug: found for slug, path in folder.lessons.items() if (found := page(path, "lessons"))}
        references = {
            slug: found for slug, path in folder.references.items() if (found := page(path, "reference"))
        }
        parts = _parts(readme, lessons)
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
            terms=_terms(pages.get("GLOSSARY")),
            glossary=pages.get("GLOSSARY"),
            resources=pages.get("RESOURCES"),
            references=references,
            readme=front,
            skills=_declared(front, "skills"),
            misconceptions=_declared(front, "misconceptions"),
            rows=readme.rows,
            folder=folder.path,
        )
        problems = sorted(
            (p for one in course.pages for p in one.problems), key=lambda p: (p.path, p.line, p.code)
        )
        return replace(course, problems=tuple(problems))

    def _page(
        self,
        topic: str,
        path: Path,
        place: str,
        context: Context,
        fingerprint: str,
        stamps: Mapping[Path, tuple[int, int]],
    ) -> Lesson | None:
        """Parse a file, or take it from memory when neither it nor what it may link to has changed."""
        shown = f"{self.root.name}/{path.relative_to(self.root).as_posix()}"
        file = self._text(path, stamps)
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
            last = known[1] if known else _as_far_as_it_can_be_read(path, topic, place, shown, context)
            return replace(last, problems=(problem, *(() if known else last.problems))) if last else None
        key = f"{file.hash}:{fingerprint}"
        if known and known[0] == key:
            return known[1]
        lesson = parse(file.text, course=topic, slug=path.stem, path=shown, folder=place, context=context)
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


def _is_broken(new: Lesson, old: Lesson) -> bool:
    """Whether the new version is no lesson any more: unreadable, empty, or swallowed by an open code
    block.
    """
    codes = {problem.code for problem in new.problems}
    swallowed = "CD001" in codes and len(new.items) < len(old.items)
    return bool(codes & _UNREADABLE) or (not new.blocks and bool(old.blocks)) or swallowed


def _stamps(root: Path) -> dict[Path, tuple[int, int]]:
    """Modification time and size of every file that could matter."""
    found = {}
    for path in root.rglob("*") if root.is_dir() else ():
        if path.suffix.lower() == ".md" or path.suffix.lower() in IMAGE_TYPES:
            try:
                status = path.stat()
            except OSError:
                continue
            found[path] = (status.st_mtime_ns, status.st_size)
    return found


def _folders(root: Path, stamps: Mapping[Path, tuple[int, int]]) -> dict[str, _Folder]:
    """The courses and their files. Private files (NOTES.md, learning-records/) are not among them."""
    folders: dict[str, _Folder] = {}
    images: dict[str, set[str]] = {}
    for path in sorted(stamps):
        parts = path.relative_to(root).parts
        if len(parts) < 2 or any(part.startswith(".") for part in parts):
            continue
        topic, rest = parts[0], parts[1:]
        folder = folders.setdefault(topic, _Folder(root / topic))
        if path.suffix.lower() != ".md":
            if "images" in rest[:2]:
                images.setdefault(topic, set()).add("/".join(rest[rest.index("images") + 1 :]))
        elif len(rest) == 1 and path.stem in ("README", "GLOSSARY", "RESOURCES"):
            folder.pages[path.stem] = path
        elif len(rest) == 2 and rest[0] == "lessons":
            folder.lessons[path.stem] = path
        elif len(rest) == 2 and rest[0] == "reference":
            folder.references[path.stem] = path
    for topic, names in images.items():
        folders[topic].images = frozenset(names)
    return {topic: folder for topic, folder in folders.items() if folder.pages or folder.lessons}


def _fingerprint(index: CourseIndex) -> list[object]:
    return [
        sorted((slug, ref.planned) for slug, ref in index.lessons.items()),
        sorted(index.glossary or ()),
        sorted(index.references or ()),
        sorted(index.images or ()),
    ]


def _parts(readme: Readme, lessons: Mapping[str, Lesson]) -> tuple[ArcPart, ...]:
    """The arc of the README; lessons that no table lists come last, by number."""
    parts = [_part(part, lessons) for part in readme.parts]
    listed = {row.slug for row in readme.rows}
    others = sorted(
        (lesson for slug, lesson in lessons.items() if slug not in listed),
        key=lambda one: (one.number, one.slug),
    )
    if others:
        entries = tuple(
            LessonEntry(
                number=one.number,
                title=one.title,
                slug=one.slug,
                minutes=one.minutes,
                status=PUBLISHED,
                description=one.description,
            )
            for one in others
        )
        parts.append(ArcPart(title="More lessons" if parts else "Lessons", intro_html="", lessons=entries))
    return tuple(parts)


def _part(part: Part, lessons: Mapping[str, Lesson]) -> ArcPart:
    entries = []
    for row in part.rows:
        lesson = lessons.get(row.slug)
        entries.append(
            LessonEntry(
                number=lesson.number if lesson else row.number,
                title=lesson.title if lesson else row.title,
                slug=row.slug,
                minutes=(lesson.minutes if lesson else 0) or row.minutes,
                status=PUBLISHED if lesson else PLANNED,
                description=lesson.description if lesson else "",
            )
        )
    return ArcPart(title=part.title, intro_html=part.intro_html, lessons=tuple(entries))


def _terms(glossary: Lesson | None) -> tuple[Term, ...]:
    """One term per ### heading (## when there are no ###), with the prose under it."""
    if glossary is None:
        return ()
    levels = {block.level for block in glossary.blocks if isinstance(block, Heading)}
    wanted = 3 if 3 in levels else 2
    terms: list[Term] = []
    inside = False
    for block in glossary.blocks:
        if isinstance(block, Heading):
            inside = block.level == wanted
            if inside:
                terms.append(Term(anchor=block.anchor, title=block.text, html="", text=""))
        elif isinstance(block, Prose) and inside:
            last = terms[-1]
            terms[-1] = replace(
                last, html=f"{last.html}\n{block.html}".strip(), text=f"{last.text} {block.text}".strip()
            )
    return tuple(terms)


def _declared(readme: Lesson | None, name: str) -> dict[str, str]:
    declared = readme.declarations.get(name) if readme else None
    if isinstance(declared, Mapping):
        return {str(key): str(value) for key, value in declared.items()}
    return {str(key): "" for key in declared} if isinstance(declared, list) else {}
