"""Numbers as people read them: three significant digits, a unit, no-break spaces, a true minus."""

import math

NBSP = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
GIB = 2**30

_SI = ((1e24, "Y"), (1e21, "Z"), (1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((2**60, "EiB"), (2**50, "PiB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_COUNTS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
UNKNOWN = "unknown"


def usable(value: float | None) -> bool:
    """Whether there is a number to show."""
    return value is not None and math.isfinite(value)


def fixed(value: float, decimals: int) -> str:
    """With this many decimals, thousands parted by commas: 1,234.50."""
    text = f"{value:,.{decimals}f}"
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.,") else MINUS + text[1:]
    return text


def significant(value: float | None, digits: int = 3) -> str:
    """Three significant digits, written out: 99.6 · 1,230 · 0.0123 · 4.00."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - exponent)
    if rounded and math.floor(math.log10(abs(rounded))) > exponent:
        exponent += 1
    if exponent < -6 or exponent > 14:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.replace('-', MINUS)} × 10^{int(power)}"
    return fixed(rounded, max(0, digits - 1 - exponent))


def count(value: float | None) -> str:
    """A whole number in full: 262,144. A fraction keeps two decimals at most: 5.25."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if float(value).is_integer():
        return fixed(value, 0)
    return fixed(value, 2).rstrip("0").rstrip(".")


def gib(value: float | None, digits: int = 3) -> str:
    """Bytes as GiB, number and unit, one decimal from 10 GiB on."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{gib_number(value, digits)}{NBSP}GiB"


def gib_number(value: float | None, digits: int = 3) -> str:
    """Bytes as GiB, without the unit."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    amount = value / GIB
    return fixed(amount, 1) if abs(amount) >= 100 else significant(amount, digits)


def binary(value: float | None) -> str:
    """Bytes in the binary unit that fits: 1.50 MiB, 99.6 GiB."""
    return _scaled(value, _BINARY, "bytes")


def decimal_bytes(value: float | None) -> str:
    """Bytes in the SI unit that fits: 135 GB, 0.20 GB as 200 MB."""
    return _scaled(value, tuple((factor, f"{prefix}B") for factor, prefix in _SI), "bytes")


def flop(value: float | None) -> str:
    """An amount of work: 4.51 EFLOP."""
    return _scaled(value, tuple((factor, f"{prefix}FLOP") for factor, prefix in _SI), "FLOP")


def rate(value: float | None, unit: str) -> str:
    """A rate with an SI prefix before its unit: 24.4 k tokens/s, 300 GB/s."""
    joiner = NBSP if unit[:1].islower() else ""
    return _scaled(value, tuple((factor, f"{prefix}{joiner}{unit}") for factor, prefix in _SI), unit)


def parameters(value: float | None) -> str:
    """A count in words: 175 billion."""
    return _scaled(value, _COUNTS, "")


def seconds(value: float | None) -> str:
    """A duration in the unit that fits: 38.0 µs, 10.8 s, 3.20 h, 84.1 days."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    size = abs(value)
    for limit, factor, unit in (
        (1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (600.0, 1.0, "s"), (7200.0, 1 / 60, "min"),
        (172800.0, 1 / 3600, "h"),
    ):  # fmt: skip
        if size < limit and size:
            return f"{significant(value * factor)}{NBSP}{unit}"
    return f"0{NBSP}s" if not size else f"{significant(value / 86400)}{NBSP}days"


def percent(fraction: float | None, digits: int = 3) -> str:
    """A fraction in 0..1 as percent: 27.3 %."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    return f"{significant(fraction * 100, digits)}{NBSP}%"


def exact(value: float | None, unit: str = "") -> str:
    """The number in full, for a title or a table: 62,813,896,704 bytes."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = fixed(value, 0) if float(value).is_integer() and abs(value) < 1e18 else f"{value:.10g}"
    return f"{text.replace('-', MINUS)}{NBSP}{unit}".rstrip(NBSP)


def split_unit(text: str) -> tuple[str, str]:
    """Number and unit of one of the above, for a readout that sets them in two sizes."""
    number, _, unit = text.partition(NBSP)
    return number, unit


def _scaled(value: float | None, steps: tuple[tuple[float, str], ...], base: str) -> str:
    if value is None or not math.isfinite(value):
        return UNKNOWN
    for factor, unit in steps:
        if abs(value) >= factor * 0.9995:
            return f"{significant(value / factor)}{NBSP}{unit}"
    text = count(value) if float(value).is_integer() else significant(value)
    return f"{text}{NBSP}{base}".rstrip(NBSP)
