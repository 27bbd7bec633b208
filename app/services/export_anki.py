"""Questions as cards for Anki: a CSV file that says itself how it is to be read.

Anki takes the lines that begin with # as directions, then comma-separated rows. Every field is quoted, so
a field that begins with # is no comment. By the first column a card is known again at the next import.
"""

import csv
import hashlib
import io
import re
from collections.abc import Iterable
from html import escape

from app.services.questions import Question, in_one_line, number_words, options_list

COLUMNS = ("GUID", "Front", "Back", "Tags")
_GUID_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def anki_csv(questions: Iterable[Question], course_title: str) -> str:
    """One note of the type Basic for each question."""
    out = io.StringIO()
    directions = (
        "separator:Comma",
        "html:true",
        "notetype:Basic",
        f"deck:{_deck(course_title)}",
        "guid column:1",
        "tags column:4",
        f"columns:{','.join(COLUMNS)}",
    )
    out.writelines(f"#{line}\n" for line in directions)
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for question in questions:
        writer.writerow((guid_of(question.id), _front(question), _back(question), " ".join(_tags(question))))
    return out.getvalue()


def guid_of(text: str) -> str:
    """Ten letters and digits that stand for this text."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    letters = []
    for _ in range(10):
        number, index = divmod(number, len(_GUID_LETTERS))
        letters.append(_GUID_LETTERS[index])
    return "".join(letters)


def _deck(title: str) -> str:
    """Two colons begin a deck within a deck."""
    return " ".join(re.sub(r":{2,}", ":", title).split())


def _front(question: Question) -> str:
    shown = options_list(question.item) if question.choices or question.order else ""
    unit = f"<p><i>in {escape(question.unit)}</i></p>" if question.unit else ""
    return in_one_line(question.prompt_html + shown + unit)


def _back(question: Question) -> str:
    parts = [_answer(question), *question.checks_html]
    return in_one_line("".join(parts)) or "<i>This question has no check: compare with the lesson.</i>"


def _answer(question: Question) -> str:
    if question.choices:
        right = [f"<b>{escape(c.letter)})</b> {c.html}" for c in question.choices if c.right]
        return f"<p>{'<br>'.join(right)}</p>"
    words = number_words(question)
    return f"<p><b>{escape(words)}</b></p>" if words else ""


def _tags(question: Question) -> list[str]:
    item, lesson = question.item, question.lesson
    tags = [f"meshwright::{question.course}::{lesson.slug}", f"kind::{item.kind.value}"]
    if item.skill:
        tags.append(f"skill::{item.skill}")
    return [re.sub(r"\s+", "-", tag) for tag in tags]
