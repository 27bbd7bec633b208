"""The calculator's page: every state an address, with and without htmx; nothing typed is lost."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.calculator.fields import BY_BARE_KEY
from app.web.controls import SCALED

HTMX = {"HX-Request": "true"}
FITS = "/calculator?model=gpt3-175b&gpu=a100-80gb&num_nodes=32&tensor_parallel=8&pipeline_parallel=4&" + (
    "data_parallel=8&sequence_parallel=true&zero_stage=1&recompute=selective&global_batch_size=128"
)
ILLEGAL = "/calculator?model=gpt3-175b&num_nodes=128&tensor_parallel=7&pipeline_parallel=16&data_parallel=8"


def form_of(html: str) -> dict[str, str]:
    """What a browser would send from the form: the last value of a name, ticked boxes, chosen options."""
    form = html[html.index('<form class="inputs"') : html.index("</form>")]
    values: dict[str, str] = {}
    for tag in re.findall(r"<input [^>]*>", form):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if attributes.get("type") in ("checkbox", "radio") and " checked" not in tag:
            continue
        values[attributes["name"]] = attributes["value"]
    for name, body in re.findall(r'<select id="[^"]*" name="([^"]*)".*?>(.*?)</select>', form, re.S):
        chosen = re.search(r'<option value="([^"]*)" selected>', body)
        assert chosen, name
        values[name] = chosen.group(1)
    return values


def query(url: str) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}


def heading(html: str) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", html, re.S)
    assert found
    return re.sub(r"<[^>]+>", "", found.group(1)).replace("\N{NO-BREAK SPACE}", " ")


def test_the_first_view_is_an_example_with_something_to_put_right(client: TestClient) -> None:
    page = client.get("/calculator")
    assert page.status_code == 200
    assert heading(page.text).startswith("Does not fit: activations put stage 0 at ")
    assert "What would help" in page.text
    for title in (
        "Memory by stage",
        "Where everything sits",
        "One step,",
        "Pipeline timeline",
        "Traffic per axis",
    ):
        assert title in page.text
    assert "8 · 4 · 8 = 256 of 256 GPUs" in page.text
    assert "--tensor-model-parallel-size 8" in page.text


def test_without_a_model_the_example_is_changed(client: TestClient) -> None:
    page = client.get("/calculator?tensor_parallel=7")
    assert page.status_code == 200
    assert heading(page.text).startswith("Not a legal layout")
    assert form_of(page.text)["model"] == "gpt3-175b"
    stepped = client.get("/calculator?do=double:pipeline_parallel", follow_redirects=False)
    assert query(stepped.headers["location"])["pipeline_parallel"] == "8"


def test_no_page_has_inline_style_script_or_handler(client: TestClient) -> None:
    for url in ("/calculator", ILLEGAL, "/calculator?model=none", "/api/docs", "/styleguide"):
        html = client.get(url).text
        assert not re.search(r"\sstyle=|<style|\son\w+=|<script>|javascript:", html), url


def test_a_fitting_layout_names_what_binds(client: TestClient) -> None:
    said = heading(client.get(FITS).text)
    assert said.startswith("Fits, ")
    assert said.endswith(" binds.")


def test_each_remedy_leads_to_a_layout_that_does_what_it_says(client: TestClient) -> None:
    page = client.get("/calculator").text
    table = page[page.index('id="remedies"') : page.index('id="memory"')]
    found = re.findall(r'<a href="([^"]*)".*?<td class="r">([\d.]+)', table, re.S)
    assert found
    for url, largest in found:
        after = client.get(url.replace("&amp;", "&")).text
        assert heading(after).startswith("Fits, ")
        assert f">{largest}</a> <small>GiB</small>" in after


def test_the_form_alone_says_the_same_state_again(client: TestClient) -> None:
    for url in ("/calculator", FITS, FITS + "&layers_per_stage=23,25,25,23&zero_group=4"):
        first = client.get(url)
        sent = client.get("/calculator", params=form_of(first.text))
        assert heading(sent.text) == heading(first.text)
        again = client.get("/calculator", params=form_of(sent.text))
        assert again.url == sent.url


def test_without_javascript_a_form_is_answered_with_a_short_address(client: TestClient) -> None:
    values = form_of(client.get("/calculator").text)
    answer = client.get(
        "/calculator", params=values | {"do": "double:pipeline_parallel"}, follow_redirects=False
    )
    assert answer.status_code == 303
    asked = query(answer.headers["location"])
    assert (asked["pipeline_parallel"], asked["data_parallel"]) == ("8", "4")
    assert "of_model" not in asked
    assert "do" not in asked
    assert "num_layers" not in asked


@pytest.mark.parametrize(
    ("action", "name", "value"),
    [
        ("halve:tensor_parallel", "tensor_parallel", "4"),
        ("double:global_batch_size", "global_batch_size", "256"),
        ("halve:context_parallel", "context_parallel", None),
        ("double:nonsense", "tensor_parallel", "8"),
        ("explode:tensor_parallel", "tensor_parallel", "8"),
    ],
)
def test_steppers(client: TestClient, action: str, name: str, value: str | None) -> None:
    values = form_of(client.get("/calculator").text)
    answer = client.get("/calculator", params=values | {"do": action}, follow_redirects=False)
    assert query(answer.headers["location"]).get(name) == value


def test_choosing_another_model_forgets_the_numbers_of_the_one_before(client: TestClient) -> None:
    values = form_of(client.get("/calculator").text) | {"model": "llama2-70b"}
    page = client.get("/calculator", params=values)
    shown = form_of(page.text)
    assert (shown["num_layers"], shown["hidden_size"], shown["num_kv_heads"]) == ("80", "8192", "8")
    assert "num_layers" not in query(str(page.url))


def test_choosing_another_device_forgets_its_links(client: TestClient) -> None:
    values = form_of(client.get("/calculator?model=gpt3-175b&num_nodes=32&intra_node_gb_per_s=111").text)
    assert values["intra_node_gb_per_s"] == "111"
    shown = form_of(client.get("/calculator", params=values | {"gpu": "h100-80gb"}).text)
    assert shown["intra_node_gb_per_s"] != "111"


def test_a_shape_of_ones_own_starts_from_the_model_before(client: TestClient) -> None:
    values = form_of(client.get("/calculator?model=llama2-70b&num_nodes=32&tensor_parallel=8").text) | {
        "model": ""
    }
    page = client.get("/calculator", params=values)
    assert page.status_code == 200
    asked = query(str(page.url))
    assert "model" not in asked
    assert (asked["position_embeddings"], asked["normalization"], asked["num_layers"]) == (
        "rope",
        "rmsnorm",
        "80",
    )
    again = client.get("/calculator", params=form_of(page.text))
    assert heading(again.text) == heading(page.text)


def test_a_changed_shape_stays_in_the_address(client: TestClient) -> None:
    values = form_of(client.get("/calculator").text) | {"num_layers": "48"}
    page = client.get("/calculator", params=values)
    assert query(str(page.url))["num_layers"] == "48"
    assert form_of(page.text)["num_layers"] == "48"


def test_an_unticked_box_is_off(client: TestClient) -> None:
    values = form_of(client.get(FITS).text)
    assert values["overlap_data_parallel"] == "true"
    page = client.get("/calculator", params=values | {"overlap_data_parallel": "false"})
    assert form_of(page.text)["overlap_data_parallel"] == "false"


def test_an_illegal_layout_lists_every_rule_with_links_that_mend_it(client: TestClient) -> None:
    page = client.get(ILLEGAL)
    assert page.status_code == 200
    assert heading(page.text).startswith("Not a legal layout:")
    mend = page.text[page.text.index('class="mend"') :]
    assert "96 attention heads divided by 7 leaves 5" in mend
    assert "49,152 divided by 7 leaves 5" in mend
    assert "1,024 devices" in mend
    links = re.findall(r'<a href="(/calculator[^"]*)"[^>]*>8</a>', mend)
    assert links
    mended = client.get(links[0].replace("&amp;", "&"))
    assert "heads divided" not in mended.text
    assert 'aria-invalid="true"' in page.text
    assert "Memory by stage" not in page.text


def test_an_illegal_layout_is_shown_legal_ones_nearby(client: TestClient) -> None:
    for url in (ILLEGAL, ILLEGAL + "&global_batch_size=1000", ILLEGAL + "&layers_per_stage=1,2,3"):
        page = client.get(url).text
        near = page[page.index("Legal layouts near this one") :]
        links = re.findall(r'<th scope="row"><a href="([^"]*)"', near)
        assert links, url
        for link in links:
            assert not heading(client.get(link.replace("&amp;", "&")).text).startswith("Not a legal"), link


def test_what_cannot_be_read_stays_in_its_field_with_the_reason(client: TestClient) -> None:
    page = client.get("/calculator?model=gpt3-175b&num_nodes=32&tensor_parallel=<b>8&seq_length=-1")
    assert page.status_code == 422
    assert heading(page.text) == "Cannot be calculated: 2 inputs need mending."
    assert (
        'name="tensor_parallel" type="text" inputmode="numeric" autocomplete="off" value="&lt;b&gt;8"'
        in page.text
    )
    assert 'value="-1"' in page.text
    assert "Write a whole number from 1 to 4,096" in page.text
    assert form_of(page.text)["num_nodes"] == "32"


@pytest.mark.parametrize(
    "url",
    [
        "/calculator?model=nosuch",
        "/calculator?gpu=nosuch&model=gpt3-175b",
        "/calculator?model=gpt3-175b&nonsense=1",
        "/calculator?model=gpt3-175b&num_layers=" + "9" * 500,
        "/calculator?model=gpt3-175b&intra_node_gb_per_s=1e300",
        "/calculator?model=gpt3-175b&memory_gib=much",
        "/calculator?model=gpt3-175b&num_attention_heads=7",
        "/calculator?model=%00%ff&num_nodes=%F0%9F%98%80",
        "/calculator?" + "&".join(f"x{i}=1" for i in range(300)),
    ],
)
def test_hostile_addresses_get_a_page_that_says_what_to_mend(client: TestClient, url: str) -> None:
    page = client.get(url)
    assert page.status_code == 422
    assert "What to mend" in page.text
    assert "Traceback" not in page.text


def test_a_fragment_is_the_block_of_the_page(client: TestClient) -> None:
    page, fragment = client.get(FITS), client.get(FITS, headers=HTMX)
    assert "<html" not in fragment.text
    assert fragment.text.strip() in page.text
    assert page.headers["vary"] == fragment.headers["vary"] or "HX-Request" in page.headers["vary"]
    restored = client.get(FITS, headers=HTMX | {"HX-History-Restore-Request": "true"})
    assert "<html" in restored.text


def test_a_decision_adds_to_the_history_and_typing_replaces(client: TestClient) -> None:
    decided = client.get(FITS, headers=HTMX | {"HX-Trigger": "inputs"})
    assert decided.headers["HX-Push-Url"].startswith("/calculator?model=gpt3-175b")
    typed = client.get(FITS, headers=HTMX | {"HX-Trigger-Name": "tensor_parallel"})
    assert typed.headers["HX-Replace-Url"] == decided.headers["HX-Push-Url"]
    assert "HX-Push-Url" not in typed.headers
    assert 'id="verdict" hx-swap-oob="true"' in typed.text
    assert "hx-swap-oob" not in decided.text
    half_typed = {"HX-Trigger-Name": "tensor_parallel"}
    assert client.get("/calculator?tensor_parallel=8x", headers=HTMX | half_typed).status_code == 200
    broken = client.get("/calculator?model=x", headers=HTMX)
    assert broken.status_code == 422
    assert "HX-Push-Url" not in broken.headers


def test_undo_leads_to_the_state_before_and_nowhere_else(client: TestClient) -> None:
    before = "http://testserver/calculator?model=gpt3-175b"
    page = client.get(FITS, headers=HTMX | {"HX-Current-URL": before}).text
    assert 'href="/calculator?model=gpt3-175b" hx-get' in page
    foreign = client.get(FITS, headers=HTMX | {"HX-Current-URL": "https://elsewhere.example/calculator?a=1"})
    assert "Undo" not in foreign.text


def test_a_deep_pipeline_keeps_the_page_small(client: TestClient) -> None:
    url = "/calculator?model=gpt-1008b&num_nodes=384&tensor_parallel=8&pipeline_parallel=64"
    page = client.get(url + "&global_batch_size=3072&recompute=full")
    assert page.status_code == 200
    assert "… stages 4 to 59" in page.text
    assert len(page.content) < 400_000
    assert "Draw its first and last micro-batches" in page.text


def test_a_huge_cluster_is_one_tile_per_node(client: TestClient) -> None:
    page = client.get("/calculator?model=gpt3-175b&num_nodes=10000&tensor_parallel=8&pipeline_parallel=4")
    assert page.status_code == 200
    assert len(page.content) < 400_000


NAMES = st.sampled_from(["model", *BY_BARE_KEY, *SCALED, "do", "stage", "of_model", "of_gpu"])
WORDS = [
    "0", "1", "2", "3", "4", "7", "8", "16", "64", "1024", "100000", "-1", "1e9", "1.5", "true", "false",
    "gpt3-175b", "llama2-70b", "mixtral-8x7b", "t5-11b", "deepseek-v3", "h100-80gb", "v100-32gb", "full",
    "interleaved", "zb-h1", "gpipe", "data,tensor,context,pipeline", "12,12", "fp8", "sgd", "global",
    "double:tensor_parallel", "halve:num_nodes", "halve:model", "double:zero_stage", "nan", "inf",
]  # fmt: skip
VALUES = st.one_of(st.sampled_from(["", *WORDS]), st.text(max_size=12))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, VALUES, max_size=12), st.booleans())
def test_no_question_breaks_the_page(client: TestClient, asked: dict[str, str], full: bool) -> None:
    start = (
        {"model": "gpt3-175b", "gpu": "a100-80gb", "num_nodes": "16", "tensor_parallel": "8"} if full else {}
    )
    page = client.get("/calculator", params=start | asked)
    assert page.status_code in (200, 422)
    assert heading(page.text)


def test_every_readout_leads_to_its_working(client: TestClient) -> None:
    text = client.get("/calculator").text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    links = re.findall(r'<a class="num" href="#([^"]+)">([^<]+)</a>', text)
    assert len(links) == 5
    for target, number in links:
        assert target in ids
        fold = text[: text.index(f'id="{target}"')].rpartition("<details")[2]
        assert number.partition(".")[0] in fold
