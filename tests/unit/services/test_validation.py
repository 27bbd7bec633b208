import json
from pathlib import Path

import pytest

from app.catalog.published import RowsError, load_rows, load_vtrain, published_rows, vtrain_rows
from app.services.published import RowError, gpu_id, reported_step_s, request_of, stage_split
from app.services.validation import (
    POOLED,
    groups_of,
    reported_memory_bytes,
    result_of,
    utilization,
    validate,
)
from app.services.validation_text import lines_of


def by_id(name: str) -> dict[str, object]:
    return dict(next(row for row in published_rows() if row["id"] == name))


def test_a_file_of_rows_is_a_list_or_has_one(tmp_path: Path) -> None:
    for text in ('[{"id": "a"}]', '{"rows": [{"id": "a"}]}'):
        path = tmp_path / "rows.json"
        path.write_text(text, encoding="utf-8")
        assert [row["id"] for row in load_rows(path)] == ["a"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "not JSON"), ('"rows"', "expected a list"), ("[1, {}, 2]", "rows 1, 3 are not objects")],
)
def test_a_file_that_is_not_rows_says_why(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RowsError, match=said):
        load_rows(path)


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match="cannot be read"):
        load_rows(tmp_path / "nothing.json")
    with pytest.raises(RowsError, match="cannot be read"):
        load_vtrain(tmp_path / "nothing.csv")


def test_a_vtrain_table_names_every_bad_line(tmp_path: Path) -> None:
    head = (
        "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
        "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n"
    )
    path = tmp_path / "table.csv"
    path.write_text(head + "8,8,1,1024,16,16,1024,1,8,1,100\nx\n8,8,1,1024,16,16,1024,1,8,1,many\n", "utf-8")
    with pytest.raises(RowsError) as error:
        load_vtrain(path)
    assert "table.csv:3" in str(error.value)
    assert "table.csv:4" in str(error.value)
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(RowsError, match="no column"):
        load_vtrain(path)


def test_the_measured_tables_are_all_there() -> None:
    rows = vtrain_rows()
    assert len(rows) == 662
    assert {row["n_gpus"] for row in rows} == {2, 4, 8, 256, 512}
    assert all(row["tp"] * row["pp"] * row["dp"] == row["n_gpus"] for row in rows)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("A100-SXM4-40GB", "a100-40gb"),
        ("A100-SXM4-80GB", "a100-80gb"),
        ("H100-SXM-96GB (HBM2e, 2.4 TB/s, 500W)", "h100-96gb"),
        ("H100-SXM5-80GB", "h100-80gb"),
        ("H200-SXM5-141GB", "h200"),
        ("GB200", "gb200"),
        ("B200", "b200"),
        ("V100-SXM2-32GB", "v100-32gb"),
    ],
)
def test_devices_by_the_names_rows_use(name: str, found: str) -> None:
    assert gpu_id(name) == found


def test_an_unknown_device_is_said() -> None:
    with pytest.raises(RowError, match="TPU"):
        gpu_id("TPU v4")


@pytest.mark.parametrize(
    ("layers", "stages", "split"),
    [
        (70, 12, [5, *[6] * 10, 5]),  # BLOOM's own: embedding + 5, ten times 6, 5 + head
        (106, 12, [8, *[9] * 10, 8]),
        (77, 11, None),
        (30, 1, None),
        (105, 35, None),
        (5, 4, [1, 1, 1, 2]),
        (80, 32, [2, *[3] * 16, *[2] * 15]),  # sixteen layers left over: dealt out, the ends last
    ],
)
def test_layers_that_do_not_divide_count_the_ends_as_layers(
    layers: int, stages: int, split: list[int] | None
) -> None:
    found = stage_split(layers, stages)
    assert found == split
    assert found is None or sum(found) == layers


