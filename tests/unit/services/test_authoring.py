"""The instructors' commands: parse one file, lint many."""

import json
from pathlib import Path

import pytest

from app.services.authoring import find_problems, lint, parse_file
from tests.unit.curriculum.helpers import FakeEngine

CASES = Path(__file__).parents[2] / "data" / "lesson_cases"
BAD = (
    "## Practice\n\n1. ▢ Q?\n\n    - a) x\n    - b) y\n\n<details><summary>Check</summary>\n\n"
    "**d)** no\n\n</details>\n"
)


def test_parse_file_gives_the_shape_of_the_cases() -> None:
    expected = json.loads((CASES / "28-superset-item-kinds.expected.json").read_text(encoding="utf-8"))
    got = parse_file(CASES / "28-superset-item-kinds.md")
    assert [item["id"] for item in got["items"] if "id" in item][:2] == ["state-7b", "fit-64"]
    assert len(got["items"]) == len(expected["items"])
    assert got["reps"] == expected["reps"]
    assert json.loads(json.dumps(got)) == got


NAMES = sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.expected.json"))


@pytest.mark.parametrize("name", NAMES)
def test_every_case_through_the_command(name: str, tmp_path: Path) -> None:
    expected = json.loads((CASES / f"{name}.expected.json").read_text(encoding="utf-8"))
    file = tmp_path / expected["file"]
    file.write_text((CASES / f"{name}.md").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "bubble.svg").write_text("<svg/>")
    got = parse_file(file)
    found = sorted((d["line"], d["code"], d["severity"]) for d in got["diagnostics"])
    assert found == sorted((d["line"], d["code"], d["severity"]) for d in expected["diagnostics"])
    assert [item["kind"] for item in got["items"]] == [item["kind"] for item in expected["items"]]


def test_parse_file_judges_links_by_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.svg").write_text("<svg/>")
    (tmp_path / "0001-x.md").write_text(
        "## Know this\n\n![a](images/a.svg) ![b](images/b.svg) [c](notes.txt) [d](0002-y.md)\n"
    )
    got = parse_file(tmp_path / "0001-x.md")
    assert [d["code"] for d in got["diagnostics"]] == ["LN001", "LN001", "LN002"]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "0001-x.md").write_bytes(b"## Know this\n\ncaf\xe9\n")
    got = parse_file(tmp_path / "0001-x.md")
    assert got["diagnostics"][0]["code"] == "TX003"
    assert got["lesson"]["sections"] == ["Know this"]


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "0002-x.md").write_text(BAD, encoding="utf-8")
    return tmp_path / "0002-x.md"


def test_text_names_place_code_source_and_cure(bad: Path) -> None:
    text, status = lint([bad], engine=FakeEngine())
    assert status == 1
    lines = text.split("\n")
    at = lines.index("0002-x.md:10: MC002 error: the Check says d, but the options are a, b")
    assert lines[at + 1] == "    **d)** no"
    assert lines[at + 2].startswith("    fix: Begin the Check with the right letters in bold")
    assert any(line.startswith("0002-x.md:8: DT001 error: ") for line in lines)
    assert '    fix: <details markdown="1"><summary>Check</summary>' in lines
    assert lines[-1].startswith("1 file: ")


def test_github_annotations_are_escaped(bad: Path) -> None:
    text, status = lint([bad], "github", FakeEngine())
    assert status == 1
    assert "::error file=0002-x.md,line=10,title=MC002::the Check says d" in text
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in text.split("\n"))


def test_json_has_every_problem(bad: Path) -> None:
    text, _ = lint([bad], "json", FakeEngine())
    data = json.loads(text)
    assert data["files"] == 1
    assert data["errors"] == sum(1 for problem in data["problems"] if problem["severity"] == "error")
    assert {problem["path"] for problem in data["problems"]} == {"0002-x.md"}


def test_missing_path(bad: Path) -> None:
    text, status = lint([bad.parent / "none"], engine=FakeEngine())
    assert status == 2
    assert "there is no such file or folder" in text


def make_course(root: Path, name: str) -> Path:
    course = root / name
    (course / "lessons").mkdir(parents=True)
    (course / "README.md").write_text("# C\n\n## Mission\n\nM.\n", encoding="utf-8")
    (course / "lessons" / "0002-x.md").write_text(BAD, encoding="utf-8")
    return course


def test_a_folder_a_course_and_a_file_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "lessons"
    one, _ = make_course(root, "one"), make_course(root, "two")
    engine = FakeEngine()
    everything = find_problems([root], engine)
    assert everything.num_files == 4
    assert {p.path.split("/")[1] for p in everything.problems} == {"one", "two"}
    course = find_problems([one], engine)
    assert course.num_files == 2
    assert {p.path.split("/")[1] for p in course.problems} == {"one"}
    file = find_problems([one / "lessons" / "0002-x.md"], engine)
    assert (file.num_files, {p.path for p in file.problems}) == (1, {"lessons/one/lessons/0002-x.md"})
    assert all(p.source or p.line == 1 for p in file.problems)


def test_loose_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(BAD, encoding="utf-8")
    (tmp_path / "b.md").write_text(BAD, encoding="utf-8")
    assert find_problems([tmp_path], FakeEngine()).num_files == 2
