"""A number's working opens below its paragraph and closes again; the keyboard stays at the number."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import VisitMaker
from tests.browser.test_pages import SIDEWAYS, accessibility

LESSON = "/courses/training/lessons/0010-degrees-in-order"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False)])
def test_the_working_of_a_number(visit: VisitMaker, width: int, dark: bool) -> None:
    page = visit(width=width, dark=dark).page(LESSON)
    number, note = page.locator(".prose a.calc").nth(1), page.locator(".number-note")
    name = number.get_attribute("id")
    for leave in ("Escape", "Close"):
        number.focus()
        page.keyboard.press("Enter")
        expect(note).to_have_count(1)
        assert page.evaluate("document.activeElement.id") == name
        assert page.evaluate(SIDEWAYS) <= 0
        assert accessibility(page) == ""
        if leave == "Escape":
            page.keyboard.press("Escape")
        else:
            note.get_by_role("link", name="Close").click()
        expect(note).to_have_count(0)
        assert page.evaluate("document.activeElement.id") == name
    page.goto(page.url.partition("/courses")[0] + str(number.get_attribute("href")))
    expect(page.locator("h1")).to_contain_text("comes about")
    assert page.evaluate(SIDEWAYS) <= 0
    assert accessibility(page) == ""


def test_two_numbers_of_a_paragraph_share_one_note(visit: VisitMaker) -> None:
    page = visit().page(LESSON)
    numbers, note = page.locator(".prose p:has(a.calc + a.calc) a.calc"), page.locator(".number-note")
    assert numbers.count() >= 2
    for place in (0, 1):
        numbers.nth(place).click()
        expect(note).to_have_count(1)
        expect(note).to_contain_text(numbers.nth(place).inner_text())
