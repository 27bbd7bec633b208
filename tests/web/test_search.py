"""/calculator/search and the search over the API: answers, addresses, progress, busy, without JavaScript."""

import re
import time
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.services import search_jobs
from app.web.search_form import OWN
from app.web.search_schema import SEARCH_EXAMPLE, SMALLEST_EXAMPLE

SMALL = "model=gpt-18.4b&num_nodes=4&global_batch_size=128"
LARGE = "model=gpt3-175b&num_nodes=256&global_batch_size=64&batch_to=1048576"
PAGE = "/calculator/search"


def heading(html: str) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", html, re.S)
    assert found
    return re.sub(r"<[^>]+>", "", found[1]).strip()


def links(html: str, within: str) -> list[str]:
    section = re.search(rf'<section class="block" id="{within}".*?</section>', html, re.S)
    assert section, within
    return [link.replace("&amp;", "&") for link in re.findall(r'href="([^"]+)"', section[0])]


def wait_for(client: TestClient, url: str, state: str) -> Any:
    for _ in range(300):
        job = client.get(url).json()
        if job["state"] == state:
            return job
        time.sleep(0.05)
    raise AssertionError(job)


# ---------------------------------------------------------------- the API


def test_the_examples_are_answered(client: TestClient) -> None:
    answer = client.post("/api/v1/search", json=SEARCH_EXAMPLE)
    assert answer.status_code == 200
    said = answer.json()
    assert said["enumerated"] >= said["legal"] >= said["fitting"] > 0
    assert len(said["best"]) == 20
    assert set(said["best"][0]) == {"layout", "training", "summary", "url", "why"}
    smallest = client.post("/api/v1/smallest-cluster", json=SMALLEST_EXAMPLE)
    assert smallest.status_code == 200
    assert smallest.json()["num_nodes"] == 4


def test_every_unusable_name_is_told(client: TestClient) -> None:
    answer = client.post("/api/v1/search", json={"model": "x", "fixed": {"t": 1}, "limits": {"y": 1}})
    assert answer.status_code == 422
    assert {"fixed.t", "limits.y", "model"} <= {problem["field"] for problem in answer.json()["detail"]}


def test_a_large_search_is_a_job_that_can_be_stopped(client: TestClient) -> None:
    question = {
        "model": "gpt3-175b", "num_nodes": 256, "batch_range": [64, 2**20], "top": 3,
        "fixed": {"overlap_tensor_parallel": [True, False]},
    }  # fmt: skip
    answer = client.post("/api/v1/search", json=question)
    assert answer.status_code == 202
    job = answer.json()
    assert job["total"] > 2_000_000
    assert answer.headers["location"] == job["url"] == f"/api/v1/search/{job['id']}"
    assert client.post("/api/v1/search", json=question).json()["id"] == job["id"]  # not a second one
    running = wait_for(client, job["url"], "running")
    assert running["done"] <= running["total"]
    client.delete(job["url"])
    stopped = wait_for(client, job["url"], "stopped")
    assert stopped["done"] < stopped["total"]
    assert client.post("/api/v1/search", json=question).json()["id"] != job["id"]


def test_a_large_search_ends_with_its_answer(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_jobs, "LARGE", 1000)
    question = {"model": "gpt-18.4b", "num_nodes": 4, "global_batch_size": 128, "top": 3}
    job = client.post("/api/v1/search", json=question).json()
    done = wait_for(client, job["url"], "done")
    assert done["done"] == done["total"] == done["answer"]["enumerated"]
    monkeypatch.undo()
    plain = client.post("/api/v1/search", json=question).json()
    assert done["answer"]["best"] == plain["best"]


def test_what_is_not_known_is_404(client: TestClient) -> None:
    assert client.get("/api/v1/search/nothing").status_code == 404
    assert client.delete("/api/v1/search/nothing").status_code == 404


def test_too_many_large_searches_are_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_jobs, "MOST_JOBS", 0)
    question = {"model": "gpt3-175b", "num_nodes": 256, "batch_range": [64, 2**20]}
    answer = client.post("/api/v1/search", json=question)
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert "Busy" in heading(client.get(f"{PAGE}?{LARGE}").text)


# ---------------------------------------------------------------- the page


def test_the_page_without_a_question_searches_the_example(client: TestClient) -> None:
    answer = client.get(PAGE)
    assert answer.status_code == 200
    assert "Best:" in heading(answer.text)


def test_every_row_and_point_leads_to_its_layout(client: TestClient) -> None:
    html = client.get(f"{PAGE}?{SMALL}&batch_to=256&top=5").text
    ranked = [link for link in links(html, "ranked") if link.startswith("/calculator?")]
    assert len(ranked) == 5
    for section in ("by-memory", "by-batch"):
        points = links(html, section)
        assert points
        assert all(point.startswith("/calculator?") for point in points)
    for link in ranked[:2]:
        assert heading(client.get(link).text).split()[0] in ("Fits,", "Borderline:")


