"""The search page in a real browser: axe, widths, dark, keyboard, and all of it without JavaScript."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import VisitMaker
from tests.browser.test_pages import SIDEWAYS, accessibility

SMALL = "/calculator/search?model=gpt-18.4b&num_nodes=4&global_batch_size=128&batch_to=256"
NOTHING = "/calculator/search?model=gpt-1t&num_nodes=1&global_batch_size=8"
WRONG = "/calculator/search?fix_tensor_parallel=eight"
LARGE = "/calculator/search?model=gpt3-175b&num_nodes=256&global_batch_size=64&batch_to=1048576"


@pytest.mark.parametrize("path", [SMALL, NOTHING, LARGE])
def test_page(visit: VisitMaker, path: str) -> None:
    for width, dark in ((1280, False), (1280, True), (360, True), (320, False)):
        page = visit(width=width, dark=dark).page(path)
        assert page.locator("h1").count() == 1
        assert page.evaluate(SIDEWAYS) <= 0, f"scrolls sideways at {width} px"
        assert accessibility(page) == ""
        page.close()


def test_what_cannot_be_read_is_accessible_too(visit: VisitMaker) -> None:
    learner = visit(width=360)
    page = learner.page(WRONG)
    assert Axe().run(page).violations_count == 0
    assert page.locator("[aria-invalid=true]").input_value() == "eight"
    learner.messages = [message for message in learner.messages if "422" not in message]


def test_a_point_is_reached_by_the_keyboard_and_leads_to_its_layout(visit: VisitMaker) -> None:
    page = visit().page(SMALL)
    point = page.locator("#pareto-memory a, #by-memory svg a").first
    point.focus()
    said = point.get_attribute("aria-label") or ""
    assert "tokens/s" in said
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/calculator\?"))
    expect(page.locator("h1")).to_contain_text(re.compile("Fits|Borderline"))


def test_a_search_is_changed_in_place(visit: VisitMaker) -> None:
    page = visit().page(SMALL)
    page.get_by_label("Tensor", exact=False).first.fill("2")
    page.get_by_role("button", name="Search").last.click()
    page.wait_for_url(re.compile("fix_tensor_parallel=2"))
    expect(page.locator("h1")).to_contain_text("tensor 2")


def test_a_large_search_ends_by_itself_and_keeps_what_is_typed(visit: VisitMaker) -> None:
    page = visit().page(LARGE.replace("1048576", "131072"))
    page.locator("#in-max-bubble").fill("12")
    expect(page.locator("h1")).to_contain_text(re.compile("[1-9]\\d?.%|Best"), timeout=30_000)
    if page.locator("progress").count():
        assert page.locator("#in-max-bubble").input_value() == "12"
    expect(page.locator("h1")).to_contain_text("Best:", timeout=60_000)
    assert page.locator("#ranked tbody tr").count() == 20


@pytest.mark.parametrize("javascript", [True, False])
def test_a_large_search_is_watched_and_stopped(visit: VisitMaker, javascript: bool) -> None:
    page = visit(javascript=javascript).page(f"{LARGE}&max_bubble={50 + javascript}")
    expect(page.locator("progress")).to_be_visible()
    page.get_by_role("button", name="Stop and show what was found").click()
    expect(page.locator("h1")).to_contain_text(re.compile("Best so far|Stopped|Nothing found"))


def test_without_javascript_the_form_and_its_steps_work(visit: VisitMaker) -> None:
    page = visit(javascript=False).page(SMALL)
    page.get_by_role("button", name="Double nodes").click()
    assert "num_nodes=8" in page.url
    page.get_by_label("Ranked by").select_option("headroom_bytes")
    page.get_by_role("button", name="Search").last.click()
    assert "objective=headroom_bytes" in page.url
    expect(page.locator("h1")).to_contain_text("to spare")
