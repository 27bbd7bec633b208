"""Typical mistakes of a new instructor: each message alone is enough to mend it.

Every case breaks the lesson that `new lesson` writes, reads what lint says, and then does exactly what the
message asks for: the line of the fix, or else the word or line that it names. Then lint is silent.
"""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.curriculum.blocks import Problem
from app.services.authoring import Linter
from app.services.remembering_engine import RememberingEngine
from app.services.skeletons import new_course, new_lesson

ENGINE = RememberingEngine()
Mend = Callable[[str, Problem], str]


@dataclass(frozen=True)
class Mistake:
    """What was changed, what lint must say about it, and what a reader of that message does."""

    name: str
    change: tuple[str, str]
    code: str
    says: tuple[str, ...]
    mend: Mend


def take_the_fix(text: str, problem: Problem) -> str:
    """The fix is the line as it should be."""
    lines = text.split("\n")
    lines[problem.line - 1] = problem.fix
    return "\n".join(lines)


def take_the_suggestion(text: str, problem: Problem) -> str:
    """ "… tolerence …; did you mean tolerance?": the word of the message that is nearly the one suggested."""
    before, found, right = re.split(r"([Dd]id you mean )", problem.message, maxsplit=1)
    right = right.split("?")[0]
    assert found
    [wrong] = difflib.get_close_matches(right, re.findall(r"[\w.-]+", before), n=1)
    return text.replace(wrong, right, 1)


def write_what_it_says(text: str, problem: Problem) -> str:
    """fix: write **112 GB**; the message names the text that is wrong."""
    right = re.search(r"\*\*.+\*\*", problem.fix)
    wrong = re.search(r"the text says (.+?), the engine", problem.message)
    assert right is not None
    assert wrong is not None
    return text.replace(f"**{wrong.group(1)}**", right.group(0))


def at_the_line(old: str, new: str) -> Mend:
    """Change a word in the line that the message names."""

    def mend(text: str, problem: Problem) -> str:
        lines = text.split("\n")
        assert old in lines[problem.line - 1], lines[problem.line - 1]
        lines[problem.line - 1] = lines[problem.line - 1].replace(old, new)
        return "\n".join(lines)

    return mend


def below_the_line(*added: str, skip: int = 0) -> Mend:
    """Add lines after the line that the message names."""

    def mend(text: str, problem: Problem) -> str:
        lines = text.split("\n")
        at = problem.line + skip
        return "\n".join([*lines[:at], *added, *lines[at:]])

    return mend


def anywhere(old: str, new: str) -> Mend:
    """Change what the message names."""
    return lambda text, problem: text.replace(old, new, 1)


CHOICES = "".join(
    f"    - {letter}) {words}\n"
    for letter, words in (
        ("a", "a choice that a common mistake leads to"),
        ("b", "the choice that is right"),
        ("c", "a choice that another mistake leads to"),
    )
)

