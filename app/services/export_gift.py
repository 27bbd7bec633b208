"""Questions as GIFT, the text format that Moodle and others import.

The rules followed here are those of Moodle's importer: `~ = # { } :` and the backslash are escaped, a blank
line ends a question, `//` begins a comment, `####` the general feedback, weights stand in percent signs.
"""

from collections.abc import Iterable

from app.services.questions import Choice, Number, Question, in_one_line

_ESCAPES = str.maketrans({c: f"\\{c}" for c in "\\~=#{}:"} | {"\n": "\\n", "\r": None})


def escape_gift(text: str) -> str:
    """The text with everything escaped that GIFT gives a meaning to."""
    return text.translate(_ESCAPES)


def gift(questions: Iterable[Question], course_title: str) -> str:
    """One file for all questions; each lesson is a category."""
    parts, lesson = [], ""
    for question in questions:
        if question.lesson.slug != lesson:
            lesson = question.lesson.slug
            parts.append(
                f"$CATEGORY: $course$/top/{_category(course_title)}/{_category(_lesson_title(question))}"
            )
        parts.append(_question(question))
    return "\n\n".join(parts) + "\n" if parts else ""


def _lesson_title(question: Question) -> str:
    return (
        f"{question.lesson.number}. {question.lesson.title}"
        if question.lesson.number
        else question.lesson.title
    )


def _category(name: str) -> str:
    """A slash in a name is doubled; escapes are not undone in categories, so there are none."""
    return " ".join(name.replace("\\", " ").replace("/", "//").split())


def _question(question: Question) -> str:
    head = f"// {_comment(question.id)}\n::{escape_gift(question.title)}::[html]{_html(question.prompt_html)}"
    feedback = _general_feedback(question)
    if question.choices:
        return _block(head, _choices(question.choices), feedback)
    if question.order:
        pairs = [f"={_html(choice.html)} -> {place}" for place, choice in enumerate(question.order, start=1)]
        return _block(head, pairs, feedback)
    if question.number is not None:
        unit = f" <i>Answer in {question.unit}, without the unit.</i>" if question.unit else ""
        rows = [_number(question.number, 100), *(_number(wrong, 0) for wrong in question.wrong)]
        return _block(head + escape_gift(unit), rows, feedback, opening="{#")
    return f"{head}{{{feedback}}}"


def _block(head: str, rows: list[str], feedback: str, opening: str = "{") -> str:
    lines = [f"{head}{opening}", *(f"\t{row}" for row in rows), *([f"\t{feedback}"] if feedback else []), "}"]
    return "\n".join(lines)


def _choices(choices: tuple[Choice, ...]) -> list[str]:
    num_right = sum(choice.right for choice in choices)
    return [
        _mark(choice, num_right, len(choices)) + _html(choice.html) + _feedback(choice.feedback_html)
        for choice in choices
    ]


def _mark(choice: Choice, num_right: int, num_choices: int) -> str:
    """One right answer is "="; several share 100 %, and each wrong one takes back an equal share."""
    if num_right == 1:
        return "=" if choice.right else "~"
    share = 100 / num_right if choice.right else -100 / max(num_choices - num_right, 1)
    return f"~%{share:.5f}".rstrip("0").rstrip(".") + "%"


def _number(number: Number, percent: int) -> str:
    return f"=%{percent}%{number.low:.12g}..{number.high:.12g}{_feedback(number.feedback_html)}"


def _feedback(html: str) -> str:
    return f"#{_html(html)}" if html.strip() else ""


def _general_feedback(question: Question) -> str:
    html = "".join(question.checks_html)
    return f"####[html]{_html(html)}" if html.strip() else ""


def _html(html: str) -> str:
    """HTML on one line; an arrow in it would be taken for the one between the halves of a pair."""
    return escape_gift(in_one_line(html).replace("->", "-&gt;"))


def _comment(text: str) -> str:
    return " ".join(text.split())
