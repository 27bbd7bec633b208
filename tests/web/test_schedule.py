"""/calculator/schedule: the page, its parts, what was typed, the addresses that mend."""

import re
from html import unescape

import pytest

PAGE = "/calculator/schedule"
HTMX = {"HX-Request": "true"}


def heading(answer):
    found = re.search(r"<h1[^>]*>(.*?)</h1>", answer.text, re.S)
    return unescape(re.sub(r"<[^>]*>", "", found[1])).replace("\N{NO-BREAK SPACE}", " ").strip()


def text_of(answer):
    return unescape(re.sub(r"<[^>]*>", " ", answer.text)).replace("\N{NO-BREAK SPACE}", " ")


def test_first_view_is_an_example(client):
    answer = client.get(PAGE)
    assert answer.status_code == 200
    assert heading(answer) == "27.3 % of the time is idle: 1F1B takes 33 s for 8 micro-batches on 4 stages."
    assert "37.5" in text_of(answer)  # over ideal, beside the share of the step
    assert "<table" in answer.text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("schedule=gpipe&num_stages=8&num_micro_batches=32", "17.9 % of the time is idle: GPipe takes 117 s"),
        ("schedule=zb-h1&num_stages=8&num_micro_batches=32", "6.80 % of the time is idle: ZB-H1 takes 103 s"),
        (
            "schedule=interleaved&num_stages=8&num_micro_batches=32&virtual_pipeline_stages=4",
            "5.19 % of the time is idle: Interleaved 1F1B takes 101",
        ),
    ],
)
def test_every_schedule_has_its_figures(client, query, told):
    assert heading(client.get(f"{PAGE}?{query}")).startswith(told)


def test_uneven_stages_by_a_comma_list(client):
    answer = client.get(PAGE, params={"forward_s": "1, 1, 1, 2", "num_stages": "4"})
    assert answer.status_code == 200
    assert "Stage 3 works" in text_of(answer)
    assert 'value="1, 1, 1, 2"' in answer.text


def test_fragment_is_the_pages_block(client):
    query = f"{PAGE}?num_stages=3&num_micro_batches=5"
    whole, part = client.get(query), client.get(query, headers=HTMX)
    assert part.text.strip() in whole.text
    assert part.text.lstrip().startswith('<div id="schedule">')
    assert "Vary" in part.headers
    restored = client.get(query, headers=HTMX | {"HX-History-Restore-Request": "true"})
    assert restored.text == whole.text


def test_a_decision_adds_an_address_and_typing_replaces_it(client):
    chosen = client.get(f"{PAGE}?schedule=gpipe", headers=HTMX | {"HX-Trigger-Name": "schedule"})
    assert chosen.headers["HX-Push-Url"].startswith(f"{PAGE}?schedule=gpipe")
    typed = client.get(f"{PAGE}?forward_s=2", headers=HTMX | {"HX-Trigger-Name": "forward_s"})
    assert "forward_s=2" in typed.headers["HX-Replace-Url"]
    assert 'hx-swap-oob="true"' in typed.text
    assert 'hx-swap-oob="true"' not in chosen.text


def test_double_without_javascript_goes_to_the_new_address(client):
    answer = client.get(
        f"{PAGE}?num_stages=4&num_micro_batches=8&do=double:num_stages", follow_redirects=False
    )
    assert answer.status_code == 303
    assert "num_stages=8" in answer.headers["location"]
    assert client.get(answer.headers["location"]).status_code == 200


@pytest.mark.parametrize(
    "do", ["double:", "double:order", "halve:schedule", "double:forward_s", "x:num_stages", ":"]
)
def test_odd_presses_are_ignored(client, do):
    answer = client.get(PAGE, params={"do": do}, follow_redirects=False)
    assert answer.status_code == 200


def test_what_was_typed_stays_and_every_problem_is_told(client):
    answer = client.get(PAGE, params={"num_stages": "many", "num_micro_batches": "-3", "p2p_s": "<b>"})
    assert answer.status_code == 422
    assert heading(answer).startswith("Cannot be read:")
    assert 'value="many"' in answer.text
    assert "&lt;b&gt;" in answer.text
    assert "<b>'" not in answer.text
    assert "3 things" in answer.text
    assert answer.text.count('aria-invalid="true"') == 3


