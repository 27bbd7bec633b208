"""/calculator/advise over HTTP: one question at a time, decisions in the address, the verb and its bounds."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

PAGE = "/calculator/advise"
MODEL = "model=gpt-76.1b&gpu=a100-80gb&num_nodes=8"
HTMX = {"HX-Request": "true"}
QUESTIONS = (
    "sharding_first",
    "tensor_width",
    "pipeline_depth",
    "micro_batches",
    "global_batch",
    "balance",
)


def text_of(answer):
    body = re.sub(r"<(script|style|svg).*?</\1>", " ", answer.text, flags=re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", body)).replace("\N{NO-BREAK SPACE}", " "))


def heading(answer):
    found = re.search(r"<h1[^>]*>(.*?)</h1>", answer.text, re.S)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", "", found[1]))).strip()


def links(answer, within):
    block = re.search(rf'<section class="block" id="{within}">.*?</section>', answer.text, re.S)
    return [unescape(url) for url in re.findall(r'href="([^"]*)"', block[0])] if block else []


def test_the_first_page_names_what_binds(client):
    answer = client.get(PAGE)
    assert answer.status_code == 200
    assert heading(answer).startswith("Memory binds:")
    assert "Six questions follow" in text_of(answer)


@pytest.mark.parametrize("place", QUESTIONS)
def test_each_question_shows_decision_reason_and_what_would_change_it(client, place):
    answer = client.get(f"{PAGE}?{MODEL}&batch_from=64&batch_to=256&zero_stage=0&step={place}")
    assert answer.status_code == 200
    assert heading(answer).endswith("?")
    assert f"Question {QUESTIONS.index(place) + 1} of 6" in text_of(answer)
    assert 'id="decision"' in answer.text
    assert "What would change it:" in text_of(answer)


def test_the_walk_goes_on_by_plain_links(client):
    url, seen = f"{PAGE}?{MODEL}&batch_from=64&batch_to=256", []
    for _ in range(8):
        answer = client.get(url)
        seen.append(parse_qs(urlsplit(url).query).get("step", ["start"])[0])
        on = re.search(r'class="btn first" href="([^"]*)"', answer.text)
        url = unescape(on[1])
    assert seen == ["start", *QUESTIONS, "result"]
    assert url.startswith("/calculator?")


def test_a_row_of_the_table_is_a_decision_and_can_be_taken_back(client):
    first = client.get(f"{PAGE}?{MODEL}&batch_from=64&batch_to=256&step=tensor_width")
    other = next(url for url in links(first, "options") if "tensor_parallel=8" in url)
    taken = client.get(other)
    assert "Your decision." in text_of(taken)
    assert "your decision" in text_of(taken)
    back = next(
        url for url in links(taken, "decision") if "tensor_parallel" not in url and "step=tensor" in url
    )
    assert "Your decision." not in text_of(client.get(back))


def test_a_decision_for_what_is_usual_is_kept(client):
    """ZeRO 0, one stage, no chunks: what the calculator would take for granted is a decision here."""
    decided = "zero_stage=0&pipeline_parallel=1&virtual_pipeline_stages=1&sequence_parallel=false"
    answer = client.get(f"{PAGE}?of_model=gpt-76.1b&{MODEL}&{decided}&step=tensor_width")
    assert all(pair in str(answer.url) for pair in decided.split("&"))
    on = unescape(re.search(r'class="btn first" href="([^"]*)"', answer.text)[1])
    assert all(pair in on for pair in decided.split("&"))


def test_typed_decisions_are_answered_with_a_short_address(client):
    form = f"{PAGE}?of_model=gpt-76.1b&of_gpu=a100-80gb&{MODEL}&step=pipeline_depth&pipeline_parallel=8"
    answer = client.get(form, follow_redirects=False)
    assert answer.status_code == 303
    assert "of_model" not in answer.headers["location"]
    assert "pipeline_parallel=8" in answer.headers["location"]
    assert "8 stages" in text_of(client.get(answer.headers["location"]))


def test_from_the_calculator_no_decision_is_taken(client):
    page = client.get(f"/calculator?{MODEL}&tensor_parallel=8&pipeline_parallel=4&global_batch_size=96")
    url = unescape(re.search(r'href="(/calculator/advise[^"]*)"', page.text)[1])
    answer = client.get(url)
    assert "tensor_parallel" not in str(answer.url)
    query = parse_qs(urlsplit(str(answer.url)).query)
    assert query["batch_from"] == query["batch_to"] == ["96"]


def test_a_batch_that_binds_offers_what_gives(client):
    answer = client.get(f"{PAGE}?{MODEL}&batch_from=17&batch_to=17&pipeline_parallel=8&step=global_batch")
    assert "The batch binds." in text_of(answer)
    ways = links(answer, "ways")
    assert ways
    larger = client.get(ways[0])
    assert "too few for the pipeline" not in text_of(larger)


def test_the_result_compares_explains_and_prices(client):
    answer = client.get(f"{PAGE}?{MODEL}&batch_from=64&batch_to=256&zero_stage=0&step=result")
    told = text_of(answer)
    assert heading(answer).startswith("Fits: tensor 8, pipeline 4, 2 copies.")
    for words in (
        "Beside the best of the search",
        "From the best to this:",
        "Unaffordable, and by how much",
        "What a tenth more would buy",
        "you decided it",
    ):
        assert words in told, words
    opened = client.get(
        links(answer, "verdict") or unescape(re.search(r'href="(/calculator\?[^"]*)"', answer.text)[1])
    )
    assert opened.status_code == 200
    assert heading(opened).startswith("Fits,")


def test_what_cannot_be_read_keeps_what_was_typed(client):
    answer = client.get(f"{PAGE}?model=gpt-76.1b&num_nodes=8&tensor_parallel=many&batch_to=some")
    assert answer.status_code == 422
    assert "Cannot be advised" in heading(answer)
    assert 'value="some"' in answer.text
    assert "Tensor" in text_of(answer)


def test_no_layout_is_a_result(client):
    answer = client.get(f"{PAGE}?model=gpt3-175b&gpu=a100-80gb&num_nodes=1&step=result")
    assert answer.status_code == 200
    assert heading(answer).startswith("Infeasible whatever the batch:")


def test_htmx_gets_the_block_of_the_page_and_its_address(client):
    url = f"{PAGE}?{MODEL}&step=tensor_width"
    fragment = client.get(url, headers=HTMX)
    assert fragment.text.lstrip().startswith('<div id="advise-page">')
    assert fragment.headers["HX-Push-Url"].startswith(PAGE)
    assert "HX-Request" in fragment.headers["Vary"]
    assert fragment.text.strip() in client.get(url).text


@pytest.mark.parametrize(
    "query",
    [
        "step=%00&batch_from=%00",
        "batch_from=-1",
        "num_nodes=100000&batch_to=3",
        "tensor_parallel=4096",
        "layers_per_stage=1,2&pipeline_parallel=2",
        "context_parallel=7",
        "micro_batch_size=100000&batch_to=4",
        "schedule=gpipe&virtual_pipeline_stages=4",
        "num_gpus=7&num_nodes=1&batch_from=7&batch_to=7",
        "zero_stage=3&pipeline_parallel=64&batch_from=1&batch_to=1",
        "model=<script>",
        "step=result&zero_group=2",
        "expert_parallel=2",
        "data_parallel=3",
        "layers=1&layouts=9&open=&drop=zero_stage",
    ],
)
def test_nothing_that_is_asked_breaks_the_page(client, query):
    for step in ("", "&step=result", "&step=global_batch"):
        assert client.get(f"{PAGE}?{query}{step}").status_code in (200, 422)


def test_the_verb_over_http(client):
    body = {"model": "gpt-76.1b", "cluster": {"num_nodes": 8}, "batch_range": [64, 256]}
    answer = client.post("/api/v1/advise", json=body)
    assert answer.status_code == 200
    assert len(answer.json()["steps"]) == 6
    wrong = client.post("/api/v1/advise", json={**body, "batch_range": [9, 1], "fixed": {"tensor": 1}})
    assert wrong.status_code == 422
    assert {one["field"] for one in wrong.json()["detail"]} == {"batch_range", "fixed.tensor"}
    document = client.get("/api/openapi.json").json()
    assert "/api/v1/advise" in document["paths"]
