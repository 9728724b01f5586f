"""``custody blame``."""

import re
from collections import Counter
from collections.abc import Iterator

import click

from custody import __version__
from custody.attribution.app.blame import BlameResult, Profile, blame
from custody.attribution.wire.blame import TIER_WORDS, Attribution, BlameReport
from custody.core.errors import InputError
from custody.core.lines import Lines
from custody.terminal.frame import answer, json_option, open_workspace, remote_workspace

MARKS = {"agent": "A", "mixed": "m", "person": "P", "none": "."}
_STRETCH = re.compile(r"(\d{1,9})(?:,(\+?\d{1,9}))?")


@click.command("blame")
@click.argument("file")
@click.argument("revision", required=False, metavar="[REV]")
@click.option(
    "-L", "stretches", multiple=True, metavar="A,B", help="Only lines A to B (also A or A,+COUNT); repeatable."
)
@click.option(
    "--profile", type=click.Choice(("lineage", "document")), help="Which rules of evidence; see docs/attribution.md."
)
@click.option(
    "--remote",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Answer from a service's evidence beside our own; NAME is one of 'custody remote list'.",
)
@click.option("--porcelain", is_flag=True, help="Print one line per line with fields parted by tabs, for programs.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["sarif", "annotations"]),
    help="Agents' lines for code hosts and editors, or for a build's log.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show tier, model, share, signals and session of each stretch.")
@json_option
@click.pass_context
def blame_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    file: str,
    revision: str | None,
    *,
    stretches: tuple[str, ...],
    profile: Profile | None,
    remote: str | None,
    porcelain: bool,
    form: str | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Say who wrote each line of a file, how sure, and why.

    Without REV: the file as it is on disk, uncommitted lines included. Each line has one mark: A an agent's, m partly
    an agent's, P a person's whom a record names, . no evidence (which never means that a person wrote it), and how sure
    the answer is from 1 (provably certain) to 6 (suggestive).

    \b
    Examples:
      custody blame src/app.py
      custody blame src/app.py -L 10,20 -v
      custody blame src/app.py HEAD~3 --json
      custody blame src/app.py --remote
      custody blame src/app.py --format sarif > lines.sarif
    """
    if sum((as_json, porcelain, form is not None)) > 1:
        raise InputError("--json, --porcelain and --format are shapes of one answer", hint="give one of them")
    wanted = [_stretch(text) for text in stretches]
    workspace = open_workspace(ctx) if remote is None else remote_workspace(ctx, remote or None)
    blamed = blame(workspace, file, revision=revision, stretches=wanted, profile=profile)
    if form is not None:
        click.echo(_formed(blamed.report, form), nl=False)
        return 0
    if as_json:
        words = ""
    elif porcelain:
        words = "\n".join(_porcelain(blamed.report))
    else:
        words = "\n".join((*_lines(blamed, verbose=verbose), _summary(blamed.report)))
    return answer(blamed.report, words, as_json=as_json, tabs=True)


def _formed(report: BlameReport, form: str) -> bytes:
    from custody.attribution.wire.blame_forms import encode_blame_annotations, encode_blame_sarif

    return encode_blame_annotations(report) if form == "annotations" else encode_blame_sarif(report, __version__)


def _stretch(text: str) -> Lines:
    match = _STRETCH.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is not a stretch of lines", hint="give -L 10,20 or -L 10,+5 or -L 10")
    first, last = int(match[1]), match[2]
    if last is None:
        return Lines(first, first)
    return Lines(first, first + int(last) - 1 if last.startswith("+") else int(last))


def _porcelain(report: BlameReport) -> Iterator[str]:
    for attribution in report.attributions:
        commit = attribution.commits[-1] if attribution.commits else None
        facts = (
            attribution.kind,
            attribution.share,
            attribution.tier,
            attribution.confidence,
            attribution.grade,
            attribution.agent,
            attribution.model_id,
            attribution.session_id,
        )
        fields = [*facts, attribution.tool_call_id, commit]
        for number in range(attribution.start_line, attribution.end_line + 1):
            yield "\t".join((str(number), *("-" if field is None else _field(field) for field in fields)))


def _field(value: object) -> str:
    return str(value).replace("\t", " ").replace("\n", " ")


def _lines(blamed: BlameResult, *, verbose: bool) -> Iterator[str]:
    last = blamed.report.attributions[-1].end_line if blamed.report.attributions else 0
    width = len(str(last))
    for attribution in blamed.report.attributions:
        if verbose:
            yield from _about(attribution, width)
        mark = MARKS[attribution.kind] + ("" if attribution.tier is None else str(attribution.tier))
        for number in range(attribution.start_line, attribution.end_line + 1):
            yield f"{mark:<2} {number:>{width}} {blamed.texts[number - 1]}".rstrip()


def _about(attribution: Attribution, width: int) -> Iterator[str]:
    """What stands above a stretch with ``-v``."""
    pad = " " * (width + 3)
    yield from (
        f"{pad}| also claimed: {claim.agent}, {claim.model_id or 'model unknown'}, by {claim.producer or 'a trace'};"
        f" session {claim.session_id}"
        for claim in attribution.claims
    )
    if attribution.kind == "none":
        yield f"{pad}| {attribution.reason}"
        return
    sure = (
        ""
        if attribution.tier is None
        else f", {TIER_WORDS[attribution.tier - 1]} ({attribution.confidence}), {attribution.grade}"
    )
    share = f", {attribution.share:.0%} of it" if attribution.kind == "mixed" else ""
    model = attribution.model_id or "model unknown"
    yield f"{pad}| {attribution.agent}, {model}{share}{sure}; session {attribution.session_id}"
    if attribution.conversation_summary:
        yield f"{pad}| asked: {attribution.conversation_summary}"
    for signal in attribution.evidence:
        yield f"{pad}|   {signal.name} +{signal.points:g}: {signal.why}"


def _summary(report: BlameReport) -> str:
    counts = Counter[str]()
    for attribution in report.attributions:
        counts[attribution.kind] += attribution.end_line - attribution.start_line + 1
    total = sum(counts.values())
    agents = sorted({attribution.agent for attribution in report.attributions if attribution.agent is not None})
    words = ", ".join(f"{counts[kind]} {kind}" for kind in MARKS if counts[kind]) or "no lines"
    by = f" ({', '.join(agents)})" if agents else ""
    since = next(
        (attribution.searched.since for attribution in report.attributions if attribution.searched is not None), None
    )
    reach = (
        "" if not counts["none"] else "; nothing has been captured here" if since is None else f"; since {since[:10]}"
    )
    notes = "".join(f"\nnote: {note}" for note in report.notes)
    return f"{total} line(s): {words}{by}{reach}{notes}"
