"""Live items: every action of an item is one form; htmx gets the item back, a plain browser its page."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from app.curriculum.blocks import Item, ItemKind
from app.curriculum.keys import is_named
from app.services.learning import MAX_SEED, Outcome, Submission, act_on_item
from app.web.dependencies import Form, FormDep, Here, HereDep, QueryDep
from app.web.item_parts import anchor_of
from app.web.learner import remember
from app.web.lesson_page import item_fragment, lesson_page
from app.web.rendering import wants_fragment

router = APIRouter(include_in_schema=False)

CONFIDENCES = {"guess", "think", "sure"}
ACTIONS = {"answer", "show", "hint", "numbers", "score"}
MOST_CONTROLS = 40
NOT_TYPED = {"action", "seed", "do", "confidence"}


@router.post("/courses/{course}/lessons/{slug}/items/{item_id:path}")
def act(request: Request, here: HereDep, item_id: str, form: FormDep) -> Response:
    """Answer, ask for a hint or the check, score yourself, or take new numbers."""
    item = here.house.item(here.course, here.slug, item_id)
    outcome = act_on_item(
        here.house, here.token, here.course, here.slug, item_id=item_id, submission=submission(item, form)
    )
    response = _answer(request, here, item, outcome)
    remember(request, response, outcome.token)
    return response


@router.get("/courses/{course}/lessons/{slug}/items/{item_id:path}")
def look(request: Request, here: HereDep, item_id: str, query: QueryDep) -> Response:
    """A puzzle with other values in its controls: nothing is stored. Also where a POST's address leads."""
    item = here.house.item(here.course, here.slug, item_id)
    if item.kind is not ItemKind.CALCULATOR:
        return RedirectResponse(f"{here.url}#{anchor_of(item_id)}", 303)
    if wants_fragment(request):
        return item_fragment(request, here, item_id, tried=query)
    return lesson_page(request, here, tried={item_id: query})


def submission(item: Item, form: Form) -> Submission:
    """What was sent, as the item's kind reads it."""
    action, _, score = form.one("action", "answer").partition(".")
    confidence = form.one("confidence")
    points = {int(index) for index in form.all("point") if index.isdecimal() and len(index) < 4}
    return Submission(
        action=action if action in ACTIONS else "answer",
        answer=typed_answer(item, form),
        score=score,
        points=tuple(sorted(points)),
        confidence=confidence if confidence in CONFIDENCES else "",
        seed=_seed(form.one("seed")),
    )


def typed_answer(item: Item, form: Form) -> dict[str, object]:
    """The answer as it was typed, in the shape that is stored, without fields the item does not have."""
    letters = {option.letter for option in item.options}
    if item.kind is ItemKind.CALCULATOR:
        kept = {name: values[-1] for name, values in form.fields.items() if name not in NOT_TYPED}
        return {"layout": dict(list(kept.items())[:MOST_CONTROLS])}
    if item.kind is ItemKind.ORDERING:
        sent = form.starting("place.")
        places = {letter: sent[letter] for letter in sent if letter in letters and sent[letter].strip()}
        order = sorted(places, key=lambda letter: (len(places[letter]), places[letter], letter))
        return {"places": places, "order": order}
    if item.kind in (ItemKind.OPEN, ItemKind.RUBRIC):
        return {"text": form.one("text")}
    if item.options:
        return {"options": [letter for letter in dict.fromkeys(form.all("option")) if letter in letters]}
    if is_named(item.answer):
        values = form.starting("value.")
        return {"values": {str(name): values.get(str(name), "") for name in item.answer}}
    return {"value": form.one("value")}


def _seed(text: str) -> int:
    return int(text) % MAX_SEED if text.isdecimal() and len(text) <= 9 else 0


def _answer(request: Request, here: Here, item: Item, outcome: Outcome) -> Response:
    status = 422 if outcome.problem else 200
    here = here.known_as(outcome.token)
    if wants_fragment(request):
        return item_fragment(request, here, item.id, outcome=outcome, status=status)
    if outcome.problem:
        return lesson_page(request, here, outcome=outcome, status=status)
    return RedirectResponse(f"{here.url}#{anchor_of(item.id)}", 303)
