"""What is known and gathered while one file is read."""

from dataclasses import dataclass, field

from app.curriculum.blocks import CheckedNumber, Diagram, Link
from app.curriculum.links import Context, Place
from app.curriculum.raw_html import Depth
from app.curriculum.report import Report
from app.curriculum.source import Source


@dataclass(slots=True, kw_only=True)
class Page:
    """One file on its way to a Lesson."""

    report: Report
    source: Source
    place: Place
    context: Context
    trusted: list[str] = field(default_factory=list)  # HTML of ours that the allow-list would not let pass
    links: list[Link] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    numbers: list[CheckedNumber] = field(default_factory=list)
    number_keys: dict[str, int] = field(default_factory=dict)  # how often each number was told
    diagrams: list[Diagram] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)  # heading ids and how often each was asked for
    tables: int = 0
    depth: Depth = field(default_factory=Depth)  # of raw HTML tags

    def line(self, index: int) -> int:
        """The 1-based line of the file for a line index of the parser."""
        return self.source.line(index)

    def anchor(self, slug: str) -> str:
        """The slug, made unique on this page."""
        slug = slug or "section"
        count = self.anchors.get(slug, 0)
        self.anchors[slug] = count + 1
        return self.anchor(f"{slug}-{count}") if count else slug
