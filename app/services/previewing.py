"""A lesson for its writer: every block with the problems that concern it, and the keys of its items."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.curriculum.blocks import Block, Heading, Item, Lesson, Problem, Prose, Rep, Severity, Widget
from app.services.prose_pieces import pieces
from app.services.questions import Question, number_words

KINDS = {Heading: "heading", Item: "item", Prose: "prose", Rep: "rep", Widget: "widget"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A block with the problems of the lines from its first to the next block's."""

    kind: str  # heading | item | prose | rep | widget
    block: Block
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that only the writer is shown: what it is and how it stands."""

    term: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many problems of each kind."""

    errors: int = 0
    warnings: int = 0
    infos: int = 0

    @property
    def words(self) -> str:
        """ "2 errors, 1 warning", or that there is nothing to mend."""
        named = ((self.errors, "error"), (self.warnings, "warning"), (self.infos, "note"))
        parts = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in named if n]
        return ", ".join(parts) or "Nothing to mend"

    @property
    def look(self) -> str:
        """The worst of them."""
        return "errors" if self.errors else "warnings" if self.warnings else "clean"


def counted(problems: Iterable[Problem]) -> Counts:
    """The problems by how bad they are."""
    found = [problem.severity for problem in problems]
    return Counts(
        errors=found.count(Severity.ERROR),
        warnings=found.count(Severity.WARNING),
        infos=found.count(Severity.INFO),
    )


def placed(
    lesson: Lesson, problems: Iterable[Problem], source: Sequence[str]
) -> tuple[tuple[Problem, ...], tuple[Placed, ...]]:
    """The problems above the first block, and every block with its own.

    A stretch of prose is cut before each paragraph that a problem concerns. source: the lines of the file.
    """
    blocks = _cut(lesson.blocks, {problem.line for problem in problems}, source)
    head: list[Problem] = []
    own: list[list[Problem]] = [[] for _ in blocks]
    for problem in sorted(problems, key=lambda one: (one.line, one.code)):
        before = [index for index, block in enumerate(blocks) if block.line <= problem.line]
        nearest = max(before, key=lambda index: (blocks[index].line, index), default=-1)
        (own[nearest] if nearest >= 0 else head).append(problem)
    rows = tuple(
        Placed(kind=KINDS[type(block)], block=block, problems=tuple(mine))
        for block, mine in zip(blocks, own, strict=True)
    )
    return tuple(head), rows


def _cut(blocks: Sequence[Block], lines: set[int], source: Sequence[str]) -> list[Block]:
    result: list[Block] = []
    for index, block in enumerate(blocks):
        following = [later.line for later in blocks[index + 1 :] if later.line > block.line]
        end = min(following, default=len(source) + 1)
        if isinstance(block, Prose) and any(block.line < line < end for line in lines):
            cut = pieces(block, source[block.line - 1 : end - 1], lines)
            result += [replace(block, html=html, line=line) for line, html in cut]
        else:
            result.append(block)
    return result


def key_facts(question: Question) -> tuple[Fact, ...]:
    """What the item is graded by: the key for these numbers, then everything as it is written."""
    item = question.item
    facts = [Fact(term="id", value=item.id)]
    if question.values:
        facts.append(Fact(term="numbers now", value=question.values))
    if words := number_words(question):
        facts.append(Fact(term="key now", value=words))
    if not item.graded:
        facts.append(Fact(term="graded", value="no; the learner reports"))
    written: Mapping[str, Any] = {
        "answer": item.answer,
        "unit": item.unit,
        "tolerance": item.tolerance,
        "order": ", ".join(item.order),
        "vary": dict(item.vary),
        "require": "; ".join(item.require),
        "locked": ", ".join(item.locked),
        "example": dict(item.example),
        "pass": item.pass_points,
        "skill": item.skill,
        "from": item.origin,
    }
    facts += [
        Fact(term=term, value=_plain(value))
        for term, value in written.items()
        if value not in (None, "", 0, {}, ())
    ]
    facts += [
        Fact(
            term=f"wrong: {_plain(wrong.value)}",
            value=" ".join(filter(None, (wrong.say, _named(wrong.misconception)))),
        )
        for wrong in item.wrong
    ]
    return tuple(facts)


def _named(misconception: str) -> str:
    return f"({misconception})" if misconception else ""


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_plain(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_plain(one) for one in value) + "]"
    return str(value)
