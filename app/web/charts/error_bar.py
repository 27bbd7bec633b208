"""One signed error as a bar from a centre line, the null model as a tick: small enough for a table's row."""

from markupsafe import Markup

from app.web import numbers
from app.web.charts import svg

WIDTH, HEIGHT, MIDDLE = 180.0, 22.0, 90.0
HALF = 84.0  # px from the centre to the end of the scale; the rest is for the arrows beyond it


def error_bar(error: float | None, null: float | None, *, reach: float = 0.30) -> Markup:
    """The drawing; a decoration, since the number stands beside it. Beyond `reach` there are arrows."""
    marks = [svg.path(f"M{svg.length(MIDDLE)} 1V21", "axis")]
    if error is not None:
        size = min(abs(error), reach) / reach * HALF
        css = "pos" if error > 0 else "neg"
        start = MIDDLE if error > 0 else MIDDLE - size
        marks.append(svg.rect(start, 7, max(size, 0.5), 8, css))
        if abs(error) > reach:
            tip = MIDDLE + HALF + 6 if error > 0 else MIDDLE - HALF - 6
            base = tip - 6 if error > 0 else tip + 6
            marks.append(svg.path(f"M{svg.length(base)} 7L{svg.length(tip)} 11L{svg.length(base)} 15Z", css))
    if null is not None:
        marks.append(_tick(null, reach))
    box = f"0 0 {svg.length(WIDTH)} {svg.length(HEIGHT)}"
    return Markup(f'<svg viewBox="{box}" aria-hidden="true">{"".join(marks)}</svg>')


def error_scale(*, reach: float = 0.30) -> Markup:
    """The scale above a column of bars."""
    said = f"{reach * 100:g}{numbers.NBSP}%"
    marks = [
        svg.text(0.0, 12, f"{numbers.MINUS}{said}"),
        svg.text(MIDDLE, 12, "0", "mid"),
        svg.text(WIDTH, 12, f"+{said}", "end"),
    ]
    return Markup(f'<svg viewBox="0 0 180 16" class="fig" aria-hidden="true">{"".join(marks)}</svg>')


def _tick(null: float, reach: float) -> Markup:
    if null > reach:
        return svg.path(f"M{svg.length(MIDDLE + HALF - 4)} 6l4 5l-4 5", "nullbar")
    if null < -reach:
        return svg.path(f"M{svg.length(MIDDLE - HALF + 4)} 6l-4 5l4 5", "nullbar")
    return svg.path(f"M{svg.length(MIDDLE + null / reach * HALF)} 3V19", "nullbar")
