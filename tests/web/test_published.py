"""/published and its API: every run beside its prediction, chosen and ordered by the address alone."""

import gzip
import re
from html.parser import HTMLParser
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from fastapi.testclient import TestClient

from app.catalog import load_catalog
from app.catalog.held_out import load_held_out
from app.catalog.published import published_rows, vtrain_rows
from app.services.estimation import estimate_inputs
from app.services.inputs import Inputs, parse_inputs
from app.services.runs import KINDS, published_runs
from app.services.validation import result_of, validate
from app.web.published_filter import PER_PAGE, Filter, chosen_runs, read_filter
from app.web.questions import read_question

RUNS = published_runs()
COMPARED = [run for run in RUNS if run.result.signed_error is not None]


class Table(HTMLParser):
    """The rows of the table of runs, each a list of its cells' words, and the links of its first cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.links: list[str] = []
        self.inside = False
        self.feed(text[text.index('class="gallery') :] if 'class="gallery' in text else "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self.inside = True
        if tag == "a" and self.rows and len(self.rows[-1]) == 1:
            self.links.append(dict(attrs)["href"] or "")

    def handle_data(self, data: str) -> None:
        if self.inside and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    @property
    def runs(self) -> list[list[str]]:
        return [row for row in self.rows[1:] if len(row) == 9]


def page(client: TestClient, query: str = "") -> str:
    answer = client.get(f"/published{query}")
    assert answer.status_code == 200
    return answer.text


def test_every_run_stands_on_exactly_one_page(client: TestClient) -> None:
    pages = -(-len(RUNS) // PER_PAGE)
    found = [
        link
        for number in range(1, pages + 1)
        for link in re.findall(
            r'<td class="src"><a href="/published/([^"]+)"', page(client, f"?page={number}")
        )
    ]
    assert sorted(found) == sorted(quote(run.id) for run in RUNS)


def test_a_row_shows_what_was_reported_and_what_is_predicted(client: TestClient) -> None:
    rows = Table(page(client)).runs
    first = next(row for row in rows if row[0] == "GPT-1.7B")
    expected = result_of(next(row for row in published_rows() if row["id"] == "narayanan21_t1_1.7B"))
    assert expected.signed_error is not None
    assert first[2:5] == ["32 × A100 80GB", "1 · 1 · 32", "full"]
    assert first[5] == "3.53"
    assert first[6] == f"{expected.predicted_step_s:.2f}"
    assert first[7] == f"{100 * expected.signed_error:+.1f}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.id)
def test_a_run_opened_in_the_calculator_gives_the_same_seconds(run) -> None:  # type: ignore[no-untyped-def]
    question = read_question(parse_qsl(run.query, keep_blank_values=True), load_catalog())
    inputs = parse_inputs(question.raw, load_catalog())
    assert isinstance(inputs, Inputs)
    answer = estimate_inputs(inputs, working=False)
    assert answer["legal"] is run.legal
    if run.legal:
        assert answer["time"]["step_s"] == run.result.predicted_step_s
        assert answer["memory"]["peak_bytes"] == run.result.predicted_memory_bytes


def test_the_link_of_a_row_opens_that_calculation(client: TestClient) -> None:
    link = Table(page(client, "?q=narayanan21_t1_1.7B")).links[-1]
    answer = client.get(link.replace("&amp;", "&"))
    assert answer.status_code == 200
    assert "3.5" in answer.text
    assert "GPU" in answer.text


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_part_the_runs(client: TestClient, kind: str) -> None:
    expected = [run for run in RUNS if run.kind == kind]
    text = page(client, f"?kind={kind}")
    assert f"{len(expected)} {'run' if len(expected) == 1 else 'runs'}" in text
    assert len(Table(text).runs) == min(PER_PAGE, len(expected))


def test_filters_narrow_each_other(client: TestClient) -> None:
    source = "MosaicML llm-foundry benchmarks: H100 80GB BF16"
    expected = [run for run in RUNS if run.source == source and "3b" in run.model_name.casefold()]
    assert expected
    assert len(expected) < len([run for run in RUNS if run.source == source])
    rows = Table(page(client, f"?source={quote(source)}&gpu=h100-80gb&q=MPT+3B&core=1")).runs
    assert [row[0] for row in rows] == [run.model_name for run in expected]


def numbers_in(rows: list[list[str]], column: int) -> list[float]:
    texts = [row[column].replace("\N{MINUS SIGN}", "-").replace(",", "") for row in rows]
    return [float(re.match(r"[-+]?[\d.]+", text).group()) for text in texts if text != "–"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("order", "column", "key"),
    [
        ("error", 7, float),
        ("off", 7, abs),
        ("gpus", 2, float),
        ("reported", 5, float),
        ("predicted", 6, float),
    ],
)
def test_orders_go_both_ways(client: TestClient, order: str, column: int, key: type) -> None:
    up = [key(value) for value in numbers_in(Table(page(client, f"?sort={order}")).runs, column)]
    down = [key(value) for value in numbers_in(Table(page(client, f"?sort=-{order}")).runs, column)]
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert up[0] < down[0]


def test_headers_link_to_the_other_order_and_keep_the_filters() -> None:
    chosen = read_filter([("gpu", "h100-80gb"), ("sort", "-error"), ("page", "2")], RUNS)
    assert chosen.problems == ()
    assert chosen.address(sort="error") == "/published?gpu=h100-80gb&sort=error"
    assert read_filter(parse_qsl(urlsplit(chosen.address(page=2)).query), RUNS) == chosen


def test_runs_without_a_report_come_last_whatever_the_order() -> None:
    for sort in ("error", "-error", "gpus", "-gpus", "source"):
        silent = [run.result.signed_error is None for run in chosen_runs(RUNS, Filter(sort=sort))]
        assert silent == sorted(silent)
        assert any(silent)


def test_memory_is_compared_where_it_is_reported(client: TestClient) -> None:
    expected = [run for run in RUNS if run.memory_error is not None]
    assert expected
    text = page(client, "?of=memory")
    assert f"{len(expected)} runs: mean error" in text
    assert "Predicted, GiB" in text
    run = max(expected, key=lambda one: abs(one.memory_error or 0))
    first = Table(page(client, "?of=memory&sort=-off")).runs[0]
    assert first[0] == run.model_name
    assert numbers_in([first], 7)[0] == pytest.approx(100 * (run.memory_error or 0), abs=0.051)


@pytest.mark.parametrize(
    "query",
    [
        "?gpu=abacus",
        "?sort=beauty",
        "?kind=x",
        "?source=nobody",
        "?of=taste",
        "?page=0",
        "?page=-1",
        "?page=²",
    ],
)
def test_what_is_not_understood_is_said_and_everything_is_shown(client: TestClient, query: str) -> None:
    text = page(client, query)
    assert 'class="tell warn' in text
    assert f"{len(RUNS)} runs" in text


@pytest.mark.parametrize(
    "query", ["?page=99999999999999999999", "?page=8", "?q=" + "x" * 5000, "?&&=&q=%00", "?q=%F0%9F"]
)
def test_odd_addresses_are_pages(client: TestClient, query: str) -> None:
    assert client.get(f"/published{query}").status_code == 200


def test_words_are_shown_as_text(client: TestClient) -> None:
    text = page(client, "?q=" + quote('"><script>alert(1)</script>'))
    assert "<script>alert" not in text
    assert "No run is like that" in text
    assert "0 runs." in text


def test_the_fragment_is_the_block_of_the_page(client: TestClient) -> None:
    whole = page(client, "?gpu=h100-80gb")
    answer = client.get("/published?gpu=h100-80gb", headers={"HX-Request": "true"})
    assert answer.headers["Vary"].startswith("HX-Request")
    assert "<html" not in answer.text
    assert answer.text.strip() in whole


def test_the_lead_counts_what_the_data_say(client: TestClient) -> None:
    inside = sum(abs(run.result.signed_error or 0) <= 0.10 for run in COMPARED)
    assert f"{inside} of {len(COMPARED)} step times are within" in page(client)


def test_a_page_of_runs_is_small(client: TestClient) -> None:
    for query in ("", "?sort=-off", "?page=4"):
        assert len(gzip.compress(page(client, query).encode())) < 30_000


@pytest.mark.parametrize("run", [RUNS[0], RUNS[8], *[run for run in RUNS if not run.legal][:2], RUNS[-1]])
def test_a_run_has_a_page_of_its_own(client: TestClient, run) -> None:  # type: ignore[no-untyped-def]
    answer = client.get(f"/published/{quote(run.id)}")
    assert answer.status_code == 200
    assert run.source.replace("&", "&amp;") in answer.text
    assert ("refuse this layout" in answer.text) is not run.legal


def test_an_unknown_run_is_a_page_that_says_so(client: TestClient) -> None:
    answer = client.get("/published/none-such")
    assert answer.status_code == 404
    assert "There is no published run “none-such”" in answer.text


def test_ids_are_unique() -> None:
    assert len({run.id for run in RUNS}) == len(RUNS)


# ---------- the API ----------


def test_the_api_gives_what_validate_gives(client: TestClient) -> None:
    answer = client.get("/api/v1/published")
    assert answer.status_code == 200
    assert "NaN" not in answer.text
    assert "Infinity" not in answer.text
    said = answer.json()
    found = validate(published_rows())
    assert [row["id"] for row in said["rows"]] == [row.id for row in found.rows]
    for told, row in zip(said["rows"], found.rows, strict=True):
        assert told["signed_error"] == row.signed_error
        assert told["predicted_memory_bytes"] == row.predicted_memory_bytes
    assert sum(row["signed_error"] is not None for row in said["rows"]) == len(COMPARED)


def test_the_api_is_described(client: TestClient) -> None:
    told = client.get("/api/openapi.json").json()["paths"]["/api/v1/published"]["get"]["responses"]["200"]
    properties = told["content"]["application/json"]["schema"]["properties"]["rows"]["items"]["properties"]
    assert set(client.get("/api/v1/published").json()["rows"][0]) == set(properties)
    assert "/api/v1/published" in client.get("/api/docs").text


def test_the_held_out_errors_belong_to_these_constants() -> None:
    """The file is written by `make calibrate`; what it says in-sample must be what the code gives now."""
    held_out, now = load_held_out(), validate([*published_rows(), *vtrain_rows()])
    assert set(held_out.groups) == set(now.groups)
    for name, (count, ours, null) in now.groups.items():
        told = held_out.groups[name]
        assert told.runs == count
        assert told.in_sample == pytest.approx(ours, abs=0.003), "run make calibrate"
        assert told.null == pytest.approx(null, abs=0.003)
    assert held_out.mean.in_sample <= held_out.mean.folds < held_out.mean.null
