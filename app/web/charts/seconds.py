"""Seconds on pages where people write their own: always seconds, whole ones without decimals."""

from app.web import numbers


def told_s(seconds: float) -> str:
    """33 s, 28.5 s, 1,234 s; below one second in the unit that fits."""
    if 0 < seconds < 1:
        return numbers.seconds(seconds)
    amount = numbers.count(round(seconds, 2)) if seconds < 1e6 else numbers.significant(seconds, 4)
    return f"{amount}{numbers.NBSP}s"
