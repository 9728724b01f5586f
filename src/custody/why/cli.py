"""The verbs of ``why``.

May touch the terminal. Asks use cases and renders their reports.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import click

from custody.attribution.cli import MARKS
from custody.attribution.wire import TIER_WORDS, Attribution
from custody.core.errors import InputError
from custody.terminal.frame import answer, json_option, open_workspace
from custody.why.report import (
    AnyLink,
    CallLink,
    ChainCommit,
    ChangeLink,
    EndLink,
    LineLink,
    PromptLink,
    SessionLink,
    SourceLine,
    SourcesLink,
    StandingLink,
    SubagentLink,
    WhyReport,
)
from custody.why.why import why

# A chain as a picture: boxes below each other, each with a few lines of words, as SVG that loads and runs nothing.


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


SUBJECT_WIDTH = 72
PROMPT_WIDTH = 200
COMMIT_DIGITS = 12
_PLACE = re.compile(r"(.+):([1-9]\d{0,8})", re.DOTALL | re.ASCII)


@click.command("why")
@click.argument("place", metavar="FILE:LINE")
@click.option("--rev", "revision", metavar="REV", help="The file as of this commit, not as it is on disk.")
@click.option("-v", "--verbose", is_flag=True, help="Show the records behind each link and the signals seen.")
@click.option("--svg", is_flag=True, help="Draw the chain as a picture (SVG on standard output).")
@json_option
@click.pass_context
def why_command(
    ctx: click.Context, place: str, *, revision: str | None, verbose: bool, svg: bool, as_json: bool
) -> int:
    """Say why a line is there: its commits, the tool call that wrote it, what was asked.

    Follows one line back: through the commits that it came through, to the call that wrote it, the subagent that it was
    made inside of, the prompt that was open, the sources that were read before it and the session; then what the agent
    has earned, and what the change that brought the line is like. Says where the chain ends and why.

    \b
    Examples:
      custody why src/app.py:12
      custody why src/app.py:12 --rev HEAD~3 --json
      custody why src/app.py:12 --svg > why.svg
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        raise InputError(f"'{place}' does not name a line", hint="give a file and a line, as src/app.py:12")
    if svg and as_json:
        raise InputError("--svg and --json are two shapes of one answer", hint="give one of them")
    report = why(open_workspace(ctx), match[1], int(match[2]), revision=revision)
    if svg:
        click.echo(picture([Box(_kind(link), _render_link(link, verbose=False)) for link in report.chain]), nl=False)
        return 0
    return answer(report, "\n".join(_tree(report, verbose=verbose)), as_json=as_json)


def _kind(link: AnyLink) -> str:
    return str(link.__struct_config__.tag)


def _tree(report: WhyReport, *, verbose: bool) -> Iterator[str]:
    """The chain as a trunk with one branch for each link; a last one shows where it ends."""
    for link in report.chain:
        first, *more = _render_link(link, verbose=verbose)
        if isinstance(link, LineLink):
            yield first
            yield from (f"|  {line}" for line in more)
            continue
        yield f"{'`-' if link is report.chain[-1] else '|-'} {first}"
        bar = " " if link is report.chain[-1] else "|"
        yield from (f"{bar}  {line}" for line in (*more, *(_shown_by(link) if verbose else ())))
    yield from (f"note: {note}" for note in report.notes)


def _shown_by(link: AnyLink) -> Iterator[str]:
    yield from (f"  record {record}" for record in link.records)


def _render_link(link: AnyLink, *, verbose: bool) -> list[str]:
    """A link in words, the first line of which stands at the branch."""
    match link:
        case LineLink():
            return [*_line(link), *_signals(link.attribution, verbose=verbose)]
        case ChainCommit(commit=None):
            return ["not committed"]
        case ChainCommit():
            who = (
                (link.commit or "")[:COMMIT_DIGITS],
                (link.at or "at no readable moment")[:10],
                link.author or "unknown",
            )
            return [f"commit {'  '.join(who)}  {_short(link.subject, SUBJECT_WIDTH)}".rstrip()]
        case CallLink():
            return [f"call {link.name or 'without a name'} ({link.id}), {link.status}, {_span(link)}"]
        case SubagentLink():
            return [f"inside subagent {link.id}"]
        case PromptLink():
            how = "" if link.named else ", the last captured before the call"
            return [f"prompt, {_moment(link.at)}{how}", f"  > {_short(link.text, PROMPT_WIDTH)}"]
        case _:
            return list(_around(link))


