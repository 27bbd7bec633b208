"""The instructors' commands: what they write, what they say, how they exit."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from http.client import HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from app.cli import cli

runner = CliRunner()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with lessons/."""
    (tmp_path / "lessons").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, exit_code: int = 0) -> tuple[str, str]:
    result = runner.invoke(cli, list(arguments))
    assert result.exit_code == exit_code, result.output
    assert "Traceback" not in result.output
    return result.stdout, result.stderr


@pytest.fixture
def lesson(here: Path) -> Path:
    run("new", "course", "Storage")
    run("new", "lesson", "storage", "What a Checkpoint Holds", "--minutes", "9")
    return here / "lessons" / "storage" / "lessons" / "0001-what-a-checkpoint-holds.md"


def test_from_nothing_to_a_clean_lesson(here: Path) -> None:
    out, _ = run("new", "course", "Storage")
    assert "wrote lessons/storage/README.md" in out
    assert 'Next: meshwright new lesson storage "' in out
    out, _ = run("new", "lesson", "storage", "What a Checkpoint Holds")
    assert "wrote lessons/storage/lessons/0001-what-a-checkpoint-holds.md" in out
    assert "added it to lessons/storage/README.md" in out
    out, _ = run("lint", "lessons")
    assert out == "4 files: nothing to mend\n"


def test_problems_go_to_standard_error_all_at_once(here: Path) -> None:
    out, err = run("new", "course", "a/b\a", exit_code=1)
    assert out == ""
    assert len(err.splitlines()) == 2
    assert all(line.startswith("meshwright: ") for line in err.splitlines())
    _, err = run("new", "lesson", "nowhere", "", exit_code=1)
    assert "there is no course nowhere" in err
    assert "the title is empty" in err


def test_parse_prints_what_was_understood(lesson: Path) -> None:
    out, _ = run("parse", str(lesson), "--json")
    data = json.loads(out)
    assert data["lesson"]["number"] == 1
    assert [item["kind"] for item in data["items"]] == ["mcq", "numeric", "calculator"]
    assert data["diagnostics"] == []


def test_parse_tells_problems_and_fails_only_on_what_it_cannot_read(lesson: Path, here: Path) -> None:
    lesson.write_text(lesson.read_text().replace("**b)** Say", "**x)** Say"))
    out, _ = run("parse", str(lesson))
    assert "MC002" in {one["code"] for one in json.loads(out)["diagnostics"]}
    _, err = run("parse", "nope.md", exit_code=2)
    assert err.startswith("meshwright: nope.md: ")


def test_parse_reads_standard_input(here: Path) -> None:
    result = runner.invoke(cli, ["parse", "-", "--json"], input="# Lesson 7. Counting\n")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["lesson"]["number"] == 7


def test_lint_says_which_file_it_cannot_read(here: Path) -> None:
    (here / "notes").mkdir()
    (here / "notes" / "gone.md").symlink_to("nowhere.md")
    (here / "notes" / "good.md").write_text("# Lesson 7. Counting\n")
    text, _ = run("lint", "notes", exit_code=1)
    assert "notes/gone.md:1: TX003 error: the file cannot be read: No such file or directory" in text
    assert "notes/good.md:1: FM001" in text


def test_lint_formats(lesson: Path) -> None:
    lesson.write_text(lesson.read_text().replace("**b)** Say", "**x)** Say"))
    shown = "lessons/storage/lessons/0001-what-a-checkpoint-holds.md"
    text, _ = run("lint", "lessons", exit_code=1)
    assert re.search(rf"^{re.escape(shown)}:\d+: MC002 error: .+\n    \S.*\n    fix: .+", text, re.MULTILINE)
    assert "1 error, 0 warnings" in text
    github, _ = run("lint", "lessons", "--format", "github", exit_code=1)
    assert github.startswith(f"::error file={shown},line=")
    data = json.loads(run("lint", str(lesson), "--format", "json", exit_code=1)[0])
    assert (data["errors"], data["problems"][0]["code"]) == (1, "MC002")
    _, err = run("lint", "lessons", "--format", "xml", exit_code=2)
    assert "xml" in err


