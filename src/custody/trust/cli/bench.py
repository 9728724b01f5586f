"""``custody trust bench``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from custody.terminal.frame import answer, json_option, open_workspace
from custody.trust.app.bench import trust_bench
from custody.trust.wire.chance import PredictionFigures, RiskFigures, TrustBenchReport

SHOWN_MAX = 10
HEADER = ("", "log loss", "Brier", "AUC", "calibration", "passes", "bad", "bad of best half")


@click.command("bench")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--target",
    "targets",
    type=click.FloatRange(min=0, max=1),
    multiple=True,
    help="A share of bad changes that risk control has to keep to; may be given several times.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, file: Path, *, targets: tuple[float, ...], as_json: bool) -> int:
    """Replay a file of decisions and say how well each way to predict them did.

    FILE has one JSON object a line, perhaps packed by gzip: agent, repo, opened and time (when it was decided; seconds
    since 1970 or 2026-01-31T12:00:00Z), decision (accepted, modified or rejected), and perhaps lines, area or areas,
    operator. Everybody predicts when a change is opened and learns when it is decided; the first tenth is not scored.
    Compared are the constant rate, the document's score, plain and with stakes, a Beta for each agent, and the chance
    of acceptance; then risk control's targets with the share of bad changes that it really let through.

    \b
    Examples:
      custody trust bench decisions.jsonl.gz
      custody trust bench decisions.jsonl --target 0.02 --json | jq .risk
    """
    report = trust_bench(open_workspace(ctx), file, targets)
    return answer(report, "\n".join(_render_bench(report)), as_json=as_json)


def _render_bench(report: TrustBenchReport) -> Iterator[str]:
    for line in report.damaged[:SHOWN_MAX]:
        yield f"line {line.line:,} was passed over: {line.what}"
    if report.damaged_count > SHOWN_MAX:
        yield f"… and {report.damaged_count - SHOWN_MAX:,} more lines"
    yield (
        f"{report.decisions:,} decision(s) about {report.agents:,} agent(s) in {report.repositories:,} repositories,"
        f" {report.good_share:.1%} of them merged; {report.damaged_count:,} line(s) passed over"
    )
    for title, figures in (("all but the first part", report.scored), ("the second half", report.later)):
        if figures:
            yield f"{title}: {figures[0].count:,} prediction(s)"
            yield from _table([HEADER, *(_row(figure) for figure in figures)])
    yield f"'passes' is what has a chance from {report.chance_min:g} on, 'bad' the share of it that was rejected"
    yield from (_render_policy(figure) for figure in report.scored if figure.policy_coverage is not None)
    yield from (_render_risk(risk_figures) for risk_figures in report.risk)


def _row(figures: PredictionFigures) -> tuple[str, ...]:
    return (
        figures.name,
        f"{figures.log_loss:.4f}",
        f"{figures.brier:.4f}",
        _share(figures.auc, ".4f"),
        f"{figures.calibration_error:.4f}",
        f"{figures.coverage:.1%}",
        _share(figures.bad_share),
        _share(figures.best_bad_share),
    )


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    for name, *cells in rows:
        aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        yield f"  {name:<{widths[0]}}  {'  '.join(aligned)}"


def _render_policy(figures: PredictionFigures) -> str:
    bad = _share(figures.policy_bad_share)
    return f"by the document's own limits, {figures.name}: passes {figures.policy_coverage or 0.0:.1%}, bad {bad}"


def _render_risk(figures: RiskFigures) -> str:
    now = "nothing may pass now" if figures.threshold is None else f"now from a lower bound of {figures.threshold:g} on"
    return (
        f"risk control, target {figures.target:.1%}:"
        f" {figures.bad:,} of {figures.passed:,} bad = {_share(figures.realised, '.2%')},"
        f" coverage {figures.coverage:.1%}; {now}"
    )


def _share(value: float | None, form: str = ".1%") -> str:
    return "–" if value is None else format(value, form)
