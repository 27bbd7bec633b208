"""Advisor, comparison, saved layouts, placement and batch in a real browser: axe, narrow, no JavaScript."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitMaker

MODEL = "model=gpt-76.1b&gpu=a100-80gb&num_nodes=8"
PAGES = (
    "/calculator/advise",
    f"/calculator/advise?{MODEL}&batch_from=64&batch_to=256&step=tensor_width&tensor_parallel=16",
    f"/calculator/advise?{MODEL}&batch_from=17&batch_to=17&pipeline_parallel=8&step=global_batch",
    f"/calculator/advise?{MODEL}&batch_from=64&batch_to=256&zero_stage=0&step=result",
    "/calculator/advise?model=nothing&batch_to=x",
    f"/calculator/compare?{MODEL}&tensor_parallel=8&pipeline_parallel=4&2.micro_batch_size=4&3.tensor_parallel=7",
    f"/calculator/placement?{MODEL}&tensor_parallel=8&pipeline_parallel=2",
    "/calculator/batch?global_batch_size=256&micro_batch_size=2&data_parallel=7",
    "/calculator/batch",
    f"/calculator/saved?query={MODEL.replace('&', '%26').replace('=', '%3D')}",
)


def accessible(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    results = Axe().run(page)
    assert not results.violations_count, results.generate_report()


@pytest.mark.parametrize("dark", [False, True])
def test_every_page_is_accessible_and_fits_a_phone(visit: VisitMaker, dark: bool) -> None:
    learner = visit(width=360, dark=dark)
    for path in PAGES:
        if "nothing" in path:
            continue
        page = learner.page(path)
        accessible(page)
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        assert not wide, path
        page.close()


def test_the_advisor_is_walked_by_links_and_argued_with(visit: VisitMaker) -> None:
    page = visit().page(f"/calculator/advise?{MODEL}&batch_from=64&batch_to=256&zero_stage=0")
    expect(page.locator("h1")).to_have_text(re.compile("Memory binds"))
    page.get_by_role("link", name="First question").click()
    expect(page.locator("h1")).to_have_text("Is surgery needed at all, or is it only bookkeeping?")
    page.get_by_role("link", name="Go on").click()
    expect(page.locator("#decision h2")).to_have_text("Tensor 8")
    page.get_by_label("Tensor", exact=True).fill("16")
    page.get_by_role("button", name="Take mine").click()
    expect(page.locator("#decision h2")).to_have_text("Tensor 16")
    expect(page.locator("#decision")).to_contain_text("The procedure would take tensor 8")
    expect(page).to_have_url(re.compile("tensor_parallel=16"))
    page.get_by_role("link", name="Take your decision back").click()
    expect(page.locator("#decision h2")).to_have_text("Tensor 8")
    page.get_by_role("link", name="The layout").click()
    expect(page.locator("h1")).to_have_text(re.compile("Fits: tensor 8, pipeline 4, 2 copies"))
    page.go_back()
    expect(page.locator("#decision h2")).to_have_text("Tensor 8")
    accessible(page)


def test_a_layout_is_saved_named_compared_and_deleted_without_javascript(visit: VisitMaker) -> None:
    learner = visit(javascript=False)
    page = learner.page(f"/calculator?{MODEL}&tensor_parallel=8&pipeline_parallel=4")
    for name in ("first", "second"):
        page.goto(f"{learner.server.url}/calculator?{MODEL}&tensor_parallel=8&pipeline_parallel=4")
        page.get_by_role("link", name="Save this layout").click()
        page.get_by_label("Name").first.fill(name)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("h1")).to_have_text("Saved layouts")
    expect(page.locator("article")).to_have_count(2)
    accessible_without_script(page)
    page.locator("article").first.get_by_label("Name").fill("other")
    page.locator("article").first.get_by_role("button", name="Rename").click()
    expect(page.locator("article").first).to_contain_text("other")
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Compare the ticked ones").click()
    expect(page.locator("h1")).to_contain_text("A and B tie")
    page.goto(f"{learner.server.url}/calculator/saved")
    page.get_by_role("button", name="Delete other").click()
    expect(page.locator("article")).to_have_count(1)


def test_a_name_without_spaces_fits_a_phone(visit: VisitMaker) -> None:
    page = visit(width=360).page(PAGES[[path.startswith("/calculator/saved") for path in PAGES].index(True)])
    page.get_by_label("Name").first.fill("a" * 80)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("article")).to_have_count(1)
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert not wide
    accessible(page)


def accessible_without_script(page: Page) -> None:
    """axe needs scripts; without them the labels are looked at by hand."""
    for field in page.locator("input[type=text]").all():
        name = field.get_attribute("id")
        assert page.locator(f"label[for={name}]").count() == 1, name


def test_columns_of_a_comparison_are_changed_in_place(visit: VisitMaker) -> None:
    page = visit().page(
        f"/calculator/compare?{MODEL}&tensor_parallel=8&pipeline_parallel=4&micro_batch_size=1"
        "&global_batch_size=128&2.micro_batch_size=4"
    )
    expect(page.locator("#verdict")).to_contain_text("The global batch is held")
    page.get_by_label("Pipeline, layout B").fill("2")
    page.get_by_role("button", name="Compare").last.click()
    expect(page).to_have_url(re.compile(r"2\.pipeline_parallel=2"))
    page.get_by_role("link", name="Add a layout").click()
    expect(page.locator("thead th")).to_have_count(4)
    page.get_by_role("link", name="Remove B").click()
    expect(page.locator("thead th")).to_have_count(3)


def test_an_order_of_ranks_is_a_link(visit: VisitMaker) -> None:
    page = visit(javascript=False).page(
        f"/calculator/placement?{MODEL}&tensor_parallel=8&pipeline_parallel=2"
        "&rank_order=pipeline,data,context,tensor"
    )
    expect(page.locator("h1")).to_have_text(re.compile("Another order is .* faster"))
    page.get_by_role("link", name="Take the fastest order").click()
    expect(page.locator("h1")).to_have_text(re.compile("No order of ranks is faster"))
