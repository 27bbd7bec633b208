"""/teach/preview: a lesson is pasted or chosen, shown and linted; nothing of it stays."""

import html
import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from app.web.teach import MAX_BODY_BYTES, MAX_LESSON_BYTES
from tests.storage_counts import rows_in

LESSON = """---
title: 4. Sharding: Who Holds What
type: lesson
---
# Lesson 4. Sharding: Who Holds What

## Practice

1. ▢ Which of {n} states does stage 1 shard?

    - a) the weights
    - b) the optimizer state

<!-- item
id: which
vary: {n: [3, 4]}
-->

<details markdown="1"><summary>Check</summary>

**b)** Only those.

- a) They stay whole.

</details>
"""


def send(client: TestClient, text: str = "", **more: str) -> str:
    answer = client.post("/teach/preview", data={"text": text, **more})
    assert answer.status_code == 200
    return answer.text


def test_the_form_is_there(client: TestClient) -> None:
    page = client.get("/teach/preview").text
    assert '<textarea id="text" name="text"' in page
    assert 'type="file"' in page
    assert "Nothing is stored" in page


def test_a_pasted_lesson_is_shown_with_its_problems(client: TestClient) -> None:
    page = send(client, LESSON, name="0004-sharding.md")
    assert "<h1>4. Sharding: Who Holds What</h1>" in page
    assert "Which of 3 states" in page
    assert "FM002 error" in page
    assert "title: &#34;4. Sharding: Who Holds What&#34;" in page
    assert '<input type="radio" name="option" value="a"' in page
    assert "They stay whole." not in page.split('<div class="hints">')[0]


def test_problems_stand_in_the_row_they_concern(client: TestClient) -> None:
    text = LESSON.replace("**b)** Only those.", "**d)** Only those.")
    row = next(row for row in send(client, text).split('class="pv-row')[1:] if "MC002 error" in row)
    assert "Which of 3 states" in row


def test_keys_and_seed(client: TestClient) -> None:
    page = send(client, LESSON, keys="1", seed="1")
    assert "Which of 4 states" in page
    assert 'class="is-right"' in page
    assert "They stay whole." in page.split('<div class="hints">')[0]
    assert "<dt>id</dt><dd>which</dd>" in page


def test_a_file_is_read_and_its_name_counts(client: TestClient) -> None:
    files = {"file": ("0005-other.md", b"\xef\xbb\xbf" + LESSON.encode(), "text/markdown")}
    page = client.post("/teach/preview", data={"text": "ignored", "name": "x"}, files=files).text
    assert "FM004 error" in page
    assert "0005-other.md" in page
    assert "ignored" not in page


@pytest.mark.parametrize(
    ("data", "file", "said"),
    [
        ({}, None, "There is no text yet"),
        ({"text": "  \n "}, None, "There is no text yet"),
        ({}, b"ok\nnot \xff utf-8", "not UTF-8 text (line 2)"),
        ({"text": "<!-- item -->\n" * 151}, None, "has 151 comments"),
        ({"text": "value: 1\n" * 301}, None, "has 301 wrong values"),
        ({"text": "kept", "name": "mine.md"}, b"\xff", "not UTF-8 text (line 1)"),
    ],
)
def test_what_cannot_be_shown_says_why_and_keeps_the_text(
    client: TestClient, data: dict[str, str], file: bytes | None, said: str
) -> None:
    files = {"file": ("a.md", file, "text/markdown")} if file else None
    answer = client.post("/teach/preview", data=data or {"text": ""}, files=files)
    assert answer.status_code == 422
    assert said in answer.text
    assert html.escape(data.get("text", "").strip()) in answer.text


def test_the_text_comes_back_as_it_was(client: TestClient) -> None:
    text = "\n\n  # Lead </textarea><script>alert(1)</script> & end\r\n\ttab"
    page = send(client, text)
    held = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert held is not None
    assert "<script>alert" not in page
    assert held.group(1).startswith("\n\n  # Lead &lt;/textarea&gt;&lt;script&gt;")


def test_too_much_is_refused_and_said(client: TestClient) -> None:
    answer = client.post("/teach/preview", data={"text": "x" * (MAX_LESSON_BYTES + 1)})
    assert (answer.status_code, "at most 1 MB" in answer.text) == (422, True)
    files = {"file": ("a.md", b"x" * (MAX_BODY_BYTES + 1), "text/plain")}
    answer = client.post("/teach/preview", files=files)
    assert (answer.status_code, "at most 1 MB" in answer.text) == (413, True)


def test_a_body_of_unknown_length_is_bounded_too(client: TestClient) -> None:
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        for _ in range(100):
            read += 1
            yield b"x" * 1_000_000

    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/teach/preview", content=endless(), headers=kind).status_code == 413


def test_other_bodies_are_no_accident(client: TestClient) -> None:
    assert (
        client.post("/teach/preview", content=b"{}", headers={"Content-Type": "application/json"}).status_code
        == 422
    )
    broken = client.post(
        "/teach/preview", content=b"--x", headers={"Content-Type": "multipart/form-data; boundary=y"}
    )
    assert broken.status_code in (400, 422)
    assert "Traceback" not in broken.text


def test_drawings_are_in_the_page_and_images_are_named(client: TestClient) -> None:
    drawing = "```mermaid\ngraph LR\nA --> B\n```"
    text = f"{LESSON}\n## Know this\n\n{drawing}\n\n![Two stairs](../images/stairs.svg) [before](0003-x.md)\n"
    page = send(client, text)
    assert 'src="data:image/svg+xml;base64,' in page
    assert "[Two stairs]" in page
    assert '<span class="planned">before</span>' in page
    assert "/courses/preview/" not in page.split("<textarea")[0]


def test_foreign_forms_are_refused(client: TestClient) -> None:
    answer = client.post("/teach/preview", data={"text": "x"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_nothing_is_stored(client: TestClient) -> None:
    before = rows_in(client)
    answer = client.post("/teach/preview", data={"text": LESSON})
    assert rows_in(client) == before
    assert "set-cookie" not in answer.headers
    assert "Sharding" not in client.get("/teach/preview").text


def test_a_page_holds_so_many_problems_and_says_how_many_more(client: TestClient) -> None:
    page = send(client, "![](x.png)\n\n" * 2000)
    assert page.count('<li class="') <= 500
    assert re.search(r"<b>[\d,]+ more problems\.</b>", page)
    assert page.count("image missing") + page.count("[") >= 2000


def test_hostile_markdown_is_shown_in_time(client: TestClient) -> None:
    page = send(client, ("> " * 400 + "x\n") * 50 + "[" * 5000 + "`" * 3001 + "<details>" * 300)
    assert "TX001 warning" in page or "TX002 error" in page or "DT004 error" in page
