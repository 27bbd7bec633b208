"""Days and numbers as people say them."""

from datetime import datetime

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def counted(number: int, one: str, many: str = "") -> str:
    """ "one lesson", "three lessons", "12 lessons"."""
    word = _NUMBERS[number] if 0 <= number < len(_NUMBERS) else f"{number:,}"
    return f"{word} {one if number == 1 else many or one + 's'}"


def day(then: datetime, now: datetime) -> str:
    """ "today", "yesterday", "on Friday", "on 3 March", "on 3 March 2025"; by UTC."""
    days = (now.date() - then.date()).days
    if days <= 0:
        return "today"
    if days == 1:
        return "yesterday"
    if days < 7:
        return f"on {then:%A}"
    year = f" {then.year}" if then.year != now.year else ""
    return f"on {then.day} {then:%B}{year}"
