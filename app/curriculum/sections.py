"""Walks the blocks of a page: sections, items with their folds, widgets, reps, prose."""

import re
from dataclasses import replace
from typing import Any

from markdown_it.token import Token

from app.curriculum.annotate import plain_text
from app.curriculum.blocks import Block, Heading, Item, ItemKind, Prose
from app.curriculum.choices import Render, lettered_items, without_prefix
from app.curriculum.extensions import Fields, read_fields, read_widget
from app.curriculum.items import Draft, PlacedFold, build_item
from app.curriculum.numbered import is_marked, note_stray_marker, number_written
from app.curriculum.page import Page
from app.curriculum.reps import read_reps
from app.curriculum.section_order import ORDER
from app.curriculum.text import MARKERS, collapse
from app.curriculum.tree import Node, blocks, children_of

_ITEM_SECTIONS = ("Warm-up", "Practice")
_SPELLED = {re.sub(r"[^a-z]", "", name.lower()): name for name in ORDER}
_MARKER = re.compile(rf"\s*[{MARKERS}]\s*")
_FOLD_NAME = re.compile(r"(?:<[^<>]*>|[\W_])*(hint|check)s?\b", re.IGNORECASE)
COURSE_FIELDS = ("skills", "misconceptions")


class SectionReader:
    """Turns the blocks of one page into lesson blocks, in the order of the file."""

    def __init__(self, page: Page, render: Render, *, with_items: bool) -> None:
        self.page, self.render, self.with_items = page, render, with_items
        self.blocks: list[Block] = []
        self.sections: list[str] = []
        self.declarations: dict[str, Any] = {}
        self.section = ""
        self.anchor = ""
        self.section_lines: list[tuple[str, int]] = []
        self._count = 0
        self._prose: list[Node] = []
        self._draft: Draft | None = None
        self._draft_named = False  # whether the last item's id was given, not derived
        self._ids: dict[str, int] = {}

    def read(self, nodes: list[Node]) -> None:
        """Read all blocks of the page."""
        for position, node in enumerate(nodes):
            if node.kind == "heading_open" and node.tokens[0].tag in ("h1", "h2", "h3"):
                self._heading(node)
            elif node.kind == "extension":
                self._extension(node)
            elif node.kind == "fold_open":
                self._fold(node)
            elif node.kind == "ordered_list_open" and self._holds_items(nodes, position):
                self._list(node, nodes, position)
            elif self._draft is not None and self._belongs_to_item(node):
                continue
            elif self.section == "Real-world reps" and self.with_items and node.name == "list":
                self._reps(node)
            else:
                self._end_item()
                if self.with_items:
                    note_stray_marker(node, self.section in _ITEM_SECTIONS, self.page)
                self._prose.append(node)
        self._end_item()
        self._flush()

    # -- headings and prose -----------------------------------------------------

    def _heading(self, node: Node) -> None:
        self._end_item()
        self._flush()
        token = node.tokens[0]
        text, line = collapse(plain_text(node.tokens)), self.page.line(node.start)
        self.anchor = str(token.meta.get("anchor", ""))
        if token.tag != "h3":
            self.section = _SPELLED.get(re.sub(r"[^a-z]", "", text.lower()), text)
            self._count = 0
            self.sections.append(self.section)
            self.section_lines.append((self.section, line))
        html = self.render((node.tokens[1].children or []) if len(node.tokens) > 1 else [])
        self.blocks.append(
            Heading(level=int(token.tag[1]), text=text, html=html, anchor=self.anchor, line=line)
        )

    def _flush(self) -> None:
        if not self._prose:
            return
        tokens = [token for node in self._prose for token in node.tokens]
        html = self.render(tokens)
        if html:
            line = self.page.line(self._prose[0].start)
            self.blocks.append(
                Prose(html=html, text=collapse(plain_text(tokens)), line=line, anchor=self.anchor)
            )
        self._prose = []

    # -- items --------------------------------------------------------------------

    def _holds_items(self, nodes: list[Node], position: int) -> bool:
        """In Warm-up and Practice every numbered list; elsewhere only one that an item comment follows."""
        if not self.with_items:
            return False
        if self.section in _ITEM_SECTIONS:
            return True
        if any(
            token.type == "extension" and token.meta["name"] == "item" for token in nodes[position].tokens
        ):
            return True
        for node in nodes[position + 1 :]:
            if node.kind == "extension":
                return bool(node.tokens[0].meta["name"] == "item")
            if node.kind in ("heading_open", "ordered_list_open", "fold_open", "hr"):
                return False
        return False

    def _list(self, node: Node, nodes: list[Node], position: int) -> None:
        items = children_of(node)
        keep = 0 if self.section in _ITEM_SECTIONS else len(items) - 1
        if keep:  # in prose, only the last entry is an item
            self._end_item()
            self._prose.append(
                Node(
                    [node.tokens[0], *[t for item in items[:keep] for t in item.tokens], node.tokens[-1]],
                    node.kind,
                )
            )
        steps: list[Node] = []
        for item in items[keep:]:
            if self._is_step(item, len(steps)):
                steps.append(item)
                continue
            self._add_steps(node, steps)
            steps = []
            self._item(item)
        self._add_steps(node, steps)

    def _is_step(self, item: Node, num_steps: int) -> bool:
        """A numbered line without ▢ that counts anew right under a marked item belongs to its prompt."""
        draft = self._draft
        if draft is None or not draft.marker or draft.has_folds or draft.options:
            return False
        return not is_marked(item) and number_written(item) == num_steps + 1

    def _add_steps(self, parent: Node, steps: list[Node]) -> None:
        if steps and self._draft is not None:
            opening = parent.tokens[0].copy(attrs={})
            inner = [token for step in steps for token in step.tokens]
            self._draft.prompt.extend([opening, *inner, parent.tokens[-1]])

    def _item(self, node: Node) -> None:
        self._end_item()
        self._flush()
        self._count += 1
        line = self.page.line(node.start)
        written, marked = number_written(node), is_marked(node)
        inner = without_prefix(node.tokens[1:-1], _MARKER) if marked else list(node.tokens[1:-1])
        self._draft = Draft(
            section=self.section, number=self._count, written=written, line=line, marker=marked
        )
        if self.section in _ITEM_SECTIONS:
            if written != self._count:
                self.page.report.add("IT002", line, f"item is numbered {written}, expected {self._count}")
            if not marked:
                self.page.report.add("IT003", line, "item has no ▢ marker")
        for child in blocks(inner):
            if child.kind == "extension":
                self._extension(child)
            elif child.kind == "fold_open":
                self._fold(child)
            elif not self._take_options(child):
                self._draft.prompt.extend(child.tokens)

    def _belongs_to_item(self, node: Node) -> bool:
        """Options and further text of the prompt, until the first Hint or Check."""
        draft = self._draft
        if draft is None or draft.has_folds or node.kind == "hr":
            return False
        if draft.comment is not None and self.section not in _ITEM_SECTIONS:
            return False
        if not self._take_options(node, outside=True):
            draft.prompt.extend(node.tokens)
        return True

    def _take_options(self, node: Node, *, outside: bool = False) -> bool:
        """Note a list of lettered choices. `outside`: it follows text at column zero, which ends the item."""
        draft = self._draft
        if draft is None or draft.options or draft.has_folds:
            return False
        items = lettered_items(node)
        if len(items) < 2:
            return False
        draft.options, draft.option_tokens = items, node.tokens
        line = self.page.line(items[0][1].start)
        text = self.page.report.lines[line - 1].expandtabs(4) if line <= len(self.page.report.lines) else ""
        indent = len(text) - len(text.lstrip(" "))
        if indent != 4:
            said = f"indented by {indent} spaces" if indent else "at column zero"
            message = f"options are {said}: MkDocs moves them out of the item; use 4"
            self.page.report.add("MC004", line, message, fix=f"    {text.strip()}")
        elif outside:
            message = "options follow text at column zero, so other sites show them as code"
            self.page.report.add("MC004", line, message, fix="indent all text of the item by 4 spaces")
        return True

    def _end_item(self) -> None:
        if self._draft is None:
            return
        item, self._draft_named = build_item(self._draft, self.page, self.render)
        self._draft = None
        self.blocks.append(self._unique(item))

    def _unique(self, item: Item) -> Item:
        seen = self._ids.get(item.id, 0)
        self._ids[item.id] = seen + 1
        if seen and self._draft_named:
            self.page.report.add("EX002", item.line, f"the id {item.id} is used twice in this lesson")
            item = replace(item, kind=ItemKind.OPEN, graded=False)
        return self._unique(replace(item, id=f"{item.id}-{seen + 1}")) if seen else item

    # -- folds, comments, reps -----------------------------------------------------

    def _fold(self, node: Node) -> None:
        fold = node.tokens[0].meta["fold"]
        named = _FOLD_NAME.match(fold.summary)
        if self._draft is None:
            if named and self.with_items:
                kind = named.group(1).capitalize()
                self.page.report.add("IT004", fold.line, f"a {kind} block has no item before it")
            self._prose.append(node)
            return
        if not named:
            self.page.report.add(
                "DT005",
                fold.line,
                f'the summary "{fold.summary}" is neither Hint nor Check; shown as a plain fold',
            )
            if self._draft.has_folds:
                self._end_item()
                self._prose.append(node)
            else:
                self._draft.prompt.extend(node.tokens)
            return
        own: list[Token] = []
        nested: list[Node] = []
        for child in children_of(node):
            inner = child.kind == "fold_open" and _FOLD_NAME.match(child.tokens[0].meta["fold"].summary)
            if child.kind == "extension":
                self._extension(child)
            elif inner:
                nested.append(child)
            else:
                own.extend(child.tokens)
        key_line = next(
            (self.page.line(token.map[0]) for token in own if token.type == "inline" and token.map), fold.line
        )
        placed = PlacedFold(own, fold.line, key_line)
        (self._draft.hints if named.group(1).lower() == "hint" else self._draft.checks).append(placed)
        for child in nested:
            self._fold(child)

    def _extension(self, node: Node) -> None:
        token, line = node.tokens[0], self.page.line(node.start)
        name, text = token.meta["name"], token.meta["text"]
        token.meta["read"] = True
        if name == "widget":
            self._end_item()
            self._flush()
            widget = read_widget(
                text, line, 1 + sum(1 for block in self.blocks if type(block).__name__ == "Widget"), self.page
            )
            if widget:
                self.blocks.append(widget)
        elif name == "course":
            fields: Fields = read_fields(text, line, COURSE_FIELDS, self.page)
            self.declarations.update(fields.values)
        elif self._draft is None:
            self.page.report.add("EX005", line, "an item comment has no item before it", source=text.strip())
        elif self._draft.comment is not None:
            self.page.report.add(
                "EX005", line, "the item has two comments; the first one counts", source=text.strip()
            )
        else:
            self._draft.comment = (text, line)

    def _reps(self, node: Node) -> None:
        self._end_item()
        for entry in read_reps(node, self.page, self.render, self._ids):
            if isinstance(entry, Node):
                self._prose.append(entry)
            else:
                self._flush()
                self.blocks.append(entry)
