"""Live items: graded at once, kept as typed, never giving the key away; the same without JavaScript."""

import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

HTMX = {"HX-Request": "true"}


def item(page: str, name: str) -> str:
    """The part of a page that is one item."""
    return page.partition(f'id="q-{name}"')[2].partition("</article>")[0]


def answer(client: TestClient, url: str, name: str, **data: object) -> str:
    """Send an item's form as htmx does; the item as it comes back."""
    reply = client.post(f"{url}/items/{name}", data=data, headers=HTMX)
    assert reply.status_code in (200, 422)
    assert "<html" not in reply.text
    return item(reply.text, name)


def stored(app: FastAPI) -> list[tuple[str, str, str, int, int]]:
    """Action, verdict, confidence, hints, seed of everything that was kept."""
    with app.state.database.reading() as session:
        rows = session.connection().exec_driver_sql(
            "SELECT action, verdict, confidence, hints_used, seed FROM attempts ORDER BY id"
        )
        return [tuple(row) for row in rows]


def test_a_wrong_choice_gets_its_reason_and_not_the_key(learner: TestClient, lesson_url: str) -> None:
    part = answer(learner, lesson_url, "legs", option="a", confidence="sure")
    assert "That is one cat. How many are there?" in part
    assert "Your answer, and you were sure" in part
    assert "not yet" in part
    for kept in ("The secret of the cats", "You doubled once too often", "is-right"):
        assert kept not in part, kept
    assert 'value="b"' in part, "the other options can still be chosen"
    assert "Answer again" in part


def test_the_right_choice_opens_the_check_and_all_reasons(learner: TestClient, lesson_url: str) -> None:
    answer(learner, lesson_url, "legs", option="a")
    part = answer(learner, lesson_url, "legs", option="b", confidence="think")
    assert "Your answer, and you thought so" in part
    assert "The secret of the cats" in part
    assert "You doubled once too often" in part
    assert 'class="badge right"' in part


