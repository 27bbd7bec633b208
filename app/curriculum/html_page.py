"""A whole lesson as one plain piece of HTML: for export, print and tests.

Pages of the site have their own template.
"""

from html import escape

from app.curriculum.blocks import Block, Heading, Item, Lesson, Prose, Rep, Widget


def lesson_html(lesson: Lesson) -> str:
    """Everything a reader may see of the lesson, with hints and checks folded."""
    head = "".join(
        f"<p><strong>{label}:</strong> {html}</p>"
        for label, html in (
            ("Mission link", lesson.mission_html),
            ("Primary source", lesson.source_html),
            ("Prerequisites", lesson.prerequisites_html),
        )
        if html
    )
    body = "\n".join(block_html(block) for block in lesson.blocks)
    closing = f"<hr>\n{lesson.closing_html}" if lesson.closing_html else ""
    return f"<h1>{escape(lesson.title, quote=False)}</h1>\n{head}\n{body}\n{closing}".strip()


def block_html(block: Block) -> str:
    """One block."""
    match block:
        case Prose():
            return block.html
        case Heading():
            return f'<h{block.level} id="{escape(block.anchor)}">{block.html}</h{block.level}>'
        case Rep():
            return f'<ul class="reps"><li>{block.html}</li></ul>'
        case Widget():
            return (
                f"<figure><figcaption>{escape(block.caption, quote=False)}</figcaption></figure>"
                if block.caption
                else ""
            )
        case Item():
            return item_html(block)


def item_html(item: Item) -> str:
    """An item as a list entry that carries its number, then its hints and checks."""
    options = "".join(f"<li>{option.letter}) {option.html}</li>" for option in item.options)
    choice = f"<ul>{options}</ul>" if options else ""
    folds = [("Hint", hint.html) for hint in item.hints] + [("Check", check.html) for check in item.checks]
    folded = "".join(f"<details><summary>{name}</summary>{html}</details>" for name, html in folds)
    return f'<ol start="{item.number}"><li>{item.prompt_html}{choice}</li></ol>{folded}'
