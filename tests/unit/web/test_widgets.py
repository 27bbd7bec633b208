"""The calculator inside a lesson, set from an answer."""

from app.web.rendering import environment
from app.web.widgets import Requirement, WidgetView, by_path, widget_view
from tests.unit.web.answers import VALUES, estimate, illegal


def page(view: WidgetView, form: bool = True) -> str:
    source = '{% from "macros/widget.html" import widget %}{{ widget(view, form=form) }}'
    return environment.from_string(source).render(view=view, form=form)


def test_it_says_the_verdict_and_draws_what_was_asked_for() -> None:
    view = widget_view(estimate(), VALUES, show=["memory by stage", "time"], controls=["tensor_parallel"])
    assert view.verdict.state == "over"
    assert [figure.id for figure in view.figures] == ["widget-mem", "widget-step"]
    html = page(view)
    assert "stage\N{NO-BREAK SPACE}0 is over by 20.3" in html
    assert "style=" not in html
    assert "onclick" not in html


def test_controls_hold_the_values_in_effect_and_step_without_javascript() -> None:
    view = widget_view(estimate(), VALUES, controls=["tensor_parallel", "cluster.num_nodes"], action="/w")
    assert [(c.name, c.value) for c in view.controls] == [("tensor_parallel", "8"), ("num_nodes", "32")]
    html = page(view)
    assert 'name="do" value="double:tensor_parallel"' in html
    assert '<form method="get" action="/w#widget"' in html


def test_a_locked_input_is_no_control_and_at_most_three_are_shown() -> None:
    names = ["tensor_parallel", "pipeline_parallel", "data_parallel", "num_nodes", "zero_stage"]
    view = widget_view(estimate(), VALUES, controls=names, locked=["layout.pipeline_parallel"])
    assert [c.name for c in view.controls] == ["tensor_parallel", "data_parallel", "num_nodes"]


def test_inside_a_foreign_form_the_buttons_carry_their_own_address() -> None:
    html = page(widget_view(estimate(), VALUES, controls=["tensor_parallel"], action="/w"), form=False)
    assert "<form" not in html
    assert 'formmethod="get" formaction="/w#widget"' in html


def test_an_illegal_layout_has_a_verdict_and_no_figures() -> None:
    view = widget_view(illegal(), VALUES, show=["memory", "cluster"])
    assert view.verdict.sentence.startswith(
        "Not a legal layout: 96 attention heads ÷ 7 leaves 5. 1 more rule"
    )
    assert view.figures == ()


def test_what_could_not_be_read_stays_in_its_field_with_the_reason() -> None:
    answer = {"problems": [{"field": "layout.tensor_parallel", "message": "'<b>' cannot be used."}]}
    view = widget_view(answer, VALUES, controls=["tensor_parallel"], typed={"layout.tensor_parallel": "<b>"})
    html = page(view)
    assert 'value="&lt;b&gt;"' in html
    assert 'aria-invalid="true"' in html
    assert "&#39;&lt;b&gt;&#39; cannot be used." in html


def test_requirements_say_whether_they_are_met() -> None:
    wants = [
        Requirement(text="every stage fits", met=False, value="99.6"),
        Requirement(text="t ≤ 8", met=True),
    ]
    html = page(widget_view(estimate(), VALUES, requirements=wants))
    assert html.count('aria-label="not met"') == 1
    assert html.count('aria-label="met"') == 1


def test_nested_flat_and_bare_inputs_are_the_same() -> None:
    wanted = {"layout.tensor_parallel": 4, "cluster.num_nodes": 2}
    assert by_path({"layout": {"tensor_parallel": 4}, "cluster": {"num_nodes": 2}}) == wanted
    assert by_path({"tensor_parallel": 4, "cluster.num_nodes": 2}) == wanted
