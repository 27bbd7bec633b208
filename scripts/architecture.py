"""Write the list of files in docs/architecture.md from the first line of each module's docstring."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
MARK = "<!-- files: written by scripts/architecture.py -->\n"


def first_line(path: Path) -> str:
    """What the module says it is."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return text.split("\n", maxsplit=1)[0]


def listing() -> str:
    """A heading per folder, a line per file."""
    lines: list[str] = []
    folders = sorted({path.parent for path in (ROOT / "app").rglob("*.py")})
    for folder in folders:
        files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
        if not files:
            continue
        lines += ["", f"### `{folder.relative_to(ROOT)}/`", "", "| file | what it is |", "|---|---|"]
        lines += [f"| `{path.name}` | {first_line(path)} |" for path in files]
    return "\n".join(lines[1:]) + "\n"


def page() -> str:
    """The page as it should be: what is written by hand, then the list."""
    return PAGE.read_text().split(MARK)[0] + MARK + "\n" + listing()


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.exit(0)