def test_a_broken_rule_offers_addresses_that_mend_it(client):
    answer = client.get(f"{PAGE}?schedule=interleaved&num_micro_batches=6&virtual_pipeline_stages=2")
    assert answer.status_code == 200
    assert heading(answer) == "Cannot run: a rule is broken."
    links = re.findall(r'<ul class="mend">.*?</ul>', answer.text, re.S)[0]
    addresses = [unescape(url) for url in re.findall(r'href="([^"]*)"', links)]
    assert len(addresses) == 2
    for url in addresses:
        assert "of the time is idle" in heading(client.get(url))


def test_zero_bubble_with_a_whole_backward_offers_to_split_it(client):
    answer = client.get(f"{PAGE}?schedule=zb-h1&backward_s=2")
    (url,) = [
        unescape(url)
        for url in re.findall(
            r'href="([^"]*)"', re.findall(r'<ul class="mend">.*?</ul>', answer.text, re.S)[0]
        )
    ]
    assert "backward_s=1&weight_grad_s=1" in url
    assert client.get(url).status_code == 200


def test_an_order_of_ones_own(client):
    order = "F1 F2 B1 B2\r\nF1 B1 F2 B2"
    answer = client.get(PAGE, params={"num_stages": 2, "num_micro_batches": 2, "order": order})
    assert "Your order takes 9 s" in heading(answer)
    blocked = client.get(
        PAGE, params={"num_stages": 2, "num_micro_batches": 2, "order": "F1 B1 F2 B2|F2 B2 F1 B1"}
    )
    assert heading(blocked) == "Cannot run: 2 rules are broken."
    assert "stops at B1" in text_of(blocked)


def test_the_written_out_order_plays_the_same(client):
    first = client.get(PAGE)
    (url,) = {unescape(u) for u in re.findall(r'href="([^"]*order=[^"]*)"', first.text)}
    second = client.get(url)
    assert heading(second).replace("Your order", "1F1B") == heading(first)


def test_unknown_names_are_left_alone(client):
    assert client.get(f"{PAGE}?utm_source=x&num_stages=2").status_code == 200


@pytest.mark.parametrize(
    "query", ["num_stages=" + "9" * 5000, "forward_s=" + "1," * 9999, "order=" + "F1%20" * 4000]
)
def test_hostile_input_is_a_page(client, query):
    answer = client.get(f"{PAGE}?{query}")
    assert answer.status_code == 422
    assert len(answer.text) < 120_000


def test_large_pipelines_are_drawn_in_part_and_compared_not_at_all(client):
    answer = client.get(f"{PAGE}?num_stages=32&num_micro_batches=512")
    assert answer.status_code == 200
    assert "… ×" in answer.text
    assert "under every schedule" not in answer.text
    assert "returns all 32,768" in text_of(answer)


def test_stepping_through(client):
    answer = client.get(f"{PAGE}?num_stages=2&num_micro_batches=2")
    (begin,) = {unescape(u) for u in re.findall(r'href="([^"]*at=0)"', answer.text)}
    url, told = begin, []
    for _ in range(20):
        page = client.get(url)
        told.append(re.search(r"Moment (\d+) of (\d+), at (.*?): ([^<]*)\.", page.text).groups())
        after = re.search(r'id="step-after" href="([^"]*)"', page.text)
        if after is None:
            break
        url = unescape(after[1])
    assert [moment for moment, *_ in told] == [str(k) for k in range(1, 8)]
    assert told[-1][3] == "all is done"
    assert told[2][3] == "1 of 2 stages idle"
    assert 'class="ln-p"' in client.get(begin).text


@pytest.mark.parametrize("at", ["999999999999999999", "-1", "x", "²", "1.5"])
def test_odd_moments_are_no_error(client, at):
    assert client.get(PAGE, params={"at": at}).status_code == 200


def test_long_pipelines_are_not_stepped_through(client):
    assert "Step by step" not in client.get(f"{PAGE}?num_stages=16&num_micro_batches=64").text
