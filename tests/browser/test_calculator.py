"""The calculator in a real browser: by keyboard, back and forth, without JavaScript, on a dark phone."""

import re

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitMaker

ILLEGAL = re.compile("Not a legal layout")
OVER = re.compile("Does not fit")


def accessible(page: Page) -> None:
    """With every fold open."""
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    results = Axe().run(page)
    assert not results.violations_count, results.generate_report()


def test_by_keyboard_back_and_forth(visit: VisitMaker) -> None:
    page = visit().page("/calculator")
    verdict = page.locator("h1")
    expect(verdict).to_have_text(OVER)
    first = verdict.inner_text()
    double = page.get_by_role("button", name="Double pipeline")
    double.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#in-pipeline_parallel")).to_have_value("8")
    expect(page.locator("#in-data_parallel")).to_have_value("4")
    expect(page).to_have_url(re.compile("pipeline_parallel=8"))
    expect(page.get_by_role("button", name="Double pipeline")).to_be_focused()
    expect(page.locator("#said")).to_have_text(verdict.inner_text().replace("\N{NO-BREAK SPACE}", " "))
    page.go_back()
    expect(page.locator("#in-pipeline_parallel")).to_have_value("4")
    assert page.locator("h1").inner_text() == first


def test_typing_says_what_is_wrong_at_the_field_and_keeps_the_words(visit: VisitMaker) -> None:
    page = visit().page("/calculator")
    field = page.locator("#in-tensor_parallel")
    field.press("ControlOrMeta+a")
    field.press_sequentially("7")
    expect(page.locator("h1")).to_have_text(ILLEGAL)
    expect(page.locator("#in-tensor_parallel-note")).to_contain_text("leaves")
    expect(field).to_be_focused()
    field.press_sequentially("x")
    expect(page.locator("h1")).to_have_text(re.compile("Cannot be calculated"))
    expect(field).to_have_value("7x")
    field.press("Backspace")
    expect(page.locator("h1")).to_have_text(ILLEGAL)
    page.locator("#complaints a", has_text="8").first.click()
    expect(page.locator("h1")).to_have_text(OVER)
    expect(page.locator("h1")).to_be_focused()
    expect(page.locator("#in-tensor_parallel")).to_have_value("8")


def test_folds_stay_open_and_flags_follow(visit: VisitMaker) -> None:
    page = visit().page("/calculator")
    page.locator("#mem-numbers > summary").click()
    page.locator("#memory-working > summary").click()
    page.locator("#in-recompute").select_option("full")
    expect(page.locator("#flags")).to_contain_text("--recompute-granularity full")
    assert page.locator("#mem-numbers").evaluate("(fold) => fold.open")
    assert page.locator("#memory-working").evaluate("(fold) => fold.open")


def test_what_would_help_helps(visit: VisitMaker) -> None:
    page = visit().page("/calculator")
    page.locator("#remedies tbody a").first.click()
    expect(page.locator("h1")).to_have_text(re.compile("Fits,"))
    page.get_by_role("link", name="Undo last change").click()
    expect(page.locator("h1")).to_have_text(OVER)


def test_without_javascript(visit: VisitMaker) -> None:
    page = visit(javascript=False).page("/calculator")
    page.get_by_role("button", name="Double tensor").click()
    expect(page).to_have_url(re.compile("tensor_parallel=16"))
    assert "of_model" not in page.url
    page.locator("#in-tensor_parallel").fill("7")
    page.get_by_role("button", name="Calculate").click()
    expect(page.locator("h1")).to_have_text(ILLEGAL)
    page.locator("#complaints a", has_text="8").first.click()
    expect(page.locator("#in-tensor_parallel")).to_have_value("8")
    page.locator("#in-num_layers").fill("48")
    page.locator("#in-num_layers").press("Enter")
    expect(page).to_have_url(re.compile("num_layers=48"))
    expect(page.locator("#in-tensor_parallel")).to_have_value("8")


def test_axe_finds_nothing_in_any_state(visit: VisitMaker) -> None:
    big = "model=gpt-1008b&num_nodes=384&tensor_parallel=8&pipeline_parallel=64&global_batch_size=3072"
    for dark, width, paths in (
        (False, 1280, ("/calculator?tensor_parallel=7", f"/calculator?{big}&recompute=full")),
        (True, 360, ("/calculator", "/styleguide")),
    ):
        learner = visit(dark=dark, width=width)
        for path in paths:
            page = learner.page(path)
            accessible(page)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
            page.close()


def test_every_stop_of_the_keyboard_is_seen(visit: VisitMaker) -> None:
    page = visit().page("/calculator")
    stops = 0
    for _ in range(150):
        page.keyboard.press("Tab")
        told = page.evaluate(
            """() => {
              const at = document.activeElement;
              if (at === document.body) return null;
              const box = (at.closest(".seg label") || at);
              const style = getComputedStyle(box), place = at.getBoundingClientRect();
              const seen = place.bottom > 0 && place.top < innerHeight;
              return [at.outerHTML.slice(0, 80), style.outlineStyle !== "none" && seen];
            }"""
        )
        if told is None:
            break
        stops += 1
        assert told[1], told[0]
    assert stops > 40
