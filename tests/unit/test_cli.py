"""The verbs on the command line: the API's objects in and out, problems on standard error."""

import json

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.services.estimation import estimate

GPT3 = {
    "model": "gpt3-175b",
    "cluster": {"gpu": "a100-80gb", "num_nodes": 128},
    "layout": {"tensor_parallel": 8, "pipeline_parallel": 16, "recompute": "full"},
    "training": {"global_batch_size": 1536},
}


def run(*arguments: str, question: object = None) -> tuple[int, str, str]:
    answer = CliRunner().invoke(cli, [*arguments, "-"], input=json.dumps(question))
    return answer.exit_code, answer.stdout, answer.stderr


def test_estimate_gives_what_the_engine_gives() -> None:
    code, out, _ = run("estimate", "--json", question=GPT3)
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(estimate(GPT3)))


def test_estimate_in_words() -> None:
    code, out, _ = run("estimate", question=GPT3)
    assert code == 0
    assert "Fits: yes" in out
    assert "1536 = 1 × 192 × replicas" in out


def test_illegal_layout_names_every_rule_and_exits_1() -> None:
    code, out, _ = run("estimate", question={**GPT3, "layout": {"tensor_parallel": 7}})
    assert code == 1
    assert "96 attention heads divided by 7 leaves 5" in out
    assert "1,024 devices divided by" in out


def test_every_problem_on_standard_error_and_exit_2() -> None:
    code, out, err = run("estimate", question={"model": "gpt3-175b", "num_nodes": -1, "nodes": 3})
    assert code == 2
    assert out == ""
    assert "cluster.num_nodes" in err
    assert "nodes:" in err


@pytest.mark.parametrize("text", ["", "{", "[1", '"' * 10, "[" * 100_000])
def test_text_that_is_no_json(text: str) -> None:
    answer = CliRunner().invoke(cli, ["estimate", "-"], input=text)
    assert answer.exit_code == 2
    assert "Give a file with one JSON object" in answer.stderr


def test_a_file_that_is_not_there() -> None:
    answer = CliRunner().invoke(cli, ["schedule", "/nowhere/at/all.json"])
    assert answer.exit_code == 2
    assert "No such file" in answer.stderr


def test_schedule_and_balance() -> None:
    question = {"schedule": "1f1b", "num_stages": 4, "num_micro_batches": 8}
    times = {"forward_s": [1] * 4, "backward_s": [2] * 4}
    code, out, _ = run("schedule", question={**question, **times})
    assert code == 0
    assert "Makespan: 33.00 s" in out
    assert "4, 3, 2, 1" in out
    pieces = [{"name": "a", "forward_s": 1}, {"name": "b", "forward_s": 2}, {"name": "c", "forward_s": 1}]
    code, out, _ = run("balance", question={"pieces": pieces, "num_stages": 2})
    assert code == 0
    assert "Slowest stage: 3.00 s; none can be under 2.00 s" in out


def test_schedule_that_breaks_a_rule_exits_1() -> None:
    question = {"schedule": "interleaved", "num_stages": 4, "num_micro_batches": 7}
    times = {"virtual_pipeline_stages": 2, "forward_s": [1] * 4, "backward_s": [2] * 4}
    code, out, _ = run("schedule", question={**question, **times})
    assert code == 1
    assert "7" in out
    assert "breaks a rule" in out


def test_advise_tells_six_questions_and_where_they_lead() -> None:
    question = {"model": "gpt-76.1b", "num_nodes": 8, "batch_range": [64, 256], "zero_stage": 0}
    told = CliRunner().invoke(cli, ["advise", "-"], input=json.dumps(question))
    assert told.exit_code == 0, told.output
    assert told.output.startswith("Binding: optimizer states")
    assert [line[:2] for line in told.output.splitlines() if line[:1].isdigit()] == [
        f"{number}." for number in range(1, 7)
    ]
    assert "Layout: tensor · pipeline · data = 8 · 4 · 2" in told.output
    as_json = CliRunner().invoke(cli, ["advise", "-", "--json"], input=json.dumps(question))
    assert json.loads(as_json.output)["layout"]["pipeline_parallel"] == 4


def test_advise_ends_in_1_where_no_layout_will_do() -> None:
    told = CliRunner().invoke(cli, ["advise", "-"], input=json.dumps({"model": "gpt3-175b", "num_nodes": 1}))
    assert told.exit_code == 1
    assert "No layout will do. The smallest cluster of this kind on which a layout fits:" in told.output


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"model": "gpt3-175b", "num_nodes": 1, "global_batch_size": 64},
            "It fits from 48 devices on 6 nodes",
        ),
        (
            {"num_gpus": 7, "num_nodes": 1, "global_batch_size": 60},
            "a global batch of 56 or 63, or with 6 or 8",
        ),
        ({"num_nodes": 1, "global_batch_size": 64, "limits": {"mfu": [2, 3]}}, "The limits leave none"),
    ],
)
def test_a_search_that_finds_nothing_says_what_would_do(changes: dict[str, object], said: str) -> None:
    code, out, _ = run("search", question={"model": "llama2-7b", "gpu": "a100-80gb", **changes})
    assert code == 1
    assert said in out
