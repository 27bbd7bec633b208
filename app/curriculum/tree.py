"""The flat list of Markdown tokens as blocks within blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it.token import Token

_NAMES = {
    "paragraph_open": "paragraph", "fence": "code", "code_block": "code", "table_open": "table",
    "bullet_list_open": "list",
    "ordered_list_open": "list", "blockquote_open": "quote", "heading_open": "heading",
    "html_block": "html", "hr": "rule",
    "math": "formula", "fold_open": "fold", "raw_text": "text",
}  # fmt: skip


@dataclass(slots=True)
class Node:
    """A block: its tokens from the opening one to the closing one."""

    tokens: list[Token] = field(default_factory=list)
    kind: str = ""  # the type of the opening token

    @property
    def start(self) -> int:
        """Index of the block's first line, as the parser counts."""
        return self.tokens[0].map[0] if self.tokens and self.tokens[0].map else 0

    @property
    def name(self) -> str:
        """paragraph, code, table, list, …"""
        return _NAMES.get(self.kind, self.kind)

    def split(self) -> list["Node"]:
        """The tokens as a list of blocks."""
        return blocks(self.tokens)


def blocks(tokens: Sequence[Token]) -> list[Node]:
    """The top-level blocks of a run of tokens."""
    found: list[Node] = []
    depth = 0
    for token in tokens:
        if depth == 0:
            found.append(Node([], token.type))
        found[-1].tokens.append(token)
        depth = max(0, depth + token.nesting)
    return found


def children_of(node: Node) -> list[Node]:
    """The blocks inside a container."""
    return blocks(node.tokens[1:-1])