def test_a_row_becomes_a_request_in_the_words_of_the_api() -> None:
    request = request_of(by_id("bloom_176b_production"))
    assert request["cluster"]["num_nodes"] == 48
    assert request["cluster"]["inter_node_bandwidth_bytes_per_s"] == 6.25e9
    assert request["cluster"]["intra_node_bandwidth_bytes_per_s"] == 100e9
    assert request["layout"]["layers_per_stage"] == [5, *[6] * 10, 5]
    assert request["training"]["compute_dtype"] == "bf16"
    assert json.loads(json.dumps(request)) == request


def test_a_row_that_lacks_something_is_kept_and_says_what() -> None:
    row = by_id("gpt_neox_20b")
    del row["global_batch"]
    result = result_of(row)
    assert result.predicted_step_s is None
    assert "global_batch" in result.problem
    odd = result_of({"id": "odd", "model": {"layers": 2}})
    assert odd.problem


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"hardware": None}, "hardware is None, not an object of fields"),
        ({"model": "gpt3-175b"}, "model is 'gpt3-175b', not an object of fields"),
        ({"reported": "fast"}, "reported is 'fast', not an object of fields"),
        ({"pp": None}, "pp is None, not a number of stages"),
        ({"pp": "8"}, "pp is '8', not a number of stages"),
        ({"hardware": {"gpu": "RTX 5090"}}, "hardware.gpu 'RTX 5090' is not in the catalog"),
        ({"tp": -1}, "layout.tensor_parallel: -1 cannot be used"),
    ],
)
def test_an_odd_row_says_what_is_wrong_in_words(changed: dict[str, object], said: str) -> None:
    result = result_of({**by_id("narayanan21_t1_1.7B"), **changed})
    assert result.predicted_step_s is None
    assert said in result.problem
    assert "object has no" not in result.problem


@pytest.mark.parametrize(
    ("reported", "derived", "seconds"),
    [
        ({"step_time_s": 2.0, "tokens_per_s": 1.0}, {}, 2.0),
        ({"tokens_per_s": 1000.0}, {}, 8.0),
        ({"tokens_per_s_per_gpu": 125.0}, {}, 8.0),
        ({}, {"step_time_s_from_tflops": 3.0}, 3.0),
        ({"tflops_per_gpu": 100.0}, {}, None),
    ],
)
def test_the_reported_step_prefers_time_to_rates(
    reported: dict[str, float], derived: dict[str, float], seconds: float | None
) -> None:
    row = {
        "global_batch": 8,
        "n_gpus": 8,
        "model": {"seq": 1000},
        "reported": reported,
        "derived": derived,
    }
    assert reported_step_s(row) == seconds


def test_memory_is_read_in_the_unit_it_states() -> None:
    assert reported_memory_bytes({"reported": {"memory_gb": 2, "memory_unit": "GiB (peak)"}}) == 2 * 2**30
    assert reported_memory_bytes({"reported": {"memory_gb": 2}}) == 2e9
    assert reported_memory_bytes({}) is None


def test_small_sources_are_pooled() -> None:
    assert groups_of(["a"] * 5 + ["b", "c"]) == ["a"] * 5 + [POOLED] * 2


def test_the_answer_has_rows_means_and_the_null_model() -> None:
    rows = [row for row in published_rows() if row["source"].startswith("NVIDIA dgxc-benchmarking v25.02")]
    found = validate(rows)
    told = json.loads(json.dumps(found.to_json()))
    assert set(told) == {"rows", "means", "failures"}
    assert {
        "id",
        "source",
        "predicted_step_s",
        "reported_step_s",
        "signed_error",
        "predicted_memory_bytes",
    } <= set(told["rows"][0])
    assert 0 < told["means"]["mean_of_groups"] < told["means"]["null_mean_of_groups"]
    assert 0.3 < utilization() < 0.5


def test_nothing_to_compare_is_no_mean_and_no_crash() -> None:
    assert validate([]).mean is None
    assert validate([{}]).rows[0].problem
    assert list(lines_of(validate([])))[-1] == "holds"


def test_the_guard_names_what_fails() -> None:
    slow = by_id("narayanan21_t1_1.7B")
    slow["reported"] = {"step_time_s": 60.0}
    found = validate([slow], guard=True)
    assert any("beyond ±30 % without a written reason" in failure for failure in found.failures)
    assert list(lines_of(found))[-1] == "fails"


