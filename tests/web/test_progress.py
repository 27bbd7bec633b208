"""Progress: what was done, kept over restarts and edits."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.main import create_app
from app.settings import Settings
from tests.web.conftest import LESSON, course_files

URL = "/courses/small/lessons/0002-every-kind"


def test_nothing_yet_says_what_to_do(learner: TestClient) -> None:
    page = learner.get("/progress").text
    assert "Nothing yet." in page
    assert "Choose a lesson" in page


def test_what_was_done_is_counted(learner: TestClient, lesson_url: str) -> None:
    learner.post(f"{lesson_url}/items/warm", data={"text": "x"})
    learner.post(f"{lesson_url}/items/warm", data={"action": "score.had_it"})
    learner.post(f"{lesson_url}/items/legs", data={"option": "a"})
    learner.post(f"{lesson_url}/items/state", data={"value": "112"})
    learner.post(f"{lesson_url}/items/sort", data={"action": "hint"})
    page = " ".join(learner.get("/progress").text.split())
    assert "You have finished no lessons and answered three items." in page
    assert re.findall(r'<td class="r">([^<]+)</td>', page)[:4] == ["3 of 8", "2", "0 of 3", "today"]
    assert "in progress" in page


@pytest.fixture
def own_lessons(tmp_path: Path) -> Path:
    """A copy of the small course that a test may edit."""
    course_files(tmp_path / "lessons")
    return tmp_path / "lessons"


def test_a_restart_loses_nothing(settings: Settings, own_lessons: Path) -> None:
    here = settings.model_copy(update={"lessons_dir": own_lessons})
    with TestClient(create_app(here), base_url="http://testserver") as client:
        client.post(f"{URL}/items/warm", data={"text": "kept over the restart"})
        client.post(f"{URL}/done", data={"done": "1"})
        cookies = dict(client.cookies)
    with TestClient(create_app(here), base_url="http://testserver", cookies=cookies) as client:
        page = client.get(URL).text
        assert "kept over the restart" in page
        assert "You marked this lesson as done" in page


def test_after_an_edit_the_old_answer_is_kept_beside_the_new_wording(
    settings: Settings, own_lessons: Path
) -> None:
    file = own_lessons / "small" / "lessons" / "0002-every-kind.md"
    here = settings.model_copy(update={"lessons_dir": own_lessons})
    with TestClient(create_app(here), base_url="http://testserver") as client:
        client.post(f"{URL}/items/warm", data={"text": "the old answer"})
        client.post(f"{URL}/items/legs", data={"option": "b"})
        cookies = dict(client.cookies)
    file.write_text(LESSON.replace("What runs out first", "What runs out first, and where,"))
    with TestClient(create_app(here), base_url="http://testserver", cookies=cookies) as client:
        page = client.get(URL).text
        part = page.partition('id="q-warm"')[2].partition("</article>")[0]
        assert "You answered an earlier wording of this question: “the old answer”." in part
        assert "The secret check of the warm-up" not in part
        assert "The secret of the cats" in page, "an item that did not change keeps its state"
        assert "2 of 8 items answered" in page


def test_an_item_with_a_new_id_is_known_by_its_words(settings: Settings, own_lessons: Path) -> None:
    file = own_lessons / "small" / "lessons" / "0002-every-kind.md"
    here = settings.model_copy(update={"lessons_dir": own_lessons})
    with TestClient(create_app(here), base_url="http://testserver") as client:
        client.post(f"{URL}/items/legs", data={"option": "b"})
        cookies = dict(client.cookies)
    edited = LESSON.replace("id: legs", "id: paws").replace("How many legs do two", "How many legs have two")
    file.write_text(edited)
    with TestClient(create_app(here), base_url="http://testserver", cookies=cookies) as client:
        page = client.get(URL).text
        part = page.partition('id="q-paws"')[2].partition("</article>")[0]
        assert "You answered an earlier wording of this question: “b”." in part
        assert "The secret of the cats" not in part
        assert "1 of 8 items answered" in page
        overview = client.get("/progress").text
        assert "1 of 8" in overview
        assert "since left this course" not in overview


def test_an_item_that_left_the_lesson_is_counted_apart(settings: Settings, own_lessons: Path) -> None:
    file = own_lessons / "small" / "lessons" / "0002-every-kind.md"
    here = settings.model_copy(update={"lessons_dir": own_lessons})
    with TestClient(create_app(here), base_url="http://testserver") as client:
        client.post(f"{URL}/items/legs", data={"option": "b"})
        cookies = dict(client.cookies)
    file.write_text(LESSON.replace("id: legs", "id: hills").replace("How many legs do two cats have", "Why"))
    with TestClient(create_app(here), base_url="http://testserver", cookies=cookies) as client:
        assert "0 of 8 items answered" in client.get(URL).text
        assert "You also answered one item that has since left this course" in client.get("/progress").text


def test_two_tabs_lose_nothing(learner: TestClient, lesson_url: str) -> None:
    """The second tab still shows the page as it was; what it sends is added, nothing is overwritten."""
    first = learner.post(f"{lesson_url}/items/warm", data={"text": "from the first tab"})
    second = learner.post(f"{lesson_url}/items/legs", data={"option": "a", "seed": "0"})
    assert (first.status_code, second.status_code) == (200, 200)
    page = learner.get(lesson_url).text
    assert "from the first tab" in page
    assert "That is one cat" in page
