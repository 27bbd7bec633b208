"""Saved layouts over HTTP: saved, named, opened, compared, deleted; one's own only; forgeries are refused."""

import re
from html import unescape

from fastapi.testclient import TestClient

from app.web.learner import COOKIE

PAGE = "/calculator/saved"
QUERY = "model=gpt3-175b&gpu=a100-80gb&num_nodes=32&tensor_parallel=8&pipeline_parallel=8&data_parallel=4"


def text_of(answer):
    words = unescape(re.sub(r"<[^>]*>", " ", answer.text))
    return re.sub(r"\s+", " ", words.replace("\N{NO-BREAK SPACE}", " "))


def save(client, name="mine", query=QUERY):
    return client.post(PAGE, data={"name": name, "query": query}, follow_redirects=False)


def number_of(answer):
    return int(answer.headers["location"].rpartition("#s")[2])


def test_reading_makes_no_learner(client):
    assert client.get(PAGE).status_code == 200
    assert COOKIE not in client.cookies


def test_save_open_rename_delete(client):
    answer = save(client, "first try")
    assert answer.status_code == 303
    assert COOKIE in client.cookies
    number = number_of(answer)
    page = client.get(PAGE)
    assert page.headers["cache-control"] == "private, no-cache"
    assert "Open first try" in text_of(page)
    assert "tensor 8, pipeline 8, data 4" in text_of(page)
    assert "data 4, data 4" not in text_of(page)
    opened = unescape(re.search(r'href="(/calculator\?[^"]*)">Open first try', page.text)[1])
    assert opened == f"/calculator?{QUERY}"
    assert client.get(opened).status_code == 200
    renamed = client.post(f"{PAGE}/{number}/rename", data={"name": " second\ttry "}, follow_redirects=False)
    assert renamed.status_code == 303
    assert "Open second try" in text_of(client.get(PAGE))
    assert client.post(f"{PAGE}/{number}/delete", follow_redirects=False).status_code == 303
    assert "None yet" in text_of(client.get(PAGE))


def test_from_the_calculator_a_name_is_suggested(client):
    page = client.get(f"/calculator?{QUERY}")
    url = unescape(re.search(r'href="(/calculator/saved[^"]*)"', page.text)[1])
    form = client.get(url)
    assert re.search(r'name="name"[^>]*value="GPT-3 175B t8 p8 d4"', form.text)
    query = unescape(re.search(r'name="query" value="([^"]*)"', form.text)[1])
    assert save(client, "from there", query).status_code == 303
    assert "Open from there" in text_of(client.get(PAGE))


def test_two_are_compared_and_one_is_not_enough(client):
    numbers = [
        number_of(save(client, "a")),
        number_of(save(client, "b", QUERY.replace("=8&data", "=4&data"))),
    ]
    few = client.get("/calculator/compare/saved", params={"saved": numbers[:1]})
    assert "Tick at least two" in text_of(few)
    both = client.get("/calculator/compare/saved", params={"saved": numbers})
    assert both.status_code == 200
    assert "2.pipeline_parallel=4" in str(both.url)


def test_models_and_clusters_may_differ(client):
    numbers = [
        number_of(save(client, "a")),
        number_of(save(client, "b", "model=llama2-7b&gpu=h100-80gb&num_nodes=1")),
    ]
    both = client.get("/calculator/compare/saved", params={"saved": numbers})
    assert both.status_code == 200
    assert "2.model=llama2-7b" in str(both.url)
    assert "cannot be calculated" not in text_of(both)


def test_nobody_elses(client, app):
    number = number_of(save(client, "mine"))
    with TestClient(app, base_url="http://testserver") as other:
        save(other, "yours")
        assert "mine" not in text_of(other.get(PAGE)).replace("Yours", "")
        assert other.post(f"{PAGE}/{number}/rename", data={"name": "x"}).status_code == 422
        other.post(f"{PAGE}/{number}/delete")
        assert other.get("/calculator/compare/saved", params={"saved": [number, number]}).url.path == PAGE
    assert "Open mine" in text_of(client.get(PAGE))


def test_what_is_wrong_is_said_and_kept(client):
    for name, query, words in (
        ("", QUERY, "Give it a name"),
        ("x" * 81, QUERY, "may have 80 letters; this one has 81"),
        ("x", "", "nothing to keep"),
        ("x", "a" * 5_000, "too long to be kept"),
    ):
        answer = save(client, name, query)
        assert answer.status_code == 422, words
        assert words in text_of(answer)
    assert COOKIE not in client.cookies


def test_names_are_text_and_stay_text(client):
    save(client, "<script>alert(1)</script> — 層 \N{RIGHT-TO-LEFT OVERRIDE}x")
    page = client.get(PAGE)
    assert "<script>alert" not in page.text
    assert "層" in page.text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in page.text


def test_a_layout_that_cannot_be_read_any_more_is_listed(client):
    save(client, "old", "model=gone-model&tensor_parallel=x")
    assert "This can no longer be read" in text_of(client.get(PAGE))


def test_a_hundred_at_most(client):
    for number in range(100):
        assert save(client, f"n{number}").status_code == 303
    assert "100 layouts are kept already" in text_of(save(client, "one more"))


def test_forgeries_are_refused(client):
    number = number_of(save(client))
    for path in (PAGE, f"{PAGE}/{number}/rename", f"{PAGE}/{number}/delete"):
        answer = client.post(
            path, data={"name": "x", "query": QUERY}, headers={"Sec-Fetch-Site": "cross-site"}
        )
        assert answer.status_code == 403
    assert "Open mine" in text_of(client.get(PAGE))


def test_numbers_that_no_layout_can_have_are_no_layouts(client):
    save(client, "kept")
    huge = "9" * 23
    assert client.post(f"{PAGE}/{huge}/delete", follow_redirects=False).status_code == 303
    answer = client.post(f"{PAGE}/{huge}/rename", data={"name": "x"}, follow_redirects=False)
    assert answer.status_code == 422
    assert "Open kept" in text_of(client.get(PAGE))
