"""SI and binary constants, and how bytes, seconds and FLOP are written and read.

GB is 10^9 bytes and GiB is 2^30 bytes; both are always written out as what they are.
"""

import re

KB, MB, GB, TB = 1e3, 1e6, 1e9, 1e12
KIB, MIB, GIB, TIB = 2.0**10, 2.0**20, 2.0**30, 2.0**40
TERA = 1e12

_SCALES = {
    "bytes": (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
    "binary_bytes": (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB), ("B", 1.0)),
    "s": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "flop": (
        ("EFLOP", 1e18),
        ("PFLOP", 1e15),
        ("TFLOP", 1e12),
        ("GFLOP", 1e9),
        ("MFLOP", 1e6),
        ("FLOP", 1.0),
    ),
    "count": ((" T", 1e12), (" B", 1e9), (" M", 1e6), ("", 1.0)),
}
_BYTE_UNITS = {
    "b": 1.0,
    "kb": KB,
    "mb": MB,
    "gb": GB,
    "tb": TB,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": TIB,
}


def _scaled(value: float, kind: str, digits: int) -> str:
    scales = _SCALES[kind]
    name, factor = next(((n, f) for n, f in scales if abs(value) >= f), scales[-1])
    text = f"{value / factor:,.{digits}f}" if factor != 1.0 or kind == "s" else f"{value:,.0f}"
    return f"{text}{name}" if kind == "count" else f"{text} {name}"


def format_bytes(value: float, digits: int = 1) -> str:
    """Bytes in powers of ten: 101.4 GB."""
    return _scaled(value, "bytes", digits)


def format_gib(value: float, digits: int = 1) -> str:
    """Bytes in GiB, whatever the size: the unit of device memory."""
    return f"{value / GIB:,.{digits}f} GiB"


def format_binary_bytes(value: float, digits: int = 1) -> str:
    """Bytes in powers of two: 79.2 GiB."""
    return _scaled(value, "binary_bytes", digits)


def format_seconds(value: float, digits: int = 2) -> str:
    """Seconds with the prefix that keeps the number readable: 12.40 ms."""
    return f"{0:.{digits}f} s" if value == 0 else _scaled(value, "s", digits)


def format_flop(value: float, digits: int = 2) -> str:
    """Floating-point operations as work: 3.86 EFLOP."""
    return _scaled(value, "flop", digits)


def format_count(value: float, digits: int = 1) -> str:
    """A large count, parameters or tokens: 174.6 B."""
    return _scaled(value, "count", digits)


def format_percent(fraction: float, digits: int = 1) -> str:
    """A fraction in 0..1 as a percentage."""
    return f"{100 * fraction:.{digits}f} %"


def format_number(value: float, digits: int = 6) -> str:
    """A plain number: whole ones without a fraction, others to `digits` significant digits."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{digits}g}"


def parse_bytes(text: str) -> float:
    """Read "80 GiB", "1.5e9 B" or "24GB". Raises ValueError with what to write instead."""
    match = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)?\s*", text.lower())
    unit = (match.group(2) or "b") if match else ""
    if match is None or unit not in _BYTE_UNITS:
        raise ValueError(
            f"{text[:40]!r} is not a size: write a number and B, kB, MB, GB, TB, MiB, GiB or TiB"
        )
    return float(match.group(1)) * _BYTE_UNITS[unit]
