"""Checks on one lesson and on a whole course, beyond what the parser sees in a single file."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from app.curriculum.blocks import Item, ItemKind, Lesson, Problem, Severity
from app.curriculum.codes import CODES
from app.curriculum.course import Course
from app.curriculum.generate import unknown_names
from app.curriculum.header import NAMES

PRACTICE_ITEMS, REPS = 3, 3
_SEVERAL_LETTERS = re.compile(r"\(([a-h])\)|\b[Oo]ption ([a-h])\b")
_ORIGIN = re.compile(r"(\d{4})(?:-[\w-]+)?#(.+)")
_LESSON_HREF = re.compile(r"/courses/([^/]+)/lessons/([^/#]+)(?:#(.*))?")
_MACHINE_WORDS = (
    "delve",
    "leverage",
    "utilize",
    "seamless",
    "robustly",
    "tapestry",
    "game-changer",
    "in today's world",
)


def problem(code: str, lesson: Lesson, line: int, message: str, severity: Severity | None = None) -> Problem:
    """A problem of a lesson; its source line is filled in by whoever has the file."""
    entry = CODES[code]
    return Problem(
        path=lesson.path,
        line=max(1, line),
        code=code,
        severity=severity or entry.severity,
        message=message,
        fix=entry.cure,
    )


def check_lesson(lesson: Lesson) -> list[Problem]:
    """What a finished lesson has and this one lacks, and what gives answers away."""
    found = list(_items(lesson))
    if lesson.type == "lesson":
        found += _whole(lesson)
    if str(lesson.front_matter.get("house", "")).lower() == "teach":
        found += _house_style(lesson)
    return found


def _whole(lesson: Lesson) -> Iterator[Problem]:
    if not lesson.has_front_matter and not any(p.code == "FM001" for p in lesson.problems):
        yield problem("FM001", lesson, 1, "no front matter; title and number were taken from the file's name")
    parts = {
        "mission": lesson.mission_html,
        "source": lesson.source_html,
        "prerequisites": lesson.prerequisites_html,
    }
    for key, html in parts.items():
        if not html:
            yield problem("HD002", lesson, 1, f"the line **{NAMES[key]}:** is missing under the title")
    for name in ("Know this", "Practice"):
        if name not in lesson.sections:
            yield problem("SE001", lesson, 1, f"no {name} section", Severity.WARNING)
    practice = [item for item in lesson.items if item.section == "Practice"]
    if practice and len(practice) < PRACTICE_ITEMS:
        yield problem(
            "SE003",
            lesson,
            practice[0].line,
            f"Practice has {len(practice)} items; write at least three, easy to hard",
        )
    if "Real-world reps" not in lesson.sections:
        yield problem("RP001", lesson, 1, "no Real-world reps section; write at least three tasks")
    elif lesson.reps and not any(rep.tomorrow for rep in lesson.reps):
        yield problem("RP002", lesson, lesson.reps[0].line, 'no rep starts with "Tomorrow:"')


def _items(lesson: Lesson) -> Iterator[Problem]:
    for item in lesson.items:
        if item.kind is ItemKind.MCQ:
            yield from _choice(lesson, item)
        for name in unknown_names(item):
            yield problem(
                "EX008", lesson, item.line, f"the text has {{{name}}}, but vary does not list {name}"
            )


def _choice(lesson: Lesson, item: Item) -> Iterator[Problem]:
    right = [option for option in item.options if option.letter in item.correct]
    wrong = [option for option in item.options if option.letter not in item.correct]
    if right and wrong:
        longest = max(len(option.text) for option in wrong)
        for option in right:
            if len(option.text) > 1.5 * longest and len(option.text) - longest > 20:
                size = len(option.text)
                message = f"option {option.letter} has {size} characters, the longest wrong one {longest}"
                yield problem("MC001", lesson, item.line, message)
        silent = [option.letter for option in wrong if not option.feedback_html]
        if silent and item.graded:
            yield problem(
                "MC006", lesson, item.line, f"no reason is given for {', '.join(silent)}", Severity.INFO
            )
    if item.shuffle:
        texts = [item.prompt_text, *(o.text for o in item.options), *(o.feedback_text for o in item.options)]
        named = next((m.group(1) or m.group(2) for text in texts if (m := _SEVERAL_LETTERS.search(text))), "")
        if named:
            yield problem(
                "MC005", lesson, item.line, f"the options are shuffled, but a text names option {named}"
            )
    texts_of_right = [option.text.casefold() for option in right if len(option.text) >= 12]
    for hint in item.hints:
        if any(text in hint.text.casefold() for text in texts_of_right):
            yield problem("NU004", lesson, hint.line, "the hint contains the right option")


def _house_style(lesson: Lesson) -> Iterator[Problem]:
    for block in lesson.blocks:
        text = getattr(block, "text", "") or getattr(block, "prompt_text", "")
        if "—" in text or "–" in re.sub(r"\d\s*–\s*\d", "", text):
            yield problem("HS001", lesson, block.line, "house style: a dash stands in the text")
        for word in _MACHINE_WORDS:
            if word in text.lower():
                yield problem("HS001", lesson, block.line, f"house style: {word}")
    if not lesson.closing_html:
        yield problem("HS001", lesson, 1, "house style: the closing text after --- is missing")


def check_course(course: Course) -> list[Problem]:
    """Ids, links, prerequisites, the lesson table, skills and misconceptions, over all files of a course."""
    return [
        *_ids(course),
        *_anchors(course),
        *_circles(course),
        *_table(course),
        *_declared(course),
        *_origins(course),
        *_missing(course),
    ]


def _ids(course: Course) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for lesson in course.lessons.values():
        for item in lesson.items:
            if item.id in seen and not re.fullmatch(r"[\w-]+-[0-9a-f]{8}(-\d+)?", item.id):
                yield problem(
                    "EX002", lesson, item.line, f"the id {item.id} is used already in {seen[item.id]}"
                )
            seen.setdefault(item.id, lesson.slug)


def _anchors(course: Course) -> Iterator[Problem]:
    for page in course.pages:
        own = set(page.anchors) | _item_anchors(page)
        for link in page.links:
            if link.written.startswith("#") and len(link.written) > 1 and link.written[1:] not in own:
                yield problem(
                    "LN001",
                    page,
                    link.line,
                    f"the link leads nowhere: this page has no heading {link.written}",
                )
            match = _LESSON_HREF.fullmatch(link.href)
            if not match or match.group(1) != course.topic or not match.group(3):
                continue
            target = course.lessons.get(match.group(2))
            if target and match.group(3) not in set(target.anchors) | _item_anchors(target):
                message = f"the link leads nowhere: {target.slug} has no heading or item {match.group(3)}"
                yield problem("LN001", page, link.line, message)


def _item_anchors(lesson: Lesson) -> set[str]:
    return {item.id for item in lesson.items} | {f"item-{item.id}" for item in lesson.items}


def _needs(course: Course) -> dict[str, list[str]]:
    """Lesson slug → slugs of the lessons that its Prerequisites line names."""
    pattern = re.compile(r"(?:\./|\.\./lessons/|lessons/)?(\d{4}-[^/#]+)\.md(?:#.*)?")
    return {
        slug: [
            m.group(1)
            for written in lesson.prerequisites
            if (m := pattern.fullmatch(written)) and m.group(1) in course.lessons
        ]
        for slug, lesson in course.lessons.items()
    }


def _circles(course: Course) -> Iterator[Problem]:
    needs = _needs(course)
    done: set[str] = set()
    for start in needs:
        trail: list[str] = []
        stack = [(start, iter(needs[start]))]
        if start in done:
            continue
        trail.append(start)
        while stack:
            slug, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                done.add(slug)
                stack.pop()
                trail.pop()
            elif following in trail:
                circle = [*trail[trail.index(following) :], following]
                yield problem(
                    "CO002",
                    course.lessons[slug],
                    1,
                    f"prerequisites go round in a circle: {' needs '.join(circle)}",
                )
            elif following not in done:
                trail.append(following)
                stack.append((following, iter(needs[following])))


def _table(course: Course) -> Iterator[Problem]:
    if course.readme is None:
        return
    listed: dict[str, int] = {}
    for row in course.rows:
        lesson = course.lessons.get(row.slug)
        if row.slug in listed:
            yield problem("CO001", course.readme, row.line, f"{row.slug} stands in the table twice")
        listed[row.slug] = row.line
        if lesson is None:
            if row.linked:
                message = f"the table links {row.slug}, which is not there; while it is planned write its slug as code"
                yield problem("CO001", course.readme, row.line, message)
            continue
        if not row.linked:
            message = f"{row.slug} is written; make it a link: [{lesson.title}](lessons/{row.slug}.md)"
            yield problem("CO001", course.readme, row.line, message)
        if row.number != lesson.number:
            yield problem(
                "CO001",
                course.readme,
                row.line,
                f"the table says lesson {row.number}, the file says {lesson.number}",
            )
        if _plain(row.title) != _plain(lesson.title):
            yield problem(
                "CO001",
                course.readme,
                row.line,
                f'the table says "{row.title}", the lesson is called "{lesson.title}"',
            )
    for slug, lesson in course.lessons.items():
        if slug not in listed and course.rows:
            yield problem("CO001", lesson, 1, "the README's lesson table does not list this lesson")
    for first, second in pairwise(course.rows):
        if second.number <= first.number:
            message = f"lesson {second.number} stands after lesson {first.number}"
            yield problem("CO001", course.readme, second.line, message, Severity.WARNING)


def _plain(title: str) -> str:
    return re.sub(r"[\W_]+", " ", title).strip().casefold()


def _declared(course: Course) -> Iterator[Problem]:
    if course.skills:
        used = set()
        for lesson, item in _all_items(course):
            used.add(item.skill)
            if item.skill and item.skill not in course.skills:
                yield problem(
                    "CO003", lesson, item.line, f"the skill {item.skill} is not declared in the README"
                )
        if course.readme and all(entry.published for entry in course.entries):
            for skill in course.skills:
                if skill not in used:
                    yield problem("CO005", course.readme, 1, f"no item trains the skill {skill}")
    if course.misconceptions:
        for lesson, item in _all_items(course):
            named = [o.misconception for o in item.options] + [w.misconception for w in item.wrong]
            for name in dict.fromkeys(named):
                if name and name not in course.misconceptions:
                    yield problem(
                        "CO003", lesson, item.line, f"the misconception {name} is not declared in the README"
                    )


def _all_items(course: Course) -> Iterable[tuple[Lesson, Item]]:
    return ((lesson, item) for lesson in course.lessons.values() for item in lesson.items)


def _origins(course: Course) -> Iterator[Problem]:
    by_number: Mapping[str, Lesson] = {slug[:4]: lesson for slug, lesson in course.lessons.items()}
    planned = {row.slug[:4] for row in course.rows}
    for lesson, item in _all_items(course):
        if not item.origin:
            continue
        match = _ORIGIN.fullmatch(item.origin)
        source = by_number.get(match.group(1)) if match else None
        if match is None:
            yield problem("CO004", lesson, item.line, f'from: {item.origin} must be written "0012#item-id"')
        elif source is None and match.group(1) not in planned:
            yield problem("CO004", lesson, item.line, f"from: there is no lesson {match.group(1)}")
        elif source is not None and source.item(match.group(2)) is None:
            yield problem("CO004", lesson, item.line, f"from: {source.slug} has no item {match.group(2)}")


def _missing(course: Course) -> Iterator[Problem]:
    anywhere = course.readme or next(iter(course.lessons.values()), None)
    if anywhere is None:
        return
    if course.readme is None:
        yield problem("CO006", anywhere, 1, f"the course {course.topic} has no README.md")
    else:
        if not course.mission_html:
            yield problem("CO006", course.readme, 1, "the README has no ## Mission")
        if not course.success:
            yield problem(
                "CO006", course.readme, 1, 'the README has no bullets under "## Success looks like"'
            )
    if course.glossary is None:
        yield problem("CO006", anywhere, 1, f"the course {course.topic} has no GLOSSARY.md")
    for term in course.terms:
        if not term.text and course.glossary:
            yield problem(
                "CO006", course.glossary, 1, f"the glossary's term {term.title} has no words under it"
            )
