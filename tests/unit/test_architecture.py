"""The list of files in the docs is true, and every module says what it is."""

from scripts import architecture


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in (architecture.ROOT / "app").rglob("*.py") if path.name != "__init__.py"]
    assert [str(path) for path in silent if not architecture.first_line(path)] == []


def test_the_list_of_files_is_true() -> None:
    assert architecture.PAGE.read_text() == architecture.page(), (
        "run .venv/bin/python scripts/architecture.py"
    )
