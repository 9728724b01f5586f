"""Charts as SVG, without scripts and inline styles, so that they work in a service and in a report.

Colors are classes of the style sheet (``s0`` to ``s7`` for series, ``k-agent`` and such for classes), so that light,
dark and print each have their own.
"""

from collections.abc import Sequence

from markupsafe import Markup, escape
from msgspec import Struct

from custody.server.pages.phrases import format_percent, shorten_page_text

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 10, 26
SERIES_COLORS = 8
LABELS_MAX = 8
LABEL_HALF = 34
"""Space for half of a label at the right end."""
NAME_CHARACTERS = 60
SHARE_WIDTH, SHARE_GAP, SHARE_LEAST, SHARE_HATCH = 400.0, 1.5, 2.0, 6


class BarPart(Struct, frozen=True):
    """A part of a bar: its name, size, and the class of its color."""

    name: str
    size: float
    color: str


class Series(Struct, frozen=True):
    """A series of values, one for each label of the x axis; None for a missing value.

    Without a ``color`` class it gets the next of the series colors.
    """

    name: str
    values: Sequence[float | None]
    color: str | None = None


def render_bar_chart(parts: Sequence[BarPart], label: str) -> Markup:
    """Return a bar of parts side by side."""
    total = sum(part.size for part in parts) or 1.0
    drawn, at = [], 0.0
    for part in parts:
        wide = 100 * part.size / total
        if wide > 0:
            title = f"{shorten_page_text(part.name, NAME_CHARACTERS)}: {format_percent(part.size / total)}"
            drawn.append(
                Markup('<rect class="{}" x="{:.2f}" y="0" width="{:.2f}" height="10"><title>{}</title></rect>').format(
                    part.color, at, wide, title
                )
            )
            at += wide
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{}">'
    ).format(shorten_page_text(label, 300)) + Markup("{}</svg>").format(Markup("").join(drawn))


def render_share_bar(agent: int, mixed: int, person: int, none: int, label: str) -> Markup:
    """Return lines by author as a bar: solid, split, solid, hatched, with gaps between them."""
    parts = [(kind, size) for kind, size in (("a", agent), ("m", mixed), ("p", person), ("u", none)) if size > 0]
    total = sum(size for _, size in parts) or 1
    left = SHARE_WIDTH - SHARE_GAP * max(len(parts) - 1, 0)
    drawn, at = [], 0.0
    for kind, size in parts:
        wide = max(left * size / total, SHARE_LEAST)
        drawn.append(Markup("").join(_render_share_part(kind, at, wide)))
        at += wide + SHARE_GAP
    return Markup(
        '<svg class="share" viewBox="0 0 {:.1f} 10" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(max(at - SHARE_GAP, 1.0), shorten_page_text(label, 300), Markup("").join(drawn))


def _render_share_part(kind: str, at: float, wide: float) -> list[Markup]:
    box = '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>'
    if kind == "m":
        return [Markup(box).format(name, at, y, wide, 5) for name, y in (("m1", 0), ("m2", 5))]
    if kind != "u":
        return [Markup(box).format(kind, at, 0, wide, 10)]
    lines = Markup(" ").join(
        Markup("M{:.1f} {:.1f}L{:.1f} {:.1f}").format(max(x, at), min(10.0, 10 - at + x), min(x + 10, at + wide), y)
        for x, y in ((x, max(0.0, x + 10 - at - wide)) for x in _hatch_starts(at, wide))
    )
    return [Markup(box).format("u0", at, 0, wide, 10), Markup('<path class="u1" d="{}"/>').format(lines)]


def _hatch_starts(at: float, wide: float) -> list[float]:
    return [at - 10 + SHARE_HATCH * (n + 1) for n in range(int((wide + 10) / SHARE_HATCH))]


def render_column_chart(places: Sequence[str], series: Sequence[Series], label: str) -> Markup:
    """Return stacked columns over ``places``."""
    highest = (
        max((sum(data_series.values[n] or 0 for data_series in series) for n in range(len(places))), default=0) or 1
    )
    step = (WIDTH - LEFT - RIGHT) / max(len(places), 1)
    drawn = [_render_chart_axis(highest), *_render_chart_labels(places, step)]
    for n, place in enumerate(places):
        base = float(HEIGHT - BOTTOM)
        for k, data_series in enumerate(series):
            value = data_series.values[n] or 0
            tall = (HEIGHT - TOP - BOTTOM) * value / highest
            base -= tall
            if value:
                drawn.append(
                    Markup(
                        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
                    ).format(
                        _choose_chart_color(k, data_series),
                        LEFT + n * step + step * 0.1,
                        base,
                        max(step * 0.8, 1),
                        tall,
                        _format_point_title(place, data_series, value),
                    )
                )
    return _wrap_chart_svg(drawn, label)


def render_line_chart(
    places: Sequence[str], series: Sequence[Series], label: str, *, highest: float | None = None, points: bool = True
) -> Markup:
    """Return lines over ``places``; each point has its value as a title."""
    values = [value for data_series in series for value in data_series.values if value is not None]
    top = highest or max(values, default=0) or 1
    step = (WIDTH - LEFT - RIGHT) / max(len(places) - 1, 1)
    drawn = [_render_chart_axis(top), *_render_chart_labels(places, step, middle=False)]
    for k, data_series in enumerate(series):
        at = [
            (LEFT + n * step, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, value, places[n])
            for n, value in enumerate(data_series.values)
            if value is not None
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in at)
        drawn.append(
            Markup('<polyline class="line {} d{}" points="{}"/>').format(
                _choose_chart_color(k, data_series), k % 4, path
            )
        )
        for x, y, value, place in at if points else ():
            title = _format_point_title(place, data_series, value)
            drawn.append(
                Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}</title></circle>').format(
                    _choose_chart_color(k, data_series), x, y, title
                )
            )
    return _wrap_chart_svg(drawn, label)


