"""Contrast of the sheet's own tokens, by the formula of WCAG 2.2 (relative luminance)."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SHEET = Path(__file__).resolve().parent.parent.parent / "static" / "meshwright.css"
TEXT, MARK = 4.5, 3.0
# What stands on what, what for, and the ratio it needs.
PAIRS = (
    ("ink", "paper", "text", TEXT),
    ("ink-2", "paper", "secondary text", TEXT),
    ("ink-3", "paper", "disabled, locked", TEXT),
    ("link", "paper", "links", TEXT),
    ("good", "paper", "right, fits", TEXT),
    ("bad", "paper", "wrong, over", TEXT),
    ("warn", "paper", "nearly, borderline", TEXT),
    *((f"axis-{axis}", "paper", f"{axis.upper()}, text and marks", TEXT) for axis in "tpdce"),
    ("edge", "paper", "borders of fields", MARK),
    ("focus", "paper", "focus ring", MARK),
    *((f"stage-{stage}", "paper", f"stage {stage}", MARK) for stage in range(4)),
    *(
        (f"m-{item}", "paper", item, MARK)
        for item in ("weights", "gradients", "optimizer", "activations", "logits", "buffers", "overhead")
    ),
    ("f", "paper", "forward", MARK),
    ("hatch", "paper", "idle", MARK),
    *(("on-axis", f"axis-{axis}", f"letter on {axis.upper()}", TEXT) for axis in "tpdce"),
    *(("on-stage", f"stage-{stage}", f"letter on stage {stage}", TEXT) for stage in range(3)),
    ("on-stage-3", "stage-3", "letter on stage 3", TEXT),
    ("on-dark", "f", "number on forward", TEXT),
    ("on-b", "b", "number on backward", TEXT),
    ("ink-2", "wash", "text in a widget", TEXT),
    ("link", "wash", "links in a widget", TEXT),
    ("ink", "bad-wash", "text", TEXT),
    ("bad", "bad-wash", "text", TEXT),
    ("good", "good-wash", "text", TEXT),
    ("warn", "warn-wash", "text", TEXT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """One pair of tokens in both schemes."""

    front: str
    ground: str
    use: str
    light: str
    dark: str
    light_ratio: float
    dark_ratio: float
    needs: float


@cache
def contrasts() -> tuple[Contrast, ...]:
    """Every pair, worked out from the sheet."""
    light, dark = tokens(SHEET.read_text(encoding="utf-8"))
    return tuple(
        Contrast(
            front=front,
            ground=ground,
            use=use,
            light=light[front],
            dark=dark[front],
            light_ratio=ratio(light[front], light[ground]),
            dark_ratio=ratio(dark[front], dark[ground]),
            needs=needs,
        )
        for front, ground, use, needs in PAIRS
    )


def tokens(sheet: str) -> tuple[dict[str, str], dict[str, str]]:
    """The colours of the light and the dark scheme by name."""
    first, _, rest = sheet.partition("@media screen and (prefers-color-scheme: dark)")
    pattern = re.compile(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})\b")
    light = dict(pattern.findall(first))
    return light, light | dict(pattern.findall(rest.partition("*, *::before")[0]))


def ratio(front: str, ground: str) -> float:
    """Contrast of two colours, 1 to 21."""
    high, low = sorted((luminance(front), luminance(ground)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb", 0 to 1."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
