"""The JSON API: strict in and out, every problem by its field, nothing read from cookies."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.calculator.fields import BY_PATH, FIELDS
from app.web.api_body import MOST_BYTES
from app.web.api_schema import ESTIMATE_EXAMPLE, SCHEDULE_EXAMPLE, SERVE_EXAMPLE

JSON = {"Content-Type": "application/json"}


def ask(client: TestClient, body: str | bytes, verb: str = "estimate", **headers: str) -> Any:
    return client.post(f"/api/v1/{verb}", content=body, headers={**JSON, **headers})


def test_the_example_answers_in_the_documented_shape(client: TestClient) -> None:
    answer = client.post("/api/v1/estimate", json=ESTIMATE_EXAMPLE)
    assert answer.status_code == 200
    said = answer.json()
    assert said["legal"] is True
    assert len(said["memory"]["stages"]) == 16
    assert said["memory"]["stages"][0]["in_flight_micro_batches"] == 16
    assert said["time"]["bubble_fraction"] == 15 / 207
    parts = {
        key: value
        for key, value in said["time"].items()
        if key.endswith("_s") and key not in ("step_s", "imbalance_s_per_step")
    }
    assert sum(parts.values()) == pytest.approx(said["time"]["step_s"], rel=1e-9)
    assert 0.30 <= said["throughput"]["mfu"] <= 0.60
    assert said["binding"]["because"]
    for stage in said["memory"]["stages"]:
        items = (
            "weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "logits_bytes",
            "buffers_bytes", "overhead_bytes",
        )  # fmt: skip
        assert sum(stage[item] for item in items) == pytest.approx(stage["total_bytes"], rel=1e-12)


def test_a_width_of_seven_is_answered_with_every_broken_rule(client: TestClient) -> None:
    body = {**ESTIMATE_EXAMPLE, "layout": {**ESTIMATE_EXAMPLE["layout"], "tensor_parallel": 7}}
    answer = client.post("/api/v1/estimate", json=body)
    assert answer.status_code == 200
    said = answer.json()
    assert said["legal"] is False
    broken = {violation["code"]: violation for violation in said["violations"]}
    assert (broken["heads_not_divisible"]["dividend"], broken["heads_not_divisible"]["remainder"]) == (96, 5)
    assert (broken["ffn_not_divisible"]["dividend"], broken["ffn_not_divisible"]["remainder"]) == (49152, 5)
    assert any(code.startswith("world_size") for code in broken)
    assert broken["heads_not_divisible"]["nearest_legal"] == [6, 8]
    assert said["time"] is None or said["time"]["step_s"] is None


def test_every_unusable_field_is_named(client: TestClient) -> None:
    body = {
        "model": "gpt3-175b",
        "cluster": {"gpu": "h900", "num_nodes": 0},
        "layout": {"tensor_paralel": 8, "zero_stage": "three"},
        "training": {"seq_length": True},
    }
    answer = client.post("/api/v1/estimate", json=body)
    assert answer.status_code == 422
    detail = answer.json()["detail"]
    named = {problem["field"] for problem in detail}
    assert named >= {"cluster.num_nodes", "layout.tensor_paralel", "layout.zero_stage", "training.seq_length"}
    assert all(problem["message"] for problem in detail)
    hint = next(p["message"] for p in detail if p["field"] == "layout.tensor_paralel")
    assert "tensor_parallel" in hint


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ("", 400, "not JSON"),
        ("{", 400, "line 1 column 2"),
        ("{'a': 1}", 400, "not JSON"),
        ('{"model": NaN}', 422, "NaN"),
        ('{"model": -Infinity}', 422, "-Infinity"),
        ('{"model": 1e999}', 422, "too large"),
        ('{"model": ' + "9" * 5000 + "}", 400, "too many digits"),
        ("[" * 100_000, 400, "nested"),
        (b"\xff\xfe{}", 400, "UTF-8"),
        ("[]", 422, "object"),
        ("null", 422, "object"),
        ('"gpt3-175b"', 422, "object"),
        ('{"model": {"id": "gpt3-175b", "num_layers": 1e400}}', 422, "too large"),
        ('{"model": {"id": ["gpt3-175b"]}}', 422, "catalog id"),
        ('{"\\ud800": "\\udfff"}', 422, ""),
        ('{"model": "\\u0000"}', 422, "catalog"),
        ('{"layout": 7, "model": "gpt3-175b"}', 422, "object"),
    ],
)
def test_a_bad_body_gets_a_clear_answer(
    client: TestClient, body: str | bytes, status: int, says: str
) -> None:
    answer = ask(client, body)
    assert answer.status_code == status, answer.text
    assert says in json.dumps(answer.json())
    assert "Traceback" not in answer.text


def test_only_json_and_only_so_much(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = client.post("/api/v1/estimate", content="{}", headers={"Content-Type": kind})
        assert answer.status_code == 415
        assert "application/json" in answer.text
    assert ask(client, "{}", **{"Content-Type": "application/json; charset=utf-8"}).status_code == 422
    assert ask(client, b" " * (MOST_BYTES + 1)).status_code == 413
    assert (
        ask(client, b" " * MOST_BYTES + b"{}", **{"Content-Length": str(MOST_BYTES + 2)}).status_code == 413
    )


def test_a_body_sent_in_pieces_is_bounded_too(client: TestClient) -> None:
    pieces = (b" " * 65_536 for _ in range(5))
    assert client.post("/api/v1/estimate", content=pieces, headers=JSON).status_code == 413


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('{"model": "gpt3-175b", "model": "llama2-7b", "cluster": {"num_nodes": 1}}', "model"),
        ('{"model": "gpt3-175b", "layout": {"tensor_parallel": 4, "tensor_parallel": 8}}', "tensor_parallel"),
    ],
)
def test_a_key_with_two_values_is_no_guess(client: TestClient, body: str, name: str) -> None:
    answer = ask(client, body)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["field"] == name
    assert "twice" in answer.json()["detail"][0]["message"]


def test_a_key_written_twice_alike_hurts_nobody(client: TestClient) -> None:
    assert ask(client, '{"model": "gpt-1.7b", "model": "gpt-1.7b"}').status_code == 200


def test_it_reads_no_cookie_and_needs_no_origin(client: TestClient) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"}
    answer = client.post("/api/v1/estimate", json=ESTIMATE_EXAMPLE, headers=foreign)
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


def test_answers_are_strict_json(client: TestClient) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for model in ("gpt3-175b", "mixtral-8x7b", "t5-11b", "deepseek-v3"):
        body = {"model": model, "cluster": {"gpu": "h100-80gb", "num_nodes": 4}}
        answer = client.post("/api/v1/estimate", json=body)
        assert answer.status_code == 200, (model, answer.text)
        json.loads(answer.text, parse_constant=refuse)


def test_flat_and_nested_questions_are_the_same(client: TestClient) -> None:
    flat = {
        "model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": 128, "tensor_parallel": 8,
        "pipeline_parallel": 16, "data_parallel": 8, "micro_batch_size": 1, "recompute": "full",
        "global_batch_size": 1536, "seq_length": 2048,
    }  # fmt: skip
    nested = client.post("/api/v1/estimate", json=ESTIMATE_EXAMPLE).json()
    assert client.post("/api/v1/estimate", json=flat).json() == nested


def test_serving_says_what_fits_and_how_many(client: TestClient) -> None:
    said = client.post("/api/v1/serve", json=SERVE_EXAMPLE).json()
    assert said["legal"] is True
    assert said["memory"]["fits"] == "yes"
    assert said["max_concurrency"] >= 1
    broken = client.post("/api/v1/serve", json={**SERVE_EXAMPLE, "layout": {"tensor_parallel": 3}}).json()
    assert broken["legal"] is False
    assert client.post("/api/v1/serve", json={**SERVE_EXAMPLE, "training": {}}).status_code == 422


def test_schedules_are_played_out(client: TestClient) -> None:
    answer = client.post("/api/v1/schedule", json=SCHEDULE_EXAMPLE)
    assert answer.status_code == 200
    assert answer.json()["bubble_fraction"] == pytest.approx(3 / 11)
    wrong = client.post("/api/v1/schedule", json={"num_stages": 4, "num_micro_batch": 8})
    assert wrong.status_code == 422
    assert {problem["field"] for problem in wrong.json()["detail"]} >= {"num_micro_batch"}


def test_the_catalog_says_where_each_entry_comes_from(client: TestClient) -> None:
    catalog = client.get("/api/v1/catalog").json()
    assert {"v100-32gb", "a100-80gb", "h100-80gb"} <= {gpu["id"] for gpu in catalog["gpus"]}
    assert {"gpt3-175b", "llama2-70b"} <= {model["id"] for model in catalog["models"]}
    for entry in (*catalog["gpus"], *catalog["links"], *catalog["models"]):
        assert entry["source"], entry["id"]


def test_names_and_fields_are_published_with_bounds(client: TestClient) -> None:
    names = {name["name"]: name for name in client.get("/api/v1/names").json()["names"]}
    assert names["schedules.bubble_fraction"]["arguments"]
    assert names["schedules.bubble_fraction"]["source"]
    fields = {field["path"]: field for field in client.get("/api/v1/fields").json()["fields"]}
    assert set(fields) == set(BY_PATH)
    assert fields["layout.zero_stage"]["maximum"] == 3


def test_openapi_describes_every_field(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    body = document["paths"]["/api/v1/estimate"]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    for field in FIELDS:
        section = body["properties"][field.section]
        shape = section["anyOf"][1] if field.section == "model" else section
        for part in field.key.split("."):
            assert part in shape["properties"], field.path
            shape = shape["properties"][part]
        assert shape["description"]
    assert body["examples"] == [ESTIMATE_EXAMPLE]
    assert all(path.startswith("/api/v1/") for path in document["paths"])


def test_unknown_addresses_answer_in_json(client: TestClient) -> None:
    missing = client.get("/api/v1/nothing")
    assert missing.status_code == 404
    assert missing.json()["detail"]
    assert client.get("/api/v1/estimate").status_code == 405


def test_the_docs_can_be_tried_by_a_plain_form(client: TestClient) -> None:
    page = client.get("/api/docs")
    assert page.status_code == 200
    assert "<form" in page.text
    tried = client.get("/api/docs", params={"verb": "estimate", "body": json.dumps(ESTIMATE_EXAMPLE)})
    assert "Answer: 200" in tried.text
    assert "bubble_fraction" in tried.text
    wrong = client.get("/api/docs", params={"verb": "estimate", "body": '{"model": "<b>"}'})
    assert "Answer: 422" in wrong.text
    assert "<b>" not in wrong.text
    broken = client.get("/api/docs", params={"verb": "schedule", "body": "{"})
    assert "Answer: 400" in broken.text
