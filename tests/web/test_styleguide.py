"""The style guide, and the promise it makes about contrast."""

import pytest
from fastapi.testclient import TestClient

from app.web.contrast import Contrast, contrasts, ratio


@pytest.mark.parametrize("pair", contrasts(), ids=lambda pair: f"{pair.front} on {pair.ground}")
def test_every_pair_has_the_contrast_it_needs(pair: Contrast) -> None:
    assert pair.light_ratio >= pair.needs
    assert pair.dark_ratio >= pair.needs


def test_contrast_is_that_of_the_standard() -> None:
    assert ratio("#000000", "#ffffff") == pytest.approx(21)
    assert ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert ratio("#123456", "#123456") == 1


def test_the_page_draws_every_part(client: TestClient) -> None:
    page = client.get("/styleguide")
    assert page.status_code == 200
    for part in ("Axes", "Contrast", "Type", "Space", "Buttons and fields", "States", "Figures"):
        assert f"<h2>{part}</h2>" in page.text
