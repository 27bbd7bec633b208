"""docs/authoring.md lists every code; every code that is reported is in the table."""

import re
from pathlib import Path

from app.curriculum.codes import CODES
from app.curriculum.html_page import lesson_html
from app.curriculum.parser import parse
from app.services.manual import BEGIN, GROUPS, code_list, updated

ROOT = Path(__file__).parents[3]
MANUAL = ROOT / "docs" / "authoring.md"


def test_the_manual_is_up_to_date() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    assert BEGIN in text
    assert updated(text) == text, "run: python -m app.services.manual"


def test_every_code_belongs_to_a_group_and_has_words() -> None:
    listed = re.findall(r"^\| ([A-Z]{2}\d{3}) ", code_list(), re.MULTILINE)
    assert sorted(listed) == sorted(CODES)
    assert {code[:2] for code in CODES} == set(GROUPS)
    for code in CODES.values():
        assert code.meaning
        assert code.example
        assert code.cure


def test_every_code_in_the_program_is_in_the_table_and_the_other_way_round() -> None:
    sources = [path for path in (ROOT / "app").rglob("*.py") if path.name != "codes.py"]
    used = {
        code
        for path in sources
        for code in re.findall(r'"([A-Z]{2}\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert used - set(CODES) == set()
    assert set(CODES) - used == set()


def test_the_list_reads_well_as_markdown() -> None:
    lesson = parse(code_list(), course="c", slug="codes", path="codes.md", folder="reference")
    assert lesson.tables == len(GROUPS)
    assert [problem.code for problem in lesson.problems] == []
    html = lesson_html(lesson)
    assert "<code>&lt;script&gt;, onclick=, javascript:</code>" in html
