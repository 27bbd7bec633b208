""" "Unclear?": what would be sent is shown, it is stored with the answer, and it can be found again."""

import json

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

HTMX = {"HX-Request": "true"}
LESSON = "small/lessons/0002-every-kind"
FORM = "/reports/new"


def rows(app: FastAPI) -> list[dict[str, object]]:
    with app.state.database.reading() as session:
        found = session.connection().exec_driver_sql("SELECT * FROM reports ORDER BY id").mappings()
        return [dict(row) for row in found]


def test_the_form_shows_what_will_be_sent(learner: TestClient, lesson_url: str) -> None:
    learner.post(f"{lesson_url}/items/legs", data={"option": "c", "action": "hint"})
    learner.post(f"{lesson_url}/items/legs", data={"option": "a"})
    page = learner.get(FORM, params={"lesson": LESSON, "at": "q-legs"}).text
    for words in (
        "What is unclear about Practice 1?",
        "2. Every Kind",
        "<dd>Practice 1</dd>",
        '<dd class="pre-line">a</dd>',
        "Hints opened",
        "Nothing that says who you are.",
        f'href="{lesson_url}#q-legs"',
    ):
        assert words in page, words


def test_a_report_is_stored_with_answer_and_versions(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    learner.post(f"{lesson_url}/items/warm", data={"text": "Memory, I said"})
    data = {"lesson": LESSON, "at": "q-warm", "reason": "wording", "text": "What is “first”?\r\nIn time?"}
    page = learner.post("/reports", data=data)
    assert page.status_code == 200
    assert "Your report is sent." in page.text
    (row,) = rows(small_app)
    lesson = small_app.state.house.lesson("small", "0002-every-kind")
    assert row["item"] == "warm"
    assert row["anchor"] == "q-warm"
    assert row["reason"] == "wording"
    assert row["text"] == "What is “first”?\nIn time?"
    assert json.loads(str(row["answer"])) == {"text": "Memory, I said"}
    assert row["lesson_hash"] == lesson.content_hash
    assert row["content_hash"] == lesson.item("warm").content_hash
    assert row["state"] == "open"


def test_a_section_can_be_unclear_too(small_app: FastAPI, learner: TestClient) -> None:
    page = learner.get(FORM, params={"lesson": LESSON, "at": "counting"}).text
    assert "What is unclear about the section “Counting”?" in page
    learner.post("/reports", data={"lesson": LESSON, "at": "counting", "text": "all of it"})
    (row,) = rows(small_app)
    assert (row["item"], row["anchor"], row["place"]) == ("", "counting", "the section “Counting”")


@pytest.mark.parametrize("at", ["", "nowhere", "q-gone", "<script>", "x" * 5000])
def test_an_unknown_place_is_about_the_whole_lesson(learner: TestClient, at: str) -> None:
    page = learner.get(FORM, params={"lesson": LESSON, "at": at})
    assert page.status_code == 200
    assert "What is unclear about the whole lesson?" in page.text
    assert "<script>" not in page.text.partition("<main")[2]


@pytest.mark.parametrize("lesson", ["", "small", "small/lessons/", "nowhere/lessons/0001-x", "../lessons/x"])
def test_a_report_about_no_lesson_is_refused(learner: TestClient, lesson: str) -> None:
    assert learner.get(FORM, params={"lesson": lesson}).status_code == 404
    assert learner.post("/reports", data={"lesson": lesson, "reason": "wording"}).status_code == 404


def test_an_empty_report_is_not_sent(small_app: FastAPI, learner: TestClient) -> None:
    page = learner.post("/reports", data={"lesson": LESSON, "at": "q-legs", "text": "  \n"}, headers=HTMX)
    assert page.status_code == 422
    assert "Choose what is unclear, or say it in a few words." in page.text
    assert "set-cookie" not in page.headers
    assert rows(small_app) == []


def test_a_reason_that_is_not_listed_is_refused(small_app: FastAPI, learner: TestClient) -> None:
    page = learner.post("/reports", data={"lesson": LESSON, "reason": "because", "text": "kept text"})
    assert page.status_code == 422
    assert "Choose one of the reasons" in page.text
    assert "kept text" in page.text
    assert rows(small_app) == []


def test_a_text_that_is_too_long_stays_in_the_box(small_app: FastAPI, learner: TestClient) -> None:
    text = "é" * 10_001
    page = learner.post("/reports", data={"lesson": LESSON, "reason": "missing", "text": text})
    assert page.status_code == 422
    assert "10,001 characters" in page.text
    assert text in page.text
    assert '<input type="radio" name="reason" value="missing" checked>' in page.text
    assert rows(small_app) == []


def test_my_reports_lists_mine_with_their_state(small_app: FastAPI, learner: TestClient) -> None:
    assert "None yet." in learner.get("/reports").text
    for text in ("the first", "the <b>second</b>"):
        learner.post("/reports", data={"lesson": LESSON, "at": "q-legs", "reason": "wrong", "text": text})
    page = learner.get("/reports").text
    assert page.index("the &lt;b&gt;second&lt;/b&gt;") < page.index("the first")
    assert page.count("waiting for an answer") == 2
    assert "2. Every Kind, Practice 1" in page
    assert "sent today" in page
    with TestClient(small_app, base_url="http://testserver") as other:
        assert "the first" not in other.get("/reports").text


def test_an_answered_report_shows_the_answer(small_app: FastAPI, learner: TestClient) -> None:
    learner.post("/reports", data={"lesson": LESSON, "at": "q-legs", "text": "hm"})
    with small_app.state.database.writing() as session:
        session.connection().exec_driver_sql("UPDATE reports SET state='fixed', reply='Reworded, thank you.'")
    page = learner.get("/reports").text
    assert "mended" in page
    assert "Reworded, thank you." in page


def test_a_report_outlives_its_lesson(small_app: FastAPI, learner: TestClient) -> None:
    learner.post("/reports", data={"lesson": LESSON, "at": "q-legs", "text": "hm"})
    with small_app.state.database.writing() as session:
        session.connection().exec_driver_sql("UPDATE reports SET lesson='0099-gone'")
    page = learner.get("/reports")
    assert page.status_code == 200
    assert "no longer there" in page.text


def test_the_form_opens_in_place_and_confirms_in_place(learner: TestClient) -> None:
    form = learner.get(FORM, params={"lesson": LESSON, "at": "q-legs"}, headers=HTMX)
    assert form.text.strip().startswith("<form")
    assert 'hx-post="/reports"' in form.text
    sent = learner.post("/reports", data={"lesson": LESSON, "at": "q-legs", "reason": "wrong"}, headers=HTMX)
    assert "<html" not in sent.text
    assert 'data-say="Your report is sent. It is number 1."' in sent.text


def test_the_confirmation_is_for_its_sender_alone(small_app: FastAPI, learner: TestClient) -> None:
    learner.post("/reports", data={"lesson": LESSON, "at": "q-legs", "reason": "wrong"})
    assert "It is number 1" in learner.get("/reports/sent", params={"number": 1}).text
    with TestClient(small_app, base_url="http://testserver") as other:
        answer = other.get("/reports/sent", params={"number": 1}, follow_redirects=False)
        assert answer.headers["location"] == "/reports"


def test_a_reported_place_says_so(learner: TestClient, lesson_url: str) -> None:
    learner.post("/reports", data={"lesson": LESSON, "at": "q-legs", "reason": "wrong"})
    page = learner.get(lesson_url).text
    part = page.partition('id="q-legs"')[2].partition("</article>")[0]
    assert ">Reported</a>" in part
    assert page.count(">Reported</a>") == 1
