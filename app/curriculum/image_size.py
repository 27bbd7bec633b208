"""Width and height of an image from the beginning of its file: a page keeps its room while it loads."""

import re
import struct

ENOUGH = 65_536  # bytes of a file that are looked at
LARGEST = 20_000  # pixels; more is taken for a mistake in the file
_ROOT = re.compile(rb"<svg\b[^>]*>", re.DOTALL)
_LENGTH = re.compile(rb"""\s(width|height)\s*=\s*["']\s*(\d+(?:\.\d+)?)(?:px)?\s*["']""")
_VIEW_BOX = re.compile(
    rb"""\sviewBox\s*=\s*["']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+(\d+(?:\.\d+)?)[\s,]+(\d+(?:\.\d+)?)\s*["']"""
)
# JPEG markers that carry the frame's size: SOF0 to SOF15 without DHT, JPG and DAC.
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def image_size(data: bytes) -> tuple[int, int]:
    """(width, height) in pixels of SVG, PNG, GIF, JPEG or WebP; (0, 0) when the file does not say."""
    try:
        width, height = _size(data[:ENOUGH])
    except (struct.error, IndexError, ValueError):
        return 0, 0
    return (width, height) if 0 < width <= LARGEST and 0 < height <= LARGEST else (0, 0)


def _size(data: bytes) -> tuple[int, int]:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack(">II", data[16:24])
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return struct.unpack("<HH", data[6:10])
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    return _svg(data)


def _svg(data: bytes) -> tuple[int, int]:
    root = _ROOT.search(data)
    if root is None:
        return 0, 0
    given = {name: float(value) for name, value in _LENGTH.findall(root.group(0))}
    if len(given) < 2:
        box = _VIEW_BOX.search(root.group(0))
        return (round(float(box.group(1))), round(float(box.group(2)))) if box else (0, 0)
    return round(given[b"width"]), round(given[b"height"])


def _jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(data):
        marker = data[at + 1]
        if data[at] != 0xFF:
            return 0, 0
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return 0, 0


def _webp(data: bytes) -> tuple[int, int]:
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", data[26:30])
    return width & 0x3FFF, height & 0x3FFF