def test_a_path_that_does_not_exist(here: Path) -> None:
    out, _ = run("lint", "lesons", exit_code=2)
    assert "lesons: there is no such file or folder" in out


def test_fix_mends_and_shows_the_difference(lesson: Path) -> None:
    good = lesson.read_text()
    bad = good.replace('<details markdown="1">', "<details>").replace("\n2. ▢", "\n7. ▢")
    bad = re.sub(r'title: "(.*)"', r"title: \1: why # not", bad).replace(
        "Lesson 1. What a", "Lesson 1. What a"
    )
    lesson.write_text(bad)
    notes = lesson.parents[1] / "NOTES.md"
    notes.write_text("## Practice\n\n5. ▢ private\n")
    out, _ = run("lint", "lessons", "--fix", exit_code=1)  # the H1 does not say what the title says
    assert '-<details><summary>Hint</summary>\n+<details markdown="1"><summary>Hint</summary>' in out
    assert "-7. ▢" in out
    assert "+2. ▢" in out
    assert "DT001" not in out
    assert notes.read_text() == "## Practice\n\n5. ▢ private\n"
    again = lesson.read_text()
    run("lint", "lessons", "--fix", exit_code=1)
    assert lesson.read_text() == again
    assert 'title: "1. What a Checkpoint Holds: why # not"' in again


def test_watch_lints_again_on_every_save(lesson: Path) -> None:
    command = [Path(sys.executable).parent / "meshwright", "lint", "lessons", "--watch"]
    with subprocess.Popen(command, cwd=lesson.parents[3], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        guard = threading.Timer(60, process.kill)
        guard.start()
        assert process.stdout.readline() == "4 files: nothing to mend\n"
        good = lesson.read_text()
        lesson.write_text(good.replace("**b)** Say", "**x)** Say"))
        seen = until(process.stdout, "1 error")
        assert "MC002 error" in seen
        lesson.write_text(good)
        assert "MC002" not in until(process.stdout, "nothing to mend")
        guard.cancel()
        process.terminate()


def until(stream: IO[str], words: str) -> str:
    """Everything up to the line with these words."""
    lines = []
    while words not in (line := stream.readline()):
        assert line, "the watch ended"
        lines.append(line)
    return "".join(lines)


def test_export(lesson: Path, here: Path) -> None:
    out, _ = run("export", "storage", "--to", "out")
    assert re.match(r"wrote \d+ files to out\n", out)
    assert (here / "out" / "index.html").is_file()
    _, err = run("export", "storage", "--to", "out", exit_code=1)
    assert "add --replace" in err
    run("export", "storage", "--to", "out", "--replace", "--format", "markdown")
    _, err = run("export", "stora", "--to", "out2", exit_code=1)
    assert "there is no course stora; there are: storage" in err


def test_preview_says_what_is_wrong(here: Path) -> None:
    _, err = run("preview", "nowhere", exit_code=2)
    assert "there is no nowhere" in err


def test_preview_ends_quietly_while_a_page_follows_it(lesson: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [Path(sys.executable).parent / "meshwright", "preview", lesson, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        assert process.stdout is not None
        address = process.stdout.readline().split("at ")[1].split(" ")[0]
        assert address == f"http://127.0.0.1:{port}/preview/storage/lessons/{lesson.name}"
        page = opened(address)
        assert b"1. What a Checkpoint Holds" in page.read()
        page.close()
        with opened(f"http://127.0.0.1:{port}/preview/events") as events:
            assert events.readline().startswith(b"data: ")
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate()
        guard.cancel()
    assert (process.returncode, rest) == (0, "")


def opened(url: str) -> HTTPResponse:
    """The answer, as soon as the server is up."""
    deadline = time.monotonic() + 60
    while True:
        try:
            answer: HTTPResponse = urlopen(url, timeout=30)
        except URLError:
            assert time.monotonic() < deadline, "the preview did not answer"
            time.sleep(0.1)
        else:
            return answer
