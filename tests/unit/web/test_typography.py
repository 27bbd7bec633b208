"""Spaces that must not break, and everything else as it was."""

import pytest

from app.web.typography import bound, no_breaks, prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80 GB of it", "80~GB of it"),
        ("at 10 % of the step", "at 10~% of the step"),
        ("300 GB/s or 94.5 GiB", "300~GB/s or 94.5~GiB"),
        ("it takes 27 s, or 30 µs.", "it takes 27~s, or 30~µs."),
        ("t = 8 and p = 64", "t~=~8 and p~=~64"),
        ("over 8 stages, 12 samples, 3 hours", "over 8 stages, 12 samples, 3 hours"),
        ("B = b · m · d, and b · m = 8", "B = b · m · d, and b · m = 8"),
        ("in 16 bit, 8 bits", "in 16~bit, 8 bits"),
        ("", ""),
    ],
)
def test_no_breaks(text: str, expected: str) -> None:
    assert no_breaks(text) == expected.replace("~", "\u00a0")


def test_code_formulas_and_attributes_stay_as_written() -> None:
    html = (
        '<p title="80 GB">80 GB <code class="x">--limit 80 GB</code> 80 GB</p><pre>80 GB <b>80 GB</b></pre>'
    )
    kept = prose(html)
    assert kept.replace("\u00a0", " ") == html
    assert kept.count("\u00a0") == 2
    assert 'title="80 GB"' in kept
    assert prose("<br/>80 GB") == "<br/>80\u00a0GB"


def test_plain_text_is_escaped() -> None:
    assert bound("<b> 80 GB") == "&lt;b&gt; 80\u00a0GB"