def render_chart_legend(series: Sequence[Series]) -> Markup:
    """Return the legend: the color of each series."""
    rows = (
        Markup('<li><span class="swatch {}"></span>{}</li>').format(
            _choose_chart_color(k, data_series), shorten_page_text(data_series.name, NAME_CHARACTERS)
        )
        for k, data_series in enumerate(series)
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(rows))


def _choose_chart_color(k: int, series: Series) -> str:
    return series.color or f"s{k % SERIES_COLORS}"


def _wrap_chart_svg(drawn: Sequence[Markup], label: str) -> Markup:
    head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, HEIGHT, shorten_page_text(label, 300)
    )
    return head + Markup("").join(drawn) + Markup("</svg>")


def _render_chart_axis(top: float) -> Markup:
    """Return three horizontal lines with their values."""
    drawn = []
    for part in (0, 0.5, 1):
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part
        drawn.append(
            Markup(
                '<line class="axis" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>'
                '<text class="mark" x="{}" y="{:.1f}">{}</text>'
            ).format(LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, _format_chart_number(top * part))
        )
    return Markup("").join(drawn)


def _render_chart_labels(places: Sequence[str], step: float, *, middle: bool = True) -> list[Markup]:
    """Return evenly spaced labels of the x axis."""
    every = max(1, -(-len(places) // LABELS_MAX))
    return [
        Markup('<text class="place" x="{:.1f}" y="{}">{}</text>').format(
            min(LEFT + n * step + (step / 2 if middle else 0), WIDTH - LABEL_HALF),
            HEIGHT - 8,
            escape(shorten_page_text(place, 12)),
        )
        for n, place in enumerate(places)
        if n % every == 0
    ]


def _format_point_title(place: str, series: Series, value: float) -> str:
    return f"{place}, {shorten_page_text(series.name, NAME_CHARACTERS)}: {_format_chart_number(value)}"


def _format_chart_number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 100 else f"{value:.3g}"
