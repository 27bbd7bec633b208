"""What instructors run: read one file and say what was understood; lint files, courses or the
whole folder.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from app.curriculum.blocks import Lesson, Problem, Severity
from app.curriculum.course import Course
from app.curriculum.engine import Engine
from app.curriculum.library import LibraryStore
from app.curriculum.links import Context
from app.curriculum.outline import outline, problem_outline
from app.curriculum.parser import parse
from app.curriculum.rules import check_lesson
from app.curriculum.rules_course import check_course
from app.curriculum.rules_engine import check_with_engine
from app.services.engine import CalculatorEngine

Format = Literal["text", "github", "json"]
PRIVATE = ("NOTES.md", "learning-records")
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


@lru_cache(maxsize=1)
def _engine() -> Engine:
    return CalculatorEngine()


def parse_file(path: str | Path) -> dict[str, Any]:
    """What was understood of one file, and its problems. Links are judged by what lies beside the file."""
    file = Path(path)
    return outline(read_lesson(file, str(path)))


def read_lesson(file: Path, shown: str, *, text: str | None = None) -> Lesson:
    """The lesson in a file (or in `text`, as it might be saved there).

    Raises OSError when it cannot be read.
    """
    undecodable = ""
    if text is None:
        data = file.read_bytes()
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
    problem = Problem(
        path=shown,
        line=1,
        code="TX003",
        severity=Severity.ERROR,
        message=f"the file is not UTF-8 text: {undecodable}",
        fix="save the file as UTF-8",
    )
    return replace(lesson, problems=(problem, *lesson.problems))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult:
    """All problems of all files that were asked for."""

    problems: tuple[Problem, ...]
    num_files: int
    missing: tuple[str, ...] = ()  # paths that do not exist

    def count(self, severity: Severity) -> int:
        """How many problems of this severity."""
        return sum(1 for problem in self.problems if problem.severity is severity)

    @property
    def exit_code(self) -> int:
        """0 without errors, 1 with, 2 when a path does not exist."""
        if self.missing:
            return 2
        return 1 if self.count(Severity.ERROR) else 0


def lint(
    paths: Sequence[str | Path], format: Format = "text", engine: Engine | None = None
) -> tuple[str, int]:
    """Every problem of every file at once, as text for people, for GitHub or as JSON; and the exit status."""
    result = find_problems(paths, engine)
    text = {"text": _as_text, "github": _as_github, "json": _as_json}[format](result)
    return text, result.exit_code


def find_problems(paths: Sequence[str | Path], engine: Engine | None = None) -> LintResult:
    """The problems behind `lint`, as values."""
    roots, loose, missing = _sort(paths)
    engine = engine or _engine()
    problems: list[Problem] = []
    files = 0
    for root in roots:
        found, count = _of_root(root, engine)
        problems += found
        files += count
    for file in loose:
        lesson = read_lesson(file, _shown(file))
        problems += [*lesson.problems, *check_lesson(lesson), *check_with_engine(lesson, engine)]
        files += 1
    return LintResult(problems=_tidy(problems), num_files=files, missing=tuple(missing))


def check_library_course(course: Course, engine: Engine) -> list[Problem]:
    """Everything there is to say about one course that was read with the engine."""
    found = [*course.problems, *check_course(course)]
    for page in course.pages:
        found += check_lesson(page) if page.type == "lesson" else []
        found += check_with_engine(page, engine)
    return found


def _of_root(root: _Root, engine: Engine) -> tuple[list[Problem], int]:
    store = LibraryStore(root.path, engine=engine)
    library = store.current()
    problems: list[Problem] = []
    files: set[Path] = set()
    for course in library.courses.values():
        topics = [
            one for one in root.wanted if one in (root.path, course.folder) or course.folder in one.parents
        ]
        if not topics:
            continue
        for problem in check_library_course(course, engine):
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
        return file.resolve().relative_to(Path.cwd()).as_posix()
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


def _as_text(result: LintResult) -> str:
    rows = []
    for problem in result.problems:
        rows.append(
            f"{problem.path}:{problem.line}: {problem.code} {problem.severity.value}: {problem.message}"
        )
        if problem.source.strip():
            rows.append(f"    {_cut(problem.source.strip())}")
        if problem.fix:
            rows.append(f"    fix: {problem.fix}")
    rows += [f"{path}: there is no such file or folder" for path in result.missing]
    rows.append(_summary(result))
    return "\n".join(rows)


def _cut(text: str, longest: int = 140) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _summary(result: LintResult) -> str:
    errors, warnings, notes = (result.count(one) for one in (Severity.ERROR, Severity.WARNING, Severity.INFO))
    files = f"{result.num_files} file{'s' if result.num_files != 1 else ''}"
    if not (errors or warnings or notes):
        return f"{files}: nothing to mend"

    def say(count: int, word: str) -> str:
        return f"{count} {word}{'s' if count != 1 else ''}"

    return f"{files}: {say(errors, 'error')}, {say(warnings, 'warning')}, {say(notes, 'note')}"


def _as_github(result: LintResult) -> str:
    rows = [
        f"::{_LEVELS[problem.severity]} file={_property(problem.path)},line={problem.line},"
        f"title={_property(problem.code)}::{_data(f'{problem.message} Fix: {problem.fix}')}"
        for problem in result.problems
    ]
    rows += [f"::error::{_data(path)}: there is no such file or folder" for path in result.missing]
    return "\n".join(rows)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _as_json(result: LintResult) -> str:
    data: Mapping[str, Any] = {
        "files": result.num_files,
        "errors": result.count(Severity.ERROR),
        "warnings": result.count(Severity.WARNING),
        "infos": result.count(Severity.INFO),
        "missing": list(result.missing),
        "problems": [problem_outline(problem) for problem in result.problems],
    }
    return json.dumps(data, ensure_ascii=False, indent=1, default=str)
