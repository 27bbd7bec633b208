"""From the pieces of an item, gathered by the parser, to an Item with its key, hints, checks and reasons."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from markdown_it.token import Token

from app.curriculum.annotate import plain_text
from app.curriculum.blocks import Fold, Item, ItemKind, Option
from app.curriculum.choices import (
    Render,
    is_points,
    is_reasons,
    read_key,
    read_options,
    read_reasons,
    read_rubric,
    with_reasons,
)
from app.curriculum.extensions import (
    ITEM_FIELDS,
    ITEM_ID,
    Fields,
    expect,
    read_fields,
    read_kind,
    read_numeric,
    read_puzzle,
)
from app.curriculum.generate import variables_of
from app.curriculum.keys import UnusableKeyError, is_named, key_of
from app.curriculum.lettered_lines import split_options
from app.curriculum.page import Page
from app.curriculum.text import collapse, digest, letter_list, lettered_choices, slugify
from app.curriculum.tree import Node, blocks

_NEEDS_NO_CHECK = {ItemKind.NUMERIC, ItemKind.CALCULATOR, ItemKind.PREDICT, ItemKind.ORDERING}


@dataclass(slots=True)
class PlacedFold:
    """A Hint or Check as it stands in the file."""

    tokens: list[Token]
    line: int
    key_line: int


@dataclass(slots=True)
class Draft:
    """An item while its pieces are being found."""

    section: str
    number: int
    written: int
    line: int
    marker: bool
    prompt: list[Token] = field(default_factory=list)
    options: list[tuple[str, Node]] = field(default_factory=list)
    option_tokens: list[Token] = field(
        default_factory=list
    )  # as they stand, should they turn out not to be options
    hints: list[PlacedFold] = field(default_factory=list)
    checks: list[PlacedFold] = field(default_factory=list)
    comment: tuple[str, int] | None = None

    @property
    def has_folds(self) -> bool:
        """Whether a Hint or Check was found."""
        return bool(self.hints or self.checks)


def build_item(draft: Draft, page: Page, render: Render) -> tuple[Item, bool]:
    """The item that the pieces make, and whether its id was given.

    What is wrong is reported and leaves it ungraded.
    """
    fields = _fields(draft, page)
    kind = read_kind(fields, page)
    if not fields.readable:
        kind = ItemKind.OPEN
    if draft.options and kind in (None, ItemKind.MCQ) and _letters_clash(draft, page):
        kind, fields.sound = ItemKind.OPEN, False
    if not draft.options and kind in (None, ItemKind.MCQ, ItemKind.ORDERING, ItemKind.PREDICT):
        _take_lettered_lines(draft, page, asked=kind is not None)
    chosen = kind in (None, ItemKind.MCQ, ItemKind.ORDERING, ItemKind.PREDICT)
    options = read_options(draft.options, render) if draft.options and chosen else ()
    if kind is None:
        kind = ItemKind.MCQ if options else ItemKind.OPEN
    extra, graded = _by_kind(kind, fields, options, draft, page, render=render)
    if kind in (ItemKind.NUMERIC, ItemKind.CALCULATOR) and not fields.sound:
        kind = ItemKind.OPEN  # what cannot be graded is asked all the same
    prompt = list(draft.prompt) + ([] if options else draft.option_tokens)
    text = collapse(plain_text(prompt))
    item_id = _item_id(fields, draft, text, page)
    _check_folds(draft, kind, text, page)
    item = Item(
        id=item_id,
        section=draft.section,
        number=draft.number,
        number_written=draft.written,
        kind=kind,
        prompt_html=render(prompt),
        prompt_text=text,
        line=draft.line,
        graded=graded and fields.sound,
        marker=draft.marker,
        code_in_prompt=tuple(
            t.info.strip().split()[0] for t in prompt if t.type == "fence" and t.info.strip()
        ),
        hints=tuple(_fold(fold, render, {}) for fold in draft.hints),
        checks=tuple(_fold(fold, render, extra) for fold in draft.checks),
        skill=fields.text("skill"),
        origin=fields.text("from"),
        content_hash=_content_hash(kind, text, options, extra, fields),
        **extra,
    )
    return _checked_key(item, fields, page), item_id == fields.text("id")


def _take_lettered_lines(draft: Draft, page: Page, *, asked: bool) -> None:
    """Lines "a) …" of the prompt as options, if the Check names one of them or the comment says so."""
    found = split_options(draft.prompt)
    if found is None:
        return
    rest, options = found
    key = read_key(draft.checks[0].tokens) if draft.checks else ()
    letters = [letter for letter, _ in options]
    if asked or (key and all(letter in letters for letter in key)):
        line = options[0][1].tokens[0].meta.get("line") or draft.line
        message = "options are lines of text: write them as bullets - a) …, indented by 4 spaces"
        page.report.add("MC004", line, message, fix="    - a) …")
        draft.prompt, draft.options = rest, options


def _checked_key(item: Item, fields: Fields, page: Page) -> Item:
    """An item whose key the engine does not know is an open question."""
    if page.context.engine is None or not item.graded or item.answer is None:
        return item
    parts = item.answer.values() if is_named(item.answer) else [item.answer]
    for part in parts:
        try:
            key_of(part, variables_of(item, 0), item.unit, page.context.engine)
        except UnusableKeyError as problem:
            code = "CA001" if isinstance(part, Mapping) else "NU003"
            page.report.add(code, fields.line, f"the key has no value: {problem}")
            return replace(item, kind=ItemKind.OPEN, graded=False)
    return item


def _fields(draft: Draft, page: Page) -> Fields:
    if draft.comment is None:
        return Fields(draft.line)
    return read_fields(draft.comment[0], draft.comment[1], ITEM_FIELDS, page)


def _letters_clash(draft: Draft, page: Page) -> bool:
    letters = [letter for letter, _ in draft.options]
    twice = sorted({letter for letter in letters if letters.count(letter) > 1})
    if twice:
        page.report.add(
            "MC003",
            page.line(draft.options[0][1].start),
            f"the option letter {', '.join(twice)} stands twice",
        )
    return bool(twice)


def _by_kind(
    kind: ItemKind, fields: Fields, options: tuple[Option, ...], draft: Draft, page: Page, *, render: Render
) -> tuple[dict[str, Any], bool]:
    """The fields that only this kind has, and whether it can be graded."""
    check = [token for fold in draft.checks for token in fold.tokens]
    if kind is ItemKind.MCQ or (kind is ItemKind.PREDICT and options):
        return _choice(fields, draft, options, page, render)
    if kind in (ItemKind.NUMERIC, ItemKind.PREDICT):
        return read_numeric(fields, page), True
    if kind is ItemKind.CALCULATOR:
        return read_puzzle(fields, page), True
    if kind is ItemKind.ORDERING:
        return _ordering(fields, options, page)
    if kind is ItemKind.RUBRIC:
        points, weak = read_rubric(check, render)
        needed = expect(fields, "pass", int, page) or 0
        most = sum(point.points for point in points)
        if not points or needed > most:
            why = (
                f"it takes {needed} points to pass, but there are {most}"
                if points
                else "the Check has no points"
            )
            page.report.add("RU001", fields.line, f"{why}; write them as bullets - (2) text in the Check")
            fields.sound = False
        return {"rubric": points, "pass_points": needed, "weak_html": weak}, False
    return {"vary": read_numeric_vary(fields, page)}, False


def read_numeric_vary(fields: Fields, page: Page) -> dict[str, tuple[Any, ...]]:
    """`vary` of an item without a numeric key."""
    given = expect(fields, "vary", dict, page) or {}
    return {str(name): tuple(values) for name, values in given.items() if isinstance(values, list) and values}


def _choice(
    fields: Fields, draft: Draft, options: tuple[Option, ...], page: Page, render: Render
) -> tuple[dict[str, Any], bool]:
    letters = [option.letter for option in options]
    check = draft.checks[0] if draft.checks else None
    key = read_key(check.tokens) if check else ()
    problem = ""
    if not options:
        problem = "the item has no options; write them as bullets - a) …"
    elif check is not None and not key:
        problem = "the Check names no option; begin it with the right letters in bold: **b)**"
    elif len(key) > 2 and sorted(key) == sorted(letters) and list(key) != sorted(key):
        problem = f"the Check puts all options in an order; if that is asked, write order: [{', '.join(key)}]"
    elif unknown := [letter for letter in key if letter not in letters]:
        problem = f"the Check says {', '.join(unknown)}, but the options are {', '.join(letters)}"
    if problem:
        page.report.add("MC002", check.key_line if check else draft.line, problem)
        key = ()
    misconceptions = {
        str(k).lower(): str(v) for k, v in (expect(fields, "misconceptions", dict, page) or {}).items()
    }
    for letter in set(misconceptions) - set(letters):
        page.report.add(
            "EX006", fields.line, f"misconceptions names {letter}, but the options are {', '.join(letters)}"
        )
    tokens = [token for fold in draft.checks for token in fold.tokens]
    options = with_reasons(options, read_reasons(tokens, letters, render), misconceptions)
    extra = {
        "options": options,
        "correct": tuple(sorted(key)),
        "multiple": len(key) > 1,
        "shuffle": bool(expect(fields, "shuffle", bool, page)),
        "vary": read_numeric_vary(fields, page),
    }
    return extra, bool(key)


def _ordering(fields: Fields, options: tuple[Option, ...], page: Page) -> tuple[dict[str, Any], bool]:
    given = expect(fields, "order", list, page) or []
    if len(given) == 1:  # order: b, a
        given = re.split(r"[\s,>→-]+", str(given[0]).strip())
    order = tuple(str(letter).lower().strip("().") for letter in given)
    letters = sorted(option.letter for option in options)
    sound = bool(order) and sorted(order) == letters
    if not sound:
        said, there = ", ".join(order) or "nothing", ", ".join(letters) or "missing"
        page.report.add("OR001", fields.line, f"order lists {said}, but the options are {there}")
    return {"options": options, "order": order}, sound


def _item_id(fields: Fields, draft: Draft, text: str, page: Page) -> str:
    named = fields.text("id")
    if named and not ITEM_ID.fullmatch(named):
        page.report.add(
            "EX006",
            fields.line,
            f"the id {named!r} may hold letters, digits, hyphens, dots and underscores only",
        )
        named = ""
    return named or f"{slugify(draft.section) or 'item'}-{digest(text.casefold(), 8)}"


def _content_hash(
    kind: ItemKind, text: str, options: Sequence[Option], extra: dict[str, Any], fields: Fields
) -> str:
    keys = {name: value for name, value in fields.values.items() if name not in ("id", "skill", "from")}
    return digest([kind, text, [[o.letter, o.text] for o in options], extra.get("correct", ()), keys])


def _check_folds(draft: Draft, kind: ItemKind, text: str, page: Page) -> None:
    if not draft.checks and kind not in _NEEDS_NO_CHECK:
        page.report.add("IT001", draft.line, "item has no Check block: the learner cannot grade it")
    if draft.checks:
        last = max(fold.line for fold in draft.checks)
        for hint in draft.hints:
            if hint.line > last:
                page.report.add("IT005", hint.line, "a Hint must come directly before its Check")
        check_text = collapse(plain_text(draft.checks[0].tokens))
        if kind is ItemKind.OPEN and lettered_choices(text) >= 3 and letter_list(check_text):
            page.report.add("IT006", draft.line, "this looks like an ordering item")


def _fold(placed: PlacedFold, render: Render, extra: Mapping[str, Any]) -> Fold:
    nodes = blocks(placed.tokens)
    letters = {option.letter for option in extra.get("options", ()) if option.feedback_html}
    rest = [
        node for node in nodes if not (is_reasons(node, letters) or (extra.get("rubric") and is_points(node)))
    ]
    return Fold(
        html=render(placed.tokens),
        text=collapse(plain_text(placed.tokens)),
        blocks=tuple(node.name for node in nodes),
        line=placed.line,
        rest_html="\n".join(render(node.tokens).strip() for node in rest),
    )
