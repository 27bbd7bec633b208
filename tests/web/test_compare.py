"""/calculator/compare over HTTP: columns in the address, a held batch, differences with their cause."""

import re
from html import unescape

import pytest

PAGE = "/calculator/compare"
ONE = (
    "model=gpt3-175b&gpu=a100-80gb&num_nodes=32&tensor_parallel=8&pipeline_parallel=8&micro_batch_size=1"
    "&global_batch_size=256&zero_stage=1&recompute=full"
)


def text_of(answer):
    words = unescape(re.sub(r"<[^>]*>", " ", answer.text))
    return re.sub(r"\s+", " ", words.replace("\N{NO-BREAK SPACE}", " "))


def row(answer, label):
    for cells in re.findall(r"<tr>(.*?)</tr>", answer.text, re.S):
        head = re.search(r'<th scope="row">(.*?)</th>', cells, re.S)
        if head and re.sub(r"<[^>]*>", "", head[1]).strip() == label:
            return [unescape(cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", cells, re.S)]
    raise AssertionError(label)


def test_a_larger_micro_batch_shows_bubble_and_efficiency(client):
    answer = client.get(f"{PAGE}?{ONE}&2.micro_batch_size=4")
    assert answer.status_code == 200
    assert "The global batch is held, so B has 16 micro-batches and not 64: the bubble goes from" in text_of(
        answer
    )
    assert row(answer, "Micro-batches") == ["64", "<b>16</b>"]
    assert row(answer, "Global batch") == ["256", "256"]
    bubbles, peaks = row(answer, "Bubble"), row(answer, "Peak reached while computing")
    assert bubbles[1].startswith("<b>")
    assert peaks[1].startswith("<b>")
    assert "B: micro-batch 1 → 4" in text_of(answer)


def test_one_layout_gets_a_counterpart(client):
    answer = client.get(f"{PAGE}?{ONE}")
    assert len(re.findall(r'<th scope="col">[A-D] ', answer.text)) == 2
    assert "is the same layout" not in text_of(answer)


def test_columns_are_added_removed_and_at_most_four(client):
    answer = client.get(f"{PAGE}?{ONE}&2.micro_batch_size=4&3.tensor_parallel=4")
    assert len(re.findall(r'<th scope="col">[A-D] ', answer.text)) == 3
    more = client.get(unescape(re.search(r'href="([^"]*)"[^>]*>Add a layout', answer.text)[1]))
    assert len(re.findall(r'<th scope="col">[A-D] ', more.text)) == 4
    assert "Add a layout" not in more.text
    less = client.get(unescape(re.search(r'href="([^"]*)"[^>]*>Remove B', more.text)[1]))
    assert len(re.findall(r'<th scope="col">[A-D] ', less.text)) == 3


def test_the_form_is_answered_with_the_short_address(client):
    form = (
        f"{PAGE}?of_model=gpt3-175b&of_gpu=a100-80gb&layouts=2&{ONE}&1.tensor_parallel=4&2.tensor_parallel=8"
    )
    answer = client.get(form, follow_redirects=False)
    assert answer.status_code == 303
    place = answer.headers["location"]
    assert "1." not in place.partition("?")[2].replace("gpt-1.", "")
    assert "tensor_parallel=4" in place
    assert "2.tensor_parallel=8" in place
    assert client.get(place).status_code == 200


def test_the_batch_is_held_unless_it_is_said_otherwise(client):
    held = client.get(f"{PAGE}?{ONE}&2.global_batch_size=512")
    assert row(held, "Global batch") == ["256", "256"]
    free = client.get(f"{PAGE}?{ONE}&2.global_batch_size=512&hold=false")
    assert re.search(r'<td class="differs"><input id="in2-global_batch_size"[^>]*value="512"', free.text)
    assert "<b>512</b>" in free.text


def test_an_illegal_column_names_its_rules_and_the_nearest_layout(client):
    answer = client.get(f"{PAGE}?{ONE}&2.tensor_parallel=7")
    told = text_of(answer)
    assert "96 attention heads divided by 7 leaves 5." in told
    near = unescape(re.search(r'The nearest legal layout: <a href="([^"]*)"', answer.text)[1])
    assert "not legal" not in text_of(client.get(near))


def test_the_page_links_from_the_calculator(client):
    page = client.get(f"/calculator?{ONE}")
    url = unescape(re.search(r'href="(/calculator/compare[^"]*)"', page.text)[1])
    assert client.get(url).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        "layouts=99",
        "layouts=x&2.model=nope",
        "9.tensor_parallel=2",
        "1.tensor_parallel=x",
        "2.tensor_parallel=-1&3.zero_stage=9&4.layers_per_stage=1",
        "2.%00=1",
        "model=nope&2.tensor_parallel=2",
        "2.model=llama2-7b&2.num_nodes=1",
        "hold=false&2.global_batch_size=7",
        "2.rank_order=x",
    ],
)
def test_nothing_that_is_asked_breaks_the_page(client, query):
    assert client.get(f"{PAGE}?{query}").status_code in (200, 422)
    assert client.get(f"{PAGE}?of_model=gpt3-175b&{query}").status_code in (200, 422)