def test_the_calculator_leads_to_the_search_and_back(client: TestClient) -> None:
    calculator = client.get(f"/calculator?{SMALL}&tensor_parallel=4&kernels=compiled").text
    (link,) = re.findall(r'href="(/calculator/search[^"]*)"', calculator)
    html = client.get(link.replace("&amp;", "&")).text
    back = re.findall(r'<a href="(/calculator\?[^"]*)">Back to your layout</a>', html)
    assert len(back) == 1
    assert "tensor_parallel=4" in back[0]
    assert "kernels=compiled" in back[0]
    assert "Your own layout" in html


def test_a_form_without_javascript_gets_a_short_address(client: TestClient) -> None:
    sent = f"{PAGE}?of_model=gpt-18.4b&of_gpu=a100-80gb&gpu=a100-80gb&{SMALL}&fix_tensor_parallel=1-4"
    sent += "&fix_schedule=&max_bubble=10&objective=step_s&do=double:num_nodes"
    answer = client.get(sent, follow_redirects=False)
    assert answer.status_code == 303
    where = answer.headers["location"]
    assert "num_nodes=8" in where
    assert "fix_tensor_parallel=1-4" in where
    assert "fix_schedule" not in where
    html = client.get(where).text
    assert "Best:" in heading(html)
    assert client.get(where, follow_redirects=False).status_code == 200


def test_words_that_cannot_be_used_are_kept_and_told(client: TestClient) -> None:
    answer = client.get(f"{PAGE}?{SMALL}&fix_tensor_parallel=eight&min_spare=lots")
    assert answer.status_code == 422
    assert 'value="eight"' in answer.text
    assert answer.text.count('aria-invalid="true"') == 2


def test_the_fragment_is_the_block_of_the_page(client: TestClient) -> None:
    page = client.get(f"{PAGE}?{SMALL}&top=3").text
    fragment = client.get(f"{PAGE}?{SMALL}&top=3", headers={"HX-Request": "true"})
    assert fragment.headers["hx-push-url"].startswith(PAGE)
    assert "<html" not in fragment.text

    def without_time(html: str) -> str:
        return re.sub(r"<div><dt>Took</dt>.*?</div>", "", html)

    assert without_time(fragment.text).strip() in without_time(page)


def test_a_large_search_shows_how_far_it_is_and_stops(client: TestClient) -> None:
    html = client.get(f"{PAGE}?{LARGE}").text
    assert re.match(r"(Searching|Waiting):", heading(html))
    assert '<meta http-equiv="refresh"' in html
    (job,) = re.findall(r'name="job" value="([^"]+)"', html)
    (query,) = re.findall(r'name="query" value="([^"]*)"', html)
    again = [link for link in links(html, "progress") if link.startswith(PAGE)]
    assert f"job={job}" in again[0]
    assert re.match(r"(Searching|Waiting):", heading(client.get(again[0]).text))
    stopped = client.post(f"{PAGE}/stop", data={"job": job, "query": query.replace("&amp;", "&")})
    assert stopped.status_code == 200
    assert re.match(r"(Best so far:|Nothing found:|Stopped)", heading(stopped.text))
    assert '<meta http-equiv="refresh"' not in stopped.text


def test_another_site_cannot_stop_a_search(client: TestClient) -> None:
    answer = client.post(f"{PAGE}/stop", data={"job": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("model=gpt-1t&num_nodes=1&global_batch_size=512", "smallest cluster"),
        ("model=gpt-1.7b&num_gpus=7&num_nodes=1&global_batch_size=256", "global batch of 252"),
        ("model=gpt-1.7b&num_gpus=7&num_nodes=1&global_batch_size=256", "6 GPUs"),
    ],
)
def test_where_nothing_is_found_it_says_what_would_do(client: TestClient, question: str, says: str) -> None:
    html = client.get(f"{PAGE}?{question}").text
    assert "Nothing found:" in heading(html)
    offered = re.findall(r'<a href="([^"]+)"[^>]*>Search with ([^<]*)</a>', html)
    link = next(url for url, words in offered if says in words)
    assert "Best:" in heading(client.get(link.replace("&amp;", "&")).text)


@pytest.mark.parametrize("value", ["", "x" * 500, "\x00", "½", "<script>", "1e99", "-1", "[1,2]"])
def test_odd_words_never_break_the_page(client: TestClient, value: str) -> None:
    for name in (*OWN, "do", "model", "num_nodes", "global_batch_size"):
        if name == "job":
            continue
        answer = client.get(
            PAGE, params={"model": "llama2-7b", "num_gpus": "2", "global_batch_size": "4", name: value}
        )
        assert answer.status_code in (200, 422), name
        assert "<script>" not in answer.text.replace('<script src="', "")
