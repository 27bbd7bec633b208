"""Options of an item, the key in its Check, and the reason for each option."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from markdown_it.token import Token

from app.curriculum.annotate import plain_text
from app.curriculum.blocks import Option, RubricPoint
from app.curriculum.text import (
    ANSWER_WORDS,
    OPTION,
    bold_letters,
    collapse,
    leading_key,
    option_letter,
    sentence_breaks,
    sentence_letters,
)
from app.curriculum.tree import Node, blocks, children_of

Render = Callable[[Sequence[Token]], str]
_JOINERS = re.compile(r"\s*(?:,|;|&|\+|and|,\s*and)\s*", re.IGNORECASE)
_TICK = re.compile(r"[\s✅✔✓☑→➜\ufe0f]*")
_BOLD_TAG = re.compile(r"<(?:b|strong)>", re.IGNORECASE)
_BOLD_END = re.compile(r"</(?:b|strong)>", re.IGNORECASE)
_EITHER = re.compile(r"\s*,?\s*(?:or|and/or|/)\s*", re.IGNORECASE)
LONGEST = 10_000  # characters of a paragraph in which reasons are looked for
_POINTS = re.compile(r"\s*\((\d{1,3})(?:\s*(?:points?|p))?\)\s*")


@dataclass(frozen=True, slots=True)
class Reason:
    """What the Check says about an option."""

    html: str
    text: str


def lettered_items(node: Node) -> list[tuple[str, Node]]:
    """The items of a bullet list with their letters; empty unless every item has one."""
    if node.kind != "bullet_list_open":
        return []
    items = children_of(node)
    letters = [option_letter(plain_text(item.tokens[:4]).strip()) for item in items]
    return list(zip(letters, items, strict=True)) if items and all(letters) else []


def read_options(items: list[tuple[str, Node]], render: Render) -> tuple[Option, ...]:
    """Options without their letters."""
    options = []
    for letter, item in items:
        inner = without_prefix(item.tokens[1:-1], OPTION)
        options.append(
            Option(letter=letter, html=_unwrapped(render(inner)), text=collapse(plain_text(inner)))
        )
    return tuple(options)


def without_prefix(tokens: Sequence[Token], pattern: re.Pattern[str]) -> list[Token]:
    """The tokens with a letter or box at the start of their first text taken off, also out of bold
    or italics.
    """
    copied = list(tokens)
    position = next((i for i, token in enumerate(copied) if token.type == "inline"), None)
    if position is None:
        return copied
    inline = copied[position].copy()
    copied[position] = inline
    pieces = [child.copy() for child in inline.children or []]
    if (
        pieces
        and pieces[0].type in ("strong_open", "em_open")
        and len(pieces) > 2
        and pattern.fullmatch(pieces[1].content + " ")
    ):
        pieces = pieces[3:]
    elif (
        pieces
        and pieces[0].type in ("strong_open", "em_open")
        and len(pieces) > 1
        and pieces[1].type == "text"
    ):
        pieces[1].content = pattern.sub("", pieces[1].content, count=1)
    elif pieces and pieces[0].type == "text":
        pieces[0].content = pattern.sub("", pieces[0].content, count=1)
    if pieces and pieces[0].type == "text":
        pieces[0].content = pieces[0].content.lstrip()
    inline.children = pieces
    return copied


def _unwrapped(html: str) -> str:
    """A single paragraph without its <p>."""
    match = re.fullmatch(r"\s*<p>(.*)</p>\s*", html, re.DOTALL)
    return match.group(1) if match and "<p>" not in match.group(1) else html.strip()


def read_key(check: Sequence[Token]) -> tuple[str, ...]:
    """The letters that the Check names as right, from its first paragraph; empty when it names none
    for sure.
    """
    inline = next((token for token in check if token.type == "inline"), None)
    if inline is None:
        return ()
    pieces = inline.children or []
    letters: list[str] = []
    position, before = 0, ""
    while position < len(pieces):
        piece = pieces[position]
        if piece.type != "strong_open" and not _BOLD_TAG.fullmatch(piece.content):
            before += piece.content if piece.type == "text" else " "
            position += 1
            continue
        end = next((i for i in range(position + 1, len(pieces)) if _ends_bold(pieces[i])), len(pieces))
        found = bold_letters(plain_text(pieces[position + 1 : end]))
        if found and letters and _EITHER.fullmatch(before):
            return ()  # "a or b" does not say which
        opens = _TICK.fullmatch(before) or ANSWER_WORDS.fullmatch(before)
        fits = _JOINERS.fullmatch(before) if letters else opens
        if not found or not fits:
            break
        letters.extend(letter for letter in found if letter not in letters)
        position, before = end + 1, ""
    return tuple(letters) or leading_key(plain_text(pieces))


def _ends_bold(piece: Token) -> bool:
    return piece.type == "strong_close" or _BOLD_END.fullmatch(piece.content) is not None


def read_reasons(check: Sequence[Token], letters: Sequence[str], render: Render) -> dict[str, Reason]:
    """The reason for each option: bullets "- a) …", and sentences that begin with the letters."""
    reasons: dict[str, Reason] = {}
    for position, node in enumerate(blocks(check)):
        if node.kind == "bullet_list_open":
            for item in children_of(node):
                named = sentence_letters(plain_text(item.tokens[:4]).strip()) or (
                    (option_letter(plain_text(item.tokens[:4])),)
                )
                several = len(named) > 1
                inner = list(item.tokens[1:-1]) if several else without_prefix(item.tokens[1:-1], OPTION)
                _note(reasons, named, letters, _unwrapped(render(inner)), collapse(plain_text(inner)))
        elif node.kind == "paragraph_open":
            sentences = (
                _sentences(node.tokens[1].children or []) if len(node.tokens[1].content) < LONGEST else []
            )
            if position == 0 and sentences and _is_key(sentences[0]):
                sentences = sentences[1:]
            for sentence in sentences:
                text = collapse(plain_text(sentence))
                _note(reasons, sentence_letters(text), letters, _unwrapped(render(sentence)), text)
    return reasons


def is_reasons(node: Node, letters: Collection[str]) -> bool:
    """Whether a block of a Check is a list of reasons, one for each of its lines' options."""
    named = [letter for letter, _ in lettered_items(node)]
    return bool(named) and all(letter in letters for letter in named)


