"""Pictures of numbers as SVG: no script, no style of their own, the same in a service and in a report.

Colours are classes of the style sheet (``s0`` to ``s7`` for series, ``k-agent`` and such for classes), so that light,
dark and print each have their own. What a picture says is in its title, and beside it as a table where it matters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from custody.server.pages.phrases import percent, short

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 10, 26
SERIES_COLOURS = 8
LABELS_MAX = 8
LABEL_HALF = 34
"""Room for half of a label at the right end."""
NAME_SIGNS = 60


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a bar: what it is, how much, and the class of its colour."""

    name: str
    size: float
    colour: str


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a picture: one value for each place below it; None where there is none.

    A ``colour`` is the class of one that means something; without it a series has the next of the series' own.
    """

    name: str
    values: Sequence[float | None]
    colour: str | None = None


def bar(parts: Sequence[BarPart], words: str) -> Markup:
    """A bar of parts side by side."""
    total = sum(part.size for part in parts) or 1.0
    drawn, at = [], 0.0
    for part in parts:
        wide = 100 * part.size / total
        if wide > 0:
            title = f"{short(part.name, NAME_SIGNS)}: {percent(part.size / total)}"
            drawn.append(
                Markup('<rect class="{}" x="{:.2f}" y="0" width="{:.2f}" height="10"><title>{}</title></rect>').format(
                    part.colour, at, wide, title
                )
            )
            at += wide
    return Markup(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="{}">'
    ).format(short(words, 300)) + Markup("{}</svg>").format(Markup("").join(drawn))


def columns(places: Sequence[str], series: Sequence[Series], words: str) -> Markup:
    """Columns over ``places``, each made of the series one above the other."""
    highest = (
        max((sum(data_series.values[n] or 0 for data_series in series) for n in range(len(places))), default=0) or 1
    )
    step = (WIDTH - LEFT - RIGHT) / max(len(places), 1)
    drawn = [_axis(highest), *_labels(places, step)]
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
                        _colour(k, data_series),
                        LEFT + n * step + step * 0.1,
                        base,
                        max(step * 0.8, 1),
                        tall,
                        f"{place}, {short(data_series.name, NAME_SIGNS)}: {_number(value)}",
                    )
                )
    return _picture(drawn, words)


def lines(
    places: Sequence[str], series: Sequence[Series], words: str, *, highest: float | None = None, points: bool = True
) -> Markup:
    """Lines over ``places``; each point has its value as a title."""
    values = [value for data_series in series for value in data_series.values if value is not None]
    top = highest or max(values, default=0) or 1
    step = (WIDTH - LEFT - RIGHT) / max(len(places) - 1, 1)
    drawn = [_axis(top), *_labels(places, step, middle=False)]
    for k, data_series in enumerate(series):
        at = [
            (LEFT + n * step, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, value, places[n])
            for n, value in enumerate(data_series.values)
            if value is not None
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in at)
        drawn.append(Markup('<polyline class="line {} d{}" points="{}"/>').format(_colour(k, data_series), k % 4, path))
        for x, y, value, place in at if points else ():
            title = f"{place}, {short(data_series.name, NAME_SIGNS)}: {_number(value)}"
            drawn.append(
                Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}</title></circle>').format(
                    _colour(k, data_series), x, y, title
                )
            )
    return _picture(drawn, words)


def legend(series: Sequence[Series]) -> Markup:
    """Which colour is which series."""
    rows = (
        Markup('<li><span class="swatch {}"></span>{}</li>').format(
            _colour(k, data_series), short(data_series.name, NAME_SIGNS)
        )
        for k, data_series in enumerate(series)
    )
    return Markup('<ul class="legend">{}</ul>').format(Markup("").join(rows))


def _colour(k: int, series: Series) -> str:
    return series.colour or f"s{k % SERIES_COLOURS}"


def _picture(drawn: Sequence[Markup], words: str) -> Markup:
    head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, HEIGHT, short(words, 300)
    )
    return head + Markup("").join(drawn) + Markup("</svg>")


def _axis(top: float) -> Markup:
    """Three lines across, with what they stand for."""
    drawn = []
    for part in (0, 0.5, 1):
        y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part
        drawn.append(
            Markup(
                '<line class="axis" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>'
                '<text class="mark" x="{}" y="{:.1f}">{}</text>'
            ).format(LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, _number(top * part))
        )
    return Markup("").join(drawn)


def _labels(places: Sequence[str], step: float, *, middle: bool = True) -> list[Markup]:
    """The names of a few places, evenly chosen."""
    every = max(1, -(-len(places) // LABELS_MAX))
    return [
        Markup('<text class="place" x="{:.1f}" y="{}">{}</text>').format(
            min(LEFT + n * step + (step / 2 if middle else 0), WIDTH - LABEL_HALF), HEIGHT - 8, escape(short(place, 12))
        )
        for n, place in enumerate(places)
        if n % every == 0
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 100 else f"{value:.3g}"
