"""A lesson as its writer sees it: the learner's page or the keys, and each problem beside its paragraph."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.curriculum.blocks import Item, ItemKind, Lesson, Problem, Widget
from app.curriculum.engine import Engine
from app.curriculum.generate import variant
from app.services.item_state import ItemState
from app.services.previewing import Counts, Fact, counted, key_facts, placed
from app.services.questions import question
from app.web.item_parts import ItemContext, ItemView
from app.web.item_views import item_view
from app.web.puzzles import lesson_widget, puzzle_widget

MAX_SEED = 1_000_000
MOST_SHOWN = 500  # problems on one page; a lesson has a few, a hostile text as many as it likes


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One block of the lesson and the problems beside it."""

    kind: str  # heading | item | prose | rep | widget
    line: int
    problems: Sequence[Problem]
    block: Any
    item: ItemView | None = None
    widget: Any = None
    facts: Sequence[Fact] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewView:
    """Everything that the macro `preview_lesson` shows."""

    path: str
    title: str
    headnote: Sequence[tuple[str, str]]
    objectives: Sequence[str]
    head_problems: Sequence[Problem]
    rows: Sequence[Row]
    closing_html: str
    counts: Counts
    not_shown: int  # problems beyond those beside the text
    keys: bool
    seed: int
    varied: bool  # whether any item has numbers that change with the seed
    num_items: int


def preview_view(
    lesson: Lesson, problems: Sequence[Problem], text: str, engine: Engine, *, keys: bool, seed: int
) -> PreviewView:
    """The view of a lesson with the numbers of this seed, as learner or with the keys shown."""
    head, blocks = placed(
        lesson, problems[:MOST_SHOWN], text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    )
    header = (
        ("Mission", lesson.mission_html),
        ("Primary source", lesson.source_html),
        ("Before this", lesson.prerequisites_html),
    )
    rows = []
    for one in blocks:
        block = one.block
        rows.append(
            Row(
                kind=one.kind,
                line=block.line,
                problems=one.problems,
                block=block,
                item=_item(block, engine, keys=keys, seed=seed) if isinstance(block, Item) else None,
                widget=lesson_widget(block, None, "", engine) if isinstance(block, Widget) else None,
                facts=key_facts(question(lesson, block, engine, seed))
                if keys and isinstance(block, Item)
                else (),
            )
        )
    return PreviewView(
        path=lesson.path,
        title=f"{lesson.number}. {lesson.title}" if lesson.number else lesson.title,
        headnote=[(term, html) for term, html in header if html],
        objectives=lesson.objectives,
        head_problems=head,
        rows=rows,
        closing_html=lesson.closing_html,
        counts=counted(problems),
        not_shown=max(0, len(problems) - MOST_SHOWN),
        keys=keys,
        seed=seed,
        varied=any(item.vary for item in lesson.items),
        num_items=len(lesson.items),
    )


def _item(item: Item, engine: Engine, *, keys: bool, seed: int) -> ItemView:
    shown = variant(item, seed)
    puzzle = puzzle_widget(shown, {}, None, "", engine) if item.kind is ItemKind.CALCULATOR else None
    state = ItemState(seed=seed, hints_open=len(item.hints))
    view = item_view(shown, state, ItemContext(lesson_url="", checks_open=keys, puzzle=puzzle))
    if not keys:
        return view
    reasons = {option.letter: option.feedback_html for option in shown.options}
    options = [replace(option, say_html=reasons.get(option.letter, "")) for option in view.options]
    return replace(view, options=tuple(options))


def seed_of(text: str) -> int:
    """The seed that was asked for; 0 when it is no whole number."""
    return int(text) % MAX_SEED if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
