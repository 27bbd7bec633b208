"""Checks over all files of a course."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from app.curriculum.blocks import Item, Lesson, Problem, Severity
from app.curriculum.course import Course
from app.curriculum.course_readme import Row
from app.curriculum.report import problem

_ORIGIN = re.compile(r"(\d{4})(?:-[\w-]+)?#(.+)")
_LESSON_HREF = re.compile(r"/courses/([^/]+)/lessons/([^/#]+)(?:#(.*))?")
_DERIVED_ID = re.compile(r"[\w-]+-[0-9a-f]{8}(-\d+)?")


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
            if item.id in seen and not _DERIVED_ID.fullmatch(item.id):
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
                message = f"the table links {row.slug}, which does not exist; plan it as plain text and code"
                yield problem("CO001", course.readme, row.line, message)
            continue
        for message in _differences(row, lesson):
            yield problem("CO001", course.readme, row.line, message)
    for slug, lesson in course.lessons.items():
        if slug not in listed and course.rows:
            yield problem("CO001", lesson, 1, "the README's lesson table does not list this lesson")
    for first, second in pairwise(course.rows):
        if second.number <= first.number:
            message = f"lesson {second.number} stands after lesson {first.number}"
            yield problem("CO001", course.readme, second.line, message, Severity.WARNING)


def _differences(row: Row, lesson: Lesson) -> Iterator[str]:
    """What the table says otherwise than the lesson."""
    if not row.linked:
        yield f"{row.slug} is written; make it a link: [{lesson.title}](lessons/{row.slug}.md)"
    if row.number != lesson.number:
        yield f"the table says lesson {row.number}, the file says {lesson.number}"
    if _plain(row.title) != _plain(lesson.title):
        yield f'the table says "{row.title}", the lesson is called "{lesson.title}"'
    if row.minutes and lesson.minutes and row.minutes != lesson.minutes:
        yield f"the table says {row.minutes} minutes, the lesson says {lesson.minutes}"


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
