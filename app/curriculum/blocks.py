"""What a lesson is made of. Every block carries the line of the file it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from app.curriculum.text import digest


class Severity(StrEnum):
    """How bad a problem is: an error fails the build."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in one file, with what to do about it."""

    path: str
    line: int
    code: str
    severity: Severity
    message: str
    source: str = ""  # the line as it stands in the file
    fix: str = ""  # the line or action that mends it
    recovered: bool = False  # the parser understood what was meant all the same


class ItemKind(StrEnum):
    """How an item is answered."""

    OPEN = "open"
    MCQ = "mcq"
    NUMERIC = "numeric"
    CALCULATOR = "calculator"
    RUBRIC = "rubric"
    ORDERING = "ordering"
    PREDICT = "predict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One choice of a multiple-choice, predict or ordering item."""

    letter: str  # lower case
    html: str
    text: str
    feedback_html: str = ""
    feedback_text: str = ""
    misconception: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A collapsible part of an item: a hint or a check."""

    html: str
    text: str
    blocks: tuple[str, ...] = ()  # paragraph | code | table | list | …
    line: int = 0
    rest_html: str = ""  # without the lists of reasons and points, for pages that show those in their place


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongAnswer:
    """A value that a known mistake leads to, and what to say about it."""

    value: Any  # a number or an expression over the item's variables
    tolerance: str = ""
    say: str = ""
    misconception: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricPoint:
    """One thing a strong answer does."""

    points: int
    text: str
    html: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A question: in the warm-up or the practice section."""

    id: str  # explicit, or derived from section and prompt; unique within its lesson
    section: str  # "Warm-up" | "Practice" | …
    number: int  # by position within the section
    kind: ItemKind
    prompt_html: str
    prompt_text: str
    line: int
    graded: bool = True  # False: the key is unclear or missing; shown for self-report
    marker: bool = True
    number_written: int = 0  # the number in the file, which may be wrong
    code_in_prompt: tuple[str, ...] = ()  # languages of the code blocks in the prompt
    content_hash: str = ""  # of everything the learner is asked and graded by
    options: tuple[Option, ...] = ()
    correct: tuple[str, ...] = ()
    multiple: bool = False
    shuffle: bool = False
    order: tuple[str, ...] = ()
    hints: tuple[Fold, ...] = ()
    checks: tuple[Fold, ...] = ()
    answer: Any = None  # number, [low, high], {calc, with}, expression, or named answers
    unit: str = ""
    tolerance: str = ""
    wrong: tuple[WrongAnswer, ...] = ()
    vary: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    skill: str = ""
    origin: str = ""  # `from:` the earlier item a warm-up repeats
    rubric: tuple[RubricPoint, ...] = ()
    pass_points: int = 0
    weak_html: str = ""
    verb: str = "estimate"
    preset: Mapping[str, Any] = field(default_factory=dict)
    locked: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedNumber:
    """A number of the text that the engine recomputes: `<!-- calc: name of {…} as GB -->**41.5 GB**`."""

    name: str  # a published name or plain arithmetic over the arguments
    arguments: Mapping[str, Any]
    unit: str  # what to show it in; empty: the unit written in the text
    text: str  # as readers of the plain file see it
    line: int

    @property
    def key(self) -> str:
        """Its address on the page: the same wherever the same number is asked for in the same words."""
        return digest([self.name, repr(dict(self.arguments)), self.unit, self.text], 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagram:
    """A mermaid fence, drawn once."""

    hash: str  # its address: /courses/<course>/diagrams/<hash>.svg
    source: str
    svg: bytes  # empty when it could not be drawn; the page then shows the source
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Rendered Markdown between headings, items and widgets."""

    html: str
    text: str
    line: int
    anchor: str = ""  # of the heading it stands under; reports name it


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A ## or ### heading."""

    level: int
    text: str
    html: str
    anchor: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """A live figure inside a lesson."""

    id: str
    kind: str  # calculator | schedule | balance | cluster | advisor | …
    preset: Mapping[str, Any]
    show: tuple[str, ...]
    controls: tuple[str, ...]
    locked: tuple[str, ...]
    caption: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rep:
    """A task for real life."""

    id: str
    html: str
    text: str
    line: int
    tomorrow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link of the page: where the file says it goes and where the page leads."""

    written: str
    href: str  # empty: nowhere (planned, dead or refused)
    text: str
    line: int
    header: bool = False  # in the three lines under the title


Block = Prose | Heading | Item | Widget | Rep


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson (or another page of a course) as it was understood."""

    course: str
    slug: str  # the file's name without .md
    path: str
    number: int
    title: str
    description: str = ""
    type: str = "lesson"  # index | topic | lesson | reference | glossary | resources
    mission_html: str = ""
    source_html: str = ""
    prerequisites_html: str = ""
    minutes: int = 0
    math: bool = False
    objectives: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    closing_html: str = ""
    content_hash: str = ""
    has_front_matter: bool = True
    front_matter: Mapping[str, Any] = field(default_factory=dict)
    sections: tuple[str, ...] = ()  # the ## headings in the order of the file
    primary_sources: tuple[str, ...] = ()  # addresses
    prerequisites: tuple[str, ...] = ()  # link targets as written
    prerequisites_text: str = ""
    links: tuple[Link, ...] = ()
    images: tuple[str, ...] = ()  # as written
    tables: int = 0
    anchors: tuple[str, ...] = ()  # ids of the headings
    numbers: tuple[CheckedNumber, ...] = ()
    diagrams: tuple[Diagram, ...] = ()
    declarations: Mapping[str, Any] = field(default_factory=dict)  # of a `<!-- course … -->` comment
    problems: tuple[Problem, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """All items, in the order of the file."""
        return tuple(block for block in self.blocks if isinstance(block, Item))

    @property
    def reps(self) -> tuple[Rep, ...]:
        """All real-world tasks, in the order of the file."""
        return tuple(block for block in self.blocks if isinstance(block, Rep))

    @property
    def widgets(self) -> tuple[Widget, ...]:
        """All live figures, in the order of the file."""
        return tuple(block for block in self.blocks if isinstance(block, Widget))

    def item(self, item_id: str) -> Item | None:
        """The item of that id."""
        return next((item for item in self.items if item.id == item_id), None)
