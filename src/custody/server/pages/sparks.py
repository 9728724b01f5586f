"""A small curve that stands in a line of a table: no axis, no script; what it shows is said in words."""

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 120, 28
EDGE = 3


def spark(values: Sequence[float], words: str) -> Markup:
    """Values from 0 to 1, from left to right, over a line that marks the middle."""
    step = (WIDTH - 2 * EDGE) / max(len(values) - 1, 1)
    at = [(EDGE + n * step, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value) for n, value in enumerate(values)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    last = Markup('<circle class="s0" cx="{:.1f}" cy="{:.1f}" r="2.5"/>').format(*at[-1]) if at else Markup("")
    head = Markup('<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, words)
    middle = Markup('<line class="axis" x1="0" x2="{}" y1="{}" y2="{}"/>').format(WIDTH, HEIGHT / 2, HEIGHT / 2)
    return head + middle + Markup('<polyline class="line s0" points="{}"/>').format(points) + last + Markup("</svg>")
