"""`meshwright validate`: own runs, somebody's file, a vTrain table; what fails, and how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app import cli_verbs
from app.catalog.published import VTRAIN_MULTI_FILE, Row, published_rows
from app.cli import cli
from app.services import validation
from app.services.validation import GUARD_IN_SAMPLE, result_of

CORE = [row for row in published_rows() if row["core"]][:6]


def run(*arguments: str) -> tuple[int, str, str]:
    answer = CliRunner().invoke(cli, ["validate", *arguments])
    return answer.exit_code, answer.stdout, answer.stderr


def written(folder: Path, rows: object) -> str:
    path = folder / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return str(path)


def test_rows_of_a_file_are_predicted_as_everywhere(tmp_path: Path) -> None:
    code, out, _ = run("--rows", written(tmp_path, {"rows": CORE}), "--json")
    said = json.loads(out)
    assert code == 0
    assert [row["id"] for row in said["rows"]] == [row["id"] for row in CORE]
    for told, row in zip(said["rows"], CORE, strict=True):
        expected = result_of(row)
        assert told["predicted_step_s"] == expected.predicted_step_s
        assert told["signed_error"] == expected.signed_error
        assert told["predicted_step_s"] / told["reported_step_s"] - 1 == pytest.approx(told["signed_error"])
    assert set(said["means"]["groups"]) == {CORE[0]["source"]}
    assert "cross_validation" not in said


def test_rows_in_words_show_the_null_model_beside_ours(tmp_path: Path) -> None:
    code, out, _ = run("--rows", written(tmp_path, CORE))
    assert code == 0
    assert all(row["id"] in out for row in CORE)
    assert "null: every run at the same utilization" in out
    assert out.rstrip().endswith("holds")


def test_a_vtrain_table_is_read_and_counted_with_the_rows(tmp_path: Path) -> None:
    code, out, _ = run("--rows", written(tmp_path, CORE), "--vtrain", str(VTRAIN_MULTI_FILE), "--json")
    said = json.loads(out)
    assert code == 0
    assert len(said["rows"]) == len(CORE) + 62
    assert said["means"]["groups"]["vTrain measured, multi node"]["rows"] == 62


@pytest.mark.parametrize("option", ["--rows", "--vtrain"])
def test_a_file_that_cannot_be_read_is_one_line_and_exit_2(option: str, tmp_path: Path) -> None:
    code, out, err = run(option, str(tmp_path / "nowhere"))
    assert (code, out) == (2, "")
    assert "cannot be read" in err
    assert len(err.strip().splitlines()) == 1


ODD: list[Any] = [
    {},
    {"model": None},
    {"model": "x", "hardware": {}},
    {"model": {}, "hardware": []},
    {**CORE[0], "pp": 0},
    {**CORE[0], "n_gpus": "eight"},
    {**CORE[0], "reported": {"step_time_s": "soon"}, "derived": {}},
    {**CORE[0], "reported": [1]},
    {**CORE[0], "reported": {"step_time_s": -3}},
    {**CORE[0], "reported": {"memory_gb": "much"}},
    {**CORE[0], "hardware": {"gpu": "an abacus", "gpus_per_node": 8}},
    {**CORE[0], "model": {**CORE[0]["model"], "layers": 10**12}},
]


@pytest.mark.parametrize("row", ODD)
def test_an_odd_row_says_what_is_wrong_and_the_others_are_predicted(row: Row, tmp_path: Path) -> None:
    code, out, _ = run("--rows", written(tmp_path, [row, CORE[1]]), "--json")
    odd, sound = json.loads(out)["rows"]
    assert code == 0
    assert odd["problem"]
    assert odd["signed_error"] is None
    assert sound["signed_error"] == result_of(CORE[1]).signed_error


def test_own_runs_hold_and_a_worse_calculator_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard must be able to fail: the same runs against a bound that they do not reach."""
    monkeypatch.setattr(cli_verbs, "vtrain_rows", tuple)
    code, out, _ = run("--json")
    assert code == 0
    assert json.loads(out)["means"]["mean_of_groups"] <= GUARD_IN_SAMPLE
    monkeypatch.setattr(validation, "GUARD_IN_SAMPLE", 0.001)
    code, out, _ = run()
    assert code == 1
    assert "FAIL mean of the source groups" in out
    assert out.rstrip().endswith("fails")


def test_held_out_errors_stand_beside_and_can_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the fit says is not tried here (it takes minutes), only that it is told and heeded."""
    name = CORE[0]["source"]
    held = {"folds": {name: 0.05}, "folds_mean": 0.05, "source_left_out": {name: 0.07}}
    held |= {"source_left_out_mean": 0.07, "failures": []}
    monkeypatch.setattr(cli_verbs, "cross_validation", lambda rows, guard: held)
    path = written(tmp_path, CORE)
    code, out, _ = run("--rows", path, "--cv", "--json")
    assert code == 0
    assert json.loads(out)["cross_validation"]["folds_mean"] == 0.05
    held["failures"] = ["folds: 5.00 %, beyond 1.00 %"]
    code, out, _ = run("--rows", path, "--cv")
    assert code == 1
    assert "FAIL folds: 5.00 %" in out
    assert "7.00%" in out
