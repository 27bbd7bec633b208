"""/method: every formula, constant and error on the page is the engine's own."""

import gzip
import html
import re

from fastapi.testclient import TestClient

from app.calculator.names import NAMES
from app.catalog import load_catalog
from app.catalog.constants import load_constants
from app.services.method import EXAMPLES, KINDS, constant_tables, formulas, kind_errors, worked
from app.services.runs import published_runs
from app.web.calculator_results import typeset


def text_of(client: TestClient) -> str:
    answer = client.get("/method")
    assert answer.status_code == 200
    return html.unescape(answer.text)


def test_every_constant_stands_with_its_value_source_and_range(client: TestClient) -> None:
    page = text_of(client)
    for name, values in load_constants().entries.items():
        assert f'id="c-{name}"' in page
        for constant in values.values():
            assert f">{constant.value:.4g}<" in page
            assert constant.source in page
            if constant.low is not None and constant.high is not None:
                assert f"{constant.low:.3g} to {constant.high:.3g}" in page
    assert all(table.meaning for table in constant_tables())


def test_every_working_and_every_source_stands_there(client: TestClient) -> None:
    page = text_of(client)
    for one in worked():
        assert one.key in page
        assert all(typeset(formula) in page for formula in one.formulas)
        assert all(source in page for source in one.sources)
        assert one.sources != ("",)
    for formula in formulas():
        assert formula.name in page
        assert formula.source in page
    for name in NAMES.values():
        assert name.name in page
        assert name.source in page


def test_the_examples_use_what_makes_models_and_layouts_different() -> None:
    """A formula that only experts, rings, encoders or chunks have must not be missed."""
    keys = {one.key for one in worked()}
    for axis in ("tensor", "context", "pipeline", "data", "expert"):
        assert f"communication.{axis}_parallel.bytes_per_step" in keys or axis == "pipeline"
    all_formulas = " ".join(formula for one in worked() for formula in one.formulas)
    for word in ("expert_layers", "encoder_layers", "chunks", "expert_ranks"):
        assert word in all_formulas
    assert len(EXAMPLES) == len({str(example) for example in EXAMPLES})


def test_kinds_add_up_to_all_runs_with_a_step_time(client: TestClient) -> None:
    compared = [run.result.signed_error for run in published_runs() if run.result.signed_error is not None]
    errors = kind_errors()
    assert sum(one.runs for one in errors) == len(compared)
    mean = sum(one.mean * one.runs for one in errors) / len(compared)
    assert abs(mean - sum(map(abs, compared)) / len(compared)) < 1e-12
    page = text_of(client)
    assert all(one.says in page for one in errors)
    assert {one.says for one in errors} <= set(KINDS.values())


def test_hardware_comes_with_its_data_sheet(client: TestClient) -> None:
    page = text_of(client)
    catalog = load_catalog()
    assert all(entry.device.name in page and entry.source in page for entry in catalog.gpus.values())
    assert all(entry.link.name in page and entry.source in page for entry in catalog.links.values())


def test_links_within_the_page_lead_somewhere_and_it_is_small(client: TestClient) -> None:
    page = client.get("/method").text
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    assert len(gzip.compress(page.encode())) < 30_000


def test_every_page_leads_there(client: TestClient) -> None:
    for path in ("/", "/calculator", "/published"):
        text = client.get(path).text
        assert '<a href="/method">Method and sources</a>' in text
        assert 'href="/published"' in text
