"""A number of a lesson leads to its working: as a page, and in place."""

import re

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.curriculum.blocks import CheckedNumber, Lesson
from app.main import create_app
from app.services.engine import CalculatorEngine
from app.services.number_working import work_out
from app.settings import Settings
from app.web.number_page import number_view
from tests.web.test_lessons import queries

LESSON = "/courses/training/lessons/0010-degrees-in-order"


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    return create_app(settings)


@pytest.fixture
def reader(app: FastAPI) -> TestClient:
    return TestClient(app)


def addresses(page: str) -> list[str]:
    return re.findall(rf'<a class="calc" id="calc-\w+(?:-\d+)?" href="({LESSON}/numbers/\w+)"', page)


def test_every_number_of_the_text_is_a_link_to_its_working(reader: TestClient) -> None:
    page = reader.get(f"{LESSON}?checks=open").text
    links = addresses(page)
    assert len(links) >= 10
    assert 'class="calc"' not in page.replace('<a class="calc"', "")
    for link in set(links):
        answer = reader.get(link)
        assert answer.status_code == 200
        assert "<h1>How " in answer.text
        assert f'href="{LESSON}#calc-{link.rpartition("/")[2]}"' in answer.text
        assert "<dt>Source</dt>" in answer.text
        assert "<dt>Inputs</dt>" in answer.text


def test_the_place_that_a_working_leads_back_to_is_there_once(reader: TestClient) -> None:
    page = reader.get(LESSON).text
    for key in {link.rpartition("/")[2] for link in addresses(page)}:
        assert page.count(f'id="calc-{key}"') == 1


def test_htmx_gets_the_same_note_alone(reader: TestClient) -> None:
    link = addresses(reader.get(LESSON).text)[0]
    whole, note = reader.get(link), reader.get(link, headers={"HX-Request": "true"})
    assert note.text.lstrip().startswith('<div class="number-note"')
    assert "HX-Request" in whole.headers["Vary"]
    assert "HX-Request" in note.headers["Vary"]
    assert note.text.strip().replace(">Close<", ">Back to lesson 10<") in whole.text


def test_a_layout_opens_in_the_calculator(reader: TestClient) -> None:
    pages = [reader.get(link).text for link in addresses(reader.get(LESSON).text)]
    address = next(
        found.group(1) for page in pages if (found := re.search(r'href="(/calculator\?[^"]+)"', page))
    )
    plain, _, anchor = address.replace("&amp;", "&").partition("#")
    assert f'id="{anchor}"' in reader.get(plain).text
    assert any("/calculator?" not in page for page in pages)


def test_a_working_needs_no_query(app: FastAPI, reader: TestClient) -> None:
    link = addresses(reader.get(LESSON).text)[0]
    with queries(app) as seen:
        assert reader.get(link).status_code == 200
    assert seen == []


@pytest.mark.parametrize("key", ["0", "zzz", "%3Cb%3E", "a" * 300])
def test_a_number_that_is_gone_says_so(reader: TestClient, key: str) -> None:
    answer = reader.get(f"{LESSON}/numbers/{key}")
    assert answer.status_code == 404
    assert "It may have been reworded" in answer.text


def test_dotted_numbers_are_explained_once(reader: TestClient) -> None:
    assert reader.get(LESSON).text.count("dotted number") == 1


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("a*b", {"a": 10**400, "b": 1}, "1" + "0" * 399),
        ("a*b", {"a": float("inf"), "b": 1}, "inf"),
        ("a*b", {"a": 450_000_000_000, "b": 1}, "450,000,000,000"),
        ("memory.peak_bytes", {"model": {"num_layers": 2}}, "num_layers 2"),
        ("memory.stages", {"model": "gpt3-175b"}, "gpt3-175b"),
        ("balancing.balance", {"piece_s": [1, 2.5], "num_stages": 2}, "1, 2.5"),
    ],
)
def test_odd_inputs_are_told(name: str, arguments: dict[str, object], told: str) -> None:
    lesson = Lesson(course="c", slug="0001-a", path="a.md", number=1, title="A")
    number = CheckedNumber(name=name, arguments=arguments, unit="", text="7", line=1)
    view = number_view(work_out(lesson, number, CalculatorEngine()))
    assert view.inputs[0][1] == told
    assert view.problem or view.working is not None
    assert view.working is None or len(view.working.value) <= 420
