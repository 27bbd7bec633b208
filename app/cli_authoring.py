"""What instructors run: `meshwright new | parse | lint | preview | export`."""

import json
import socket
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from watchfiles import watch as watch_files

from app.curriculum.blocks import Lesson
from app.curriculum.library import load_library
from app.services import authoring, fixing, skeletons
from app.services.engine import CalculatorEngine
from app.services.export import export as export_course
from app.services.lint_report import report
from app.services.remembering_engine import RememberingEngine
from app.settings import Settings

Lessons = Annotated[
    Path | None, typer.Option("--lessons", help="The folder of courses; ./lessons by default.")
]
Paths = Annotated[list[Path], typer.Argument(help="Files, courses, or the folder of courses.")]
LintFormat = Literal["text", "github", "json"]
LOOK_EVERY_MS = 2_000
ExportFormat = Literal["html", "markdown", "gift", "anki"]


def register(cli: typer.Typer) -> None:
    """Add the commands to the command line."""
    new = typer.Typer(no_args_is_help=True, help="Begin a course or a lesson.")
    new.command("course")(new_course)
    new.command("lesson")(new_lesson)
    cli.add_typer(new, name="new")
    cli.command("parse")(parse)
    cli.command("lint")(lint)
    cli.command("preview")(preview)
    cli.command("export")(export)


def say_problems(problems: tuple[str, ...], code: int = 1) -> typer.Exit:
    """One line on standard error for each problem."""
    for problem in problems:
        print(f"meshwright: {problem}", file=sys.stderr)
    return typer.Exit(code)


def lessons_folder(given: Path | None) -> Path:
    """The folder that was given, or ./lessons, or the one of the settings."""
    if given is not None:
        return given
    here = Path("lessons")
    return here if here.is_dir() else Settings().lessons_dir


def new_course(
    name: Annotated[str, typer.Argument(help="What the course is called; its folder is named after it.")],
    title: Annotated[str, typer.Option(help="The title, when it differs from the name.")] = "",
    lessons: Lessons = None,
) -> None:
    """Write README, GLOSSARY and RESOURCES of a new course."""
    outcome = skeletons.new_course(lessons_folder(lessons), name, title=title)
    if outcome.problems:
        raise say_problems(outcome.problems)
    for path in outcome.written:
        print(f"wrote {path}")
    print(f'Next: meshwright new lesson {outcome.written[0].parent.name} "Title of the first lesson"')


def new_lesson(
    course: Annotated[str, typer.Argument(help="The course's folder.")],
    title: Annotated[str, typer.Argument(help="The title, without a number.")],
    minutes: Annotated[
        int, typer.Option(help="How long it takes to work through.")
    ] = skeletons.DEFAULT_MINUTES,
    lessons: Lessons = None,
) -> None:
    """Write the next lesson of a course and add it to the course's table."""
    outcome = skeletons.new_lesson(lessons_folder(lessons), course, title, minutes=minutes)
    if outcome.problems:
        raise say_problems(outcome.problems)
    print(f"wrote {outcome.written[0]}")
    for path in outcome.written[1:]:
        print(f"added it to {path}")
    for note in outcome.notes:
        print(f"note: {note}")
    print(f"Next: meshwright preview {outcome.written[0]}")


def parse(
    file: Annotated[
        Path,
        typer.Argument(help="A lesson or another page of a course; - for standard input.", allow_dash=True),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, which is also the default.")] = True,
) -> None:
    """Print what was understood of one file, with its problems; exit 2 when it cannot be read."""
    try:
        given = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        understood = authoring.parse_file(file, given)
    except OSError as error:
        raise say_problems((f"{file}: {error.strerror}",), 2) from error
    print(json.dumps(understood, ensure_ascii=False, indent=1, default=str))


def lint(
    paths: Paths,
    format: Annotated[
        LintFormat, typer.Option(help="For people, for GitHub's checks, or for programs.")
    ] = "text",
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is mechanical and show the changes.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Again on every save, until Ctrl-C.")] = False,
) -> None:
    """Every problem of every file at once; exit 1 when there are errors, 2 when a path does not exist."""
    linter = authoring.Linter(RememberingEngine())
    if fix:
        mend(paths)
    result = linter.find(paths)
    print(report(result, format), flush=True)
    if not watch or result.missing:
        raise typer.Exit(result.exit_code)
    changes = watch_files(
        *paths,
        step=20,
        debounce=100,
        rust_timeout=LOOK_EVERY_MS,
        yield_on_timeout=True,
        raise_interrupt=False,
    )
    for changed in changes:  # also now and then without a sign, as some disks give none
        if fix and changed:
            mend(paths)
        before, result = result, linter.find(paths)
        if result != before:
            print(f"\n{report(result, format)}", flush=True)
    raise typer.Exit(result.exit_code)


def mend(paths: list[Path]) -> None:
    """Repair the files in place and print the difference."""
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob("*.md")) if path.is_dir() else []
        for file in (one for one in found if not set(one.parts) & set(authoring.PRIVATE)):
            shown = file.as_posix()
            try:
                before = file.read_bytes().decode("utf-8")
            except (OSError, UnicodeDecodeError):
                continue  # lint says what is wrong with it
            fixed = fixing.fix(before, partial(_read_as, file))
            if fixed.text != before:
                file.write_bytes(fixed.text.encode())
                print(fixing.diff(before, fixed.text, shown), end="", flush=True)


def _read_as(file: Path, text: str) -> Lesson:
    return authoring.read_lesson(file, file.as_posix(), text=text)


def preview(
    path: Annotated[Path | None, typer.Argument(help="A file, a course or the folder of courses.")] = None,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=0, max=65535)] = 8017,
) -> None:
    """Show lessons in the browser as they are written; the page follows every save."""
    path = path or lessons_folder(None)
    if not path.exists():
        raise say_problems((f"there is no {path}. Begin a course: meshwright new course NAME",), 2)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            message = f"cannot listen on port {port} ({error.strerror}); choose another with --port"
            raise say_problems((message,)) from error
    with tempfile.TemporaryDirectory(prefix="meshwright-preview-") as folder:
        # The server and the migrations take half a second to import; only this command needs them.
        from app.cli_preview import serve_preview  # noqa: PLC0415

        serve_preview(path, port, f"sqlite:///{Path(folder) / 'preview.db'}")


def export(
    course: Annotated[str, typer.Argument(help="The course's folder.")],
    to: Annotated[Path, typer.Option("--to", help="The folder to write.")],
    format: Annotated[
        ExportFormat, typer.Option(help="Pages to print, Markdown, Moodle's GIFT, or Anki's CSV.")
    ] = "html",
    replace: Annotated[bool, typer.Option("--replace", help="Write over what is in the folder.")] = False,
    lessons: Lessons = None,
) -> None:
    """Take a course along: pages with the checks at the end, or its questions for another program."""
    engine = CalculatorEngine()
    library = load_library(lessons_folder(lessons), engine=engine)
    outcome = export_course(library, course, to, format, engine, replace_files=replace)
    if outcome.problems:
        raise say_problems(outcome.problems)
    print(f"wrote {len(outcome.files)} files to {to}")
    for note in outcome.notes:
        print(f"note: {note}")