def is_points(node: Node) -> bool:
    """Whether a block of a Check is the list of a rubric's points."""
    items = children_of(node) if node.kind == "bullet_list_open" else []
    return bool(items) and all(_POINTS.match(plain_text(item.tokens[:4])) for item in items)


def _is_key(sentence: Sequence[Token]) -> bool:
    """Whether a Check's first sentence is the one that names the right options."""
    return any(token.type == "strong_open" for token in sentence) or bool(leading_key(plain_text(sentence)))


def _note(
    reasons: dict[str, Reason], named: Sequence[str], letters: Sequence[str], html: str, text: str
) -> None:
    for letter in named:
        if letter and letter in letters and text:
            known = reasons.get(letter)
            reasons[letter] = (
                Reason(f"{known.html} {html}", f"{known.text} {text}") if known else Reason(html, text)
            )


def _sentences(pieces: Sequence[Token]) -> list[list[Token]]:
    """The inline tokens of a paragraph, one list per sentence."""
    sentences: list[list[Token]] = [[]]
    depth = 0
    for piece in pieces:
        depth += piece.nesting
        if piece.type in ("softbreak", "hardbreak") and depth == 0:
            sentences.append([])
        elif piece.type == "text" and depth == 0:
            start = 0
            for cut in sentence_breaks(piece.content):
                sentences[-1].append(_text(piece, piece.content[start:cut]))
                sentences.append([])
                start = cut
            sentences[-1].append(_text(piece, piece.content[start:]))
        else:
            sentences[-1].append(piece)
    return [sentence for sentence in sentences if collapse(plain_text(sentence))]


def _text(piece: Token, content: str) -> Token:
    return Token("text", "", 0, content=content, meta=dict(piece.meta))


def with_reasons(
    options: Sequence[Option], reasons: dict[str, Reason], misconceptions: dict[str, str]
) -> tuple[Option, ...]:
    """Options with the reasons and misconceptions that belong to them."""
    return tuple(
        replace(
            option,
            feedback_html=reasons[option.letter].html if option.letter in reasons else "",
            feedback_text=reasons[option.letter].text if option.letter in reasons else "",
            misconception=misconceptions.get(option.letter, ""),
        )
        for option in options
    )


def read_rubric(check: Sequence[Token], render: Render) -> tuple[tuple[RubricPoint, ...], str]:
    """The points of a rubric, bullets "- (2) text", and the HTML of what a weak answer does."""
    points: list[RubricPoint] = []
    weak: list[str] = []
    for node in blocks(check):
        if node.kind == "bullet_list_open":
            for item in children_of(node):
                match = _POINTS.match(plain_text(item.tokens[:4]))
                if match:
                    inner = without_prefix(item.tokens[1:-1], _POINTS)
                    points.append(
                        RubricPoint(
                            points=int(match.group(1)),
                            text=collapse(plain_text(inner)),
                            html=_unwrapped(render(inner)),
                        )
                    )
        elif node.kind == "paragraph_open" and re.match(
            r"\s*(?:A\s+)?weak(?:er)?\s+answers?\b", plain_text(node.tokens), re.IGNORECASE
        ):
            weak.append(render(node.tokens))
    return tuple(points), "\n".join(weak)
