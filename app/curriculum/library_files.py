"""The files of a folder of courses by their role, and what the README's table makes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.curriculum.blocks import Heading, Lesson, Prose
from app.curriculum.course import IMAGE_TYPES, PLANNED, PUBLISHED, ArcPart, LessonEntry, Term
from app.curriculum.course_readme import Part, Readme

Stamps = Mapping[Path, tuple[int, int]]  # modification time and size


@dataclass(slots=True)
class Folder:
    """The files of one course by their role."""

    path: Path
    pages: dict[str, Path] = field(default_factory=dict)  # README, GLOSSARY, RESOURCES
    lessons: dict[str, Path] = field(default_factory=dict)
    references: dict[str, Path] = field(default_factory=dict)
    images: dict[str, Path] = field(default_factory=dict)  # by the path below images/


def read_stamps(root: Path) -> dict[Path, tuple[int, int]]:
    """Modification time and size of every file that could matter.

    A link that leads out of the folder is left out: nothing from elsewhere is published by accident.
    """
    found = {}
    inside = root.resolve()
    for path in root.rglob("*") if root.is_dir() else ():
        if path.suffix.lower() == ".md" or path.suffix.lower() in IMAGE_TYPES:
            try:
                if path.is_symlink() and not path.resolve().is_relative_to(inside):
                    continue
                status = path.stat()
            except (OSError, RuntimeError):  # RuntimeError: links that go round in a circle
                continue
            found[path] = (status.st_mtime_ns, status.st_size)
    return found


def find_folders(root: Path, stamps: Stamps) -> dict[str, Folder]:
    """The courses and their files. Private files (NOTES.md, learning-records/) are not among them."""
    folders: dict[str, Folder] = {}
    for path in sorted(stamps):
        parts = path.relative_to(root).parts
        if len(parts) < 2 or any(part.startswith(".") for part in parts):
            continue
        topic, rest = parts[0], parts[1:]
        folder = folders.setdefault(topic, Folder(root / topic))
        if path.suffix.lower() != ".md":
            if "images" in rest[:2]:
                folder.images["/".join(rest[rest.index("images") + 1 :])] = path
        elif len(rest) == 1 and path.stem in ("README", "GLOSSARY", "RESOURCES"):
            folder.pages[path.stem] = path
        elif len(rest) == 2 and rest[0] == "lessons":
            folder.lessons[path.stem] = path
        elif len(rest) == 2 and rest[0] == "reference":
            folder.references[path.stem] = path
    return {topic: folder for topic, folder in folders.items() if folder.pages or folder.lessons}


def arc_of(readme: Readme, lessons: Mapping[str, Lesson]) -> tuple[ArcPart, ...]:
    """The arc of the README; lessons that no table lists come last, by number."""
    parts = [_part(part, lessons) for part in readme.parts]
    listed = {row.slug for row in readme.rows}
    others = sorted(
        (lesson for slug, lesson in lessons.items() if slug not in listed),
        key=lambda one: (one.number, one.slug),
    )
    if others:
        entries = tuple(
            LessonEntry(
                number=one.number,
                title=one.title,
                slug=one.slug,
                minutes=one.minutes,
                status=PUBLISHED,
                description=one.description,
            )
            for one in others
        )
        parts.append(ArcPart(title="More lessons" if parts else "Lessons", intro_html="", lessons=entries))
    return tuple(parts)


def _part(part: Part, lessons: Mapping[str, Lesson]) -> ArcPart:
    entries = []
    for row in part.rows:
        lesson = lessons.get(row.slug)
        entries.append(
            LessonEntry(
                number=lesson.number if lesson else row.number,
                title=lesson.title if lesson else row.title,
                slug=row.slug,
                minutes=(lesson.minutes if lesson else 0) or row.minutes,
                status=PUBLISHED if lesson else PLANNED,
                description=lesson.description if lesson else "",
            )
        )
    return ArcPart(title=part.title, intro_html=part.intro_html, lessons=tuple(entries))


def terms_of(glossary: Lesson | None) -> tuple[Term, ...]:
    """One term per ### heading (## when there are no ###), with the prose under it."""
    if glossary is None:
        return ()
    levels = {block.level for block in glossary.blocks if isinstance(block, Heading)}
    wanted = 3 if 3 in levels else 2
    terms: list[Term] = []
    inside = False
    for block in glossary.blocks:
        if isinstance(block, Heading):
            inside = block.level == wanted
            if inside:
                terms.append(Term(anchor=block.anchor, title=block.text, html="", text=""))
        elif isinstance(block, Prose) and inside:
            last = terms[-1]
            terms[-1] = replace(
                last, html=f"{last.html}\n{block.html}".strip(), text=f"{last.text} {block.text}".strip()
            )
    return tuple(terms)


def declared_by(readme: Lesson | None, name: str) -> dict[str, str]:
    declared = readme.declarations.get(name) if readme else None
    if isinstance(declared, Mapping):
        return {str(key): str(value) for key, value in declared.items()}
    return {str(key): "" for key in declared} if isinstance(declared, list) else {}
