"""/calculator/balance and its verb over HTTP: the page, moves of one piece, what was typed."""

import re
from html import unescape

import pytest

PAGE = "/calculator/balance"
HTMX = {"HX-Request": "true"}


def heading(answer):
    found = re.search(r"<h1[^>]*>(.*?)</h1>", answer.text, re.S)
    return unescape(re.sub(r"<[^>]*>", "", found[1])).replace("\N{NO-BREAK SPACE}", " ").strip()


def text_of(answer):
    return unescape(re.sub(r"<[^>]*>", " ", answer.text)).replace("\N{NO-BREAK SPACE}", " ")


def links(answer, within):
    block = re.search(rf'<section class="block" id="{within}">.*?</section>', answer.text, re.S)
    return [unescape(url) for url in re.findall(r'href="([^"]*)"', block[0])] if block else []


def test_first_view_is_the_worked_example(client):
    answer = client.get(PAGE)
    assert answer.status_code == 200
    assert heading(answer) == "No split is faster: stage 1 takes 7 s."
    assert "Equal counts would take 8.4 s. With 32 micro-batches that is 43.4 s more" in text_of(answer)
    assert "layers_per_stage 6,7,7,4" in answer.text


def test_a_move_is_an_address_and_can_be_undone(client):
    first = client.get(PAGE)
    down = links(first, "moves")[0]
    moved = client.get(down)
    assert heading(moved).startswith("14.3 % slower than the best split: stage 1 takes 8 s")
    back = client.get(links(moved, "moves")[1])
    assert heading(back) == heading(first)


def test_a_stage_with_one_piece_keeps_it(client):
    answer = client.get(PAGE, params={"pieces": "a, 1\nb, 2\nc, 3", "num_stages": 3})
    assert links(answer, "moves") == []
    assert "the stage has one piece" in answer.text


def test_memory_limit_in_gib(client):
    pieces = "a, 1, 0, 9e9\nb, 1, 0, 1e9\nc, 1, 0, 1e9\nd, 1, 0, 1e9"
    kept = client.get(PAGE, params={"pieces": pieces, "num_stages": 2, "memory_limit_gib": "9"})
    assert "pieces_per_stage 1,3" in kept.text or "layers_per_stage 1,3" in kept.text
    broken = client.get(PAGE, params={"pieces": pieces, "num_stages": 2, "memory_limit_gib": "8"})
    assert heading(broken) == "Does not fit: a stage holds too much."
    assert "9,000,000,000" in broken.text


def test_several_chunks_are_balanced_and_told(client):
    answer = client.get(PAGE, params={"virtual_pipeline_stages": 3})
    assert answer.status_code == 200
    assert heading(answer).startswith("The best split found:")
    assert links(answer, "moves") == []


def test_fragment_is_the_pages_block(client):
    whole, part = client.get(PAGE), client.get(PAGE, headers=HTMX)
    assert part.text.strip() in whole.text
    typed = client.get(f"{PAGE}?num_stages=3", headers=HTMX | {"HX-Trigger-Name": "num_stages"})
    assert "HX-Replace-Url" in typed.headers
    assert 'hx-swap-oob="true"' in typed.text


def test_double_without_javascript_drops_a_split_that_cannot_stay(client):
    query = "?num_stages=4&pieces_per_stage=7,7,7,5&do=double:num_stages"
    answer = client.get(PAGE + query, follow_redirects=False)
    assert answer.status_code == 303
    assert "num_stages=8" in answer.headers["location"]
    assert "pieces_per_stage" not in answer.headers["location"]


def test_what_was_typed_stays_and_every_problem_is_told(client):
    answer = client.get(
        PAGE,
        params={"pieces": "a, <b>\nb, -1", "num_stages": "x", "memory_limit_gib": "much"},
    )
    assert answer.status_code == 422
    assert heading(answer).startswith("Cannot be read:")
    assert "a, &lt;b&gt;" in answer.text
    assert 'value="much"' in answer.text
    assert "Piece 1, forward s" in answer.text
    assert "Piece 2, forward s" in answer.text


def test_a_split_that_does_not_add_up(client):
    answer = client.get(PAGE, params={"pieces_per_stage": "7,7,7,7"})
    assert answer.status_code == 422
    assert "sum to 26" in answer.text


@pytest.mark.parametrize(
    "query", ["pieces=" + "1%0A" * 9000, "num_stages=" + "9" * 4000, "pieces=x%20%C3%97%20999999999,1"]
)
def test_hostile_input_is_a_page(client, query):
    answer = client.get(f"{PAGE}?{query}")
    assert answer.status_code == 422
    assert len(answer.text) < 150_000


def test_the_verb_over_http(client):
    good = client.post(
        "/api/v1/balance", json={"pieces": [{"name": "a", "forward_s": 1}, 2, 3], "num_stages": 2}
    )
    assert good.status_code == 200
    assert good.json()["pieces_per_stage"] == [2, 1]
    bad = client.post("/api/v1/balance", json={"pieces": [{"name": "a"}], "num_stages": 2})
    assert bad.status_code == 422
    assert [problem["field"] for problem in bad.json()["detail"]] == ["pieces.0.forward_s"]


def test_a_split_told_in_layers_goes_on_in_pieces(client):
    answer = client.get(PAGE, params={"layers_per_stage": "6,6,6,6"})
    assert heading(answer).startswith("20.0 % slower than the best split")
    assert 'value="7,6,6,7"' in answer.text
    assert all("layers_per_stage" not in url for url in links(answer, "moves"))
