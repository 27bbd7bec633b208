"""An item as the page shows it: question, what was answered, what is open, what to do next."""

from urllib.parse import quote

from app.curriculum.blocks import Item, ItemKind
from app.services.item_state import ItemState, check_is_open, is_self_scored
from app.web import item_answers as answers
from app.web import item_words as words
from app.web.item_parts import ItemContext, ItemView, anchor_of, shape_of


def item_view(item: Item, state: ItemState, context: ItemContext) -> ItemView:
    """The view of an item; `item` has this learner's numbers in it."""
    opened = context.checks_open or check_is_open(item, state)
    typed = context.typed if context.typed is not None else state.typed
    shape = shape_of(item)
    graded = not is_self_scored(item)
    done = opened and (graded or item.kind is ItemKind.PREDICT) and shape != "puzzle"
    anchor = anchor_of(item.id)
    return ItemView(
        item=item,
        state=state,
        anchor=anchor,
        url=f"{context.lesson_url}/items/{quote(item.id)}",
        lesson_url=context.lesson_url,
        report_url=f"/reports/new?lesson={context.lesson_url.removeprefix('/courses/')}&at={quote(anchor)}",
        reported=context.reported,
        number=item.number,
        name=f"{item.section} {item.number}",
        label=words.label(item),
        kind=item.kind.value,
        shape=shape,
        submit=words.submit_label(item, state),
        submit_shown=not (done or (shape == "text" and state.answer is not None)),
        submit_first=(item.kind is not ItemKind.OPEN and graded) or item.kind is ItemKind.PREDICT,
        show_label="" if opened else words.show_label(item, state),
        can_vary=bool(item.vary) and state.touched,
        badge=words.badge(item, state),
        tell=words.tell(item, state, context, shape),
        problem=context.problem,
        problem_lead=context.problem_lead,
        options=answers.options(item, state, typed, context, done=done),
        fields=answers.fields(item, typed),
        expects=words.expects(item) if shape == "fields" else "",
        text=str(typed.get("text", "")) if _editing(state, context) else "",
        answered_text=str(state.answer.answer.get("text", "")) if state.answer else "",
        older_text=words.older_text(state),
        ask_confidence=not done and (item.kind is ItemKind.PREDICT or (item.kind is ItemKind.MCQ and graded)),
        confidence=context.confidence or state.confidence,
        hints=tuple(fold.html for fold in item.hints[: state.hints_open]),
        hints_total=len(item.hints),
        next_hint=0 if opened else _next_hint(item, state),
        check_open=opened,
        check_label=words.check_label(item),
        key=context.key if opened else "",
        checks=_checks(item, state, reasons_shown=done) if opened else (),
        ask_score=opened and not graded and not item.rubric and state.answer is not None,
        score=state.score.verdict if state.score else "",
        points=answers.points(item, state) if state.answer is not None else (),
        score_words=answers.score_words(item, state),
        puzzle=context.puzzle,
        say=words.say_aloud(item, state, context),
    )


def _checks(item: Item, state: ItemState, *, reasons_shown: bool) -> tuple[str, ...]:
    """The Check without what stands in its own place: reasons on their options, points to be ticked.

    A rubric's model answer waits until the learner has scored their own, or asks for it.
    """
    scoring = bool(item.rubric) and state.answer is not None
    if scoring and state.score is None and not state.shown:
        return ()
    apart = scoring or (reasons_shown and bool(item.options))
    return tuple(html for fold in item.checks if (html := fold.rest_html if apart else fold.html))


def _editing(state: ItemState, context: ItemContext) -> bool:
    """Whether the box holds a draft: nothing answered yet, a refused text, or one typed since."""
    return state.answer is None or context.typed is not None or state.typed != state.answer.answer


def _next_hint(item: Item, state: ItemState) -> int:
    return state.hints_open + 1 if state.hints_open < len(item.hints) else 0
