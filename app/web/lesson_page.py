"""The lesson page, whole or one item of it: what learner, lesson and engine say, put into views."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from app.curriculum.blocks import Item, ItemKind, Widget
from app.curriculum.generate import variant
from app.curriculum.grading_numeric import key_words
from app.services.courses import place_of
from app.services.feedback import feedback_on
from app.services.house import House
from app.services.item_state import ItemState, check_is_open, is_self_scored
from app.services.learning import Outcome, Visit, open_lesson
from app.web.dependencies import Form, Here
from app.web.item_parts import ItemContext, ItemView, anchor_of
from app.web.item_views import item_view
from app.web.learner import PRIVATE
from app.web.lesson_contents import contents_view
from app.web.lesson_sections import lesson_url
from app.web.lesson_views import lesson_view
from app.web.puzzles import lesson_widget, puzzle_widget
from app.web.rendering import render, render_to_string

TEMPLATE = "pages/lesson.html"
WITH_A_NUMBER = (ItemKind.NUMERIC, ItemKind.PREDICT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """What is needed to make the views inside a lesson."""

    house: House
    visit: Visit
    outcome: Outcome | None = None  # of the item that was just acted on
    tried: Mapping[str, Form] = field(default_factory=dict)  # controls of puzzles and widgets, by id
    checks_open: bool = False

    def item(self, item: Item) -> ItemView:
        """The view of one item, with this learner's numbers."""
        outcome = self.outcome if self.outcome and self.outcome.item.id == item.id else None
        state = outcome.state if outcome else self.visit.state(item)
        shown = variant(item, state.seed)
        return item_view(shown, state, self._context(item, shown, state, outcome))

    def widget(self, widget: Widget) -> Any:
        """The view of a live figure."""
        url = f"{lesson_url(self.visit.lesson)}/widgets/{widget.id}"
        return lesson_widget(widget, self.tried.get(widget.id), url, self.house.engine)

    def _context(self, item: Item, shown: Item, state: ItemState, outcome: Outcome | None) -> ItemContext:
        url = lesson_url(self.visit.lesson)
        puzzle = None
        if item.kind is ItemKind.CALCULATOR:
            puzzle = puzzle_widget(
                shown, state.typed, self.tried.get(item.id), f"{url}/items/{item.id}", self.house.engine
            )
        feedback, problem, lead = None, outcome.problem if outcome else "", "Not sent yet."
        if state.misread and not problem:
            misread = feedback_on(item, state.typed, state.seed, self.house.engine)
            problem, lead = misread.text, "Not understood."
        elif state.answer is not None and not is_self_scored(item):
            feedback = feedback_on(item, state.answer.answer, state.seed, self.house.engine)
        return ItemContext(
            lesson_url=url,
            reported=anchor_of(item.id) in self.visit.reported,
            checks_open=self.checks_open,
            feedback=feedback,
            problem=problem,
            problem_lead=lead,
            typed=outcome.typed if outcome else None,
            confidence=outcome.confidence if outcome else "",
            action=outcome.action if outcome else "",
            puzzle=puzzle,
            key=self._key(item, state) if item.kind in WITH_A_NUMBER and not item.options else "",
        )

    def _key(self, item: Item, state: ItemState) -> str:
        opened = self.checks_open or check_is_open(item, state)
        return key_words(item, state.seed, self.house.engine) if opened else ""


def lesson_page(
    request: Request,
    here: Here,
    *,
    outcome: Outcome | None = None,
    tried: Mapping[str, Form] | None = None,
    status: int = 200,
) -> Response:
    """The whole page. Raises UnknownPlaceError."""
    visit = open_lesson(here.house, here.token, here.course, here.slug)
    making = Making(
        house=here.house,
        visit=visit,
        outcome=outcome,
        tried=tried or {},
        checks_open=request.query_params.get("checks") == "open",
    )
    place = place_of(here.house, visit.lesson)
    view = lesson_view(visit, place, item=making.item, widget=making.widget, now=datetime.now(UTC))
    return render(request, TEMPLATE, {"page": view}, status_code=status, headers=PRIVATE)


def item_fragment(
    request: Request,
    here: Here,
    item_id: str,
    *,
    outcome: Outcome | None = None,
    tried: Form | None = None,
    status: int = 200,
) -> Response:
    """One item, as htmx swaps it, and the contents column as it stands then. Raises UnknownPlaceError."""
    visit = open_lesson(here.house, here.token, here.course, here.slug)
    known = {} if tried is None else {item_id: tried}
    making = Making(house=here.house, visit=visit, outcome=outcome, tried=known)
    view = making.item(here.house.item(here.course, here.slug, item_id))
    body = render_to_string(request, TEMPLATE, {"v": view}, block="item")
    if outcome is not None:
        contents = contents_view(visit, swapped=True)
        body += render_to_string(request, TEMPLATE, {"contents": contents}, block="contents")
    return HTMLResponse(body, status_code=status, headers={"Vary": "HX-Request", **PRIVATE})


def widget_fragment(request: Request, here: Here, widget_id: str, tried: Form) -> Response:
    """One live figure, as htmx swaps it. Raises UnknownPlaceError."""
    lesson = here.house.lesson(here.course, here.slug)
    making = Making(house=here.house, visit=Visit(lesson=lesson), tried={widget_id: tried})
    widget = making.widget(here.house.widget(here.course, here.slug, widget_id))
    return render(request, TEMPLATE, {"w": widget}, block="widget")
