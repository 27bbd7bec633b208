"""What instructors run: read one file and say what was understood; lint files, courses or the
whole folder.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.curriculum.blocks import Lesson, Problem, Severity
from app.curriculum.course import Course
from app.curriculum.engine import Engine
from app.curriculum.library import LibraryStore
from app.curriculum.links import Context
from app.curriculum.outline import outline
from app.curriculum.parser import parse
from app.curriculum.rules import check_lesson
from app.curriculum.rules_engine import check_with_engine
from app.services.course_problems import CourseProblems
from app.services.engine import CalculatorEngine
from app.services.lint_report import Format, LintResult, report

PRIVATE = ("NOTES.md", "learning-records")


@lru_cache(maxsize=1)
def _engine() -> Engine:
    return CalculatorEngine()


def parse_file(path: str | Path, data: bytes | None = None) -> dict[str, Any]:
    """What was understood of one file (or of `data`, as if it lay there), and its problems.

    Links are judged by what lies beside the file. Raises OSError when it cannot be read.
    """
    return outline(read_lesson(Path(path), str(path), data=data))


def read_lesson(file: Path, shown: str, *, text: str | None = None, data: bytes | None = None) -> Lesson:
    """The lesson in a file (or in `text` or `data`, as it might be saved there).

    Raises OSError when it cannot be read.
    """
    undecodable = ""
    if text is None:
        data = file.read_bytes() if data is None else data
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            text, undecodable = (
                data.decode("utf-8", "replace"),
                f"byte {error.start + 1} is not UTF-8: {error.reason}",
            )
    folder = file.resolve().parent
    course, place = _place(folder)
    context = Context(exists=lambda path: (folder / path).exists(), engine=_engine())
    lesson = parse(text, course=course, slug=file.stem, path=shown, folder=place, context=context)
    if not undecodable:
        return lesson
    problem = _unreadable(shown, f"the file is not UTF-8 text: {undecodable}", "save the file as UTF-8")
    return replace(lesson, problems=(problem, *lesson.problems))


def _unreadable(shown: str, message: str, fix: str = "check that it exists and may be read") -> Problem:
    return Problem(path=shown, line=1, code="TX003", severity=Severity.ERROR, message=message, fix=fix)


def _place(folder: Path) -> tuple[str, str]:
    """(course, folder inside the course) of a file's folder, by the names of the folders."""
    if folder.name in ("lessons", "reference") and folder.parent.name:
        return folder.parent.name, folder.name
    return folder.name, ""


# -- lint ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Root:
    """A folder of courses and which of its files were asked for."""

    path: Path
    wanted: list[Path] = field(default_factory=list)  # files or folders


def lint(
    paths: Sequence[str | Path], format: Format = "text", engine: Engine | None = None
) -> tuple[str, int]:
    """Every problem of every file at once, as text for people, for GitHub or as JSON; and the exit status."""
    result = find_problems(paths, engine)
    return report(result, format), result.exit_code


def find_problems(paths: Sequence[str | Path], engine: Engine | None = None) -> LintResult:
    """The problems behind `lint`, as values."""
    return Linter(engine or _engine()).find(paths)


def check_library_course(course: Course, engine: Engine) -> list[Problem]:
    """Everything there is to say about one course that was read with the engine."""
    return list(CourseProblems(engine).of_course(course))


class Linter:
    """Lints again and again: what did not change since the last time is neither read nor checked anew."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._stores: dict[Path, LibraryStore] = {}
        self._known = CourseProblems(engine)

    def find(self, paths: Sequence[str | Path]) -> LintResult:
        """Every problem of these files, courses and folders as they are now."""
        roots, loose, missing = _sort(paths)
        problems: list[Problem] = []
        files = 0
        for root in roots:
            found, count = self._of_root(root)
            problems += found
            files += count
        for file in loose:
            try:
                lesson = read_lesson(file, _shown(file))
            except OSError as error:
                problems.append(_unreadable(_shown(file), f"the file cannot be read: {error.strerror}"))
                continue
            finally:
                files += 1
            problems += [*lesson.problems, *check_lesson(lesson), *check_with_engine(lesson, self.engine)]
        return LintResult(problems=_tidy(problems), num_files=files, missing=tuple(missing))

    def _of_root(self, root: _Root) -> tuple[list[Problem], int]:
        if root.path not in self._stores:
            self._stores[root.path] = LibraryStore(root.path, engine=self.engine, interval_s=0)
        library = self._stores[root.path].current()
        problems: list[Problem] = []
        files: set[Path] = set()
        for course in library.courses.values():
            if not any(_within(one, course.folder) or _within(course.folder, one) for one in root.wanted):
                continue
            for problem in self._known.of_course(course):
                file = root.path.parent / problem.path
                if any(_within(file, one) for one in root.wanted):
                    problems.append(replace(problem, path=_shown(file)))
            files |= {root.path.parent / page.path for page in course.pages}
        return problems, sum(1 for file in files if any(_within(file, one) for one in root.wanted))


def _within(file: Path, wanted: Path) -> bool:
    return wanted in (file, *file.parents)


def _sort(paths: Iterable[str | Path]) -> tuple[list[_Root], list[Path], list[str]]:
    """Paths that belong to a folder of courses, files that stand alone, and paths that do not exist."""
    roots: dict[Path, _Root] = {}
    loose: list[Path] = []
    missing: list[str] = []
    for given in paths:
        path = Path(given).resolve()
        if not path.exists():
            missing.append(str(given))
        elif root := _root_of(path):
            roots.setdefault(root, _Root(root)).wanted.append(path)
        elif path.is_dir():
            loose += sorted(
                one for one in path.rglob("*.md") if not any(part in PRIVATE for part in one.parts)
            )
        else:
            loose.append(path)
    return list(roots.values()), loose, missing


def _root_of(path: Path) -> Path | None:
    """The folder of courses that a file, a course or the folder itself belongs to."""
    folder = path if path.is_dir() else path.parent
    if path.is_dir() and any(_is_course(one) for one in folder.iterdir() if one.is_dir()):
        return folder
    for candidate in (folder, folder.parent):
        if _is_course(candidate):
            return candidate.parent
    return None


def _is_course(folder: Path) -> bool:
    lessons = folder / "lessons"
    return (
        (folder / "README.md").is_file()
        and lessons.is_dir()
        and not any(_is_course_shallow(one) for one in lessons.iterdir())
    )


def _is_course_shallow(folder: Path) -> bool:
    """A repository whose lessons/ folder holds courses is no course itself."""
    return folder.is_dir() and (folder / "lessons").is_dir()


def _shown(file: Path) -> str:
    """The path as a person at this prompt would write it."""
    try:
        return (file.parent.resolve() / file.name).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(file)


def _tidy(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted, each once, each with its source line."""
    unique = dict.fromkeys(problems)
    lines: dict[str, list[str]] = {}
    tidy = []
    for problem in unique:
        if not problem.source and problem.path not in lines:
            try:
                lines[problem.path] = (
                    Path(problem.path).read_text(encoding="utf-8", errors="replace").split("\n")
                )
            except OSError:
                lines[problem.path] = []
        known = lines.get(problem.path, [])
        source = problem.source or (known[problem.line - 1].rstrip() if problem.line <= len(known) else "")
        tidy.append(replace(problem, source=source))
    return tuple(sorted(tidy, key=lambda p: (p.path, p.line, p.code, p.message)))
