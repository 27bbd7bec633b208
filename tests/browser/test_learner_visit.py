"""One learner's whole visit, with JavaScript and without, and by keyboard only; the server restarts in it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server, VisitMaker

LESSON = "/courses/training/lessons/0013-all-three"


def item(page: Page, name: str) -> Locator:
    """The item with this id."""
    return page.locator(f"#q-{name}")


def choose(page: Page, name: str, letter: str, sure: str = "think") -> None:
    """Choose an option, say how sure, send."""
    question = item(page, name)
    question.locator(f'input[name="option"][value="{letter}"]').check()
    # The radio lies under its label, as a segment does.
    question.locator(f'label:has(input[name="confidence"][value="{sure}"])').click()
    question.locator(f"#q-{name}-submit").click()


def set_knob(page: Page, name: str, value: str) -> None:
    """Type a value into a stepper of the puzzle and let it recompute."""
    box = page.locator(f"#puzzle-three-axes-{name}")
    box.fill(value)
    box.press("Enter")


@pytest.mark.parametrize("javascript", [True, False], ids=["htmx", "plain forms"])
def test_visit(visit: VisitMaker, server: Server, javascript: bool) -> None:
    learner = visit(javascript=javascript)
    page = learner.page("/")
    page.get_by_role("link", name="Courses").click()
    page.get_by_role("link", name=re.compile("Training")).first.click()
    page.get_by_role("link", name=re.compile("All Three")).first.click()
    expect(page.locator("h1")).to_contain_text("All Three")

    # Warm-up: the check opens only after an attempt.
    warm = item(page, "recall-flush")
    assert "every sample of a batch meets the same weights" not in warm.inner_text()
    warm.locator("textarea").fill("Equal weights for all; idle time at both ends.")
    warm.locator("#q-recall-flush-submit").click()
    expect(item(page, "recall-flush")).to_contain_text("every sample of a batch meets the same weights")
    expect(item(page, "recall-flush")).to_contain_text("Equal weights for all; idle time at both ends.")

    # A hint, then a wrong answer with a reason that does not give the key away, then the right one.
    item(page, "double-the-replicas").locator("#q-double-the-replicas-hint").click()
    hints = item(page, "double-the-replicas").locator(".hints")
    expect(hints).to_contain_text("Which of the four numbers were kept")
    choose(page, "double-the-replicas", "a", "sure")
    expect(item(page, "double-the-replicas")).to_contain_text("Your answer, and you were sure")
    expect(item(page, "double-the-replicas")).to_contain_text("not yet")
    choose(page, "double-the-replicas", "b")
    expect(item(page, "double-the-replicas")).to_contain_text("right")

    # A number: first one that cannot be read, which costs nothing and is kept; then a wrong unit of thought.
    number = item(page, "bubble-of-the-run")
    number.locator("#q-bubble-of-the-run-value").fill("about eleven")
    number.locator("#q-bubble-of-the-run-submit").click()
    expect(item(page, "bubble-of-the-run").locator("#q-bubble-of-the-run-value")).to_have_value(
        "about eleven"
    )

    # The widget answers a change.
    widget = page.locator("#w-widget-1")
    before = widget.locator(".verdict").inner_text()
    page.locator("#w-widget-1-tensor_parallel").fill("4")
    page.locator("#w-widget-1-tensor_parallel").press("Enter")
    expect(page.locator("#w-widget-1 .verdict")).not_to_have_text(before)
    expect(page.locator("#w-widget-1-tensor_parallel")).to_have_value("4")

    # The puzzle: the preset fails, a layout that meets every requirement passes.
    expect(page.locator("#puzzle-three-axes .verdict")).to_contain_text("Does not fit")
    set_knob(page, "pipeline_parallel", "4")
    expect(page.locator("#puzzle-three-axes-pipeline_parallel")).to_have_value("4")
    set_knob(page, "data_parallel", "8")
    expect(page.locator("#puzzle-three-axes-data_parallel")).to_have_value("8")
    page.locator('#puzzle-three-axes label:has(input[name="zero_stage"][value="1"])').click()
    if javascript:
        expect(page.locator("#puzzle-three-axes .verdict")).not_to_contain_text("Does not fit")
    page.locator("#q-three-axes-submit").click()
    expect(item(page, "three-axes")).to_contain_text("right")

    # A rep and a report.
    rep = page.locator(".reps li").first
    rep.locator("input[type=checkbox]").check()
    if not javascript:
        rep.locator("button").first.click()
    expect(page.locator(".reps li").first.locator("input[type=checkbox]")).to_be_checked()
    item(page, "double-the-replicas").locator("a.unclear").click()
    form = page.locator("form.report-form")
    expect(form).to_contain_text("This will be sent")
    form.locator('input[name="reason"][value="wording"]').check()
    form.locator("textarea").fill("What does «on one GPU» mean here?")
    form.get_by_role("button", name="Send the report").click()
    expect(page.locator(".report-sent")).to_contain_text("Your report is sent.")

    page.goto(server.url + "/reports")
    expect(page.locator("main")).to_contain_text("What does «on one GPU» mean here?")
    # The browser itself notes a 422 on the console.
    learner.messages = [message for message in learner.messages if "422" not in message]

    # Reload, another tab, a restart of the server: all still there.
    server.stop()
    server.start()
    page.close()
    page = learner.page(LESSON)
    expect(item(page, "recall-flush")).to_contain_text("Equal weights for all; idle time at both ends.")
    expect(item(page, "double-the-replicas")).to_contain_text("right")
    expect(item(page, "three-axes")).to_contain_text("right")
    expect(page.locator(".reps li").first.locator("input[type=checkbox]")).to_be_checked()
    page.goto(server.url + "/progress")
    expect(page.locator("main")).to_contain_text("All Three")
    page.goto(server.url + "/reports")
    expect(page.locator("main")).to_contain_text("What does «on one GPU» mean here?")


def test_another_learner_sees_nothing_of_it(visit: VisitMaker) -> None:
    page = visit().page("/reports")
    assert "on one GPU" not in page.inner_text("main")


def test_keyboard_only(visit: VisitMaker) -> None:
    """Tab to an option, choose with the arrows, send with Enter; focus stays in the item and is visible."""
    page = visit().page(LESSON)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    first = "#q-double-the-replicas-a"
    for _ in range(400):
        page.keyboard.press("Tab")
        here = page.evaluate("document.activeElement.id")
        outline = page.evaluate(
            """() => { const element = document.activeElement;
                 const seen = getComputedStyle(element).outlineStyle !== 'none';
                 const label = element.closest('label');
                 return seen || (label !== null && getComputedStyle(label).outlineStyle !== 'none') }"""
        )
        assert outline, f"no visible focus on {page.evaluate('document.activeElement.outerHTML')[:200]}"
        if "#" + here == first:
            break
    expect(page.locator(first)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#q-double-the-replicas-b")).to_be_checked()
    page.keyboard.press("Enter")
    expect(item(page, "double-the-replicas")).to_contain_text("right")
    inside = "document.activeElement.closest('#q-double-the-replicas') !== null"
    assert page.evaluate(inside), "the focus left the item after the answer came"


def test_back_undoes_a_decision(visit: VisitMaker) -> None:
    page = visit().page("/calculator")
    box = page.locator("#tensor_parallel, [name=tensor_parallel]").first
    start = box.input_value()
    page.get_by_role("button", name=re.compile("Halve tensor", re.IGNORECASE)).first.click()
    expect(page.locator("[name=tensor_parallel]").first).not_to_have_value(start)
    assert "tensor_parallel=" in page.url
    page.go_back()
    expect(page.locator("[name=tensor_parallel]").first).to_have_value(start)


def test_print_opens_the_checks(visit: VisitMaker) -> None:
    page = visit().page(LESSON)
    page.emulate_media(media="print")
    assert page.locator("header.top").is_hidden()
