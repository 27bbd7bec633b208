"""/preview: only where a writer asked for it; every file of the folder, nothing outside it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.services.engine import CalculatorEngine
from app.services.preview_files import PreviewFiles, lessons_root
from app.services.skeletons import new_course, new_lesson
from app.settings import Settings


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    root = tmp_path / "site" / "lessons"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "README.md").write_text("# The repository around the lessons\n")
    (tmp_path / "secret.md").write_text("# Secret\n")
    new_course(root, "storage")
    new_lesson(root, "storage", "One")
    new_lesson(root, "storage", "Two")
    (root / "storage" / "NOTES.md").write_text("# Private\n")
    return root


@pytest.fixture
def writer(lessons: Path, settings: Settings) -> Iterator[TestClient]:
    app = create_app(settings.model_copy(update={"lessons_dir": lessons, "preview": lessons}))
    with TestClient(app) as client:
        yield client


LESSON = "/preview/storage/lessons/0002-two.md"


def test_the_site_itself_has_no_preview(client: TestClient) -> None:
    assert client.get("/preview").status_code == 404


def test_every_file_is_listed_with_what_is_wrong(writer: TestClient, lessons: Path) -> None:
    (lessons / "storage" / "lessons" / "0001-one.md").write_text(
        "# Lesson 1. One\n\n## Practice\n\n1. ▢ Q?\n"
    )
    page = writer.get("/preview").text
    assert page.count('href="/preview/storage/') == 5
    assert "Private" not in page
    row = next(part for part in page.split("<li") if "0001-one.md" in part)
    assert "2 errors" in row
    assert "Nothing to mend" in next(part for part in page.split("<li") if "0002-two.md" in part)


def test_a_lesson_as_learner_and_with_keys(writer: TestClient) -> None:
    page = writer.get(LESSON).text
    assert "<h1>2. Two</h1>" in page
    assert "A model has 7 billion parameters" in page
    assert "<dt>key now</dt>" not in page
    assert 'href="/courses/storage/lessons/0002-two"' in page
    page = writer.get(f"{LESSON}?keys=1&seed=1").text
    assert "<dt>key now</dt><dd>1120 GB</dd>" in page or "<dt>key now</dt><dd>208 GB</dd>" in page
    assert 'class="is-right"' in page


def test_the_lesson_can_be_tried_as_learners_do(writer: TestClient) -> None:
    assert "Two" in writer.get("/courses/storage/lessons/0002-two").text


def test_a_change_is_on_the_next_page(writer: TestClient, lessons: Path) -> None:
    path = lessons / "storage" / "lessons" / "0002-two.md"
    before = writer.get(LESSON).text
    path.write_text(path.read_text().replace("### One idea", "### Another idea\n\nSee [gone](0099-gone.md)."))
    after = writer.get(LESSON).text
    assert "Another idea" in after
    row = next(part for part in after.split('<div class="pv-row') if "LN001 error" in part)
    assert ">gone" in row

    def version(page: str) -> str:
        return re.findall('data-version="([^"]*)"', page)[0]

    assert version(before) != version(after)
    assert version(after) == version(writer.get(LESSON).text)


@pytest.mark.parametrize("seed", ["", "x", "-1", "1e9", "９", "9" * 40, "999999"])
@pytest.mark.parametrize("keys", ["", "0", "yes"])
def test_odd_seeds_and_switches_show_the_lesson(writer: TestClient, seed: str, keys: str) -> None:
    assert writer.get(LESSON, params={"seed": seed, "keys": keys}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "nope.md",
        "storage",
        "storage/NOTES.md",
        "storage/lessons/0002-two.md/",
        "storage/lessons/0002-two.md%00",
        "../secret.md",
        "..%2F..%2Fsecret.md",
        "%2e%2e/%2e%2e/secret.md",
        "storage/../../../secret.md",
        "/etc/passwd",
        "C:\\x.md",
    ],
)
def test_nothing_else_is_shown(writer: TestClient, path: str) -> None:
    answer = writer.get(f"/preview/{path}")
    assert answer.status_code == 404
    assert "Secret" not in answer.text


def test_a_file_without_a_course(tmp_path: Path, settings: Settings) -> None:
    alone = tmp_path / "drafts" / "idea.md"
    alone.parent.mkdir()
    alone.write_text("# Idea\n\n## Know this\n\n[here](other.md) ![](x.png)\n")
    app = create_app(settings.model_copy(update={"lessons_dir": tmp_path / "drafts", "preview": alone}))
    with TestClient(app) as client:
        page = client.get("/preview/idea.md").text
        assert "LN001 error" in page
        assert "LN002 error" in page
        assert "Try it as a learner" not in page
        assert client.get("/preview").text.count('href="/preview/') == 1


def test_roots(lessons: Path) -> None:
    course = lessons / "storage"
    for path in (
        lessons,
        course,
        course / "lessons",
        course / "README.md",
        course / "lessons" / "0001-one.md",
    ):
        assert lessons_root(path) == lessons, path


def test_bytes_that_are_no_text(lessons: Path) -> None:
    (lessons / "storage" / "lessons" / "0002-two.md").write_bytes(b"# Lesson 2. Two\n\n\xff\xfe\n")
    reading = PreviewFiles(lessons, CalculatorEngine()).read("storage/lessons/0002-two.md")
    assert reading is not None
    assert "TX003" in {problem.code for problem in reading.problems}
