"""The order of a lesson's sections, and its reps."""

import difflib
from collections.abc import Sequence

from app.curriculum.blocks import Severity
from app.curriculum.report import Report

ORDER = ("Warm-up", "Know this", "Practice", "Real-world reps", "Going further")


def check_sections(
    lines: Sequence[tuple[str, int]], *, whole: bool, number: int, reps: int, report: Report
) -> None:
    """SE001, SE002 and RP001 over the sections and their lines. `whole`: a lesson and not a piece of one."""
    seen: list[str] = []
    for name, line in lines:
        if name not in ORDER:
            close = difflib.get_close_matches(name, ORDER, n=1, cutoff=0.7)
            meant = f"; did you mean {close[0]}? Its items are prose here" if close else ""
            if not report.lines[line - 1].lstrip().startswith("#"):
                meant = "; the line of --- or === right under a text makes it a heading, add a blank line"
            report.add("SE002", line, f"unknown section, rendered as it is{meant}")
            continue
        if name in seen:
            report.add("SE001", line, f"{name} appears twice")
        elif later := [other for other in seen if ORDER.index(other) > ORDER.index(name)]:
            report.add("SE001", line, f"{name} must come before {later[0]}")
        seen.append(name)
    if whole and number != 1 and "Warm-up" not in seen and {"Know this", "Practice"} <= set(seen):
        message = "no Warm-up section (only lesson 1 may leave it out)"
        report.add("SE001", lines[0][1], message, severity=Severity.WARNING)
    if "Real-world reps" in seen and reps < 3:
        line = next(line for name, line in lines if name == "Real-world reps")
        report.add("RP001", line, f"there are {reps} real-world reps; write at least three")