MISTAKES = [
    Mistake(
        "a colon in the title",
        ('title: "2. Two"', "title: 2. Two: again"),
        "FM002",
        ("double quotes",),
        take_the_fix,
    ),
    Mistake(
        "a hash in the description",
        ("afterwards\n", "afterwards #1\n"),
        "FM008",
        ("cut at", "double quotes"),
        take_the_fix,
    ),
    Mistake(
        "the key is no option",
        ("**b)** Say", "**d)** Say"),
        "MC002",
        ("the Check says d, but the options are a, b, c",),
        at_the_line("**d)**", "**b)**"),
    ),
    Mistake(
        "the key is not bold",
        ("**b)** Say", "b) Say"),
        "MC002",
        ("begin it with the right letters in bold",),
        at_the_line("b)", "**b)**"),
    ),
    Mistake(
        "a Hint is not closed",
        ("not at the letter.\n\n</details>", "not at the letter.\n"),
        "DT004",
        ("not closed", "</details> on a line of its own"),
        below_the_line("</details>", "", skip=3),
    ),
    Mistake(
        "details without markdown",
        ('<details markdown="1"><summary>Hint', "<details><summary>Hint"),
        "DT001",
        ('markdown="1"',),
        take_the_fix,
    ),
    Mistake(
        "no blank line after the summary",
        ("Check</summary>\n\n**b)", "Check</summary>\n**b)"),
        "DT003",
        ("blank line", "after </summary>"),
        below_the_line(""),
    ),
    Mistake(
        "a kind that does not exist",
        ("kind: numeric", "kind: numerical"),
        "EX001",
        ("did you mean numeric?",),
        take_the_suggestion,
    ),
    Mistake(
        "a field misspelt",
        ("tolerance: 2%\nwrong", "tolerence: 2%\nwrong"),
        "EX004",
        ("did you mean tolerance?",),
        take_the_suggestion,
    ),
    Mistake(
        "a bracket left open",
        ("{billions: [7, 13, 70]}", "{billions: [7, 13, 70}"),
        "EX003",
        ("not closed",),
        at_the_line("70}", "70]}"),
    ),
    Mistake(
        "a colon in a text",
        ("say: That counts", "say: No: that counts"),
        "EX003",
        ("has :", "needs quotes"),
        at_the_line("No: that counts the weights only.", '"No: that counts the weights only."'),
    ),
    Mistake(
        "a name that is not varied, in the key",
        ("answer: 16*billions", "answer: 16*billion"),
        "NU001",
        ("the key uses billion, which vary does not list",),
        anywhere("16*billion\n", "16*billions\n"),
    ),
    Mistake(
        "a name that is not varied, in the prompt",
        ("A model has {billions}", "A model has {params}"),
        "EX008",
        ("the text has {params}, but vary does not list params",),
        at_the_line("{params}", "{billions}"),
    ),
    Mistake(
        "a wrong value that is right",
        ("value: 2*billions", "value: 16*billions"),
        "NU002",
        ("within the tolerance of the key", "Drop the wrong value"),
        anywhere("  - {value: 16*billions, tolerance: 2%, say: That counts the weights only.}\n", ""),
    ),
    Mistake(
        "an unknown unit",
        ("unit: GB", "unit: GBytes"),
        "NU005",
        ("the unit GBytes is unknown", "such as GB"),
        anywhere("GBytes", "GB"),
    ),
    Mistake(
        "a tolerance in words",
        ("tolerance: 2%\nwrong", "tolerance: two percent\nwrong"),
        "NU005",
        ("a percentage such as 2% or a number",),
        anywhere("two percent", "2%"),
    ),
    Mistake(
        "a number that is wrong",
        ("**112 GB**", "**120 GB**"),
        "CA002",
        ("the text says 120 GB, the engine says 112 GB",),
        write_what_it_says,
    ),
    Mistake(
        "a number with another name",
        (
            "16*billions of {billions: 7} as GB -->**112 GB**",
            "memory.model_state_bytes of {model: llama2-7b, zero_stage: 0} as GB -->**121 GB**",
        ),
        "CA001",
        ("did you mean memory.model_states_bytes?",),
        take_the_suggestion,
    ),
    Mistake(
        "a checked number that is not bold",
        ("**112 GB**", "112 GB"),
        "CA001",
        ("must be bold, directly after its comment",),
        at_the_line("112 GB", "**112 GB**"),
    ),
    Mistake(
        "a link to no lesson",
        ("(0001-one.md)", "(0001-own.md)"),
        "LN001",
        ("there is no lesson 0001-own; did you mean 0001-one?",),
        take_the_suggestion,
    ),
    Mistake(
        "a term that is not in the glossary",
        ("(../GLOSSARY.md)", "(../GLOSSARY.md#layouts)"),
        "LN001",
        ("the glossary has no term layouts; did you mean layout?",),
        anywhere("#layouts", "#layout"),
    ),
    Mistake(
        "a puzzle solved from the start",
        ("num_nodes: 1, tensor_parallel: 1", "num_nodes: 1, tensor_parallel: 8"),
        "PZ001",
        ("the preset already meets every requirement", "Choose a preset that fails"),
        anywhere("num_nodes: 1, tensor_parallel: 8", "num_nodes: 1, tensor_parallel: 1"),
    ),
    Mistake(
        "an example that fails",
        ("{tensor_parallel: 8, pipe", "{tensor_parallel: 1, pipe"),
        "PZ002",
        ("Not met: fits == yes (here no)",),
        anywhere("{tensor_parallel: 1, pipe", "{tensor_parallel: 8, pipe"),
    ),
    Mistake(
        "an example that breaks a rule",
        ("{tensor_parallel: 8, pipe", "{tensor_parallel: 7, pipe"),
        "PZ002",
        ("Nearest tensor_parallel: 4 or 8",),
        anywhere("{tensor_parallel: 7, pipe", "{tensor_parallel: 8, pipe"),
    ),
    Mistake(
        "a requirement on nothing",
        ("- fits == yes", "- fit == yes"),
        "CA001",
        ("there is no number called fit; did you mean fits?",),
        anywhere("- fit ==", "- fits =="),
    ),
    Mistake(
        "a requirement with one equals sign",
        ("- fits == yes", "- fits = yes"),
        "EX006",
        ("one of == != <= >= < >",),
        anywhere("fits = yes", "fits == yes"),
    ),
    Mistake(
        "a model that is not in the catalog",
        ("model: llama2-13b", "model: llama2-13"),
        "CA001",
        ("Did you mean llama2-13b?",),
        anywhere("llama2-13,", "llama2-13b,"),
    ),
    Mistake(
        "sections in another order",
        ("## Going further", "## Know this"),
        "SE001",
        ("Know this appears twice",),
        at_the_line("Know this", "Going further"),
    ),
    Mistake(
        "a section misspelt",
        ("## Practice", "## Practise"),
        "SE002",
        ("did you mean Practice?",),
        at_the_line("Practise", "Practice"),
    ),
    Mistake(
        "the number is not the file's",
        ('title: "2. Two"', 'title: "3. Two"'),
        "FM004",
        ("the title says lesson 3, the file's name says 2",),
        at_the_line("3.", "2."),
    ),
    Mistake(
        "choices at the margin",
        (CHOICES, CHOICES.replace("    - ", "- ")),
        "MC004",
        ("at column zero", "use 4"),
        anywhere(CHOICES.replace("    - ", "- "), CHOICES),
    ),
    Mistake(
        "no Check",
        ("<summary>Check</summary>\n\n**b)", "<summary>Answer</summary>\n\n**b)"),
        "DT005",
        ('"Answer" is neither Hint nor Check',),
        at_the_line("Answer", "Check"),
    ),
    Mistake(
        "a comment left open",
        ("id: lesson-2-choose\n-->", "id: lesson-2-choose\n"),
        "EX003",
        ("add --> on a line of its own",),
        below_the_line("-->", skip=1),
    ),
    Mistake(
        "the id of another item",
        ("lesson-2-choose", "lesson-1-choose"),
        "EX002",
        ("the id lesson-1-choose is used already in 0001-one", "Choose another id"),
        anywhere("lesson-1-choose", "lesson-2-choose-now"),
    ),
]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mistakes") / "lessons"
    new_course(root, "storage")
    new_lesson(root, "storage", "One")
    new_lesson(root, "storage", "Two")
    return root


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.name)
def test_the_message_alone_mends_it(course: Path, mistake: Mistake) -> None:
    path = course / "storage" / "lessons" / "0002-two.md"
    good = path.read_text()
    linter = Linter(ENGINE)
    try:
        old, new = mistake.change
        assert good.count(old) >= 1
        bad = good.replace(old, new, 1) if "markdown" not in old else _replace_last(good, old, new)
        path.write_text(bad)
        found = [one for one in linter.find([path]).problems if one.code == mistake.code]
        assert found, [f"{one.code} {one.message}" for one in linter.find([path]).problems]
        problem = found[0]
        for words in mistake.says:
            assert words in f"{problem.message} {problem.fix}"
        path.write_text(mistake.mend(bad, problem))
        left = [f"{one.path}:{one.line} {one.code} {one.message}" for one in linter.find([path]).problems]
        assert [one for one in left if "FM006" not in one] == []
    finally:
        path.write_text(good)


def _replace_last(text: str, old: str, new: str) -> str:
    head, found, tail = text.rpartition(old)
    return f"{head}{new if found else found}{tail}"
