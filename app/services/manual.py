"""The list of problem codes in docs/authoring.md, written from the one table of codes.

`python -m app.services.manual` brings the file up to date; a test says when it is not.
"""

from pathlib import Path

from app.curriculum.codes import CODES, Code

BEGIN, END = "<!-- codes: written by app/services/manual.py -->", "<!-- end of codes -->"
GROUPS = {
    "FM": "Front matter and title",
    "HD": "Lines under the title",
    "SE": "Sections",
    "IT": "Items",
    "DT": "Hints and checks",
    "MC": "Choices",
    "NU": "Numbers",
    "OR": "Ordering",
    "RU": "Rubrics",
    "EX": "Comments",
    "WG": "Live figures",
    "PZ": "Puzzles",
    "CA": "Checked numbers",
    "RP": "Real-world reps",
    "LN": "Links and images",
    "HT": "HTML",
    "PI": "Other sites",
    "CD": "Code",
    "MM": "Diagrams",
    "MA": "Formulas",
    "TX": "The file as a whole",
    "CO": "The course",
    "HS": "House style (only with `house: teach`)",
}


def code_list() -> str:
    """Every code with its level, meaning, an example and the cure, as Markdown tables."""
    parts = []
    for prefix, title in GROUPS.items():
        rows = [_row(code) for code in CODES.values() if code.code.startswith(prefix)]
        head = "| code | level | means | for example | what to do |\n|---|---|---|---|---|"
        parts.append(f"### {title}\n\n{head}\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _row(code: Code) -> str:
    cells = (code.code, code.severity.value, _text(code.meaning), _code(code.example), _text(code.cure))
    return f"| {' | '.join(cells)} |"


def _text(words: str) -> str:
    """Words as Markdown prose: signs of Markdown and HTML stand for themselves."""
    for sign in "\\|<*_[":
        words = words.replace(sign, f"\\{sign}")
    return words


def _code(example: str) -> str:
    marks = "``" if "`" in example else "`"
    space = " " if marks == "``" else ""
    return f"{marks}{space}{example}{space}{marks}".replace("|", "\\|")


def updated(manual: str) -> str:
    """The manual with its list of codes as the table says."""
    before, _, rest = manual.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{code_list()}\n\n{END}{after}"


def main() -> None:
    """Bring docs/authoring.md up to date."""
    path = Path(__file__).parents[2] / "docs" / "authoring.md"
    path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
