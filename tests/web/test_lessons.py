"""The lesson page: everything in it, nothing that should wait, few queries, errors that help."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import event

SECRETS = (
    "The secret check of the warm-up",
    "The secret of the prediction",
    "The secret of the cats",
    "The secret product",
    "The secret order",
    "The secret points",
    "The secret layout",
)


@contextmanager
def queries(app: FastAPI) -> Iterator[list[str]]:
    """The statements that the database gets."""
    seen: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA")):
            seen.append(statement)

    event.listen(app.state.database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(app.state.database.engine, "before_cursor_execute", note)


def test_the_page_shows_header_sections_items_widgets_and_reps(learner: TestClient, lesson_url: str) -> None:
    page = learner.get(lesson_url)
    assert page.status_code == 200
    for words in (
        "<h1>Every Kind</h1>",
        "Try every kind of item",
        'href="https://example.org/paper"',
        "Warm-up",
        "Counting",
        "What runs out first when a model grows?",
        "Commit and reveal",
        "How sure are you?",
        "Read one paper.",
        "Going further",
        "Not landing?",
        "from lesson 1",
        "0 of 8 items answered",
        "About 12 minutes",
    ):
        assert words in page.text, words


def test_no_check_and_no_hint_is_in_the_page_before_it_was_asked_for(
    learner: TestClient, lesson_url: str
) -> None:
    page = learner.get(lesson_url).text
    for secret in (*SECRETS, "The first hint", "That is one cat", "It is called small", "Names the weights"):
        assert secret not in page, secret


def test_every_check_is_open_where_that_is_asked_for(learner: TestClient, lesson_url: str) -> None:
    page = learner.get(lesson_url, params={"checks": "open"}).text
    for secret in SECRETS:
        assert secret in page, secret


def test_every_item_and_every_text_can_be_called_unclear(learner: TestClient, lesson_url: str) -> None:
    page = learner.get(lesson_url).text
    places = set(
        re.findall(r'href="/reports/new\?lesson=small/lessons/0002-every-kind&amp;at=([^"]+)"', page)
    )
    items = {f"q-{name}" for name in ("warm", "guess", "legs", "state", "vary", "sort", "essay", "puzzle")}
    assert items <= places
    assert {"counting", "dividing", "going-further", "lesson"} <= places


def test_reading_sets_no_cookie_and_writes_nothing(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    for url in ("/", "/courses", "/courses/small", lesson_url, "/progress", "/reports"):
        answer = learner.get(url)
        assert answer.status_code == 200, url
        assert "set-cookie" not in answer.headers, url
    with small_app.state.database.reading() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM learners").scalar() == 0


def test_the_page_needs_at_most_five_queries(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    for item, data in (
        ("warm", {"text": "memory"}),
        ("legs", {"option": "a"}),
        ("state", {"value": "14"}),
        ("legs", {"action": "hint"}),
    ):
        learner.post(f"{lesson_url}/items/{item}", data=data)
    learner.post(
        "/reports", data={"lesson": "small/lessons/0002-every-kind", "at": "q-legs", "reason": "wording"}
    )
    with queries(small_app) as seen:
        assert learner.get(lesson_url).status_code == 200
    assert 1 <= len(seen) <= 5, seen


def test_home_and_course_need_few_queries(small_app: FastAPI, learner: TestClient, lesson_url: str) -> None:
    learner.post(f"{lesson_url}/items/warm", data={"text": "memory"})
    for url in ("/", "/courses", "/courses/small", "/progress"):
        with queries(small_app) as seen:
            assert learner.get(url).status_code == 200
        assert 1 <= len(seen) <= 5, (url, seen)


LESSONS = (
    "/courses/training/lessons/0010-degrees-in-order",
    "/courses/training/lessons/0013-all-three",
    "/courses/serving/lessons/0006-two-nodes-and-a-decision",
)


@pytest.mark.parametrize("url", LESSONS)
def test_a_lesson_weighs_less_than_100_kb_on_the_wire(client: TestClient, url: str) -> None:
    """With everything: style, script, diagrams, pictures."""
    page = client.get(url)
    parts = set(re.findall(r'(?:src|href)="(/static/[^"]+|/courses/[^"]+\.(?:svg|png|jpg|webp))"', page.text))
    assert any("htmx" in part for part in parts)
    weight = page.num_bytes_downloaded
    for part in parts:
        answer = client.get(part)
        assert answer.status_code == 200, part
        weight += answer.num_bytes_downloaded
    assert weight < 100_000, f"{weight:,} bytes in {len(parts) + 1} answers"
    assert page.num_bytes_downloaded < len(page.content) / 3, "the page is compressed"


def test_neighbours_that_are_not_written_are_named_but_no_links(learner: TestClient, lesson_url: str) -> None:
    page = learner.get(lesson_url).text
    assert "1. Not Written Yet" in page
    assert "3. Also Not Written" in page
    assert "0001-not-written-yet" not in page
    assert '<a href="/courses/small/lessons/0004-the-last-one">4. The Last One</a>' in page


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/courses/nowhere", "There is no course “nowhere”"),
        ("/courses/nowhere/lessons/0002-every-kind", "There is no course"),
        ("/courses/small/lessons/0009-nothing", "has no lesson “0009-nothing”"),
        ("/courses/small/lessons/0001-not-written-yet", "Lesson 1, Not Written Yet, is planned"),
        ("/courses/small/lessons/NOTES", "has no lesson"),
        ("/courses/small/lessons/0002-every-kind/items/unknown", "has no item “unknown”"),
        ("/courses/small/lessons/0002-every-kind/widgets/unknown", "has no figure"),
        ("/courses/small/reference/NOTES", "has no page"),
        ("/courses/small/images/../NOTES.md", ""),
        ("/courses/small/images/%2e%2e/NOTES.md", ""),
        ("/courses/small/diagrams/0123.svg", "has changed"),
    ],
)
def test_what_does_not_exist_says_what_to_do(learner: TestClient, path: str, words: str) -> None:
    answer = learner.get(path)
    assert answer.status_code == 404
    assert words in answer.text
    assert "never shown" not in answer.text
    assert 'href="/"' in answer.text


def test_pictures_are_served_without_rights_of_their_own(learner: TestClient) -> None:
    answer = learner.get("/courses/small/images/figure.svg")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "sandbox" in answer.headers["content-security-policy"]


def test_tasks_are_ticked_and_unticked(learner: TestClient, lesson_url: str) -> None:
    page = learner.get(lesson_url).text
    (first, *_) = re.findall(rf'action="({lesson_url}/reps/[^"]+)"', page)
    assert len(re.findall(rf'action="{lesson_url}/reps/', page)) == 3
    back = learner.post(first, data={"done": "1"}, follow_redirects=False)
    assert back.status_code == 303
    assert back.headers["location"].startswith(f"{lesson_url}#rep-")
    ticked = r'<input type="checkbox" name="done" value="1" id="rep-[^"]+" checked>'
    assert len(re.findall(ticked, learner.get(lesson_url).text)) == 1
    fragment = learner.post(first, data={}, headers={"HX-Request": "true"})
    assert fragment.text.strip().startswith("<li")
    assert "checked" not in fragment.text
    assert not re.findall(ticked, learner.get(lesson_url).text)


def test_an_unknown_task_is_refused(learner: TestClient, lesson_url: str) -> None:
    answer = learner.post(f"{lesson_url}/reps/unknown", data={"done": "1"})
    assert answer.status_code == 404
    assert "has no task" in answer.text


def test_a_lesson_is_done_when_its_learner_says_so(learner: TestClient, lesson_url: str) -> None:
    assert "8 of 8 items are still open" in learner.get(lesson_url).text
    done = learner.post(f"{lesson_url}/done", data={"done": "1"}, headers={"HX-Request": "true"})
    assert "You marked this lesson as done today." in done.text
    assert "<html" not in done.text
    assert "You marked this lesson as done today." in learner.get(lesson_url).text
    learner.post(f"{lesson_url}/done", data={"done": "0"})
    assert "Mark this lesson as done" in learner.get(lesson_url).text


def test_glossary_and_resources_are_pages_and_notes_are_not(learner: TestClient) -> None:
    assert 'id="bubble"' in learner.get("/courses/small/glossary").text
    assert "https://example.org/paper" in learner.get("/courses/small/resources").text
    assert learner.get("/courses/small/notes").status_code == 404


def test_a_puzzle_state_is_an_address(learner: TestClient, lesson_url: str) -> None:
    url = f"{lesson_url}/items/puzzle"
    page = learner.get(url, params={"tensor_parallel": "8", "pipeline_parallel": "16", "data_parallel": "1"})
    assert page.status_code == 200
    assert "<h1>Every Kind</h1>" in page.text
    assert (
        'name="pipeline_parallel" type="text" inputmode="numeric" autocomplete="off" value="16"' in page.text
    )
    part = learner.get(
        url,
        params={"pipeline_parallel": "4", "do": "double:pipeline_parallel"},
        headers={"HX-Request": "true"},
    )
    assert "<h1>" not in part.text
    assert (
        'name="pipeline_parallel" type="text" inputmode="numeric" autocomplete="off" value="8"' in part.text
    )
    assert "set-cookie" not in part.headers


def test_what_is_locked_in_a_puzzle_stays_locked(learner: TestClient, lesson_url: str) -> None:
    url = f"{lesson_url}/items/puzzle"
    plain = learner.get(url, headers={"HX-Request": "true"}).text
    cheated = learner.get(
        url, params={"zero_stage": "3", "num_nodes": "999"}, headers={"HX-Request": "true"}
    ).text
    assert re.findall(r'class="verdict".*', plain) == re.findall(r'class="verdict".*', cheated)
    assert "Does not fit" in plain
    assert 'name="zero_stage"' not in plain


def test_nonsense_in_a_control_is_named_beside_it(learner: TestClient, lesson_url: str) -> None:
    part = learner.get(
        f"{lesson_url}/items/puzzle", params={"tensor_parallel": "many"}, headers={"HX-Request": "true"}
    )
    assert part.status_code == 200
    assert 'value="many"' in part.text
    assert 'aria-invalid="true"' in part.text
    assert "Cannot be calculated" in part.text


@pytest.mark.parametrize(
    "url",
    [
        "/courses/training/lessons/0010-degrees-in-order",
        "/courses/training/lessons/0013-all-three",
        "/courses/serving/lessons/0006-two-nodes-and-a-decision",
    ],
)
def test_the_real_lessons_give_nothing_away(client: TestClient, app: FastAPI, url: str) -> None:
    """No hint, check, reason or message stands in the page before it was asked for."""
    _, _, course, _, slug = url.split("/")
    lesson = app.state.house.lesson(course, slug)
    page = " ".join(client.get(url).text.replace("\u00a0", " ").split())
    texts = [fold.html for item in lesson.items for fold in (*item.hints, *item.checks)]
    texts += [option.feedback_html for item in lesson.items for option in item.options]
    texts += [wrong.say for item in lesson.items for wrong in item.wrong]
    assert len(texts) > 60
    for text in filter(None, texts):
        assert " ".join(text.split())[:60] not in page
    assert client.get(f"{url}?checks=open").text.count('class="check"') == len(lesson.items)
