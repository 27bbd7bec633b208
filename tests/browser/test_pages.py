"""Every page in a real browser: axe finds nothing, nothing scrolls sideways, no message, no foreign host."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import VisitMaker

PAGES = [
    "/",
    "/courses",
    "/courses/training",
    "/courses/training/lessons/0010-degrees-in-order",
    "/courses/training/lessons/0013-all-three",
    "/courses/serving/lessons/0006-two-nodes-and-a-decision",
    "/courses/training/glossary",
    "/calculator",
    "/calculator?tensor_parallel=7",
    "/calculator/schedule",
    "/published",
    "/published?of=memory&sort=-off",
    "/published/deepseek_v3_isca25",
    "/method",
    "/progress",
    "/reports",
    "/api/docs",
    "/nowhere",
]
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def accessibility(page: Page) -> str:
    """What axe finds, in words; empty when it finds nothing."""
    results = Axe().run(page)
    return results.generate_report() if results.violations_count else ""


@pytest.mark.parametrize("path", PAGES)
def test_page(visit: VisitMaker, path: str) -> None:
    expected = 404 if path == "/nowhere" else 200
    for width, dark in ((1280, False), (1280, True), (360, False)):
        learner = visit(width=width, dark=dark)
        page = learner.page(path)
        assert page.title().endswith("Meshwright")
        assert page.locator("h1").count() == 1
        assert page.evaluate(SIDEWAYS) <= 0, f"{path} scrolls sideways at {width} px"
        assert accessibility(page) == ""
        if expected == 404:
            # The browser itself notes a 404 on the console.
            learner.messages = [message for message in learner.messages if "404" not in message]


def test_narrowest_phone(visit: VisitMaker) -> None:
    """WCAG 2.2, 1.4.10: no loss at 320 px."""
    for path in PAGES[:-1]:
        page = visit(width=320).page(path)
        assert page.evaluate(SIDEWAYS) <= 0, f"{path} scrolls sideways at 320 px"
        page.close()
