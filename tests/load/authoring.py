"""What authors wait for: a lint of a large course, one changed file, a start with many lessons, a save."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fastapi.testclient import TestClient

from app.main import create_app
from app.services.authoring import Linter
from app.services.preview_files import PreviewFiles
from app.services.remembering_engine import RememberingEngine
from app.settings import Settings
from app.storage import migrate
from app.web.preview_views import preview_view
from tests.load.courses import generated_course
from tests.load.rows import Row

NUM_LESSONS = 300


def authoring_rows() -> list[Row]:
    """Every bound of authoring, on a generated course of 300 lessons."""
    with tempfile.TemporaryDirectory() as folder:
        lessons = generated_course(Path(folder) / "lessons", NUM_LESSONS)
        return [*_lint_rows(lessons), _start_row(lessons, Path(folder)), _save_row(lessons)]


def _lint_rows(lessons: Path) -> list[Row]:
    linter = Linter(RememberingEngine())
    cold = _ms(lambda: linter.find([lessons]))
    found = linter.find([lessons])
    changed = min(_ms(lambda: linter.find([lessons]), before=lambda: _edit(lessons)) for _ in range(5))
    size = sum(path.stat().st_size for path in lessons.rglob("*.md"))
    note = f"{found.num_files} files, {size / 1e6:.1f} MB, {len(found.problems)} problems"
    return [
        Row(f"lint {NUM_LESSONS} lessons, cold", 5_000, cold, note),
        Row(f"lint {NUM_LESSONS} lessons, one changed", 300, changed, "best of 5"),
    ]


def _start_row(lessons: Path, folder: Path) -> Row:
    settings = Settings(database_url=f"sqlite:///{folder / 'start.db'}", lessons_dir=lessons)
    migrate.upgrade(settings.database_url)

    def start() -> None:
        with TestClient(create_app(settings)) as client:
            client.get("/courses").raise_for_status()

    return Row(f"start with {NUM_LESSONS} lessons, until the first page", 3_000, _ms(start))


def _save_row(lessons: Path) -> Row:
    """The server's part of a save: read, lint and show the page again."""
    files = PreviewFiles(lessons, RememberingEngine())
    relative = "generated/lessons/0150-lesson.md"

    def show() -> None:
        reading = files.read(relative)
        assert reading is not None
        preview_view(reading.lesson, reading.problems, reading.text, files.engine, keys=True, seed=0)

    show()
    taken = min(_ms(show, before=lambda: _edit(lessons)) for _ in range(5))
    return Row(f"preview of one changed lesson of {NUM_LESSONS}", 200, taken, "best of 5")


def _edit(lessons: Path) -> None:
    path = lessons / "generated" / "lessons" / "0150-lesson.md"
    path.write_text(path.read_text(encoding="utf-8") + "\nOne more sentence.\n", encoding="utf-8")


def _ms(call: Callable[[], object], before: Callable[[], None] | None = None) -> float:
    if before is not None:
        before()
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000
