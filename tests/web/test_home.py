"""The start page and the courses: one thing to do next, progress marks, no dead links."""

import re

from fastapi import FastAPI
from fastapi.testclient import TestClient


def primary(page: str) -> list[tuple[str, str]]:
    """Address and words of every filled button."""
    return re.findall(r'<a class="btn first" href="([^"]+)">([^<]+)</a>', page)


def test_a_newcomer_has_one_thing_to_do(learner: TestClient, lesson_url: str) -> None:
    page = learner.get("/").text
    assert primary(page) == [(lesson_url, "Start lesson 2, about 12 minutes")]
    assert "How a lesson goes" in page
    assert "Open the calculator" in page


def test_who_comes_back_continues(learner: TestClient, lesson_url: str) -> None:
    learner.post(f"{lesson_url}/items/warm", data={"text": "memory"})
    learner.post(f"{lesson_url}/items/legs", data={"option": "a"})
    page = learner.get("/").text
    ((url, words),) = primary(page)
    assert url == lesson_url
    assert words == "Continue, about 9 minutes"
    assert "You stopped here today" in page
    assert "2 of 8 items answered" in page
    assert 'class="half here"' in page


def test_a_finished_lesson_leads_to_the_next_one(learner: TestClient, lesson_url: str) -> None:
    learner.post(f"{lesson_url}/done", data={"done": "1"})
    page = learner.get("/").text
    ((url, _),) = primary(page)
    assert url == "/courses/small/lessons/0004-the-last-one"
    assert "1 of 2 lessons done, 2 planned" in page


def test_when_all_is_done_nothing_is_pushed(learner: TestClient, lesson_url: str) -> None:
    for url in (lesson_url, "/courses/small/lessons/0004-the-last-one"):
        learner.post(f"{url}/done", data={"done": "1"})
    page = learner.get("/")
    assert page.status_code == 200
    assert primary(page.text) == []
    assert "2 of 2 lessons done" in page.text


def test_planned_lessons_are_words_and_no_links(learner: TestClient) -> None:
    for url in ("/", "/courses", "/courses/small"):
        page = learner.get(url).text
        assert "Not Written Yet" in page
        assert "planned" in page
        assert "0001-not-written-yet" not in page, url


def test_the_course_says_mission_success_and_arc(learner: TestClient, lesson_url: str) -> None:
    page = learner.get("/courses/small").text
    for words in (
        "Try every kind of item.",
        "You answered all of them.",
        "<small>Part I</small>All kinds",
        "One lesson with everything.",
        f'href="{lesson_url}"',
        'href="/courses/small/glossary"',
        'href="/courses/small/resources"',
        "one word",
    ):
        assert words in page, words


def test_the_live_figure_comes_from_the_engine(learner: TestClient) -> None:
    page = learner.get("/").text
    assert 'id="home-mem' in page
    assert "over by" in page
    (url,) = re.findall(r'href="(/calculator\?[^"]+)">Open this one', page)
    assert learner.get(url.replace("&amp;", "&")).status_code == 200


def test_no_lessons_at_all_is_said(learner: TestClient, small_app: FastAPI) -> None:
    from app.curriculum.course import Library  # noqa: PLC0415
    from app.services.house import House  # noqa: PLC0415

    house = small_app.state.house
    small_app.state.house = House(house.database, Library, house.engine)
    for url in ("/", "/courses", "/progress"):
        page = learner.get(url)
        assert page.status_code == 200, url
    assert "lessons/" in learner.get("/courses").text
    assert primary(learner.get("/").text) == []


def test_every_link_of_ours_leads_somewhere(learner: TestClient, lesson_url: str) -> None:
    seen: set[str] = set()
    for start in ("/", "/courses", "/courses/small", lesson_url, "/progress", "/reports"):
        found = re.findall(r'href="(/[^"#]*)', learner.get(start).text)
        seen |= {url.replace("&amp;", "&") for url in found if not url.startswith("/static/")}
    assert len(seen) > 15
    dead = [url for url in sorted(seen) if learner.get(url).status_code != 200]
    assert dead == []
