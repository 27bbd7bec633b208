"""New courses and lessons: valid files to start from. Nothing that exists is ever overwritten."""

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from app.services import course_table

TEXTS = Path(__file__).resolve().parent.parent.parent / "templates" / "skeletons"
LONGEST_NAME = 120  # characters of a title
LONGEST_SLUG = 60  # characters of a file's or folder's name, without the number
DEFAULT_MINUTES = 15
_SPECIAL = re.compile(r"([\\`*_\[\]<>&#~|^$])")
_NUMBERED = re.compile(r"\s*(?:lesson\s+)?\d+\s*[.:)]\s+", re.IGNORECASE)
_RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"com{n}" for n in range(1, 10)),
    *(f"lpt{n}" for n in range(1, 10)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was written, or why nothing was."""

    written: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()  # not empty: nothing was written
    notes: tuple[str, ...] = ()


def new_course(lessons_dir: Path, name: str, *, title: str = "") -> Outcome:
    """A folder with README, GLOSSARY and RESOURCES for a course of this name.

    The folder's name is made of the name: lower case, hyphens for everything else.
    """
    title = _collapse(title or name)
    problems = [
        *_problems_of_name(name, "name"),
        *(_problems_of_name(title, "title") if title != name else []),
    ]
    if "/" in name or "\\" in name:
        problems.append(
            f"the name is the folder's name and holds no slash; choose the place with --lessons, "
            f"and give words with a slash as --title {json.dumps(title, ensure_ascii=False)}"
        )
    topic = slug_of(name)
    folder = lessons_dir / topic
    if not problems and not topic:
        problems.append("the name has no letters or digits to make a folder's name from")
    if not problems and topic in _RESERVED:
        problems.append(f"some systems keep the name {topic} for themselves; choose another")
    if not problems and folder.exists():
        problems.append(f"{folder} exists already; nothing was changed. Choose another name")
    if problems:
        return Outcome(problems=tuple(problems))
    words = _words(title)
    files = {folder / text: _text(text, words) for text in ("README.md", "GLOSSARY.md", "RESOURCES.md")}
    return _write(files, extra_folders=(folder / "lessons", folder / "reference", folder / "images"))


def new_lesson(lessons_dir: Path, course: str, title: str, *, minutes: int = DEFAULT_MINUTES) -> Outcome:
    """The next lesson of the course, and its row in the README's table.

    A title that the table lists as planned takes that row's number and file name.
    """
    title = _collapse(title)
    folder = _course_folder(lessons_dir, course)
    problems = _problems_of_name(title, "title")
    if folder is None:
        problems.insert(0, _no_such_course(lessons_dir, course))
    if _NUMBERED.match(title):
        problems.append("write the title without its number; the number is added")
    if not 1 <= minutes <= 600:
        problems.append(f"minutes is {minutes}; write a number from 1 to 600")
    if folder is None or problems:
        return Outcome(problems=tuple(problems))
    readme = folder / "README.md"
    lines, ending = _read_lines(readme)
    rows = course_table.rows(lines)
    planned = next((row for row in rows if row.slug and _same(row.title, title)), None)
    number = planned.number if planned else _next_number(folder, rows)
    slug = planned.slug if planned else f"{number:04d}-{slug_of(title) or 'lesson'}"
    target = folder / "lessons" / f"{slug}.md"
    taken = [path.name for path in (folder / "lessons").glob(f"{number:04d}-*.md")]
    if number > 9999:
        return Outcome(problems=("a course holds lessons 1 to 9999; this would be the next",))
    if taken or target.exists():
        return Outcome(problems=(f"lesson {number} exists already: {', '.join(taken)}; nothing was changed",))
    words = _words(title, number=number, minutes=minutes)
    words["prerequisites"] = _link_to_lesson_before(folder, number)
    words["warm_up"] = _text("warm-up.md", words) if number > 1 else ""
    outcome = _write({target: _text("lesson.md", words)})
    if outcome.problems or not lines:
        notes = () if outcome.problems else (f"{readme} does not exist, so the lesson is listed nowhere",)
        return Outcome(written=outcome.written, problems=outcome.problems, notes=notes)
    link = words["title_markdown"]
    changed = (
        course_table.with_link(lines, planned, link, slug)
        if planned
        else course_table.with_new_row(lines, number, link, slug, minutes)
    )
    readme.write_bytes(ending.join(changed).encode())
    return Outcome(written=(target, readme))


def slug_of(text: str, *, longest: int = LONGEST_SLUG) -> str:
    """Lower case, hyphens between words; Latin letters lose their accents, other scripts stay."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    plain = unicodedata.normalize("NFC", "".join(c for c in folded if not _is_latin_accent(c)))
    words = re.findall(r"[^\W_]+", plain)
    slug = ""
    for word in words:
        longer = f"{slug}-{word}" if slug else word
        if len(longer.encode()) > 3 * longest or len(longer) > longest:
            return slug or word[: longest // 2]
        slug = longer
    return slug


def _is_latin_accent(character: str) -> bool:
    return 0x300 <= ord(character) <= 0x36F


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _problems_of_name(text: str, what: str) -> list[str]:
    problems = []
    if not text.strip():
        problems.append(f"the {what} is empty")
    if len(text) > LONGEST_NAME:
        problems.append(f"the {what} has {len(text)} characters; {LONGEST_NAME} at most")
    strange = sorted({f"U+{ord(c):04X}" for c in text if _cannot_be_shown(c)})
    if strange:
        problems.append(f"the {what} has characters that cannot be shown ({', '.join(strange)}); remove them")
    return problems


def _cannot_be_shown(character: str) -> bool:
    """Control characters, and those that turn the direction of the text around them."""
    turns = unicodedata.bidirectional(character) in (
        "LRE",
        "RLE",
        "LRO",
        "RLO",
        "PDF",
        "LRI",
        "RLI",
        "FSI",
        "PDI",
    )
    return turns or unicodedata.category(character) in ("Cc", "Cs", "Co", "Cn")


def _text(name: str, words: Mapping[str, str]) -> str:
    return Template((TEXTS / name).read_text(encoding="utf-8")).substitute(words)


def _words(title: str, *, number: int = 0, minutes: int = 0) -> dict[str, str]:
    numbered = f"{number}. {title}" if number else title
    return {
        "title_yaml": json.dumps(numbered, ensure_ascii=False),
        "title_markdown": _SPECIAL.sub(r"\\\1", title),
        "number": str(number),
        "minutes": str(minutes),
    }


def _course_folder(lessons_dir: Path, course: str) -> Path | None:
    """The course by its name below the lessons, or by a path to it."""
    if not course.strip():
        return None
    for candidate in (lessons_dir / course, Path(course)):
        if candidate.is_dir() and ((candidate / "README.md").is_file() or (candidate / "lessons").is_dir()):
            return candidate
    return None


def _no_such_course(lessons_dir: Path, course: str) -> str:
    known = (
        sorted(path.name for path in lessons_dir.iterdir() if path.is_dir()) if lessons_dir.is_dir() else []
    )
    near = difflib.get_close_matches(course, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none yet'}."
    begin = f"Begin one: meshwright new course {slug_of(course) or 'NAME'}"
    return f"there is no course {course} in {lessons_dir}; {hint} {begin}"


def _next_number(folder: Path, rows: Iterable[course_table.Row]) -> int:
    written = [int(path.name[:4]) for path in (folder / "lessons").glob("[0-9][0-9][0-9][0-9]-*.md")]
    return max([0, *written, *(row.number for row in rows)]) + 1


def _same(one: str, other: str) -> bool:
    return _collapse(one).casefold() == _collapse(other).casefold()


def _link_to_lesson_before(folder: Path, number: int) -> str:
    earlier = sorted(
        path for path in (folder / "lessons").glob("[0-9][0-9][0-9][0-9]-*.md") if int(path.name[:4]) < number
    )
    return f"[Lesson {int(earlier[-1].name[:4])}]({earlier[-1].name})" if earlier else "none"


def _read_lines(path: Path) -> tuple[list[str], str]:
    if not path.is_file():
        return [], "\n"
    text = path.read_bytes().decode("utf-8-sig", "replace")
    ending = "\r\n" if "\r\n" in text else "\n"
    return text.split(ending), ending


def _write(files: Mapping[Path, str], extra_folders: tuple[Path, ...] = ()) -> Outcome:
    try:
        for folder in {*(path.parent for path in files), *extra_folders}:
            folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        return Outcome(problems=(f"cannot write {error.filename}: {error.strerror}",))
    return Outcome(written=tuple(files))
