"""/calculator/placement and /calculator/batch, and pieces taken from a model, over HTTP."""

import re
from html import unescape

import pytest

MODEL = "model=gpt3-175b&gpu=a100-80gb&num_nodes=32&tensor_parallel=8&pipeline_parallel=4"


def text_of(answer):
    words = unescape(re.sub(r"<[^>]*>", " ", answer.text))
    return re.sub(r"\s+", " ", words.replace("\N{NO-BREAK SPACE}", " "))


def heading(answer):
    return text_of(type("A", (), {"text": re.search(r"<h1[^>]*>(.*?)</h1>", answer.text, re.S)[1]})).strip()


def test_which_groups_cross_nodes_and_what_another_order_costs(client):
    answer = client.get(f"/calculator/placement?{MODEL}")
    assert heading(answer).startswith("No order of ranks is faster: pipeline and data groups cross nodes")
    assert len(re.findall(r"rank_order=", answer.text)) >= 5
    other = unescape(re.findall(r'href="([^"]*rank_order=[^"]*)"', answer.text)[-1])
    worse = client.get(other)
    assert heading(worse).startswith("Another order is")
    assert "Take the fastest order" in worse.text


@pytest.mark.parametrize(
    "query", ["tensor_parallel=7", "model=nope", "rank_order=a,b", "num_gpus=1&num_nodes=1"]
)
def test_nothing_breaks_the_placement(client, query):
    assert client.get(f"/calculator/placement?{query}").status_code in (200, 422)


def test_b_is_solved_for_each_of_the_four(client):
    shared = {"global_batch_size": 256, "micro_batch_size": 2, "num_micro_batches": 16, "data_parallel": 8}
    for unknown, letter in zip(shared, "Bbmd", strict=True):
        given = {name: value for name, value in shared.items() if name != unknown}
        answer = client.get("/calculator/batch", params={**given, "solve": unknown})
        assert heading(answer) == f"{letter} = {shared[unknown]}: 256 = 2 · 16 · 8.", unknown


def test_remainders_are_named_with_what_would_do(client):
    answer = client.get("/calculator/batch?global_batch_size=256&micro_batch_size=2&data_parallel=7")
    assert heading(answer) == "It does not divide: 256 divided by 14 is 18 and leaves 4."
    assert "252 or 266. Or 4 or 8 replicas" in text_of(answer)
    fixed = client.get(unescape(re.search(r'href="([^"]*)"[^>]*>Take a batch of 266', answer.text)[1]))
    assert heading(fixed) == "m = 19: 266 = 2 · 19 · 7."


def test_the_calculator_leads_there_and_back(client):
    page = client.get(f"/calculator?{MODEL}&global_batch_size=256&micro_batch_size=2")
    there = unescape(re.search(r'href="(/calculator/batch[^"]*)"', page.text)[1])
    answer = client.get(there)
    assert heading(answer) == "m = 16: 256 = 2 · 16 · 8."
    back = unescape(re.search(r'href="(/calculator\?[^"]*)"', answer.text)[1])
    assert "tensor_parallel=8" in back
    assert client.get(back).status_code == 200


def test_what_cannot_be_solved_keeps_what_was_typed(client):
    answer = client.get("/calculator/batch?global_batch_size=many&data_parallel=0")
    assert answer.status_code == 422
    assert 'value="many"' in answer.text
    assert "Write a whole number" in text_of(answer)


def test_a_form_gets_a_short_address(client):
    answer = client.get(
        "/calculator/batch?of_model=&solve=data_parallel&global_batch_size=64&micro_batch_size=2"
        "&num_micro_batches=4&data_parallel=9",
        follow_redirects=False,
    )
    assert answer.status_code == 303
    assert heading(client.get(answer.headers["location"])) == "d = 8: 64 = 2 · 4 · 8."


def test_the_stages_of_a_model_are_balanced(client):
    page = client.get(f"/calculator?{MODEL}")
    url = unescape(re.search(r'href="(/calculator/balance[^"]*)"', page.text)[1])
    answer = client.get(url)
    assert answer.status_code == 200
    assert "layer ×96" in answer.text
    body = {"model": "gpt3-175b", "cluster": {"num_nodes": 32}, "layout": {"pipeline_parallel": 4}}
    told = client.post("/api/v1/balance", json=body).json()
    assert told["num_stages"] == 4
    assert sum(told["layers_per_stage"]) == 96


@pytest.mark.parametrize("gpus", [3, 5, 6, 7, 12, 20])
def test_odd_device_counts_get_whole_layouts(client, gpus):
    body = {"model": "llama2-7b", "num_gpus": gpus, "tensor_parallel": 4, "global_batch_size": 256}
    told = client.post("/api/v1/estimate", json={**body, "tensor_parallel": 16}).json()
    assert told["legal"] is False
    assert told["nearest_layouts"]
    for near in told["nearest_layouts"]:
        sizes = {name: near[name] for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")}
        again = {
            **body,
            **sizes,
            "num_gpus": near["num_gpus"],
            "global_batch_size": near["global_batch_size"],
            "layers_per_stage": near["layers_per_stage"],
        }
        answer = client.post("/api/v1/estimate", json=again).json()
        assert answer["legal"], answer["violations"]
        assert answer["time"]["step_s"] == near["step_s"]
    page = client.get("/calculator", params={**body, "tensor_parallel": 16, "gpu": "a100-80gb"})
    assert "Legal layouts near this one" in page.text