def _around(link: SourcesLink | SessionLink | StandingLink | ChangeLink | EndLink) -> Iterator[str]:
    """The links that are no part of the line's own path, in words."""
    match link:
        case SourcesLink():
            yield from _sources(link)
        case SessionLink():
            since = "" if link.started is None else f", since {_moment(link.started)}"
            by = "" if link.operator is None else f", run by {link.operator}"
            yield f"session {link.session} of {link.agent}, {link.model or 'model unknown'}{by}{since}"
        case StandingLink():
            yield _standing(link)
        case ChangeLink():
            yield from _change(link)
        case EndLink():
            yield f"ends: {link.why}"


def _standing(link: StandingLink) -> str:
    if link.score is None:
        return f"nothing was decided about {link.agent} yet"
    return f"{link.agent} stands at {link.score:.4f}, {(link.tier or '').upper()}, after {link.decisions} decision(s)"


def _change(link: ChangeLink) -> Iterator[str]:
    name = f"change {link.head[:COMMIT_DIGITS]}"
    if link.likes is None:
        yield f"{name}: nobody looked whether it is there twice ('custody dupes check {link.head[:COMMIT_DIGITS]}')"
        return
    yield f"{name} is like"
    for like in link.likes:
        how = ", ".join((like.says, *like.relations))
        yield f"  {like.head[:COMMIT_DIGITS]}  {how}  {_short(like.title, SUBJECT_WIDTH)}"


def _sources(link: SourcesLink) -> Iterator[str]:
    if not link.sources:
        yield "no source was read before it, as far as was captured"
        return
    yield "sources read before it, the latest first"
    yield from map(_source, link.sources)
    if link.more:
        yield f"  and {link.more:,} more, read before those"


def _source(line: SourceLine) -> str:
    name = "" if line.id is None else f"{line.id} "
    title = "" if not line.title else f"  {_short(line.title, SUBJECT_WIDTH)}"
    return f"  {name}{line.locator}  {line.reading}, {_moment(line.at)}{title}"


def _line(link: LineLink) -> Iterator[str]:
    attribution = link.attribution
    mark = MARKS[attribution.kind] + ("" if attribution.tier is None else str(attribution.tier))
    yield f"{link.path}:{link.line}  {mark}  {link.text.strip()}".rstrip()
    if attribution.kind == "none":
        yield "no evidence, which never means that a person wrote it"
        return
    if attribution.kind == "person":
        yield f"a person's, who changed what {attribution.agent} had written"
        return
    whose = "an agent's" if attribution.kind == "agent" else f"{attribution.share:.0%} of it an agent's"
    sure = (
        ""
        if attribution.tier is None
        else f": {TIER_WORDS[attribution.tier - 1]} ({attribution.confidence}), {attribution.grade}"
    )
    yield f"{whose}{sure}"


def _signals(attribution: Attribution, *, verbose: bool) -> Iterator[str]:
    for signal in attribution.evidence if verbose else ():
        yield f"  {signal.name} +{signal.points:g}: {signal.why}"
        yield from (f"    record {record}" for record in signal.records)


def _span(call: CallLink) -> str:
    ended = "" if call.ended is None or call.ended == call.started else f" to {call.ended[11:19]}"
    return f"{call.started[:10]} {call.started[11:19]}{ended} UTC"


def _moment(text: str) -> str:
    return f"{text[:10]} {text[11:19]} UTC"


def _short(text: str | None, width: int) -> str:
    return " ".join((text or "").split())[:width]