def test_show_me_opens_the_check_without_an_answer(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    part = answer(learner, lesson_url, "legs", action="show")
    assert "The secret of the cats" in part
    assert "check seen" in part
    assert stored(small_app) == [("show", "", "", 0, 0)]


def test_after_the_reveal_every_reason_stands_once(learner: TestClient, lesson_url: str) -> None:
    answer(learner, lesson_url, "legs", option="a")
    for part in (
        answer(learner, lesson_url, "legs", action="show"),
        answer(learner, lesson_url, "guess", option="a"),
        answer(learner, lesson_url, "guess", action="show"),
    ):
        seen = re.sub(r'data-say="[^"]*"', "", part)
        for reason in ("That is one cat.", "You doubled once too often", "It is called small."):
            assert seen.count(f'<div class="say">{reason}') == seen.count(reason) <= 1
        assert seen.count("The secret of the") == 1
    assert "You doubled once too often" in answer(learner, lesson_url, "legs", action="show")


def test_show_me_prints_the_number_with_its_unit(learner: TestClient, lesson_url: str) -> None:
    assert '<p class="key-value">112\u00a0GB</p>' in answer(learner, lesson_url, "state", action="show")
    assert "key-value" not in answer(learner, lesson_url, "vary", value="3")
    answer(learner, lesson_url, "vary", action="numbers")
    part = answer(learner, lesson_url, "vary", action="show", seed="1")
    shown = re.search(r'<p class="key-value">(\d+)</p>', part)
    start = re.search(r"What is (\d+) plus one", part)
    assert shown
    assert start
    assert int(shown.group(1)) == int(start.group(1)) + 1


@pytest.mark.parametrize("item_id", ["state", "vary", "legs", "guess", "essay", "sort", "puzzle", "warm"])
def test_nothing_gives_the_key_away_early(learner: TestClient, lesson_url: str, item_id: str) -> None:
    part = item(learner.get(lesson_url).text, item_id)
    for secret in ("secret", "key-value", "112", "is-right", "One more than", "Names the", "It is called"):
        assert secret not in part.replace("The secret", "secret"), secret


def test_a_rubric_that_is_only_shown_has_its_points(learner: TestClient, lesson_url: str) -> None:
    part = answer(learner, lesson_url, "essay", action="show")
    assert "no check" not in part
    assert "Names the weights" in part
    assert "A weak answer" in part


def test_the_form_of_an_answer_says_what_is_allowed(learner: TestClient, lesson_url: str) -> None:
    assert "within 2\u00a0%" in item(learner.get(lesson_url).text, "state")


def test_hints_open_one_by_one_and_are_counted(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    first = learner.get(lesson_url).text
    assert "Hint 2 opens after hint 1" in first
    part = answer(learner, lesson_url, "legs", action="hint", option="c")
    assert "The first hint" in part
    assert "The second hint" not in part
    assert re.search(r'value="c"[^>]* checked', part), "what was chosen stays chosen"
    part = answer(learner, lesson_url, "legs", action="hint", option="c")
    assert "The second hint" in part
    answer(learner, lesson_url, "legs", action="hint", option="c")
    answer(learner, lesson_url, "legs", option="b")
    assert [row[3] for row in stored(small_app)] == [1, 2, 2, 2]


def test_nothing_chosen_is_said_and_not_stored(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    reply = learner.post(f"{lesson_url}/items/legs", data={}, headers=HTMX)
    assert reply.status_code == 422
    assert "Choose an option first." in reply.text
    assert "set-cookie" not in reply.headers
    assert stored(small_app) == []


@pytest.mark.parametrize("typed", ["112", "112 GB", "1.12e11 B", "0.112 TB", "112,0 GB".replace(",", ".")])
def test_a_number_counts_in_any_unit(learner: TestClient, lesson_url: str, typed: str) -> None:
    part = answer(learner, lesson_url, "state", value=typed)
    assert 'class="badge right"' in part
    assert "The secret product" in part


def test_a_known_mistake_gets_its_own_words(learner: TestClient, lesson_url: str) -> None:
    part = answer(learner, lesson_url, "state", value="14")
    assert "That counts the weights only." in part
    assert part.partition("<form")[2].count("That counts the weights only.") == 1
    assert "The secret product" not in part
    assert 'value="14"' in part


@pytest.mark.parametrize("typed", ["many", "12 bananas", "<b>x</b>", "１１２ Äpfel", "1e999999 GB?"])
def test_what_is_not_understood_stays_in_the_box(
    small_app: FastAPI, learner: TestClient, lesson_url: str, typed: str
) -> None:
    part = answer(learner, lesson_url, "state", value=typed)
    assert "Not understood." in part
    assert "a number in GB" in part
    shown = re.search(r'name="value"[^>]* value="([^"]*)"', part)
    assert shown is not None
    assert shown[1].replace("&lt;", "<").replace("&gt;", ">") == typed
    assert "<b>x</b>" not in part
    assert [row[1] for row in stored(small_app)] == ["not_understood"]
    page = item(learner.get(lesson_url).text, "state")
    assert "Not understood." in page, "and it is still said after a reload"
    assert "not yet" not in page, "it is no wrong answer"
    answer(learner, lesson_url, "state", action="hint", value=typed)


def test_new_numbers_ask_the_same_with_others(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    first = learner.get(lesson_url).text
    assert "What is 10 plus one?" in first
    assert "New numbers" not in item(first, "vary"), "first answer the question as it stands"
    part = answer(learner, lesson_url, "vary", value="11")
    assert "New numbers" in part
    part = answer(learner, lesson_url, "vary", action="numbers")
    (number,) = re.findall(r"What is (\d+) plus one\?", part)
    assert number != "10"
    assert "right once" in part
    wrong = answer(learner, lesson_url, "vary", value="11", seed="1")
    assert 'class="badge wrong"' in wrong
    right = answer(learner, lesson_url, "vary", value=str(int(number) + 1), seed="1")
    assert f"One more than {number}." in right
    assert [row[4] for row in stored(small_app)] == [0, 1, 1, 1]
    assert f"What is {number} plus one?" in learner.get(lesson_url).text, "and it stays after a reload"


def test_a_prediction_is_revealed_whatever_was_said(learner: TestClient, lesson_url: str) -> None:
    part = answer(learner, lesson_url, "guess", option="a", confidence="guess")
    assert "The secret of the prediction" in part
    assert "Your answer, and you were guessing" in part
    assert "not as you said" in part
    assert "Commit and reveal</button>\n{" not in part
    assert 'id="q-guess-submit"' not in part


def test_reading_on_without_guessing_is_possible(learner: TestClient, lesson_url: str) -> None:
    assert "The secret of the prediction" in answer(learner, lesson_url, "guess", action="show")


def test_an_open_answer_is_kept_checked_and_scored_by_its_learner(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    text = "Memory –\nthe „weights“ & <activations>"
    part = answer(learner, lesson_url, "warm", text=text)
    assert "The secret check of the warm-up" in part
    assert "the „weights“ &amp; &lt;activations&gt;" in part
    part = answer(learner, lesson_url, "warm", action="score.partly")
    assert 'class="badge near">partly' in part
    assert [row[:2] for row in stored(small_app)] == [("answer", ""), ("score", "partly")]
    again = answer(learner, lesson_url, "warm", text="Only memory")
    assert "Only memory" in again
    assert "partly</span>" not in again, "a new answer has no score yet"


def test_a_score_that_does_not_exist_is_refused(learner: TestClient, lesson_url: str) -> None:
    answer(learner, lesson_url, "warm", text="memory")
    assert "Choose one of: had it" in answer(learner, lesson_url, "warm", action="score.excellent")


def test_a_rubric_is_written_first_and_scored_then(learner: TestClient, lesson_url: str) -> None:
    assert "Names the weights" not in item(learner.get(lesson_url).text, "essay")
    part = answer(learner, lesson_url, "essay", text="The weights and what they drag along.")
    assert "Names the weights" in part
    assert "A weak answer" not in part, "shown after scoring"
    part = answer(learner, lesson_url, "essay", action="score", point=["0", "2"])
    assert "3 of 4 by your own score" in part
    assert part.count("Names the weights") == 1, "the points stand where they are ticked"
    assert "passed, by your score" in part
    assert "A weak answer" in part
    part = answer(learner, lesson_url, "essay", action="score", point=["1"])
    assert "not yet, by your score" in part
    assert "not in this item any more" in answer(learner, lesson_url, "essay", action="score", point=["9"])


def test_ordering_works_by_places(learner: TestClient, lesson_url: str) -> None:
    part = answer(learner, lesson_url, "sort", **{"place.a": "1", "place.b": "1", "place.c": ""})
    assert "Give every line its own place, 1 to 3." in part
    assert re.search(r'id="q-sort-a"(?s:.)*?<option value="1" selected>', part)
    part = answer(learner, lesson_url, "sort", **{"place.a": "1", "place.b": "2", "place.c": "3"})
    assert "The secret order" not in part
    assert 'class="badge' in part
    part = answer(learner, lesson_url, "sort", **{"place.a": "3", "place.b": "1", "place.c": "2"})
    assert "The secret order" in part
    assert 'class="badge right"' in part


def test_a_puzzle_is_graded_by_the_engine(learner: TestClient, lesson_url: str) -> None:
    part = answer(
        learner, lesson_url, "puzzle", tensor_parallel="8", pipeline_parallel="2", data_parallel="8"
    )
    assert "Not yet." in part or "Nearly." in part
    assert "The secret layout" not in part
    assert "Does not fit" in part
    assert "Still to be met: every stage fits (now no)." in part
    part = answer(
        learner,
        lesson_url,
        "puzzle",
        tensor_parallel="8",
        pipeline_parallel="16",
        data_parallel="1",
        global_batch_size="128",
        micro_batch_size="1",
    )
    assert "Every requirement is met." in part
    assert "The secret layout" in part
    assert 'value="16"' in learner.get(lesson_url).text, "the layout stands there after a reload"


def test_an_illegal_layout_is_named(learner: TestClient, lesson_url: str) -> None:
    part = answer(learner, lesson_url, "puzzle", tensor_parallel="7")
    assert "Not a legal layout" in part
    assert "96" in part


def test_the_same_without_javascript(learner: TestClient, lesson_url: str) -> None:
    back = learner.post(f"{lesson_url}/items/legs", data={"option": "a"}, follow_redirects=False)
    assert back.status_code == 303
    assert back.headers["location"] == f"{lesson_url}#q-legs"
    page = learner.get(lesson_url).text
    assert "That is one cat. How many are there?" in item(page, "legs")
    refused = learner.post(f"{lesson_url}/items/warm", data={"text": "  "})
    assert refused.status_code == 422
    assert "<h1>Every Kind</h1>" in refused.text
    assert "Write something first" in item(refused.text, "warm")
    reopened = learner.get(f"{lesson_url}/items/warm", follow_redirects=False)
    assert reopened.headers["location"] == f"{lesson_url}#q-warm"


def test_a_draft_survives_a_hint_without_javascript(learner: TestClient, lesson_url: str) -> None:
    learner.post(f"{lesson_url}/items/legs", data={"action": "hint", "option": "c", "confidence": "think"})
    part = item(learner.get(lesson_url).text, "legs")
    assert "The first hint" in part
    assert re.search(r'value="c"[^>]* checked', part)
    assert re.search(r'value="think" checked', part)


def test_a_text_that_is_too_long_is_kept_in_the_box(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    text = "ä" * 10_001
    reply = learner.post(f"{lesson_url}/items/warm", data={"text": text})
    assert reply.status_code == 422
    assert "10,001 characters" in reply.text
    assert "at most 10,000" in reply.text
    assert text in reply.text
    assert stored(small_app) == []
    assert answer(learner, lesson_url, "warm", text=text[:-1]).count("ä") >= 10_000


def test_a_text_is_shown_as_it_was_typed_with_its_first_empty_line(
    learner: TestClient, lesson_url: str
) -> None:
    reply = learner.post(f"{lesson_url}/items/essay", data={"text": "\n\nfirst\r\nsecond" + "x" * 10_000})
    assert "<textarea" in reply.text
    box = re.search(r'id="q-essay-text"[^>]*>(.*?)</textarea>', reply.text, re.DOTALL)
    assert box is not None
    assert box[1].startswith("\n\n\nfirst\nsecondx"), "one line end is eaten by the browser"


def test_a_form_cannot_smuggle_in_what_the_item_does_not_ask(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    junk = {f"x{number}": "y" * 300 for number in range(100)}
    answer(learner, lesson_url, "legs", option=["zz", "a", "<script>"], **junk)
    reply = learner.post(f"{lesson_url}/items/puzzle", data={**junk, "tensor_parallel": "8"}, headers=HTMX)
    assert reply.status_code == 422
    with small_app.state.database.reading() as session:
        kept = session.connection().exec_driver_sql("SELECT answer FROM attempts").scalars().all()
    assert kept == ['{"options": ["a"]}']


def test_progress_belongs_to_a_browser(small_app: FastAPI, learner: TestClient, lesson_url: str) -> None:
    answer(learner, lesson_url, "warm", text="mine alone")
    with TestClient(small_app, base_url="http://testserver") as other:
        assert "mine alone" not in other.get(lesson_url).text
        answer(other, lesson_url, "warm", text="another's")
        assert "mine alone" not in other.get(lesson_url).text
    assert "mine alone" in learner.get(lesson_url).text


def test_the_cookie_is_set_at_the_first_thing_done(learner: TestClient, lesson_url: str) -> None:
    first = learner.post(f"{lesson_url}/items/warm", data={"text": "x"}, follow_redirects=False)
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert "secure" not in cookie.lower()
    assert len(first.cookies["meshwright_learner"]) >= 43
    second = learner.post(f"{lesson_url}/items/warm", data={"text": "y"}, follow_redirects=False)
    assert "set-cookie" not in second.headers


def test_the_cookie_is_secure_on_https(small_app: FastAPI, lesson_url: str) -> None:
    with TestClient(small_app, base_url="https://testserver") as client:
        reply = client.post(f"{lesson_url}/items/warm", data={"text": "x"}, follow_redirects=False)
    assert "secure" in reply.headers["set-cookie"].lower()


@pytest.mark.parametrize("token", ["unknown", "x" * 5000, "'; DROP TABLE learners; --", "a b"])
def test_a_token_that_is_not_ours_is_nobody(small_app: FastAPI, lesson_url: str, token: str) -> None:
    with TestClient(small_app, base_url="http://testserver") as client:
        headers = {"Cookie": f"meshwright_learner={token}"}
        assert client.get(lesson_url, headers=headers).status_code == 200
        reply = client.post(
            f"{lesson_url}/items/warm", data={"text": "x"}, headers=headers, follow_redirects=False
        )
        assert reply.status_code == 303
        assert reply.cookies["meshwright_learner"] != token


def test_a_form_of_another_site_changes_nothing(
    small_app: FastAPI, learner: TestClient, lesson_url: str
) -> None:
    reply = learner.post(
        f"{lesson_url}/items/warm", data={"text": "x"}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert reply.status_code == 403
    assert stored(small_app) == []


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"option=" + b"a" * 300_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a%d=1" % n for n in range(600)), "application/x-www-form-urlencoded", 413),
        (b"{}", "application/json", 422),
        (b"\xff\xfe%ff%00", "application/x-www-form-urlencoded", 422),
        (b"seed=-1&option=zz&confidence=absolutely&action=explode", "application/x-www-form-urlencoded", 422),
        (b"seed=99999999999999999999&option=a", "application/x-www-form-urlencoded", 200),
    ],
)
def test_malformed_forms_are_answered_plainly(
    learner: TestClient, lesson_url: str, body: bytes, kind: str, status: int
) -> None:
    reply = learner.post(f"{lesson_url}/items/legs", content=body, headers={"Content-Type": kind, **HTMX})
    assert reply.status_code == status
    assert "Traceback" not in reply.text


def test_the_contents_column_comes_along(learner: TestClient, lesson_url: str) -> None:
    reply = learner.post(f"{lesson_url}/items/legs", data={"option": "b"}, headers=HTMX)
    assert 'id="contents" hx-swap-oob="true"' in reply.text
    assert "1 of 8 items answered" in reply.text
    assert reply.headers["vary"].count("HX-Request") == 1


def test_one_sentence_is_said_aloud(learner: TestClient, lesson_url: str) -> None:
    part = learner.post(f"{lesson_url}/items/legs", data={"option": "a"}, headers=HTMX).text
    assert 'data-say="Not yet. That is one cat. How many are there?"' in part
    part = learner.post(f"{lesson_url}/items/legs", data={"action": "hint"}, headers=HTMX).text
    assert 'data-say="Hint 1 of 2 is open."' in part
