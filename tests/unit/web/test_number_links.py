"""Checked numbers as links, and where the note opens."""

from markupsafe import Markup

from app.web.number_links import with_workings

NUMBER = '<strong class="calc" id="calc-0af1">7 GB</strong>'
LINK = (
    '<a class="calc" id="calc-0af1" href="/l/numbers/0af1" hx-get="/l/numbers/0af1"'
    ' hx-target="next .number-slot" hx-swap="innerHTML">7 GB</a>'
)
SLOT = '<div class="number-slot"></div>'


def linked(html: str, url: str = "/l") -> str:
    return str(with_workings(Markup(html), url))


def test_the_note_opens_after_the_outermost_element() -> None:
    text = f"<p>a<br>{NUMBER}</p>\n<ul><li><p>{NUMBER}</p></li><li>b</li></ul>\n<p>c</p>"
    assert linked(text) == (
        f"<p>a<br>{LINK}</p>{SLOT}\n<ul><li><p>{LINK}</p></li><li>b</li></ul>{SLOT}\n<p>c</p>"
    )


def test_one_room_for_all_numbers_of_an_element() -> None:
    assert linked(f"<p>{NUMBER} {NUMBER}</p>").count(SLOT) == 1


def test_text_without_an_element_has_its_room_at_the_end() -> None:
    assert linked(f"{NUMBER} in all") == f"{LINK}{SLOT} in all"
    assert linked(f"<p>a</p>{NUMBER}").endswith(f"{LINK}{SLOT}")


def test_a_number_without_a_place_is_left_alone() -> None:
    plain = '<p><a href="/x"><strong class="calc">7 GB</strong></a></p>'
    assert linked(plain) == plain


def test_the_second_telling_leads_to_the_same_working() -> None:
    again = linked('<p><strong class="calc" id="calc-0af1-2">7 GB</strong></p>')
    assert 'id="calc-0af1-2" href="/l/numbers/0af1"' in again


def test_an_address_is_escaped() -> None:
    assert 'href="/a&#34;b/numbers/0af1"' in linked(f"<p>{NUMBER}</p>", '/a"b')
