"""The house itself: headers, errors, forged forms, assets."""

import pytest
from fastapi.testclient import TestClient


def test_unknown_page_says_what_to_do(client: TestClient) -> None:
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert "There is no such page" in answer.text
    assert 'href="/"' in answer.text
    assert "Traceback" not in answer.text


def test_every_answer_carries_the_policy(client: TestClient) -> None:
    for path in ("/nowhere", "/static/meshwright.css"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy


def test_forms_of_other_sites_are_refused(client: TestClient) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert client.post("/nowhere", headers=foreign).status_code == 403
    assert client.post("/nowhere", headers={"Origin": "https://elsewhere.example"}).status_code == 403
    assert client.post("/nowhere", headers={"Origin": "http://testserver"}).status_code == 404
    assert client.post("/nowhere", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 404


def test_htmx_is_served_from_here(client: TestClient) -> None:
    answer = client.get("/static/htmx/htmx.min.js")
    assert answer.status_code == 200
    assert "htmx" in answer.text[:200]


@pytest.mark.parametrize("path", ["/", "/courses", "/calculator", "/static/meshwright.css", "/nowhere"])
def test_head_is_get_without_the_body(client: TestClient, path: str) -> None:
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code
    assert head.content == b""
    for name in ("content-type", "content-security-policy"):
        assert head.headers[name] == get.headers[name]
