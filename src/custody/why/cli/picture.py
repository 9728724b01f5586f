"""A chain as a picture: boxes below each other, each with a few lines of words, as SVG that loads and runs nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LINE_HEIGHT, PADDING, BETWEEN = 760, 18, 12, 26
SIGNS_MAX = 96
LINES_MAX = 14
_COLOURS = {
    "line": "#1f6feb",
    "commit": "#8250df",
    "call": "#1a7f37",
    "subagent": "#1a7f37",
    "prompt": "#9a6700",
    "sources": "#0a7ea4",
    "session": "#57606a",
    "standing": "#57606a",
    "change": "#8250df",
    "end": "#cf222e",
}
_STYLE = (
    "text{font:13px ui-monospace,monospace;fill:#1f2328}.b{fill:#fff;stroke:#d0d7de}.k{fill:#57606a;font-size:11px}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.b{fill:#161b22;stroke:#30363d}.k{fill:#9198a1}}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """One box: what kind of link it is, and its words."""

    kind: str
    lines: Sequence[str]


def picture(boxes: Sequence[Box]) -> str:
    """The boxes from top to bottom, an arrow from each to the next; the same boxes give the same bytes."""
    drawn: list[str] = []
    top = PADDING
    for place, box in enumerate(boxes):
        lines = [_fit(line) for line in box.lines[:LINES_MAX]]
        if len(box.lines) > LINES_MAX:
            lines.append(f"… {len(box.lines) - LINES_MAX} more")
        height = 2 * PADDING + LINE_HEIGHT * (len(lines) + 1)
        drawn.extend(_box(box.kind, lines, top, height))
        top += height
        if place < len(boxes) - 1:
            drawn.append(f'<path d="M{WIDTH // 2} {top}v{BETWEEN - 6}" stroke="#8c959f" marker-end="url(#a)"/>')
            top += BETWEEN
    return "".join((*_opened(top + PADDING, boxes), *drawn, "</svg>\n"))


def _opened(height: int, boxes: Sequence[Box]) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    title = _fit(boxes[0].lines[0]) if boxes and boxes[0].lines else "nothing"
    yield f' role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
    yield '<defs><marker id="a" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    yield '<path d="M0 0L8 4L0 8z" fill="#8c959f"/></marker></defs>'


def _box(kind: str, lines: Sequence[str], top: int, height: int) -> Iterator[str]:
    left, inner = PADDING, 2 * PADDING + 4
    yield f'<rect class="b" x="{left}" y="{top}" width="{WIDTH - 2 * left}" height="{height}" rx="6"/>'
    yield f'<rect x="{left}" y="{top}" width="5" height="{height}" rx="2" fill="{_COLOURS.get(kind, "#57606a")}"/>'
    yield f'<text class="k" x="{inner}" y="{top + PADDING + 9}">{escape(kind)}</text>'
    for place, line in enumerate(lines, 1):
        y = top + PADDING + 9 + LINE_HEIGHT * place
        yield f'<text x="{inner}" y="{y}" xml:space="preserve">{escape(line)}</text>'


def _fit(line: str) -> str:
    """A line that can be drawn: nothing that no picture may hold, and no longer than the box."""
    plain = "".join(sign if sign.isprintable() else " " for sign in line)
    return plain if len(plain) <= SIGNS_MAX else f"{plain[: SIGNS_MAX - 1]}…"
