"""Width and height out of the first bytes of a file."""

import struct

import pytest

from app.curriculum.image_size import image_size

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480)
JPEG = (
    b"\xff\xd8"
    + b"\xff\xe0"
    + struct.pack(">H", 16)
    + b"JFIF".ljust(14, b"\0")
    + b"\xff\xc2"
    + struct.pack(">HBHH", 17, 8, 300, 200)
    + bytes(10)
)
WEBP = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (640, 480)),
        (b"GIF89a" + struct.pack("<HH", 30, 20), (30, 20)),
        (JPEG, (200, 300)),
        (WEBP, (640, 480)),
        (b'<?xml version="1.0"?><svg xmlns="x" width="496" height=\'290px\'>', (496, 290)),
        (b'<svg viewBox="0 0 480.4 300"><rect width="1" height="1"/></svg>', (480, 300)),
        (b'<svg width="100%" height="100%" viewBox="0 0 48 30">', (48, 30)),
    ],
)
def test_formats(data: bytes, size: tuple[int, int]) -> None:
    assert image_size(data) == size


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<svg/>",
        b"no image",
        PNG[:18],
        JPEG[:12],
        b"\xff\xd8\0\0" * 9,
        b"GIF89a\0",
        b"RIFF\0\0\0\0WEBPVP8 ",
    ],
)
def test_what_does_not_say_its_size(data: bytes) -> None:
    assert image_size(data) == (0, 0)


def test_a_size_beyond_reason_is_a_mistake() -> None:
    assert image_size(b'<svg width="900000" height="1">') == (0, 0)
