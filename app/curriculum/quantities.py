"""Numbers with units as people type them: "112 GB", "1.12e11 B", "0,112 TB", "9.9 %", "1 120", "15/207"."""

import math
import re
from dataclasses import dataclass

_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
          "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "PiB": 2.0**50}  # fmt: skip
_SI = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21}

UNITS: dict[str, tuple[str, float]] = {  # name → (dimension, size in the dimension's SI unit)
    **{name: ("size", factor) for name, factor in _BYTES.items()},
    **{f"{name}/s": ("bandwidth", factor) for name, factor in _BYTES.items()},
    **{f"{prefix}bit/s": ("bandwidth", factor / 8) for prefix, factor in _SI.items()},
    **{f"{prefix}b/s": ("bandwidth", factor / 8) for prefix, factor in _SI.items() if prefix},
    **{f"{prefix}FLOP": ("work", factor) for prefix, factor in _SI.items()},
    **{f"{prefix}FLOP/s": ("rate of work", factor) for prefix, factor in _SI.items()},
    "s": ("time", 1.0), "ms": ("time", 1e-3), "µs": ("time", 1e-6), "ns": ("time", 1e-9),
    "min": ("time", 60.0),
    "h": ("time", 3600.0), "days": ("time", 86400.0),
    "%": ("fraction", 0.01),
    "tokens/s": ("rate of tokens", 1.0),
    "thousand": ("count", 1e3), "million": ("count", 1e6), "billion": ("count", 1e9),
    "trillion": ("count", 1e12),
}  # fmt: skip
_ALIASES = {
    "byte": "B", "bytes": "B", "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB", "pb": "PB",
    "kib": "KiB", "mib": "MiB", "gib": "GiB",
    "tib": "TiB", "pib": "PiB", "gigabytes": "GB", "gigabyte": "GB", "terabytes": "TB",
    "megabytes": "MB", "sec": "s", "secs": "s",
    "second": "s", "seconds": "s", "us": "µs", "μs": "µs", "msec": "ms", "millisecond": "ms",
    "milliseconds": "ms",
    "microseconds": "µs", "nanoseconds": "ns", "minutes": "min", "minute": "min", "hour": "h",
    "hours": "h", "hr": "h", "day": "days",
    "percent": "%", "pct": "%", "flops": "FLOP", "gb/s": "GB/s", "tb/s": "TB/s", "mb/s": "MB/s",
    "gib/s": "GiB/s", "gbps": "Gbit/s",
    "mbps": "Mbit/s", "tbps": "Tbit/s", "gbit/s": "Gbit/s", "tok/s": "tokens/s", "token/s": "tokens/s",
    "bn": "billion",
    "k": "thousand", "m": "million", "b": "billion", "t": "trillion",
}  # fmt: skip
_COUNT_WORDS = {
    "gpu", "gpus", "device", "devices", "node", "nodes", "layer", "layers", "token", "tokens",
    "sequence", "sequences", "step", "steps",
    "micro-batch", "micro-batches", "microbatch", "microbatches", "parameter", "parameters", "params",
    "stage", "stages", "slot",
    "slots", "request", "requests", "replica", "replicas", "times", "x", "micro", "batches", "samples",
    "sample",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?(?:\d[\d,_'’ \u00a0\u2009\u202f]*(?:[.,]\d+)?|[.,]\d+)(?:\s*[eE][-+]?\d+)?(?!\d)")
_TIMES_TEN = re.compile(
    r"\s*(?:[x×·*]|\\times|\\cdot)\s*10\s*(?:\^|\*\*)\s*\{?([-+]?\d+)\}?|\s*(?:[x×·*])\s*10([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
LONGEST = 80


@dataclass(frozen=True, slots=True)
class Typed:
    """A number as it was typed: its digits, and its unit if one was given."""

    number: float
    unit: str = ""  # one of UNITS; empty: none given

    def in_unit(self, unit: str) -> float | None:
        """The number in that unit; without a unit of its own it is taken to be in it.

        None: another dimension.
        """
        if not self.unit:
            return self.number
        dimension, factor = UNITS[self.unit]
        wanted, wanted_factor = UNITS.get(unit, ("count", 1.0))
        if dimension == "fraction" and wanted == "count":
            return self.number * factor / wanted_factor
        return self.number * factor / wanted_factor if dimension == wanted else None


def canonical_unit(text: str) -> str | None:
    """The unit's name as in UNITS; "" for a plain count such as GPUs; None when it is unknown."""
    text = (
        re.sub(r"\s*/\s*", "/", text.strip().strip(".")).replace("FLOPS", "FLOP/s").replace("FLOPs", "FLOP")
    )
    text = re.sub(r"^(\w*FLOP)/s/s$", r"\1/s", text)
    if not text or text.lower() in _COUNT_WORDS or text.lower().split(" ")[0] in _COUNT_WORDS:
        return ""
    if text in UNITS:
        return text
    low = text.lower()
    if text in ("Gb", "Mb", "Tb"):
        return _ALIASES[low]
    return _ALIASES.get(low) or next((name for name in UNITS if name.lower() == low), None)


def parse_quantity(text: str) -> Typed | None:
    """A single number with or without a unit; None when it is neither."""
    text = text.strip().replace("−", "-").replace("–", "-").strip("`$ \t")
    text = re.sub(r"^(?:~|≈|≃|=|about|approximately|approx\.?|circa|ca\.)\s*", "", text, flags=re.IGNORECASE)
    if not text or len(text) > LONGEST:
        return None
    number, rest = _leading_number(text)
    if number is None:
        return None
    if match := re.match(r"\s*(?:/|÷)\s*(?=[\d.])", rest):
        below, rest = _leading_number(rest[match.end() :])
        if not below:
            return None
        number /= below
    elif match := re.match(r"\s*(?:\^|\*\*)\s*(\d{1,3})(?![\d.])", rest):
        try:
            number, rest = float(number ** int(match.group(1))), rest[match.end() :]
        except OverflowError:
            return None
    unit = _unit_of(rest.strip())
    return Typed(number, unit) if unit is not None and math.isfinite(number) else None


def _leading_number(text: str) -> tuple[float | None, str]:
    match = _NUMBER.match(text)
    if not match:
        return None, text
    digits, rest = match.group(0).rstrip(" ,_'’\u00a0\u2009\u202f"), text[match.end() :]
    try:
        number = float(_plain_digits(digits))
    except (ValueError, OverflowError):
        return None, text
    if times := _TIMES_TEN.match(rest):
        exponent = int((times.group(1) or times.group(2)).translate(_SUPERSCRIPTS))
        if abs(exponent) > 300:
            return None, text
        number, rest = number * 10.0**exponent, rest[times.end() :]
    return number, rest


def _plain_digits(text: str) -> str:
    """Digits for float(): "1,120" and "1 120" are thousands, "0,112" and "1,5" are decimals."""
    text = re.sub(r"[ \u00a0\u2009\u202f_'’]", "", text)
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    if re.fullmatch(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", mantissa):
        mantissa = mantissa.replace(",", "")
    elif re.fullmatch(r"[-+]?\d*,\d+", mantissa):
        mantissa = mantissa.replace(",", ".")
    return f"{mantissa}e{exponent}" if exponent else mantissa


def _unit_of(rest: str) -> str | None:
    """The unit that the rest of the answer begins with; further words without digits are left aside."""
    if not rest:
        return ""
    rest = rest.strip(" .,;")
    for words in range(len(rest.split()), 0, -1):
        head, tail = " ".join(rest.split()[:words]), " ".join(rest.split()[words:])
        unit = canonical_unit(head.rstrip(".,;:"))
        if unit is not None and not re.search(r"\d", tail):
            return unit
    return None


def read_tolerance(text: str, default: str = "1%") -> tuple[float, float] | None:
    """(relative, absolute) tolerance of "2%", "0.5", "exact"; None when it cannot be read."""
    text = (text or default).strip().lower()
    if text in ("exact", "0", "0%"):
        return 1e-9, 0.0
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)", text)
    if not match:
        return None
    value = float(match.group(1))
    return (value / 100, 0.0) if match.group(2) else (0.0, value)


def close(value: float, expected: float, tolerance: tuple[float, float]) -> bool:
    """Whether a value lies within the tolerance of what is expected."""
    relative, absolute = tolerance
    return abs(value - expected) <= max(relative * abs(expected), absolute) + 1e-12 * abs(expected)


def format_value(value: float, unit: str = "", decimals: int | None = None) -> str:
    """A number for people: three significant digits or the given decimals, thousands apart, with its unit."""
    if decimals is None:
        if value == int(value) and abs(value) < 1e6:
            decimals = 0
        elif value and (abs(value) >= 1e15 or abs(value) < 1e-4):
            return f"{value:.3g} {unit}".strip()
        else:
            decimals = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{decimals}f} {unit}".strip()
