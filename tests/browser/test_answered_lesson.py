"""A lesson with answers in it: everything revealed is accessible, fits a phone, and can be printed."""

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import VisitMaker
from tests.browser.test_pages import SIDEWAYS, accessibility

LESSON = "/courses/serving/lessons/0006-two-nodes-and-a-decision"
TYPED = "Divides, & <script>alert(1)</script> \N{GRINNING FACE}\n\nthird line"


def answer(article: Locator) -> None:
    """Something into every kind of item: a choice, a text, numbers, places, a layout."""
    name = article.get_attribute("id")
    options = article.locator('input[name="option"]')
    if options.count():
        options.nth(1).check()
    elif article.locator("textarea").count():
        article.locator("textarea").fill(TYPED)
    elif article.locator("select").count():
        for place in range(article.locator("select").count()):
            article.locator("select").nth(place).select_option(str(place + 1))
    elif not article.locator(".widget").count():
        for box in article.locator(".answer input").all():
            box.fill("3")
    article.locator(f"#{name}-submit").click()
    expect(article.locator(".badge, .check")).not_to_have_count(0)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_answered_lesson(visit: VisitMaker, dark: bool) -> None:
    learner = visit(dark=dark)
    page = learner.page(LESSON)
    names = page.eval_on_selector_all("article.item", "all => all.map((one) => one.id)")
    assert len(names) == 18
    for name in names:
        answer(page.locator(f"#{name}"))
    shown = page.locator("#q-cache-tokens #q-cache-tokens-show")
    shown.click()
    expect(page.locator("#q-cache-tokens .key-value")).to_contain_text("tokens")
    expect(page.locator("#q-after-the-slices .wrote")).to_contain_text("<script>alert(1)</script>")
    assert accessibility(page) == ""
    page.set_viewport_size({"width": 320, "height": 800})
    page.reload()
    assert page.evaluate(SIDEWAYS) <= 0
    assert accessibility(page) == ""
    expect(page.locator("#q-after-the-slices .wrote")).to_contain_text("third line")
    page.emulate_media(media="print")
    assert page.locator(".hint-next:visible, .finish:visible").count() == 0
    page.emulate_media(media="screen", forced_colors="active")
    expect(page.locator("#q-one-fast-server .badge")).to_be_visible()


def test_images_keep_their_room(visit: VisitMaker) -> None:
    """Nothing moves when a picture arrives: every one says how large it is."""
    page = visit().page(LESSON)
    sizes = page.eval_on_selector_all("main img", "all => all.map((one) => [one.width, one.height])")
    assert len(sizes) == 3
    assert all(width > 0 and height > 0 for width, height in sizes)
    missing = page.eval_on_selector_all("main img:not([width][height])", "all => all.length")
    assert missing == 0


def test_without_script_a_refused_form_comes_back_where_it_was(visit: VisitMaker) -> None:
    learner = visit(javascript=False)
    page = learner.page(LESSON)
    page.locator("#q-procedure-order-a").select_option("1")
    page.locator("#q-procedure-order-submit").click()
    expect(page.locator("#q-procedure-order-problem")).to_be_in_viewport()
    expect(page.locator("#q-procedure-order-a")).to_have_value("1")
    # The browser itself notes a 422 on the console.
    learner.messages = [message for message in learner.messages if "422" not in message]
