"""Checks on one finished lesson, beyond what the parser reports."""

import re
from collections.abc import Iterator

from app.curriculum.blocks import Item, ItemKind, Lesson, Problem, Severity
from app.curriculum.generate import unknown_names
from app.curriculum.header import NAMES
from app.curriculum.report import problem
from app.curriculum.rules_course import check_course

__all__ = ["check_course", "check_lesson"]

PRACTICE_ITEMS, REPS = 3, 3
_SEVERAL_LETTERS = re.compile(r"\(([a-h])\)|\b[Oo]ption ([a-h])\b")
_MACHINE_WORDS = (
    "delve",
    "leverage",
    "utilize",
    "seamless",
    "robustly",
    "tapestry",
    "game-changer",
    "in today's world",
)


def check_lesson(lesson: Lesson) -> list[Problem]:
    """What a finished lesson has and this one lacks, and what gives answers away."""
    found = list(_items(lesson))
    if lesson.type == "lesson":
        found += _whole(lesson)
    if str(lesson.front_matter.get("house", "")).lower() == "teach":
        found += _house_style(lesson)
    return found


def _whole(lesson: Lesson) -> Iterator[Problem]:
    if not lesson.has_front_matter and not any(p.code == "FM001" for p in lesson.problems):
        yield problem("FM001", lesson, 1, "no front matter; title and number were taken from the file's name")
    parts = {
        "mission": lesson.mission_html,
        "source": lesson.source_html,
        "prerequisites": lesson.prerequisites_html,
    }
    for key, html in parts.items():
        if not html:
            yield problem("HD002", lesson, 1, f"the line **{NAMES[key]}:** is missing under the title")
    for name in ("Know this", "Practice"):
        if name not in lesson.sections:
            yield problem("SE001", lesson, 1, f"no {name} section", Severity.WARNING)
    practice = [item for item in lesson.items if item.section == "Practice"]
    if practice and len(practice) < PRACTICE_ITEMS:
        yield problem(
            "SE003",
            lesson,
            practice[0].line,
            f"Practice has {len(practice)} items; write at least three, easy to hard",
        )
    if "Real-world reps" not in lesson.sections:
        yield problem("RP001", lesson, 1, "no Real-world reps section; write at least three tasks")
    elif lesson.reps and not any(rep.tomorrow for rep in lesson.reps):
        yield problem("RP002", lesson, lesson.reps[0].line, 'no rep starts with "Tomorrow:"')


def _items(lesson: Lesson) -> Iterator[Problem]:
    for item in lesson.items:
        if item.kind is ItemKind.MCQ:
            yield from _choice(lesson, item)
        for name in unknown_names(item):
            yield problem(
                "EX008", lesson, item.line, f"the text has {{{name}}}, but vary does not list {name}"
            )


def _choice(lesson: Lesson, item: Item) -> Iterator[Problem]:
    right = [option for option in item.options if option.letter in item.correct]
    wrong = [option for option in item.options if option.letter not in item.correct]
    if right and wrong:
        longest = max(len(option.text) for option in wrong)
        for option in right:
            if len(option.text) > 1.5 * longest and len(option.text) - longest > 20:
                size = len(option.text)
                message = f"option {option.letter} has {size} characters, the longest wrong one {longest}"
                yield problem("MC001", lesson, item.line, message)
        silent = [option.letter for option in wrong if not option.feedback_html]
        if silent and item.graded:
            yield problem("MC006", lesson, item.line, f"no reason is given for {', '.join(silent)}")
    if item.shuffle:
        texts = [item.prompt_text, *(o.text for o in item.options), *(o.feedback_text for o in item.options)]
        named = next((m.group(1) or m.group(2) for text in texts if (m := _SEVERAL_LETTERS.search(text))), "")
        if named:
            yield problem(
                "MC005", lesson, item.line, f"the options are shuffled, but a text names option {named}"
            )
    texts_of_right = [option.text.casefold() for option in right if len(option.text) >= 12]
    for hint in item.hints:
        if any(text in hint.text.casefold() for text in texts_of_right):
            yield problem("NU004", lesson, hint.line, "the hint contains the right option")


def _house_style(lesson: Lesson) -> Iterator[Problem]:
    for block in lesson.blocks:
        text = getattr(block, "text", "") or getattr(block, "prompt_text", "")
        if "—" in text or "–" in re.sub(r"\d\s*–\s*\d", "", text):
            yield problem("HS001", lesson, block.line, "house style: a dash stands in the text")
        for word in _MACHINE_WORDS:
            if word in text.lower():
                yield problem("HS001", lesson, block.line, f"house style: {word}")
    if not lesson.closing_html:
        yield problem("HS001", lesson, 1, "house style: the closing text after --- is missing")