def test_text_shows_rows_groups_and_the_null_model() -> None:
    rows = [row for row in published_rows() if row["source"].startswith("IBM")]
    text = "\n".join(lines_of(validate(rows)))
    assert "fms_fsdp_7b_a100_128" in text
    assert "mean of the groups" in text
    assert "null: every run at the same utilization" in text


def test_a_row_without_a_core_flag_counts_and_every_prediction_has_its_band() -> None:
    row = by_id("narayanan21_t1_1.7B")
    del row["core"]
    found = validate([row])
    assert len(found.groups) == 1
    assert found.rows[0].to_json()["expected_error_fraction"] == 0.08
    assert "±" in "\n".join(lines_of(found))


VTRAIN_HEADER = (
    "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
    "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)"
)
VTRAIN_LINE = "8,8,2,2048,16,20,1024,4,1,2,160.6"


@pytest.mark.parametrize(
    "text",
    [
        f"{VTRAIN_HEADER}\n{VTRAIN_LINE}\n",
        f"\ufeff{VTRAIN_HEADER}\r\n{VTRAIN_LINE}\r\n",
        f"{VTRAIN_HEADER},remark\n\n{VTRAIN_LINE},slow\n",
        f"{VTRAIN_HEADER}\n{VTRAIN_LINE}\n".replace(",", ", "),
        f"{VTRAIN_HEADER.upper()}\n{VTRAIN_LINE}\n",
    ],
    ids=["plain", "from a spreadsheet", "a column and a line more", "spaces", "capitals"],
)
def test_a_vtrain_table_as_people_save_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    (row,) = load_vtrain(path)
    assert (row["n_gpus"], row["pp"], row["reported"]) == (8, 2, {"step_time_s": 0.1606})


def test_a_vtrain_table_without_times_is_predicted_alike(tmp_path: Path) -> None:
    told, silent = tmp_path / "told.csv", tmp_path / "silent.csv"
    told.write_text(f"{VTRAIN_HEADER}\n{VTRAIN_LINE}\n", encoding="utf-8")
    cut = [line.rpartition(",")[0] for line in (VTRAIN_HEADER, VTRAIN_LINE)]
    silent.write_text("\n".join(cut), encoding="utf-8")
    with_time, without = (result_of(load_vtrain(path)[0]) for path in (told, silent))
    assert without.signed_error is None
    assert without.predicted_step_s == with_time.predicted_step_s


@pytest.mark.parametrize("heads", ["0", "inf", "nan", "many", ""])
def test_a_vtrain_line_of_no_numbers_is_named(tmp_path: Path, heads: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{VTRAIN_HEADER}\n\n{VTRAIN_LINE.replace(',16,', f',{heads},')}\n", encoding="utf-8")
    with pytest.raises(RowsError, match=r"table\.csv:3: not all numbers"):
        load_vtrain(path)


def test_a_run_that_does_not_say_what_its_memory_depends_on_is_not_counted_among_those_that_ran() -> None:
    row = published_rows()[0]
    assert result_of(row).ran
    assert not result_of({**row, "recompute": None}).ran
    assert not result_of({**row, "micro_batch": None}).ran
    assert not result_of({**row, "reported": {"oom": True}}).ran


def test_every_row_far_off_says_why_in_json() -> None:
    off = [told.to_json() for row in published_rows() if (told := result_of(row)).is_off]
    assert off
    assert [row["id"] for row in off if not row["reason"]] == []


def test_no_run_is_missing_from_the_table_of_what_fits() -> None:
    validation = validate(list(published_rows()))
    told = "\n".join(lines_of(validation)).split("does it fit?")[1].splitlines()[1:4]
    counted = sum(int(number) for line in told for number in line.split()[-3:])
    assert counted == sum(bool(row.fits) for row in validation.rows)
    assert sum(int(line.split()[-1]) for line in told) == sum(row.fits == "no" for row in validation.rows)
